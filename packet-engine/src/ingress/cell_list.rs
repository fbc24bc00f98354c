//! Cell list: the free cells of the packet buffer.
//!
//! | neighbour | ports |
//! |---|---|
//! | writer | out `next_cell`, `available`; in `take`: the cell is used, the next one follows in the next cycle |
//! | writer | in `rewind`, `rewind_count`: the last `rewind_count` cells taken are free again |
//! | releaser | in `give`, `give_cell`: a cell is free again |
//! | packet buffer | out `count`: cells in the list |
//!
//! A ring of cell numbers in block RAM, as deep as there are cells, read a cycle ahead; a number that is written in the cycle in
//! which its slot is read is kept beside the ring. One `take` and one `give` per cycle; a cell given can be taken 1 cycle later.
//! After reset every slot of the ring stands for the cell of its own number until the reading side has passed it once, so the ring
//! needs no initial contents.
//!
//! `rewind` only moves the reading side back: the slots of cells that one frame has taken cannot have been overwritten, because
//! the ring has exactly as many slots as there are cells. No `take` in the cycle of a `rewind`.

use spindle_blocks::ram::{RamStyle, SdpRam};
use spindle_contract::params::CELL_BITS;
use spindle_verilog::prelude::*;

/// See the head of this file.
#[block]
pub struct CellList {
    /// The oldest free cell.
    pub next_cell: Signal<Out, Bits<CELL_BITS>>,
    /// The list is not empty.
    pub available: Signal<Out, Bit>,
    /// `next_cell` is used.
    pub take: Signal<In, Bit>,
    /// Cells return to the list.
    pub rewind: Signal<In, Bit>,
    /// How many.
    pub rewind_count: Signal<In, Bits<5>>,
    /// A cell is free again.
    pub give: Signal<In, Bit>,
    /// That cell.
    pub give_cell: Signal<In, Bits<CELL_BITS>>,
    /// Cells in the list.
    pub count: Signal<Out, Bits<11>>,
    ring: SdpRam<CELL_BITS, CELL_BITS>,
    /// The slot's number, if it was written as it was read.
    given: DFF<Bits<CELL_BITS>>,
    given_holds: Reg<Bit>,
    /// Reading side: the slot, and above it the lap.
    head: Reg<Bits<11>>,
    tail: Reg<Bits<CELL_BITS>>,
    level: Reg<Bits<11>>,
    /// The first lap is over for good.
    passed: Reg<Bit>,
    _cells: usize,
    _mask: usize,
}

impl CellList {
    /// A list of `cells` cells, a power of two from 32 on.
    pub fn new(cells: usize) -> Self {
        assert!(
            cells.is_power_of_two() && (32..=1 << CELL_BITS).contains(&cells),
            "CellList: {cells} cells; choose a power of two from 32 to {}",
            1 << CELL_BITS
        );
        Self {
            ring: SdpRam::with_depth(RamStyle::sparing(cells), 1, cells),
            level: Reg::new(bits::<11>(cells)),
            _cells: cells,
            _mask: cells - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl CellList {
    fn update(&mut self) {
        let slot = self.head.q.val().get_bits::<CELL_BITS>(0) & (self._mask as u64);
        let second_lap = (self.head.q.val() & (self._cells as u64)).any();

        let mut head: Bits<11> = self.head.q.val();
        if self.rewind.val() {
            head = self.head.q.val() - zext::<11, 5>(self.rewind_count.val());
        } else if self.take.val() {
            head = self.head.q.val() + 1;
        }
        self.head.d.next = head;
        let next_slot = head.get_bits::<CELL_BITS>(0) & (self._mask as u64);
        let last_slot = self.tail.q.val() & (self._mask as u64);
        // A frame takes 18 cells at most: from slot 24 of the second lap no rewind leads back to the first.
        self.passed.load(second_lap & (slot.get_bits::<2>(3) == 3), true);
        self.tail.load(self.give.val(), self.tail.q.val() + 1);
        let change = if self.rewind.val() {
            zext::<11, 5>(self.rewind_count.val()) + zext::<11, 1>(repeat::<1>(self.give.val()))
        } else if self.give.val() & !self.take.val() {
            bits::<11>(1)
        } else if self.take.val() & !self.give.val() {
            bits::<11>(0x7FF)
        } else {
            bits::<11>(0)
        };
        self.level.d.next = self.level.q.val() + change;

        self.ring.write(self.give.val(), last_slot, self.give_cell.val());
        // Read again in every cycle in which something is given: it may be the slot at hand.
        let reads = self.take.val() | self.rewind.val() | self.give.val();
        self.ring.read(reads, next_slot);
        if reads {
            self.given.d.next = self.give_cell.val();
            self.given_holds.d.next = self.give.val() & (last_slot == next_slot);
        }
        let stored = if self.given_holds.q.val() { self.given.q.val() } else { self.ring.read_data.val() };
        self.next_cell.next = if self.passed.q.val() | second_lap { stored } else { slot };
        self.available.next = self.level.q.val().any();
        self.count.next = self.level.q.val();
    }
}
