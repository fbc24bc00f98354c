//! The read DMA against a memory whose beats hold their addresses.

use crate::hpu_core::fields::{bits, field};
use hpu_core::cluster::l1_read_dma::L1ReadDma;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

const WIRE: u64 = 0;
const PUT: u64 = 1;
const HOST: u64 = 2;
const SEGMENT: u64 = 3;
/// Handles of a cluster: jobs that may be under way.
const JOBS: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Job {
    way: u64,
    checksum: bool,
    issuer: (u64, u64),
    frame: u64,
    /// First byte in L1.
    from: u64,
    length: u64,
    address: u64,
}

impl Job {
    fn random(rng: &mut ChaCha8Rng) -> Job {
        let beats = [1, 1, 2, 3, rng.random_range(1..33)][rng.random_range(0..5)];
        let byte = [0, 0, 42, 63, rng.random_range(0..64)][rng.random_range(0..5)];
        let way = rng.random_range(0..4);
        Job {
            way,
            checksum: way == WIRE && rng.random(),
            issuer: (rng.random_range(0..8), rng.random_range(0..4)),
            frame: rng.random_range(0..1 << 16),
            from: 64 * rng.random_range(0..1023 - beats) + byte,
            length: 64 * beats - if rng.random() { rng.random_range(0..64) } else { 0 },
            address: rng.random(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let (hpu, handle) = self.issuer;
        bits(&[
            (self.way, 2),
            (self.checksum.into(), 1),
            (hpu, 3),
            (handle, 2),
            (5, 4),
            (self.frame, 16),
            (self.from, 16),
            (self.length, 12),
            (self.address, 64),
        ])
    }
}

/// A beat that is to go out: its first byte in L1, its bytes, whether it is the last one, and of which job.
#[derive(Clone, Copy, Debug)]
struct Beat {
    from: u64,
    bytes: usize,
    last: bool,
    job: Job,
}

impl Beat {
    fn of(job: Job, i: u64, beats: u64) -> Self {
        let bytes = (job.length - 64 * i).min(64) as usize;
        Self { from: job.from + 64 * i, bytes, last: i + 1 == beats, job }
    }

    /// Its bytes in the memory.
    fn content(&self) -> Vec<u8> {
        let beats = [content(self.from / 64), content(self.from / 64 + 1)].concat();
        beats[self.from as usize % 64..][..self.bytes].to_vec()
    }
}

/// Beat `at` of the memory.
fn content(at: u64) -> Vec<u8> {
    (0..64).map(|byte| (at * 37 + byte * 11 + (at >> 5)) as u8).collect()
}

/// A read DMA, L1 as it sees it, and what it has been given.
struct Bench {
    dut: Dut<L1ReadDma>,
    expected: VecDeque<Beat>,
    descriptors: VecDeque<Job>,
    under_way: usize,
    /// Beat that was read in the cycle before.
    fetched: Option<u64>,
    /// Group that it said it would read in this cycle.
    announced: Option<u64>,
    /// Cycles in which beats went out.
    went: Vec<u64>,
    cycle: u64,
}

impl Bench {
    fn new(dut: Dut<L1ReadDma>) -> Self {
        Self {
            dut,
            expected: VecDeque::new(),
            descriptors: VecDeque::new(),
            under_way: 0,
            fetched: None,
            announced: None,
            went: Vec::new(),
            cycle: 0,
        }
    }

    /// One cycle, with a job or without; who is ready: L1, egress, the descriptors' taker, the data's.
    fn step(&mut self, job: Option<Job>, [l1, egress, dma, data]: [bool; 4]) {
        self.dut.job.valid.set(job.is_some());
        if let Some(job) = job {
            self.dut.job.set_bytes(&job.bytes());
            let beats = job.length.div_ceil(64);
            self.expected.extend((0..beats).map(|i| Beat::of(job, i, beats)));
            if job.way == HOST {
                self.descriptors.push_back(job);
            }
            self.under_way += 1;
        }
        self.dut.wide.ready.set(l1);
        self.dut.egress.ready.set(egress);
        self.dut.dma.ready.set(dma);
        self.dut.dma_data.ready.set(data);
        self.dut.eval();
        let cycle = self.cycle;
        if self.dut.dma.valid.is_high() && dma {
            let job = self.descriptors.pop_front().expect("a descriptor of a job");
            let bytes = self.dut.dma.bytes();
            let found = ["address", "length", "frame", "handle", "hpu", "context", "cluster"]
                .map(|name| field("dma_desc", &bytes, name));
            assert_eq!(found, [job.address, job.length, job.frame, job.issuer.1, job.issuer.0, 5, 3], "cycle {cycle}");
        }
        let (on_wire, to_host) = (self.dut.egress.valid.is_high(), self.dut.dma_data.valid.is_high());
        assert!(!(on_wire && to_host), "cycle {cycle}: one beat at a time");
        let mut sent = None;
        if (on_wire && egress) || (to_host && data) {
            let beat = self.expected.pop_front().unwrap_or_else(|| panic!("cycle {cycle}: a beat of no job"));
            assert_eq!(to_host, beat.job.way == HOST, "cycle {cycle}: {beat:?}");
            let (host, wire) = (&self.dut.dma_data, &self.dut.egress);
            let (data, last) = if to_host { (&host.payload, &host.last) } else { (&wire.data, &wire.last) };
            assert_eq!(data.bytes()[..beat.bytes], beat.content(), "cycle {cycle}: {beat:?}");
            assert_eq!(last.is_high(), beat.last, "cycle {cycle}: {beat:?}");
            if on_wire {
                let found = [wire.frame.number(), wire.put.number(), wire.segment.number(), wire.checksum.number()];
                let way = [PUT, SEGMENT].map(|way| u64::from(beat.job.way == way));
                let wanted = [beat.job.frame, way[0], way[1], beat.job.checksum.into()];
                assert_eq!(found, wanted, "cycle {cycle}: {beat:?}");
                assert!(!beat.last || self.dut.egress.tail.number() == beat.job.length % 64, "cycle {cycle}: {beat:?}");
            }
            if beat.last {
                self.under_way -= 1;
                sent = (beat.job.way == WIRE).then_some(beat.job.issuer);
            }
            self.went.push(cycle);
        }
        assert_eq!(self.dut.sent.valid.is_high(), sent.is_some(), "cycle {cycle}");
        if let Some((hpu, handle)) = sent {
            assert_eq!(self.dut.sent.number(), hpu | handle << 3, "cycle {cycle}");
        }
        let wants = self.dut.wide.read.is_high().then(|| self.dut.wide.beat.number());
        assert_eq!(wants.map(|beat| beat % 2), self.announced, "cycle {cycle}: it reads what it said");
        self.announced = self.dut.wide.next.is_high().then(|| self.dut.wide.next_odd.number());
        let read = wants.filter(|_| l1);
        self.dut.tick();
        // Two cycles after its read the beat is there. It stands no longer than one cycle.
        for group in &self.dut.data {
            group.set_bytes(&[0xEE; 64]);
        }
        if let Some(at) = std::mem::replace(&mut self.fetched, read) {
            self.dut.data[at as usize % 2].set_bytes(&content(at));
        }
        self.cycle += 1;
    }
}

#[test]
fn jobs_go_out_in_order_whoever_stalls() {
    run_with_wave_on_failure("l1_read_dma", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(Dut::new(wave, L1ReadDma::default(), "l1_read_dma"));
        bench.dut.number.set(3);
        let mut ready = [100; 4];
        let mut jobs = 0;
        while jobs < 1500 || bench.under_way > 0 {
            if bench.cycle.is_multiple_of(200) {
                ready = std::array::from_fn(|_| [10, 50, 90, 100][rng.random_range(0..4)]);
            }
            let job =
                (jobs < 1500 && bench.under_way < JOBS && rng.random_range(0..4) == 0).then(|| Job::random(&mut rng));
            jobs += usize::from(job.is_some());
            let is_ready = ready.map(|percent| rng.random_range(0..100) < percent);
            bench.step(job, is_ready);
            assert!(bench.cycle < 200_000, "{} jobs under way, {:?}", bench.under_way, bench.expected.front());
        }
        assert!(bench.expected.is_empty() && bench.descriptors.is_empty());
    });
}

#[test]
fn beats_follow_one_another() {
    run_with_wave_on_failure("l1_read_dma_cycles", |wave| {
        let mut bench = Bench::new(Dut::new(wave, L1ReadDma::default(), "l1_read_dma"));
        let job = |from: u64, length: u64| Job {
            way: WIRE,
            checksum: false,
            issuer: (1, 2),
            frame: 7,
            from,
            length,
            address: 0,
        };
        let went = |bench: &mut Bench, jobs: &[Job]| -> Vec<u64> {
            bench.went.clear();
            let begun = bench.cycle;
            for i in 0..60 {
                bench.step(jobs.get(i).copied(), [true; 4]);
            }
            bench.went.iter().map(|cycle| cycle - begun).collect()
        };
        // Six cycles from the job to its first beat; none between beats nor between jobs.
        let jobs = [job(2048, 1536), job(4160, 192), job(4096, 192), job(6144, 64), job(2112, 128)];
        assert_eq!(went(&mut bench, &jobs), (6..39).collect::<Vec<u64>>());
        let short: Vec<Job> = (0..6).map(|i| job(2048 * i, 64)).collect();
        assert_eq!(went(&mut bench, &short), (6..12).collect::<Vec<u64>>());
        // Before a job that does not begin with a beat there is one cycle, also if its bytes lie in one beat.
        let jobs = [job(2048 + 42, 1408), job(2048 + 63, 64), job(4096, 64), job(6144 + 1, 8), job(6144 + 33, 96)];
        let cycles = [7..29, 30..31, 31..32, 33..34, 35..37].into_iter().flatten().collect::<Vec<u64>>();
        assert_eq!(went(&mut bench, &jobs), cycles);
        // After a stall the beats that waited follow without a gap.
        for from in [2048, 2048 + 17] {
            bench.went.clear();
            bench.step(Some(job(from, 1536)), [true; 4]);
            for _ in 0..30 {
                bench.step(None, [true, false, true, true]);
            }
            let freed = bench.cycle;
            for _ in 0..30 {
                bench.step(None, [true; 4]);
            }
            assert_eq!(bench.went, (freed..freed + 24).collect::<Vec<_>>(), "from {from} on");
        }
    });
}
