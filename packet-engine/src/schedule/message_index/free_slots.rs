//! The free slots, as a queue: the slot that was given back longest ago is used first.
//!
//! | ports | neighbour |
//! |---|---|
//! | out `free`, `free_slot`, from registers / in `take` | scheduler: `take` only with `free`; the next slot is there in the next cycle |
//! | in `give_back`, `give_back_slot` | scheduler: the slot is offered 2 cycles later at the earliest |
//! | in `hold` | the clearing after reset: no slot is offered yet |
//!
//! One slot taken and one given back per cycle. Empty after reset.

use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_verilog::prelude::*;

/// See the head of this file.
#[block]
pub struct FreeSlots {
    /// A slot is free.
    pub free: Signal<Out, Bit>,
    /// Which one.
    pub free_slot: Signal<Out, Bits<8>>,
    /// The slot is taken.
    pub take: Signal<In, Bit>,
    /// A slot comes back.
    pub give_back: Signal<In, Bit>,
    /// Which one.
    pub give_back_slot: Signal<In, Bits<8>>,
    /// Nothing is offered yet.
    pub hold: Signal<In, Bit>,
    /// Its output is the slot on offer.
    queue: SdpMemory<Bits<8>, 8>,
    /// Places modulo twice the number of slots, so that empty and full differ.
    read_at: Reg<Bits<9>>,
    write_at: Reg<Bits<9>>,
    offered: Reg<Bit>,
    _mask: u64,
    _wrap: u64,
}

impl FreeSlots {
    /// A queue for `slots` slots, in memory of this kind.
    pub fn new(slots: usize, style: RamStyle) -> Self {
        Self {
            queue: SdpMemory::with_depth(style, 1, slots),
            _mask: slots as u64 - 1,
            _wrap: 2 * slots as u64 - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl FreeSlots {
    fn update(&mut self) {
        self.queue.write_enable.next = self.give_back.val();
        self.queue.write_address.next = self.write_at.q.val().get_bits::<8>(0) & self._mask;
        self.queue.write_data.next = self.give_back_slot.val();
        self.write_at.load(self.give_back.val(), (self.write_at.q.val() + 1) & self._wrap);

        let vacant = !self.offered.q.val() | self.take.val();
        let load = vacant & (self.read_at.q.val() != self.write_at.q.val()) & !self.hold.val();
        self.queue.read(load, self.read_at.q.val().get_bits::<8>(0) & self._mask);
        self.offered.d.next = load | !vacant;
        self.read_at.load(load, (self.read_at.q.val() + 1) & self._wrap);
        self.free.next = self.offered.q.val();
        self.free_slot.next = self.queue.read_data.val();
    }
}
