//! The link goes down in traffic: everything is answered, and nothing old comes back.

use super::bars::{read, write};
use super::bench::{Bench, SHORT};
use super::link::LinkPace;
use super::master::Expect;
use super::registers::initial;
use rand::Rng;
use spindle_harness::run_with_wave_on_failure;

#[test]
fn link_down_in_traffic_ends_everything() {
    for batch in 0..4 {
        run_with_wave_on_failure(&format!("tlp_down_{batch}"), |wave| {
            let mut rng = wave.rng();
            let mut bench = Bench::with_period(wave, LinkPace::random(&mut rng), [SHORT, 18][batch % 2]);
            bench.link.pace.tx = bench.link.pace.tx.max(50);
            bench.root.latency = 300;
            bench.registers.delay = 4;
            bench.configure(true);
            bench.steps(5);
            for round in 0..120 {
                bench.master.expect = Expect::Either;
                for _ in 0..rng.random_range(1..40) {
                    let (burst, other) = (bench.master.random_write(), bench.master.random_read());
                    bench.master.writes.push_back(burst);
                    bench.master.reads.push_back(other);
                    let request = if rng.random() { read(4 * rng.random_range(0..64)) } else { write(0x400, 1) };
                    bench.link.send(request.packet());
                }
                bench.irq |= rng.random::<u16>();
                bench.steps(rng.random_range(0..600));
                let down = rng.random_range(3..60);
                bench.drop_link(down);
                // Bursts that were not answered then are answered now, from the new link or with an error.
                let end = bench.dut.cycle() + 60_000;
                while bench.master.pending() > 0 || bench.root.under_way() > 0 {
                    assert!(bench.dut.cycle() < end, "round {round}: {} bursts are open", bench.master.pending());
                    bench.step();
                }
                bench.steps(20);
                bench.root.lines.clear();
                // Writes that were lost: the host's memory is what counts from here on.
                bench.master.memory = bench.root.memory.clone();
                bench.completions.clear();

                // All is well again.
                bench.master.expect = Expect::Exact;
                let errors = bench.master.errors;
                for _ in 0..10 {
                    let (burst, other) = (bench.master.random_write(), bench.master.random_read());
                    bench.master.writes.push_back(burst);
                    bench.master.reads.push_back(other);
                }
                bench.settle(60_000);
                assert_eq!(bench.master.errors, errors);
                assert!(bench.root.memory == bench.master.memory);
                bench.link.send(read(0x30).packet());
                assert_eq!(bench.completion(3000).data, Some(initial(0x30).to_le_bytes().to_vec()), "round {round}");
                bench.steps(50);
                assert!(bench.completions.is_empty());
            }
            assert_eq!(bench.root.messages.len(), 0, "the table is masked");
        });
    }
}

#[test]
fn bursts_are_answered_while_the_link_is_down() {
    run_with_wave_on_failure("tlp_down_bursts", |wave| {
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.steps(5);
        bench.up = false;
        bench.configure(true);
        bench.steps(5);
        bench.master.expect = Expect::Errors;
        for _ in 0..200 {
            let (burst, other) = (bench.master.random_write(), bench.master.random_read());
            bench.master.writes.push_back(burst);
            bench.master.reads.push_back(other);
        }
        bench.settle(20_000);
        assert_eq!(bench.master.answered, [200; 2]);
        assert_eq!(bench.link.beats, [0; 2]);
    });
}
