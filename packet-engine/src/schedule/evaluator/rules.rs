//! Rules of the evaluator, each a function of an event and the states before it.

use super::types::*;
use crate::schedule::message::*;
use spindle_contract::reasons;
use spindle_verilog::prelude::*;

/// The phase to which the event takes the message: `opens` = the packet with its user header came, `ages` = it is too old.
#[hdl_fn]
pub fn phase_after(was: MessageState, ev: Event, opens: Bit, ages: Bit) -> Bits<3> {
    let is_aged = was.phase == PHASE_AGED;
    let no_more = (was.phase == PHASE_DROPPING) | (was.phase == PHASE_FAILED);
    if ev.ends.header & !is_aged {
        if ev.returned.process {
            bits::<3>(PHASE_ACTIVE)
        } else if ev.returned.dropped {
            bits::<3>(PHASE_DROPPING)
        } else if ev.returned.proceed {
            bits::<3>(PHASE_PLACING)
        } else {
            bits::<3>(PHASE_FAILED)
        }
    } else if ev.ends.failed & !is_aged {
        bits::<3>(PHASE_FAILED)
    } else if opens {
        if ev.short {
            bits::<3>(PHASE_FAILED)
        } else {
            bits::<3>(PHASE_HEADER)
        }
    } else if ages & !no_more {
        bits::<3>(PHASE_AGED)
    } else {
        was.phase
    }
}

/// Bytes less those of a packet. It has at most 64 KiB, so the halves need not wait for each other.
#[hdl_fn]
pub fn less(bytes: Bits<32>, len: Bits<16>) -> Bits<32> {
    let low = bit_cast::<17, 16>(bytes.get_bits::<16>(0)) - bit_cast::<17, 16>(len);
    let high = bytes.get_bits::<16>(16);
    let borrowed = high - 1;
    (if low.get_bit(16) { borrowed } else { high }, low.get_bits::<16>(0)).cat::<32>()
}

/// Bytes and those of a packet, likewise.
#[hdl_fn]
pub fn plus(bytes: Bits<32>, len: Bits<16>) -> Bits<32> {
    let low = bit_cast::<17, 16>(bytes.get_bits::<16>(0)) + bit_cast::<17, 16>(len);
    let high = bytes.get_bits::<16>(16);
    let carried = high + 1;
    (if low.get_bit(16) { carried } else { high }, low.get_bits::<16>(0)).cat::<32>()
}

/// Why a frame counts as dropped, if it does; `packet` is its state after the event, `is_aged` that of its message before.
#[hdl_fn]
pub fn reason_of(ev: Event, packet: PacketState, turned_away: Bit, is_aged: Bit) -> Bits<5> {
    if turned_away {
        if ev.refused {
            ev.reason
        } else if is_aged {
            bits::<5>(reasons::MESSAGE_AGED)
        } else {
            bits::<5>(reasons::BAD_TRANSPORT)
        }
    } else if ev.kind == EVENT_FAST {
        ev.reason
    } else if packet.failed {
        bits::<5>(reasons::HANDLER_FAIL)
    } else if packet.dropped {
        bits::<5>(reasons::HANDLER_DROP)
    } else {
        packet.reason
    }
}
