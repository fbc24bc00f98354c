//! The engine's surroundings, played by the bench: packet buffer, scheduler, HPU array, register bus and host.

use crate::rvma_lut::rvma_engine::agents::Agents;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::RvmaEngine;
use spindle_contract::descriptors::{Descriptor, DESCRIPTORS};
use spindle_contract::params::Config;
use spindle_contract::wire::{spindle, SPINDLE_BYTES, SPINDLE_GET_BYTES};
use spindle_harness::{Model, Port, Source, WaveContext};
use spindle_model::rvma_lut::Put;
use spindle_sim::host_memory::HostMemory;
use std::collections::{HashMap, VecDeque};

/// Longest silence that is not a hang.
pub const PATIENCE: u64 = 300_000;

/// The emitted engine.
pub fn source(config: &Config) -> Source {
    let config = *config;
    crate::large::on_large_stack(move || {
        let mut engine = RvmaEngine::new(&config);
        let design = spindle_verilog::emit(&mut engine, "rvma_engine").unwrap_or_else(|error| panic!("{error}"));
        Source::from_text("rvma_engine", design.to_string())
    })
}

fn descriptor(name: &str) -> &'static Descriptor {
    DESCRIPTORS.iter().find(|d| d.name == name).unwrap_or_else(|| panic!("the contract has no descriptor {name}"))
}

/// A descriptor's bytes from its fields; fields not named are zero.
pub fn pack(name: &str, values: &[(&str, u64)]) -> Vec<u8> {
    let descriptor = descriptor(name);
    let mut bytes = vec![0; descriptor.bits().div_ceil(8)];
    let mut offset = 0;
    for field in descriptor.fields {
        let value = values.iter().find(|v| v.0 == field.name).map_or(0, |v| v.1);
        assert!(field.bits >= 64 || value >> field.bits == 0, "{value:#x} does not fit {name}.{}", field.name);
        for bit in (0..field.bits).filter(|bit| value >> bit & 1 == 1) {
            bytes[(offset + bit) / 8] |= 1 << ((offset + bit) % 8);
        }
        offset += field.bits;
    }
    assert!(values.iter().all(|v| descriptor.fields.iter().any(|f| f.name == v.0)), "{name} lacks one of {values:?}");
    bytes
}

/// A field of a descriptor.
pub fn field(name: &str, bytes: &[u8], wanted: &str) -> u64 {
    let mut offset = 0;
    for field in descriptor(name).fields {
        if field.name == wanted {
            return (0..field.bits)
                .map(|bit| u64::from(bytes[(offset + bit) / 8] >> ((offset + bit) % 8) & 1) << bit)
                .sum();
        }
        offset += field.bits;
    }
    panic!("{name} has no field {wanted}");
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

/// Everybody is as fast as can be.
pub const FULL: Pace = Pace { idle: 0, read_stall: 0, done_stall: 0 };

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

struct Ports {
    placement: Port,
    placement_valid: Port,
    placement_ready: Port,
    place_request: Port,
    place_request_valid: Port,
    place_request_ready: Port,
    place_data: Port,
    place_last: Port,
    place_data_valid: Port,
    place_data_ready: Port,
    done: Port,
    done_valid: Port,
    done_ready: Port,
    outcome: Port,
    placement_outcome_valid: Port,
    dma: Port,
    dma_valid: Port,
    dma_ready: Port,
    dma_data: Port,
    dma_last: Port,
    dma_data_valid: Port,
    dma_data_ready: Port,
    dma_done: Port,
    dma_done_valid: Port,
    csr: Port,
    csr_answer: Port,
    trace_valid: Port,
    trace_tags: Port,
}

/// The engine on its bench.
pub struct Bench {
    pub model: Model,
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
    ports: Ports,
    placements: VecDeque<(u16, Vec<u8>)>,
    offered: bool,
    frames: HashMap<u64, Vec<u8>>,
    free_pkts: VecDeque<u64>,
    pkt_of: HashMap<u16, u64>,
    outcomes: HashMap<u64, (bool, u16, u16)>,
    reads: VecDeque<(u64, Vec<[u8; 64]>)>,
    beat_offered: bool,
    commands: VecDeque<Vec<u8>>,
    command_offered: bool,
    dma_beats: VecDeque<([u8; 64], bool)>,
    dma_beat_offered: bool,
    next_frame: u16,
    pub(super) request: Option<Vec<u8>>,
    pub(super) answer: Option<(u32, bool)>,
}

impl Bench {
    pub fn new(context: &WaveContext, config: &Config, latency: (u64, u64)) -> Self {
        let mut model = context.model(&source(config)).unwrap_or_else(|error| panic!("{error:#}"));
        let host = HostMemory::new(&model, "host", context.seed(), latency).unwrap();
        let port = |name: &str| model.port(name).unwrap_or_else(|error| panic!("{error}"));
        let ports = Ports {
            placement: port("placement"),
            placement_valid: port("placement_valid"),
            placement_ready: port("placement_ready"),
            place_request: port("place_request"),
            place_request_valid: port("place_request_valid"),
            place_request_ready: port("place_request_ready"),
            place_data: port("place_data"),
            place_last: port("place_data_last"),
            place_data_valid: port("place_data_valid"),
            place_data_ready: port("place_data_ready"),
            done: port("placement_done"),
            done_valid: port("placement_done_valid"),
            done_ready: port("placement_done_ready"),
            outcome: port("placement_outcome"),
            placement_outcome_valid: port("placement_outcome_valid"),
            dma: port("dma"),
            dma_valid: port("dma_valid"),
            dma_ready: port("dma_ready"),
            dma_data: port("dma_data"),
            dma_last: port("dma_data_last"),
            dma_data_valid: port("dma_data_valid"),
            dma_data_ready: port("dma_data_ready"),
            dma_done: port("dma_done"),
            dma_done_valid: port("dma_done_valid"),
            csr: port("csr"),
            csr_answer: port("csr_answer"),
            trace_valid: port("trace_valid"),
            trace_tags: port("trace_tags"),
        };
        let agents = Agents::new(&model, context.rng());
        model.reset(3);
        let mut bench = Self {
            model,
            host,
            agents,
            pace: FULL,
            rng: context.rng(),
            done: vec![],
            dma_done: vec![],
            trace: vec![],
            accepted: vec![],
            requested: vec![],
            ports,
            placements: VecDeque::new(),
            offered: false,
            frames: HashMap::new(),
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
        let desc = pack(
            "placement_desc",
            &[
                ("version", 1),
                ("frame", frame.into()),
                ("pkt", pkt),
                // Frames may be padded behind the payload.
                ("length", (bytes.len() as u64 + 4).max(60)),
                ("payload_offset", payload_offset as u64),
                ("payload_len", put.payload.len() as u64),
                ("opcode", put.opcode.into()),
                ("flags", put.flags.into()),
                ("src_nid", put.message.0.into()),
                ("src_pid", put.message.1.into()),
                ("dst_pid", put.pid.into()),
                ("addr", put.addr),
                ("key", put.key.into()),
                ("msg_id", put.message.2.into()),
                ("msg_len", put.msg_len.into()),
                ("msg_off", put.msg_off.into()),
                ("buf_off", put.buf_off.into()),
                ("epoch", put.epoch.into()),
                ("has_slot", put.slot.is_some().into()),
                ("msg_slot", put.slot.unwrap_or(0).into()),
                ("redirected", put.redirected.into()),
            ],
        );
        self.frames.insert(pkt, bytes);
        self.pkt_of.insert(frame, pkt);
        self.placements.push_back((frame, desc));
        frame
    }

    /// Queues a DMA command of a handler.
    pub fn dma(&mut self, who: u64, address: u64, data: &[u8]) {
        let desc = pack(
            "dma_desc",
            &[
                ("version", 1),
                ("cluster", who >> 7),
                ("hpu", who >> 4 & 7),
                ("handle", who & 15),
                ("address", address),
                ("length", data.len() as u64),
            ],
        );
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
        self.host.drive(&mut self.model);
        self.offered |= !self.placements.is_empty() && !self.chance(self.pace.idle);
        self.model.set(self.ports.placement_valid, self.offered.into());
        if let (true, Some((_, desc))) = (self.offered, self.placements.front()) {
            self.model.set_bytes(self.ports.placement, desc);
        }
        let request_ready = !self.chance(self.pace.read_stall);
        self.model.set(self.ports.place_request_ready, request_ready.into());
        let now = self.model.cycle();
        self.beat_offered |= self.reads.front().is_some_and(|read| read.0 <= now) && !self.chance(self.pace.read_stall);
        self.model.set(self.ports.place_data_valid, self.beat_offered.into());
        if let (true, Some((_, beats))) = (self.beat_offered, self.reads.front()) {
            self.model.set_bytes(self.ports.place_data, &beats[0]);
            self.model.set(self.ports.place_last, (beats.len() == 1).into());
        }
        let done_ready = !self.chance(self.pace.done_stall);
        self.model.set(self.ports.done_ready, done_ready.into());
        self.command_offered |= !self.commands.is_empty() && !self.chance(self.pace.idle);
        self.model.set(self.ports.dma_valid, self.command_offered.into());
        if let (true, Some(desc)) = (self.command_offered, self.commands.front()) {
            self.model.set_bytes(self.ports.dma, desc);
        }
        self.dma_beat_offered |= !self.dma_beats.is_empty() && !self.chance(self.pace.idle);
        self.model.set(self.ports.dma_data_valid, self.dma_beat_offered.into());
        if let (true, Some((beat, last))) = (self.dma_beat_offered, self.dma_beats.front()) {
            self.model.set_bytes(self.ports.dma_data, beat);
            self.model.set(self.ports.dma_last, (*last).into());
        }
        self.model.set_bytes(self.ports.csr, self.request.as_deref().unwrap_or(&[]));
        self.agents.drive(&mut self.model);
        self.model.eval();
        self.agents.sample(&self.model);
        self.host.sample(&self.model);
        self.sample(now);
        self.model.tick();
    }

    fn sample(&mut self, now: u64) {
        let (model, ports) = (&self.model, &self.ports);
        if self.offered && model.is_set(ports.placement_ready) {
            self.accepted.push((self.placements.pop_front().expect("one was offered").0, now));
            self.offered = false;
        }
        if model.is_set(ports.place_request_valid) && model.is_set(ports.place_request_ready) {
            let request = model.get(ports.place_request);
            let (pkt, length, skip) = (request & 0x3FF, (request >> 10 & 0x3FFF) as usize, (request >> 24) as usize);
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
        if self.beat_offered && model.is_set(ports.place_data_ready) {
            self.beat_offered = false;
            let read = self.reads.front_mut().expect("a beat was offered");
            read.1.remove(0);
            if read.1.is_empty() {
                self.reads.pop_front();
            }
        }
        if model.is_set(ports.placement_outcome_valid) {
            let bytes = model.get_bytes(ports.outcome);
            let get = |name| field("placement_outcome", bytes, name);
            let outcome = (get("silent") == 1, get("epoch") as u16, get("credit") as u16);
            assert!(self.outcomes.insert(get("pkt"), outcome).is_none(), "a packet has two outcomes");
        }
        if model.is_set(ports.done_valid) && model.is_set(ports.done_ready) {
            let bytes = model.get_bytes(ports.done);
            let get = |name| field("placement_done", bytes, name);
            let done = Done {
                frame: get("frame") as u16,
                placed: get("placed") == 1,
                reason: get("reason") as usize,
                cycle: now,
                outcome: self.outcomes.remove(&get("pkt")).expect("the outcome comes before the end"),
            };
            let pkt = self
                .pkt_of
                .remove(&done.frame)
                .unwrap_or_else(|| panic!("frame {} is done twice, or was never given", done.frame));
            assert_eq!(get("pkt"), pkt, "frame {} gives back the wrong packet", done.frame);
            self.frames.remove(&pkt);
            self.free_pkts.push_back(pkt);
            self.done.push(done);
        }
        if self.command_offered && model.is_set(ports.dma_ready) {
            self.commands.pop_front();
            self.command_offered = false;
        }
        if self.dma_beat_offered && model.is_set(ports.dma_data_ready) {
            self.dma_beats.pop_front();
            self.dma_beat_offered = false;
        }
        if model.is_set(ports.dma_done_valid) {
            let bytes = model.get_bytes(ports.dma_done);
            let get = |name| field("dma_done", bytes, name);
            self.dma_done.push((get("cluster") << 7 | get("hpu") << 4 | get("handle"), get("error") == 1));
        }
        let answer = model.get(ports.csr_answer);
        if answer & 1 == 1 {
            assert!(self.request.take().is_some(), "an answer without a request");
            self.answer = Some(((answer >> 2) as u32, answer >> 1 & 1 == 1));
        } else {
            assert_eq!(answer, 0, "the answers of all engines are OR-ed: idle ones must be zero");
        }
        let fired = model.get(ports.trace_valid);
        if fired != 0 {
            let tags = model.get_bytes(ports.trace_tags);
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
        let start = self.model.cycle();
        while !done(self) {
            assert!(
                self.model.cycle() < start + PATIENCE,
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
