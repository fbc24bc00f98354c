//! Reads that fail, credits and buffers that are missing, a function that is no bus master.

use super::bench::{Bench, SHORT};
use super::link::LinkPace;
use super::master::{Expect, ReadBurst, WriteBurst};
use super::packet::{Completion, Packet};
use rand::Rng;
use spindle_harness::run_with_wave_on_failure;

#[test]
fn reads_that_fail_are_answered_with_errors_and_no_others() {
    for batch in 0..6 {
        run_with_wave_on_failure(&format!("tlp_faults_{batch}"), |wave| {
            let mut rng = wave.rng();
            let mut bench = Bench::with_period(wave, LinkPace { rx: 90, tx: 90, straddle: 60 }, SHORT);
            bench.root.latency = 100;
            bench.root.max_read = [128, 256][batch % 2];
            bench.root.fates = [[20, 3, 3, 0, 0], [20, 1, 1, 1, 0], [40, 0, 0, 0, 1]][batch / 2];
            bench.configure(true);
            bench.steps(5);
            let bursts = 1500;
            for _ in 0..bursts {
                let read = bench.master.random_read();
                bench.master.reads.push_back(read);
                if rng.random_range(0..4) == 0 {
                    let write = bench.master.random_write();
                    bench.master.writes.push_back(write);
                }
            }
            // Tags come back from time to time: the completions of their reads arrive after all.
            while bench.master.pending() > 0 {
                assert!(bench.dut.cycle() < 4_000_000, "{} bursts are not answered", bench.master.pending());
                bench.steps(100);
                if bench.root.lost() > 10 && rng.random() {
                    bench.root.answer_lost(bench.dut.cycle().saturating_sub(4 << SHORT));
                }
            }
            bench.settle(100_000);
            assert!(bench.master.errors[1] > 50, "{:?}", bench.master.errors);
            assert!(bench.root.memory == bench.master.memory);
            // All tags live: 32 reads are under way at once again.
            bench.steps(4 << SHORT);
            bench.root.answer_lost(bench.dut.cycle());
            bench.root.fates = [1, 0, 0, 0, 0];
            bench.settle(100_000);
            (bench.root.least, bench.root.most_reads) = (500, 0);
            let errors = bench.master.errors;
            for i in 0..200 {
                bench.master.reads.push_back(ReadBurst { line: 4 * i, id: 0, lines: 2 });
            }
            bench.settle(100_000);
            assert_eq!((bench.root.most_reads, bench.master.errors), (32, errors));
        });
    }
}

#[test]
fn reads_fail_at_once_when_every_tag_is_dead_and_a_new_link_revives_them() {
    run_with_wave_on_failure("tlp_all_dead", |wave| {
        let mut bench = Bench::with_period(wave, LinkPace::FULL, SHORT);
        bench.steps(5);
        bench.root.fates = [0, 0, 0, 0, 1];
        for i in 0..40 {
            bench.master.reads.push_back(ReadBurst { line: 8 * i, id: i as u8, lines: 1 });
        }
        // The first 32 are lost; the others fail without a packet.
        bench.master.expect = Expect::Errors;
        let end = bench.dut.cycle() + (4 << SHORT);
        while bench.master.pending() > 0 && bench.dut.cycle() < end {
            bench.step();
        }
        assert_eq!((bench.master.pending(), bench.root.lost(), bench.master.errors[1]), (0, 32, 40));
        bench.root.lines.clear();
        bench.drop_link(5);
        bench.root.fates = [1, 0, 0, 0, 0];
        bench.master.expect = Expect::Exact;
        bench.steps(5);
        for i in 0..40 {
            bench.master.reads.push_back(ReadBurst { line: 8 * i, id: i as u8, lines: 4 });
        }
        bench.settle(10_000);
        assert_eq!(bench.master.errors[1], 40);
    });
}

#[test]
fn completions_for_nobody_are_dropped() {
    run_with_wave_on_failure("tlp_unexpected", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.root.latency = 100;
        bench.steps(5);
        let mut sent = 0;
        for i in 0..2000u64 {
            if bench.master.pending() < 10 {
                bench.master.reads.push_back(ReadBurst { line: 4 * i, id: i as u8, lines: 4 });
            }
            bench.steps(8);
            if rng.random_range(0..4) == 0 {
                // A tag that no function of the bridge has, or one of another function.
                let (requester, tag) =
                    if rng.random() { (bench.root.id, rng.random_range(32..=255)) } else { (0x0501, 0) };
                let completion = Completion {
                    id: 0,
                    status: [0, 1][rng.random_range(0..2)],
                    byte_count: 64,
                    requester,
                    tag,
                    lower: 0,
                    poisoned: rng.random(),
                    marks: 0,
                    data: Some(vec![0xEE; 64]),
                };
                bench.link.send(completion.packet());
                sent += 1;
            }
        }
        bench.settle(10_000);
        assert_eq!(bench.master.errors, [0; 2]);
        assert_eq!(bench.events, [0, 0, 0, sent, 0, 0]);
    });
}

/// So many writes and reads of one line.
fn fill(bench: &mut Bench, from: u64, count: u64) {
    for i in from..from + count {
        let line = WriteBurst { line: i, id: i as u8, lines: vec![([i as u8; 64], u64::MAX)] };
        bench.master.writes.push_back(line);
        bench.master.reads.push_back(ReadBurst { line: 0x10_0000 + i, id: i as u8, lines: 1 });
    }
}

#[test]
fn without_bus_master_nothing_is_sent_and_everything_answered() {
    run_with_wave_on_failure("tlp_no_master", |wave| {
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.configure(false);
        bench.steps(5);
        bench.master.expect = Expect::Errors;
        fill(&mut bench, 0, 100);
        bench.settle(2000);
        assert_eq!((bench.master.answered, bench.master.errors), ([100; 2], [100; 2]));
        assert_eq!(bench.link.beats[0], 0);
        bench.configure(true);
        bench.steps(5);
        bench.master.expect = Expect::Exact;
        fill(&mut bench, 100, 100);
        bench.settle(10_000);
        assert_eq!(bench.master.errors, [100; 2]);
        assert!(bench.root.memory == bench.master.memory);
    });
}

#[test]
fn reads_wait_for_credits_and_all_but_completions_for_buffers() {
    run_with_wave_on_failure("tlp_credits", |wave| {
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.dut.fc_nph.set(0);
        bench.steps(5);
        fill(&mut bench, 0, 20);
        bench.steps(500);
        assert_eq!(bench.master.answered, [20, 0], "writes need no credits of reads");
        bench.dut.tx_buf_av.set(2);
        bench.dut.fc_nph.set(1);
        bench.steps(5);
        bench.irq = 1;
        fill(&mut bench, 20, 20);
        let beats = bench.link.beats[0];
        bench.steps(200);
        assert_eq!(bench.link.beats[0], beats);
        bench.link.send(super::bars::read(0x20).packet());
        bench.completion(100);
        bench.dut.tx_buf_av.set(3);
        bench.settle(5000);
        assert_eq!(bench.master.answered, [40; 2]);
    });
}

#[test]
fn a_line_with_a_gap_is_not_written() {
    run_with_wave_on_failure("tlp_gaps", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.steps(5);
        let mut gaps = 0;
        for i in 0..300u64 {
            let mut burst = bench.master.random_write();
            burst.line = 64 * i;
            let broken = rng.random_range(0..burst.lines.len());
            if rng.random() {
                burst.lines[broken].1 = !(1 << rng.random_range(1..63));
                gaps += 1;
            }
            bench.master.writes.push_back(burst);
        }
        bench.settle(100_000);
        assert_eq!(bench.master.errors, [gaps, 0]);
        assert!(bench.root.memory == bench.master.memory);
    });
}

#[test]
fn a_write_is_seen_by_the_read_and_the_completion_after_its_answer() {
    run_with_wave_on_failure("tlp_order", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, LinkPace { rx: 100, tx: 40, straddle: 50 });
        bench.root.latency = 0;
        bench.steps(5);
        for i in 0..500u64 {
            bench.master.writes.push_back(WriteBurst { line: 3, id: 1, lines: vec![([i as u8; 64], u64::MAX)] });
            while bench.master.answered[0] <= i {
                bench.step();
            }
            if rng.random() {
                // A completion after the answer: the host then finds the bytes.
                bench.link.send(Packet { bars: super::bars::REGISTERS, ..super::bars::read(0x20).packet() });
                bench.completion(500);
                assert_eq!(bench.root.memory.byte(3 * 64), i as u8);
            } else {
                bench.master.reads.push_back(ReadBurst { line: 3, id: 1, lines: 1 });
                bench.settle(500);
            }
        }
    });
}
