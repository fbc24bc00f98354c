//! Checksums of frames that are sent, beside transfers without one, against the model.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::host_access::frame_sums::FrameSums;
use spindle_blocks::desc::{CommandIssuer, HostRead};
use spindle_contract::commands::{MAX_CHECKSUM, MAX_FRAME, MIN_FRAME};
use spindle_contract::descriptors::put_op;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_model::checksums;
use spindle_verilog::prelude::bits;
use std::collections::VecDeque;

/// Transfers that a read buffer holds.
const TRANSFERS: usize = 32;
/// Cycles from the last beat's arrival to the end of the wait.
const LATENCY: u64 = 4;

/// A transfer: a frame with a checksum, one without, or a segment of a put.
#[derive(Clone)]
pub struct Transfer {
    pub bytes: Vec<u8>,
    /// First byte of the sum, and the offset of the field from there.
    pub checksum: Option<(usize, usize)>,
    of_frame: bool,
}

impl Transfer {
    pub fn random(rng: &mut ChaCha8Rng) -> Self {
        let edges = [14, 15, 16, 62, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1514, MAX_FRAME];
        let length = match rng.random_range(0..3) {
            0 => edges[rng.random_range(0..edges.len())],
            1 => rng.random_range(MIN_FRAME..200),
            _ => rng.random_range(MIN_FRAME..=2000),
        };
        let mut bytes: Vec<u8> = match rng.random_range(0..6) {
            0 => vec![0; length],
            1 => vec![0xFF; length],
            _ => (0..length).map(|_| rng.random()).collect(),
        };
        if rng.random_range(0..3) == 0 {
            return Transfer { bytes, checksum: None, of_frame: rng.random() };
        }
        let even = |rng: &mut ChaCha8Rng, most: usize| 2 * rng.random_range(0..=most.min(MAX_CHECKSUM as usize) / 2);
        let start = even(rng, length - 2);
        let offset = even(rng, length - 2 - start);
        if rng.random_range(0..4) == 0 {
            // The sum is 0xFFFF, so its complement is 0.
            bytes[start + offset..start + offset + 2].fill(0);
            checksums::insert(&mut bytes, start, offset);
        }
        Transfer { bytes, checksum: Some((start, offset)), of_frame: true }
    }

    fn read(&self) -> HostRead {
        // Segments of puts carry a context and a frame number in the fields that frames use for their checksum.
        let (context, frame) = match self.checksum {
            Some((start, offset)) => (1, (start / 2 + (start + offset) / 2 * 256) as u64),
            None if self.of_frame => (0, 0),
            None => (self.bytes[0].into(), self.bytes[1].into()),
        };
        let handle = if self.of_frame { put_op::FRAME_HANDLE } else { put_op::HOST_HANDLE };
        HostRead {
            issuer: CommandIssuer { cluster: bits(7u64), hpu: bits(7u64), handle: bits(handle) },
            context: bits(context & 15),
            frame: bits(frame),
            length: bits(self.bytes.len()),
            ..HostRead::default()
        }
    }

    fn beats(&self) -> usize {
        self.bytes.len().div_ceil(64)
    }

    pub fn expected(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if let Some((start, offset)) = self.checksum {
            checksums::insert(&mut bytes, start, offset);
        }
        bytes
    }
}

/// Percent of the cycles in which a transfer is requested, a beat arrives, a beat may leave.
type Pace = [u32; 3];

/// Passes transfers through a read buffer that the bench plays; returns the cycles in which the last beat of each left.
fn pass(context: &WaveContext, transfers: &[Transfer], pace: Pace) -> Vec<u64> {
    let dut = Dut::new(context, FrameSums::default(), "frame_sums");
    let mut rng = context.rng();
    let mut requested = 0;
    // Transfers that have arrived, with the cycle of the last beat; beats of the next one.
    let mut arrived: VecDeque<u64> = VecDeque::new();
    let (mut all_arrived, mut beats) = (0, 0);
    let mut left: Vec<u64> = vec![];
    let mut now: Vec<u8> = vec![];
    let mut chance = |percent: u32| percent == 100 || rng.random_range(0..100) < percent;
    let mut filler = context.rng();
    while left.len() < transfers.len() {
        let cycle = dut.cycle();
        assert!(cycle < 400_000, "{} of {} left", left.len(), transfers.len());
        let asks = requested < transfers.len() && requested - left.len() < TRANSFERS && chance(pace[0]);
        dut.read.offer(asks.then(|| transfers[requested].read()));
        let arrives = all_arrived < requested && chance(pace[1]);
        dut.beat.valid.set(arrives);
        let mut ends = false;
        if arrives {
            let transfer = &transfers[all_arrived];
            let chunk = &transfer.bytes[64 * beats..transfer.bytes.len().min(64 * (beats + 1))];
            // Bytes after the end are undefined.
            let mut beat: Vec<u8> = (0..64).map(|_| filler.random()).collect();
            beat[..chunk.len()].copy_from_slice(chunk);
            dut.beat.set_bytes(&beat);
            ends = beats + 1 == transfer.beats();
            dut.beat_last.set(ends);
        }
        let oldest = &transfers[left.len()];
        dut.oldest.set(oldest.read());
        dut.leaves.set(false);
        dut.eval();
        let since = arrived.front().map(|last| cycle - last);
        let held = dut.held.is_high();
        if let Some(since) = since {
            assert_eq!(
                held,
                oldest.checksum.is_some() && since < LATENCY,
                "cycle {cycle}: {since} after the last beat"
            );
        }
        // The buffer itself takes a cycle.
        let leaves = since.is_some_and(|since| since >= 1) && !held && chance(pace[2]);
        let mut leaves_last = false;
        if leaves {
            let from = now.len();
            now.extend(&oldest.bytes[from..oldest.bytes.len().min(from + 64)]);
            leaves_last = now.len() == oldest.bytes.len();
            dut.leaves.set(true);
            dut.leaves_last.set(leaves_last);
            dut.eval();
            let field = dut.field.get();
            if field.present {
                let at = from + 2 * field.word.to_u64() as usize;
                now[at..at + 2].copy_from_slice(&field.value.to_u16().to_le_bytes());
            }
        }
        if leaves_last {
            assert_eq!(std::mem::take(&mut now), oldest.expected(), "checksum {:?}", oldest.checksum);
            left.push(cycle);
            arrived.pop_front();
        }
        requested += usize::from(asks);
        if ends {
            arrived.push_back(cycle);
            (all_arrived, beats) = (all_arrived + 1, 0);
        } else if arrives {
            beats += 1;
        }
        dut.tick();
    }
    left
}

#[test]
fn random_frames() {
    run_with_wave_on_failure("rvma_frame_sums", |context| {
        let mut rng = context.rng();
        for pace in [[100, 100, 100], [20, 100, 100], [100, 60, 30], [50, 30, 80]] {
            let transfers: Vec<Transfer> = (0..250).map(|_| Transfer::random(&mut rng)).collect();
            pass(context, &transfers, pace);
        }
    });
}

/// Frames with a checksum leave at the rate at which their bytes arrive.
#[test]
fn a_checksum_costs_no_rate() {
    run_with_wave_on_failure("rvma_frame_sums_rate", |context| {
        for (length, beats) in [(60, 1), (64, 1), (65, 2), (1500, 24)] {
            let transfer = Transfer { bytes: vec![7; length], checksum: Some((34, 6)), of_frame: true };
            // One whose bytes arrive while the frame before is still being sent does not wait.
            let left = pass(context, &vec![transfer; 60], [100, 100, 100]);
            assert_eq!(left[59] - left[20], 39 * beats, "{length} bytes");
        }
    });
}
