//! The payload scheduler alone, for directed tests.

use crate::packet_engine::intake::set_packet;
use crate::packet_engine::schedule::payload_scheduler::traffic::install;
use packet_engine::schedule::payload_scheduler::PayloadScheduler;
use spindle_blocks::desc::{
    ContextPolicy, EventDesc, PacketDesc, PendingEnd, PlacementDesc, PlacementDone, TaskDesc, TaskDone,
};
use spindle_contract::params::Config;
use spindle_contract::wire::opcode;
use spindle_harness::{Dut, WaveContext};
use spindle_verilog::ports::{Wire, Word};
use spindle_verilog::prelude::{bits, Bit, Out, Packed, SinkPorts};

/// A packet of message `id` with `len` of `total` bytes.
pub fn packet(pkt: u64, action: u8, context: u64, id: u64, len: u64, total: u64) -> PacketDesc {
    PacketDesc {
        version: bits(1),
        frame: bits(pkt + 100),
        pkt: bits(pkt),
        is_spindle: true,
        opcode: bits(opcode::PUT),
        msg_id: bits(id),
        payload_len: bits(len),
        msg_len: bits(total),
        action: bits(action),
        context: bits(context),
        per_message: true,
        ..PacketDesc::default()
    }
}

type Scheduler = Dut<PayloadScheduler>;

/// The scheduler, its sinks ready, and what it said.
pub struct Bench {
    pub dut: Dut<PayloadScheduler>,
    /// Head cells in the order in which they returned.
    pub freed: Vec<u64>,
    /// Reasons of dropped frames.
    pub drops: Vec<u64>,
    /// Tasks.
    pub tasks: Vec<TaskDesc>,
    /// Placements.
    pub placements: Vec<PlacementDesc>,
    /// Events of ended messages.
    pub events: Vec<EventDesc>,
    /// Messages that are no longer pending.
    pub pending_ends: Vec<PendingEnd>,
    /// Cycles so far.
    pub now: u64,
}

impl Bench {
    /// Every context is active and has the handlers that `mask` names (1 header, 2 payload, 4 completion).
    pub fn new(wave: &WaveContext, config: Config, mask: u64) -> Self {
        Self::with_policy(wave, config, mask, &ContextPolicy::default())
    }

    /// The same, each context with this policy.
    pub fn with_policy(wave: &WaveContext, config: Config, mask: u64, policy: &ContextPolicy) -> Self {
        let dut = Dut::new(wave, PayloadScheduler::new(&config), "payload_scheduler");
        let contexts = (0..16).fold(0u64, |bits, c| bits | (1 | mask << 1) << (4 * c));
        dut.contexts.set_bytes(&contexts.to_le_bytes());
        dut.placement.ready.set(true);
        dut.free.ready.set(true);
        dut.pending_end.ready.set(true);
        dut.task_room.set(u32::MAX);
        install(&dut, &dut.policy, &dut.message_event.ready, &vec![*policy; 16]);
        Bench {
            dut,
            freed: vec![],
            drops: vec![],
            tasks: vec![],
            placements: vec![],
            events: vec![],
            pending_ends: vec![],
            now: 0,
        }
    }

    /// One cycle with the inputs as they stand.
    pub fn cycle(&mut self) {
        self.dut.eval();
        if self.dut.free.valid.is_high() {
            let pkt = self.dut.free.number();
            self.freed.push(pkt);
        }
        let outcome = self.dut.counts.outcome.number();
        if outcome >> 2 & 1 == 1 {
            self.drops.push(outcome >> 3);
        }
        if self.dut.task_valid.is_high() {
            self.tasks.push(self.dut.task_desc.get());
        }
        if self.dut.placement.moves() {
            self.placements.push(self.dut.placement.get());
        }
        if self.dut.message_event.moves() {
            self.events.push(self.dut.message_event.get());
        }
        if self.dut.pending_end.moves() {
            self.pending_ends.push(self.dut.pending_end.get());
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
    pub fn offer<T: Packed + Word<T>>(
        &mut self,
        sink: fn(&Scheduler) -> &SinkPorts<T>,
        word: &T,
        watch: fn(&Scheduler) -> &Wire<Out, Bit>,
    ) -> usize {
        sink(&self.dut).offer(Some(*word));
        for cycle in 0..40 {
            self.dut.eval();
            let taken = sink(&self.dut).moves();
            if watch(&self.dut).is_high() {
                self.cycle();
                sink(&self.dut).offer(None::<T>);
                return cycle;
            }
            self.cycle();
            if taken {
                sink(&self.dut).offer(None::<T>);
            }
        }
        panic!("what follows from {} never came", T::descriptor().name);
    }

    /// Offers a packet until it is taken, and waits until it has had its effect.
    pub fn send(&mut self, word: &PacketDesc) {
        set_packet(&self.dut, word);
        self.offer(|dut| &dut.packet, word, |dut| &dut.packet.ready);
        self.cycles(20);
    }

    /// The end of a handler.
    pub fn done(&mut self, kind: u8, slot: u64, pkt: u64, value: u8) -> TaskDone {
        TaskDone {
            version: bits(1),
            kind: bits(kind),
            msg_slot: bits(slot),
            pkt: bits(pkt),
            frame: bits(pkt + 100),
            code: bits(value),
            ..TaskDone::default()
        }
    }

    /// A handler of context 1 ends; waits until that has had its effect.
    pub fn ends(&mut self, kind: u8, slot: u64, pkt: u64, value: u8) {
        let mut done = self.done(kind, slot, pkt, value);
        done.context = bits(1);
        self.offer(|dut| &dut.task_done, &done, |dut| &dut.task_done.ready);
        self.cycles(20);
    }

    /// A placement ends; waits until that has had its effect.
    pub fn placed(&mut self, slot: u64, pkt: u64) {
        self.placement_ends(slot, pkt, None);
    }

    /// The same of a placement that was refused for this reason.
    pub fn not_placed(&mut self, slot: u64, pkt: u64, reason: usize) {
        self.placement_ends(slot, pkt, Some(reason));
    }

    fn placement_ends(&mut self, slot: u64, pkt: u64, refused: Option<usize>) {
        let word = PlacementDone {
            pkt: bits(pkt),
            has_slot: true,
            msg_slot: bits(slot),
            placed: refused.is_none(),
            reason: bits(refused.unwrap_or(0)),
            ..PlacementDone::default()
        };
        self.offer(|dut| &dut.placement_done, &word, |dut| &dut.placement_done.ready);
        self.cycles(20);
    }

    /// Kinds and head cells of the tasks so far.
    pub fn asked(&self) -> Vec<(u8, u64)> {
        self.tasks.iter().map(|task| (task.kind.to_u64() as u8, task.pkt.to_u64())).collect()
    }
}
