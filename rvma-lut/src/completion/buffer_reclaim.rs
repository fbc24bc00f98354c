//! BufferReclaim: takes buffers back before they are full, for INC_EPOCH and CLOSE.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `start` (held), `closes`, `mailbox_number`; out `done` (pulse), `found` |
//! | lookup | out `fence_phase`: of packets that are taken now; in `taken` |
//! | binding | out `sweep` (held), `sweep_slot`, `sweep_mailbox`; in `swept`; in `refused`, `refused_phase` |
//! | report, counters | in `acked`, `acked_phase` |
//! | buffer queue | out `queue_op`, `queue_slot`, `queue_valid` (held); in `queue_done` |
//! | epochs | out `query_valid`; in `reply`, `reply_valid` |
//!
//! INC_EPOCH takes back the oldest buffer of the mailbox that is not complete, CLOSE all of them:
//!
//! 1. The messages bound to the buffer (CLOSE: to the mailbox) are cut: their later packets are STALE_EPOCH (CLOSED). Bindings
//!    stand still meanwhile, 260 cycles.
//! 2. The queue goes on with the next buffer (CLOSE: forgets all).
//! 3. Fence: packets carry the colour of their arrival. The colour changes, and when none of the old one is left, every write to
//!    the buffer has been answered. Packets go on meanwhile.
//! 4. The counters are told to end the buffer: a record with what was placed, PARTIAL or CANCELLED. A buffer that was complete by
//!    itself before stays so.
//! 5. When the epoch has moved, CLOSE goes on with the next buffer.
//!
//! The doorbell carries out one command at a time, so no slot is posted again while a buffer is being cut.

use crate::types::{EpochReply, QUEUE_CUT, QUEUE_END, QUEUE_INIT};
use spindle_verilog::prelude::*;

/// States of the buffer reclaim.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum ReclaimState {
    /// Waits for a command.
    Idle,
    /// INC_EPOCH: which buffer is the oldest?
    Choose,
    /// Its messages are cut.
    Sweep,
    /// The queue changes, the colour after it.
    Queue,
    /// Packets of the old colour are waited for.
    Fence,
    /// Is there an incomplete buffer left?
    Query,
    /// It is ended.
    Finish,
    /// Until the epoch has moved.
    AwaitEpoch,
}

/// The buffer reclaim. See the module text.
#[block]
pub struct BufferReclaim {
    /// Cut; held until `done`.
    pub start: Signal<In, Bit>,
    /// All buffers of the mailbox.
    pub closes: Signal<In, Bit>,
    /// It is done.
    pub done: Signal<Out, Bit>,
    /// With it: there was a buffer.
    pub found: Signal<Out, Bit>,
    /// Colour of packets that are taken now.
    pub fence_phase: Signal<Out, Bit>,
    /// One is taken.
    pub taken: Signal<In, Bit>,
    /// Stop binding, and cut messages.
    pub sweep: Signal<Out, Bit>,
    /// Those of this slot, or of the mailbox.
    pub sweep_slot: Signal<Out, Bits<14>>,
    /// They have been cut.
    pub swept: Signal<In, Bit>,
    /// A packet ended without a write.
    pub refused: Signal<In, Bit>,
    /// Its colour.
    pub refused_phase: Signal<In, Bit>,
    /// The write of a packet was counted.
    pub acked: Signal<In, Bit>,
    /// Its colour.
    pub acked_phase: Signal<In, Bit>,
    /// Change of the queue.
    pub queue_op: Signal<Out, Bits<2>>,
    /// Slot that it is about.
    pub queue_slot: Signal<Out, Bits<14>>,
    /// There is one; held until `queue_done`.
    pub queue_valid: Signal<Out, Bit>,
    /// It is done.
    pub queue_done: Signal<In, Bit>,
    /// Which buffer is the oldest? Held until `reply_valid`.
    pub query_valid: Signal<Out, Bit>,
    /// That one.
    pub reply: PulseSink<EpochReply>,
    state: Reg<ReclaimState>,
    phase: Reg<Bit>,
    /// Packets of each colour that have not ended: at most the cells of the packet buffer, and what ends in this cycle.
    under_way: [Reg<Bits<12>>; 2],
    empty: [Reg<Bit>; 2],
    slot: DFF<Bits<14>>,
    epoch: DFF<Bits<16>>,
    found_any: DFF<Bit>,
    /// Cycles since the colour changed: the counts of the old one are two behind.
    waited: Reg<Bits<2>>,
}

#[hdl]
impl BufferReclaim {
    fn update(&mut self) {
        for i in 0..2 {
            let takes = self.taken.val() & (self.phase.q.val() == (i == 1));
            let refuses = self.refused.val() & (self.refused_phase.val() == (i == 1));
            let acks = self.acked.val() & (self.acked_phase.val() == (i == 1));
            let leaves = (refuses & acks, refuses ^ acks).cat::<2>();
            self.under_way[i].d.next =
                self.under_way[i].q.val() + bit_cast::<12, 1>(repeat::<1>(takes)) - bit_cast::<12, 2>(leaves);
            self.empty[i].d.next = !self.under_way[i].q.val().any();
        }
        self.fence_phase.next = self.phase.q.val();
        let drained = if self.phase.q.val() { self.empty[0].q.val() } else { self.empty[1].q.val() };

        self.sweep.next = (self.state.q.val() == ReclaimState::Sweep) | (self.state.q.val() == ReclaimState::Queue);
        self.sweep_slot.next = self.slot.q.val();
        self.queue_valid.next =
            (self.state.q.val() == ReclaimState::Queue) | (self.state.q.val() == ReclaimState::Finish);
        self.queue_slot.next = self.slot.q.val();
        self.queue_op.next = bits::<2>(QUEUE_END);
        if self.state.q.val() == ReclaimState::Queue {
            self.queue_op.next = bits::<2>(QUEUE_CUT);
            if self.closes.val() {
                self.queue_op.next = bits::<2>(QUEUE_INIT);
            }
        }
        self.query_valid.next = ((self.state.q.val() == ReclaimState::Choose)
            | (self.state.q.val() == ReclaimState::Query)
            | (self.state.q.val() == ReclaimState::AwaitEpoch))
            & !self.reply.valid.val();
        let reply = self.reply.val();
        let same = reply.ok & (reply.value.get_bits::<16>(0) == self.epoch.q.val());
        self.done.next = false;
        self.found.next = self.found_any.q.val();
        self.waited.d.next = bits::<2>(0);

        match self.state.q.val() {
            ReclaimState::Idle => {
                self.found_any.d.next = false;
                if self.start.val() {
                    self.state.d.next = ReclaimState::Choose;
                    if self.closes.val() {
                        self.state.d.next = ReclaimState::Sweep;
                    }
                }
            }
            ReclaimState::Choose => {
                if self.reply.valid.val() {
                    self.slot.d.next = reply.slot;
                    self.found_any.d.next = reply.ok;
                    self.state.d.next = ReclaimState::Sweep;
                    if !reply.ok {
                        self.done.next = true;
                        self.state.d.next = ReclaimState::Idle;
                    }
                }
            }
            ReclaimState::Sweep => {
                if self.swept.val() {
                    self.state.d.next = ReclaimState::Queue;
                }
            }
            ReclaimState::Queue => {
                if self.queue_done.val() {
                    self.phase.d.next = !self.phase.q.val();
                    self.state.d.next = ReclaimState::Fence;
                }
            }
            ReclaimState::Fence => {
                self.waited.d.next = (self.waited.q.val().get_bits::<1>(0), bits::<1>(1)).cat::<2>();
                if self.waited.q.val().get_bit(1) & drained {
                    self.state.d.next = ReclaimState::Query;
                }
            }
            ReclaimState::Query => {
                if self.reply.valid.val() {
                    self.epoch.d.next = reply.value.get_bits::<16>(0);
                    self.slot.d.next = reply.slot;
                    self.state.d.next = ReclaimState::Finish;
                    // INC_EPOCH: the buffer chosen may have become complete by itself.
                    if !reply.ok | (!self.closes.val() & (reply.slot != self.slot.q.val())) {
                        self.done.next = true;
                        self.state.d.next = ReclaimState::Idle;
                    }
                }
            }
            ReclaimState::Finish => {
                if self.queue_done.val() {
                    self.state.d.next = ReclaimState::AwaitEpoch;
                }
            }
            ReclaimState::AwaitEpoch => {
                if self.reply.valid.val() & !same {
                    self.state.d.next = ReclaimState::Query;
                    if !self.closes.val() | !reply.ok {
                        self.done.next = true;
                        self.state.d.next = ReclaimState::Idle;
                    }
                }
            }
            _ => {
                self.state.d.next = ReclaimState::Idle;
            }
        }
    }
}
