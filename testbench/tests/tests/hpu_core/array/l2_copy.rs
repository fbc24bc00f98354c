//! The L2 copy against a memory: what it copies to stages, and what it writes.

use crate::hpu_core::fields::{bits, pack, slice};
use hpu_core::array::l2_copy::L2Copy;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::L1_STAGE_BASE;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::VecDeque;

const CLUSTERS: usize = 3;
const L2_BYTES: usize = 1 << 20;
/// Cycles from a request to its answer.
const L2_LATENCY: u64 = 5;
const STAGE_BEAT: u64 = L1_STAGE_BASE as u64 / 64;

/// The L2 copy with a memory that answers in order.
struct Bench {
    dut: Dut<L2Copy>,
    rng: ChaCha8Rng,
    memory: Vec<u8>,
    answers: VecDeque<(u64, bool, u32)>,
    cycle: u64,
    /// No one waits for anything.
    at_once: bool,
    /// First byte in L2 and bytes that each cluster wants, beats that have come.
    asks: [Option<(u64, u64, u64)>; CLUSTERS],
    /// A transfer of the host: first byte in L2, bytes, beats that are over.
    store: Option<(usize, Vec<u8>, usize)>,
    segment: Option<Segment>,
    copied: usize,
    stored: usize,
    segments: usize,
}

/// A segment that is wanted, and how far it is.
struct Segment {
    cluster: usize,
    from: u64,
    length: u64,
    at: Stage,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// It is offered.
    Offered,
    /// It wants the stage.
    Wanted,
    /// It has it; beats that have come.
    Lent(u64),
    /// All have come.
    Staged,
    /// The stage is free again: it goes to the wire.
    Leaves,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, L2Copy::new(CLUSTERS), "l2_copy");
        // A store goes ahead of a load that waits for L2, so a request may change before it is taken.
        dut.ignore(dut.l2_request.channel());
        Self {
            dut,
            memory: (0..L2_BYTES).map(|_| rng.random()).collect(),
            rng,
            answers: VecDeque::new(),
            cycle: 0,
            at_once: false,
            asks: [None; CLUSTERS],
            store: None,
            segment: None,
            copied: 0,
            stored: 0,
            segments: 0,
        }
    }

    fn moves(&mut self) -> bool {
        self.at_once || self.rng.random_range(0..4) > 0
    }

    /// A byte of a beat, often one at which bytes begin that users align.
    fn place(&mut self) -> u64 {
        let any = self.rng.random_range(0..64);
        [0, 42, 4 * any % 64, any][self.rng.random_range(0..4)]
    }

    fn step(&mut self) {
        for (i, ask) in self.asks.into_iter().enumerate() {
            self.dut.request[i].valid.set(ask.is_some());
            if let Some((from, length, _)) = ask {
                self.dut.request[i].set_bytes(&bits(&[(from, 20), (length, 12)]));
            }
        }
        self.play_segment();
        self.dut.store.valid.set(self.store.is_some());
        if let Some((place, bytes, beat)) = &self.store {
            // Bytes of the beats that are not the transfer's may be anything.
            let (offset, beat) = (place % 64, *beat);
            let from = if beat == 0 { offset } else { 0 };
            let end = (offset + bytes.len() - 64 * beat).min(64);
            let now = &bytes[(64 * beat).saturating_sub(offset)..][..end - from];
            self.dut.store.set_bytes(&[&[0xDD; 64][..from], now, &[0xEE; 64][end..]].concat());
            self.dut.store_beat.set(place / 64 + beat);
            self.dut.store_from.set(from);
            self.dut.store_end.set(end % 64);
            self.dut.store_last.set(offset + bytes.len() <= 64 * (beat + 1));
        }
        let (l2, bus) = (self.moves(), self.moves());
        self.dut.l2_request.ready.set(l2);
        self.dut.beat.ready.set(bus);
        let due = self.answers.front().is_some_and(|answer| answer.0 <= self.cycle);
        self.dut.l2_answer.valid.set(due);
        if due {
            let (_, write, data) = self.answers.pop_front().expect("one is due");
            self.dut.l2_answer.set_bytes(&bits(&[(0, 1), (write.into(), 1), (data.into(), 32)]));
        }
        self.dut.eval();
        if self.dut.l2_request.valid.is_high() && l2 {
            self.access();
        }
        self.check();
        self.dut.tick();
        self.cycle += 1;
    }

    /// The segment goes on: the cluster lends its stage when it has no use for it itself.
    fn play_segment(&mut self) {
        let moves = self.moves();
        for i in 0..CLUSTERS {
            self.dut.lent[i].set(false);
        }
        let offered = self.segment.as_ref().is_some_and(|segment| segment.at == Stage::Offered);
        self.dut.segment.valid.set(offered);
        self.dut.segment_left.set(false);
        let Some(segment) = &mut self.segment else { return };
        let fields = [("cluster", segment.cluster as u64), ("address", segment.from), ("length", segment.length)];
        self.dut.segment.set_bytes(&pack("host_read", &[&fields[..], &[("client", 3)]].concat()));
        self.dut.eval();
        let i = segment.cluster;
        match segment.at {
            Stage::Offered => {
                if self.dut.segment.ready.is_high() {
                    segment.at = Stage::Wanted;
                }
            }
            Stage::Wanted => {
                assert_eq!((self.dut.lend.number(), self.dut.segment_length.number()), (1 << i, segment.length));
                if moves && self.asks[i].is_none() {
                    segment.at = Stage::Lent(0);
                }
            }
            Stage::Staged => {
                if moves {
                    segment.at = Stage::Leaves;
                }
            }
            Stage::Leaves => {
                if moves {
                    self.dut.segment_left.set(true);
                    self.segment = None;
                    self.segments += 1;
                }
                return;
            }
            Stage::Lent(_) => {}
        }
        // What the cluster asked for last is none of the segment's business.
        if let Stage::Lent(_) | Stage::Staged = segment.at {
            self.dut.lent[i].set(true);
            self.dut.request[i].valid.set(segment.at != Stage::Staged);
            self.dut.request[i].set_bytes(&bits(&[(0x4_8D02, 20), (99, 12)]));
        }
    }

    /// An access, as `hpu_core::processor::types::RemoteRequest`.
    fn access(&mut self) {
        let request = self.dut.l2_request.bytes();
        let (write, atomic) = (slice(&request, 2, 1) == 1, slice(&request, 3, 1));
        let (at, size) = (slice(&request, 9, 20) as usize, slice(&request, 29, 2) as usize + 1);
        let data = slice(&request, 31, 32) as u32;
        assert!(atomic == 0 && at % 4 + size <= 4 && (write || size == 4), "words only, but for the ends of a store");
        if write {
            self.memory[at..at + size].copy_from_slice(&data.to_le_bytes()[..size]);
        }
        let word = u32::from_le_bytes(self.memory[at..at + 4].try_into().expect("four bytes"));
        self.answers.push_back((self.cycle + L2_LATENCY, write, word));
    }

    fn check(&mut self) {
        if self.dut.beat.valid.is_high() && self.dut.beat.ready.is_high() {
            let cluster = self.dut.cluster.number() as usize;
            let (from, length, come) = match (&mut self.asks[cluster], &mut self.segment) {
                (Some((from, length, come)), _) => (*from, *length, come),
                (_, Some(Segment { cluster: to, from, length, at: Stage::Lent(come) })) if *to == cluster => {
                    (*from, *length, come)
                }
                _ => panic!("bytes come to whom asked"),
            };
            assert_eq!(self.dut.beat.number(), STAGE_BEAT + *come);
            let bytes = (length - 64 * *come).min(64) as usize;
            let wanted = &self.memory[(from + 64 * *come) as usize..][..bytes];
            assert_eq!(&self.dut.data.bytes()[..bytes], wanted);
            *come += 1;
        }
        if let Some(Segment { cluster, length, at: at @ Stage::Lent(_), .. }) = &mut self.segment {
            if self.dut.staged.number() >> *cluster & 1 == 1 {
                assert!(*at == Stage::Lent(length.div_ceil(64)), "all beats of the segment have come");
                *at = Stage::Staged;
                return;
            }
        }
        for (i, ask) in self.asks.iter_mut().enumerate() {
            if self.dut.staged.number() >> i & 1 == 1 {
                let (_, length, come) = ask.take().expect("it asked");
                assert_eq!(come, length.div_ceil(64), "all beats have come");
                self.copied += 1;
            }
        }
        if self.dut.store.valid.is_high() && self.dut.store.ready.is_high() {
            let (place, bytes, beat) = self.store.as_mut().expect("it is under way");
            *beat += 1;
            if *beat == (*place % 64 + bytes.len()).div_ceil(64) {
                assert!(self.memory[*place..][..bytes.len()] == bytes[..], "the bytes are in L2");
                assert!(self.answers.iter().all(|answer| !answer.1), "and L2 has said so");
                self.store = None;
                self.stored += 1;
            }
        }
    }
}

#[test]
fn bytes_come_and_go() {
    run_with_wave_on_failure("l2_copy", |wave| {
        let mut bench = Bench::new(wave);
        // Stores go to the upper half, copies come from the lower, so the order between them does not matter.
        let mut untouched = bench.memory.clone();
        while bench.copied < 250 || bench.stored < 250 || bench.segments < 250 {
            bench.at_once = bench.cycle % 4096 < 1024;
            for i in 0..CLUSTERS {
                let lends = bench.segment.as_ref().is_some_and(|s| s.cluster == i && s.at != Stage::Offered);
                if bench.asks[i].is_none() && !lends && bench.rng.random_range(0..40) == 0 {
                    let length = [bench.rng.random_range(1..=2048), 1, 4, 64, 65, 2048][bench.rng.random_range(0..6)];
                    let from = 64 * bench.rng.random_range(0..0x1FE0) + bench.place();
                    bench.asks[i] = Some((from, length, 0));
                }
            }
            if bench.segment.is_none() && bench.rng.random_range(0..60) == 0 {
                let length = [bench.rng.random_range(1..=1408), 1, 4, 5, 64, 1408][bench.rng.random_range(0..6)];
                let from = 64 * bench.rng.random_range(0..0x1FE0) + bench.place();
                let cluster = bench.rng.random_range(0..CLUSTERS);
                bench.segment = Some(Segment { cluster, from, length, at: Stage::Offered });
            }
            if bench.store.is_none() && bench.rng.random_range(0..100) == 0 {
                let length = [bench.rng.random_range(1..=2048), 1, 2, 3, 64, 67][bench.rng.random_range(0..6)];
                let bytes: Vec<u8> = (0..length).map(|_| bench.rng.random()).collect();
                let place = 64 * bench.rng.random_range(0x2000..0x3FD0) + bench.place() as usize;
                untouched[place..][..length].copy_from_slice(&bytes);
                bench.store = Some((place, bytes, 0));
            }
            bench.step();
            assert!(bench.cycle < 2_000_000, "{} copied, {} stored", bench.copied, bench.stored);
        }
        while bench.store.is_some() || bench.segment.is_some() || bench.asks.iter().any(Option::is_some) {
            bench.step();
        }
        assert!(bench.memory == untouched, "nothing else is written");
    });
}

#[test]
fn a_word_a_cycle() {
    run_with_wave_on_failure("l2_copy_cycles", |wave| {
        let mut bench = Bench::new(wave);
        bench.at_once = true;
        // A word more if the bytes do not begin with a word.
        let copies = [(448, 4, 2 + 8), (448, 64, 2 + 23), (448, 2048, 2 + 32 * 23)];
        let others = [(452, 64, 2 + 23), (449, 3, 2 + 9), (451, 64, 2 + 24), (490, 2048, 2 + 1 + 32 * 23)];
        for (from, length, cycles) in copies.into_iter().chain(others) {
            bench.asks[1] = Some((from, length, 0));
            let before = bench.cycle;
            while bench.asks[1].is_some() {
                bench.step();
            }
            assert_eq!(bench.cycle - before, cycles, "cycles to copy {length} bytes from {from} on");
            bench.step();
        }
        // After the cycle in which it is taken, with a stage that is lent at once, a segment is like the bytes of a
        // command.
        for (length, cycles) in [(4, 1 + 2 + 8), (64, 1 + 2 + 23), (1408, 1 + 2 + 22 * 23)] {
            bench.segment = Some(Segment { cluster: 2, from: 132, length, at: Stage::Offered });
            let before = bench.cycle;
            while bench.segment.as_ref().is_some_and(|segment| segment.at != Stage::Staged) {
                bench.step();
            }
            assert_eq!(bench.cycle - before, cycles, "cycles to stage a segment of {length} bytes");
            (0..4).for_each(|_| bench.step());
            assert!(bench.segment.is_none());
        }
        // One for each word that holds a byte of the transfer, one for each beat, and 5.
        let stores = [(0, 4, 1 + 6), (0, 64, 16 + 6), (0, 2048, 32 * 17 + 5)];
        let others = [(1, 4, 2 + 6), (3, 1, 1 + 6), (60, 8, 2 + 7), (1, 64, 17 + 7), (1, 2048, 32 * 17 + 2 + 5)];
        for (offset, length, cycles) in stores.into_iter().chain(others) {
            bench.store = Some((0x8_0000 + offset, vec![0x77; length], 0));
            let before = bench.cycle;
            while bench.store.is_some() {
                bench.step();
            }
            assert_eq!(bench.cycle - before, cycles, "cycles to write {length} bytes from byte {offset} on");
        }
    });
}
