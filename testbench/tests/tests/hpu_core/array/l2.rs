//! Context memory under contention: the answers must be explainable by one order of the accesses.
//!
//! Every access is answered a fixed number of cycles after its bank granted it, so the order of the answers is the order
//! that must explain all of them. Accesses answered in the same cycle were in different banks; in common they touch only
//! reservations, which end in all banks at once.

use hpu_core::array::l2::L2;
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_harness::{lint, run_with_wave_on_failure, Dut, Source, WaveContext};
use std::collections::{HashMap, HashSet, VecDeque};

/// The most of all, so that every wire has its use.
const CLUSTERS: usize = 8;
const HPUS: usize = 8;
const BYTES: usize = 1 << 20;
/// The host asks through the last port.
const HOST: usize = CLUSTERS;
/// Words that the host has written at the beginning.
const WRITTEN: u64 = 1024;
const BANKS: usize = 4;
/// Age, in cycles, at which a reservation may be taken over.
const OLD: u64 = 256;
const LR: u64 = 0b00010;
const SC: u64 = 0b00011;
const SWAP: u64 = 0b00001;
const ADD: u64 = 0;
const AMOS: [u64; 9] = [SWAP, ADD, 0b00100, 0b01100, 0b01000, 0b10000, 0b10100, 0b11000, 0b11100];
/// Cycles from request to answer if no one else asks.
const LATENCY: u64 = 5;
/// Cycles from the cycle in which a beat is taken to its bytes.
const BEAT_LATENCY: u64 = 3;
/// Cycles from one beat to the next, at most.
const BEAT_WAIT: u64 = 5;

/// An access as a requester sends it.
#[derive(Clone, Copy, Debug)]
struct Access {
    hpu: u64,
    thread: u64,
    write: bool,
    /// funct5.
    atomic: Option<u64>,
    address: u64,
    size: u64,
    data: u32,
    /// The bytes after the word of `address` less 4: a second part.
    second: bool,
}

impl Access {
    fn load(address: u64) -> Self {
        Access { hpu: 0, thread: 0, write: false, atomic: None, address, size: 4, data: 0, second: false }
    }

    fn store(address: u64, data: u32) -> Self {
        Access { write: true, data, ..Access::load(address) }
    }

    fn atomic(operation: u64, address: u64, data: u32) -> Self {
        Access { atomic: Some(operation), data, ..Access::load(address) }
    }

    fn packed(&self) -> u64 {
        let flags = self.thread | 1 << 1 | u64::from(self.write) << 2 | u64::from(self.atomic.is_some()) << 3;
        flags | self.atomic.unwrap_or(0) << 4 | self.address << 9 | (self.size - 1) << 29 | u64::from(self.data) << 31
    }

    /// Which of the access's bytes lie in this word, with their place in memory.
    fn bytes(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (row, lane, second) = (self.address as usize & !3, self.address as usize & 3, self.second);
        let in_word = move |i: &usize| (lane + i >= 4) == second;
        (0..self.size as usize).filter(in_word).map(move |i| (i, row + (lane + i) % 4))
    }

    /// Any access of a hart of `hpus` HPUs to the word at `address`; one that would reach beyond the word is one of both parts.
    fn random(rng: &mut ChaCha8Rng, hpus: usize, address: u64, atomics: f64) -> Self {
        let data = if rng.random_bool(0.3) { 0x8000_0000 ^ rng.random_range(0..3u32) } else { rng.random() };
        let (hpu, thread) = (rng.random_range(0..hpus as u64), rng.random_range(0..2));
        if rng.random_bool(atomics) {
            let operation = match rng.random_range(0..3) {
                0 => LR,
                1 => SC,
                _ => AMOS[rng.random_range(0..AMOS.len())],
            };
            return Access { hpu, thread, ..Access::atomic(operation, address, data) };
        }
        let lane = rng.random_range(0..4);
        let size = rng.random_range(1..=4);
        let second = lane + size > 4 && rng.random();
        Access {
            hpu,
            thread,
            write: rng.random(),
            size,
            second,
            address: address + lane,
            ..Access::store(address, data)
        }
    }
}

/// Requester, HPU, thread.
type Hart = (usize, u64, u64);

/// The one reservation address of a bank: its word, the harts that hold it, and since when it is that word.
#[derive(Clone, Default)]
struct Reservation {
    word: u64,
    holders: HashSet<Hart>,
    since: u64,
}

/// Definition of the memory: one access after the other.
#[derive(Default)]
struct Reference {
    /// Words that are known: written, or read before.
    words: HashMap<u64, u32>,
    reserved: [Reservation; BANKS],
    /// SCs that stored, and that did not though no one had written the word since their hart's LR.
    stored: usize,
    spurious: usize,
    /// Words of which each hart has done an LR, without a write or another LR or SC of the hart since.
    hopes: HashMap<Hart, u64>,
}

impl Reference {
    /// A word, of which `read` has been read.
    fn word(&mut self, word: u64, read: u32) -> u32 {
        *self.words.entry(word).or_insert(read)
    }

    /// Checks the answers of a cycle, from requesters, and does their accesses.
    fn apply_all(&mut self, now: u64, answered: &[(usize, Access, u32)]) {
        let banks: HashSet<u64> = answered.iter().map(|(_, access, _)| access.address / 4 % BANKS as u64).collect();
        assert_eq!(banks.len(), answered.len(), "a bank answers once in a cycle: {answered:x?}");
        let before = self.reserved.clone();
        for (requester, access, _) in answered {
            if matches!(access.atomic, Some(LR | SC)) {
                let hart = (*requester, access.hpu, access.thread);
                self.reserved.iter_mut().for_each(|bank| {
                    bank.holders.remove(&hart);
                });
            }
        }
        for (requester, access, answer) in answered {
            let held = &before[access.address as usize / 4 % BANKS];
            let holds =
                held.word == access.address / 4 && held.holders.contains(&(*requester, access.hpu, access.thread));
            self.apply(now, *requester, access, *answer, holds);
        }
    }

    /// Checks one answer and does the access; `holds`: its hart holds a reservation of the word.
    fn apply(&mut self, now: u64, requester: usize, access: &Access, answer: u32, holds: bool) {
        let word = access.address / 4;
        let hart = (requester, access.hpu, access.thread);
        let new = match access.atomic {
            None => {
                let known = self.words.get(&word).copied();
                let mut bytes = known.unwrap_or(answer).to_le_bytes();
                assert!(
                    known.is_some() || access.size == 4 && access.address.is_multiple_of(4),
                    "bytes of an unknown word"
                );
                for (i, at) in access.bytes() {
                    if access.write {
                        bytes[at % 4] = access.data.to_le_bytes()[i];
                    } else {
                        assert_eq!(answer.to_le_bytes()[i], bytes[at % 4], "{access:x?} of requester {requester}");
                    }
                }
                if !access.write {
                    self.word(word, answer);
                }
                access.write.then_some(u32::from_le_bytes(bytes))
            }
            Some(LR) => {
                assert_eq!(answer, self.word(word, answer), "{access:x?}");
                self.hopes.insert(hart, word);
                let bank = &mut self.reserved[word as usize % BANKS];
                if bank.word == word && !bank.holders.is_empty() {
                    bank.holders.insert(hart);
                } else if bank.holders.is_empty() || now - bank.since >= OLD {
                    *bank = Reservation { word, holders: [hart].into(), since: now };
                }
                None
            }
            Some(SC) => {
                assert_eq!(answer, u32::from(!holds), "{access:x?} of {requester}");
                let hoped = self.hopes.remove(&hart) == Some(word);
                assert!(hoped || !holds, "a reservation without an LR");
                self.stored += usize::from(holds);
                self.spurious += usize::from(hoped && !holds);
                holds.then_some(access.data)
            }
            Some(operation) => {
                let old = self.word(word, answer);
                assert_eq!(answer, old, "{access:x?}");
                let (a, b) = (old, access.data);
                Some(match operation {
                    SWAP => b,
                    ADD => a.wrapping_add(b),
                    0b00100 => a ^ b,
                    0b01100 => a & b,
                    0b01000 => a | b,
                    0b10000 => (a as i32).min(b as i32) as u32,
                    0b10100 => (a as i32).max(b as i32) as u32,
                    0b11000 => a.min(b),
                    _ => a.max(b),
                })
            }
        };
        if let Some(new) = new {
            self.words.insert(word, new);
            self.hopes.retain(|_, place| *place != word);
            let bank = &mut self.reserved[word as usize % BANKS];
            if bank.word == word {
                bank.holders.clear();
            }
        }
    }
}

#[derive(Default)]
struct Requester {
    /// Not taken yet; the first one is on the port if `offered`.
    waiting: VecDeque<Access>,
    offered: bool,
    /// Taken, with the cycle.
    under_way: VecDeque<(Access, u64)>,
    answers: Vec<(Access, u32, u64)>,
    /// Cycle of the last answer.
    last: u64,
}

struct Bench {
    dut: Dut<L2>,
    requesters: Vec<Requester>,
    reference: Reference,
    /// Longest time that an access spent in front of its requester's port queue.
    longest: u64,
    /// Beat that is wanted; beats that were taken, with the cycle.
    beat: Option<u64>,
    beats: VecDeque<(u64, u64)>,
    /// Cycle since which the beat could be taken; the longest wait; cycles in which beats were taken.
    beat_since: u64,
    beat_longest: u64,
    taken: Vec<u64>,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        Self::of_shape(wave, BYTES, CLUSTERS, HPUS)
    }

    fn of_shape(wave: &WaveContext, size: usize, clusters: usize, hpus: usize) -> Self {
        let dut = Dut::new(wave, L2::new(size, clusters, hpus), "l2");
        let requesters = (0..=clusters).map(|_| Requester::default()).collect();
        let mut bench = Bench {
            dut,
            requesters,
            reference: Reference::default(),
            longest: 0,
            beat: None,
            beats: VecDeque::new(),
            beat_since: 0,
            beat_longest: 0,
            taken: vec![],
        };
        // The memory starts from random bits.
        bench.clear((0..WRITTEN).map(|word| 4 * word));
        bench
    }

    /// The host writes zeros.
    fn clear(&mut self, addresses: impl Iterator<Item = u64>) {
        let host = self.requesters.len() - 1;
        self.requesters[host].waiting.extend(addresses.map(|address| Access::store(address, 0)));
        self.drain();
        self.requesters[host].answers.clear();
    }

    /// One cycle; requesters for which `moves` says so put their next access on the port.
    fn step(&mut self, mut moves: impl FnMut() -> bool) {
        let now = self.dut.cycle();
        for (requester, port) in self.requesters.iter_mut().zip(&self.dut.port) {
            requester.offered |= !requester.waiting.is_empty() && moves();
            port.valid.set(requester.offered);
            if let (true, Some(access)) = (requester.offered, requester.waiting.front()) {
                port.request.set_bytes(&access.packed().to_le_bytes());
                port.hpu.set(access.hpu);
                port.second.set(access.second);
            }
        }
        self.dut.beat.valid.set(self.beat.is_some());
        self.dut.beat.set(self.beat.unwrap_or(0));
        self.dut.eval();
        let mut answered = vec![];
        for (i, (requester, port)) in self.requesters.iter_mut().zip(&self.dut.port).enumerate() {
            if port.answer_valid.is_high() {
                let (access, taken) = requester.under_way.pop_front().expect("an answer without a request");
                let got = port.answer.number();
                assert_eq!(port.answer_hpu.number(), access.hpu);
                assert_eq!((got & 1, got >> 1 & 1), (access.thread, access.write.into()), "{access:x?}");
                answered.push((i, access, (got >> 2) as u32));
                self.longest = self.longest.max(now - taken.max(requester.last));
                assert!(now >= taken + LATENCY, "answered {} cycles after the request", now - taken);
                requester.last = now;
                requester.answers.push((access, (got >> 2) as u32, now - taken));
            }
            if requester.offered && port.moves() {
                let access = requester.waiting.pop_front().expect("offered");
                requester.under_way.push_back((access, now));
                requester.offered = false;
            }
        }
        self.reference.apply_all(now, &answered);
        self.follow_beats(now);
        self.dut.tick();
    }

    /// A beat stands in the order after all accesses that were granted before it, whose answers have just been applied.
    fn follow_beats(&mut self, now: u64) {
        let due = self.beats.front().is_some_and(|beat| beat.1 + BEAT_LATENCY == now);
        assert_eq!(self.dut.beat_answered.is_high(), due, "a beat has its bytes after {BEAT_LATENCY} cycles");
        if due {
            let (beat, _) = self.beats.pop_front().expect("one is due");
            let words = (0..16).map(|i| self.reference.words.get(&(16 * beat + i)).expect("it has been written"));
            let wanted: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(self.dut.beat_data.bytes(), wanted, "beat {beat}");
        }
        if let (Some(beat), true) = (self.beat, self.dut.beat.ready.is_high()) {
            self.beats.push_back((beat, now));
            self.beat_longest = self.beat_longest.max(now + 1 - self.beat_since);
            self.taken.push(now);
            self.beat = None;
        }
        if self.beat.is_none() {
            self.beat_since = now + 1;
        }
    }

    fn idle(&self) -> bool {
        self.beats.is_empty()
            && self.beat.is_none()
            && self.requesters.iter().all(|r| r.waiting.is_empty() && r.under_way.is_empty())
    }

    fn drain(&mut self) {
        for _ in 0..100_000 {
            if self.idle() {
                return;
            }
            self.step(|| true);
        }
        panic!("accesses were not answered");
    }

    /// One access alone.
    fn one(&mut self, requester: usize, access: Access) -> u32 {
        self.requesters[requester].waiting.push_back(access);
        self.drain();
        self.requesters[requester].answers.pop().expect("answered").1
    }
}

#[test]
fn random_traffic_is_explained_by_one_order() {
    random_traffic("l2_random_traffic", BYTES, CLUSTERS, HPUS, 36);
}

#[test]
fn random_traffic_in_a_small_shape() {
    random_traffic("l2_random_traffic_small", 4096, 3, 2, 24);
}

/// Beats, 64 of them or all of a smaller memory: a number, each that differs from it in one bit, and any others.
fn places(rng: &mut ChaCha8Rng, size: usize) -> Vec<u64> {
    let count = size as u64 / 64;
    let first = rng.random_range(0..count);
    let mut places = vec![first];
    places.extend((0..count.trailing_zeros()).map(|bit| first ^ 1 << bit));
    while places.len() < 64 {
        let place = rng.random_range(0..count);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

fn random_traffic(name: &str, size: usize, clusters: usize, hpus: usize, rounds: usize) {
    run_with_wave_on_failure(name, |wave| {
        let mut bench = Bench::of_shape(wave, size, clusters, hpus);
        let mut rng = wave.rng();
        let places = places(&mut rng, size);
        let address = |word: u64| 64 * places[word as usize / 16] + word % 16 * 4;
        bench.clear((0..1024).map(address));
        for round in 0..rounds {
            // Few words for contention, all of them for the address bits; few and many atomics; dense and sparse.
            let words = [4, 16, 1024][round % 3];
            let atomics = [0.0, 0.5, 1.0, 0.2][round % 4];
            let density = [1.0, 0.5, 0.1][round / 3 % 3];
            for _ in 0..250 {
                for (i, requester) in bench.requesters.iter_mut().enumerate() {
                    let word = address(rng.random_range(0..words));
                    let mut access = Access::random(&mut rng, hpus, word, if i == clusters { 0.0 } else { atomics });
                    if i == clusters {
                        (access.hpu, access.thread) = (0, 0);
                    }
                    requester.waiting.push_back(access);
                    if access.atomic == Some(LR) && rng.random() {
                        // In the same word, or in another one.
                        let address =
                            if rng.random_bool(0.8) { access.address } else { address(rng.random_range(0..words)) };
                        requester.waiting.push_back(Access { atomic: Some(SC), address, ..access });
                    }
                }
            }
            let mut cycles = 0;
            let beats = [0.0, 1.0, 0.3, 1.0][round / 2 % 4];
            while !bench.idle() {
                let requests = bench.requesters.iter().any(|r| !r.waiting.is_empty());
                if bench.beat.is_none() && requests && rng.random_bool(beats) {
                    bench.beat = Some(places[rng.random_range(0..words.div_ceil(16)) as usize]);
                }
                bench.step(|| rng.random_bool(density));
                cycles += 1;
                assert!(cycles < 50_000, "round {round}: not all accesses were answered");
            }
        }
        let (stored, spurious) = (bench.reference.stored, bench.reference.spurious);
        assert!(stored > 100 && spurious > 20, "{stored} SCs stored, {spurious} failed without a write");
        // The turn in progress, each other cluster once and the host between any two: AMOs at worst, somewhere, and a beat after
        // each.
        let bound = BEAT_WAIT * 2 * clusters as u64 + LATENCY;
        let (beats, wait) = (bench.taken.len(), bench.beat_longest);
        assert!(beats > 1000 && wait <= BEAT_WAIT, "{beats} beats, one after {wait} cycles");
        assert!(bench.longest <= bound, "an access waited {} cycles, at most {bound} are allowed", bench.longest);
        for word in (0..1024).map(address) {
            let expected = bench.reference.words[&(word / 4)];
            assert_eq!(bench.one(clusters, Access::load(word)), expected, "byte {word:#x}");
        }
    });
}

#[test]
fn latency_is_exact_and_banks_work_side_by_side() {
    run_with_wave_on_failure("l2_latency", |wave| {
        let mut bench = Bench::new(wave);
        // One requester alone: one access per cycle.
        for i in 0..200 {
            bench.requesters[0].waiting.push_back(Access::load(4 * (i * 7 % 64)));
        }
        let start = bench.dut.cycle();
        bench.drain();
        assert_eq!(bench.dut.cycle() - start, 200 + LATENCY);
        assert_eq!(bench.requesters[0].answers.len(), 200);
        assert!(bench.requesters[0].answers.iter().all(|(_, _, latency)| *latency == LATENCY));

        // Each in a bank of its own: no one waits.
        for i in 0..100 {
            for (r, requester) in [0, 3, 6, HOST].into_iter().enumerate() {
                bench.requesters[requester].waiting.push_back(Access::load(16 * i + 4 * (r as u64 + i) % 16));
            }
        }
        let start = bench.dut.cycle();
        bench.drain();
        assert_eq!(bench.dut.cycle() - start, 100 + LATENCY);

        // All in one bank: one access per cycle in all, or an AMO every four.
        for (access, each) in [(Access::load(0), 1), (Access::atomic(ADD, 0, 1), 4)] {
            for requester in &mut bench.requesters[..CLUSTERS] {
                requester.waiting.extend([access; 50]);
            }
            let start = bench.dut.cycle();
            bench.drain();
            let cycles = bench.dut.cycle() - start;
            let least = 50 * CLUSTERS as u64 * each;
            assert!((least..=least + LATENCY + each).contains(&cycles), "{cycles} cycles, {least} expected");
        }
        assert_eq!(bench.one(HOST, Access::load(0)), 50 * CLUSTERS as u32);
    });
}

/// Cycles between beats that are always wanted, beside no requests, loads of all clusters in all banks, and AMOs in one bank; the
/// loads have the other half of the cycles.
#[test]
fn beats_take_turns_with_requests() {
    run_with_wave_on_failure("l2_beats", |wave| {
        let mut bench = Bench::new(wave);
        let banks: fn(u64) -> Access = |i| Access::load(4 * (i % 4));
        let adds: fn(u64) -> Access = |_| Access::atomic(ADD, 0, 1);
        // Cycles from one beat to the next, and accesses of all clusters while 50 beats are read.
        for (access, each, least) in [(None, 1, 0), (Some(banks), 2, 130), (Some(adds), 5, 48)] {
            for requester in &mut bench.requesters[..CLUSTERS] {
                requester.answers.clear();
                requester.waiting = access.iter().flat_map(|access| (0..200).map(access)).collect();
            }
            (0..20).for_each(|_| bench.step(|| true));
            bench.taken.clear();
            let answers = |bench: &Bench| bench.requesters.iter().map(|r| r.answers.len()).sum::<usize>();
            let before = answers(&bench);
            while bench.taken.len() < 50 {
                bench.beat = Some(bench.taken.len() as u64 % 64);
                bench.step(|| true);
            }
            let gaps: Vec<u64> = bench.taken.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps.iter().all(|gap| *gap == each), "{each} cycles from one beat to the next: {gaps:?}");
            let answered = answers(&bench) - before;
            assert!(answered >= least, "{answered} accesses beside 50 beats, {least} at least");
            bench.beat = None;
            bench.drain();
        }
    });
}

#[test]
fn reservations() {
    run_with_wave_on_failure("l2_reservations", |wave| {
        let mut bench = Bench::new(wave);
        let by = |hpu, thread, access: Access| Access { hpu, thread, ..access };
        let lr = |address| Access::atomic(LR, address, 0);
        let sc = |address, data| Access::atomic(SC, address, data);
        // Alone: stores, once.
        bench.one(0, lr(64));
        assert_eq!(bench.one(0, sc(64, 5)), 0);
        assert_eq!(bench.one(0, sc(64, 6)), 1, "the first SC has used up the reservation");
        assert_eq!(bench.one(HOST, Access::load(64)), 5);
        // Another word, in the same bank and in another one.
        for other in [80, 68] {
            bench.one(0, lr(64));
            assert_eq!(bench.one(0, sc(other, 7)), 1);
            assert_eq!(bench.one(0, sc(64, 7)), 1, "an SC to {other} ends the reservation");
            bench.one(0, lr(64));
            bench.one(0, lr(other));
            assert_eq!(bench.one(0, sc(64, 7)), 1, "only the last LR counts");
        }
        // Written meanwhile: by a store of a byte, an AMO, an SC, the host.
        let writers = [
            (1, by(1, 0, Access { size: 1, ..Access::store(66, 0) })),
            (2, Access::atomic(ADD, 64, 0)),
            (HOST, Access::store(64, 5)),
        ];
        for (requester, write) in writers {
            bench.one(0, lr(64));
            bench.one(requester, write);
            assert_eq!(bench.one(0, sc(64, 7)), 1, "{write:x?} of {requester}");
        }
        // Both threads of an HPU reserve; the second SC finds the word written.
        bench.one(1, by(1, 0, lr(64)));
        bench.one(1, by(1, 1, lr(64)));
        assert_eq!(bench.one(1, by(1, 1, sc(64, 8))), 0);
        bench.one(1, by(1, 1, lr(64)));
        assert_eq!(bench.one(1, by(1, 0, sc(64, 9))), 1);
        // A word beside it does not disturb.
        bench.one(0, lr(64));
        bench.one(1, Access::store(68, 1));
        bench.one(1, Access::store(64 + 16, 1));
        assert_eq!(bench.one(0, sc(64, 10)), 0);
        // A reservation that is left lying about does not keep others from theirs for ever.
        bench.one(0, lr(64));
        let mut tries = 0;
        loop {
            bench.one(1, lr(80));
            tries += 1;
            if bench.one(1, sc(80, 11)) == 0 {
                break;
            }
            assert!(tries < 60, "SC failed {tries} times");
        }
        assert_eq!(bench.one(0, sc(64, 12)), 1, "the other hart has taken the reservation");
    });
}

/// Where no other hart's reservation stands, one is taken at once, by whatever hart, of whatever word, also if the hart has one.
#[test]
fn a_reservation_is_taken_at_once() {
    run_with_wave_on_failure("l2_reservation_at_once", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        // Each hart in each bank.
        let mut cases: Vec<u64> = (0..(CLUSTERS * HPUS * 2 * BANKS) as u64).collect();
        cases.shuffle(&mut rng);
        for (data, case) in cases.into_iter().enumerate() {
            let (data, requester) = (data as u32, case as usize % CLUSTERS);
            let (hpu, thread) = (case / CLUSTERS as u64 % HPUS as u64, case / (CLUSTERS * HPUS) as u64 % 2);
            let bank = case / (CLUSTERS * HPUS * 2) as u64;
            let address = 16 * rng.random_range(0..BYTES as u64 / 16) + 4 * bank;
            let other = 4 * rng.random_range(0..BYTES as u64 / 4);
            let by = |operation, data| Access { hpu, thread, ..Access::atomic(operation, address, data) };
            if rng.random() {
                bench.one(requester, Access { address: other, ..by(LR, 0) });
            }
            bench.one(requester, by(LR, 0));
            let store = by(SC, data);
            assert_eq!(bench.one(requester, store), 0, "{store:x?} of {requester}");
            assert_eq!(bench.one(HOST, Access::load(address)), data);
        }
    });
}

/// Counters incremented by LR and SC on all harts at once: no one's increment is lost, and all come to an end.
#[test]
fn lr_sc_loops_come_to_an_end() {
    run_with_wave_on_failure("l2_lr_sc", |wave| {
        let mut bench = Bench::new(wave);
        const ROUNDS: u32 = 20;
        // (requester, hpu, thread, word, rounds left, value read)
        let mut harts = vec![];
        for requester in 0..CLUSTERS {
            for (hpu, thread) in [(0, 0), (0, 1), (7, 0), (5, 1)] {
                // Two words of one bank and one of another.
                let word = [0, 4, 1][(requester + hpu as usize) % 3];
                harts.push((requester, hpu, thread, word, ROUNDS));
            }
        }
        let mut totals = HashMap::new();
        for hart in &harts {
            *totals.entry(hart.3).or_insert(0) += ROUNDS;
            let first = Access { hpu: hart.1, thread: hart.2, ..Access::atomic(LR, 4 * hart.3, 0) };
            bench.requesters[hart.0].waiting.push_back(first);
        }
        for _ in 0..200_000 {
            bench.step(|| true);
            for requester in 0..CLUSTERS {
                for (access, answer, _) in std::mem::take(&mut bench.requesters[requester].answers) {
                    let hart = harts
                        .iter_mut()
                        .find(|h| (h.0, h.1, h.2) == (requester, access.hpu, access.thread))
                        .expect("a hart of this test");
                    let next = if access.atomic == Some(LR) {
                        Access { atomic: Some(SC), data: answer + 1, ..access }
                    } else {
                        hart.4 -= u32::from(answer == 0);
                        if hart.4 == 0 {
                            continue;
                        }
                        Access { atomic: Some(LR), data: 0, ..access }
                    };
                    bench.requesters[requester].waiting.push_back(next);
                }
            }
            if bench.idle() {
                break;
            }
        }
        assert!(bench.idle(), "LR/SC loops did not end: {harts:?}");
        for (word, total) in totals {
            assert_eq!(bench.one(HOST, Access::load(4 * word)), total, "word {word}");
        }
    });
}

#[test]
fn shapes_are_lint_clean() {
    for (clusters, hpus) in [(1, 1), (2, 4), (8, 8)] {
        let design =
            spindle_verilog::emit(&mut L2::new(128 << 10, clusters, hpus), "l2").unwrap_or_else(|e| panic!("{e}"));
        let reported = lint(&Source::from_text("l2", design.to_string())).unwrap_or_else(|error| panic!("{error:#}"));
        assert!(reported.is_empty(), "{clusters} x {hpus}: {reported:?}");
    }
}
