//! Marks: the high-water mark of each buffer, the greatest end of a packet that was placed in it.
//!
//! | neighbour | ports |
//! |---|---|
//! | binding | in `job`, `job_valid` (looked at, never held up; not in two successive cycles) |
//! | buffer queue | in `clear_slot`, `clear` (pulse): a buffer is posted; no job of it is under way then |
//! | completion | in `read_slot`, `read`; out `mark` |
//!
//! Packets count when they are bound, so the mark is what it says when no write to the buffer is under way, as when its record leaves. A
//! job is counted 3 cycles later; `read` → `mark` 1 cycle, and jobs go first: `taken` says that the slot was read.

use crate::types::PlaceJob;
use spindle_blocks::ram::{RamStyle, SdpRam};
use spindle_verilog::prelude::*;

/// The marks. See the module text.
#[derive(LogicBlock, Default)]
pub struct Marks {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Packet that is placed.
    pub job: Signal<In, PlaceJob>,
    /// There is one.
    pub job_valid: Signal<In, Bit>,
    /// Buffer that is posted.
    pub clear_slot: Signal<In, Bits<14>>,
    /// It is posted.
    pub clear: Signal<In, Bit>,
    /// Buffer that is over.
    pub read_slot: Signal<In, Bits<14>>,
    /// Read its mark.
    pub read: Signal<In, Bit>,
    /// It is read now.
    pub taken: Signal<Out, Bit>,
    /// The mark read in the cycle before.
    pub mark: Signal<Out, Bits<32>>,
    marks: SdpRam<14, 32>,
    counting: Reg<Bit>,
    higher: Reg<Bit>,
    /// A mark was written in the cycle before.
    wrote: Reg<Bit>,
    slot: DFF<Bits<14>>,
    reach: DFF<Bits<32>>,
    /// Slot and end of the job that was counted last.
    held_slot: DFF<Bits<14>>,
    held: DFF<Bits<32>>,
}

impl Marks {
    /// Marks of `posted_buffers` slots.
    pub fn new(posted_buffers: usize) -> Self {
        let style = if posted_buffers > 8192 { RamStyle::Ultra } else { RamStyle::Block };
        Self { marks: SdpRam::with_depth(style, 1, posted_buffers), ..Default::default() }
    }
}

impl Logic for Marks {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, counting, higher, wrote);
        dffs!(self, clock, slot, reach, held_slot, held);
        let job = self.job.val();
        self.marks.clock.next = self.clock.val();
        self.marks.read_enable.next = self.job_valid.val() | self.read.val();
        self.marks.read_address.next = self.read_slot.val();
        if self.job_valid.val() {
            self.marks.read_address.next = job.slot;
            self.slot.d.next = job.slot;
            self.reach.d.next = job.start + bit_cast::<32, 16>(job.payload_len);
        }
        self.taken.next = self.read.val() & !self.job_valid.val();
        self.mark.next = self.marks.read_data.val();

        // The RAM gives what was there before if the job before this one wrote in the cycle of the read.
        let known = self.wrote.q.val() & (self.held_slot.q.val() == self.slot.q.val());
        let mark = if known { self.held.q.val() } else { self.marks.read_data.val() };
        self.wrote.d.next = self.higher.q.val();
        self.counting.d.next = self.job_valid.val();
        self.higher.d.next = self.counting.q.val() & (self.reach.q.val() > mark);
        if self.counting.q.val() {
            self.held_slot.d.next = self.slot.q.val();
            self.held.d.next = self.reach.q.val();
        }
        self.marks.write_enable.next = self.higher.q.val() | self.clear.val();
        self.marks.write_address.next = self.held_slot.q.val();
        self.marks.write_data.next = self.held.q.val();
        if self.clear.val() {
            self.marks.write_address.next = self.clear_slot.val();
            self.marks.write_data.next = bits::<32>(0);
        }
    }
}
