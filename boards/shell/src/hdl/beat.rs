//! What a frame is between two clocks.

use spindle_verilog::prelude::*;

/// A beat in a FIFO between two clocks: 521 bits, which 7.5 block RAMs of 72 bits hold.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CrossBeat {
    /// Bytes, the first in bits 7:0.
    pub data: Bits<512>,
    /// Bytes that count, less one.
    pub tail: Bits<6>,
    /// Last beat of the frame.
    pub last: Bit,
    /// With `last`: the frame is bad.
    pub user: Bit,
    /// With `user`: the frame is bad because there was no room for its rest.
    pub cut: Bit,
}

/// The bytes of a contiguous `keep`, less one: a search in halves, three levels of LUTs.
#[hdl_fn]
pub fn tail_of(keep: Bits<64>) -> Bits<6> {
    let b5 = keep.get_bit(32);
    let k5 = if b5 { keep.get_bits::<32>(32) } else { keep.get_bits::<32>(0) };
    let b4 = k5.get_bit(16);
    let k4 = if b4 { k5.get_bits::<16>(16) } else { k5.get_bits::<16>(0) };
    let b3 = k4.get_bit(8);
    let k3 = if b3 { k4.get_bits::<8>(8) } else { k4.get_bits::<8>(0) };
    let b2 = k3.get_bit(4);
    let k2 = if b2 { k3.get_bits::<4>(4) } else { k3.get_bits::<4>(0) };
    let b1 = k2.get_bit(2);
    let b0 = if b1 { k2.get_bit(3) } else { k2.get_bit(1) };
    (b5, b4, b3, b2, b1, b0).cat::<6>()
}

/// The mask of `tail + 1` bytes: one LUT for each.
#[hdl_fn]
pub fn keep_of(tail: Bits<6>) -> Bits<64> {
    let mut keep: Bits<64> = bits(1);
    for i in 1..64 {
        keep = keep.replace_bit(i, tail >= bits::<6>(i as u64));
    }
    keep
}
