//! `Widen` and `Narrow`: every frame as it was, at once and without gaps.

use rand::Rng;
use spindle_boards::hdl::width::{Narrow, Widen};
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_shell_bench::{frame, into, length, out_of, Frame, Receiver, Sender};

#[test]
fn parts_become_beats() {
    run_with_wave_on_failure("boards_widen", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Widen::default(), "widen");
        dut.ignore_all();
        for pace in [100, 50] {
            let (mut mac, mut cross) = (Sender::new(into!(free dut.narrow)), Receiver::new(out_of!(free dut.wide)));
            mac.pace = pace;
            let mut sent = vec![];
            for number in 0..200 {
                let length = if number < 130 { number + 1 } else { length(&mut rng, 9216) };
                let mut frame = frame(&mut rng, number as u32, length);
                frame.bad = rng.random_bool(0.2);
                sent.push(frame);
            }
            mac.frames.extend(sent.clone());
            let mut cycles = 0;
            while cross.frames.len() < sent.len() {
                assert!(cycles < 1_000_000, "a frame never comes out");
                mac.drive(&mut rng);
                dut.eval();
                // The last beat comes in the cycle after its last part.
                let whole = sent.len() - mac.frames.len();
                mac.sample();
                cross.sample();
                assert_eq!(cross.frames.len(), whole);
                dut.tick();
                cycles += 1;
            }
            assert_eq!(Vec::from(cross.frames), sent);
        }
    });
}

#[test]
fn beats_become_parts() {
    run_with_wave_on_failure("boards_narrow", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Narrow::default(), "narrow");
        for (pace, ready) in [(100, 100), (100, 40), (30, 100), (60, 60)] {
            let (mut cross, mut mac) = (Sender::new(into!(dut.wide)), Receiver::new(out_of!(dut.narrow)));
            (cross.pace, mac.pace) = (pace, ready);
            let mut sent: Vec<Frame> = vec![];
            for number in 0..200 {
                let length = if number < 130 { number + 1 } else { length(&mut rng, 9216) };
                let mut frame = frame(&mut rng, number as u32, length);
                frame.bad = rng.random_bool(0.2);
                sent.push(frame);
            }
            cross.frames.extend(sent.clone());
            let mut cycles = 0;
            while mac.frames.len() < sent.len() {
                assert!(cycles < 1_000_000, "a frame never comes out");
                cross.drive(&mut rng);
                mac.drive(&mut rng);
                dut.eval();
                cross.sample();
                mac.sample();
                dut.tick();
                cycles += 1;
            }
            if (pace, ready) == (100, 100) {
                // One cycle of latency, and a part in each cycle after that.
                let parts: usize = sent.iter().map(|frame| frame.bytes.len().div_ceil(8)).sum();
                assert_eq!(cycles, parts + 1);
            }
            assert_eq!(Vec::from(mac.frames), sent);
        }
    });
}
