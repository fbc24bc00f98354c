//! Round robin among eight, one LUT deep for the first four.
//!
//! | ports | meaning |
//! |---|---|
//! | in `request` | bit i = requester i has a request |
//! | in `accept` | the grant of this cycle is used |
//! | out `grant`, `index`, `any` | one-hot, binary, and whether there is a grant |
//!
//! `index` is one LUT after four requests and `grant` two; with more than four, two groups of four take turns, which is
//! one LUT more. Without a request `index` is undefined. The grant moves on only with `accept`. A requester waits for
//! at most 3 others among four, 7 among eight.

use spindle_verilog::prelude::*;

/// The next of four requesters behind `last`; anything if there is none. A function of six bits: one LUT for each bit
/// of the answer, which the mapper finds in a choice by the bits of `last`, but not in a list of who comes behind whom.
#[hdl_fn]
fn next_of_four(wants: Bits<4>, last: Bits<2>) -> Bits<2> {
    let w0 = wants.get_bit(0);
    let w1 = wants.get_bit(1);
    let w2 = wants.get_bit(2);
    let w3 = wants.get_bit(3);
    let after_odd = if last.get_bit(1) { !w0 & (w1 | !w2) } else { !w2 & (w3 | !w0) };
    let after_even = if last.get_bit(1) { w3 | (!w0 & w1) } else { w1 | (!w2 & w3) };
    let lower = if last.get_bit(0) { after_odd } else { after_even };
    let upper =
        if last.get_bit(1) { (!last.get_bit(0) & w3) | (!w0 & !w1) } else { (last.get_bit(0) | !w1) & (w2 | w3) };
    (upper, lower).cat::<2>()
}

/// The arbiter. See the module text.
#[block(no_default)]
pub struct RrArbiter4 {
    /// Requests.
    pub request: Signal<In, Bits<8>>,
    /// The grant is used.
    pub accept: Signal<In, Bit>,
    /// The grant, one-hot.
    pub grant: Signal<Out, Bits<8>>,
    /// Number of the granted requester.
    pub index: Signal<Out, Bits<3>>,
    /// A requester is granted.
    pub any: Signal<Out, Bit>,
    /// Requester granted last in each group of four, and its group.
    last: [Reg<Bits<2>>; 2],
    last_group: Reg<Bit>,
}

impl Default for RrArbiter4 {
    fn default() -> Self {
        Self { last: [Reg::new(bits::<2>(3)), Reg::new(bits::<2>(3))], last_group: Reg::new(true), ..Self::blank() }
    }
}

#[hdl]
impl RrArbiter4 {
    fn update(&mut self) {
        let request = self.request.val();
        let low = request.get_bits::<4>(0);
        let high = request.get_bits::<4>(4);
        let low_index = next_of_four(low, self.last[0].q.val());
        let high_index = next_of_four(high, self.last[1].q.val());
        let in_high = high.any() & (!low.any() | !self.last_group.q.val());
        let any = request.any();
        if self.accept.val() & any {
            self.last_group.d.next = in_high;
            if in_high {
                self.last[1].d.next = high_index;
            } else {
                self.last[0].d.next = low_index;
            }
        }
        let index = if in_high { high_index } else { low_index };
        let mut grant: Bits<8> = bits::<8>(0);
        for i in 0..8 {
            let here = (index == bits::<2>((i % 4) as u64)) & (in_high == (i >= 4));
            grant = grant.replace_bit(i, request.get_bit(i) & here);
        }
        self.grant.next = grant;
        self.index.next = (in_high, index).cat::<3>();
        self.any.next = any;
    }
}
