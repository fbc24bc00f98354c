//! `CounterBank` against an array of counts.

use rand::Rng;
use spindle_blocks::CounterBank;
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

fn count<const W: usize>(name: &str, top: &str) {
    run_with_wave_on_failure(name, |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, CounterBank::<5, W>::default(), top);
        for round in 0..2 {
            dut.a_valid.set(false);
            dut.b_valid.set(false);
            dut.reset();
            // The clearing walk lasts 32 cycles, also in the second round, when the counters are not zero.
            for cycle in 0..33 {
                dut.eval();
                assert_eq!(dut.clearing.is_high(), cycle < 32, "round {round}, cycle {cycle}");
                dut.tick();
            }
            let mut counts = [0u64; 32];
            // The counts at the start of each of the last cycles, the newest first.
            let mut history = VecDeque::from([counts; 3]);
            let mut asked = [None; 3];
            for cycle in 0..20_000 {
                let events = [rng.random_range(0..4) > 0, rng.random_range(0..4) > 0];
                // Few distinct counters: the same one in both ports and in consecutive cycles.
                let index = [
                    rng.random_range(0..32) & rng.random_range(0..32),
                    rng.random_range(0..32) & rng.random_range(0..32),
                ];
                let read = rng.random_range(0..32usize);
                dut.a_valid.set(events[0]);
                dut.a_index.set(index[0]);
                dut.b_valid.set(events[1]);
                dut.b_index.set(index[1]);
                dut.read_index.set(read);
                dut.eval();
                if let Some(expected) = asked[2] {
                    assert_eq!(dut.read_count.number(), expected % (1 << W), "round {round}, cycle {cycle}");
                }
                // Events up to three cycles ago: the counts as they stood at the start of the cycle after that.
                asked = [Some(history[2][read]), asked[0], asked[1]];
                for n in 0..2 {
                    counts[index[n]] += events[n] as u64;
                }
                history.pop_back();
                history.push_front(counts);
                dut.tick();
            }
            assert!(counts.iter().sum::<u64>() > 10_000);
        }
    });
}

#[test]
fn counts_every_event() {
    count::<32>("counts_every_event", "counter_bank_32");
}

/// Few bits: the highest one is counted, and counts wrap.
#[test]
fn counts_wrap() {
    count::<8>("counts_wrap", "counter_bank_32_of_8_bits");
}
