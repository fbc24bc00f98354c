//! The packet engine as a whole: real frames in, the bench plays handlers, the RVMA engine and the register slave.

use crate::packet_engine::dut::{Dut, Record};
use crate::packet_engine::schedule::payload_scheduler::traffic::install;
use packet_engine::PacketEngine;
use rand::seq::SliceRandom;
use rand::Rng;
use spindle_contract::params::{Config, MATCH_TERMS, MATCH_WORDS, SPINDLE_PORT};
use spindle_contract::registers::{self, packet};
use spindle_contract::{descriptors::action, reasons};
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader};
use std::collections::{HashMap, VecDeque};

/// UDP frames go here.
const CONTEXT: u64 = 3;

/// The request for the packet of a placement.
fn request(placement: &Record) -> Record {
    Record::new(&[("pkt", placement.get("pkt")), ("length", placement.get("length"))])
}

struct Engine {
    dut: Dut,
    cycle: u64,
    rx: VecDeque<Vec<u8>>,
    /// Frames in the order in which they were sent: index = frame number.
    sent: Vec<Vec<u8>>,
    at: usize,
    done: VecDeque<Record>,
    placed: VecDeque<Record>,
    /// Placements whose packet is still to be asked for, and those whose packet is being read.
    reads: VecDeque<Record>,
    reading: VecDeque<Record>,
    read: Vec<u8>,
    tasks: Vec<Record>,
    trace: HashMap<(u64, usize), u64>,
    tx: Vec<Vec<u8>>,
    tx_now: Vec<u8>,
    egress: VecDeque<Vec<u8>>,
    last_beat: HashMap<u64, u64>,
}

impl Engine {
    fn new(wave: &WaveContext) -> Self {
        let mut dut = Dut::of_large(wave, || PacketEngine::new(&Config::SIM), "packet_engine");
        // The context has a payload handler only.
        dut.set_bytes("context_status", &(0b0101u64 << (4 * CONTEXT)).to_le_bytes());
        for port in ["tx_ready", "placement_ready", "place_data_ready", "load_data_ready"] {
            dut.set(port, 1);
        }
        dut.set("task_room", u64::from(u32::MAX));
        install(&mut dut, &vec![Record::default(); 16]);
        Engine {
            dut,
            cycle: 0,
            rx: VecDeque::new(),
            sent: vec![],
            at: 0,
            done: VecDeque::new(),
            placed: VecDeque::new(),
            reads: VecDeque::new(),
            reading: VecDeque::new(),
            read: vec![],
            tasks: vec![],
            trace: HashMap::new(),
            tx: vec![],
            tx_now: vec![],
            egress: VecDeque::new(),
            last_beat: HashMap::new(),
        }
    }

    /// One beat of `bytes` from `at` on, on the ports of `prefix`; whether it is the last.
    fn beat(dut: &mut Dut, prefix: &str, bytes: &[u8], at: usize) -> bool {
        let chunk = &bytes[at..bytes.len().min(at + 64)];
        let last = at + 64 >= bytes.len();
        dut.set_bytes(&format!("{prefix}_data"), chunk);
        dut.set_bytes(&format!("{prefix}_keep"), &(u64::MAX >> (64 - chunk.len())).to_le_bytes());
        dut.set(&format!("{prefix}_last"), last as u64);
        dut.set(&format!("{prefix}_valid"), 1);
        last
    }

    fn step(&mut self) {
        let dut = &mut self.dut;
        dut.set("rx_valid", 0);
        let mut ended = None;
        if let Some(frame) = self.rx.front() {
            if Self::beat(dut, "rx", frame, self.at) {
                ended = self.rx.pop_front();
                self.at = 0;
            } else {
                self.at += 64;
            }
        }
        if let Some(frame) = ended {
            self.last_beat.insert(self.sent.len() as u64, self.cycle);
            self.sent.push(frame);
        }
        for (port, valid, desc, word) in [
            ("task_done", "task_done_valid", "task_done", self.done.front().cloned()),
            ("placement_done", "placement_done_valid", "placement_done", self.placed.front().cloned()),
            ("place_request", "place_request_valid", "read_request", self.reads.front().map(request)),
        ] {
            dut.set(valid, word.is_some() as u64);
            dut.put(port, desc, &word.unwrap_or_default());
        }
        dut.set("egress_valid", 0);
        let mut sending = None;
        if let Some(beats) = self.egress.front() {
            sending = Some(Self::beat(dut, "egress", beats, 0));
        }
        dut.eval();

        if sending.is_some() && dut.high("egress_ready") {
            let frame = self.egress.pop_front().expect("a frame is being sent");
            if frame.len() > 64 {
                self.egress.push_front(frame[64..].to_vec());
            }
        }
        if dut.high("tx_valid") {
            let keep = u64::from_le_bytes(dut.bytes("tx_keep").try_into().expect("64 bits")).count_ones() as usize;
            let data = dut.bytes("tx_data");
            self.tx_now.extend(&data[..keep]);
            if dut.high("tx_last") {
                self.tx.push(std::mem::take(&mut self.tx_now));
            }
        }
        if dut.high("task_done_ready") {
            self.done.pop_front();
        }
        if dut.high("placement_done_ready") {
            self.placed.pop_front();
        }
        if dut.high("place_request_ready") {
            self.reading.extend(self.reads.pop_front());
        }
        if dut.high("task_valid") {
            let desc = dut.record("task_desc", "task_desc");
            let names = ["kind", "context", "msg_slot", "frame", "has_packet", "pkt", "payload_len", "cluster", "hpu"];
            self.done.push_back(Record::new(&names.map(|n| (n, desc.get(n)))));
            self.tasks.push(desc);
        }
        if dut.high("placement_valid") {
            let desc = dut.record("placement", "placement_desc");
            self.reads.push_back(desc);
        }
        if dut.high("place_data_valid") {
            let data = dut.bytes("place_data");
            self.read.extend(data);
            if dut.high("place_data_last") {
                let desc = self.reading.pop_front().expect("data were asked for");
                let frame = &self.sent[desc.get("frame") as usize];
                assert_eq!(&self.read[..frame.len()], &frame[..], "frame {} was not kept", desc.get("frame"));
                self.read.clear();
                let names = ["pkt", "frame", "has_slot", "msg_slot", "payload_len"];
                let mut done = Record::new(&names.map(|n| (n, desc.get(n))));
                done.0.insert("placed", 1);
                self.placed.push_back(done);
            }
        }
        let valid = self.dut.get("trace_valid");
        let tags = self.dut.bytes("trace_tags");
        for point in (0..16).filter(|p| valid >> p & 1 == 1) {
            let tag = u16::from_le_bytes([tags[2 * point], tags[2 * point + 1]]) as u64;
            self.trace.entry((tag, point)).or_insert(self.cycle - 1);
        }
        self.dut.tick();
        self.cycle += 1;
    }
}

impl Engine {
    /// A register access; gives the data and whether the engine reported an error.
    fn access(&mut self, write: bool, offset: u32, data: u32) -> (u32, bool) {
        let fields =
            [("valid", 1), ("write", write as u64), ("addr", (packet::BASE + offset) as u64), ("wdata", data as u64)];
        self.dut.put("csr", "csr_request", &Record::new(&fields));
        for _ in 0..20 {
            self.step();
            self.dut.eval();
            let answer = self.dut.record("csr_answer", "csr_response");
            if answer.get("ack") == 1 {
                self.step();
                self.dut.put("csr", "csr_request", &Record::default());
                self.step();
                return (answer.get("rdata") as u32, answer.get("error") == 1);
            }
        }
        panic!("register {offset:#x} was not answered");
    }

    fn write(&mut self, offset: u32, data: u32) {
        assert!(!self.access(true, offset, data).1, "writing {offset:#x} failed");
    }

    fn register(&mut self, offset: u32) -> u64 {
        let (data, error) = self.access(false, offset, 0);
        assert!(!error, "reading {offset:#x} failed");
        data as u64
    }

    /// Lets the staged rules decide.
    fn commit(&mut self) {
        self.write(packet::MATCH_COMMIT, 1);
        self.commit_done();
    }

    fn commit_done(&mut self) {
        for _ in 0..2000 {
            if self.register(packet::MATCH_COMMIT) == 0 {
                return;
            }
        }
        panic!("the rules are never committed");
    }

    /// Spindle transport to its mailbox, other UDP to the context; reception on.
    fn configure(&mut self) {
        // Flag 4: Spindle transport, flag 2: UDP.
        for (slot, flag, what) in
            [(0, 4, action::MAILBOX as u32), (1, 2, action::CONTEXT as u32 | (CONTEXT as u32) << 4)]
        {
            let literal = MATCH_TERMS + flag;
            self.write(packet::RULE_POSITIVE + 4 * (literal / 32) as u32, 1 << (literal % 32));
            self.write(packet::RULE_ACTION, what | packet::RuleAction::ZERO.with_valid(true).0);
            self.write(packet::RULE_COMMIT, slot);
        }
        self.commit();
        self.write(packet::CONTROL, 1);
    }
}

#[test]
fn frames_become_tasks_and_placements() {
    run_with_wave_on_failure("frames_become_tasks_and_placements", |wave| {
        let mut rng = wave.rng();
        let mut engine = Engine::new(wave);
        for _ in 0..40 {
            engine.step();
        }
        engine.configure();
        let cells = engine.register(packet::CELLS_FREE);
        assert_eq!(cells, Config::SIM.cells() as u64);

        let ends = Ends::default();
        let mut frames = vec![];
        let mut placed = 0;
        for id in 0..12 {
            let length = rng.random_range(1..6000);
            let data: Vec<u8> = (0..length).map(|_| rng.random()).collect();
            let header = SpindleHeader { msg_id: id, addr: 7, ..Default::default() };
            let message = put_message(&ends, SPINDLE_PORT, &header, &data, 1408);
            placed += message.len();
            frames.extend(message);
        }
        let handled = 60;
        for _ in 0..handled {
            let length = rng.random_range(1..1400);
            let data: Vec<u8> = (0..length).map(|_| rng.random()).collect();
            frames.push(udp(&ends, 1000, 9000, &data));
        }
        // Frames that nobody wants.
        let unwanted = 5;
        for _ in 0..unwanted {
            frames.push([[0xff; 6], [2; 6], [8, 6, 0, 0, 0, 0]].concat());
        }
        frames.shuffle(&mut rng);
        let bytes: usize = frames.iter().map(Vec::len).sum();
        engine.rx.extend(frames.iter().cloned());
        // Out again meanwhile.
        let replies: Vec<Vec<u8>> = (1..20).map(|n| (0..n * 37).map(|i| (i * n) as u8).collect()).collect();
        engine.egress.extend(replies.iter().cloned());
        for _ in 0..8000 {
            engine.step();
        }
        assert_eq!(engine.tx, replies);
        let tasks = engine.tasks.len();
        assert_eq!(tasks, handled);
        for (register, value) in [
            (packet::FRAMES_IN, frames.len()),
            (packet::BYTES_IN, bytes),
            (packet::FRAMES_TO_HPU, handled),
            (packet::FRAMES_TO_MAILBOX, placed),
            (packet::FRAMES_HANDLED, handled),
            (packet::FRAMES_PLACED, placed),
            (packet::TASKS, tasks),
            (packet::MESSAGES_DONE, handled + 12),
            (packet::MESSAGES_FAILED, 0),
            (packet::MESSAGES_AGED, 0),
            (packet::CONTEXT_LIVE + 4 * CONTEXT as u32, 0),
            (packet::MESSAGES_OPEN, 0),
            (packet::FRAMES_OUT, replies.len()),
            (packet::BYTES_OUT, replies.iter().map(Vec::len).sum()),
            (packet::CELLS_FREE, cells as usize),
        ] {
            assert_eq!(engine.register(register), value as u64, "register {register:#x}");
        }
        for reason in 0..32 {
            let expected = if reason == reasons::NO_RULE { unwanted } else { 0 };
            assert_eq!(engine.register(packet::DROPS + 4 * reason as u32), expected, "drops for reason {reason}");
        }
    });
}

#[test]
fn first_beat_to_task() {
    run_with_wave_on_failure("first_beat_to_task", |wave| {
        let mut engine = Engine::new(wave);
        for _ in 0..40 {
            engine.step();
        }
        engine.configure();
        engine.rx.push_back(udp(&Ends::default(), 1, 9000, &[0; 22]));
        let sent_at = engine.cycle;
        for _ in 0..40 {
            engine.step();
        }
        let at = |point| engine.trace.get(&(0, point)).map(|cycle| cycle - sent_at);
        let stages: Vec<u64> =
            (0..5).map(|point| at(point).unwrap_or_else(|| panic!("point {point} never fired"))).collect();
        println!("first beat, parsed, matched, handed over, scheduled: {stages:?}");
        assert_eq!(stages[0], 0, "the first beat is seen in its cycle");
        assert!(stages.windows(2).all(|pair| pair[0] < pair[1]), "{stages:?}");
        assert_eq!(stages[4], SCHEDULED, "{stages:?}");
    });
}

/// Cycles from the first beat of a 64-byte frame to its task, on an idle engine.
const SCHEDULED: u64 = 12;

#[test]
fn registers_refuse_what_does_not_exist() {
    run_with_wave_on_failure("registers_refuse_what_does_not_exist", |wave| {
        let mut engine = Engine::new(wave);
        for _ in 0..40 {
            engine.step();
        }
        for register in registers::PACKET.registers {
            for index in 0..register.count {
                let offset = register.offset + 4 * index;
                let (_, read_fails) = engine.access(false, offset, 0);
                assert_eq!(read_fails, register.access == registers::Access::WriteOnly, "reading {}", register.name);
                let (_, write_fails) = engine.access(true, offset, 0);
                if offset == packet::MATCH_COMMIT {
                    engine.commit_done();
                }
                assert_eq!(write_fails, register.access == registers::Access::ReadOnly, "writing {}", register.name);
            }
        }
        for offset in [0x00c, 0x028, 0x05c, 0x138, 0x13c, 0x218, 0xffc] {
            assert_eq!(engine.access(false, offset, 0), (0, true), "{offset:#x}");
            assert_eq!(engine.access(true, offset, 1), (0, true), "{offset:#x}");
        }
        // While the matcher commits, no slot takes anything.
        engine.write(packet::MATCH_COMMIT, 1);
        for offset in [packet::WORD_COMMIT, packet::TERM_COMMIT, packet::RULE_COMMIT, packet::MATCH_COMMIT] {
            assert!(engine.access(true, offset, 0).1, "a write of {offset:#x} during a commit");
        }
        engine.commit_done();
        for (offset, slots) in [
            (packet::WORD_COMMIT, MATCH_WORDS as u32),
            (packet::TERM_COMMIT, MATCH_TERMS as u32),
            (packet::RULE_COMMIT, Config::SIM.match_rules as u32),
        ] {
            assert!(!engine.access(true, offset, slots - 1).1);
            assert!(engine.access(true, offset, slots).1, "a slot that does not exist");
        }
        assert_eq!(engine.register(packet::SPINDLE_PORT), 0);
        for (offset, value) in [
            (packet::SPINDLE_PORT, 0xbeef),
            (packet::WORD_SOURCE, 0x2a_5a5a),
            (packet::TERM_HIGH, 0xdead_beef),
            (packet::RULE_NEGATIVE, 0x1234_5678),
            (packet::RULE_POSITIVE + 8, 0x8765_4321),
        ] {
            engine.write(offset, value);
            assert_eq!(engine.register(offset), value as u64);
        }
    });
}
