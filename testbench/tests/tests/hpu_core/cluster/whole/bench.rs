//! A cluster on its bench, which plays dispatcher, packet buffer, L2, egress, host and scheduler.

use crate::hpu_core::cluster::whole::off_cluster::Far;
use crate::hpu_core::fields::{bits, code_word, field, pack, slice};
use hpu_core::cluster::Cluster;
use hpu_core::types::{report_of, Fault};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{base, CODE, WATCHDOG_BITS};
use spindle_contract::params::Config;
use spindle_harness::{Model, Port, Source, WaveContext};
use std::collections::{HashMap, VecDeque};

/// Longest silence that is not a hang.
const PATIENCE: u64 = 200_000;
/// Number of the cluster on this bench.
pub const CLUSTER: u64 = 5;
pub const HPUS: usize = 4;

/// The emitted cluster.
pub fn source() -> Source {
    let mut cluster = Cluster::new(&Config { hpus: HPUS, ..Config::SIM });
    let design = spindle_verilog::emit(&mut cluster, "cluster").unwrap_or_else(|error| panic!("{error}"));
    Source::from_text("cluster", design.to_string())
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
        }
    }
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

const INPUTS: [&str; 42] = [
    "number",
    "task_desc",
    "task_context",
    "task_valid",
    "load_request_ready",
    "load_data",
    "load_data_last",
    "load_data_valid",
    "done_ready",
    "fault_ready",
    "egress_ready",
    "dma_ready",
    "dma_data_ready",
    "dma_done",
    "dma_done_valid",
    "place_ready",
    "cycle",
    "installed_valid",
    "installed",
    "l2_ready",
    "l2_answer",
    "l2_answer_hpu",
    "l2_answer_valid",
    "message_ready",
    "rings_open",
    "enabled",
    "off_cluster_word_ready",
    "put_left",
    "host_put_left",
    "off_cluster_done",
    "off_cluster_done_valid",
    "host_write",
    "staged",
    "host_beat",
    "host_keep",
    "host_partial",
    "imem_write",
    "imem_address",
    "imem_data",
    "task_ready",
    "load_data_ready",
    "room",
];
/// Outputs with valid and ready, and what they carry.
const STREAMS: [(&str, &[&str]); 9] = [
    ("load_request", &["load_request"]),
    ("done", &["done"]),
    ("fault", &["fault"]),
    ("egress", &["egress_data", "egress_last", "egress_tail", "egress_frame", "egress_put"]),
    ("dma", &["dma"]),
    ("dma_data", &["dma_data", "dma_data_last"]),
    ("place", &["place"]),
    ("message", &["message"]),
    ("far", &["off_cluster_word"]),
];

/// Cycles from the grant of an L2 access to its answer.
const L2_LATENCY: u64 = 5;

/// The bench.
pub struct Bench {
    pub model: Model,
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
    pub transfers: Vec<Transfer>,
    /// (frame, pkt) of packets handed on, and in which cycle.
    pub places: Vec<(u16, u64, u64)>,
    /// What handlers said.
    pub messages: Vec<Said>,
    /// What it is asked outside, and what it is told about it: see [`Far`].
    pub far: Far,
    /// Contexts to be installed, one per cycle.
    pub installs: VecDeque<u64>,
    /// Tasks handed to HPUs.
    pub loaded: usize,
    /// (HPU, cycle) of first instructions.
    pub begun: Vec<(usize, u64)>,
    /// Handles of DMA commands that the host has not answered: (HPU, handle).
    pub unanswered: VecDeque<(u64, u64)>,
    pub(super) ports: HashMap<&'static str, Port>,
    packets: HashMap<u64, Vec<u8>>,
    next_packet: u64,
    offered: bool,
    /// HPUs that a task may be sent to, what each was sent and has not ended, and the one that the offered task is for.
    room: u64,
    inside: [u32; 8],
    target: usize,
    reads: VecDeque<Vec<(Vec<u8>, bool)>>,
    pub(super) beat_offered: bool,
    frame: Vec<u8>,
    dma_descs: VecDeque<Vec<u8>>,
    dma_data: Vec<u8>,
    dma_ends: VecDeque<Vec<u8>>,
    held: [Option<Vec<Vec<u8>>>; 9],
    /// Answers of L2: when, HPU, what.
    l2_answers: VecDeque<(u64, u64, [u8; 5])>,
    /// Reservations of L2, by HPU and thread.
    l2_reserved: [[Option<usize>; 2]; 8],
}

impl Bench {
    pub fn new(context: &WaveContext) -> Self {
        let mut model = context.model(&source()).unwrap_or_else(|error| panic!("{error:#}"));
        let mut ports = HashMap::new();
        let names = STREAMS.iter().flat_map(|(_, carried)| carried.iter().copied()).chain(INPUTS).chain([
            "l2_request",
            "l2_hpu",
            "l2_second",
            "l2_valid",
            "off_cluster_done_ready",
            "host_ready",
            "stage_request",
            "stage_request_valid",
            "events_begun",
            "events_loaded",
        ]);
        for name in names.chain(VALIDS) {
            ports.insert(name, model.port(name).unwrap_or_else(|error| panic!("{error}")));
        }
        model.set(ports["number"], CLUSTER);
        model.set(ports["enabled"], 0xFFFF);
        model.reset(3);
        Self {
            model,
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
            transfers: vec![],
            places: vec![],
            messages: vec![],
            far: Far::default(),
            installs: VecDeque::new(),
            loaded: 0,
            begun: vec![],
            unanswered: VecDeque::new(),
            ports,
            packets: HashMap::new(),
            next_packet: 0,
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
            held: Default::default(),
            l2_answers: VecDeque::new(),
            l2_reserved: [[None; 2]; 8],
        }
    }

    pub(super) fn set(&mut self, port: &str, value: u64) {
        self.model.set(self.ports[port], value);
    }

    pub(super) fn is_set(&self, port: &str) -> bool {
        self.model.is_set(self.ports[port])
    }

    fn bytes(&self, port: &str) -> Vec<u8> {
        self.model.get_bytes(self.ports[port]).to_vec()
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
            self.set("imem_write", 1);
            self.set("imem_address", u64::from(at / 4) + i as u64);
            self.set("imem_data", code_word(*word));
            self.step();
        }
        self.set("imem_write", 0);
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
        let now = self.model.cycle();
        if !self.offered {
            self.offered = !self.tasks.is_empty() && self.moves() && self.choose();
        }
        self.set("task_valid", self.offered.into());
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
            ]);
            let mut fields = task.fields.clone();
            fields.extend([("version", 1), ("hpu", self.target as u64), ("has_packet", task.packet.is_some().into())]);
            if let Some(packet) = &task.packet {
                fields.extend([("pkt", self.next_packet % 1024), ("length", packet.len() as u64)]);
            }
            self.model.set_bytes(self.ports["task_desc"], &pack("task_desc", &fields));
            self.model.set_bytes(self.ports["task_context"], &entry);
        }
        for ready in [
            "load_request_ready",
            "done_ready",
            "fault_ready",
            "egress_ready",
            "dma_ready",
            "dma_data_ready",
            "place_ready",
            "message_ready",
            "off_cluster_word_ready",
            "l2_ready",
        ] {
            let moves = self.moves() && !(self.wire_blocked && ready == "egress_ready");
            self.set(ready, moves.into());
        }
        // The bus belongs to the host while it brings a beat.
        self.beat_offered |= !self.reads.is_empty() && self.far.beat.is_none() && self.moves();
        self.set("load_data_valid", self.beat_offered.into());
        if let (true, Some(beats)) = (self.beat_offered, self.reads.front()) {
            self.model.set_bytes(self.ports["load_data"], &beats[0].0);
            self.model.set(self.ports["load_data_last"], beats[0].1.into());
        }
        self.play_far();
        let answers = self.host_answers && !self.unanswered.is_empty() && self.moves();
        self.set("dma_done_valid", answers.into());
        if answers {
            let (hpu, handle) = self.unanswered.pop_front().expect("one is unanswered");
            let error = self.chance(self.host_errors);
            let done =
                pack("dma_done", &[("cluster", CLUSTER), ("hpu", hpu), ("handle", handle), ("error", error.into())]);
            self.model.set_bytes(self.ports["dma_done"], &done);
        }
        self.set("cycle", now);
        let installed = self.installs.pop_front();
        self.set("installed_valid", installed.is_some().into());
        self.set("installed", installed.unwrap_or(0));
        let answer = self.l2_answers.front().is_some_and(|answer| answer.0 == now).then(|| self.l2_answers.pop_front());
        self.set("l2_answer_valid", answer.is_some().into());
        if let Some(Some((_, hpu, answer))) = answer {
            self.set("l2_answer_hpu", hpu);
            self.model.set_bytes(self.ports["l2_answer"], &answer);
        }
        self.model.eval();
        self.end_far();
        if self.is_set("l2_valid") && self.is_set("l2_ready") {
            self.access_l2(now);
        }
        self.sample(now);
        self.model.tick();
    }

    /// An access of L2 in the cycle of its grant, as `hpu_core::processor::types::RemoteRequest` and `RemoteAnswer`.
    fn access_l2(&mut self, now: u64) {
        let request = self.bytes("l2_request");
        let hpu = self.model.get(self.ports["l2_hpu"]);
        let widths = [1, 1, 1, 1, 5, 20, 2, 32];
        let mut at = 0;
        let [thread, far, write, atomic, operation, address, size, data] = widths.map(|width| {
            at += width;
            slice(&request, at - width, width)
        });
        assert_eq!(far, 1, "what comes to L2 is for L2");
        // The word that holds the bytes of this part, and which of the access they are: the second part has those behind the first one's word.
        let (row, lane) = (address as usize & !3, address as usize & 3);
        let part = if self.is_set("l2_second") { 4..8 } else { 0..4 };
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
        self.room |= self.model.get(self.ports["room"]);
        if self.offered && self.is_set("task_ready") {
            self.room &= !(1 << self.target);
            self.inside[self.target] += 1;
            let task = self.tasks.pop_front().expect("one was offered");
            if let Some(packet) = task.packet {
                self.packets.insert(self.next_packet % 1024, packet);
                self.next_packet += 1;
            }
            self.offered = false;
        }
        if self.beat_offered && self.is_set("load_data_ready") {
            let read = self.reads.front_mut().expect("a beat was offered");
            read.remove(0);
            if read.is_empty() {
                self.reads.pop_front();
            }
            self.beat_offered = false;
        }
        self.loaded += usize::from(self.is_set("events_loaded"));
        let begun = self.model.get(self.ports["events_begun"]);
        self.begun.extend((0..8).filter(|hpu| begun >> hpu & 1 == 1).map(|hpu| (hpu, now)));
        for (i, (name, carried)) in STREAMS.iter().enumerate() {
            let valid = self.is_set(VALIDS[2 * i]);
            let ready = self.is_set(VALIDS[2 * i + 1]);
            let content: Vec<_> = carried.iter().map(|port| self.bytes(port)).collect();
            if let Some(held) = &self.held[i] {
                assert!(valid && *held == content, "{name} changes while it waits, in cycle {now}");
            }
            self.held[i] = (valid && !ready).then(|| content.clone());
            if valid && ready {
                self.take(name, &content, now);
            }
        }
    }

    fn take(&mut self, stream: &str, content: &[Vec<u8>], now: u64) {
        let first = &content[0][..];
        match stream {
            "load_request" => {
                let get = |name| field("read_request", first, name);
                let packet = &self.packets[&get("pkt")];
                assert_eq!(
                    (get("length") as usize, get("skip")),
                    (packet.len().min(2048), 0),
                    "what is loaded of a packet"
                );
                let beats: Vec<_> = packet[..packet.len().min(2048)].chunks(64).collect();
                let count = beats.len();
                // What lies behind the end of a packet is of no concern.
                self.reads.push_back(
                    beats
                        .iter()
                        .enumerate()
                        .map(|(i, beat)| ([beat, &[0xEE; 64][..64 - beat.len()]].concat(), i + 1 == count))
                        .collect(),
                );
            }
            "done" => {
                let get = |name| field("task_done", first, name);
                assert_eq!(get("fault") == 1, get("cause") != 0);
                assert_eq!(get("cluster"), CLUSTER);
                self.inside[get("hpu") as usize] -= 1;
                self.done.push(Done {
                    frame: get("frame") as u16,
                    code: get("code") as u8,
                    cause: get("cause") as u8,
                    cycles: get("cycles") as u32,
                    cycle: now,
                });
            }
            "fault" => {
                let mut at = 0;
                let [cause, context, hpu, cluster, msg_slot, frame, kind, pc, sum, stray, of_access] =
                    [4, 4, 3, 3, 8, 16, 2, 17, 32, 1, 1].map(|width| {
                        at += width;
                        slice(first, at - width, width)
                    });
                let report = report_of(Fault {
                    cause: cause.into(),
                    context: context.into(),
                    hpu: hpu.into(),
                    cluster: cluster.into(),
                    msg_slot: msg_slot.into(),
                    frame: frame.into(),
                    kind: kind.into(),
                    pc: pc.into(),
                    sum: sum.into(),
                    stray: stray == 1,
                    of_access: of_access == 1,
                });
                let words = [report.who, report.pc, report.address, report.frame];
                self.faults.push(words.map(|word| word.to_u64() as u32));
            }
            "egress" => {
                let last = content[1][0] == 1;
                let tail = slice(&content[2], 0, 6) as usize;
                self.frame.extend(&first[..if last && tail != 0 { tail } else { 64 }]);
                if last && content[4][0] == 1 {
                    self.far.payloads.push(std::mem::take(&mut self.frame));
                } else if last {
                    self.egress.push((slice(&content[3], 0, 16) as u16, std::mem::take(&mut self.frame)));
                }
            }
            "dma" => self.dma_descs.push_back(first.to_vec()),
            "dma_data" => {
                self.dma_data.extend(first);
                if content[1][0] == 1 {
                    self.dma_ends.push_back(std::mem::take(&mut self.dma_data));
                }
            }
            "message" => {
                let mut at = 0;
                let [opcode, who, frame, low, high, slot, length] = [4, 32, 16, 32, 32, 8, 32].map(|width| {
                    at += width;
                    slice(first, at - width, width)
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
            "far" => {
                self.far.words.push(slice(first, 0, 32) as u32);
                self.hear_far();
            }
            _ => {
                let get = |name| field("command", first, name);
                self.places.push((get("frame") as u16, get("pkt"), now));
            }
        }
        while !self.dma_descs.is_empty() && !self.dma_ends.is_empty() {
            let (desc, mut data) = (self.dma_descs.pop_front().expect("one"), self.dma_ends.pop_front().expect("one"));
            let get = |name| field("dma_desc", &desc, name);
            let length = get("length") as usize;
            assert_eq!(data.len(), length.div_ceil(64) * 64, "beats of a transfer of {length} bytes");
            assert_eq!(get("cluster"), CLUSTER);
            data.truncate(length);
            self.unanswered.push_back((get("hpu"), get("handle")));
            self.transfers.push(Transfer { frame: get("frame") as u16, address: get("address"), data });
        }
    }

    /// Runs until so many tasks are done in all; a long silence is a failure.
    pub fn run_until(&mut self, done: usize) {
        let mut last = self.model.cycle();
        let mut seen = self.done.len();
        while self.done.len() < done {
            if self.done.len() > seen {
                (last, seen) = (self.model.cycle(), self.done.len());
            }
            assert!(
                self.model.cycle() < last + PATIENCE,
                "{seen} tasks done of {done}, then nothing for {PATIENCE} cycles"
            );
            self.step();
        }
        // What is on its way arrives.
        (0..400).for_each(|_| self.step());
    }
}

/// Valid and ready of [`STREAMS`].
const VALIDS: [&str; 18] = [
    "load_request_valid",
    "load_request_ready",
    "done_valid",
    "done_ready",
    "fault_valid",
    "fault_ready",
    "egress_valid",
    "egress_ready",
    "dma_valid",
    "dma_ready",
    "dma_data_valid",
    "dma_data_ready",
    "place_valid",
    "place_ready",
    "message_valid",
    "message_ready",
    "off_cluster_word_valid",
    "off_cluster_word_ready",
];
