//! `RxCross` against its promises: every frame whole, or ended as bad, or never seen; and each counted once.

use rand::Rng;
use spindle_boards::hdl::heartbeat::PATIENCE;
use spindle_harness::run_with_wave_on_failure;
use spindle_shell_bench::{assert_some_of, frame, length, Frame, RxBench};

const RATIOS: [[u64; 2]; 7] =
    [[3103, 4000], [4000, 4000], [4000, 3999], [6400, 8000], [3103, 8000], [8000, 3103], [2560, 16000]];

/// Every frame arrives, in order, if the core keeps up; bad ones are bad.
#[test]
fn frames_arrive_as_they_were_sent() {
    run_with_wave_on_failure("boards_rx_frames", |wave| {
        for period in [[4000, 4000], [4000, 3999], [6400, 4000], [8000, 3103], [16000, 2560]] {
            let mut bench = RxBench::<9>::new(wave, period);
            let mut sent = vec![];
            for number in 0..60 {
                let length = if number == 30 { 9216 } else { length(&mut bench.rng, 9216) };
                let mut frame = frame(&mut bench.rng, number, length);
                frame.bad = bench.rng.random_bool(0.2);
                sent.push(frame);
            }
            bench.mac.frames.extend(sent.clone());
            bench.mac.pace = [100, 60][usize::from(period[0] < 6400)];
            bench.drain();
            assert_eq!(Vec::from(std::mem::take(&mut bench.core.frames)), sent, "periods {period:?}");
            let bad = sent.iter().filter(|frame| frame.bad).count() as u64;
            assert_eq!(bench.counts(), [60 - bad, bad, 0, 0]);
        }
    });
}

/// The core is slower or stalls: frames are whole, cut or not there, and the counts say which.
#[test]
fn overflow_is_counted_and_never_tears_a_frame() {
    run_with_wave_on_failure("boards_rx_overflow", |wave| {
        for period in RATIOS {
            let mut bench = RxBench::<4>::new(wave, period);
            let mut sent = vec![];
            // Twelve rounds, and more until each fate was met.
            let rare = |bench: &RxBench<4>| bench.counts().iter().any(|count| *count <= 3);
            for round in 0..60 {
                if round >= 12 && !rare(&bench) {
                    break;
                }
                bench.core.pace = [100, 5, 30, 60, 0, 90][round % 6];
                bench.mac.pace = [100, 80, 40][round % 3];
                for _ in 0..25 {
                    let length = length(&mut bench.rng, 2500);
                    let mut frame = frame(&mut bench.rng, sent.len() as u32, length);
                    frame.bad = bench.rng.random_bool(0.1);
                    sent.push(frame.clone());
                    bench.mac.frames.push_back(frame);
                }
                while !bench.mac.frames.is_empty() {
                    bench.step();
                }
            }
            bench.drain();
            let frames: Vec<Frame> = bench.core.frames.drain(..).collect();
            assert!(!bench.core.inside(), "a frame without end");
            let good: Vec<Frame> = frames.iter().filter(|frame| !frame.bad).cloned().collect();
            assert_some_of(&good, &sent);
            // A bad frame is a bad one that was sent, or the first beats of one that was sent.
            let number = |frame: &Frame| u32::from_le_bytes(frame.bytes[..4].try_into().expect("four bytes")) as usize;
            let mut cut = 0;
            for frame in frames.iter().filter(|frame| frame.bad) {
                let whole = &sent[number(frame)];
                if frame != whole {
                    assert!(frame.bytes.len() % 64 == 0 && frame.bytes.len() < whole.bytes.len());
                    assert_eq!(frame.bytes, whole.bytes[..frame.bytes.len()]);
                    cut += 1;
                }
            }
            assert!(frames.windows(2).all(|pair| number(&pair[0]) < number(&pair[1])), "order");
            let counts = bench.counts();
            let bad = frames.len() - good.len() - cut;
            assert_eq!(counts[..3], [good.len() as u64, bad as u64, cut as u64], "{period:?}");
            assert_eq!(counts.iter().sum::<u64>(), sent.len() as u64, "{period:?}: {counts:?}");
            assert_eq!(bench.overflows, counts[2] + counts[3]);
            assert!(!rare(&bench), "this test must see each fate: {counts:?}");
        }
    });
}

/// Exactly as many beats as there are places.
#[test]
fn room_is_used_to_the_last_place() {
    run_with_wave_on_failure("boards_rx_room", |wave| {
        for (beats, lengths) in [(1, 60), (3, 3 * 64)] {
            let mut bench = RxBench::<4>::new(wave, [4000, 4000]);
            bench.core.pace = 0;
            for number in 0..30 {
                let frame = frame(&mut bench.rng, number, lengths);
                bench.mac.frames.push_back(frame);
            }
            // The words on the way out have to be there, or they would still occupy the memory.
            bench.mac.pace = 20;
            while !bench.mac.frames.is_empty() {
                bench.step();
            }
            // 15 in the memory, 2 on the way out, 1 held.
            let places = 15 + 2 + 1;
            assert_eq!(bench.dut.level.number(), 15);
            bench.drain();
            let (fit, rest) = (places / beats, places % beats);
            let cut = u64::from(rest > 0);
            assert_eq!(bench.counts(), [fit, 0, cut, 30 - fit - cut], "{beats} beats");
        }
    });
}

/// 1 cycle of the MAC and then 4 to 5 edges of the core; a beat per cycle.
#[test]
fn latency_is_exact() {
    run_with_wave_on_failure("boards_rx_latency", |wave| {
        for period in RATIOS {
            for _ in 0..6 {
                let mut bench = RxBench::<5>::new(wave, period);
                bench.clocks.next = period.map(|period| bench.clocks.now() + bench.rng.random_range(1..period));
                let frame = frame(&mut bench.rng, 1, 60);
                bench.mac.frames.push_back(frame);
                while bench.shown.is_empty() {
                    bench.step();
                }
                // The beat is in the register; the next edge of the MAC writes it.
                while !bench.step()[0] {}
                // An edge of the core at the same instant comes too early.
                let written = bench.edges[1];
                while !bench.dut.core.valid.is_high() {
                    bench.step();
                    assert!(bench.edges[1] < written + 20, "the beat never came out");
                }
                // Simulated registers settle at once: the first edge after the write sees it.
                assert_eq!(bench.edges[1] - written, 4, "{period:?}");
            }
        }
    });
}

/// Loss of alignment ends the frame in the next cycle; what remains of it is ignored.
#[test]
fn loss_of_alignment_ends_the_frame() {
    run_with_wave_on_failure("boards_rx_alignment", |wave| {
        for pace in [100, 30] {
            let mut bench = RxBench::<9>::new(wave, [3103, 4000]);
            bench.core.pace = pace;
            let (mut sent, mut torn) = (vec![], 0);
            for number in 0..40 {
                let length = bench.rng.random_range(65..1000);
                let frame = frame(&mut bench.rng, number, length);
                bench.mac.frames.push_back(frame.clone());
                bench.mac.pace = 50;
                let tear = bench.rng.random_bool(0.5);
                while !bench.mac.frames.is_empty() {
                    // A change stands until an edge of the MAC's clock has seen it.
                    if !bench.step()[0] {
                        continue;
                    }
                    if tear && bench.mac.inside() && bench.dut.aligned.number() == 1 {
                        if bench.rng.random_bool(0.3) {
                            bench.dut.aligned.set(false);
                        }
                    } else if bench.rng.random_bool(0.3) {
                        bench.dut.aligned.set(true);
                    }
                    if bench.dut.aligned.number() == 0 && sent.last() != Some(&number) {
                        sent.push(number);
                        torn += 1;
                    }
                }
                bench.dut.aligned.set(true);
                bench.drain();
                bench.core.pace = pace;
                let got = bench.core.frames.pop_front().expect("a frame, whole or ended");
                assert!(bench.core.frames.is_empty() && !bench.core.inside());
                if sent.last() == Some(&number) {
                    assert!(got.bad, "frame {number} lost its middle");
                } else {
                    assert_eq!(got, frame);
                }
            }
            assert!(torn > 5);
            assert_eq!(bench.counts(), [40 - torn, torn, 0, 0]);
        }
    });
}

/// The MAC's clock stops inside a frame: the core sees the end of a bad frame, and later whole frames again.
#[test]
fn a_clock_that_stops_ends_the_frame() {
    run_with_wave_on_failure("boards_rx_clock", |wave| {
        for pace in [100, 40] {
            let mut bench = RxBench::<9>::new(wave, [3103, 4000]);
            for round in 0..8 {
                let long = frame(&mut bench.rng, round, 1500);
                bench.mac.frames.push_back(long);
                bench.core.pace = pace;
                while !bench.mac.inside() {
                    bench.step();
                }
                for _ in 0..round + 2 {
                    bench.step();
                }
                bench.clocks.runs[0] = false;
                let start = bench.edges[1];
                while bench.core.frames.is_empty() {
                    bench.step();
                    assert!(bench.edges[1] - start < PATIENCE + 60, "the frame never ends");
                }
                assert!(bench.core.frames.pop_front().expect("an end").bad);
                assert!(bench.dut.mac_lost.is_high());
                // The clock runs again, and the MAC goes on where it was: no part of that may reach the core.
                bench.clocks.runs[0] = true;
                let next = frame(&mut bench.rng, 100 + round, 700);
                while !bench.mac.frames.is_empty() || bench.dut.mac_lost.is_high() {
                    bench.step();
                }
                bench.drain();
                assert!(bench.core.frames.is_empty() && !bench.core.inside());
                bench.mac.frames.push_back(next.clone());
                bench.drain();
                assert_eq!(bench.core.frames.pop_front(), Some(next));
            }
            assert_eq!(bench.counts()[..2], [8, 8]);
        }
    });
}

/// Resets of either side, of any length, and stopped clocks, in traffic.
#[test]
fn resets_in_traffic() {
    run_with_wave_on_failure("boards_rx_resets", |wave| {
        for period in RATIOS {
            let mut bench = RxBench::<5>::new(wave, period);
            let mut number = 0;
            for round in 0..40 {
                bench.core.pace = [100, 50, 100, 10][round % 4];
                bench.mac.pace = 70;
                bench.shown.clear();
                for _ in 0..12 {
                    let length = length(&mut bench.rng, 700);
                    let frame = frame(&mut bench.rng, number, length);
                    bench.mac.frames.push_back(frame);
                    number += 1;
                }
                let sent: Vec<Frame> = bench.mac.frames.iter().cloned().collect();
                for _ in 0..bench.rng.random_range(0..100) {
                    bench.step();
                }
                // One side, the other, both; the other clock may stand meanwhile. A short reset is one edge long.
                let sides = [[true, false], [false, true], [true, true], [false, true]][round / 2 % 4];
                let stands = bench.rng.random_range(0..6);
                if stands < 2 {
                    bench.clocks.runs[stands] = false;
                }
                for (on, steps) in [(true, [1, 9, 60][round % 3]), (false, 40)] {
                    bench.dut.mac_reset.set(on && sides[0]);
                    bench.core_reset = on && sides[1];
                    bench.dut.core_reset.set(bench.core_reset);
                    if on && sides[0] && bench.clocks.runs[0] {
                        bench.mac.abandon();
                    }
                    let before = bench.edges;
                    let due = |bench: &RxBench<5>| {
                        (0..2).all(|i| !sides[i] || bench.edges[i] > before[i] || !bench.clocks.runs[i])
                    };
                    let mut left = steps;
                    while left > 0 || !due(&bench) {
                        bench.step();
                        left -= i64::from(left > 0);
                    }
                }
                bench.clocks.runs = [true, true];
                bench.drain();
                assert!(!bench.core.inside(), "round {round}: a frame without end");
                let good: Vec<Frame> = bench.core.frames.drain(..).filter(|frame| !frame.bad).collect();
                assert_some_of(&good, &sent);
                // After all that it works.
                bench.mac.pace = if period[0] < period[1] { 30 } else { 100 };
                let after: Vec<Frame> = (0..3).map(|i| frame(&mut bench.rng, 1000 + i, 300)).collect();
                bench.mac.frames.extend(after.clone());
                bench.drain();
                assert_eq!(Vec::from(std::mem::take(&mut bench.core.frames)), after, "round {round}");
            }
        }
    });
}
