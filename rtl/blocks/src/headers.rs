//! Extractors of header fields: `ipv4_total_length(header)` and its kin, as `spindle_contract::wire` declares the
//! headers.
//!
//! `header` is the first [`HEADER_BITS`] bits of a frame without VLAN tag, byte 0 in bits 7:0.

use spindle_contract::wire;
use spindle_verilog::prelude::*;

/// Bits of the headers up to the payload of a PUT.
pub const HEADER_BITS: usize = 8 * wire::HEADER_BYTES;

spindle_contract::header_fields!(720);

const _: () = assert!(HEADER_BITS == 720, "the extractors are for headers of another length");
