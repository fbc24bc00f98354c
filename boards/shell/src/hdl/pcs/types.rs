//! Block types, control codes and the reversal of bits.

use spindle_verilog::prelude::*;

/// Header of a block with eight bytes of data; bit 0 first on the wire.
pub const DATA_HEADER: u64 = 0b10;
/// Header of any other block.
pub const CONTROL_HEADER: u64 = 0b01;

/// Block type fields (figure 49-7).
pub mod block {
    /// Eight control characters.
    pub const CONTROL: u64 = 0x1E;
    /// Four control characters, an ordered set.
    pub const CONTROL_ORDERED: u64 = 0x2D;
    /// Four control characters, a start.
    pub const CONTROL_START: u64 = 0x33;
    /// An ordered set, a start.
    pub const ORDERED_START: u64 = 0x66;
    /// Two ordered sets.
    pub const ORDERED_ORDERED: u64 = 0x55;
    /// A start in the first lane.
    pub const START: u64 = 0x78;
    /// An ordered set, four control characters.
    pub const ORDERED_CONTROL: u64 = 0x4B;
    /// An end in lane n.
    pub const TERMINATE: [u64; 8] = [0x87, 0x99, 0xAA, 0xB4, 0xCC, 0xD2, 0xE1, 0xFF];
}

/// Control characters that have a code of seven bits (table 49-1): idle, error and the reserved ones.
pub const CHARACTERS: [u64; 8] = [0x07, 0xFE, 0x1C, 0x3C, 0x7C, 0xBC, 0xDC, 0xF7];
/// The codes of [`CHARACTERS`].
pub const CODES: [u64; 8] = [0x00, ERROR_CODE, 0x2D, 0x33, 0x4B, 0x55, 0x66, 0x78];
/// The code of an error.
pub const ERROR_CODE: u64 = 0x1E;
/// The signal ordered set of Fibre Channel; its O code is 0xF, that of a sequence 0.
pub const SIGNAL: u64 = 0x5C;

/// Payload of a block of error characters.
pub const fn error_block() -> u64 {
    let (mut block, mut lane) = (block::CONTROL, 0);
    while lane < 8 {
        block |= ERROR_CODE << (8 + 7 * lane);
        lane += 1;
    }
    block
}

/// The bits in reverse order.
#[hdl_fn]
pub fn reverse_64(word: Bits<64>) -> Bits<64> {
    let mut reversed: Bits<64> = bits::<64>(0u64);
    for i in 0..64 {
        reversed = reversed.replace_bit(i, word.get_bit(63 - i));
    }
    reversed
}

/// The bits in reverse order.
#[hdl_fn]
pub fn reverse_2(header: Bits<2>) -> Bits<2> {
    (header.get_bit(0), header.get_bit(1)).cat::<2>()
}
