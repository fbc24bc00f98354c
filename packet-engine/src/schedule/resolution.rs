//! What becomes of an arrival once its message has been looked for: it joins one, begins one, or is turned away.

use crate::ingress::arrival::Arrival;
use crate::schedule::evaluator::{ends_of, Event};
use crate::schedule::message::*;
use spindle_blocks::ContextStatus;
use spindle_contract::descriptors::overload;
use spindle_contract::reasons;
use spindle_verilog::prelude::*;

/// What there is for an arrival.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Means {
    /// Its message is alive.
    pub known: Bit,
    /// A slot is free,
    pub free: Bit,
    /// and there is a place for its key.
    pub can_insert: Bit,
    /// Its context has its quota of packets,
    pub packets_full: Bit,
    /// of messages.
    pub messages_full: Bit,
    /// What it does then.
    pub overload: Bits<2>,
    /// Bytes of the user header that it waits for.
    pub user_header: Bits<7>,
}

/// What becomes of it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Resolution {
    /// It belongs to a live message.
    pub hit: Bit,
    /// It begins one.
    pub starts: Bit,
    /// It is turned away,
    pub refused: Bit,
    /// for this.
    pub reason: Bits<5>,
    /// A quota is full.
    pub full: Bit,
    /// Its context waits for a user header,
    pub has_user_header: Bit,
    /// for which it is too short.
    pub short: Bit,
}

/// What becomes of an arrival; of another event nothing.
#[hdl_fn]
pub fn resolution_of(arrives: Bit, event: Event, arrival: Arrival, status: ContextStatus, means: Means) -> Resolution {
    let hit = arrives & event.named & means.known;
    let fresh = arrives & !hit;
    let to_context = !event.mailbox;
    let has_user_header = means.user_header.any();
    // The packet that others wait for is let in whatever the quota says.
    let packets_full = means.packets_full & !(has_user_header & arrival.foremost);
    let full = to_context & (packets_full | (fresh & means.messages_full));
    let paused = full & (means.overload != bits(overload::PLACE)) & (fresh | (means.overload != bits(overload::DROP)));
    let inactive = fresh & to_context & !status.active;
    let no_slot = fresh & (!means.free | (event.named & !means.can_insert));
    let refused = arrives & (arrival.unsupported | inactive | paused | no_slot);
    Resolution {
        hit: hit,
        starts: fresh & !refused,
        refused: refused,
        reason: refusal_of(arrival.unsupported, inactive, paused, means.overload),
        full: full,
        has_user_header: has_user_header,
        short: event.payload_len < bit_cast::<16, 7>(means.user_header),
    }
}

/// The event with what was found.
#[hdl_fn]
pub fn resolved(
    arrives: Bit,
    event: Event,
    arrival: Arrival,
    means: Means,
    resolution: Resolution,
    slot: Bits<8>,
) -> Event {
    let over = resolution.hit & resolution.full;
    Event {
        slot: slot,
        hit: resolution.hit,
        ends: ends_of(event),
        starts: resolution.starts,
        refused: resolution.refused,
        first: arrives & resolution.has_user_header & arrival.foremost,
        short: resolution.short,
        lost: over & (means.overload == bits(overload::DROP)),
        bypass: over & (means.overload == bits(overload::PLACE)),
        reason: if arrives { resolution.reason } else { event.reason },
        ..event
    }
}

/// The state in which a message begins.
#[hdl_fn]
pub fn beginning_of(event: Event, arrival: Arrival, status: ContextStatus, resolution: Resolution) -> MessageState {
    let placing = event.mailbox | resolution.full;
    MessageState {
        alive: true,
        phase: first_phase(placing, status.has_header, resolution.has_user_header, arrival.foremost, resolution.short),
        context: event.context,
        mailbox: event.mailbox,
        has_payload: status.has_payload,
        has_completion: status.has_completion & !placing,
        by_field: event.by_field,
        keyed: event.named & !event.closes,
        missing: arrival.total,
        flow_control: !event.mailbox & resolution.full,
        ..Default::default()
    }
}

/// Why an arrival that is turned away is.
#[hdl_fn]
fn refusal_of(unsupported: Bit, inactive: Bit, paused: Bit, rule: Bits<2>) -> Bits<5> {
    if unsupported {
        bits::<5>(reasons::UNSUPPORTED)
    } else if inactive {
        bits::<5>(reasons::NO_CONTEXT)
    } else if !paused {
        bits::<5>(reasons::NO_MESSAGE_SLOT)
    } else if rule == bits(overload::DROP) {
        bits::<5>(reasons::QUOTA)
    } else {
        bits::<5>(reasons::PAUSED)
    }
}

/// The phase in which a message begins.
#[hdl_fn]
fn first_phase(placing: Bit, has_header: Bit, has_user_header: Bit, foremost: Bit, short: Bit) -> Bits<3> {
    if placing {
        bits::<3>(PHASE_PLACING)
    } else if !has_header {
        bits::<3>(PHASE_ACTIVE)
    } else if has_user_header & !foremost {
        bits::<3>(PHASE_WAITING)
    } else if has_user_header & short {
        bits::<3>(PHASE_FAILED)
    } else {
        bits::<3>(PHASE_HEADER)
    }
}
