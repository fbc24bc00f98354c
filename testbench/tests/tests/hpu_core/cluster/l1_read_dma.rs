//! The read DMA, with its combiner, against a memory.

use crate::hpu_core::fields::{bits, field};
use hpu_core::cluster::l1_read_dma::L1ReadDma;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::combine::{self, GF};
use spindle_contract::memory_map::{COMMAND_HANDLES, HANDLE_BITS};
use spindle_contract::params::{L1_STAGE_BASE, SLOT_BYTES};
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_model::combine::combine;
use std::collections::VecDeque;

const STAGE: u64 = L1_STAGE_BASE as u64;
const SLOT: u64 = SLOT_BYTES as u64;
const WIRE: u64 = 0;
const PUT: u64 = 1;
const HOST: u64 = 2;
const SEGMENT: u64 = 3;
const COMBINER: u64 = 4;
/// Cycles of a COMBINE beside two for each beat of its destination.
const CYCLES: u64 = 11;
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
    /// Of a COMBINE.
    operation: u32,
    to: u64,
}

impl Job {
    /// A COMBINE, of which the source does not meet the destination.
    fn combine(rng: &mut ChaCha8Rng) -> Job {
        let kind = rng.random_range(0..8);
        let size = if kind == GF { 0 } else { rng.random_range(0..3) };
        let constant: u32 = if kind == GF { rng.random_range(0..256) } else { 0 };
        let most = [4, 60, 200, 2048][rng.random_range(0..4)];
        let length = (rng.random_range(4..=most) >> size << size) as u64;
        // One half of the memory goes to the other.
        let (from, to) = (rng.random_range(0..30000), rng.random_range(32768..62000));
        let (from, to) = match rng.random_range(0..3) {
            0 => (from, to),
            1 => (to, from + 64),
            _ => (STAGE + rng.random_range(0..64), from + 64),
        };
        Job {
            way: COMBINER,
            issuer: (rng.random_range(0..8), rng.random_range(0..COMMAND_HANDLES as u64)),
            frame: rng.random_range(0..1 << 16),
            from,
            length,
            address: 0,
            checksum: false,
            operation: combine::operation(kind, size) | constant << combine::CONSTANT_SHIFT,
            to,
        }
    }

    fn random(rng: &mut ChaCha8Rng) -> Job {
        if rng.random_range(0..3) == 0 {
            return Job::combine(rng);
        }
        let beats = [1, 1, 2, 3, rng.random_range(1..33)][rng.random_range(0..5)];
        let byte = [0, 0, 42, 63, rng.random_range(0..64)][rng.random_range(0..5)];
        let way = rng.random_range(0..4);
        Job {
            way,
            checksum: way == WIRE && rng.random(),
            issuer: (rng.random_range(0..8), rng.random_range(0..COMMAND_HANDLES as u64)),
            frame: rng.random_range(0..1 << 16),
            from: if rng.random_range(0..4) == 0 { STAGE } else { 64 * rng.random_range(0..1023 - beats) } + byte,
            length: 64 * beats - if rng.random() { rng.random_range(0..64) } else { 0 },
            address: rng.random(),
            operation: 0,
            to: 0,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let (hpu, handle) = self.issuer;
        let combines = self.way == COMBINER;
        let operation = u64::from(self.operation);
        let staged = u64::from(self.from / SLOT == STAGE / SLOT);
        let target = self.to | (operation & 0x1F) << 16 | (operation >> 8) << 21 | staged << 29;
        // The source's address of lane 0.
        let lane = self.to % 64 + self.to.wrapping_neg() % 4;
        let (from, address) =
            if combines { (self.from.wrapping_sub(lane) & 0xFFFF, target) } else { (self.from, self.address) };
        bits(&[
            (self.way, 3),
            (self.checksum.into(), 1),
            (hpu, 3),
            (handle, HANDLE_BITS),
            (5, 4),
            (self.frame, 16),
            (from, 16),
            (self.length, 12),
            (address, 64),
        ])
    }
}

/// Bytes of L1 from byte `skip` after `from` on. The stage is a ring.
fn bytes_of(memory: &[u8], from: u64, skip: u64, length: u64) -> Vec<u8> {
    let place = |byte| if from / SLOT == STAGE / SLOT { STAGE + (byte - STAGE) % SLOT } else { byte };
    (from + skip..from + skip + length).map(|byte| memory[place(byte) as usize]).collect()
}

/// A beat that is to go out: its bytes, whether it is the last one, and of which job.
#[derive(Clone, Debug)]
struct Beat {
    bytes: Vec<u8>,
    last: bool,
    job: Job,
}

impl Beat {
    fn of(memory: &[u8], job: Job, i: u64, beats: u64) -> Self {
        let bytes = bytes_of(memory, job.from, 64 * i, (job.length - 64 * i).min(64));
        Self { bytes, last: i + 1 == beats, job }
    }
}

/// A read DMA, L1 as it sees it, and what it has been given.
struct Bench {
    dut: Dut<L1ReadDma>,
    /// The memory, and what the jobs make of it one after the other.
    memory: Vec<u8>,
    model: Vec<u8>,
    /// A beat that is written in this cycle; a write was refused in the cycle before.
    written: Option<(u64, u64, Vec<u8>)>,
    refused: bool,
    /// COMBINEs that have not ended, and the cycle in which the last one did.
    combines: VecDeque<Job>,
    combined: u64,
    expected: VecDeque<Beat>,
    descriptors: VecDeque<Job>,
    under_way: usize,
    /// Beat that was read in the cycle before, and its bytes.
    fetched: Option<(u64, Vec<u8>)>,
    /// Group that it said it would read in this cycle.
    announced: Option<u64>,
    /// Cycles in which beats went out.
    went: Vec<u64>,
    cycle: u64,
}

impl Bench {
    fn new(dut: Dut<L1ReadDma>) -> Self {
        let memory: Vec<u8> = (0..1 << 16).map(|at: u64| (at / 64 * 37 + at % 64 * 11 + (at >> 11)) as u8).collect();
        Self {
            dut,
            model: memory.clone(),
            memory,
            written: None,
            refused: false,
            combines: VecDeque::new(),
            combined: 0,
            expected: VecDeque::new(),
            descriptors: VecDeque::new(),
            under_way: 0,
            fetched: None,
            announced: None,
            went: Vec::new(),
            cycle: 0,
        }
    }

    /// One cycle, with a job or without; who is ready: L1, egress, the descriptors' taker, the data's, L1 for writes.
    fn step(&mut self, job: Option<Job>, [l1, egress, dma, data, l1_write]: [bool; 5]) {
        self.dut.job.valid.set(job.is_some());
        if let Some(job) = job {
            self.dut.job.set_bytes(&job.bytes());
            let beats = job.length.div_ceil(64);
            if job.way == COMBINER {
                let (to, length) = (job.to as usize, job.length as usize);
                let source = bytes_of(&self.model, job.from, 0, job.length);
                let result = combine(job.operation, &self.model[to..to + length], &source).expect("it is legal");
                self.model[to..to + length].copy_from_slice(&result);
                self.combines.push_back(job);
            } else {
                self.expected.extend((0..beats).map(|i| Beat::of(&self.model, job, i, beats)));
            }
            if job.way == HOST {
                self.descriptors.push_back(job);
            }
            self.under_way += 1;
        }
        self.dut.wide.ready.set(l1);
        self.dut.egress.ready.set(egress);
        self.dut.dma.ready.set(dma);
        self.dut.dma_data.ready.set(data);
        // L1 takes a write in the second cycle at the latest.
        let l1_write = l1_write || self.refused;
        self.dut.combined.ready.set(l1_write);
        self.dut.eval();
        let cycle = self.cycle;
        let writes = self.dut.combined.write.is_high();
        self.refused = writes && !l1_write;
        let (at, keep) = (self.dut.combined.beat.number(), self.dut.combined.keep.number());
        let taken = (writes && l1_write).then(|| (at, keep, self.dut.combined.data.bytes()));
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
            let bytes = beat.bytes.len();
            assert_eq!(to_host, beat.job.way == HOST, "cycle {cycle}: {beat:?}");
            let (host, wire) = (&self.dut.dma_data, &self.dut.egress);
            let (data, last) = if to_host { (&host.payload, &host.last) } else { (&wire.data, &wire.last) };
            assert_eq!(data.bytes()[..bytes], beat.bytes, "cycle {cycle}: {beat:?}");
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
        if self.dut.combine_ended.valid.is_high() {
            let job = self.combines.pop_front().unwrap_or_else(|| panic!("cycle {cycle}: the end of no COMBINE"));
            assert_eq!(self.dut.combine_ended.number(), job.issuer.0 | job.issuer.1 << 3, "cycle {cycle}: {job:?}");
            self.under_way -= 1;
            self.combined = cycle;
        }
        let wants = self.dut.wide.read.is_high().then(|| self.dut.wide.beat.number());
        assert_eq!(wants.map(|beat| beat % 2), self.announced, "cycle {cycle}: it reads what it said");
        self.announced = self.dut.wide.next.is_high().then(|| self.dut.wide.next_odd.number());
        let read = wants.filter(|_| l1).map(|at| (at, self.memory[64 * at as usize..][..64].to_vec()));
        // What was taken in the cycle before is written in this one.
        if let Some((at, keep, data)) = std::mem::replace(&mut self.written, taken) {
            for i in (0..64).filter(|i| keep >> i & 1 == 1) {
                self.memory[64 * at as usize + i] = data[i];
            }
        }
        self.dut.tick();
        // Two cycles after its read the beat is there. It stands no longer than one cycle.
        for group in &self.dut.data {
            group.set_bytes(&[0xEE; 64]);
        }
        if let Some((at, beat)) = std::mem::replace(&mut self.fetched, read) {
            self.dut.data[at as usize % 2].set_bytes(&beat);
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
        let mut ready = [100; 5];
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
        assert!(bench.expected.is_empty() && bench.descriptors.is_empty() && bench.combines.is_empty());
        (0..2).for_each(|_| bench.step(None, [true; 5]));
        let wrong = (0..bench.memory.len()).find(|at| bench.memory[*at] != bench.model[*at]);
        assert_eq!(wrong, None, "the first byte that no COMBINE has made so");
    });
}

/// From the job to its end, with a source in the same lanes or in others.
#[test]
fn a_combine_takes_two_cycles_for_each_beat() {
    run_with_wave_on_failure("l1_read_dma_combines", |wave| {
        let mut bench = Bench::new(Dut::new(wave, L1ReadDma::default(), "l1_read_dma"));
        let operation = combine::operation(combine::ADD, 2);
        for (from, to, length, cycles) in [
            (0x1000, 0x8000, 4, CYCLES + 2),
            (0x1000, 0x8000, 64, CYCLES + 2),
            (0x1001, 0x8000, 64, CYCLES + 3),
            (0x1000, 0x8000, 1408, CYCLES + 44),
            (0x1000 + 94, 0x8000, 1408, CYCLES + 45),
            (0x1000 + 94, 0x8000 + 94, 1408, CYCLES + 47),
            (0x1000, 0x8004, 2048, CYCLES + 67),
        ] {
            let job = Job {
                way: COMBINER,
                issuer: (3, 1),
                frame: 7,
                from,
                length,
                address: 0,
                checksum: false,
                operation,
                to,
            };
            let begun = bench.cycle;
            bench.step(Some(job), [true; 5]);
            while bench.under_way > 0 {
                assert!(bench.cycle < begun + 200, "{job:?} ends");
                bench.step(None, [true; 5]);
            }
            assert_eq!(bench.combined - begun, cycles, "cycles from the job to its end, {job:?}");
            bench.step(None, [true; 5]);
        }
        assert!(bench.memory == bench.model);
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
            operation: 0,
            to: 0,
        };
        let went = |bench: &mut Bench, jobs: &[Job]| -> Vec<u64> {
            bench.went.clear();
            let begun = bench.cycle;
            for i in 0..60 {
                bench.step(jobs.get(i).copied(), [true; 5]);
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
            bench.step(Some(job(from, 1536)), [true; 5]);
            for _ in 0..30 {
                bench.step(None, [true, false, true, true, true]);
            }
            let freed = bench.cycle;
            for _ in 0..30 {
                bench.step(None, [true; 5]);
            }
            assert_eq!(bench.went, (freed..freed + 24).collect::<Vec<_>>(), "from {from} on");
        }
    });
}
