//! The engine's surroundings, played by the bench: packet buffer, scheduler, HPU array, register bus and host.

use crate::rvma_lut::rvma_engine::agents::{handle_word, issuer, Agents};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::RvmaEngine;
use spindle_blocks::desc::{CsrRequest, DmaDesc, PlacementDesc};
use spindle_contract::params::Config;
use spindle_contract::wire::{flag, spindle, SPINDLE_BYTES, SPINDLE_GET_BYTES};
use spindle_harness::{Dut, Source, WaveContext};
use spindle_model::rvma_lut::Put;
use spindle_sim::host_memory::HostMemory;
use spindle_verilog::prelude::bits;
use std::collections::{HashMap, VecDeque};

/// Longest silence that is not a hang.
pub const PATIENCE: u64 = 300_000;

/// The emitted engine.
pub fn source(config: &Config) -> Source {
    let config = *config;
    crate::large::on_large_stack(move || crate::source(&mut RvmaEngine::new(&config), "rvma_engine"))
}

/// How the bench behaves, in percent of the cycles.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// No new placement or DMA is offered.
    pub idle: u32,
    /// The packet buffer takes no request, or pauses in a packet.
    pub read_stall: u32,
    /// The scheduler or array takes no answer.
    pub done_stall: u32,
}

/// All agents are as fast as can be.
pub const FULL: Pace = Pace { idle: 0, read_stall: 0, done_stall: 0 };

/// What the packet engine knows of a frame for the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameFacts {
    pub stamp: u32,
    pub rule: u32,
    pub checks: u32,
    pub opcode: u8,
}

/// How a placement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub frame: u16,
    pub placed: bool,
    pub reason: usize,
    pub cycle: u64,
    /// What its mailbox said: no NACK, ordinal of the buffer, buffers that take messages.
    pub outcome: (bool, u16, u16),
}

/// The engine on its bench.
pub struct Bench {
    pub dut: Dut<RvmaEngine>,
    pub host: HostMemory,
    pub agents: Agents,
    pub pace: Pace,
    pub rng: ChaCha8Rng,
    /// Ends of placements, in their order.
    pub done: Vec<Done>,
    /// Ends of DMA commands: handle word {cluster, hpu, handle} and error.
    pub dma_done: Vec<(u64, bool)>,
    /// (point, frame, cycle).
    pub trace: Vec<(usize, u16, u64)>,
    /// Cycles in which a placement was accepted.
    pub accepted: Vec<(u16, u64)>,
    /// Cycles in which a read of the packet buffer was accepted.
    pub requested: Vec<u64>,
    /// Processes whose interrupt fired, and the cycle.
    pub fired: Vec<(u16, u64)>,
    placements: VecDeque<(u16, PlacementDesc)>,
    offered: bool,
    frames: HashMap<u64, Vec<u8>>,
    /// {bytes of a packet, message slot} of each frame, as its end must have them.
    names: HashMap<u16, (bool, u64)>,
    free_pkts: VecDeque<u64>,
    pkt_of: HashMap<u16, u64>,
    outcomes: HashMap<u64, (bool, u16, u16)>,
    reads: VecDeque<(u64, Vec<[u8; 64]>)>,
    beat_offered: bool,
    commands: VecDeque<DmaDesc>,
    command_offered: bool,
    dma_beats: VecDeque<([u8; 64], bool)>,
    dma_beat_offered: bool,
    next_frame: u16,
    pub(super) request: Option<CsrRequest>,
    pub(super) answer: Option<(u32, bool)>,
}

impl Bench {
    pub fn new(context: &WaveContext, config: &Config, latency: (u64, u64)) -> Self {
        let config = *config;
        let dut = crate::large::dut(context, move || RvmaEngine::new(&config), "rvma_engine");
        let host = HostMemory::new(&dut.model(), "host", context.seed(), latency).unwrap();
        let agents = Agents::new(context.rng());
        let mut bench = Self {
            dut,
            host,
            agents,
            pace: FULL,
            rng: context.rng(),
            done: vec![],
            dma_done: vec![],
            trace: vec![],
            accepted: vec![],
            requested: vec![],
            fired: vec![],
            placements: VecDeque::new(),
            offered: false,
            frames: HashMap::new(),
            names: HashMap::new(),
            free_pkts: (0..1024).collect(),
            pkt_of: HashMap::new(),
            outcomes: HashMap::new(),
            reads: VecDeque::new(),
            beat_offered: false,
            commands: VecDeque::new(),
            command_offered: false,
            dma_beats: VecDeque::new(),
            dma_beat_offered: false,
            next_frame: 0,
            request: None,
            answer: None,
        };
        // Processes may name everything, where a test does not say otherwise.
        bench.trust(u64::MAX);
        bench
    }

    /// Packets that have been given to the bench and are not done yet.
    pub fn open_packets(&self) -> usize {
        self.pkt_of.len()
    }

    /// Queues a packet whose payload starts at `payload_offset` of its frame; returns its frame number.
    pub fn put(&mut self, put: &Put, payload_offset: usize) -> u16 {
        let mut bytes = vec![0xEE; payload_offset];
        bytes.truncate(payload_offset - put.header.len());
        bytes.extend(&put.header);
        bytes.extend(&put.payload);
        self.offer(put, payload_offset, bytes)
    }

    /// Queues a GET; its frame says that the answer is to go to {mailbox, offset, key}.
    pub fn get(&mut self, get: &Put, reply: (u64, u32, u32), payload_offset: usize) -> u16 {
        let header = payload_offset - SPINDLE_GET_BYTES;
        let mut bytes = vec![0xEE; payload_offset];
        bytes[header + spindle::DST_PID..][..2].copy_from_slice(&get.pid.to_be_bytes());
        bytes[header + SPINDLE_BYTES..][..8].copy_from_slice(&reply.0.to_be_bytes());
        bytes[header + SPINDLE_BYTES + 8..][..4].copy_from_slice(&reply.1.to_be_bytes());
        bytes[header + SPINDLE_BYTES + 12..][..4].copy_from_slice(&reply.2.to_be_bytes());
        self.offer(get, payload_offset, bytes)
    }

    fn offer(&mut self, put: &Put, payload_offset: usize, bytes: Vec<u8>) -> u16 {
        let pkt = self.free_pkts.pop_front().expect("the bench has a packet left");
        let frame = self.next_frame;
        self.next_frame = frame.wrapping_add(1);
        let desc = PlacementDesc {
            version: bits(1),
            frame: bits(frame),
            pkt: bits(pkt),
            // Frames may be padded after the payload.
            length: bits((bytes.len() as u64 + 4).max(60)),
            payload_offset: bits(payload_offset),
            payload_len: bits(put.payload.len()),
            opcode: bits(put.opcode),
            flags: bits(put.flags),
            src_nid: bits(put.message.0),
            src_pid: bits(put.message.1),
            dst_pid: bits(put.pid),
            addr: bits(put.addr),
            key: bits(put.key),
            msg_id: bits(put.message.2),
            msg_len: bits(put.msg_len),
            msg_off: bits(put.msg_off),
            buf_off: bits(put.buf_off),
            epoch: bits(put.epoch),
            has_slot: put.slot.or(put.holder).is_some(),
            msg_slot: bits(u64::from(put.slot.or(put.holder).unwrap_or(frame as u8))),
            pending: put.holder.is_some(),
            redirected: put.redirected,
            of_bytes: put.redirected && put.slot.is_none(),
            ..PlacementDesc::default()
        };
        self.frames.insert(pkt, bytes);
        self.names.insert(frame, (desc.of_bytes, desc.msg_slot.to_u64()));
        self.pkt_of.insert(frame, pkt);
        self.placements.push_back((frame, desc));
        frame
    }

    /// Queues a frame for the host: for this mailbox of a process; returns its frame number.
    pub fn frame(&mut self, pid: u16, mailbox: u32, bytes: &[u8], facts: FrameFacts) -> u16 {
        let pkt = self.free_pkts.pop_front().expect("the bench has a packet left");
        let frame = self.next_frame;
        self.next_frame = frame.wrapping_add(1);
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(64), 0);
        let desc = PlacementDesc {
            version: bits(1),
            frame: bits(frame),
            stamp: bits(facts.stamp),
            pkt: bits(pkt),
            length: bits(bytes.len()),
            payload_len: bits(padded.len()),
            opcode: bits(facts.opcode),
            flags: bits(flag::MANAGED),
            dst_pid: bits(pid),
            addr: bits(mailbox),
            key: bits(0xBAD_u32),
            msg_len: bits(padded.len()),
            host: true,
            rule: bits(facts.rule),
            checks: bits(facts.checks),
            ..PlacementDesc::default()
        };
        self.frames.insert(pkt, padded);
        self.pkt_of.insert(frame, pkt);
        self.placements.push_back((frame, desc));
        frame
    }

    /// Queues a DMA command of a handler.
    pub fn dma(&mut self, who: u64, address: u64, data: &[u8]) {
        let (issuer, address, length) = (issuer(who), bits(address), bits(data.len()));
        let desc = DmaDesc { version: bits(1), issuer, address, length, ..DmaDesc::default() };
        self.commands.push_back(desc);
        let beats = data.chunks(64).count();
        for (i, chunk) in data.chunks(64).enumerate() {
            let mut beat = [0xDD; 64];
            beat[..chunk.len()].copy_from_slice(chunk);
            self.dma_beats.push_back((beat, i + 1 == beats));
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        percent > 0 && self.rng.random_range(0..100) < percent
    }

    /// One cycle.
    pub fn step(&mut self) {
        self.host.drive(&mut self.dut.model_mut());
        self.offered |= !self.placements.is_empty() && !self.chance(self.pace.idle);
        self.dut.placement.offer(self.placements.front().filter(|_| self.offered).map(|(_, desc)| *desc));
        let request_ready = !self.chance(self.pace.read_stall);
        self.dut.place_request.ready.set(request_ready);
        let now = self.dut.cycle();
        self.beat_offered |= self.reads.front().is_some_and(|read| read.0 <= now) && !self.chance(self.pace.read_stall);
        self.dut.place_data.valid.set(self.beat_offered);
        if let (true, Some((_, beats))) = (self.beat_offered, self.reads.front()) {
            self.dut.place_data.set(&beats[0]);
            self.dut.place_data.last.set(beats.len() == 1);
        }
        let done_ready = !self.chance(self.pace.done_stall);
        self.dut.placement_done.ready.set(done_ready);
        self.command_offered |= !self.commands.is_empty() && !self.chance(self.pace.idle);
        self.dut.dma.offer(self.commands.front().filter(|_| self.command_offered).copied());
        self.dma_beat_offered |= !self.dma_beats.is_empty() && !self.chance(self.pace.idle);
        self.dut.dma_data.valid.set(self.dma_beat_offered);
        if let (true, Some((beat, last))) = (self.dma_beat_offered, self.dma_beats.front()) {
            self.dut.dma_data.set(beat);
            self.dut.dma_data.last.set(*last);
        }
        self.dut.csr.set(self.request.unwrap_or_default());
        self.agents.drive(&self.dut);
        self.dut.eval();
        self.agents.sample(&self.dut);
        self.host.sample(&self.dut.model());
        self.sample(now);
        self.dut.tick();
    }

    fn sample(&mut self, now: u64) {
        let dut = &self.dut;
        if self.offered && dut.placement.moves() {
            self.accepted.push((self.placements.pop_front().expect("one was offered").0, now));
            self.offered = false;
        }
        if let Some(request) = dut.place_request.taken() {
            let (pkt, length) = (request.pkt.to_u64(), request.length.to_u64() as usize);
            let skip = request.skip.to_u64() as usize;
            let frame = self.frames.get(&pkt).unwrap_or_else(|| panic!("packet {pkt} was read after it was freed"));
            assert!(length >= 1 && length <= frame.len(), "a read of {length} bytes from a frame of {}", frame.len());
            let mut beats = vec![];
            for chunk in frame[..length].chunks(64).skip(skip) {
                let mut beat = [0xCC; 64];
                beat[..chunk.len()].copy_from_slice(chunk);
                beats.push(beat);
            }
            assert!(!beats.is_empty(), "a read that skips the whole frame");
            self.requested.push(now);
            self.reads.push_back((now + 4, beats));
        }
        if self.beat_offered && dut.place_data.moves() {
            self.beat_offered = false;
            let read = self.reads.front_mut().expect("a beat was offered");
            read.1.remove(0);
            if read.1.is_empty() {
                self.reads.pop_front();
            }
        }
        if let Some(outcome) = dut.placement_outcome.offered() {
            let reported = (outcome.silent, outcome.epoch.to_u16(), outcome.credit.to_u16());
            assert!(self.outcomes.insert(outcome.pkt.to_u64(), reported).is_none(), "a packet has two outcomes");
        }
        if let Some(word) = dut.placement_done.taken() {
            let done = Done {
                frame: word.frame.to_u16(),
                placed: word.placed,
                reason: word.reason.index(),
                cycle: now,
                outcome: self.outcomes.remove(&word.pkt.to_u64()).expect("the outcome comes before the end"),
            };
            let pkt = self
                .pkt_of
                .remove(&done.frame)
                .unwrap_or_else(|| panic!("frame {} is done twice, or was never given", done.frame));
            assert_eq!(word.pkt.to_u64(), pkt, "frame {} gives back the wrong packet", done.frame);
            if let Some(name) = self.names.remove(&done.frame) {
                assert_eq!((word.of_bytes, word.msg_slot.to_u64()), name, "frame {} ends as another", done.frame);
            }
            self.frames.remove(&pkt);
            self.free_pkts.push_back(pkt);
            self.done.push(done);
        }
        if self.command_offered && dut.dma.moves() {
            self.commands.pop_front();
            self.command_offered = false;
        }
        if self.dma_beat_offered && dut.dma_data.moves() {
            self.dma_beats.pop_front();
            self.dma_beat_offered = false;
        }
        if let Some(done) = dut.dma_done.offered() {
            self.dma_done.push((handle_word(done.issuer), done.error));
        }
        if let Some(pid) = dut.irq_fires.offered() {
            self.fired.push((pid.to_u16(), now));
        }
        let answer = dut.csr_answer.number();
        if answer & 1 == 1 {
            assert!(self.request.take().is_some(), "an answer without a request");
            self.answer = Some(((answer >> 2) as u32, answer >> 1 & 1 == 1));
        } else {
            assert_eq!(answer, 0, "the answers of all engines are OR-ed: idle ones must be zero");
        }
        let fired = dut.trace_valid.number();
        if fired != 0 {
            let tags = dut.trace_tags.bytes();
            for point in (0..16).filter(|p| fired >> p & 1 == 1) {
                self.trace.push((point, u16::from_le_bytes([tags[2 * point], tags[2 * point + 1]]), now));
            }
        }
    }

    pub fn steps(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Runs until `done` says so; a silence of [`PATIENCE`] cycles is a failure.
    pub fn run_until(&mut self, what: &str, done: impl Fn(&Bench) -> bool) {
        let start = self.dut.cycle();
        while !done(self) {
            assert!(
                self.dut.cycle() < start + PATIENCE,
                "{what}: nothing for {PATIENCE} cycles; {} packets open",
                self.pkt_of.len()
            );
            self.step();
        }
    }

    /// Runs until nothing is under way, and a little longer.
    pub fn drain(&mut self) {
        self.run_until("drain", |b| {
            b.pkt_of.is_empty() && b.commands.is_empty() && b.dma_beats.is_empty() && b.agents.idle() && b.host.idle()
        });
        self.steps(60);
        self.run_until("records", |b| b.host.idle());
        assert!(self.host.violations.is_empty(), "AXI4: {:#?}", self.host.violations);
    }
}
