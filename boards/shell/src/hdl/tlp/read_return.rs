//! Read returns: completions, as lines in the slots of their reads.
//!
//! | neighbour | ports |
//! |---|---|
//! | router | in `completion` (pulse): never waits |
//! | read issue, slots | in `start` (pulse), `slot`; in `waiting`, `dead`; out `settle` (pulse) |
//! | read answers | out `store` (pulse), `store_at` |
//! | `pcie_7x` | in `id` |
//! | shell | out `malformed`, `poisoned`, `unexpected` (pulses) |
//!
//! Completions of different reads come in any order. Those of one read come in the order of their addresses, cut at
//! multiples of 64 bytes, since a root complex cuts at its read completion boundary of 64 or 128 bytes; so each of them
//! has whole lines. The state of a read is the number of lines that are missing. A completion fits if it is for this
//! function, its byte count is that number of lines, and it has that many or fewer.
//!
//! | completion | effect |
//! |---|---|
//! | fits | its lines are stored; the last one ends the read |
//! | poisoned | as above, and the read fails |
//! | a status other than success | ends the read, which fails |
//! | does not fit, or has more or fewer DWs than its header says | ends the read, which fails; its tag is dead |
//! | for a tag that is dead | counted: the last one revives the tag; nothing is stored |
//! | for a tag that no read uses, or another function | dropped, `unexpected` |
//!
//! Beat → `store`: 2 cycles; last beat → `settle`: 2 cycles. The numbers of lines lie in LUT RAM, 2 × 32 × 3 bits.

use super::header::has_data;
use super::read_issue::{Piece, SLOTS, SLOT_BITS};
use super::read_slots::Settlement;
use super::route::CompletionBeat;
use spindle_blocks::LutMemory;
use spindle_verilog::prelude::*;

/// What the header of a completion says.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Header {
    slot: Bits<SLOT_BITS>,
    /// Requester and tag are possible.
    own: Bit,
    success: Bit,
    poisoned: Bit,
    /// Whole lines, from the start of a line.
    lines: Bits<3>,
    even: Bit,
    /// Lines that are missing, by the byte count.
    missing: Bits<6>,
}

/// The returns. See the module text.
#[block]
pub struct ReadReturn {
    /// Completions.
    pub completion: PulseSink<CompletionBeat>,
    /// A slot is taken.
    pub start: PulseSink<Piece>,
    /// The slot.
    pub slot: Signal<In, Bits<SLOT_BITS>>,
    /// Slots that wait.
    pub waiting: Signal<In, Bits<SLOTS>>,
    /// Slots whose tag is dead.
    pub dead: Signal<In, Bits<SLOTS>>,
    /// A read fails, or ends.
    pub settle: Pulse<Settlement>,
    /// Quarter of a line.
    pub store: Pulse<Bits<128>>,
    /// Its place: slot, line, quarter.
    pub store_at: Signal<Out, Bits<9>>,
    /// The function.
    pub id: Signal<In, Bits<16>>,
    /// A completion did not fit.
    pub malformed: Signal<Out, Bit>,
    /// A completion was poisoned.
    pub poisoned: Signal<Out, Bit>,
    /// No read waits for a completion.
    pub unexpected: Signal<Out, Bit>,
    /// Lines of the read; lines that were missing after its last completion, unless it had none.
    total: LutMemory<Bits<3>, SLOT_BITS>,
    rest: LutMemory<Bits<3>, SLOT_BITS>,
    fresh: Reg<Bits<SLOTS>>,
    /// First stage: a quarter, and the header.
    upper: DFF<Bits<32>>,
    quarter: DFF<Bits<128>>,
    header: DFF<Header>,
    first: Reg<Bit>,
    valid: Reg<Bit>,
    last: DFF<Bit>,
    whole: DFF<Bit>,
    /// Second stage: the read that the packet is for.
    quarter_2: DFF<Bits<128>>,
    header_2: DFF<Header>,
    fits: DFF<Bit>,
    missing: DFF<Bits<3>>,
    to_store: Reg<Bits<5>>,
    place: DFF<Bits<4>>,
    data_2: Reg<Bit>,
    last_2: Reg<Bit>,
    whole_2: DFF<Bit>,
}

#[hdl]
impl ReadReturn {
    fn update(&mut self) {
        self.take();
        self.decide();
        self.finish();
    }

    /// A beat: its quarter begins with the last DW of the beat before.
    fn take(&mut self) {
        let beat = self.completion.val();
        let valid = self.completion.valid.val();
        let dw0 = beat.data.get_bits::<32>(0);
        let dw1 = beat.data.get_bits::<32>(32);
        let dw2 = beat.data.get_bits::<32>(64);
        self.valid.d.next = valid;
        self.first.d.next = valid & beat.first;
        self.last.d.next = beat.last;
        self.whole.d.next = beat.whole;
        if valid {
            self.upper.d.next = byte_swap(beat.data.get_bits::<32>(96));
            self.quarter.d.next = (byte_swap(dw2), byte_swap(dw1), byte_swap(dw0), self.upper.q.val()).cat::<128>();
        }
        if valid & beat.first {
            let length = dw0.get_bits::<10>(0);
            let even = has_data(dw0) & !length.get_bits::<4>(0).any() & !length.get_bits::<3>(7).any();
            self.header.d.next = Header {
                slot: dw2.get_bits::<SLOT_BITS>(8),
                own: (dw2.get_bits::<16>(16) == self.id.val()) & !dw2.get_bits::<3>(13).any(),
                success: !dw1.get_bits::<3>(13).any(),
                poisoned: dw0.get_bit(14),
                lines: length.get_bits::<3>(4),
                even: even & !dw1.get_bits::<6>(0).any() & !dw2.get_bits::<6>(0).any(),
                missing: dw1.get_bits::<6>(6),
            };
        }
    }

    /// The header meets the state of its read.
    fn decide(&mut self) {
        let header = self.header.q.val();
        let begins = self.start.valid.val() & self.start.val().waits;
        self.total.write(begins, self.slot.val(), self.start.val().lines);
        self.total.read_address.next = header.slot;
        self.rest.read_address.next = header.slot;
        let fresh = (self.fresh.q.val() & (bits::<SLOTS>(1) << header.slot)).any();
        let mut missing: Bits<3> = if fresh { self.total.read_data.val() } else { self.rest.read_data.val() };
        // The completion before may be one of the same read.
        if self.counts() & (self.header_2.q.val().slot == header.slot) {
            missing = self.missing_after();
        }
        let fits = header.even
            & header.lines.any()
            & (header.lines <= missing)
            & (header.missing == bit_cast::<6, 3>(missing));
        self.quarter_2.d.next = self.quarter.q.val();
        self.data_2.d.next = self.valid.q.val() & !self.first.q.val();
        self.last_2.d.next = self.valid.q.val() & self.last.q.val();
        self.whole_2.d.next = self.whole.q.val();
        if self.first.q.val() {
            self.header_2.d.next = header;
            self.fits.d.next = fits;
            self.missing.d.next = missing;
            self.to_store.d.next = if fits { (header.lines, bits::<2>(0)).cat::<5>() } else { bits::<5>(0) };
            let from = (self.total.read_data.val() - missing).get_bits::<2>(0);
            self.place.d.next = (from, bits::<2>(0)).cat::<4>();
        } else if self.data_2.q.val() {
            self.place.d.next = self.place.q.val() + 1;
            self.to_store.load(self.to_store.q.val().any(), self.to_store.q.val() - 1);
        }
    }

    /// The last beat is that of a completion that fits.
    fn counts(&mut self) -> Bit {
        let header = self.header_2.q.val();
        self.last_2.q.val() & header.own & header.success & self.fits.q.val() & self.whole_2.q.val()
    }

    /// Lines that are missing after it.
    fn missing_after(&mut self) -> Bits<3> {
        self.missing.q.val() - self.header_2.q.val().lines
    }

    /// Quarters are stored, and the packet ends.
    fn finish(&mut self) {
        let header = self.header_2.q.val();
        let slot = bits::<SLOTS>(1) << header.slot;
        let live = header.own & (self.waiting.val() & slot).any();
        let dead = header.own & (self.dead.val() & slot).any();
        self.store.offer(self.data_2.q.val() & live & self.to_store.q.val().any(), self.quarter_2.q.val());
        self.store_at.next = (header.slot, self.place.q.val()).cat::<9>();

        let last = self.last_2.q.val();
        let counts = self.counts();
        let missing = self.missing_after();
        let wrong = header.success & !counts;
        self.settle.next = Settlement {
            slot: header.slot,
            ends: wrong | !header.success | !missing.any(),
            failed: wrong | !header.success | header.poisoned,
            dead: wrong,
        };
        self.settle.valid.next = last & (live | dead);
        self.rest.write(counts & (live | dead), header.slot, missing);
        let begun =
            (bits::<SLOTS>(1) << self.slot.val()) & repeat::<SLOTS>(self.start.valid.val() & self.start.val().waits);
        self.fresh.d.next = (self.fresh.q.val() & !(slot & repeat::<SLOTS>(counts & (live | dead)))) | begun;
        self.malformed.next = last & live & wrong;
        self.poisoned.next = last & live & header.poisoned;
        self.unexpected.next = last & !live & !dead;
    }
}
