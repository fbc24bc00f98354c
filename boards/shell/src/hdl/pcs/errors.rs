//! The rate of bit errors, by headers.

use super::Rate;
use spindle_verilog::prelude::*;

/// The state diagram of the error rate (figure 49-15).
///
/// | ports | meaning |
/// |---|---|
/// | in `valid`, `good` | a header came, and its bits differ |
/// | in `locked` | block lock; without lock nothing is counted and the rate is not high |
/// | out `high` | too many invalid headers |
///
/// `high` rises with the invalid header that is the limit's within one window, and falls at the end of a window with
/// fewer. Windows follow each other and are counted in blocks, which the line's rate ties to time. Latency 1 cycle. At most 5
/// levels of logic, with the carry of a half of the window's count.
#[block(no_default)]
pub struct BitErrors {
    /// There is a header.
    pub valid: Signal<In, Bit>,
    /// Its bits differ.
    pub good: Signal<In, Bit>,
    /// Blocks are found.
    pub locked: Signal<In, Bit>,
    /// Too many invalid headers.
    pub high: Signal<Out, Bit>,
    /// Blocks to come in the window, in two halves: one carry chain would be the longest path of the receiver.
    low: Reg<Bits<10>>,
    low_zero: Reg<Bit>,
    high_half: Reg<Bits<10>>,
    high_zero: Reg<Bit>,
    count: Reg<Bits<7>>,
    /// The count has come to the limit.
    reached: Reg<Bit>,
    rate: Reg<Bit>,
    _window: u64,
    _limit: u64,
}

impl BitErrors {
    /// `limit` invalid headers, 2 to 127, within `window` blocks, 4 to 2^20.
    pub fn new(window: u64, limit: u64) -> Self {
        assert!(
            (4..=1 << 20).contains(&window) && (2..=127).contains(&limit),
            "BitErrors: 2 to 127 headers of 4 to 2^20, not {limit} of {window}; choose another window"
        );
        Self { _window: window - 1, _limit: limit - 1, ..Self::blank() }
    }
}

impl Default for BitErrors {
    fn default() -> Self {
        Self::new(Rate::Ten.window(), Rate::Ten.limit())
    }
}

#[hdl]
impl BitErrors {
    fn update(&mut self) {
        let bad = !self.good.val();
        if !self.locked.val() {
            self.begin();
            self.rate.d.next = false;
        } else if self.valid.val() {
            let fits = self.count.q.val() == bits::<7>(self._limit);
            let last = self.low_zero.q.val() & self.high_zero.q.val();
            if last {
                self.begin();
                self.rate.d.next = self.reached.q.val() | (bad & fits);
            } else {
                self.low.d.next = self.low.q.val() - 1;
                self.low_zero.d.next = self.low.q.val() == 1;
                if self.low_zero.q.val() {
                    self.high_half.d.next = self.high_half.q.val() - 1;
                    self.high_zero.d.next = self.high_half.q.val() == 1;
                }
                if bad & !self.reached.q.val() {
                    self.count.d.next = self.count.q.val() + 1;
                    if fits {
                        self.reached.d.next = true;
                        self.rate.d.next = true;
                    }
                }
            }
        }
        self.high.next = self.rate.q.val();
    }

    /// A new window.
    fn begin(&mut self) {
        let window = bits::<20>(self._window);
        let low = window.get_bits::<10>(0);
        let high = window.get_bits::<10>(10);
        self.low.d.next = low;
        self.low_zero.d.next = low == 0;
        self.high_half.d.next = high;
        self.high_zero.d.next = high == 0;
        self.count.d.next = bits::<7>(0);
        self.reached.d.next = false;
    }
}
