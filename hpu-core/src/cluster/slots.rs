//! Packet slots of a cluster: the slot of the next packet, and the return of used slots.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | out `slot`: in use from the cycle after it is taken |
//! | reporter | in `ended`: the task of the slot has ended |
//! | command ports | out `probe`; in `probe_used`, in the same cycle: a command in flight reads this slot |
//!
//! A slot is free when its task has ended and no command reads it. Free slots stand in a queue, and so do slots whose
//! task has ended: the head of the second queue stands in a register, is probed in every cycle and goes into the first
//! queue, or, while a command reads it, back to the end of its own. A slot that no command reads is free 3 cycles after
//! `ended` if no other slot waits. After reset the slots become free one per cycle.

use spindle_blocks::fifo::LutFifo;
use spindle_contract::params::SLOTS;
use spindle_verilog::prelude::*;

/// The slots. See the module text.
#[block]
pub struct Slots {
    /// A free slot.
    pub slot: Source<Bits<4>>,
    /// Slot of a task that has ended.
    pub ended: PulseSink<Bits<4>>,
    /// Slot that is probed.
    pub probe: Signal<Out, Bits<4>>,
    /// A command reads the slot.
    pub probe_used: Signal<In, Bit>,
    free: LutFifo<Bits<4>, 4>,
    /// Slots whose task has ended, but whose commands may not have.
    leaving: LutFifo<Bits<4>, 4>,
    /// The slot that is probed.
    probed: DFF<Bits<4>>,
    probed_valid: Reg<Bit>,
    /// Slots that became free after reset.
    begun: Reg<Bits<4>>,
}

#[hdl]
impl Slots {
    fn update(&mut self) {
        let begun = self.begun.q.val();
        let begins = begun != bits::<4>(SLOTS);
        self.begun.load(begins, begun + 1);

        // A slot that ends goes before one that returns to its queue's end, which is probed once more.
        let probed = self.probed.q.val();
        let probed_valid = self.probed_valid.q.val();
        let used = self.probe_used.val();
        let ended = self.ended.valid.val();
        self.probe.next = probed;
        self.leaving.write.offer(ended | (probed_valid & used), if ended { self.ended.val() } else { probed });
        let moves = !probed_valid | !(used & ended);
        if moves {
            self.probed.d.next = self.leaving.read.val();
            self.probed_valid.d.next = self.leaving.read.valid.val();
        }
        self.leaving.read.ready.next = moves;
        self.free.write.offer(begins | (probed_valid & !used), if begins { begun } else { probed });
        self.free.read.join(&mut self.slot);
    }
}
