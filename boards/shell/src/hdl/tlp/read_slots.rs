//! Read slots: which reads are under way, in the order of their bursts.
//!
//! | neighbour | ports |
//! |---|---|
//! | read issue | out `slot`, `slot_free`, `slot_dead`, `all_dead`; in `start` (pulse) |
//! | read returns | out `waiting`, `dead`; in `settle` (pulse) |
//! | read answers | out `head`, `head_piece`, `head_valid`, `head_failed`; in `head_done` |
//! | `pcie_7x` | in `up`: the link is up |
//! | shell | out `timeout` (pulse) |
//!
//! Slots are a ring: taken in order, answered in order, whatever the order of the completions. A slot waits from
//! `start` to `settle`. It fails without a completion after 2 to 3 periods, each of 2^`period` cycles, and when the
//! link goes down.
//!
//! The tag of a read that failed for want of a completion is dead: a late completion must not become the answer of
//! another read. It lives again when its last completion has come after all, or when the link has been down. If all
//! tags are dead every read fails at once.
//!
//! `start` → `head_valid`, of a slot that failed at once: 1 cycle. `settle` → `head_valid`: 1 cycle. The pieces lie in
//! LUT RAM, 32 × 14 bits.

use super::read_issue::{Piece, SLOTS, SLOT_BITS};
use spindle_blocks::LutMemory;
use spindle_verilog::prelude::*;

/// The end of a read.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Settlement {
    /// Slot.
    pub slot: Bits<SLOT_BITS>,
    /// No more completions come, or they are of no use.
    pub ends: Bit,
    /// The data are not those of host memory.
    pub failed: Bit,
    /// Completions may still come.
    pub dead: Bit,
}

/// The slots. See the module text.
#[block(no_default)]
pub struct ReadSlots {
    /// The next slot.
    pub slot: Signal<Out, Bits<SLOT_BITS>>,
    /// It can be taken.
    pub slot_free: Signal<Out, Bit>,
    /// Its tag is dead, while another one lives.
    pub slot_dead: Signal<Out, Bit>,
    /// All tags are dead.
    pub all_dead: Signal<Out, Bit>,
    /// The next slot is taken.
    pub start: PulseSink<Piece>,
    /// Slots that wait for completions.
    pub waiting: Signal<Out, Bits<SLOTS>>,
    /// Slots whose tag is dead.
    pub dead: Signal<Out, Bits<SLOTS>>,
    /// A read fails, or ends.
    pub settle: PulseSink<Settlement>,
    /// The oldest slot.
    pub head: Signal<Out, Bits<SLOT_BITS>>,
    /// What it is for.
    pub head_piece: Signal<Out, Piece>,
    /// It has ended.
    pub head_valid: Signal<Out, Bit>,
    /// It has failed.
    pub head_failed: Signal<Out, Bit>,
    /// It is answered.
    pub head_done: Signal<In, Bit>,
    /// The link is up.
    pub up: Signal<In, Bit>,
    /// A read got no completion.
    pub timeout: Signal<Out, Bit>,
    pieces: LutMemory<Piece, SLOT_BITS>,
    tail: Reg<Bits<SLOT_BITS>>,
    oldest: Reg<Bits<SLOT_BITS>>,
    used: Reg<Bits<6>>,
    waits: Reg<Bits<SLOTS>>,
    failed: Reg<Bits<SLOTS>>,
    without_tag: Reg<Bits<SLOTS>>,
    /// Periods that a slot has waited.
    age: [Reg<Bits<SLOTS>>; 2],
    ticker: Reg<Bits<24>>,
    _period: usize,
}

/// Cycles of a period, as a power of two: at 125 MHz a read fails after 17 to 25 ms. PCI Express recommends 10 ms at
/// least, and 50 ms at most.
pub const PERIOD: usize = 20;

impl Default for ReadSlots {
    fn default() -> Self {
        Self::with_period(PERIOD)
    }
}

impl ReadSlots {
    /// Slots that fail after 2 to 3 times 2^`period` cycles.
    pub fn with_period(period: usize) -> Self {
        assert!((4..24).contains(&period), "ReadSlots: a period of 2^{period} cycles is not possible; choose 4 to 23");
        Self { _period: period, ..Self::blank() }
    }
}

#[hdl]
impl ReadSlots {
    fn update(&mut self) {
        let tail = self.tail.q.val();
        let oldest = self.oldest.q.val();
        let piece = self.start.val();
        let begins = self.start.valid.val();
        let settle = self.settle.val();
        let settles = self.settle.valid.val();
        let one = bits::<SLOTS>(1);
        let new_slot = (one << tail) & repeat::<SLOTS>(begins);
        let settled = (one << settle.slot) & repeat::<SLOTS>(settles);
        let up = self.up.val();

        self.tail.load(begins, tail + 1);
        self.oldest.load(self.head_done.val(), oldest + 1);
        if begins & !self.head_done.val() {
            self.used.d.next = self.used.q.val() + 1;
        } else if self.head_done.val() & !begins {
            self.used.d.next = self.used.q.val() - 1;
        }
        self.pieces.write(begins, tail, piece);
        self.pieces.read_address.next = oldest;

        // Time.
        self.ticker.d.next = self.ticker.q.val() + 1;
        let mut ticks: Bit = true;
        for i in 0..self._period {
            ticks = ticks & self.ticker.q.val().get_bit(i);
        }
        let young = self.age[0].q.val();
        let old = self.age[1].q.val();
        let arrived = settled & repeat::<SLOTS>(settle.ends);
        let expired = self.waits.q.val() & !young & old & !arrived & repeat::<SLOTS>(ticks);
        if ticks {
            self.age[0].d.next = !young & !new_slot;
            self.age[1].d.next = (old ^ young) & !new_slot;
        } else {
            self.age[0].d.next = young & !new_slot;
            self.age[1].d.next = old & !new_slot;
        }
        self.timeout.next = expired.any();

        // States.
        let ended = expired | arrived | repeat::<SLOTS>(!up);
        let new_waits = new_slot & repeat::<SLOTS>(piece.waits);
        self.waits.d.next = (self.waits.q.val() & !ended) | (new_waits & repeat::<SLOTS>(up));
        let fails = expired | (settled & repeat::<SLOTS>(settle.failed)) | (self.waits.q.val() & repeat::<SLOTS>(!up));
        let new_failed = new_slot & (repeat::<SLOTS>(!piece.waits) | repeat::<SLOTS>(!up));
        self.failed.d.next = (self.failed.q.val() & !new_slot) | fails | new_failed;
        // A late completion settles a slot that does not wait.
        let revives = arrived & repeat::<SLOTS>(!settle.dead);
        let dies = expired | (settled & repeat::<SLOTS>(settle.dead));
        self.without_tag.d.next = ((self.without_tag.q.val() & !revives) | dies) & repeat::<SLOTS>(up);

        let all = self.without_tag.q.val().all();
        self.slot.next = tail;
        self.slot_free.next = !self.used.q.val().get_bit(SLOT_BITS);
        self.slot_dead.next = (self.without_tag.q.val() & (one << tail)).any() & !all;
        self.all_dead.next = all;
        self.waiting.next = self.waits.q.val();
        self.dead.next = self.without_tag.q.val();
        self.head.next = oldest;
        self.head_piece.next = self.pieces.read_data.val();
        self.head_valid.next = self.used.q.val().any() & !(self.waits.q.val() & (one << oldest)).any();
        self.head_failed.next = (self.failed.q.val() & (one << oldest)).any();
    }
}
