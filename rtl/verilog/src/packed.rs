//! Conversion between hardware values and plain bits, least significant bit first.

use rust_hdl_core::bitvec::BitVec;
use rust_hdl_core::prelude::{Bits, Clock, Synth, VerilogLiteral};

/// A hardware value that can be taken apart into bits and put together again.
///
/// Derived with `LogicStruct` and `LogicState`.
pub trait Packed: Synth {
    /// Appends the bits, least significant first.
    fn write_bits(self, out: &mut Vec<bool>);
    /// Takes `Self::BITS` bits.
    fn read_bits(bits: &mut BitReader<'_>) -> Self;
}

/// A cursor over bits.
#[derive(Debug)]
pub struct BitReader<'a> {
    bits: &'a [bool],
}

impl<'a> BitReader<'a> {
    /// Starts at the least significant bit.
    pub fn new(bits: &'a [bool]) -> Self {
        Self { bits }
    }

    /// The next `count` bits.
    pub fn take(&mut self, count: usize) -> &'a [bool] {
        let (head, tail) = self.bits.split_at(count);
        self.bits = tail;
        head
    }

    /// The next `count` bits as a number.
    pub fn number(&mut self, count: usize) -> usize {
        self.take(count).iter().rev().fold(0, |n, b| n << 1 | *b as usize)
    }
}

/// Builds a `Bits<N>` from at most N bits.
pub(crate) fn from_bits<const N: usize>(bits: &[bool]) -> Bits<N> {
    if N > 32 {
        let mut all = [false; N];
        all[..bits.len()].copy_from_slice(bits);
        Bits::Long(BitVec::from(all))
    } else {
        let number = bits.iter().rev().fold(0u64, |n, b| n << 1 | *b as u64);
        Bits::from(number)
    }
}

/// The bits of a value.
pub(crate) fn to_bits<T: Packed>(value: T) -> Vec<bool> {
    let mut out = Vec::with_capacity(T::BITS);
    value.write_bits(&mut out);
    out
}

impl<const N: usize> Packed for Bits<N> {
    fn write_bits(self, out: &mut Vec<bool>) {
        out.extend((0..N).map(|i| self.get_bit(i)));
    }
    fn read_bits(bits: &mut BitReader<'_>) -> Self {
        from_bits(bits.take(N))
    }
}

impl Packed for bool {
    fn write_bits(self, out: &mut Vec<bool>) {
        out.push(self);
    }
    fn read_bits(bits: &mut BitReader<'_>) -> Self {
        bits.take(1)[0]
    }
}

impl Packed for Clock {
    fn write_bits(self, out: &mut Vec<bool>) {
        out.push(self.clk);
    }
    fn read_bits(bits: &mut BitReader<'_>) -> Self {
        Clock { clk: bits.take(1)[0] }
    }
}

/// The literal rust-hdl wants from a packed value.
#[doc(hidden)]
pub fn literal_of<T: Packed>(value: T) -> VerilogLiteral {
    // rust-hdl builds literals from `Bits<N>` only, and N cannot depend on a generic type: 4096 bits hold any descriptor.
    // Only the number is read back (see `describe::literal_value`), the width comes from the type.
    let bits = to_bits(value);
    assert!(
        bits.len() <= 4096,
        "a hardware value is at most 4096 bits wide; split {} bits into several signals",
        bits.len()
    );
    from_bits::<4096>(&bits).into()
}
