//! Round robin among eight: the first four share one choice, the last four another.
//!
//! | ports | meaning |
//! |---|---|
//! | in `request` | bit i = requester i has a request |
//! | in `accept` | the grant of this cycle is used |
//! | out `grant`, `index`, `any` | one-hot, binary, and whether there is a grant |
//!
//! All outputs are combinational in `request`. With more than four requesters, two groups of four take turns. Without a
//! request `index` is undefined. The grant moves on only with `accept`. A requester waits for at most 3 others among four,
//! 7 among eight.

use spindle_verilog::prelude::*;

/// The next of four requesters after `last`; 3 if there is none.
#[hdl_fn]
fn next_of_four(requests: Bits<4>, last: Bits<2>) -> Bits<2> {
    let later = requests & (bits::<4>(0b1110) << last);
    if later.any() {
        first_set(later)
    } else {
        first_set(requests)
    }
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
