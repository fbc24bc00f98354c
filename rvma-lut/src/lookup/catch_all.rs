//! Catch-all: a packet that goes to the catch-all mailbox of its process. The table of those mailboxes is in
//! [`lookup`](crate::lookup).

use crate::prelude::*;
use spindle_contract::wire::SPINDLE_BYTES;

/// The packet as a message of its own, which begins with the Spindle header: the header lies before the payload in the
/// frame.
#[hdl_fn]
pub fn with_header(packet: Packet) -> Packet {
    let length = packet.payload_len + SPINDLE_BYTES as u64;
    Packet {
        payload_offset: packet.payload_offset - SPINDLE_BYTES as u64,
        payload_len: length,
        msg_len: bit_cast::<32, 16>(length),
        start: bits::<32>(0),
        end: bit_cast::<32, 16>(length),
        inconsistent: false,
        single: true,
        ..packet
    }
}
