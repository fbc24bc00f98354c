//! Packet slots of a cluster: which one the next packet gets, and when one is free again.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | out `slot`, `available`; in `take`: the slot is in use from the next cycle on |
//! | reporter | in `ended`, `ended_slot`: the task of the slot has ended |
//! | command ports | out `probe`; in `probe_used`, in the same cycle: a command under way reads this slot |
//!
//! A slot is free when its task has ended and no command reads it any more. The slots whose task has ended are asked about in turn, one per cycle:
//! a slot that no command reads is free 3 cycles after `ended` if no other slot waits.

use spindle_blocks::RoundRobin;
use spindle_contract::params::SLOTS;
use spindle_verilog::prelude::*;

/// The slots. See the module text.
#[derive(LogicBlock, Default)]
pub struct Slots {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// A free slot.
    pub slot: Signal<Out, Bits<4>>,
    /// There is one.
    pub available: Signal<Out, Bit>,
    /// It is taken.
    pub take: Signal<In, Bit>,
    /// A task has ended.
    pub ended: Signal<In, Bit>,
    /// Its slot.
    pub ended_slot: Signal<In, Bits<4>>,
    /// Slot that is asked about.
    pub probe: Signal<Out, Bits<4>>,
    /// A command reads it.
    pub probe_used: Signal<In, Bit>,
    arbiter: RoundRobin<16>,
    occupied: Reg<Bits<16>>,
    /// Slots whose task has ended, but whose commands may not have.
    leaving: Reg<Bits<16>>,
    asked: DFF<Bits<4>>,
    asked_mask: Reg<Bits<16>>,
}

impl Logic for Slots {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, occupied, leaving, asked_mask);
        dffs!(self, clock, asked);
        clocks!(self, clock, reset, arbiter);
        let occupied = self.occupied.q.val();
        let mut slot: Bits<4> = bits::<4>(0);
        for i in 0..SLOTS {
            if !occupied.get_bit(SLOTS - 1 - i) {
                slot = bits::<4>((SLOTS - 1 - i) as u64);
            }
        }
        self.slot.next = slot;
        self.available.next = !occupied.get_bits::<12>(0).all();

        // The slot that was asked about in the last cycle is left out: its answer comes in this one.
        let asked = self.asked_mask.q.val();
        self.arbiter.request.next = self.leaving.q.val() & !asked;
        self.arbiter.accept.next = true;
        self.arbiter.lock.next = false;
        self.asked.d.next = self.arbiter.index.val().get_bits::<4>(0);
        self.asked_mask.d.next = self.arbiter.grant.val();
        self.probe.next = self.asked.q.val();
        let freed = if self.probe_used.val() { bits::<16>(0) } else { asked };
        let taken = if self.take.val() { bits::<16>(1) << slot } else { bits::<16>(0) };
        let ended = if self.ended.val() { bits::<16>(1) << self.ended_slot.val() } else { bits::<16>(0) };
        self.occupied.d.next = (occupied & !freed) | taken;
        self.leaving.d.next = (self.leaving.q.val() & !freed) | ended;
    }
}
