//! A cluster on its bench, which plays dispatcher, packet buffer, L2, egress, host and scheduler.

use crate::hpu_core::cluster::whole::off_cluster::Far;
use crate::hpu_core::fields::{bits, code_word, pack, slice};
use hpu_core::cluster::Cluster;
use hpu_core::types::report_of;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::desc::{CommandIssuer, DmaDesc, DmaDone};
use spindle_contract::memory_map::{base, command, CODE, ISSUE_BYTES, ISSUE_FLAGS_SHIFT, WATCHDOG_BITS};
use spindle_contract::params::Config;
use spindle_harness::{Dut, Source, WaveContext};
use spindle_verilog::prelude::bits as hw;
use std::collections::VecDeque;

/// Longest silence that is not a hang.
const PATIENCE: u64 = 200_000;
/// Number of the cluster on this bench.
pub const CLUSTER: u64 = 5;
pub const HPUS: usize = 4;

/// The emitted cluster.
pub fn source() -> Source {
    crate::source(&mut Cluster::new(&Config { hpus: HPUS, ..Config::SIM }), "cluster")
}

/// A context, as `hpu_core::types::ContextEntry`; a task has it as `TaskContext`.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    pub entries: [u32; 3],
    pub state_base: u32,
    pub state_size: u32,
    pub host: u64,
    pub host_size: u32,
    pub watchdog: u32,
    pub scratch_base: u32,
    pub scratch_size: u32,
    /// Beats of zeros after a packet.
    pub tailroom: u32,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            entries: [base(CODE); 3],
            state_base: 0,
            state_size: 0x4000,
            host: 0x12_3456_7000,
            host_size: 0x10000,
            watchdog: 200_000,
            scratch_base: 0xA000,
            scratch_size: 0x1000,
            tailroom: 0,
        }
    }
}

/// What comes back of a task: the HPU it was sent to; kind, context, message slot and frame; whether it has a packet, which one,
/// and the length of its payload.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    hpu: u64,
    who: [u64; 4],
    packet: [u64; 3],
}

/// A task: the fields of its descriptor by name, its context, its packet if it has one.
#[derive(Clone, Debug, Default)]
pub struct Task {
    pub fields: Vec<(&'static str, u64)>,
    pub context: Context,
    pub packet: Option<Vec<u8>>,
}

/// What became of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub frame: u16,
    pub code: u8,
    pub cause: u8,
    /// What its handler took.
    pub cycles: u32,
    /// Its instructions, without the one that ended it.
    pub instructions: u32,
    pub cycle: u64,
}

/// A transfer to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub frame: u16,
    pub address: u64,
    pub data: Vec<u8>,
}

/// A PRINT, EVENT or COMPLETE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub opcode: u8,
    pub frame: u16,
    pub context: u64,
    pub hpu: u64,
    pub slot: u64,
    pub count: usize,
    pub characters: Vec<u8>,
    pub length: u32,
}

/// Cycles from the grant of an L2 access to its answer.
const L2_LATENCY: u64 = 5;

/// The bench.
pub struct Bench {
    pub dut: Dut<Cluster>,
    pub rng: ChaCha8Rng,
    pub l2: Vec<u8>,
    /// Percent of the cycles in which a neighbour does not move.
    pub stall: u32,
    /// The wire takes nothing.
    pub wire_blocked: bool,
    /// The host answers DMA commands, and with this chance in percent with an error.
    pub host_answers: bool,
    pub host_errors: u32,
    pub tasks: VecDeque<Task>,
    pub done: Vec<Done>,
    /// Words of fault reports.
    pub faults: Vec<[u32; 4]>,
    pub egress: Vec<(u16, Vec<u8>)>,
    /// Those of them that get checksums.
    pub summed: Vec<u16>,
    pub transfers: Vec<Transfer>,
    /// (frame, pkt) of packets handed on, and in which cycle.
    pub places: Vec<(u16, u64, u64)>,
    /// (frame, offset, mailbox address) of payloads that were redirected.
    pub redirects: Vec<(u16, u32, u64)>,
    /// What handlers said.
    pub messages: Vec<Said>,
    /// What it is asked outside, and what it is answered: see [`Far`].
    pub far: Far,
    /// Contexts to be installed, one per cycle.
    pub installs: VecDeque<u64>,
    /// Tasks handed to HPUs.
    pub loaded: usize,
    /// (HPU, cycle) of first instructions.
    pub begun: Vec<(usize, u64)>,
    /// Handles of DMA commands that the host has not answered: (HPU, handle).
    pub unanswered: VecDeque<(u64, u64)>,
    next_packet: u64,
    /// What the cluster counts in the first cycle.
    pub clock: u64,
    /// Tasks that were taken and have not ended.
    sent: Vec<Sent>,
    /// Tasks that ended with a fault, and reports of faults: HPU, cause, and what was sent.
    faulted: Vec<(u64, u64, [u64; 4])>,
    reported: Vec<(u64, u64, [u64; 4])>,
    offered: bool,
    /// HPUs that a task may be sent to, what each was sent and has not ended, and the one that the offered task is for.
    room: u64,
    inside: [u32; 8],
    target: usize,
    reads: VecDeque<Vec<(Vec<u8>, bool)>>,
    beat_offered: bool,
    frame: Vec<u8>,
    dma_descs: VecDeque<DmaDesc>,
    dma_data: Vec<u8>,
    dma_ends: VecDeque<Vec<u8>>,
    /// Answers of L2: when, HPU, what.
    l2_answers: VecDeque<(u64, u64, [u8; 5])>,
    /// Reservations of L2, by HPU and thread.
    l2_reserved: [[Option<usize>; 2]; 8],
}

impl Bench {
    pub fn new(context: &WaveContext) -> Self {
        let dut = crate::large::dut(context, || Cluster::new(&Config { hpus: HPUS, ..Config::SIM }), "cluster");
        dut.number.set(CLUSTER);
        dut.enabled.set(0xFFFF);
        Self {
            dut,
            rng: context.rng(),
            l2: vec![0; 1 << 20],
            stall: 0,
            wire_blocked: false,
            host_answers: true,
            host_errors: 0,
            tasks: VecDeque::new(),
            done: vec![],
            faults: vec![],
            egress: vec![],
            summed: vec![],
            transfers: vec![],
            places: vec![],
            redirects: vec![],
            messages: vec![],
            far: Far::default(),
            installs: VecDeque::new(),
            loaded: 0,
            begun: vec![],
            unanswered: VecDeque::new(),
            next_packet: 0,
            clock: context.rng().random(),
            sent: vec![],
            faulted: vec![],
            reported: vec![],
            offered: false,
            room: 0,
            inside: [0; 8],
            target: 0,
            reads: VecDeque::new(),
            beat_offered: false,
            frame: vec![],
            dma_descs: VecDeque::new(),
            dma_data: vec![],
            dma_ends: VecDeque::new(),
            l2_answers: VecDeque::new(),
            l2_reserved: [[None; 2]; 8],
        }
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        percent > 0 && self.rng.random_range(0..100) < percent
    }

    pub(super) fn moves(&mut self) -> bool {
        !self.chance(self.stall)
    }

    /// Writes a program through the port of the registers.
    pub fn program(&mut self, at: u32, words: &[u32]) {
        for (i, word) in words.iter().enumerate() {
            self.dut.imem.write.set(true);
            self.dut.imem.address.set(at as usize / 4 + i);
            self.dut.imem.data.set_bytes(&code_word(*word).to_le_bytes()[..5]);
            self.step();
        }
        self.dut.imem.write.set(false);
    }

    /// HPUs that a task could be sent to.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Chooses an HPU for the next task: one with room, of these the least loaded, in turn.
    fn choose(&mut self) -> bool {
        let turn = (1..=8).map(|i| (self.target + i) % 8);
        let chosen = turn.filter(|hpu| self.room >> hpu & 1 == 1).min_by_key(|hpu| self.inside[*hpu]);
        self.target = chosen.unwrap_or(self.target);
        chosen.is_some()
    }

    /// One cycle.
    pub fn step(&mut self) {
        let now = self.dut.cycle();
        if !self.offered {
            self.offered = !self.tasks.is_empty() && self.moves() && self.choose();
        }
        self.dut.task.valid.set(self.offered);
        if let (true, Some(task)) = (self.offered, self.tasks.front()) {
            let context = &task.context;
            let kind = task.fields.iter().find(|(name, _)| *name == "kind").map_or(0, |(_, kind)| *kind);
            let entry = bits(&[
                (context.entries[kind.min(2) as usize].into(), 32),
                (0, 16),
                (0x8000, 17),
                (context.state_base.into(), 20),
                (context.state_size.into(), 21),
                (context.host & 0xFFFF_FFFF, 32),
                (context.host >> 32, 32),
                (context.host_size.into(), 32),
                (context.watchdog.into(), WATCHDOG_BITS),
                (context.scratch_base.into(), 16),
                (context.scratch_size.into(), 16),
                (context.tailroom.into(), 5),
            ]);
            let mut fields = task.fields.clone();
            fields.extend([("version", 1), ("hpu", self.target as u64), ("has_packet", task.packet.is_some().into())]);
            if let Some(packet) = &task.packet {
                fields.extend([("pkt", self.next_packet % 1024), ("length", packet.len() as u64)]);
            }
            self.dut.task.desc.set_bytes(&pack("task_desc", &fields));
            self.dut.task.context.set_bytes(&entry);
        }
        let moves: [bool; 9] = std::array::from_fn(|_| self.moves());
        let dut = &self.dut;
        let readies = [
            &dut.done.ready,
            &dut.fault.ready,
            &dut.egress.ready,
            &dut.dma.ready,
            &dut.dma_data.ready,
            &dut.place.ready,
            &dut.message.ready,
            &dut.off_cluster_command.ready,
            &dut.l2.ready,
        ];
        readies.into_iter().zip(moves).for_each(|(ready, moves)| ready.set(moves));
        if self.wire_blocked {
            dut.egress.ready.set(false);
        }
        self.beat_offered |= !self.reads.is_empty() && self.moves();
        self.dut.load_data.valid.set(self.beat_offered);
        if let (true, Some(beats)) = (self.beat_offered, self.reads.front()) {
            self.dut.load_data.set(&beats[0].0);
            self.dut.load_data.last.set(beats[0].1);
        }
        self.play_far();
        let answers = self.host_answers && !self.unanswered.is_empty() && self.moves();
        self.dut.dma_done.valid.set(answers);
        if answers {
            let (hpu, handle) = self.unanswered.pop_front().expect("one is unanswered");
            let error = self.chance(self.host_errors);
            let issuer = CommandIssuer { cluster: hw(CLUSTER), hpu: hw(hpu), handle: hw(handle) };
            self.dut.dma_done.set(DmaDone { issuer, error, ..DmaDone::default() });
        }
        self.dut.cycle.set(self.clock.wrapping_add(now));
        self.dut.installed.offer(self.installs.pop_front());
        let answer = self.l2_answers.front().is_some_and(|answer| answer.0 == now).then(|| self.l2_answers.pop_front());
        self.dut.l2.answer_valid.set(answer.is_some());
        if let Some(Some((_, hpu, answer))) = answer {
            self.dut.l2.answer_hpu.set(hpu);
            self.dut.l2.answer.set_bytes(&answer);
        }
        self.dut.eval();
        self.end_far();
        if self.dut.l2.moves() {
            self.access_l2(now);
        }
        self.sample(now);
        self.dut.tick();
    }

    /// An access of L2 in the cycle of its grant, as `hpu_core::processor::types::RemoteRequest` and `RemoteAnswer`.
    fn access_l2(&mut self, now: u64) {
        let request = self.dut.l2.request.bytes();
        let hpu = self.dut.l2.hpu.number();
        let widths = [1, 1, 1, 1, 5, 20, 2, 32];
        let mut at = 0;
        let [thread, far, write, atomic, operation, address, size, data] = widths.map(|width| {
            at += width;
            slice(&request, at - width, width)
        });
        assert_eq!(far, 1, "what comes to L2 is for L2");
        // The word that holds the bytes of this part, and which of the access they are: the second part has those after the
        // first one's word.
        let (row, lane) = (address as usize & !3, address as usize & 3);
        let part = if self.dut.l2.second.is_high() { 4..8 } else { 0..4 };
        let of_access = (lane..=lane + size as usize).filter(|at| part.contains(at)).map(|at| at - lane);
        let bytes: Vec<(usize, usize)> = of_access.map(|i| (i, row + (lane + i) % 4)).collect();
        assert!(!bytes.is_empty(), "a part without bytes, at {address:#x}");
        let mut word = [0xEE; 4];
        for (i, at) in &bytes {
            word[*i] = self.l2[*at];
        }
        let old = u32::from_le_bytes(word);
        let (new, answer) = if atomic == 1 {
            let reserved = self.l2_reserved[hpu as usize][thread as usize] == Some(row);
            match operation {
                0b00010 => (None, old),
                0b00011 => (reserved.then_some(data as u32), u32::from(!reserved)),
                _ => (Some(crate::hpu_core::cluster::l1_atomics::amo_result(operation, old, data as u32)), old),
            }
        } else {
            ((write == 1).then_some(data as u32), old)
        };
        if atomic == 1 && operation & !1 == 2 {
            self.l2_reserved[hpu as usize][thread as usize] = (operation == 2).then_some(row);
        }
        if let Some(new) = new {
            for (i, at) in &bytes {
                self.l2[*at] = new.to_le_bytes()[*i];
            }
            self.l2_reserved.iter_mut().flatten().filter(|held| **held == Some(row)).for_each(|held| *held = None);
        }
        let answer = bits(&[(thread, 1), (write, 1), (answer.into(), 32)]);
        self.l2_answers.push_back((now + L2_LATENCY, hpu, answer.try_into().expect("five bytes")));
    }

    fn sample(&mut self, now: u64) {
        self.room |= self.dut.room.number();
        if self.offered && self.dut.task.moves() {
            self.room &= !(1 << self.target);
            self.inside[self.target] += 1;
            let task = self.tasks.pop_front().expect("one was offered");
            let get = |name: &str| task.fields.iter().find(|field| field.0 == name).map_or(0, |field| field.1);
            let pkt = if task.packet.is_some() { self.next_packet % 1024 } else { get("pkt") };
            self.sent.push(Sent {
                hpu: self.target as u64,
                who: ["kind", "context", "msg_slot", "frame"].map(get),
                packet: [task.packet.is_some().into(), pkt, get("payload_len")],
            });
            if let Some(packet) = task.packet {
                // Its beats are on their way; the bus zeroes what lies after its end.
                let beats = packet[..packet.len().min(2048)].chunks(64);
                let count = beats.len();
                let padded = beats.map(|beat| [beat, &[0; 64][..64 - beat.len()]].concat());
                self.reads.push_back(padded.enumerate().map(|(i, beat)| (beat, i + 1 == count)).collect());
                self.next_packet += 1;
            }
            self.offered = false;
        }
        if self.beat_offered && self.dut.load_data.moves() {
            let read = self.reads.front_mut().expect("a beat was offered");
            read.remove(0);
            if read.is_empty() {
                self.reads.pop_front();
            }
            self.beat_offered = false;
        }
        self.loaded += usize::from(self.dut.events.loaded.number() != 0);
        let begun = self.dut.events.begun.number();
        self.begun.extend((0..8).filter(|hpu| begun >> hpu & 1 == 1).map(|hpu| (hpu, now)));
        self.take(now);
    }

    /// What moves in this cycle.
    fn take(&mut self, now: u64) {
        if let Some(done) = self.dut.done.taken() {
            assert_eq!(done.fault, done.cause.to_u64() != 0);
            assert_eq!(done.cluster.to_u64(), CLUSTER);
            self.inside[done.hpu.index()] -= 1;
            let who = [done.kind.to_u64(), done.context.to_u64(), done.msg_slot.to_u64(), done.frame.to_u64()];
            let packet = [done.has_packet.into(), done.pkt.to_u64(), done.payload_len.to_u64()];
            let hpu = done.hpu.to_u64();
            let sent = self.sent.iter().position(|sent| *sent == Sent { hpu, who, packet });
            let sent = sent.unwrap_or_else(|| panic!("{done:?} is the end of none of {:?}", self.sent));
            self.sent.swap_remove(sent);
            if done.fault {
                self.faulted.push((hpu, done.cause.to_u64(), who));
            }
            self.done.push(Done {
                frame: done.frame.to_u16(),
                code: done.code.to_u8(),
                cause: done.cause.to_u8(),
                cycles: done.cycles.to_u32(),
                instructions: done.instructions.to_u32(),
                cycle: now,
            });
        }
        if let Some(fault) = self.dut.fault.taken() {
            let report = report_of(fault);
            let words = [report.who, report.pc, report.address, report.frame];
            let [who, _, _, frame] = words.map(|word| word.to_u64());
            assert_eq!(who >> 16 & 0xFF, CLUSTER);
            let task = [frame >> 16, who >> 4 & 15, who >> 24, frame & 0xFFFF];
            self.reported.push((who >> 8 & 0xFF, who & 15, task));
            self.faults.push(words.map(|word| word.to_u32()));
        }
        let egress = &self.dut.egress;
        if egress.moves() {
            let (last, tail) = (egress.last.is_high(), egress.tail.number() as usize);
            self.frame.extend(&egress.data.bytes()[..if last && tail != 0 { tail } else { 64 }]);
            if last && egress.put.is_high() {
                self.far.payloads.push(std::mem::take(&mut self.frame));
            } else if last {
                if egress.checksum.is_high() {
                    self.summed.push(egress.frame.number() as u16);
                }
                self.egress.push((egress.frame.number() as u16, std::mem::take(&mut self.frame)));
            }
        }
        self.dma_descs.extend(self.dut.dma.taken());
        if self.dut.dma_data.moves() {
            self.dma_data.extend(self.dut.dma_data.bytes());
            if self.dut.dma_data.last.is_high() {
                self.dma_ends.push_back(std::mem::take(&mut self.dma_data));
            }
        }
        let place = self.dut.place.taken();
        // A COMPLETE is checked by its message.
        if let Some(command) = place.filter(|command| command.opcode.to_u8() != command::COMPLETE) {
            let age = (self.clock.wrapping_add(now) as u32).wrapping_sub(command.stamp.to_u32());
            assert!(age < PATIENCE as u32, "a command that was issued {age} cycles ago");
            self.places.push((command.frame.to_u16(), command.pkt.to_u64(), now));
            if command.opcode.to_u8() == command::REDIRECT {
                self.redirects.push((command.frame.to_u16(), command.offset.to_u32(), command.address.to_u64()));
                // Its end comes from outside the cluster.
                if u32::from(command.flags.to_u8()) == ISSUE_BYTES >> ISSUE_FLAGS_SHIFT {
                    self.far.ends.push_back((command.issuer.hpu.to_u64(), command.issuer.handle.to_u64(), false, None));
                }
            }
        }
        if self.dut.message.moves() {
            let mut at = 0;
            let message = self.dut.message.bytes();
            let [opcode, who, frame, low, high, slot, length] = [4, 32, 16, 32, 32, 8, 32].map(|width| {
                at += width;
                slice(&message, at - width, width)
            });
            assert_eq!(who >> 16 & 0xFF, CLUSTER);
            let characters = [(low as u32).to_le_bytes(), (high as u32).to_le_bytes()].concat();
            self.messages.push(Said {
                opcode: opcode as u8,
                frame: frame as u16,
                context: who >> 4 & 15,
                hpu: who >> 8 & 0xFF,
                slot,
                count: (who & 15) as usize,
                characters,
                length: length as u32,
            });
        }
        if let Some(command) = self.dut.off_cluster_command.taken() {
            self.hear_far(&command);
        }
        while !self.dma_descs.is_empty() && !self.dma_ends.is_empty() {
            let (desc, mut data) = (self.dma_descs.pop_front().expect("one"), self.dma_ends.pop_front().expect("one"));
            let length = desc.length.to_u64() as usize;
            assert_eq!(data.len(), length.div_ceil(64) * 64, "beats of a transfer of {length} bytes");
            assert_eq!(desc.issuer.cluster.to_u64(), CLUSTER);
            data.truncate(length);
            self.unanswered.push_back((desc.issuer.hpu.to_u64(), desc.issuer.handle.to_u64()));
            self.transfers.push(Transfer { frame: desc.frame.to_u16(), address: desc.address.to_u64(), data });
        }
    }

    /// Runs a handler on a packet of 200 bytes, with 2,048 bytes of scratchpad, as frame 7 of context 3; returns the cause of its fault,
    /// or 0.
    pub fn cause_of(&mut self, words: &[u32]) -> u8 {
        self.program(0, words);
        self.tasks.push_back(Task {
            fields: vec![("frame", 7), ("context", 3)],
            packet: Some(vec![0x55; 200]),
            context: Context { scratch_size: 2048, ..Context::default() },
        });
        self.run_until(self.done.len() + 1);
        self.done.last().expect("the handler is done").cause
    }

    /// Runs until so many tasks are done in all; a long silence is a failure.
    pub fn run_until(&mut self, done: usize) {
        let mut last = self.dut.cycle();
        let mut seen = self.done.len();
        while self.done.len() < done {
            if self.done.len() > seen {
                (last, seen) = (self.dut.cycle(), self.done.len());
            }
            assert!(
                self.dut.cycle() < last + PATIENCE,
                "{seen} tasks done of {done}, then nothing for {PATIENCE} cycles"
            );
            self.step();
        }
        // What is on its way arrives.
        (0..400).for_each(|_| self.step());
        // Each fault has its report.
        for _ in 0..4000 {
            self.faulted.sort();
            self.reported.sort();
            if self.faulted == self.reported {
                break;
            }
            self.step();
        }
        assert_eq!(self.reported, self.faulted);
        self.reported.clear();
        self.faulted.clear();
    }
}
