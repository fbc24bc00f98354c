//! Many counters in one LUT RAM with one adder.

use crate::ram::LutMemory;
use spindle_verilog::prelude::*;

/// Address bits.
const BITS: usize = 7;

/// Up to 128 counters of 32 bits, one of which is visited in each cycle, round and round.
///
/// | ports | neighbour |
/// |---|---|
/// | in `last`, constant: the highest number; in `start`, constant: count of all counters after reset | its owner |
/// | out `visited` / in `more`, `is_low`, the same cycle | sources: each counts its events between two visits |
/// | | `more` is that count, modulo 2^32; the counter after one that `is_low` counts the upward wraps of that one in addition |
/// | out `at`, `count` | readers: the number visited 3 cycles ago, and its count |
///
/// A source needs a counter for one round only, and a reader no multiplexer. Counts wrap at 2^32. LUT RAM has no reset:
/// the first round ignores its contents. Never stalls; levels: an adder of 34 bits.
#[block]
pub struct CountMemory {
    /// Highest number.
    pub last: Signal<In, Bits<BITS>>,
    /// Count of all counters after reset.
    pub start: Signal<In, Bits<32>>,
    /// The counter that is visited.
    pub visited: Signal<Out, Bits<BITS>>,
    /// Events since its last visit.
    pub more: Signal<In, Bits<32>>,
    /// The next one counts how often it wraps.
    pub is_low: Signal<In, Bit>,
    /// Number of a counter.
    pub at: Signal<Out, Bits<BITS>>,
    /// Its count.
    pub count: Signal<Out, Bits<32>>,
    visit: Reg<Bits<BITS>>,
    /// First stage: the summand and the number.
    more_1: DFF<Bits<32>>,
    low_1: Reg<Bit>,
    at_1: Reg<Bits<BITS>>,
    /// Second stage: with the count so far.
    more_2: DFF<Bits<32>>,
    old_2: DFF<Bits<32>>,
    low_2: Reg<Bit>,
    at_2: Reg<Bits<BITS>>,
    store: LutMemory<Bits<32>, BITS>,
    /// The first round is over.
    known: Reg<Bit>,
    /// The one before was a low half and has wrapped.
    carry: Reg<Bit>,
    count_reg: DFF<Bits<32>>,
    at_reg: Reg<Bits<BITS>>,
}

impl CountMemory {
    /// This number of counters.
    pub fn new(counters: usize) -> Self {
        assert!(
            (2..=1 << BITS).contains(&counters),
            "CountMemory: {counters} counters are not possible; choose 2 to {}",
            1 << BITS
        );
        Self { store: LutMemory::with_depth(counters.next_power_of_two()), ..Self::blank() }
    }
}

#[hdl]
impl CountMemory {
    fn update(&mut self) {
        let visit = self.visit.q.val();
        self.visit.d.next = if visit == self.last.val() { bits::<BITS>(0) } else { visit + 1 };
        self.visited.next = visit;
        self.more_1.d.next = self.more.val();
        self.low_1.d.next = self.is_low.val();
        self.at_1.d.next = visit;

        self.store.read_address.next = self.at_1.q.val();
        self.old_2.d.next = if self.known.q.val() { self.store.read_data.val() } else { self.start.val() };
        self.known.load(self.at_1.q.val() == self.last.val(), true);
        self.more_2.d.next = self.more_1.q.val();
        self.low_2.d.next = self.low_1.q.val();
        self.at_2.d.next = self.at_1.q.val();

        // With the carry of the one before.
        let at = self.at_2.q.val();
        let sum = add_with_carry::<33, 32>(self.old_2.q.val(), self.more_2.q.val(), self.carry.q.val());
        let count = sum.get_bits::<32>(0);
        self.carry.d.next = self.low_2.q.val() & sum.get_bit(32);
        self.store.write(true, at, count);
        self.count_reg.d.next = count;
        self.at_reg.d.next = at;
        self.count.next = self.count_reg.q.val();
        self.at.next = self.at_reg.q.val();
    }
}
