//! Cuts runs of lines into AXI bursts, for reads and writes.
//!
//! A burst ends at a multiple of 256 bytes, so no burst is longer than 256 bytes or crosses 4 KiB. Addresses are whole
//! lines of 64 bytes.

use crate::prelude::*;

/// Successive lines of host memory, at least one.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// High half of the address.
    pub high: Bits<32>,
    /// Line within 4 GiB.
    pub line: Bits<26>,
    /// Lines, less one.
    pub rest: Bits<11>,
}

/// Lines from this one to the end of its 256 bytes, less one.
#[hdl_fn]
fn to_boundary(lines: Lines) -> Bits<2> {
    !lines.line.get_bits::<2>(0)
}

/// The first burst is the last.
#[hdl_fn]
pub fn burst_ends(lines: Lines) -> Bit {
    !lines.rest.get_bits::<9>(2).any() & (lines.rest.get_bits::<2>(0) <= to_boundary(lines))
}

/// Beats of the first burst, less one: up to the boundary, unless the lines end before.
#[hdl_fn]
pub fn burst_beats(lines: Lines) -> Bits<2> {
    if burst_ends(lines) {
        lines.rest.get_bits::<2>(0)
    } else {
        to_boundary(lines)
    }
}

/// Byte address of the first burst.
#[hdl_fn]
pub fn burst_address(lines: Lines) -> Bits<64> {
    (lines.high, lines.line, bits::<6>(0)).cat::<64>()
}

/// The lines after the first burst, which is not the last.
#[hdl_fn]
pub fn after_burst(lines: Lines) -> Lines {
    let block = lines.line.get_bits::<24>(2);
    Lines {
        high: if block.all() { lines.high + 1 } else { lines.high },
        line: (block + 1, bits::<2>(0)).cat::<26>(),
        rest: lines.rest - (bits::<9>(0), to_boundary(lines)).cat::<11>() - 1,
    }
}
