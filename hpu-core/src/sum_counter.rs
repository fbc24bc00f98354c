//! Counts events of many sources at once.

use spindle_verilog::prelude::*;

#[hdl_fn]
fn ones_of_four(x: Bits<4>) -> Bits<6> {
    // Three functions of four bits, one LUT each: an adder would be a carry chain.
    let low = x.get_bits::<2>(0).xor();
    let high = x.get_bits::<2>(2).xor();
    let low_both = x.get_bits::<2>(0).all();
    let high_both = x.get_bits::<2>(2).all();
    (bits::<3>(0), low_both & high_both, low_both ^ high_both ^ (low & high), low ^ high).cat::<6>()
}

/// Adds the number of ones among 32 event bits to a 64-bit count, every cycle. An event is in the count 4 cycles later; the adds are 32 bits wide and
/// a cycle apart.
///
/// Ports: in `events`; out `low`, `high`.
#[derive(LogicBlock, Default)]
pub struct SumCounter {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// One bit per source.
    pub events: Signal<In, Bits<32>>,
    /// Low half of the count.
    pub low: Signal<Out, Bits<32>>,
    /// High half.
    pub high: Signal<Out, Bits<32>>,
    seen: Reg<Bits<32>>,
    ones: Reg<Bits<6>>,
    low_half: Reg<Bits<32>>,
    carry: Reg<Bit>,
    high_half: Reg<Bits<32>>,
}

impl Logic for SumCounter {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, seen, ones, low_half, carry, high_half);
        let seen = self.seen.q.val();
        self.seen.d.next = self.events.val();
        self.ones.d.next = ((ones_of_four(seen.get_bits::<4>(0)) + ones_of_four(seen.get_bits::<4>(4)))
            + (ones_of_four(seen.get_bits::<4>(8)) + ones_of_four(seen.get_bits::<4>(12))))
            + ((ones_of_four(seen.get_bits::<4>(16)) + ones_of_four(seen.get_bits::<4>(20)))
                + (ones_of_four(seen.get_bits::<4>(24)) + ones_of_four(seen.get_bits::<4>(28))));
        let sum = bit_cast::<33, 32>(self.low_half.q.val()) + bit_cast::<33, 6>(self.ones.q.val());
        self.low_half.d.next = sum.get_bits::<32>(0);
        self.carry.d.next = sum.get_bit(32);
        if self.carry.q.val() {
            self.high_half.d.next = self.high_half.q.val() + 1;
        }
        self.low.next = self.low_half.q.val();
        self.high.next = self.high_half.q.val();
    }
}
