//! Counters that are no adders: shift registers that walk through all their values, one LUT for all bits.
//!
//! For places, turns and lengths whose values nobody reads as numbers. A step shifts one to the left; what comes in is the sum of the taps of a primitive
//! polynomial, turned over where all bits but the highest are zero, which puts 0 between `10..0` and `0..01` (a de Bruijn sequence).
//! A value's lower bits, N - 1 of them, come twice in a round, at most 2^N - 1 steps apart.

use spindle_verilog::prelude::*;

/// The value behind this one, of 16: 0, 1, 2, 4, 9, 3, 6, 13, 10, 5, 11, 7, 15, 14, 12, 8.
#[hdl_fn]
pub fn next_of_16(x: Bits<4>) -> Bits<4> {
    (x.get_bits::<3>(0), x.get_bit(3) ^ x.get_bit(2) ^ !x.get_bits::<3>(0).any()).cat::<4>()
}

/// The value before this one.
#[hdl_fn]
pub fn before_of_16(x: Bits<4>) -> Bits<4> {
    let top = x.get_bit(0) ^ x.get_bit(3) ^ !x.get_bits::<3>(1).any();
    (top, x.get_bits::<3>(1)).cat::<4>()
}

/// The value behind this one, of 32; 0 comes behind 16.
#[hdl_fn]
pub fn next_of_32(x: Bits<5>) -> Bits<5> {
    (x.get_bits::<4>(0), x.get_bit(4) ^ x.get_bit(2) ^ !x.get_bits::<4>(0).any()).cat::<5>()
}

/// The value behind this one, of 64; 0 comes behind 32.
#[hdl_fn]
pub fn next_of_64(x: Bits<6>) -> Bits<6> {
    (x.get_bits::<5>(0), x.get_bit(5) ^ x.get_bit(4) ^ !x.get_bits::<5>(0).any()).cat::<6>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values in the order of the steps from 0 on, until one comes again.
    fn walk<const N: usize>(next: impl Fn(Bits<N>) -> Bits<N>) -> Vec<u64> {
        let mut at = bits::<N>(0);
        let mut seen = vec![];
        while !seen.contains(&at.to_u64()) {
            seen.push(at.to_u64());
            at = next(at);
        }
        assert_eq!(at.to_u64(), 0, "the walk is a round");
        seen
    }

    #[test]
    fn every_value_comes_once_in_a_round() {
        let [of_16, of_32, of_64] = [walk::<4>(next_of_16), walk::<5>(next_of_32), walk::<6>(next_of_64)];
        assert_eq!((of_16.len(), of_32.len(), of_64.len()), (16, 32, 64));
        assert_eq!(of_16, [0, 1, 2, 4, 9, 3, 6, 13, 10, 5, 11, 7, 15, 14, 12, 8]);
        assert_eq!((of_32[31], of_64[63]), (16, 32), "what comes before 0");
        for x in 0..16u64 {
            assert_eq!(next_of_16(before_of_16(bits::<4>(x))).to_u64(), x);
        }
    }
}
