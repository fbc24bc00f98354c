//! Buffer reclaim: takes buffers back before they are full, for INC_EPOCH and CLOSE.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `reclaim` (held); the command unit names the mailbox to the other blocks |
//! | lookup | out `fence_phase`: of packets that enter now; in `taken` |
//! | binding, holds | out `sweep` (held), `sweep_slot`; in `swept`: by both |
//! | binding | in `refused`, `refused_phase` |
//! | report, counters | in `acked`, `acked_phase` |
//! | buffer queue | out `queue_op`, `queue_slot`, `queue_valid` (held); in `queue_done` |
//! | epochs | out `query_valid` (held); in `reply` |
//!
//! INC_EPOCH takes back the oldest buffer of the mailbox that is not complete, CLOSE all of them:
//!
//! 1. Sweep: the messages bound to the buffer (CLOSE: to the mailbox) are cut: their later packets are STALE_EPOCH
//!    (CLOSED). No message is bound meanwhile, 268 cycles. The holds of pending messages on the buffer are removed.
//! 2. The queue goes on with the next buffer (CLOSE: it becomes empty).
//! 3. Fence: a packet carries the fence phase of its arrival. The phase toggles; when no packet of the old phase is
//!    left, every write to the buffer has been answered. Packets go on meanwhile.
//! 4. The counters end the buffer: its record has the bytes placed, PARTIAL or CANCELLED. A buffer that was complete
//!    before keeps its record.
//! 5. When the epoch has moved, CLOSE goes on with the next buffer.
//!
//! The doorbell carries out one command at a time, so no slot is posted again while a buffer is being cut.

use crate::prelude::*;

/// States of the buffer reclaim.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum ReclaimState {
    /// Waits for a command.
    Idle,
    /// INC_EPOCH: reads the oldest buffer.
    Choose,
    /// The messages are cut.
    Sweep,
    /// The queue changes; then the fence phase toggles.
    Queue,
    /// Waits for packets of the old phase.
    Fence,
    /// Reads the oldest incomplete buffer.
    Query,
    /// The counters end the buffer.
    Finish,
    /// Waits until the epoch has moved.
    AwaitEpoch,
}

/// The buffer reclaim. See the module text.
#[block]
pub struct BufferReclaim {
    /// Buffers to take back.
    pub reclaim: ReclaimSink,
    /// Fence phase of packets that enter now.
    pub fence_phase: Signal<Out, Bit>,
    /// A packet enters.
    pub taken: Signal<In, Bit>,
    /// Bind no message, and cut messages.
    pub sweep: Signal<Out, Bit>,
    /// Slot of the buffer whose messages are cut.
    pub sweep_slot: Signal<Out, Bits<14>>,
    /// Sweep complete.
    pub swept: Signal<In, Bit>,
    /// A packet ended without a write.
    pub refused: Signal<In, Bit>,
    /// With `refused`: fence phase of the packet.
    pub refused_phase: Signal<In, Bit>,
    /// The write of a packet was counted.
    pub acked: Signal<In, Bit>,
    /// With `acked`: fence phase of the packet.
    pub acked_phase: Signal<In, Bit>,
    /// Change of the queue.
    pub queue_op: Signal<Out, Bits<2>>,
    /// Slot of the buffer.
    pub queue_slot: Signal<Out, Bits<14>>,
    /// Change requested; held until `queue_done`.
    pub queue_valid: Signal<Out, Bit>,
    /// Change complete.
    pub queue_done: Signal<In, Bit>,
    /// Query of the oldest incomplete buffer; held until `reply`.
    pub query_valid: Signal<Out, Bit>,
    /// Answer to the query.
    pub reply: PulseSink<EpochReply>,
    state: Reg<ReclaimState>,
    phase: Reg<Bit>,
    /// Packets of each phase that have not ended: at most the cells of the packet buffer, and those that end in this
    /// cycle.
    under_way: [Reg<Bits<12>>; 2],
    empty: [Reg<Bit>; 2],
    slot: DFF<Bits<14>>,
    epoch: DFF<Bits<16>>,
    found_any: DFF<Bit>,
    /// Cycles since the phase toggled: the counts of the old phase are two cycles late.
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
            self.queue_op.next = if self.reclaim.closes.val() { bits::<2>(QUEUE_INIT) } else { bits::<2>(QUEUE_CUT) };
        }
        self.query_valid.next = ((self.state.q.val() == ReclaimState::Choose)
            | (self.state.q.val() == ReclaimState::Query)
            | (self.state.q.val() == ReclaimState::AwaitEpoch))
            & !self.reply.valid.val();
        let reply = self.reply.val();
        let same = reply.ok & (reply.value.get_bits::<16>(0) == self.epoch.q.val());
        self.reclaim.done.next = false;
        self.reclaim.found.next = self.found_any.q.val();
        self.waited.d.next = bits::<2>(0);

        match self.state.q.val() {
            ReclaimState::Idle => {
                self.found_any.d.next = false;
                if self.reclaim.valid.val() {
                    self.state.d.next = ReclaimState::Choose;
                    self.state.load(self.reclaim.closes.val(), ReclaimState::Sweep);
                }
            }
            ReclaimState::Choose => {
                if self.reply.valid.val() {
                    self.slot.d.next = reply.slot;
                    self.found_any.d.next = reply.ok;
                    self.state.d.next = ReclaimState::Sweep;
                    if !reply.ok {
                        self.reclaim.done.next = true;
                        self.state.d.next = ReclaimState::Idle;
                    }
                }
            }
            ReclaimState::Sweep => {
                self.state.load(self.swept.val(), ReclaimState::Queue);
            }
            ReclaimState::Queue => {
                if self.queue_done.val() {
                    self.phase.d.next = !self.phase.q.val();
                    self.state.d.next = ReclaimState::Fence;
                }
            }
            ReclaimState::Fence => {
                self.waited.d.next = (self.waited.q.val().get_bits::<1>(0), bits::<1>(1)).cat::<2>();
                self.state.load(self.waited.q.val().get_bit(1) & drained, ReclaimState::Query);
            }
            ReclaimState::Query => {
                if self.reply.valid.val() {
                    self.epoch.d.next = reply.value.get_bits::<16>(0);
                    self.slot.d.next = reply.slot;
                    self.state.d.next = ReclaimState::Finish;
                    // INC_EPOCH: the buffer chosen may have become complete by itself.
                    if !reply.ok | (!self.reclaim.closes.val() & (reply.slot != self.slot.q.val())) {
                        self.reclaim.done.next = true;
                        self.state.d.next = ReclaimState::Idle;
                    }
                }
            }
            ReclaimState::Finish => {
                self.state.load(self.queue_done.val(), ReclaimState::AwaitEpoch);
            }
            ReclaimState::AwaitEpoch => {
                if self.reply.valid.val() & !same {
                    self.state.d.next = ReclaimState::Query;
                    if !self.reclaim.closes.val() | !reply.ok {
                        self.reclaim.done.next = true;
                        self.state.d.next = ReclaimState::Idle;
                    }
                }
            }
            _ => self.state.d.next = ReclaimState::Idle,
        }
    }
}
