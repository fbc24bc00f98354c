//! A counter that is no adder: a shift register that walks through all its values, one LUT for all bits.
//!
//! For places, turns and lengths whose values nobody reads as numbers. A step shifts one to the left; what comes in is
//! the sum of the taps of a primitive polynomial, turned over where all bits but the highest are zero, which puts 0
//! between `10..0` and `0..01` (a de Bruijn sequence). The lower four bits of a value come twice in a round, at most 31
//! steps apart.

use spindle_verilog::prelude::*;

/// The value behind this one, of 32; 0 comes behind 16.
#[hdl_fn]
pub fn next_of_32(x: Bits<5>) -> Bits<5> {
    (x.get_bits::<4>(0), x.get_bit(4) ^ x.get_bit(2) ^ !x.get_bits::<4>(0).any()).cat::<5>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_once_in_a_round() {
        let mut at = bits::<5>(0);
        let mut seen = vec![];
        while !seen.contains(&at.to_u64()) {
            seen.push(at.to_u64());
            at = next_of_32(at);
        }
        assert_eq!((at.to_u64(), seen.len(), seen[30], seen[31]), (0, 32, 8, 16));
        for low in 0..16 {
            let places: Vec<usize> = (0..32).filter(|i| seen[*i] % 16 == low).collect();
            assert_eq!(places.len(), 2, "{low}");
        }
    }
}
