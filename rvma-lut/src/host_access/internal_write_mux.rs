//! Writes that the engine makes itself, one after the other: completion records first, then atomics, then events.
//!
//! The DMA writer takes a completion record whenever the host has room for one, the others only while it has room for more: `own_ready` of an
//! atomic or an event is its readiness for these, while nothing before them is offered.

use crate::prelude::*;

/// The write that goes first. Only events use the upper half of the data.
#[hdl_fn]
pub fn first_write(
    record: InternalWrite,
    record_valid: Bit,
    atomic: InternalWrite,
    atomic_valid: Bit,
    event: InternalWrite,
) -> InternalWrite {
    let upper = event.data.get_bits::<128>(128);
    let lower = if record_valid {
        record.data.get_bits::<128>(0)
    } else if atomic_valid {
        atomic.data.get_bits::<128>(0)
    } else {
        event.data.get_bits::<128>(0)
    };
    InternalWrite {
        host_write: if record_valid {
            record.host_write
        } else if atomic_valid {
            atomic.host_write
        } else {
            event.host_write
        },
        data: (upper, lower).cat::<256>(),
    }
}
