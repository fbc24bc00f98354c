//! Whether two keys are the same.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `key`, `sought` / out `same` | whoever compares keys: combinational |
//!
//! Three bits of both keys are one LUT6, and the thirty of these meet in two carry chains: 31 LUTs, 6
//! levels. Of a plain `==` of 89 bits yosys makes 70 LUTs.

use super::KEY_BITS;
use crate::schedule::message::MessageKey;
use spindle_verilog::prelude::*;

/// Groups of three bits of a key in each chain.
const CHAIN: usize = KEY_BITS.div_ceil(6);
/// Bits of a key, filled up to whole groups.
const FILLED: usize = 6 * CHAIN;
/// Bits of a chain and its carry.
const CARRIED: usize = CHAIN + 1;

/// See the head of this file.
#[block(combinational)]
pub struct KeyMatch {
    /// A key.
    pub key: Signal<In, MessageKey>,
    /// Another one.
    pub sought: Signal<In, MessageKey>,
    /// They are the same.
    pub same: Signal<Out, Bit>,
}

#[hdl]
impl KeyMatch {
    fn update(&mut self) {
        let differing = zext::<FILLED, KEY_BITS>(pack(self.key.val()) ^ pack(self.sought.val()));
        let mut low: Bits<CHAIN> = bits::<CHAIN>(0);
        let mut high: Bits<CHAIN> = bits::<CHAIN>(0);
        for i in 0..CHAIN {
            low = low.replace_bit(i, differing.get_bits::<3>(3 * i).any());
            high = high.replace_bit(i, differing.get_bits::<3>(3 * (CHAIN + i)).any());
        }
        // All ones and anything but 0 carry.
        let low_sum = zext::<CARRIED, CHAIN>(low) + zext::<CARRIED, CHAIN>(!bits::<CHAIN>(0));
        let high_sum = zext::<CARRIED, CHAIN>(high) + zext::<CARRIED, CHAIN>(!bits::<CHAIN>(0));
        self.same.next = !low_sum.get_bit(CHAIN) & !high_sum.get_bit(CHAIN);
    }
}
