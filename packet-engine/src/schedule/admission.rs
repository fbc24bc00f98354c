//! Admission of an arrival whose message has been looked up: it joins a message, begins one, or is turned away.

use crate::{
    ingress::arrival::Arrival,
    schedule::{
        evaluator::{ends_of, Event},
        message::*,
    },
};
use spindle_blocks::ContextStatus;
use spindle_contract::{descriptors::overload, reasons};
use spindle_verilog::prelude::*;

/// What the admission of an arrival depends on.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct AdmissionInputs {
    /// The message is alive.
    pub known: Bit,
    /// A slot is free,
    pub free: Bit,
    /// and the index has room for its key.
    pub can_insert: Bit,
    /// Its context has its quota of packets,
    pub packets_full: Bit,
    /// of messages.
    pub messages_full: Bit,
    /// Overload rule of the context.
    pub overload: Bits<2>,
    /// Bytes of the user header that it waits for.
    pub user_header: Bits<7>,
}

/// The admission of an arrival.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Admission {
    /// The arrival belongs to a live message.
    pub hit: Bit,
    /// The arrival begins a message.
    pub starts: Bit,
    /// The arrival is turned away,
    pub refused: Bit,
    /// for this reason.
    pub reason: Bits<5>,
    /// A quota is full.
    pub full: Bit,
    /// Its context waits for a user header,
    pub has_user_header: Bit,
    /// for which it is too short.
    pub short: Bit,
}

/// Admission of an arrival; zero for another event.
#[hdl_fn]
pub fn admission_of(
    arrives: Bit,
    event: Event,
    arrival: Arrival,
    status: ContextStatus,
    inputs: AdmissionInputs,
) -> Admission {
    let hit = arrives & event.named & inputs.known;
    let fresh = arrives & !hit;
    let to_context = !event.mailbox;
    let has_user_header = inputs.user_header.any();
    // The packet that others wait for is let in whatever the quota says.
    let packets_full = inputs.packets_full & !(has_user_header & arrival.foremost);
    let full = to_context & (packets_full | (fresh & inputs.messages_full));
    let paused =
        full & (inputs.overload != bits(overload::PLACE)) & (fresh | (inputs.overload != bits(overload::DROP)));
    let inactive = fresh & to_context & !status.active;
    let no_slot = fresh & (!inputs.free | (event.named & !inputs.can_insert));
    let refused = arrives & (arrival.unsupported | inactive | paused | no_slot);
    Admission {
        hit,
        starts: fresh & !refused,
        refused,
        reason: refusal_of(arrival.unsupported, inactive, paused, inputs.overload),
        full,
        has_user_header,
        short: event.payload_len < bit_cast::<16, 7>(inputs.user_header),
    }
}

/// The event with the result of the admission.
#[hdl_fn]
pub fn admitted(
    arrives: Bit,
    event: Event,
    arrival: Arrival,
    inputs: AdmissionInputs,
    admission: Admission,
    slot: Bits<8>,
) -> Event {
    let over = admission.hit & admission.full;
    Event {
        slot,
        hit: admission.hit,
        ends: ends_of(event),
        starts: admission.starts,
        refused: admission.refused,
        first: arrives & admission.has_user_header & arrival.foremost,
        short: admission.short,
        lost: over & (inputs.overload == bits(overload::DROP)),
        bypass: over & (inputs.overload == bits(overload::PLACE)),
        reason: if arrives { admission.reason } else { event.reason },
        ..event
    }
}

/// The state in which a message begins.
#[hdl_fn]
pub fn first_state(event: Event, arrival: Arrival, status: ContextStatus, admission: Admission) -> MessageState {
    let placing = event.mailbox | admission.full;
    MessageState {
        alive: true,
        phase: first_phase(placing, status.has_header, admission.has_user_header, arrival.foremost, admission.short),
        context: event.context,
        mailbox: event.mailbox,
        has_payload: status.has_payload,
        has_completion: status.has_completion & !placing,
        by_field: event.by_field,
        keyed: event.named & !event.closes,
        missing: arrival.total,
        flow_control: !event.mailbox & admission.full,
        ..Default::default()
    }
}

/// The state in which a task without a packet begins: as a message whose handlers have all run but the last.
#[hdl_fn]
pub fn task_state(owner: Bits<4>) -> MessageState {
    MessageState {
        alive: true,
        phase: bits::<3>(PHASE_COMPLETING),
        context: owner,
        pending: true,
        complete: true,
        ..Default::default()
    }
}

/// Reason for turning an arrival away.
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
