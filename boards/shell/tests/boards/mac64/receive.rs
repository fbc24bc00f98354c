//! `MacRx`.

use super::characters::{characters_of, random_frame, with_fcs, Character, END, ERROR, IDLE, START};
use super::receive_bench::{Bench, Line, Received, BAD_START, CODE, FCS, GOOD, LONG, RUNT};
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::mac64::MacRx;
use spindle_harness::run_with_wave_on_failure;

/// Lengths from 60 to 9596 in either lane, half of them after the shortest gap of a receiver.
#[test]
fn frames_of_all_lengths_arrive() {
    run_with_wave_on_failure("mac_rx_all_lengths", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::standard(wave);
        let mut lengths: Vec<usize> = (60..=1600).chain((1600..9596).step_by(7)).chain(9580..=9596).collect();
        for i in (1..lengths.len()).rev() {
            lengths.swap(i, rng.random_range(0..=i));
        }
        for part in lengths.chunks(64) {
            let mut line = Line::default();
            let sent: Vec<Vec<u8>> = part.iter().map(|length| random_frame(&mut rng, *length)).collect();
            for frame in &sent {
                line.gap();
                if rng.random() {
                    line.up_to(4 * rng.random_range(0..2));
                }
                line.add(&characters_of(&with_fcs(frame)));
            }
            bench.finish(line);
            let frames = std::mem::take(&mut bench.frames);
            assert_eq!(frames.len(), sent.len());
            for (got, frame) in frames.iter().zip(&sent) {
                assert!(got.bytes == *frame && !got.bad, "a frame of {} bytes", frame.len());
            }
        }
        assert_eq!(bench.events, [lengths.len(), 0, 0, 0, 0, 0]);
    });
}

/// Every length below the shortest, with a right FCS where there is room for one: bad, and nothing of the next frame is lost.
#[test]
fn runts_are_bad() {
    run_with_wave_on_failure("mac_rx_runts", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::standard(wave);
        for length in 0..64usize {
            for lane in [0, 4] {
                let mut runt = random_frame(&mut rng, length.saturating_sub(4));
                runt.extend(crc32fast::hash(&runt).to_le_bytes());
                runt.truncate(length);
                let good = random_frame(&mut rng, 60);
                let mut line = Line::default();
                line.up_to(lane);
                line.add(&characters_of(&runt));
                line.gap();
                line.add(&characters_of(&with_fcs(&good)));
                bench.finish(line);
                let mut frames = std::mem::take(&mut bench.frames);
                assert_eq!(frames.pop(), Some(Received { bytes: good, bad: false }), "after {length} bytes");
                match frames.pop() {
                    Some(runt_frame) => {
                        assert!(runt_frame.bad && frames.is_empty());
                        assert_eq!(runt_frame.bytes, runt[..length - 4]);
                    }
                    None => assert!(length <= 12, "a runt of {length} bytes left no beat"),
                }
            }
        }
        assert_eq!(bench.events, [128, 0, 128, 0, 0, 0]);
    });
}

/// One bit wrong anywhere in the frame or its FCS.
#[test]
fn a_wrong_bit_is_found() {
    run_with_wave_on_failure("mac_rx_fcs", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::standard(wave);
        let mut count = 0;
        for length in 60..76 {
            let mut line = Line::default();
            let frame = random_frame(&mut rng, length);
            for bit in 0..8 * (length + 4) {
                let mut bytes = with_fcs(&frame);
                bytes[bit / 8] ^= 1 << (bit % 8);
                line.gap();
                line.add(&characters_of(&bytes));
                count += 1;
            }
            bench.finish(line);
            let frames = std::mem::take(&mut bench.frames);
            assert!(frames.iter().all(|f| f.bad && f.bytes.len() == length));
        }
        assert_eq!(bench.events, [0, count, 0, 0, 0, 0]);
    });
}

/// Every control character, at every place of a frame, in both lanes.
#[test]
fn a_control_character_at_every_place_is_bad() {
    run_with_wave_on_failure("mac_rx_codes", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::standard(wave);
        let frame = random_frame(&mut rng, 69);
        let whole = characters_of(&with_fcs(&frame));
        let (mut codes, mut starts) = (0, 0);
        for character in [ERROR, IDLE, (0x9C, true), (0x00, true), (0xFF, true)] {
            for place in 1..whole.len() {
                for lane in [0, 4] {
                    let mut broken = whole.clone();
                    broken[place] = character;
                    let mut line = Line::default();
                    line.up_to(lane);
                    line.add(&broken);
                    line.gap();
                    line.add(&whole);
                    bench.finish(line);
                    let mut frames = std::mem::take(&mut bench.frames);
                    assert_eq!(frames.pop(), Some(Received { bytes: frame.clone(), bad: false }), "{place}");
                    assert!(frames.iter().all(|f| f.bad) && frames.len() <= 1, "{character:?} at {place}: {frames:?}");
                    if place < 8 {
                        starts += 1;
                        assert!(frames.is_empty());
                    } else {
                        codes += 1;
                        assert!(place < 16 || frames.len() == 1);
                    }
                }
            }
        }
        let good = codes + starts;
        assert_eq!(bench.events, [good, 0, 0, 0, codes, starts]);
    });
}

/// A frame that is cut by the start of another one, at every place; and a start that is no start.
#[test]
fn a_start_inside_a_frame_ends_it() {
    run_with_wave_on_failure("mac_rx_starts", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::standard(wave);
        let frame = random_frame(&mut rng, 90);
        let whole = characters_of(&with_fcs(&frame));
        let mut cut = 0;
        for place in (12..96).step_by(4) {
            for lane in [0, 4] {
                let mut line = Line::default();
                line.up_to(lane);
                line.add(&whole[..place]);
                line.add(&whole);
                bench.finish(line);
                let mut frames = std::mem::take(&mut bench.frames);
                assert_eq!(frames.pop(), Some(Received { bytes: frame.clone(), bad: false }), "{place}");
                assert!(frames.iter().all(|f| f.bad) && frames.len() <= 1, "{place}: {frames:?}");
                cut += 1;
            }
        }
        assert_eq!(bench.events, [cut, 0, 0, 0, cut, 0]);
        // An end and a start in one word, which clause 49 cannot send.
        let mut line = Line::default();
        let short = characters_of(&with_fcs(&random_frame(&mut rng, 60)));
        line.add(&short);
        line.pad(4);
        line.add(&whole);
        bench.finish(line);
        assert!(bench.frames[0].bad && !bench.frames[1].bad && bench.frames.len() == 2);
        bench.frames.clear();
        cut += 1;
        assert_eq!(bench.events, [cut, 0, 0, 0, cut, 0]);
        // No start delimiter.
        let mut line = Line::default();
        let mut other = whole.clone();
        other[7] = (0x55, false);
        line.add(&other);
        line.pad(4);
        line.add(&[START]);
        line.add(&[(0x55, false); 7]);
        line.add(&whole);
        line.pad(8);
        bench.finish(line);
        assert_eq!(bench.frames, [Received { bytes: frame, bad: false }]);
        assert_eq!((bench.events[GOOD], bench.events[BAD_START]), (cut + 1, 2));
    });
}

/// Frames around the longest one.
#[test]
fn frames_that_are_too_long_are_cut() {
    run_with_wave_on_failure("mac_rx_long", |wave| {
        let mut rng = wave.rng();
        for (longest, block, name) in [(128, MacRx::new(128), "mac_rx_128"), (9600, MacRx::default(), "mac_rx")] {
            let mut bench = Bench::new(wave, block, name);
            let mut expected = [0; 6];
            for with_check in longest - 9..longest + 40 {
                for lane in [0, 4] {
                    let frame = random_frame(&mut rng, with_check - 4);
                    let good = random_frame(&mut rng, 60);
                    let mut line = Line::default();
                    line.up_to(lane);
                    line.add(&characters_of(&with_fcs(&frame)));
                    line.gap();
                    line.add(&characters_of(&with_fcs(&good)));
                    bench.finish(line);
                    let frames = std::mem::take(&mut bench.frames);
                    assert_eq!(frames.len(), 2);
                    assert_eq!(frames[1], Received { bytes: good, bad: false });
                    if with_check <= longest {
                        assert!(frames[0].bytes == frame && !frames[0].bad, "{with_check} bytes");
                        expected[GOOD] += 1;
                    } else {
                        assert!(frames[0].bad && frames[0].bytes.len() <= longest, "{with_check} bytes");
                        assert!(with_fcs(&frame).starts_with(&frames[0].bytes));
                        expected[LONG] += 1;
                    }
                    expected[GOOD] += 1;
                }
            }
            assert_eq!(bench.events, expected);
        }
    });
}

/// Whatever comes: words in pauses of the gearbox are not seen, and the block is right again with the next whole frame.
#[test]
fn noise_does_no_harm() {
    run_with_wave_on_failure("mac_rx_noise", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::standard(wave);
        let some = [IDLE, START, END, ERROR, (0x9C, true), (0x55, false), (0xD5, false), (0, false)];
        for _ in 0..3000 {
            let mut line = Line::default();
            noise(&mut rng, &mut line, &some);
            let frame = {
                let length = rng.random_range(60..200);
                random_frame(&mut rng, length)
            };
            line.add(&characters_of(&with_fcs(&frame)));
            line.pad(8);
            line.add(&[IDLE; 128]);
            for word in line.characters.chunks(8) {
                while rng.random_bool(0.2) {
                    bench.cycle(None);
                }
                bench.cycle(Some(word));
            }
            assert_eq!(bench.frames.pop(), Some(Received { bytes: frame, bad: false }));
            assert!(bench.frames.drain(..).all(|f| f.bad), "noise became a good frame");
        }
        assert!(bench.events[GOOD] == 3000 && bench.events[FCS] + bench.events[RUNT] > 100, "{:?}", bench.events);
        assert!(bench.events[CODE] > 1000, "{:?}", bench.events);
    });
}

fn noise(rng: &mut ChaCha8Rng, line: &mut Line, some: &[Character]) {
    for _ in 0..rng.random_range(0..20) {
        if rng.random_bool(0.3) {
            line.pad(4);
            line.add(&characters_of(&{
                let length = rng.random_range(0..90);
                random_frame(rng, length)
            }));
        } else {
            line.characters.push(*some.choose(rng).unwrap());
        }
    }
    line.pad(4);
}

/// Cycles from the first byte on the XGMII to the first beat.
#[test]
fn latency_is_as_promised() {
    run_with_wave_on_failure("mac_rx_latency", |wave| {
        for lane in [0, 4] {
            let mut bench = Bench::standard(wave);
            let start = bench.words;
            let mut line = Line::default();
            line.up_to(lane);
            line.add(&characters_of(&with_fcs(&[0x3C; 80])));
            bench.finish(line);
            // The first byte of the frame comes in the word after the start.
            assert_eq!(bench.first_beat.unwrap() - (start + 1), 10, "lane {lane}");
        }
    });
}
