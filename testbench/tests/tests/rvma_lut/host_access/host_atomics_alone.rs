//! The atomics unit alone, against a model that carries out one operation after the other: few words and words that differ in
//! one bit, errors of reads and of writes, answers to writes in any order. All outputs are compared in each cycle.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::host_access::host_atomics::HostAtomics;
use rvma_lut::types::{WriteOrigin, ATOMIC};
use spindle_blocks::desc::{CommandIssuer, HostAtomic, HostAtomicDone};
use spindle_contract::events::atomic::{COMPARE_AND_SWAP, FETCH_AND_ADD};
use spindle_harness::{near, random_bits, random_value, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_model::rvma_lut::host_access;
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// Operations under way.
const SLOTS: usize = 4;
/// Cycles from a request to its read, from a word to the write or to the decision that there is none, and from the end of an
/// operation to its report.
const READ: u64 = 2;
const WORD: u64 = 4;
const DONE: u64 = 1;

/// The low half of a narrow word.
fn cut(value: u64, wide: bool) -> u64 {
    if wide {
        value
    } else {
        value & 0xFFFF_FFFF
    }
}

/// An operation whose read was taken.
#[derive(Clone, Debug)]
struct Operation {
    request: HostAtomic,
    issued: u64,
    /// Cycle of the word, the word, error.
    word: Option<(u64, u64, bool)>,
    /// Cycle of its end.
    ended: Option<u64>,
}

impl Operation {
    fn address(&self) -> u64 {
        self.request.address.to_u64()
    }

    fn is_under_way(&self, cycle: u64) -> bool {
        self.issued < cycle && self.ended.is_none_or(|ended| ended >= cycle)
    }

    /// What is written.
    fn result(&self) -> Option<u64> {
        let (_, old, error) = self.word.expect("the word has come");
        let HostAtomic { op, wide, operand, compare, .. } = self.request;
        let result = host_access::atomic(op.to_u64() as u8, wide, old, operand.to_u64(), compare.to_u64());
        result.filter(|_| !error)
    }

    fn done(&self, error: bool) -> HostAtomicDone {
        let (_, old, _) = self.word.expect("the word has come");
        HostAtomicDone { issuer: self.request.issuer, error, value: bits(cut(old, self.request.wide)) }
    }

    fn origin(&self, number: usize) -> WriteOrigin {
        let CommandIssuer { cluster, hpu, handle } = self.request.issuer;
        WriteOrigin {
            kind: bits(ATOMIC),
            slot: bits((number % SLOTS) as u64),
            tag: bits(cluster.to_u64() << 7 | hpu.to_u64() << 4 | handle.to_u64()),
            has_slot: self.request.wide,
            length: bits(bytes(&self.request)),
            ..WriteOrigin::default()
        }
    }
}

fn bytes(request: &HostAtomic) -> u64 {
    if request.wide {
        8
    } else {
        4
    }
}

/// Inputs of a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Inputs {
    request: Option<HostAtomic>,
    read_ready: bool,
    word: Option<(u64, bool)>,
    write_ready: bool,
    /// Number of the operation, error.
    finished: Option<(usize, bool)>,
}

/// Outputs of a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outputs {
    ready: bool,
    /// Address, bytes.
    read: Option<(u64, u64)>,
    /// Address, origin, bytes.
    write: Option<(u64, WriteOrigin, u64)>,
    done: Option<HostAtomicDone>,
}

/// How often the interesting cases came.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Cycles in which an operation waited for another one on its word, and for a slot.
    clash: u64,
    full: u64,
    /// An operation waited for a slot although fewer than four were under way.
    out_of_order: u64,
    /// The end of an operation without a write waited for that of another one.
    held: u64,
    write_stalls: u64,
    read_stalls: u64,
    /// Errors of reads and of writes.
    errors: [u64; 2],
    /// Comparisons that failed in the high, in the low half alone, and narrow ones that held with another high half.
    high: u64,
    low: u64,
    narrow: u64,
    /// Sums that carried into the high half.
    carries: u64,
    ends: u64,
}

#[derive(Default)]
struct Model {
    waiting: Option<(HostAtomic, u64)>,
    operations: Vec<Operation>,
    /// Operation whose word is worked on, or awaited; since when it is worked on.
    worked: usize,
    since: Option<u64>,
    done: Option<HostAtomicDone>,
    seen: Seen,
}

impl Model {
    /// The first operation whose word has not come.
    fn awaited(&self) -> Option<usize> {
        let recent = self.operations.len().saturating_sub(SLOTS);
        (recent..self.operations.len()).find(|number| self.operations[*number].word.is_none())
    }

    fn step(&mut self, cycle: u64, inputs: &Inputs) -> Outputs {
        let mut outputs = Outputs { ready: self.waiting.is_none(), done: self.done.take(), ..Outputs::default() };
        self.seen.ends += u64::from(outputs.done.is_some());

        // The oldest word.
        let working = self.operations.get(self.worked).and_then(|operation| operation.word);
        if self.since.is_none() {
            self.since = working.filter(|(at, ..)| *at < cycle).map(|_| cycle);
        }
        if self.since.is_some_and(|since| since + WORD - 1 == cycle) {
            self.look(self.worked);
        }
        let decided = self.since.filter(|since| since + WORD - 1 <= cycle).map(|_| self.worked);
        let mut leaves = false;
        if let Some(number) = decided {
            let operation = &mut self.operations[number];
            let result = operation.result();
            outputs.write = result.map(|result| (operation.address(), operation.origin(number), result));
            leaves = if result.is_some() { inputs.write_ready } else { inputs.finished.is_none() };
            self.seen.held += u64::from(result.is_none() && !leaves);
            self.seen.write_stalls += u64::from(result.is_some() && !leaves);
            if leaves && result.is_none() {
                let (.., error) = operation.word.expect("the word has come");
                operation.ended = Some(cycle);
                self.done = Some(operation.done(error));
            }
        }
        if let Some((number, error)) = inputs.finished {
            self.operations[number].ended = Some(cycle);
            self.done = Some(self.operations[number].done(error));
            self.seen.errors[1] += u64::from(error);
        }

        // The operation that waits, for the operations under way before.
        if let Some((request, _)) = self.waiting.filter(|(_, taken)| taken + READ <= cycle) {
            let word = request.address.to_u64() >> 3;
            let last = &self.operations[self.operations.len().saturating_sub(SLOTS)..];
            let clash = last.iter().any(|other| other.address() >> 3 == word && other.is_under_way(cycle - 1));
            let full = last.len() == SLOTS && last[0].is_under_way(cycle);
            self.seen.clash += u64::from(clash);
            self.seen.full += u64::from(full);
            self.seen.out_of_order += u64::from(full && !last.iter().all(|other| other.is_under_way(cycle)));
            if !clash && !full {
                outputs.read = Some((request.address.to_u64(), bytes(&request)));
                self.seen.read_stalls += u64::from(!inputs.read_ready);
                if inputs.read_ready {
                    self.operations.push(Operation { request, issued: cycle, word: None, ended: None });
                    self.waiting = None;
                }
            }
        }
        if let Some((value, error)) = inputs.word {
            let number = self.awaited().expect("a read is under way");
            self.operations[number].word = Some((cycle, value, error));
            self.seen.errors[0] += u64::from(error);
        }
        if leaves {
            self.worked += 1;
            self.since = None;
        }
        if let (true, Some(request)) = (outputs.ready, inputs.request) {
            self.waiting = Some((request, cycle));
        }
        outputs
    }

    /// Counts what becomes of an operation.
    fn look(&mut self, number: usize) {
        let HostAtomic { op, wide, operand, compare, .. } = self.operations[number].request;
        let (_, old, _) = self.operations[number].word.expect("the word has come");
        if op == bits(u64::from(FETCH_AND_ADD)) {
            let carries = ((old & 0xFFFF_FFFF) + (operand.to_u64() & 0xFFFF_FFFF)) >> 32 != 0;
            self.seen.carries += u64::from(wide && carries);
            return;
        }
        let differs = old ^ compare.to_u64();
        let (high, low) = (differs >> 32 != 0, differs as u32 != 0);
        self.seen.high += u64::from(wide && high && !low);
        self.seen.low += u64::from(low && !(wide && high));
        self.seen.narrow += u64::from(!wide && high && !low);
    }
}

struct Bench {
    dut: Dut<HostAtomics>,
    rng: ChaCha8Rng,
    model: Model,
    request: Option<HostAtomic>,
    /// Memory by words of 8 bytes, as the host has it, and as it is if each operation is carried out at its read.
    memory: BTreeMap<u64, u64>,
    expected: BTreeMap<u64, u64>,
    /// Words to bring: value, error.
    words: VecDeque<(u64, bool)>,
    /// Of operations whose read was taken: whether the read, and the write, fails.
    fails: Vec<[bool; 2]>,
    /// Writes that were taken.
    writes: Vec<usize>,
    errors: f64,
}

/// The bytes of an operation in a word of memory.
fn load(memory: &BTreeMap<u64, u64>, address: u64, wide: bool) -> u64 {
    cut(memory.get(&(address >> 3)).copied().unwrap_or(!address >> 3) >> (address % 8 * 8), wide)
}

fn store(memory: &mut BTreeMap<u64, u64>, address: u64, wide: bool, value: u64) {
    let shift = address % 8 * 8;
    let mask = cut(u64::MAX, wide) << shift;
    let word = load(memory, address & !7, true);
    memory.insert(address >> 3, word & !mask | value << shift & mask);
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, HostAtomics::default(), "host_atomics");
        let mut bench = Bench {
            dut,
            rng: wave.rng(),
            model: Model::default(),
            request: None,
            memory: BTreeMap::new(),
            expected: BTreeMap::new(),
            words: VecDeque::new(),
            fails: vec![],
            writes: vec![],
            errors: 0.0,
        };
        bench.reset();
        bench
    }

    /// Reset, after which the host has the memory that it has.
    fn reset(&mut self) {
        self.drive(&Inputs::default());
        self.dut.reset();
        self.model = Model { seen: self.model.seen, ..Model::default() };
        self.request = None;
        self.expected = self.memory.clone();
        self.words.clear();
        self.fails.clear();
        self.writes.clear();
    }

    fn drive(&mut self, inputs: &Inputs) {
        let (dut, rng) = (&self.dut, &mut self.rng);
        dut.host_atomic.valid.set(inputs.request.is_some());
        dut.host_atomic.payload.set(inputs.request.unwrap_or_else(|| random_bits(rng)));
        dut.read.ready.set(inputs.read_ready);
        dut.word.valid.set(inputs.word.is_some());
        let (word, error) = inputs.word.unwrap_or_else(|| (rng.random(), rng.random()));
        dut.word.payload.set(bits::<64>(word));
        dut.word_error.set(error);
        dut.write.ready.set(inputs.write_ready);
        dut.finished.valid.set(inputs.finished.is_some());
        let (origin, error) = match inputs.finished {
            Some((number, error)) => (self.model.operations[number].origin(number), error),
            None => (random_bits(rng), rng.random()),
        };
        dut.finished.payload.set(origin);
        dut.finished_error.set(error);
    }

    fn outputs(&self) -> Outputs {
        let write = self.dut.write.offered().map(|write| {
            let (address, origin) = (write.host_write.address.to_u64(), write.host_write.origin);
            let (last_line, offset) = (write.host_write.last_line.to_u64(), write.host_write.offset.to_u64());
            assert_eq!((last_line, offset), (0, 0), "cycle {}: a word lies in one line", self.dut.cycle());
            (address, origin, cut(write.data.get_bits::<64>(0).to_u64(), origin.has_slot))
        });
        Outputs {
            ready: self.dut.host_atomic.ready.is_high(),
            read: self.dut.read.offered().map(|read| (read.address.to_u64(), read.length.to_u64())),
            write,
            done: self.dut.done.offered(),
        }
    }

    /// A cycle: the host may bring a word, answer a write, and take a read and a write.
    fn step(&mut self, [word, finished, read_ready, write_ready]: [bool; 4]) -> Outputs {
        let word = if word { self.words.pop_front() } else { None };
        let mut ends = None;
        if finished && !self.writes.is_empty() {
            let number = self.writes.swap_remove(self.rng.random_range(0..self.writes.len()));
            let [_, error] = self.fails[number];
            ends = Some((number, error));
            let operation = &self.model.operations[number];
            if let Some(result) = operation.result().filter(|_| !error) {
                store(&mut self.memory, operation.address(), operation.request.wide, result);
            }
        }
        let inputs = Inputs { request: self.request, read_ready, word, write_ready, finished: ends };
        self.drive(&inputs);
        self.dut.eval();
        let found = self.outputs();
        let cycle = self.dut.cycle();
        let wants = self.model.waiting;
        let worked = self.model.worked;
        let expected = self.model.step(cycle, &inputs);
        assert_eq!(found, expected, "cycle {cycle}: {inputs:x?}, {wants:x?} waits");
        self.dut.tick();
        self.request.take_if(|_| found.ready);
        if found.write.is_some() && write_ready {
            self.writes.push(worked);
        }
        if let (Some((address, _)), true) = (found.read, read_ready) {
            let HostAtomic { op, wide, operand, compare, .. } = wants.expect("an operation waits").0;
            let old = load(&self.expected, address, wide);
            assert_eq!(load(&self.memory, address, wide), old, "cycle {cycle}: a word is read before it is written");
            let fails = [self.rng.random_bool(self.errors), self.rng.random_bool(self.errors)];
            let result = host_access::atomic(op.to_u64() as u8, wide, old, operand.to_u64(), compare.to_u64());
            if let (Some(result), [false, false]) = (result, fails) {
                store(&mut self.expected, address, wide, result);
            }
            // What follows the bytes of a narrow word.
            let beyond = if wide { 0 } else { self.rng.random::<u64>() << 32 };
            self.words.push_back((old | beyond, fails[0]));
            self.fails.push(fails);
        }
        found
    }

    /// Ends all operations.
    fn drain(&mut self) {
        for _ in 0..400 {
            self.step([true; 4]);
        }
        assert!(self.model.operations.iter().all(|operation| operation.ended.is_some()) && self.request.is_none());
        assert_eq!(self.memory, self.expected);
    }

    fn idle(&mut self) -> Outputs {
        self.step([false; 4])
    }
}

/// An operation on one of the words, or on a word that differs in one bit of its number.
fn operation(rng: &mut ChaCha8Rng, words: &[u64], expected: &BTreeMap<u64, u64>) -> HostAtomic {
    let wide = rng.random();
    let word = *words.choose(rng).expect("a word");
    let word = near(rng, word, 61, 5);
    let address = word << 3 | if wide { 0 } else { 4 * rng.random_range(0..2) };
    let op = match rng.random_range(0..10) {
        0..5 => u64::from(COMPARE_AND_SWAP),
        5..9 => u64::from(FETCH_AND_ADD),
        // Codes that are not given compare.
        _ => rng.random_range(2..4),
    };
    let old = load(expected, address, wide);
    let compare = match rng.random_range(0..8) {
        0 => random_value::<Bits<64>>(rng).to_u64(),
        1 => old ^ rng.random_range(1..=u64::from(u32::MAX)) << (32 * rng.random_range(0..2)),
        2 => near(rng, old, 64, 1),
        _ => old,
    };
    let operand = random_value(rng);
    HostAtomic { issuer: random_bits(rng), op: bits(op), wide, address: bits(address), operand, compare: bits(compare) }
}

#[test]
fn every_operation_is_the_models() {
    run_with_wave_on_failure("host_atomics_alone_random", |wave| {
        let mut bench = Bench::new(wave);
        for round in 0..share(600) {
            // Requests, words, answers to writes, read and write taken; words of memory; errors.
            let (requests, paces, count, errors) = match round % 6 {
                0 => (1.0, [1.0, 0.3, 1.0, 1.0], 64, 0.0),
                1 => (0.9, [0.5, 0.3, 0.5, 0.5], 2, 0.1),
                2 => (0.9, [0.9, 0.05, 0.9, 0.9], 64, 0.1),
                3 => (0.2, [0.2, 0.9, 0.9, 0.2], 3, 0.0),
                4 => (0.9, [0.3, 0.9, 0.2, 0.9], 8, 0.3),
                _ => (0.9, [0.9, 0.3, 0.9, 0.2], 16, 0.05),
            };
            bench.errors = errors;
            let place = bench.rng.random::<u64>() >> 3;
            // The first words lie across 4 GiB.
            let place = if bench.rng.random() { place | ((1 << 29) - 1) } else { place };
            let words: Vec<u64> = (0..count).map(|i| place.wrapping_add(i) & u64::MAX >> 3).collect();
            for _ in 0..300 {
                if bench.request.is_none() && bench.rng.random_bool(requests) {
                    bench.request = Some(operation(&mut bench.rng, &words, &bench.expected));
                }
                let allowed = paces.map(|pace| bench.rng.random_bool(pace));
                bench.step(allowed);
            }
            if round % 7 == 6 {
                bench.reset();
            } else {
                bench.drain();
            }
        }
        let Seen {
            clash,
            full,
            out_of_order,
            held,
            write_stalls,
            read_stalls,
            errors,
            high,
            low,
            narrow,
            carries,
            ends,
        } = bench.model.seen;
        let cycles = [clash, full, write_stalls, read_stalls, ends];
        assert!(cycles.into_iter().all(|count| count > 500), "{:?}", bench.model.seen);
        let cases = [out_of_order, held, errors[0], errors[1], high, low, narrow, carries];
        assert!(cases.into_iter().all(|count| count > 20), "{:?}", bench.model.seen);
    });
}

/// An operation that writes, one that does not, and many on different words.
#[test]
fn cycles_of_an_operation() {
    run_with_wave_on_failure("host_atomics_alone_cycles", |wave| {
        let mut bench = Bench::new(wave);
        let issuer = random_bits(&mut bench.rng);
        let add =
            HostAtomic { issuer, op: bits(u64::from(FETCH_AND_ADD)), operand: bits(1u64), ..HostAtomic::default() };
        let swap = HostAtomic { op: bits(u64::from(COMPARE_AND_SWAP)), compare: bits(5u64), ..add };
        // Idle cycles before what is looked for.
        let until = |bench: &mut Bench, found: &dyn Fn(&Outputs) -> bool| {
            (0..20).position(|_| found(&bench.idle())).expect("an answer") as u64 + 1
        };
        for request in [add, swap] {
            bench.request = Some(request);
            bench.idle();
            assert_eq!(until(&mut bench, &|outputs| outputs.read.is_some()), READ, "request to read");
            bench.step([false, false, true, false]);
            bench.step([true, false, false, false]);
            if request == add {
                assert_eq!(until(&mut bench, &|outputs| outputs.write.is_some()), WORD, "word to write");
                bench.step([false, false, false, true]);
                bench.step([false, true, false, false]);
                assert_eq!(until(&mut bench, &|outputs| outputs.done.is_some()), DONE, "answer to done");
            } else {
                assert_eq!(until(&mut bench, &|outputs| outputs.done.is_some()), WORD + DONE, "word to done");
            }
        }
        let (mut ends, operations) = (0, 100);
        let mut spans = [0; 2];
        for number in 0..5 * operations {
            let next = HostAtomic { address: bits(8 * number), ..add };
            bench.request.get_or_insert(next);
            if bench.step([true; 4]).done.is_some() {
                spans[usize::from(ends > 0)] = bench.dut.cycle();
                ends += 1;
            }
            if ends == operations {
                break;
            }
        }
        assert_eq!((ends, spans[1] - spans[0]), (operations, 4 * (operations - 1)), "an operation per 4 cycles");
    });
}
