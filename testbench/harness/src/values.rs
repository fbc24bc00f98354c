//! Random values of the ports' types.

use rand::Rng;
use spindle_verilog::__private::BitReader;
use spindle_verilog::ports::from_bytes;
use spindle_verilog::prelude::Packed;

/// A value of which every bit is random.
pub fn random_bits<T: Packed>(rng: &mut impl Rng) -> T {
    let bytes: Vec<u8> = (0..T::BITS.div_ceil(8)).map(|_| rng.random()).collect();
    from_bytes(&bytes)
}

/// A random value; zero, all ones, sparse and dense ones come up often: carries, wraps, shift amounts and strobes at the edge.
pub fn random_value<T: Packed>(rng: &mut impl Rng) -> T {
    let density = [0.0, 0.1, 0.5, 0.5, 0.5, 0.9, 1.0][rng.random_range(0..7)];
    let bits: Vec<bool> = (0..T::BITS).map(|_| rng.random_bool(density)).collect();
    T::read_bits(&mut BitReader::new(&bits))
}

/// `value`, of which one of the lowest `width` bits is inverted in one of `cases` cases.
pub fn near(rng: &mut impl Rng, value: u64, width: u32, cases: u32) -> u64 {
    if rng.random_range(0..cases) == 0 {
        value ^ 1 << rng.random_range(0..width)
    } else {
        value
    }
}
