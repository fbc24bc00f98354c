//! Choice among the writes of the engine itself: completion records first, then atomics, then events.
//!
//! The DMA writer takes a completion record whenever the host has room for a write, the others only while it has more
//! room: `ready` of `internal_write` holds for atomics and events, while no write before them is offered.

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
