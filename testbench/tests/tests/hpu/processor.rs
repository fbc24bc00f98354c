//! One processor on its bench, which plays instruction memory, data memories, command port, loader and scrubber.

use crate::fields::{bits, slice};
use hpu_core::hpu::Hpu;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{base, CODE};
use spindle_harness::{Model, Port, Source, WaveContext};
use std::collections::VecDeque;

/// Longest time a handler may take on the bench.
const PATIENCE: u64 = 400_000;

/// Values of `access_target`, in the order of `hpu_core::types::Target`.
pub const TARGET_L1: u64 = 0;
pub const TARGET_L2: u64 = 1;
pub const TARGET_TASK: u64 = 2;
pub const TARGET_COMMAND: u64 = 3;

/// The emitted processor.
pub fn source() -> Source {
    let design = spindle_verilog::emit(&mut Hpu::default(), "hpu").unwrap_or_else(|error| panic!("{error}"));
    Source::from_text("hpu", design.to_string())
}

/// A handler to run, as `hpu_core::types::Launch`.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub entry: u32,
    pub arguments: [u32; 3],
    pub code_base: u32,
    pub code_size: u32,
    pub state_base: u32,
    pub state_size: u32,
    pub slot: u32,
    pub packet_size: u32,
    pub watchdog: u32,
    pub context: u32,
    pub frame: u32,
}

impl Default for Launch {
    fn default() -> Self {
        Self {
            entry: base(CODE),
            arguments: [0; 3],
            code_base: 0,
            code_size: 0x10000,
            state_base: 0,
            state_size: 0x1000,
            slot: 0,
            packet_size: 2048,
            watchdog: 1_000_000,
            context: 0,
            frame: 0,
        }
    }
}

impl Launch {
    fn bytes(&self) -> Vec<u8> {
        let [a0, a1, a2] = self.arguments;
        let fields = [
            (self.entry, 32),
            (a0, 32),
            (a1, 32),
            (a2, 32),
            (self.code_base, 16),
            (self.code_size, 17),
            (self.state_base, 20),
            (self.state_size, 21),
            (self.slot, 4),
            (self.packet_size, 12),
            (self.watchdog, 32),
            (self.context, 4),
            (self.frame, 16),
        ];
        bits(&fields.map(|(value, width)| (value.into(), width)))
    }
}

/// How a handler ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    pub code: u8,
    /// 0 = it returned.
    pub cause: u8,
    pub pc: u32,
    pub address: u32,
    pub cycles: u32,
}

/// A word access as it left the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub target: u64,
    pub address: u32,
    pub write: bool,
    pub strobe: u8,
    pub data: u32,
    pub cycle: u64,
}

struct Ports {
    launch: Port,
    launch_valid: Port,
    launch_ready: Port,
    launch_page: Port,
    fetch_address: Port,
    fetch_data: Port,
    access: Port,
    access_target: Port,
    access_valid: Port,
    access_ack: Port,
    access_data: Port,
    access_fault: Port,
    ending: Port,
    ending_valid: Port,
    ending_ready: Port,
    scrub_valid: Port,
    scrub_done: Port,
    begins: Port,
    begin_frame: Port,
    ends: Port,
    retired: Port,
}

/// The bench.
pub struct Processor {
    pub model: Model,
    pub code: Vec<u32>,
    pub l1: Vec<u8>,
    pub l2: Vec<u8>,
    pub task: Vec<u8>,
    /// Answers of the command port, by word; a write to a word of `refused` is refused.
    pub command: [u32; 8],
    pub refused: Vec<u32>,
    /// Cycles of an access, least and most.
    pub latency: (u64, u64),
    /// The command port does not answer.
    pub command_stuck: bool,
    /// Cycles of a scrub.
    pub scrub: u64,
    /// Endings are taken.
    pub takes_endings: bool,
    pub queue: VecDeque<Launch>,
    pub endings: Vec<Ending>,
    pub accesses: Vec<Access>,
    /// (frame, cycle) of first fetches.
    pub begins: Vec<(u16, u64)>,
    /// Cycles in which handlers ended.
    pub ends: Vec<u64>,
    pub launch_pages: Vec<u64>,
    pub scrubs: usize,
    pub retired: u64,
    ports: Ports,
    rng: ChaCha8Rng,
    fetched: u32,
    under_way: Option<u64>,
    held: Option<(Vec<u8>, u64)>,
    scrubbing: u64,
}

impl Processor {
    pub fn new(context: &WaveContext, number: u32) -> Self {
        let mut model = context.model(&source()).unwrap_or_else(|error| panic!("{error:#}"));
        let port = |name: &str| model.port(name).unwrap_or_else(|error| panic!("{error}"));
        let ports = Ports {
            launch: port("launch"),
            launch_valid: port("launch_valid"),
            launch_ready: port("launch_ready"),
            launch_page: port("launch_page"),
            fetch_address: port("fetch_address"),
            fetch_data: port("fetch_data"),
            access: port("access"),
            access_target: port("access_target"),
            access_valid: port("access_valid"),
            access_ack: port("access_ack"),
            access_data: port("access_data"),
            access_fault: port("access_fault"),
            ending: port("ending"),
            ending_valid: port("ending_valid"),
            ending_ready: port("ending_ready"),
            scrub_valid: port("scrub_valid"),
            scrub_done: port("scrub_done"),
            begins: port("begins"),
            begin_frame: port("begin_frame"),
            ends: port("ends"),
            retired: port("retired"),
        };
        let number_port = port("number");
        model.set(number_port, number.into());
        model.reset(3);
        Self {
            model,
            code: vec![0; 1 << 14],
            l1: vec![0; 1 << 16],
            l2: vec![0; 1 << 20],
            task: vec![0; 256],
            command: [0; 8],
            refused: vec![],
            latency: (1, 1),
            command_stuck: false,
            scrub: 3,
            takes_endings: true,
            queue: VecDeque::new(),
            endings: vec![],
            accesses: vec![],
            begins: vec![],
            ends: vec![],
            launch_pages: vec![],
            scrubs: 0,
            retired: 0,
            ports,
            rng: context.rng(),
            fetched: 0,
            under_way: None,
            held: None,
            scrubbing: 0,
        }
    }

    /// Puts a program at a byte offset of the instruction memory.
    pub fn program(&mut self, at: u32, words: &[u32]) {
        self.code[at as usize / 4..][..words.len()].copy_from_slice(words);
    }

    fn memory(&mut self, access: &Access) -> (u32, bool) {
        let at = access.address as usize;
        let memory = match access.target {
            TARGET_L1 => &mut self.l1,
            TARGET_L2 => &mut self.l2,
            TARGET_TASK => &mut self.task,
            TARGET_COMMAND => return (self.command[at / 4], access.write && self.refused.contains(&access.address)),
            other => panic!("an access to target {other}: {access:x?}"),
        };
        assert!(at.is_multiple_of(4) && at + 4 <= memory.len(), "an access outside the memory: {access:x?}");
        let word = u32::from_le_bytes(memory[at..at + 4].try_into().expect("four bytes"));
        if access.write {
            for (byte, value) in
                access.data.to_le_bytes().into_iter().enumerate().filter(|b| access.strobe >> b.0 & 1 == 1)
            {
                memory[at + byte] = value;
            }
        }
        (word, false)
    }

    /// One cycle.
    pub fn step(&mut self) {
        let now = self.model.cycle();
        self.model.set(self.ports.fetch_data, self.fetched.into());
        self.model.set(self.ports.launch_valid, (!self.queue.is_empty()).into());
        if let Some(launch) = self.queue.front() {
            self.model.set_bytes(self.ports.launch, &launch.bytes());
        }
        self.model.set(self.ports.ending_ready, self.takes_endings.into());
        self.model.set(self.ports.access_ack, 0);
        let noise: u32 = self.rng.random();
        self.model.set(self.ports.access_data, noise.into());
        self.model.set(self.ports.access_fault, u64::from(noise & 1));
        self.model.eval();
        self.answer_access(now, noise);
        self.scrubbing = if self.model.is_set(self.ports.scrub_valid) { self.scrubbing + 1 } else { 0 };
        let done = self.scrubbing == self.scrub;
        self.scrubs += usize::from(done);
        self.model.set(self.ports.scrub_done, done.into());
        self.model.eval();
        self.sample(now);
        self.model.tick();
    }

    fn answer_access(&mut self, now: u64, noise: u32) {
        let (model, ports) = (&self.model, &self.ports);
        if !model.is_set(ports.access_valid) {
            self.under_way = None;
            self.held = None;
            return;
        }
        let offered = (model.get_bytes(ports.access).to_vec(), model.get(ports.access_target));
        if let Some(held) = &self.held {
            assert_eq!(*held, offered, "the access changes while it waits");
        }
        let bits = model.get(ports.access);
        let access = Access {
            target: offered.1,
            address: (bits & 0xF_FFFF) as u32,
            write: bits >> 20 & 1 == 1,
            strobe: (bits >> 21 & 0xF) as u8,
            data: (bits >> 25) as u32,
            cycle: now,
        };
        self.held = Some(offered);
        let left = self.under_way.unwrap_or_else(|| self.rng.random_range(self.latency.0..=self.latency.1));
        self.under_way = Some(left.saturating_sub(1));
        if left > 1 || (self.command_stuck && access.target == TARGET_COMMAND) {
            return;
        }
        let (word, refused) = self.memory(&access);
        self.accesses.push(access);
        self.model.set(self.ports.access_ack, 1);
        self.model.set(self.ports.access_data, if access.write { noise } else { word }.into());
        self.model.set(self.ports.access_fault, refused.into());
        self.under_way = None;
        self.held = None;
    }

    fn sample(&mut self, now: u64) {
        let (model, ports) = (&self.model, &self.ports);
        self.fetched = self.code[model.get(ports.fetch_address) as usize];
        if !self.queue.is_empty() && model.is_set(ports.launch_ready) {
            self.launch_pages.push(model.get(ports.launch_page));
            self.queue.pop_front();
        }
        if model.is_set(ports.begins) {
            self.begins.push((model.get(ports.begin_frame) as u16, now));
        }
        if model.is_set(ports.ends) {
            self.ends.push(now);
        }
        self.retired += u64::from(model.is_set(ports.retired));
        if self.takes_endings && model.is_set(ports.ending_valid) {
            let bytes = model.get_bytes(ports.ending);
            let word = |from, width| slice(bytes, from, width);
            let (fault, cause) = (word(8, 1), word(9, 4));
            assert_eq!(fault == 1, cause != 0, "a fault and its cause belong together");
            self.endings.push(Ending {
                code: word(0, 8) as u8,
                cause: cause as u8,
                pc: word(13, 32) as u32,
                address: word(45, 32) as u32,
                cycles: word(77, 32) as u32,
            });
        }
    }

    pub fn steps(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Runs until so many handlers have ended since the bench began.
    pub fn run_until(&mut self, endings: usize) {
        let start = self.model.cycle();
        while self.endings.len() < endings {
            assert!(self.model.cycle() < start + PATIENCE, "no ending after {PATIENCE} cycles");
            self.step();
        }
    }

    /// Runs one handler to its end.
    pub fn run(&mut self, launch: Launch) -> Ending {
        self.queue.push_back(launch);
        self.run_until(self.endings.len() + 1);
        *self.endings.last().expect("one has ended")
    }

    /// Runs a program that stands at offset 0.
    pub fn run_program(&mut self, words: &[u32]) -> Ending {
        self.program(0, words);
        self.run(Launch::default())
    }

    /// A word of the context memory.
    pub fn l2_word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.l2[at..at + 4].try_into().expect("four bytes"))
    }
}
