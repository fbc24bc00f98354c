//! A counter without an adder: a shift register that walks through all its values, one LUT for all bits.
//!
//! For positions and turns whose values are not read as numbers. A step shifts one to the left; the new bit is the sum
//! of the taps of a primitive polynomial, inverted where all bits but the highest are zero, which puts 0 between
//! `10..0` and `0..01` (a de Bruijn sequence). The lower four bits of a value come twice in a round, at most 31 steps
//! apart.

use spindle_verilog::prelude::*;

/// The value after this one, of 32; 0 comes after 16.
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
