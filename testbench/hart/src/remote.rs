//! What is after the remote port: L2, and the atomic units of L1 and L2.

use super::timing::Timing;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_sim::fields::Reader;
use std::collections::VecDeque;

/// funct5 of LR and SC.
const LR: u8 = 2;
const SC: u8 = 3;
/// Posted writes of a thread under way, at most.
const MOST_WRITES: usize = 7;

/// Another processor that adds one to a word now and then, each time atomically.
#[derive(Clone, Copy, Debug)]
pub struct Rival {
    /// In L2, not L1.
    pub far: bool,
    /// Physical address of the word.
    pub address: u32,
    /// Additions still to come.
    pub left: u32,
    /// Share of the cycles, of 256.
    pub eager: u8,
}

/// A request as it left the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Hardware thread.
    pub thread: usize,
    /// L2, not L1.
    pub far: bool,
    /// A posted store.
    pub write: bool,
    /// AMO, LR or SC.
    pub atomic: bool,
    /// funct5 of the atomic.
    pub operation: u8,
    /// Physical address.
    pub address: usize,
    /// Bytes.
    pub size: usize,
    /// Data.
    pub data: u32,
}

impl Request {
    fn from_port(bytes: &[u8]) -> Request {
        let mut port = Reader::new(bytes);
        let thread = port.field(1) as usize;
        let (far, write, atomic) = (port.bit(), port.bit(), port.bit());
        let operation = port.field(5) as u8;
        let (address, size) = (port.field(20) as usize, port.field(2) as usize + 1);
        Request { thread, far, write, atomic, operation, address, size, data: port.word() }
    }
}

/// An answer of the remote port.
pub(super) struct Answer {
    pub thread: usize,
    pub write: bool,
    pub data: u32,
}

/// The remote port's other side.
#[derive(Default)]
pub struct Remote {
    /// Others that change memory.
    pub rivals: Vec<Rival>,
    /// Per thread: whether each coming SC that could succeed does; none = it does.
    pub sc_script: [Option<VecDeque<bool>>; 2],
    /// Every request, with its cycle.
    pub log: Vec<(u64, Request)>,
    /// Keep `log`.
    pub keep_log: bool,
    /// Requests in the order in which they are done, with the cycle.
    waiting: VecDeque<(u64, u64, Request)>,
    answers: Vec<(u64, Answer)>,
    reservations: [Option<(bool, usize)>; 2],
    held: Option<Request>,
}

fn word_at(memory: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(memory[at..at + 4].try_into().expect("four bytes"))
}

/// The result of an AMO, from the instruction set's definition.
fn amo(operation: u8, old: u32, operand: u32) -> u32 {
    match operation {
        0x00 => old.wrapping_add(operand),
        0x01 => operand,
        0x04 => old ^ operand,
        0x08 => old | operand,
        0x0C => old & operand,
        0x10 => (old as i32).min(operand as i32) as u32,
        0x14 => (old as i32).max(operand as i32) as u32,
        0x18 => old.min(operand),
        0x1C => old.max(operand),
        other => panic!("funct5 {other:#x} is no AMO"),
    }
}

impl Remote {
    /// Whether an atomic is still to be done.
    pub(super) fn modifies(&self) -> bool {
        self.waiting.iter().any(|(_, _, request)| request.atomic)
    }

    /// A request is offered; checks that it stays until then.
    pub(super) fn offered(&mut self, bytes: &[u8], taken: bool, now: u64, timing: &Timing, rng: &mut ChaCha8Rng) {
        let request = Request::from_port(bytes);
        if let Some(held) = self.held {
            assert_eq!(held, request, "the remote request changes while it waits");
        }
        self.held = (!taken).then_some(request);
        if !taken {
            return;
        }
        if self.keep_log {
            self.log.push((now, request));
        }
        let Request { far, write, atomic, address, size, .. } = request;
        assert!(far || atomic, "a plain access of L1 goes to the remote port: {request:x?}");
        assert!(!(write && atomic) && [1, 2, 4].contains(&size), "{request:x?}");
        assert!(!atomic || (size == 4 && address.is_multiple_of(4)), "{request:x?}");
        let same = |other: &Request| other.thread == request.thread && other.write == write;
        let under_way = self.waiting.iter().filter(|w| same(&w.2)).count()
            + self.answers.iter().filter(|a| a.1.thread == request.thread && a.1.write == write).count();
        assert!(under_way < if write { MOST_WRITES } else { 1 }, "too many requests under way: {request:x?}");
        let due = now + Timing::delay(rng, timing.remote).max(1);
        let from = self.waiting.back().map_or(now, |last| last.0);
        // Done somewhere between request and answer, but in the order of the requests.
        let done = if due > from { rng.random_range(from..due) } else { from };
        self.waiting.push_back((done, due.max(done + 1), request));
    }

    /// No request is offered.
    pub(super) fn idle(&mut self) {
        assert!(self.held.is_none(), "a remote request is withdrawn");
    }

    /// Does what is due. Gives the answer of this cycle.
    pub(super) fn step(&mut self, now: u64, l1: &mut [u8], l2: &mut [u8], rng: &mut ChaCha8Rng) -> Option<Answer> {
        for rival in self.rivals.iter_mut().filter(|rival| rival.left > 0) {
            if Timing::chance(rng, rival.eager) {
                rival.left -= 1;
                let memory = if rival.far { &mut *l2 } else { &mut *l1 };
                let at = rival.address as usize;
                let sum = word_at(memory, at).wrapping_add(1);
                memory[at..at + 4].copy_from_slice(&sum.to_le_bytes());
                let key = (rival.far, at);
                self.reservations.iter_mut().filter(|r| **r == Some(key)).for_each(|r| *r = None);
            }
        }
        while self.waiting.front().is_some_and(|front| front.0 < now) {
            let (_, due, request) = self.waiting.pop_front().expect("there is one");
            let data = self.perform(&request, if request.far { &mut *l2 } else { &mut *l1 }, rng.random());
            self.answers.push((due, Answer { thread: request.thread, write: request.write, data }));
        }
        let due: Vec<usize> = (0..self.answers.len()).filter(|i| self.answers[*i].0 <= now).collect();
        (!due.is_empty()).then(|| self.answers.swap_remove(due[rng.random_range(0..due.len())]).1)
    }

    fn perform(&mut self, request: &Request, memory: &mut [u8], noise: u32) -> u32 {
        let Request { thread, far, write, atomic, operation, address, size, data } = *request;
        assert!(address + size <= memory.len(), "an access beyond its memory: {request:x?}");
        let key = (far, address);
        if write {
            memory[address..address + size].copy_from_slice(&data.to_le_bytes()[..size]);
            return noise;
        }
        if !atomic {
            let mut bytes = noise.to_le_bytes();
            bytes[..size].copy_from_slice(&memory[address..address + size]);
            return u32::from_le_bytes(bytes);
        }
        let old = word_at(memory, address);
        let new = match operation {
            LR => {
                self.reservations[thread] = Some(key);
                return old;
            }
            SC => {
                let could = self.reservations[thread].take() == Some(key);
                let does = match &mut self.sc_script[thread] {
                    Some(script) => script.pop_front().expect("the script has an entry for each SC"),
                    None => could,
                };
                assert!(could || !does, "an SC without a reservation is meant to succeed: {request:x?}");
                if !does {
                    return 1;
                }
                data
            }
            _ => amo(operation, old, data),
        };
        memory[address..address + 4].copy_from_slice(&new.to_le_bytes());
        let other = &mut self.reservations[1 - thread];
        if *other == Some(key) {
            *other = None;
        }
        if operation == SC {
            0
        } else {
            old
        }
    }
}
