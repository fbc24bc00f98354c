//! The packet engine as a whole: real frames in, the bench plays handlers, the RVMA engine and the register slave.

use crate::packet_engine::schedule::payload_scheduler::traffic::install;
use packet_engine::PacketEngine;
use rand::seq::SliceRandom;
use rand::Rng;
use spindle_blocks::desc::{ContextPolicy, CsrRequest, PlacementDesc, PlacementDone, ReadRequest, TaskDesc, TaskDone};
use spindle_contract::params::{Config, MATCH_TERMS, MATCH_WORDS, SPINDLE_PORT};
use spindle_contract::registers::{self, packet};
use spindle_contract::{descriptors::action, reasons};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader};
use spindle_verilog::ports::Wire;
use spindle_verilog::prelude::{bits, Bit, Bits, In};
use std::collections::{HashMap, VecDeque};

/// UDP frames go here.
const CONTEXT: u64 = 3;

/// The request for the packet of a placement.
fn request(placement: &PlacementDesc) -> ReadRequest {
    ReadRequest { pkt: placement.pkt, length: placement.length, skip: bits(0) }
}

struct Engine {
    dut: Dut<PacketEngine>,
    cycle: u64,
    rx: VecDeque<Vec<u8>>,
    /// Frames in the order in which they were sent: index = frame number.
    sent: Vec<Vec<u8>>,
    at: usize,
    done: VecDeque<TaskDone>,
    placed: VecDeque<PlacementDone>,
    /// Placements whose packet is still to be asked for, and those whose packet is being read.
    reads: VecDeque<PlacementDesc>,
    reading: VecDeque<PlacementDesc>,
    read: Vec<u8>,
    tasks: Vec<TaskDesc>,
    trace: HashMap<(u64, usize), u64>,
    tx: Vec<Vec<u8>>,
    tx_now: Vec<u8>,
    egress: VecDeque<Vec<u8>>,
    last_beat: HashMap<u64, u64>,
}

impl Engine {
    fn new(wave: &WaveContext) -> Self {
        let dut = crate::large::dut(wave, || PacketEngine::new(&Config::SIM), "packet_engine");
        // The context has a payload handler only.
        dut.context_status.set_bytes(&(0b0101u64 << (4 * CONTEXT)).to_le_bytes());
        for ready in [&dut.tx.ready, &dut.placement.ready, &dut.place_data.ready, &dut.load_data.ready] {
            ready.set(true);
        }
        dut.task_room.set(u32::MAX);
        install(&dut, &dut.policy, &dut.message_event.ready, &vec![ContextPolicy::default(); 16]);
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

    /// One beat of `bytes` from `at` on; whether it is the last.
    fn beat(
        [last, valid]: [&Wire<In, Bit>; 2],
        data: &Wire<In, Bits<512>>,
        keep: &Wire<In, Bits<64>>,
        bytes: &[u8],
        at: usize,
    ) -> bool {
        let chunk = &bytes[at..bytes.len().min(at + 64)];
        let is_last = at + 64 >= bytes.len();
        data.set(chunk);
        keep.set(u64::MAX >> (64 - chunk.len()));
        last.set(is_last);
        valid.set(true);
        is_last
    }

    fn step(&mut self) {
        let dut = &self.dut;
        dut.rx.valid.set(false);
        let mut ended = None;
        if let Some(frame) = self.rx.front() {
            if Self::beat([&dut.rx.last, &dut.rx.valid], &dut.rx.data, &dut.rx.keep, frame, self.at) {
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
        dut.task_done.offer(self.done.front().copied());
        dut.placement_done.offer(self.placed.front().copied());
        dut.place_request.offer(self.reads.front().map(request));
        dut.egress.valid.set(false);
        let mut sending = None;
        if let Some(beats) = self.egress.front() {
            let egress = &dut.egress;
            sending = Some(Self::beat([&egress.last, &egress.valid], &egress.data, &egress.keep, beats, 0));
        }
        dut.eval();

        if sending.is_some() && dut.egress.ready.is_high() {
            let frame = self.egress.pop_front().expect("a frame is being sent");
            if frame.len() > 64 {
                self.egress.push_front(frame[64..].to_vec());
            }
        }
        if dut.tx.valid.is_high() {
            let keep = dut.tx.keep.number().count_ones() as usize;
            let data = dut.tx.data.bytes();
            self.tx_now.extend(&data[..keep]);
            if dut.tx.last.is_high() {
                self.tx.push(std::mem::take(&mut self.tx_now));
            }
        }
        if dut.task_done.ready.is_high() {
            self.done.pop_front();
        }
        if dut.placement_done.ready.is_high() {
            self.placed.pop_front();
        }
        if dut.place_request.ready.is_high() {
            self.reading.extend(self.reads.pop_front());
        }
        if dut.task_valid.is_high() {
            let desc = dut.task_desc.get();
            let TaskDesc { kind, context, msg_slot, frame, has_packet, pkt, payload_len, cluster, hpu, .. } = desc;
            let done = TaskDone { kind, context, msg_slot, frame, has_packet, pkt, ..TaskDone::default() };
            self.done.push_back(TaskDone { payload_len, cluster, hpu, ..done });
            self.tasks.push(desc);
        }
        if dut.placement.valid.is_high() {
            let desc = dut.placement.get();
            self.reads.push_back(desc);
        }
        if dut.place_data.valid.is_high() {
            let data = dut.place_data.bytes();
            self.read.extend(data);
            if dut.place_data.last.is_high() {
                let desc = self.reading.pop_front().expect("data were asked for");
                let frame = &self.sent[desc.frame.to_u64() as usize];
                assert_eq!(&self.read[..frame.len()], &frame[..], "frame {} was not kept", desc.frame.to_u64());
                self.read.clear();
                let PlacementDesc { pkt, frame, has_slot, msg_slot, payload_len, .. } = desc;
                let done = PlacementDone { pkt, frame, has_slot, msg_slot, payload_len, ..PlacementDone::default() };
                self.placed.push_back(PlacementDone { placed: true, ..done });
            }
        }
        let valid = self.dut.trace_valid.number();
        let tags = self.dut.trace_tags.bytes();
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
        let addr = bits(packet::BASE + offset);
        self.dut.csr.set(CsrRequest { valid: true, write, addr, wdata: bits(data) });
        for _ in 0..20 {
            self.step();
            self.dut.eval();
            let answer = self.dut.csr_answer.get();
            if answer.ack {
                self.step();
                self.dut.csr.set(CsrRequest::default());
                self.step();
                return (answer.rdata.to_u64() as u32, answer.error);
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
        // Frames that no one wants.
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
        for reason in 0..reasons::DROP_COUNT {
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
        for offset in [0x00c, 0x028, 0x05c, 0x13c, 0x218, 0x7fc] {
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
