//! The payload scheduler alone, for directed tests.

use crate::packet_engine::dut::{Dut, Record};
use crate::packet_engine::schedule::payload_scheduler::traffic::install;
use packet_engine::schedule::payload_scheduler::PayloadScheduler;
use spindle_contract::params::Config;
use spindle_contract::wire::opcode;
use spindle_harness::WaveContext;

/// A packet of message `id` with `len` of `total` bytes.
pub fn packet(pkt: u64, action: u8, context: u64, id: u64, len: u64, total: u64) -> Record {
    Record::new(&[
        ("version", 1),
        ("frame", pkt + 100),
        ("pkt", pkt),
        ("is_spindle", 1),
        ("opcode", opcode::PUT as u64),
        ("msg_id", id),
        ("payload_len", len),
        ("msg_len", total),
        ("action", action as u64),
        ("context", context),
        ("per_message", 1),
    ])
}

/// The scheduler, its sinks ready, and what it said.
pub struct Bench {
    pub dut: Dut,
    /// Head cells in the order in which they returned.
    pub freed: Vec<u64>,
    /// Reasons of dropped frames.
    pub drops: Vec<u64>,
    /// Tasks.
    pub tasks: Vec<Record>,
    /// Placements.
    pub placements: Vec<Record>,
    /// Events of ended messages.
    pub events: Vec<Record>,
    /// Cycles so far.
    pub now: u64,
}

impl Bench {
    /// Every context is active and has the handlers that `mask` names (1 header, 2 payload, 4 completion).
    pub fn new(wave: &WaveContext, config: Config, mask: u64) -> Self {
        Self::with_policy(wave, config, mask, &Record::default())
    }

    /// The same, each context with this policy.
    pub fn with_policy(wave: &WaveContext, config: Config, mask: u64, policy: &Record) -> Self {
        let mut dut = Dut::new(wave, &mut PayloadScheduler::new(&config), "payload_scheduler");
        let contexts = (0..16).fold(0u64, |bits, c| bits | (1 | mask << 1) << (4 * c));
        dut.set_bytes("contexts", &contexts.to_le_bytes());
        for port in ["placement_ready", "free_ready"] {
            dut.set(port, 1);
        }
        dut.set("task_room", u64::from(u32::MAX));
        install(&mut dut, &vec![policy.clone(); 16]);
        Bench { dut, freed: vec![], drops: vec![], tasks: vec![], placements: vec![], events: vec![], now: 0 }
    }

    /// One cycle with the inputs as they stand.
    pub fn cycle(&mut self) {
        self.dut.eval();
        if self.dut.high("free_valid") {
            let pkt = self.dut.get("free");
            self.freed.push(pkt);
        }
        let outcome = self.dut.get("counts_outcome");
        if outcome >> 2 & 1 == 1 {
            self.drops.push(outcome >> 3);
        }
        for (valid, port, desc, words) in [
            ("task_valid", "task_desc", "task_desc", &mut self.tasks),
            ("placement_valid", "placement", "placement_desc", &mut self.placements),
            ("message_event_valid", "message_event", "event_desc", &mut self.events),
        ] {
            let taken = port != "message_event" || self.dut.high("message_event_ready");
            if self.dut.high(valid) && taken {
                words.push(self.dut.record(port, desc));
            }
        }
        self.now += 1;
        self.dut.tick();
    }

    pub fn cycles(&mut self, count: usize) {
        for _ in 0..count {
            self.cycle();
        }
    }

    /// Offers a word until it is taken; cycles from the first offer to the one in which `watch` is high.
    pub fn offer(&mut self, port: &str, desc: &str, word: &Record, watch: &str) -> usize {
        self.dut.put(port, desc, word);
        self.dut.set(&format!("{port}_valid"), 1);
        for cycle in 0..40 {
            self.dut.eval();
            let taken = self.dut.high(&format!("{port}_ready"));
            if self.dut.high(watch) {
                self.cycle();
                self.dut.set(&format!("{port}_valid"), 0);
                return cycle;
            }
            self.cycle();
            if taken {
                self.dut.set(&format!("{port}_valid"), 0);
            }
        }
        panic!("{watch} never came");
    }

    /// Offers a packet until it is taken, and waits until it has had its effect.
    pub fn send(&mut self, word: &Record) {
        self.offer("packet", "packet_desc", word, "packet_ready");
        self.cycles(20);
    }

    /// The end of a handler.
    pub fn done(&mut self, kind: u8, slot: u64, pkt: u64, value: u8) -> Record {
        Record::new(&[
            ("version", 1),
            ("kind", kind as u64),
            ("msg_slot", slot),
            ("pkt", pkt),
            ("frame", pkt + 100),
            ("code", value as u64),
        ])
    }

    /// A handler of context 1 ends; waits until that has had its effect.
    pub fn ends(&mut self, kind: u8, slot: u64, pkt: u64, value: u8) {
        let mut done = self.done(kind, slot, pkt, value);
        done.0.insert("context", 1);
        self.offer("task_done", "task_done", &done, "task_done_ready");
        self.cycles(20);
    }

    /// A placement ends; waits until that has had its effect.
    pub fn placed(&mut self, slot: u64, pkt: u64) {
        let word = Record::new(&[("pkt", pkt), ("has_slot", 1), ("msg_slot", slot), ("placed", 1)]);
        self.offer("placement_done", "placement_done", &word, "placement_done_ready");
        self.cycles(20);
    }

    /// Kinds and head cells of the tasks so far.
    pub fn asked(&self) -> Vec<(u8, u64)> {
        self.tasks.iter().map(|task| (task.get("kind") as u8, task.get("pkt"))).collect()
    }
}
