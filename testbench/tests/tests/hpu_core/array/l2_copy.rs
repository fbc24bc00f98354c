//! The L2 copy against a memory and packets: what it copies to stages, in which order segments leave, and what it writes.

use crate::hpu_core::fields::{bits, pack, slice};
use hpu_core::array::l2_copy::L2Copy;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::L1_STAGE_BASE;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::VecDeque;

const L2_BYTES: usize = 1 << 20;
/// The most clusters: every wire has its use.
const CLUSTERS: usize = 8;
/// Cycles from a request to its answer, of words and of rows.
const L2_LATENCY: u64 = 5;
const ROW_LATENCY: u64 = 3;
const STAGE_BEAT: u64 = L1_STAGE_BASE as u64 / 64;
/// Cycles for which a segment of so many bytes leaves: its beats and one more for the headers, with 38 bytes in the second.
const LEAVES: u64 = 24;

/// Bytes that a cluster wants in its stage: the first one in L2, how many, rows that have come.
#[derive(Clone, Copy, Default)]
struct Ask {
    /// The bytes are this packet's, and `from` is one of its frame.
    packet: Option<u64>,
    from: u64,
    length: u64,
    come: u64,
    /// Its first row has been asked for.
    begun: bool,
    /// Copies for other clusters that have begun while this one waited.
    before: usize,
    /// The last row is in the stage, and the cluster says so in this cycle.
    staged: bool,
}

impl Ask {
    fn rows(&self) -> u64 {
        (self.from % 64 + self.length).div_ceil(64)
    }

    fn request(&self) -> Vec<u8> {
        let (of_packet, pkt) = (self.packet.is_some().into(), self.packet.unwrap_or_default());
        bits(&[(self.from, 20), (self.length, 12), (of_packet, 1), (pkt, 10)])
    }
}

/// A beat of a packet.
fn beat_of(pkt: u64, beat: u64) -> Vec<u8> {
    (0..64).map(|byte| (pkt * 89 + beat * 131 + byte * (pkt % 7 + 1)) as u8).collect()
}

/// What the segment of a cluster does.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// There is none.
    Free,
    /// It is copied.
    Lent,
    /// It is there.
    Staged,
    /// It leaves until this cycle.
    Leaves(u64),
}

/// The L2 copy with a memory that answers in order.
struct Bench {
    dut: Dut<L2Copy>,
    rng: ChaCha8Rng,
    memory: Vec<u8>,
    answers: VecDeque<(u64, u32)>,
    rows: VecDeque<(u64, Vec<u8>)>,
    /// Beats of packets that were asked for, the last one of a request marked.
    beats: VecDeque<(u64, Vec<u8>, bool)>,
    /// The first of them is offered.
    beat_waits: bool,
    packets: usize,
    cycle: u64,
    /// No one waits for anything.
    at_once: bool,
    asks: Vec<Option<Ask>>,
    /// Rows of the copy under way that have not been asked for.
    unread: u64,
    stages: Vec<Stage>,
    /// A transfer of the host: first byte in L2, bytes, beats that are over.
    store: Option<(usize, Vec<u8>, usize)>,
    /// A segment that is offered; one that waits for a stage.
    offered: Option<Ask>,
    wanted: Option<Ask>,
    copied: usize,
    stored: usize,
    /// Segments that were taken, that got a stage, and that began to leave, and the cycle of the last one.
    taken: usize,
    lent: usize,
    begun: usize,
    begun_at: u64,
}

impl Bench {
    fn new(wave: &WaveContext, clusters: usize) -> Self {
        let mut rng = wave.rng();
        Self {
            dut: Dut::new(wave, L2Copy::new(clusters), "l2_copy"),
            memory: (0..L2_BYTES).map(|_| rng.random()).collect(),
            rng,
            answers: VecDeque::new(),
            rows: VecDeque::new(),
            beats: VecDeque::new(),
            beat_waits: false,
            packets: 0,
            cycle: 0,
            at_once: false,
            asks: vec![None; clusters],
            unread: 0,
            stages: vec![Stage::Free; clusters],
            store: None,
            offered: None,
            wanted: None,
            copied: 0,
            stored: 0,
            taken: 0,
            lent: 0,
            begun: 0,
            begun_at: 0,
        }
    }

    fn moves(&mut self) -> bool {
        self.at_once || self.rng.random_range(0..4) > 0
    }

    /// A byte of a row, often one at which bytes begin that users align.
    fn place(&mut self) -> u64 {
        let any = self.rng.random_range(0..64);
        [0, 42, 4 * any % 64, any][self.rng.random_range(0..4)]
    }

    fn ask(&mut self, lengths: [u64; 6]) -> Ask {
        let length = lengths[self.rng.random_range(0..6)];
        let under_way = self.asks.iter().chain([&self.offered, &self.wanted]).flatten();
        let firsts: Vec<u64> = under_way.map(|ask| ask.from / 64).collect();
        // Each copy is known by its first row.
        let first = loop {
            let first = self.rng.random_range(0..0x1FE0);
            if !firsts.contains(&first) {
                break first;
            }
        };
        Ask { from: 64 * first + self.place(), length, ..Ask::default() }
    }

    fn step(&mut self) {
        for (i, ask) in self.asks.iter().enumerate() {
            self.dut.request[i].valid.set(ask.is_some());
            if let Some(ask) = ask {
                self.dut.request[i].set_bytes(&ask.request());
            }
        }
        for i in 0..self.asks.len() {
            let all_come = self.asks[i].is_some_and(|ask| ask.come == ask.rows());
            let staged = all_come && self.moves();
            self.dut.staged[i].set(staged);
            if let Some(ask) = &mut self.asks[i] {
                ask.staged = staged;
            }
        }
        self.play_segments();
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
        let [l2, row, bus] = [(); 3].map(|()| self.moves());
        self.dut.l2_request.ready.set(l2);
        self.dut.row.ready.set(row);
        self.dut.beat.ready.set(bus);
        let due = self.answers.front().is_some_and(|answer| answer.0 <= self.cycle);
        self.dut.l2_answer.valid.set(due);
        if due {
            let (_, data) = self.answers.pop_front().expect("one is due");
            self.dut.l2_answer.set_bytes(&bits(&[(0, 1), (1, 1), (data.into(), 32)]));
        }
        let due = self.rows.front().is_some_and(|row| row.0 == self.cycle);
        self.dut.row_answered.set(due);
        match self.rows.front() {
            Some((_, row)) if due => self.dut.row_data.set_bytes(row),
            _ => self.dut.row_data.set_bytes(&[0xAA; 64]),
        }
        if due {
            self.rows.pop_front();
        }
        let asked = self.moves();
        self.dut.packet_request.ready.set(asked);
        self.beat_waits |= self.moves() && self.beats.front().is_some_and(|beat| beat.0 <= self.cycle);
        let beat = self.beats.front().filter(|_| self.beat_waits);
        self.dut.packet_data.valid.set(beat.is_some());
        if let Some((_, bytes, last)) = beat {
            self.dut.packet_data.set_bytes(bytes);
            self.dut.packet_data.last.set(*last);
        }
        self.dut.eval();
        if self.dut.packet_data.valid.is_high() && self.dut.packet_data.ready.is_high() {
            self.beats.pop_front();
            self.beat_waits = false;
        }
        if self.dut.packet_request.valid.is_high() && asked {
            self.read_packet();
        }
        if self.dut.l2_request.valid.is_high() && l2 {
            self.write();
        }
        if self.dut.row.valid.is_high() && row {
            let at = 64 * self.dut.row.number() as usize;
            if self.unread == 0 {
                self.begin(self.dut.row.number());
            }
            self.unread -= 1;
            self.rows.push_back((self.cycle + ROW_LATENCY, self.memory[at..at + 64].to_vec()));
        }
        self.check();
        self.dut.tick();
        self.cycle += 1;
    }

    /// The copy whose first row is asked for begins. Clusters take turns: one waits for each other at most once, and for the copy
    /// that was under way.
    fn begin(&mut self, row: u64) {
        let wants = |ask: &&mut Ask| !ask.begun && ask.packet.is_none() && ask.from / 64 == row;
        let ask = self.asks.iter_mut().flatten().find(wants);
        let ask = ask.unwrap_or_else(|| panic!("no one wants row {row:#x}"));
        (ask.begun, self.unread) = (true, ask.rows());
        self.take_turns();
    }

    /// A packet is read: the beats of a segment, once. It is the copy that begins.
    fn read_packet(&mut self) {
        let request = self.dut.packet_request.bytes();
        let get = |name| crate::hpu_core::fields::field("read_request", &request, name);
        let (pkt, length, skip) = (get("pkt"), get("length"), get("skip"));
        let ask = self.asks.iter_mut().flatten().find(|ask| !ask.begun && ask.packet == Some(pkt));
        let ask = ask.unwrap_or_else(|| panic!("no one wants packet {pkt}"));
        assert_eq!((length, skip, self.unread), (ask.from + ask.length, ask.from / 64, 0));
        ask.begun = true;
        let last = (length - 1) / 64;
        self.beats.extend((skip..=last).map(|beat| (self.cycle + 1, beat_of(pkt, beat), beat == last)));
        self.packets += 1;
        self.take_turns();
    }

    /// A copy has begun: the others have waited for one more.
    fn take_turns(&mut self) {
        let clusters = self.stages.len();
        for waiting in self.asks.iter_mut().flatten().filter(|ask| !ask.begun) {
            waiting.before += 1;
            assert!(waiting.before <= clusters, "{} copies before that of a cluster", waiting.before);
        }
    }

    /// Segments go on: a cluster lends its stage when it has no use for it itself, and they leave in their order.
    fn play_segments(&mut self) {
        let clusters = self.stages.len();
        for i in 0..clusters {
            self.dut.lent[i].set(false);
        }
        self.dut.segment_begins.set(false);
        self.dut.segment.valid.set(self.offered.is_some());
        if let Some(Ask { packet, from, length, .. }) = self.offered {
            let address = from | packet.map_or(0, |pkt| 1 << 30 | pkt << 20);
            let fields = [("cluster", 5), ("address", address), ("length", length), ("client", 3)];
            self.dut.segment.set_bytes(&pack("host_read", &fields));
        }
        self.dut.eval();
        let next = 1 << (self.begun % clusters);
        assert_eq!(self.dut.goes.number(), next, "segments leave in the order in which they were taken");
        let asks = self.lent % clusters;
        assert_eq!(self.dut.lend.number(), if self.wanted.is_some() { 1 << asks } else { 0 }, "stages take turns");
        if let Some(wanted) = self.wanted {
            assert_eq!(self.dut.lent_segment.bytes(), wanted.request());
            if self.asks[asks].is_none() && self.stages[asks] == Stage::Free && self.moves() {
                // The cluster asks in the cycle in which it says so.
                self.dut.lent[asks].set(true);
                self.asks[asks] = self.wanted.take();
                self.stages[asks] = Stage::Lent;
                self.lent += 1;
                self.dut.request[asks].valid.set(true);
                self.dut.request[asks].set_bytes(&wanted.request());
            }
        }
        if self.dut.segment.ready.is_high() {
            if let Some(segment) = self.offered.take() {
                assert!(self.wanted.replace(segment).is_none(), "one segment at a time waits for a stage");
                self.taken += 1;
            }
        }
        let i = self.begun % clusters;
        if self.stages[i] == Stage::Staged && self.cycle >= self.begun_at + LEAVES && self.moves() {
            self.dut.segment_begins.set(true);
            self.stages[i] = Stage::Leaves(self.cycle + LEAVES - 2);
            (self.begun, self.begun_at) = (self.begun + 1, self.cycle);
        }
        let cycle = self.cycle;
        for stage in &mut self.stages {
            if matches!(stage, Stage::Leaves(until) if *until <= cycle) {
                *stage = Stage::Free;
            }
        }
        assert!(
            self.taken - self.begun <= clusters,
            "each cluster has one segment at most that has not begun to leave"
        );
    }

    /// A word of the host, as `hpu_core::processor::types::RemoteRequest`.
    fn write(&mut self) {
        let request = self.dut.l2_request.bytes();
        let (write, atomic) = (slice(&request, 2, 1) == 1, slice(&request, 3, 1));
        let (at, size) = (slice(&request, 9, 20) as usize, slice(&request, 29, 2) as usize + 1);
        let data = slice(&request, 31, 32) as u32;
        assert!(write && atomic == 0 && at % 4 + size <= 4, "words only, but for the ends of a store");
        self.memory[at..at + size].copy_from_slice(&data.to_le_bytes()[..size]);
        self.answers.push_back((self.cycle + L2_LATENCY, data));
    }

    fn check(&mut self) {
        if self.dut.beat.valid.is_high() && self.dut.beat.ready.is_high() {
            let cluster = self.dut.cluster.number() as usize;
            let ask = self.asks[cluster].as_mut().expect("bytes come to whom asked");
            assert_eq!(self.dut.beat.number(), STAGE_BEAT + ask.come % 32);
            // The last row of 33 does not overwrite the bytes with which the first one begins.
            let tail = if ask.come == 32 { ask.from % 64 } else { 0 };
            let last = ask.come + 1 == ask.rows();
            assert_eq!((self.dut.tail.number(), self.dut.last.is_high()), (tail, last));
            let row = ask.from / 64 + ask.come;
            match ask.packet {
                Some(pkt) => assert_eq!(self.dut.data.bytes(), beat_of(pkt, row)),
                None => assert_eq!(self.dut.data.bytes(), self.memory[64 * row as usize..][..64]),
            }
            ask.come += 1;
        }
        for (i, ask) in self.asks.iter_mut().enumerate() {
            if ask.is_some_and(|ask| ask.staged) {
                *ask = None;
                if self.stages[i] == Stage::Lent {
                    self.stages[i] = Stage::Staged;
                } else {
                    self.copied += 1;
                }
            }
        }
        if self.dut.store.valid.is_high() && self.dut.store.ready.is_high() {
            let (place, bytes, beat) = self.store.as_mut().expect("it is under way");
            *beat += 1;
            if *beat == (*place % 64 + bytes.len()).div_ceil(64) {
                assert!(self.memory[*place..][..bytes.len()] == bytes[..], "the bytes are in L2");
                assert!(self.answers.is_empty(), "and L2 has said so");
                self.store = None;
                self.stored += 1;
            }
        }
    }

    fn idle(&self) -> bool {
        let asks = self.asks.iter().all(Option::is_none) && self.stages.iter().all(|stage| *stage == Stage::Free);
        asks && self.store.is_none() && self.offered.is_none() && self.wanted.is_none()
    }
}

#[test]
fn bytes_come_and_go() {
    random_copies("l2_copy", CLUSTERS, 250);
}

#[test]
fn bytes_come_and_go_for_three_clusters() {
    random_copies("l2_copy_three", 3, 60);
}

/// Copies and stores until so many are over, and twice as many segments.
fn random_copies(name: &str, clusters: usize, most: usize) {
    run_with_wave_on_failure(name, |wave| {
        let mut bench = Bench::new(wave, clusters);
        // Stores go to the upper half, copies come from the lower, so the order between them does not matter.
        let mut untouched = bench.memory.clone();
        while bench.copied < most || bench.stored < most || bench.begun < 2 * most {
            bench.at_once = bench.cycle % 4096 < 1024;
            // All ask again at once for a while: no one has to wait for another one twice.
            let pause = if bench.cycle % 8192 < 2048 { 1 } else { 40 };
            for i in 0..clusters {
                let free = bench.asks[i].is_none() && bench.stages[i] == Stage::Free;
                if free && bench.rng.random_range(0..pause) == 0 {
                    let any = bench.rng.random_range(1..=2048);
                    bench.asks[i] = Some(bench.ask([any, 1, 4, 64, 65, 2048]));
                }
            }
            if bench.offered.is_none() && bench.rng.random_range(0..20.min(pause)) == 0 {
                let any = bench.rng.random_range(1..=1408);
                let mut ask = bench.ask([any, 1, 4, 5, 64, 1408]);
                if bench.rng.random() {
                    // Of a packet that no other segment is of.
                    let under_way = bench.asks.iter().chain([&bench.wanted]).flatten();
                    let others: Vec<_> = under_way.map(|ask| ask.packet).collect();
                    ask.packet = Some(bench.rng.random_range(0..1024));
                    while others.contains(&ask.packet) {
                        ask.packet = Some(bench.rng.random_range(0..1024));
                    }
                    ask.from = bench.rng.random_range(0..=2048 - ask.length);
                }
                bench.offered = Some(ask);
            }
            if bench.store.is_none() && bench.rng.random_range(0..100) == 0 {
                let length = [bench.rng.random_range(1..=2048), 1, 2, 3, 64, 67][bench.rng.random_range(0..6)];
                let bytes: Vec<u8> = (0..length).map(|_| bench.rng.random()).collect();
                let place = 64 * bench.rng.random_range(0x2000..0x3FD0) + bench.place() as usize;
                untouched[place..][..length].copy_from_slice(&bytes);
                bench.store = Some((place, bytes, 0));
            }
            bench.step();
            assert!(bench.cycle < 2_000_000, "{} copied, {} stored, {} sent", bench.copied, bench.stored, bench.begun);
        }
        while !bench.idle() {
            bench.step();
        }
        assert!(bench.memory == untouched, "nothing else is written");
        assert!(bench.packets > most / 2 && bench.beats.is_empty(), "{} segments of packets", bench.packets);
    });
}

#[test]
fn a_row_a_cycle() {
    run_with_wave_on_failure("l2_copy_cycles", |wave| {
        let mut bench = Bench::new(wave, CLUSTERS);
        bench.at_once = true;
        let ask = |from, length| Some(Ask { from, length, ..Ask::default() });
        for (from, length, rows) in [(448, 4, 1), (448, 64, 1), (448, 2048, 32), (452, 64, 2), (490, 2048, 33)] {
            bench.asks[1] = ask(from, length);
            let before = bench.cycle;
            while bench.asks[1].is_some() {
                bench.step();
            }
            assert_eq!(bench.cycle - before, 6 + rows, "cycles to copy {length} bytes from {from} on");
            bench.step();
        }
        // One after the other: a cycle between them.
        for (i, from) in [448, 4096, 8192, 63].into_iter().enumerate() {
            bench.asks[2 * i] = ask(from, 1408);
        }
        let before = bench.cycle;
        while bench.asks.iter().any(Option::is_some) {
            bench.step();
        }
        assert_eq!(bench.cycle - before, 6 + 3 * 23 + 23, "cycles of four copies");
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

/// Segments of 1,408 bytes that always wait, over stages that are free while one leaves.
#[test]
fn segments_follow_one_another() {
    run_with_wave_on_failure("l2_copy_segments", |wave| {
        for (clusters, cycles) in [(CLUSTERS, 480), (4, 480), (3, 480), (2, 520), (1, 1040)] {
            let mut bench = Bench::new(wave, clusters);
            bench.at_once = true;
            let mut begun = vec![];
            while begun.len() < 40 {
                if bench.offered.is_none() {
                    bench.offered =
                        Some(Ask { from: 64 * (bench.taken as u64 % 512) + 42, length: 1408, ..Ask::default() });
                }
                let before = bench.begun;
                bench.step();
                begun.extend((bench.begun > before).then_some(bench.cycle));
            }
            let span = begun[39] - begun[19];
            assert_eq!(span, cycles, "cycles of 20 segments, {clusters} clusters: {begun:?}");
        }
    });
}
