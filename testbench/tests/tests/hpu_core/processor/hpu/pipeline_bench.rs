//! The pipelined processor on a small bench, which plays instruction memory, L1, remote unit, command port and loader.

use crate::hpu_core::fields::{bits, slice};
use hpu_core::processor::hpu::{Hpu, HpuOptions};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::WATCHDOG_BITS;
use spindle_harness::{Dut, WaveContext};
use spindle_hart::{bytes_of_half, place_of_fault, Start};
use std::collections::VecDeque;

/// Longest time a handler may take.
const PATIENCE: u64 = 20_000;
/// Physical places of the regions.
pub const L1_PACKET: usize = 0x800;
pub const L1_STACK: usize = 0x6000;
pub const L1_SCRATCH: usize = 0xA000;
pub const L1_TASK: usize = 0xF000;
pub const L2_STATE: usize = 0x1_0000;

/// A handler to run.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub entry: u32,
    pub a0: u32,
    pub completion: Option<bool>,
    pub code_base: u32,
    pub code_size: u32,
    pub watchdog: u32,
    pub frame: u32,
}

impl Default for Launch {
    fn default() -> Self {
        Self {
            entry: 0x1000_0000,
            a0: 0x6000_0000,
            completion: None,
            code_base: 0,
            code_size: 0x8000,
            watchdog: 10_000,
            frame: 0,
        }
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    pub bank: u8,
    pub code: u8,
    pub cause: u8,
    pub pc: u32,
    pub address: u32,
    pub cycles: u32,
    pub at: u64,
}

/// The answer of the command port to a write of ISSUE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Done,
    Refused,
    Full,
}

/// An instruction on the retirement port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    pub thread: u8,
    pub order: u64,
    pub insn: u32,
    /// trap, halt, intr.
    pub flags: [bool; 3],
    pub rs1: u32,
    pub rs2: u32,
    pub rd: (u8, u32),
    pub pc: u32,
    pub next_pc: u32,
    /// Address, bytes read, bytes written.
    pub memory: (u32, u8, u8),
    pub written: u32,
}

/// The bench.
pub struct Bench {
    pub dut: Dut<Hpu>,
    pub code: Vec<u32>,
    pub l1: Vec<u8>,
    pub l2: Vec<u8>,
    /// Percent of cycles in which a half port, the code port or the remote unit refuses.
    pub stall: u32,
    /// Cycles from a remote request to its answer.
    pub latency: u64,
    pub command: [u32; 8],
    pub replies: VecDeque<Reply>,
    pub pending: u64,
    pub port_full: bool,
    pub queue: VecDeque<Launch>,
    pub takes_endings: bool,
    pub endings: Vec<Ending>,
    /// (frame, thread, cycle).
    pub begins: Vec<(u16, u8, u64)>,
    pub ends: Vec<(u16, u8, u64)>,
    /// Writes of the command port: (word, data, cycle).
    pub writes: Vec<(u64, u32, u64)>,
    /// Remote requests, with their cycle.
    pub requests: Vec<(Vec<u8>, u64)>,
    pub retired: u64,
    pub trace: Vec<Retired>,
    rng: ChaCha8Rng,
    latched: u32,
    fetched: u32,
    reads: [[u32; 2]; 3],
    port_read: u32,
    reply: Option<(Reply, u64)>,
    answers: VecDeque<(u64, bool, bool, u32)>,
}

impl Bench {
    pub fn new(context: &WaveContext) -> Self {
        let options = HpuOptions { rvfi: true, predecodes: true, ..HpuOptions::default() };
        let dut = crate::large::dut(context, move || Hpu::new(options), "hpu");
        let mut bench = Self {
            dut,
            code: vec![0; 1 << 14],
            l1: vec![0; 1 << 16],
            l2: vec![0; 1 << 20],
            stall: 0,
            latency: 10,
            command: [0; 8],
            replies: VecDeque::new(),
            pending: 0,
            port_full: false,
            queue: VecDeque::new(),
            takes_endings: true,
            endings: vec![],
            begins: vec![],
            ends: vec![],
            writes: vec![],
            requests: vec![],
            retired: 0,
            trace: vec![],
            rng: context.rng(),
            latched: 0,
            fetched: 0,
            reads: [[0; 2]; 3],
            port_read: 0,
            reply: None,
            answers: VecDeque::new(),
        };
        for bank in 0..4 {
            // (target, base, bound, readable, writable) of regions 1 to 7.
            let regions = [
                (4, 0, 0x8000, 1, 0),
                (1, L1_PACKET, 1500, 1, 1),
                (1, L1_SCRATCH, 2048, 1, 1),
                (2, L2_STATE, 0x1000, 1, 1),
                (1, L1_STACK + 1024 * bank, 1024, 1, 1),
                (1, L1_TASK + 128 * bank, 128, 1, 0),
                (3, 0, 32, 1, 1),
            ];
            for (index, (target, base, bound, readable, writable)) in regions.into_iter().enumerate() {
                let fields = [(target, 3), (base as u64, 20), (bound, 21), (readable, 1), (writable, 1)];
                bench.dut.region.write.set(true);
                bench.dut.region.index.set(8 * bank as u64 + 1 + index as u64);
                bench.dut.region.set_bytes(&bits(&fields));
                bench.dut.tick();
            }
        }
        bench.dut.region.write.set(false);
        // The predictor is clear after 32 cycles.
        bench.steps(40);
        bench
    }

    fn refuses(&mut self) -> bool {
        self.stall > 0 && self.rng.random_range(0..100) < self.stall
    }

    /// Puts a program at a byte offset of the instruction memory.
    pub fn program(&mut self, at: u32, words: &[u32]) {
        self.code[at as usize / 4..][..words.len()].copy_from_slice(words);
    }

    /// One cycle.
    pub fn step(&mut self) {
        let now = self.dut.cycle();
        self.drive(now);
        self.dut.eval();
        for half in 0..2 {
            let granted = self.dut.l1[half].valid.is_high() && !self.refuses();
            self.dut.l1[half].grant.set(granted);
        }
        let (code, remote) = (!self.refuses(), !self.refuses());
        self.dut.code.ready.set(code);
        self.dut.remote.ready.set(remote);
        self.dut.eval();
        self.sample(now);
        self.dut.tick();
    }

    fn drive(&mut self, now: u64) {
        self.dut.cycle.set(now);
        self.dut.fetch.data.set_bytes(&self.fetched.to_le_bytes());
        for i in 0..3 {
            let port = [&self.dut.l1[0].data, &self.dut.l1[1].data, &self.dut.code.data][i];
            port.set(self.reads[i][0]);
            // What is not read in this cycle is no answer in two.
            let noise = self.rng.random();
            self.reads[i] = [self.reads[i][1], noise];
        }
        self.dut.port.data.set(self.port_read);
        self.port_read = self.rng.random();
        self.dut.port.full.set(self.port_full);
        self.dut.port.pending.set(self.pending);
        let reply = self.reply.filter(|reply| reply.1 == now).map(|reply| reply.0);
        self.dut.issue.done.set(reply == Some(Reply::Done));
        self.dut.issue.refused.set(reply == Some(Reply::Refused));
        self.dut.issue.full.set(reply == Some(Reply::Full));
        let answer = self.answers.front().copied().filter(|answer| answer.0 <= now);
        self.dut.answer.valid.set(answer.is_some());
        if let Some((_, thread, write, data)) = answer {
            self.answers.pop_front();
            self.dut.answer.set_bytes(&bits(&[(thread.into(), 1), (write.into(), 1), (data.into(), 32)]));
        }
        self.dut.ending.ready.set(self.takes_endings);
        self.dut.launch.valid.set(!self.queue.is_empty());
        if let Some(launch) = self.queue.front().copied() {
            let start = Start {
                entry: launch.entry,
                a0: launch.a0,
                completes: launch.completion.is_some(),
                flow_control: launch.completion.unwrap_or_default(),
                code_base: launch.code_base,
                code_size: launch.code_size,
                watchdog: launch.watchdog,
                frame: launch.frame as u16,
                ..Default::default()
            };
            self.dut.launch.set_bytes(&start.launch());
        }
    }

    fn sample(&mut self, now: u64) {
        if self.dut.fetch.enable.is_high() {
            self.fetched = self.latched;
            self.latched = self.code[self.dut.fetch.address.number() as usize];
        }
        for i in 0..2 {
            let port = &self.dut.l1[i];
            if !port.valid.is_high() || !port.grant.is_high() {
                continue;
            }
            let request = port.number();
            let at = ((request & 0x1FFF) << 3) as usize + 4 * i;
            self.reads[i][1] = word(&self.l1, at);
            if request >> 51 & 1 == 0 {
                continue;
            }
            let (offset, size_less_one) = ((request >> 13 & 7) as usize, (request >> 16 & 3) as usize);
            for (byte, value) in bytes_of_half(i, offset, size_less_one, (request >> 18) as u32) {
                self.l1[at + byte] = value;
            }
            self.reads[i][1] = self.rng.random();
        }
        if self.dut.code.valid.is_high() && self.dut.code.ready.is_high() {
            self.reads[2][1] = self.code[self.dut.code.address.number() as usize];
        }
        if self.dut.remote.valid.is_high() && self.dut.remote.ready.is_high() {
            self.take_remote(now);
        }
        let access = self.dut.port.number();
        let (at, data) = (access >> 3 & 15, (access >> 7) as u32);
        assert!(!self.dut.port.write.is_high() || !self.dut.port.read.is_high());
        if self.dut.port.write.is_high() {
            self.writes.push((at, data, now));
            if at == 4 {
                let reply = self.replies.pop_front().unwrap_or(Reply::Done);
                self.reply = Some((reply, now + 2));
            }
        }
        if self.dut.port.read.is_high() {
            self.port_read = self.command[at as usize];
        }
        if !self.queue.is_empty() && self.dut.launch.ready.is_high() {
            self.queue.pop_front();
        }
        if self.dut.begin.valid.is_high() {
            self.begins.push((self.dut.begin_frame.number() as u16, self.dut.begin.thread.number() as u8, now));
        }
        if self.dut.ends.is_high() {
            self.ends.push((self.dut.end_frame.number() as u16, self.dut.end_thread.number() as u8, now));
        }
        self.retired += u64::from(self.dut.retired.is_high());
        let bytes = self.dut.rvfi[0].bytes();
        let field = |from, width| slice(&bytes, from, width);
        if field(0, 1) == 1 {
            let word = |from| field(from, 32) as u32;
            self.trace.push(Retired {
                thread: field(104, 1) as u8,
                order: field(1, 64),
                insn: word(65),
                flags: [97, 98, 99].map(|at| field(at, 1) == 1),
                rs1: word(115),
                rs2: word(147),
                rd: (field(179, 5) as u8, word(184)),
                pc: word(216),
                next_pc: word(248),
                memory: (word(280), field(312, 4) as u8, field(316, 4) as u8),
                written: word(352),
            });
        }
        if self.takes_endings && self.dut.ending.valid.is_high() {
            let bytes = self.dut.ending.bytes();
            let field = |from, width| slice(&bytes, from, width) as u32;
            assert_eq!(field(10, 1) == 1, field(11, 4) != 0, "a fault and its cause belong together");
            let (stray, of_access) = (field(64, 1) == 1, field(65, 1) == 1);
            let (pc, address) = place_of_fault(field(15, 17), field(32, 32), stray, of_access);
            self.endings.push(Ending {
                bank: field(0, 2) as u8,
                code: field(2, 8) as u8,
                cause: field(11, 4) as u8,
                pc,
                address,
                cycles: field(67 + if field(66, 1) == 1 { WATCHDOG_BITS } else { 0 }, WATCHDOG_BITS),
                at: now,
            });
        }
    }

    fn take_remote(&mut self, now: u64) {
        let bytes = self.dut.remote.bytes();
        let field = |from, width| slice(&bytes, from, width);
        let (thread, far, write, atomic) = (field(0, 1) == 1, field(1, 1) == 1, field(2, 1) == 1, field(3, 1) == 1);
        let (operation, at, size, data) =
            (field(4, 5), field(9, 20) as usize, field(29, 2) as usize, field(31, 32) as u32);
        let memory = if far { &mut self.l2 } else { &mut self.l1 };
        let mut old = [0; 4];
        old[..=size].copy_from_slice(&memory[at..=at + size]);
        let old = u32::from_le_bytes(old);
        if atomic {
            assert_eq!((write, at % 4, size), (false, 0, 3));
            let new = match operation {
                0 => old.wrapping_add(data),
                1 => data,
                2 => old,
                other => panic!("the bench has no atomic {other}"),
            };
            memory[at..at + 4].copy_from_slice(&new.to_le_bytes());
        } else if write {
            memory[at..=at + size].copy_from_slice(&data.to_le_bytes()[..=size]);
        }
        // What lies beyond the bytes that were read is anything.
        let noise: u32 = self.rng.random();
        let data = if size == 3 { old } else { old | noise << (8 * (size + 1)) };
        let at = (now + self.latency).max(self.answers.back().map_or(0, |answer| answer.0 + 1));
        self.answers.push_back((at, thread, write, data));
        self.requests.push((bytes, now));
    }

    pub fn steps(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Runs until so many handlers have ended since the bench began.
    pub fn run_until(&mut self, endings: usize) {
        let start = self.dut.cycle();
        while self.endings.len() < endings {
            assert!(self.dut.cycle() < start + PATIENCE, "no ending after {PATIENCE} cycles");
            self.step();
        }
    }

    /// Runs one handler to its end.
    pub fn run(&mut self, launch: Launch) -> Ending {
        self.queue.push_back(launch);
        self.run_until(self.endings.len() + 1);
        *self.endings.last().expect("one has ended")
    }

    /// Runs a program that stands at offset 0; its ending.
    pub fn run_program(&mut self, words: &[u32]) -> Ending {
        self.program(0, words);
        self.run(Launch::default())
    }
}

/// A word of a memory.
pub fn word(memory: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(memory[at..at + 4].try_into().expect("four bytes"))
}
