//! `ByteAligner` against bytes in a buffer.

use crate::blocks::common::random_bytes;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::ByteAligner;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Job {
    src_offset: usize,
    dst_offset: usize,
    length: usize,
    /// Source beats after the last wanted byte.
    surplus: usize,
}

impl Job {
    fn source_beats(&self) -> usize {
        (self.src_offset + self.length).div_ceil(64)
    }

    fn output_beats(&self) -> usize {
        (self.dst_offset + self.length).div_ceil(64)
    }

    /// Cycles of the job when nothing stalls.
    fn cost(&self) -> usize {
        let steps = self.output_beats() + (self.dst_offset < self.src_offset) as usize;
        assert!(steps == self.source_beats() || steps == self.source_beats() + 1);
        steps + self.surplus
    }

    fn bits(&self) -> [u8; 4] {
        (self.src_offset as u32 | (self.dst_offset as u32) << 6 | (self.length as u32) << 12).to_le_bytes()
    }

    fn random(rng: &mut ChaCha8Rng) -> Self {
        let length = match rng.random_range(0..10) {
            0..4 => rng.random_range(1..=64),
            4..7 => rng.random_range(1..=300),
            7 | 8 => 64 * rng.random_range(1..=4),
            _ => rng.random_range(1..=2000),
        };
        let surplus = if rng.random_range(0..4) == 0 { rng.random_range(1..4) } else { 0 };
        Self { src_offset: rng.random_range(0..64), dst_offset: rng.random_range(0..64), length, surplus }
    }
}

/// A beat as the destination wants it: the byte of each strobed lane.
type Expected = (Vec<Option<u8>>, bool);

/// Runs the jobs; returns the cycle of the first source beat taken, and the cycles from there to the last output beat.
fn run(
    dut: &Dut<ByteAligner>,
    rng: &mut ChaCha8Rng,
    jobs: &[Job],
    source_chance: f64,
    sink_chance: f64,
) -> (usize, usize) {
    dut.reset();
    let mut source: VecDeque<([u8; 64], bool)> = VecDeque::new();
    let mut expected: VecDeque<Expected> = VecDeque::new();
    for job in jobs {
        let beats: Vec<[u8; 64]> = (0..job.source_beats() + job.surplus).map(|_| random_bytes(rng)).collect();
        let bytes: Vec<u8> = beats.concat()[job.src_offset..].iter().take(job.length).copied().collect();
        let mut lanes = vec![None; 64 * job.output_beats()];
        for (i, byte) in bytes.iter().enumerate() {
            lanes[job.dst_offset + i] = Some(*byte);
        }
        let n = beats.len();
        source.extend(beats.into_iter().enumerate().map(|(i, b)| (b, i + 1 == n)));
        let n = job.output_beats();
        expected.extend(lanes.chunks(64).enumerate().map(|(i, l)| (l.to_vec(), i + 1 == n)));
    }
    let mut jobs: VecDeque<Job> = jobs.iter().copied().collect();
    let (mut offers_job, mut offers_beat) = (false, false);
    let mut held: Option<(Vec<u8>, u64, bool)> = None;
    let (mut first_taken, mut cycle) = (None, 0);
    while !(expected.is_empty() && source.is_empty()) {
        assert!(cycle < 400_000, "{} beats never came out", expected.len());
        offers_job |= !jobs.is_empty() && rng.random_bool(source_chance);
        offers_beat |= !source.is_empty() && rng.random_bool(source_chance);
        let ready = rng.random_bool(sink_chance);
        dut.job.valid.set(offers_job);
        dut.job.set_bytes(&jobs.front().map_or([0; 4], Job::bits));
        dut.source_data.valid.set(offers_beat);
        let (data, last) = source.front().copied().unwrap_or(([0; 64], false));
        dut.source_data.set_bytes(&data);
        dut.source_data.last.set(last);
        dut.out_ready.set(ready);
        dut.eval();
        let beat =
            dut.out_valid.is_high().then(|| (dut.out_data.bytes(), dut.out_strobe.number(), dut.out_last.is_high()));
        assert!(held.is_none() || held == beat, "cycle {cycle}: the beat changed before it was taken");
        held = if ready { None } else { beat.clone() };
        if let (Some((data, strobe, last)), true) = (beat, ready) {
            let (lanes, is_last) = expected.pop_front().expect("an output beat too many");
            let got: Vec<Option<u8>> = (0..64).map(|l| (strobe >> l & 1 == 1).then_some(data[l])).collect();
            assert_eq!((got, last), (lanes, is_last), "cycle {cycle}");
        }
        if offers_beat && dut.source_data.ready.is_high() {
            source.pop_front();
            offers_beat = false;
            first_taken.get_or_insert(cycle);
        }
        if offers_job && dut.job.ready.is_high() {
            jobs.pop_front();
            offers_job = false;
        }
        dut.tick();
        cycle += 1;
    }
    for _ in 0..8 {
        dut.source_data.valid.set(false);
        dut.job.valid.set(false);
        dut.out_ready.set(true);
        dut.eval();
        assert!(!dut.out_valid.is_high(), "an output beat too many");
        dut.tick();
    }
    let first_taken = first_taken.expect("a source beat was taken");
    (first_taken, cycle - first_taken)
}

fn aligner(wave: &WaveContext) -> Dut<ByteAligner> {
    Dut::new(wave, ByteAligner::default(), "byte_aligner")
}

#[test]
fn random_jobs() {
    run_with_wave_on_failure("random_jobs", |wave| {
        let mut rng = wave.rng();
        let dut = aligner(wave);
        for (source_chance, sink_chance) in [(1.0, 1.0), (0.4, 1.0), (1.0, 0.4), (0.6, 0.6)] {
            let jobs: Vec<Job> = (0..800).map(|_| Job::random(&mut rng)).collect();
            run(&dut, &mut rng, &jobs, source_chance, sink_chance);
        }
    });
}

/// Every pair of offsets with the lengths around which beats appear and vanish.
#[test]
fn all_offsets() {
    run_with_wave_on_failure("all_offsets", |wave| {
        let mut rng = wave.rng();
        let dut = aligner(wave);
        let lengths = [1, 2, 63, 64, 65, 127, 128, 129];
        let mut jobs = vec![];
        for src_offset in 0..64 {
            for dst_offset in 0..64 {
                let length = lengths[(src_offset + 3 * dst_offset) % lengths.len()];
                jobs.push(Job { src_offset, dst_offset, length, surplus: 0 });
                let length = 128 - dst_offset.max(src_offset) + (src_offset + dst_offset) % 3;
                jobs.push(Job { src_offset, dst_offset, length, surplus: 0 });
            }
        }
        run(&dut, &mut rng, &jobs, 1.0, 1.0);
    });
}

#[test]
fn longest_job() {
    run_with_wave_on_failure("longest_job", |wave| {
        let mut rng = wave.rng();
        let dut = aligner(wave);
        for surplus in [0, 2] {
            let mut jobs = [(0, 0), (63, 0), (0, 63), (63, 63), (1, 63), (63, 1)]
                .map(|(src_offset, dst_offset)| Job { src_offset, dst_offset, length: 16384, surplus })
                .to_vec();
            jobs.push(Job { src_offset: 0, dst_offset: 0, length: 1, surplus: 0 });
            let cost: usize = jobs.iter().map(Job::cost).sum();
            assert_eq!(run(&dut, &mut rng, &jobs, 1.0, 1.0), (2, cost + 2), "surplus {surplus}");
        }
    });
}

/// Two cycles from a job to its first source beat, two from a source beat to its output, one beat per cycle, and no bubble
/// between jobs: exact.
#[test]
fn cycles_are_as_promised() {
    run_with_wave_on_failure("cycles_are_as_promised", |wave| {
        let mut rng = wave.rng();
        let dut = aligner(wave);
        for (src_offset, dst_offset) in [(0, 0), (10, 50), (50, 10), (0, 1), (1, 0)] {
            let job = Job { src_offset, dst_offset, length: 1024, surplus: 0 };
            assert_eq!(run(&dut, &mut rng, &[job], 1.0, 1.0), (2, job.cost() + 2), "{job:?}");
        }
        let jobs: Vec<Job> = (0..300)
            .map(|_| Job::random(&mut rng))
            .chain([Job { src_offset: 0, dst_offset: 0, length: 1, surplus: 0 }])
            .collect();
        let cost: usize = jobs.iter().map(Job::cost).sum();
        assert_eq!(run(&dut, &mut rng, &jobs, 1.0, 1.0), (2, cost + 2));
    });
}

/// A source that ends early does not hang the aligner, and the next job is right.
#[test]
fn short_source_does_no_harm() {
    run_with_wave_on_failure("short_source_does_no_harm", |wave| {
        let dut = aligner(wave);
        dut.reset();
        let job = |length| Job { src_offset: 8, dst_offset: 20, length, surplus: 0 }.bits();
        dut.out_ready.set(true);
        dut.job.valid.set(true);
        let mut outputs = vec![];
        let mut jobs = VecDeque::from([job(300), job(30)]);
        let mut source = VecDeque::from([([1u8; 64], false), ([2; 64], true), ([7; 64], true)]);
        for _ in 0..40 {
            dut.job.valid.set(!jobs.is_empty());
            dut.job.set_bytes(&jobs.front().copied().unwrap_or_default());
            dut.source_data.valid.set(!source.is_empty());
            let (data, last) = source.front().copied().unwrap_or(([0; 64], false));
            dut.source_data.set_bytes(&data);
            dut.source_data.last.set(last);
            dut.eval();
            if dut.out_valid.is_high() {
                outputs.push((dut.out_data.bytes(), dut.out_strobe.number(), dut.out_last.is_high()));
            }
            if dut.job.ready.is_high() {
                jobs.pop_front();
            }
            if dut.source_data.ready.is_high() {
                source.pop_front();
            }
            dut.tick();
        }
        // 320 bytes from lane 20 are 5 beats; the 30 bytes are one.
        assert_eq!(outputs.len(), 6);
        let (data, strobe, last) = &outputs[5];
        assert_eq!((*strobe, *last), (((1 << 30) - 1) << 20, true));
        assert!(data[20..50].iter().all(|b| *b == 7));
    });
}
