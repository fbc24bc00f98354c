//! Random programs of commands, legal ones and illegal ones, and what comes of them.

use crate::hpu_core::cluster::whole::bench::Context;
use crate::hpu_core::cluster::whole::handlers::{PACKET, STATE};
use crate::hpu_core::cluster::whole::off_cluster::Put;
use crate::hpu_core::cluster::whole::off_cluster_commands::{step, Step, COUNTERS, SCRIPT, STEPS};
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{self as map, base, combine as operations, command};
use spindle_contract::params::SLOT_BYTES;
use spindle_model::combine::combine;

pub(super) const SCRATCHPAD: u32 = base(map::SCRATCH);
/// Bytes of the packet after the script, of the scratchpad, and of context memory, that a handler has for itself.
pub const PIECES: [usize; 3] = [SLOT_BYTES - SCRIPT, 128, 1024];
/// Place of the first piece of context memory.
pub const STATES: u32 = 0x8000;
/// Bytes of the packet, of the scratchpad, and of context memory, that a handler may use.
pub const BOUNDS: [usize; 3] = [SLOT_BYTES, 0x1000, 0x10000];
/// ADDR_HI of an exclusive or.
pub(super) const XOR: (u32, u32) = (map::CMD_ADDR_HI, 1 << operations::CONSTANT_SHIFT);

/// Address of a handler's piece of a memory.
pub(super) fn piece(memory: usize, frame: u32) -> u32 {
    match memory {
        0 => PACKET + SCRIPT as u32,
        1 => SCRATCHPAD + PIECES[1] as u32 * frame,
        _ => STATE + STATES + PIECES[2] as u32 * frame,
    }
}

/// What a program is to do: its commands and what comes of them, each list in the order of the commands.
#[derive(Default)]
pub struct Program {
    pub steps: Vec<Step>,
    pub frames: Vec<Vec<u8>>,
    pub summed: usize,
    pub to_host: Vec<(u64, Vec<u8>)>,
    pub puts: Vec<(Put, Option<Vec<u8>>)>,
    pub said: Vec<(u8, [u32; 2], u32)>,
    pub places: usize,
    pub redirects: Vec<(u32, u64)>,
    /// Results of host atomics, by step.
    pub results: Vec<(usize, u64)>,
    /// Its piece of context memory at the end.
    pub state: Vec<u8>,
    /// The last command is illegal.
    pub faults: bool,
}

/// A program in the making: its handler, and its memories as they are after the commands so far.
pub struct Writer<'a> {
    pub rng: &'a mut ChaCha8Rng,
    pub frame: u32,
    pub context: u64,
    /// The context's process has an event ring.
    pub has_ring: bool,
    /// Host memory, of which only the counters change.
    pub host: &'a [u8],
    pub memories: [Vec<u8>; 3],
    /// The two numbers in host memory that this handler alone adds to and swaps.
    pub counters: [u64; 2],
    pub program: Program,
}

impl Writer<'_> {
    /// Some bytes of a piece: its memory, first byte, length.
    pub(super) fn bytes(&mut self, least: usize) -> (usize, usize, usize) {
        let memory = self.rng.random_range(0..3);
        let size = PIECES[memory];
        let length = match self.rng.random_range(0..4) {
            0 => self.rng.random_range(least..=least + 8),
            1 => (64 * self.rng.random_range(1..=size / 64) + self.rng.random_range(0..3)).saturating_sub(1),
            _ => self.rng.random_range(least..=size),
        };
        let length = length.clamp(least, size);
        (memory, self.rng.random_range(0..=size - length), length)
    }

    /// A command with these words, which the handler waits for or not.
    pub(super) fn push(&mut self, opcode: impl Into<u32>, waits: bool, words: &[(u32, u32)]) {
        let mut new = step(0, waits, words);
        new[map::CMD_ISSUE as usize / 4] = opcode.into();
        self.program.steps.push(new);
    }

    /// A command that moves bytes of a piece: their memory, first byte, length and address.
    fn moves(&mut self, least: usize) -> (Vec<u8>, [(u32, u32); 2]) {
        let (memory, at, length) = self.bytes(least);
        let words = [(map::CMD_SOURCE, piece(memory, self.frame) + at as u32), (map::CMD_LENGTH, length as u32)];
        (self.memories[memory][at..at + length].to_vec(), words)
    }

    /// Bytes of the host, which come when the host pleases: all commands before have read theirs, and all after wait.
    fn read(&mut self, memory: usize, at: usize, length: usize) {
        self.program.steps.iter_mut().for_each(|step| step[map::CMD_STATUS as usize / 4] = 1);
        let from = self.rng.random_range(0..COUNTERS as usize - length);
        self.memories[memory][at..at + length].copy_from_slice(&self.host[from..from + length]);
        let source = piece(memory, self.frame) + at as u32;
        let words = [(map::CMD_SOURCE, source), (map::CMD_LENGTH, length as u32), (map::CMD_ADDR_LO, from as u32)];
        self.push(command::DMA_FROM_HOST, true, &words);
    }

    /// Node, process, mailbox, key and offset of a put or get.
    fn target(&mut self) -> [(u32, u32); 5] {
        let [node, low, high, key, offset] = self.rng.random::<[u32; 5]>();
        [
            (map::CMD_ADDR_LO, low),
            (map::CMD_ADDR_HI, high),
            (map::CMD_NODE, node & 0xFFFF_00FF),
            (map::CMD_KEY, key),
            (map::CMD_OFFSET, offset),
        ]
    }

    /// A put or get: `first` are words 0 and 1 of what leaves the cluster.
    fn put(&mut self, opcode: u8, words: &[(u32, u32)], first: [u32; 2], more: &[u32], payload: Option<Vec<u8>>) {
        let target = self.target();
        let leaving = [&first[..], &target.map(|word| word.1), more].concat();
        let put = Put { opcode, context: self.context, frame: self.frame as u16, words: leaving };
        self.program.puts.push((put, payload));
        let waits = self.rng.random();
        self.push(opcode, waits, &[words, &target].concat());
    }

    /// A legal command of this opcode.
    fn legal(&mut self, opcode: u8) {
        let waits = self.rng.random();
        match opcode {
            command::SEND_PACKET => {
                let (bytes, words) = self.moves(14);
                let summed = self.rng.random_range(0..4) == 0;
                self.program.frames.push(bytes);
                self.program.summed += usize::from(summed);
                self.push(u32::from(opcode) | if summed { map::ISSUE_CHECKSUM } else { 0 }, waits, &words);
            }
            command::DMA_TO_HOST => {
                let (bytes, [source, length]) = self.moves(1);
                let offset = self.rng.random_range(0..=Context::default().host_size - bytes.len() as u32);
                self.program.to_host.push((Context::default().host + u64::from(offset), bytes));
                self.push(opcode, waits, &[source, length, (map::CMD_ADDR_LO, offset)]);
            }
            command::DMA_FROM_HOST => {
                let (memory, at, length) = self.bytes(1);
                self.read(memory, at, length);
            }
            command::COMBINE => {
                let (_, operation, _) = *map::COMBINE_OPERATIONS.choose(self.rng).expect("there are some");
                let constant = if operation == 0 { self.rng.random_range(0..256) } else { 0 };
                let (operation, size) = (operation | constant << operations::CONSTANT_SHIFT, 1 << (operation & 3));
                let (source, from, length) = self.bytes(4);
                let to = self.rng.random_range(0..2);
                let length = length.min(PIECES[to]) / size * size;
                // The same bytes, or bytes of another memory.
                let at = self.rng.random_range(0..=PIECES[to] - length);
                let from = if source == to { at } else { from };
                let bytes = self.memories[source][from..from + length].to_vec();
                let result = combine(operation, &self.memories[to][at..at + length], &bytes).expect("it is legal");
                self.memories[to][at..at + length].copy_from_slice(&result);
                let words = [
                    (map::CMD_SOURCE, piece(source, self.frame) + from as u32),
                    (map::CMD_LENGTH, length as u32),
                    (map::CMD_ADDR_LO, piece(to, self.frame) + at as u32),
                    (map::CMD_ADDR_HI, operation),
                ];
                self.push(opcode, waits, &words);
            }
            command::PUT => {
                let (bytes, words) = self.moves(1);
                self.put(opcode, &words, [0, words[1].1], &[], Some(bytes));
            }
            command::PUT_HOST => {
                let length = self.rng.random_range(1..0x8000);
                let source = self.rng.random_range(0..=Context::default().host_size - length);
                let host = Context::default().host + u64::from(source);
                let words = [(map::CMD_SOURCE, source), (map::CMD_LENGTH, length)];
                self.put(opcode, &words, [host as u32, length], &[(host >> 32) as u32], None);
            }
            command::PUT_CONTEXT => {
                let length = self.rng.random_range(1..=BOUNDS[2] as u32);
                let source = self.rng.random_range(0..=BOUNDS[2] as u32 - length);
                let words = [(map::CMD_SOURCE, STATE + source), (map::CMD_LENGTH, length)];
                self.put(opcode, &words, [source, length], &[], None);
            }
            command::GET => {
                let [source, length, low, high, key] = self.rng.random::<[u32; 5]>();
                let length = length.max(1);
                let words = [
                    (map::CMD_SOURCE, source),
                    (map::CMD_LENGTH, length),
                    (map::CMD_OTHER_LO, low),
                    (map::CMD_OTHER_HI, high),
                    (map::CMD_RESULT_LO, key),
                ];
                self.put(opcode, &words, [source, length], &[low, high, key], None);
            }
            command::HOST_ADD | command::HOST_CAS => {
                let wide = self.rng.random();
                let (length, mask) = if wide { (8, u64::MAX) } else { (4, u32::MAX.into()) };
                let counter = &mut self.counters[usize::from(wide)];
                let (old, operand) = (*counter & mask, self.rng.random::<u64>());
                let compared = if self.rng.random() { old } else { self.rng.random::<u64>() & mask };
                *counter = match opcode {
                    command::HOST_ADD => old.wrapping_add(operand) & mask,
                    _ if compared == old => operand & mask,
                    _ => old,
                };
                self.program.results.push((self.program.steps.len(), old));
                let words = [
                    (map::CMD_LENGTH, length),
                    (map::CMD_ADDR_LO, COUNTERS + 16 * self.frame + if wide { 8 } else { 0 }),
                    (map::CMD_KEY, operand as u32),
                    (map::CMD_OFFSET, (operand >> 32) as u32),
                    (map::CMD_OTHER_LO, compared as u32),
                    (map::CMD_OTHER_HI, (compared >> 32) as u32),
                ];
                self.push(opcode, true, &words);
            }
            command::PRINT | command::EVENT | command::COMPLETE => {
                let length: u32 = if self.rng.random() { self.rng.random_range(1..=9) } else { self.rng.random() };
                let user = [self.rng.random(), self.rng.random()];
                self.program.said.push((opcode, user, length));
                let words = [(map::CMD_LENGTH, length), (map::CMD_ADDR_LO, user[0]), (map::CMD_ADDR_HI, user[1])];
                // They take no handle, so there is none to wait for.
                self.push(opcode, false, &words);
            }
            command::PLACE => {
                self.program.places += 1;
                let source = self.rng.random();
                self.push(opcode, waits, &[(map::CMD_SOURCE, source), (map::CMD_LENGTH, 0)]);
            }
            command::REDIRECT => {
                let [offset, low, high] = self.rng.random::<[u32; 3]>();
                self.program.redirects.push((offset, u64::from(high) << 32 | u64::from(low)));
                let words = [(map::CMD_LENGTH, offset), (map::CMD_ADDR_LO, low), (map::CMD_ADDR_HI, high)];
                self.push(opcode, waits, &words);
            }
            _ => unreachable!("opcode {opcode}"),
        }
    }

    /// A whole program, and its packet, which the script begins.
    pub fn write(mut self) -> (Vec<u8>, Program) {
        let data = self.memories[0].clone();
        // The scratchpad begins with bytes of the host.
        self.read(1, 0, PIECES[1]);
        let legal = if self.rng.random_range(0..3) == 0 { self.rng.random_range(1..STEPS) } else { STEPS };
        while self.program.steps.len() < legal {
            let (_, opcode, _) = *map::COMMANDS.choose(self.rng).expect("there are some");
            if self.has_ring || ![command::EVENT, command::COMPLETE].contains(&opcode) {
                self.legal(opcode);
            }
        }
        if legal < STEPS {
            self.program.faults = true;
            if self.has_ring || self.rng.random() {
                self.illegal();
            } else {
                let opcode = [command::EVENT, command::COMPLETE][self.rng.random_range(0..2)];
                self.push(opcode, false, &[(map::CMD_LENGTH, 8)]);
            }
        }
        self.program.state = self.memories[2].clone();
        let mut packet: Vec<u8> = self.program.steps.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        packet.resize(SCRIPT, 0);
        packet.extend(data);
        (packet, self.program)
    }
}
