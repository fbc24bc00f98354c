//! `BeatCrc` and `CrcEnd` against a CRC that goes bit by bit over the frame's bytes alone.

use rand::Rng;
use spindle_blocks::crc::{begun, BeatCrc, CrcEnd, BEAT_CRC_LATENCY, CRC32, CRC32C, CRC_END_LATENCY};
use spindle_harness::{run_with_wave_on_failure, share, Dut};
use spindle_model::icrc::crc32c;
use std::collections::VecDeque;

/// Frames that begin and end at any byte of a beat, with gaps, one after the other, while the stages stand still now and then: the
/// register after every beat.
#[test]
fn every_beat_of_frames() {
    run_with_wave_on_failure("crc_every_beat_of_frames", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, BeatCrc::default(), "beat_crc");
        // What the register will be after beats that it does not have yet, the newest first.
        let mut line: VecDeque<Option<u32>> = VecDeque::from([None; BEAT_CRC_LATENCY - 1]);
        let (mut frame, mut at, mut start) = (vec![], 0, 0);
        let mut known = None;
        let (mut compared, mut starts, mut ends) = (0, [false; 64], [false; 64]);
        for cycle in 0..share(40_000) {
            if at == frame.len() {
                start = rng.random_range(0..64);
                let length = rng.random_range(1..400);
                frame = vec![0; start];
                frame.extend((0..length).map(|_| rng.random::<u8>()));
                at = 0;
                (starts[start], ends[(frame.len() - 1) % 64]) = (true, true);
            }
            let (valid, moves) = (rng.random_bool(0.8), rng.random_bool(0.8));
            let end = frame.len().min(at + 64);
            let mut beat = frame[at..end].to_vec();
            beat.resize(64, 0);
            if !valid {
                rng.fill(&mut beat[..]);
            }
            dut.beat.set_bytes(&beat);
            dut.beat.valid.set(valid);
            dut.first.set(at == 0);
            dut.start.set(begun(CRC32C, start));
            dut.moves.set(moves);
            dut.eval();
            if let Some(register) = known {
                assert_eq!(dut.state.number(), u64::from(register), "cycle {cycle}");
                compared += 1;
            }
            if moves {
                let after = valid.then(|| {
                    let mut bytes = frame[start..end].to_vec();
                    bytes.resize(bytes.len() + at + 64 - end, 0);
                    at = end;
                    !crc32c(&bytes)
                });
                line.push_front(after);
                known = line.pop_back().expect("it is never empty").or(known);
            }
            dut.tick();
        }
        assert!(compared > 5000 && starts.iter().chain(&ends).all(|met| *met), "{compared} registers");
    });
}

/// Registers after a last beat with any number of zeros, one per cycle, while the stages stand still now and then.
#[test]
fn zeros_are_taken_back() {
    run_with_wave_on_failure("crc_zeros_are_taken_back", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, CrcEnd::default(), "crc_end");
        let mut line: VecDeque<Option<u32>> = VecDeque::from([None; CRC_END_LATENCY]);
        for cycle in 0..share(12_000) {
            let zeros = rng.random_range(0..64usize);
            let mut bytes: Vec<u8> = (0..rng.random_range(1..200)).map(|_| rng.random()).collect();
            let crc = crc32c(&bytes);
            bytes.resize(bytes.len() + zeros, 0);
            let moves = rng.random_bool(0.8);
            dut.state.set(!crc32c(&bytes));
            dut.zeros.set(zeros);
            dut.moves.set(moves);
            dut.eval();
            if let Some(crc) = line[CRC_END_LATENCY - 1] {
                assert_eq!(dut.crc.number(), u64::from(crc), "cycle {cycle}");
            }
            if moves {
                line.pop_back();
                line.push_front(Some(crc));
            }
            dut.tick();
        }
    });
}

/// The functions take the polynomial: those of Ethernet give the check value and the residue of the standard.
#[test]
fn functions_of_another_polynomial() {
    use spindle_blocks::crc::{advance, back, residue};
    assert_eq!(residue(CRC32), 0xDEBB_20E3);
    assert_eq!(residue(CRC32C), 0xB798_B438);
    for bytes in [0, 1, 4, 63] {
        assert_eq!(back(CRC32, advance(CRC32, 0x1234_5678, bytes), bytes), 0x1234_5678);
    }
}
