//! `TxCross` against its promises: the MAC never starves, never gets a short frame, and gets an end of every frame.

use rand::Rng;
use spindle_boards::hdl::heartbeat::PATIENCE;
use spindle_boards::hdl::tx_cross::LONGEST;
use spindle_harness::run_with_wave_on_failure;
use spindle_shell_bench::{assert_some_of, frame, length, Frame, TxBench};

/// What the MAC gets of a frame.
fn padded(frame: &Frame) -> Frame {
    let mut frame = frame.clone();
    frame.bytes.resize(frame.bytes.len().max(60), 0);
    frame
}

const RATIOS: [[u64; 2]; 7] =
    [[4000, 3103], [4000, 4000], [3999, 4000], [8000, 6400], [8000, 3103], [3103, 8000], [16000, 2560]];

/// Every frame leaves once, in order, padded, without a gap, whatever the clocks, the core's pauses and the MAC's.
#[test]
fn frames_leave_whole() {
    run_with_wave_on_failure("boards_tx_frames", |wave| {
        for period in RATIOS {
            let mut bench = TxBench::new(wave, period);
            let mut sent = vec![];
            for round in 0..8 {
                bench.core.pace = [100, 70, 20, 100][round % 4];
                bench.mac.pace = [100, 100, 80, 10][round / 2];
                for _ in 0..15 {
                    let length = if sent.len() == 70 { 9216 } else { length(&mut bench.rng, 9216).max(14) };
                    let mut frame = frame(&mut bench.rng, sent.len() as u32, length);
                    frame.bad = bench.rng.random_bool(0.1);
                    sent.push(padded(&frame));
                    bench.core.frames.push_back(frame);
                }
                while !bench.core.frames.is_empty() {
                    bench.step();
                    bench.dut.hold.set(bench.rng.random_bool(0.1));
                }
            }
            bench.dut.hold.set(false);
            bench.drain();
            assert_eq!(Vec::from(std::mem::take(&mut bench.mac.frames)), sent, "periods {period:?}");
            assert_eq!(bench.dut.sent.number(), sent.len() as u64);
            assert_eq!(bench.dut.discarded.number() + bench.dut.cut.number(), 0);
        }
    });
}

/// Between the last beat and the first that leaves: exact numbers of edges, and no gap between two frames.
#[test]
fn latency_is_exact() {
    run_with_wave_on_failure("boards_tx_latency", |wave| {
        let mut seen = [0; 2];
        for period in RATIOS {
            for beats in [1, 2, 3, 12] {
                let mut bench = TxBench::new(wave, period);
                bench.clocks.next = period.map(|period| bench.clocks.now() + bench.rng.random_range(1..period));
                let frame = frame(&mut bench.rng, 1, 64 * beats);
                bench.core.frames.push_back(frame);
                while bench.taken.is_empty() {
                    bench.step();
                }
                let taken = bench.taken_at[1];
                // One cycle of the core later the frame is counted.
                while !bench.step()[0] {}
                let counted = bench.edges[1];
                while !bench.dut.mac.valid.is_high() {
                    bench.step();
                    assert!(bench.edges[1] < counted + 20, "the frame never leaves");
                }
                let (from_taken, from_counted) = (bench.edges[1] - taken, bench.edges[1] - counted);
                // The later of the two. Simulated registers settle at once: the first edge after a change sees it.
                let (by_beat, by_frame) = (from_taken == 5, from_counted == 4);
                assert!(by_beat && from_counted >= 4 || by_frame && from_taken >= 5 || by_frame && beats > 1);
                seen[usize::from(by_frame)] += 1;
            }
        }
        assert!(seen[1] > 20, "{seen:?}");

        // Frames that wait leave one after another, a beat per edge.
        let mut bench = TxBench::new(wave, [4000, 3103]);
        bench.mac.pace = 0;
        for number in 0..20 {
            let frame = frame(&mut bench.rng, number, 60 + 64 * (number as usize % 4));
            bench.core.frames.push_back(frame);
        }
        bench.run(100);
        let before = bench.edges[1];
        bench.mac.pace = 100;
        while bench.mac.frames.len() < 20 {
            bench.step();
        }
        assert_eq!(bench.edges[1] - before, 5 * (1 + 2 + 3 + 4), "beats of the frames");
    });
}

/// A frame without end, longer than any may be, ends as bad; the next one is whole.
#[test]
fn what_is_too_long_is_cut() {
    run_with_wave_on_failure("boards_tx_long", |wave| {
        let mut bench = TxBench::new(wave, [4000, 3103]);
        let mut expected = vec![];
        for (number, length) in [9216, 9217, 64 * 700, 100, 9280, 60].into_iter().enumerate() {
            let frame = frame(&mut bench.rng, number as u32, length);
            let mut kept = frame.clone();
            if length > 64 * LONGEST {
                kept.bytes.truncate(64 * LONGEST);
                kept.bad = true;
            }
            expected.push(kept);
            bench.core.frames.push_back(frame);
        }
        bench.drain();
        assert_eq!(Vec::from(std::mem::take(&mut bench.mac.frames)), expected);
        assert_eq!((bench.dut.sent.number(), bench.dut.cut.number()), (6, 3));
    });
}

/// Without a link frames are taken and thrown away; a frame that has begun is finished.
#[test]
fn without_a_link_nothing_blocks() {
    run_with_wave_on_failure("boards_tx_link", |wave| {
        let mut bench = TxBench::new(wave, [4000, 3103]);
        let mut sent = vec![];
        for number in 0..300 {
            let length = length(&mut bench.rng, 700).max(60);
            sent.push(frame(&mut bench.rng, number, length));
        }
        bench.core.frames.extend(sent.clone());
        bench.mac.pace = 90;
        while !bench.core.frames.is_empty() {
            bench.step();
            if bench.rng.random_bool(0.02) {
                bench.dut.link.set(bench.rng.random_bool(0.5));
            }
        }
        bench.drain();
        let frames: Vec<Frame> = bench.mac.frames.drain(..).collect();
        assert_some_of(&frames, &sent);
        let (passed, discarded) = (bench.dut.sent.number(), bench.dut.discarded.number());
        assert_eq!((passed, passed + discarded), (frames.len() as u64, 300));
        assert!(passed > 50 && discarded > 50, "{passed}, {discarded}");
    });
}

/// The MAC is in reset, or its clock stands: the core goes on, and its frames are gone; afterwards frames pass again.
#[test]
fn a_dead_mac_does_not_block_the_core() {
    run_with_wave_on_failure("boards_tx_dead", |wave| {
        for stops in [true, false] {
            let mut bench = TxBench::new(wave, [4000, 3103]);
            bench.clocks.runs[1] = !stops;
            bench.set_resets([false, !stops]);
            for number in 0..400 {
                let frame = frame(&mut bench.rng, number, 1518);
                bench.core.frames.push_back(frame);
            }
            let (mut waited, mut left) = (0, 400);
            while !bench.core.frames.is_empty() {
                bench.step();
                waited = if bench.core.frames.len() < left { 0 } else { waited + 1 };
                left = bench.core.frames.len();
                assert!(waited < 2 * PATIENCE + 60, "the core is blocked");
            }
            assert_eq!(bench.dut.mac_lost.is_high(), stops, "a reset is no clock that stands still");
            bench.clocks.runs[1] = true;
            bench.set_resets([false, false]);
            bench.run(400);
            bench.mac.restart();
            bench.mac.frames.clear();
            let next = frame(&mut bench.rng, 500, 300);
            bench.core.frames.push_back(next.clone());
            bench.drain();
            assert_eq!(Vec::from(std::mem::take(&mut bench.mac.frames)), [next]);
        }
    });
}

/// The core is reset, or its clock stops, or both, at any time: the MAC's frame ends, without a gap.
#[test]
fn resets_in_traffic() {
    run_with_wave_on_failure("boards_tx_resets", |wave| {
        for period in RATIOS {
            let mut bench = TxBench::new(wave, period);
            let (mut number, mut aborted) = (0, 0);
            for round in 0..60 {
                bench.core.pace = [100, 60][round % 2];
                bench.mac.pace = [100, 100, 50, 15][round % 4];
                for _ in 0..12 {
                    let length = length(&mut bench.rng, 2000).max(60);
                    let frame = frame(&mut bench.rng, number, length);
                    bench.core.frames.push_back(frame);
                    number += 1;
                }
                let sent: Vec<Frame> = bench.core.frames.iter().cloned().collect();
                for _ in 0..bench.rng.random_range(10..150) {
                    bench.step();
                }
                let sides = [[true, false], [true, false], [false, true], [true, true]][round / 2 % 4];
                let stands = bench.rng.random_range(0..6);
                if stands < 2 {
                    bench.clocks.runs[stands] = false;
                    bench.run(bench.rng.clone().random_range(0..30));
                }
                if sides[0] && bench.clocks.runs[0] {
                    bench.core.abandon();
                }
                bench.set_resets(sides);
                let before = bench.edges;
                let mut left = [1, 9, 60][round % 3];
                while left > 0 || (0..2).any(|i| sides[i] && bench.edges[i] == before[i] && bench.clocks.runs[i]) {
                    bench.step();
                    left -= i64::from(left > 0);
                }
                bench.set_resets([false, false]);
                bench.run(60);
                bench.clocks.runs = [true, true];
                bench.drain();
                assert!(!bench.mac.inside(), "round {round}: a frame without end");
                let frames: Vec<Frame> = bench.mac.frames.drain(..).collect();
                let good: Vec<Frame> = frames.iter().filter(|frame| !frame.bad).cloned().collect();
                assert_some_of(&good, &sent);
                aborted += frames.len() - good.len();
                let after: Vec<Frame> = (0..3).map(|i| frame(&mut bench.rng, 1000 + i, 300)).collect();
                bench.core.frames.extend(after.clone());
                bench.drain();
                assert_eq!(Vec::from(std::mem::take(&mut bench.mac.frames)), after, "round {round}");
            }
            assert!(aborted > 0, "no frame was aborted");
        }
    });
}
