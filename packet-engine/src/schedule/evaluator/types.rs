//! Events, and what the evaluator decides about them.

use crate::schedule::message::*;
use spindle_contract::{descriptors::kind, memory_map as code, reasons};
use spindle_verilog::prelude::*;

/// [`Event::kind`]: a packet arrived.
pub const EVENT_NEW: u64 = 0;
/// [`Event::kind`]: a packet's wait for the header handler is over.
pub const EVENT_RESUME: u64 = 1;
/// [`Event::kind`]: a task ended.
pub const EVENT_DONE: u64 = 2;
/// [`Event::kind`]: a placement ended.
pub const EVENT_PLACED: u64 = 3;
/// [`Event::kind`]: a handler commands the placement of its packet, or says that its message is done.
pub const EVENT_PLACE: u64 = 4;
/// [`Event::kind`]: the placement of a packet that is a whole message for a mailbox ended.
pub const EVENT_FAST: u64 = 5;
/// [`Event::kind`]: the age of a message is checked.
pub const EVENT_AGE: u64 = 6;
/// [`Event::kind`]: a task without a packet begins: it has its message slot.
pub const EVENT_TASK: u64 = 7;

/// [`Event::kind`]: a handler redirects bytes of its packet.
pub const EVENT_BYTES: u64 = 8;
/// [`Event::kind`]: the placement of such bytes ended.
pub const EVENT_BYTES_PLACED: u64 = 9;

/// What a handler returned; no bit set = the handler failed.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HandlerReturn {
    /// Header: run the payload handlers.
    pub process: Bit,
    /// Header, payload: drop.
    pub dropped: Bit,
    /// Header: place the data.
    pub proceed: Bit,
    /// Payload, completion: done.
    pub success: Bit,
    /// Header, completion: a `*_PENDING` code.
    pub pending: Bit,
}

/// The answer of a handler of this kind that ended with this code, or by a fault.
#[hdl_fn]
pub fn return_of(handler: Bits<2>, code: Bits<8>, fault: Bit) -> HandlerReturn {
    HandlerReturn {
        process: !fault & ((code == bits(code::SPIN_PROCESS_DATA)) | (code == bits(code::SPIN_PROCESS_DATA_PENDING))),
        dropped: !fault
            & ((code == bits(code::SPIN_DROP))
                | ((code == bits(code::SPIN_DROP_PENDING)) & (handler == bits(kind::HEADER)))),
        proceed: !fault & ((code == bits(code::SPIN_PROCEED)) | (code == bits(code::SPIN_PROCEED_PENDING))),
        success: !fault
            & ((code == bits(code::SPIN_SUCCESS))
                | ((code == bits(code::SPIN_SUCCESS_PENDING)) & (handler == bits(kind::COMPLETION)))),
        pending: !fault
            & (((handler == bits(kind::HEADER))
                & ((code == bits(code::SPIN_PROCESS_DATA_PENDING))
                    | (code == bits(code::SPIN_DROP_PENDING))
                    | (code == bits(code::SPIN_PROCEED_PENDING))))
                | ((handler == bits(kind::COMPLETION)) & (code == bits(code::SPIN_SUCCESS_PENDING)))),
    }
}

/// What an event ends.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Ends {
    /// A header handler ended.
    pub header: Bit,
    /// A payload handler ended.
    pub payload: Bit,
    /// A payload handler failed.
    pub failed: Bit,
    /// A completion handler or a task handler ended,
    pub completion: Bit,
    /// the latter.
    pub task: Bit,
    /// A placement ended since no buffer was posted.
    pub unposted: Bit,
}

const _: () = assert!(kind::COMPLETION == 2 && kind::TASK == 3, "bit 1: without a packet");

/// What an event ends; decoded a stage ahead.
#[hdl_fn]
pub fn ends_of(event: Event) -> Ends {
    let done = event.kind == EVENT_DONE;
    let payload = done & (event.handler == bits(kind::PAYLOAD));
    Ends {
        header: done & (event.handler == bits(kind::HEADER)),
        payload,
        failed: payload & !event.returned.success & !event.returned.dropped,
        completion: done & event.handler.get_bit(1),
        task: done & event.handler.all(),
        unposted: (event.kind == EVENT_PLACED) & !event.placed & (event.reason == bits(reasons::NO_POSTED_BUFFER)),
    }
}

/// An event of a packet or a message.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// One of the `EVENT_*` constants.
    pub kind: Bits<4>,
    /// Head cell of the packet.
    pub pkt: Bits<10>,
    /// Its message.
    pub slot: Bits<8>,
    /// Its frame number (arrival: to remember; command: to compare).
    pub frame: Bits<16>,
    /// Command: the handler says where.
    pub redirects: Bit,
    /// Command: no placement, but COMPLETE.
    pub completes: Bit,
    /// Task: kind of handler.
    pub handler: Bits<2>,
    /// Task: what the handler returned.
    pub returned: HandlerReturn,
    /// Placement: the packet was written.
    pub placed: Bit,
    /// Placement: reason of the refusal. Arrival: reason for turning the packet away.
    pub reason: Bits<5>,
    /// Age: no check, but the slot's first state after reset.
    pub clear: Bit,
    /// Arrival: its payload bytes.
    pub payload_len: Bits<16>,
    /// Arrival: execution context.
    pub context: Bits<4>,
    /// Arrival: goes to a mailbox.
    pub mailbox: Bit,
    /// Arrival: later packets may join the message.
    pub named: Bit,
    /// Arrival: the message is named by a field of the frame.
    pub by_field: Bit,
    /// Arrival: the last packet of a message that is named by a field.
    pub closes: Bit,
    /// Arrival: the rule wants the packet at the host too.
    pub to_host: Bit,
    /// Arrival: the packet with the user header, of a message that waits for it.
    pub first: Bit,
    /// Arrival: the packet with the user header is too short for it.
    pub short: Bit,
    /// Arrival: a live message has the key.
    pub hit: Bit,
    /// Arrival: begins a message.
    pub starts: Bit,
    /// Arrival: turned away, for `reason`, whatever the state of the message.
    pub refused: Bit,
    /// Arrival: it has a sequence number that counts.
    pub sequenced: Bit,
    /// What it ends.
    pub ends: Ends,
    /// Arrival: joins, but the overload rule drops it.
    pub lost: Bit,
    /// Arrival: joins, but the overload rule places it instead of running its handler.
    pub bypass: Bit,
}

/// How an event moves its message.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Moves {
    /// An arrival joins or starts the message.
    pub accepted: Bit,
    /// An arrival is turned away.
    pub turned_away: Bit,
    /// The overload rule places an arrival instead of running its handler.
    pub bypassed: Bit,
    /// An arrival takes part in the message's phase.
    pub joins: Bit,
    /// The message was aged before.
    pub is_aged: Bit,
    /// A header handler ended.
    pub header_done: Bit,
    /// A payload handler ended.
    pub payload_done: Bit,
    /// A completion handler ended.
    pub completion_done: Bit,
    /// A placement ended since no buffer was posted.
    pub unposted: Bit,
    /// The handler returned DROP.
    pub returned_drop: Bit,
    /// The handler returned SUCCESS.
    pub returned_success: Bit,
    /// The packet with the user header came.
    pub opens: Bit,
    /// The message ages.
    pub ages: Bit,
    /// Phase after the event.
    pub phase: Bits<3>,
}

/// What a phase requests for a packet.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Requests {
    /// The phase applies to the packet.
    pub apply: Bit,
    /// The header handler runs.
    pub header_task: Bit,
    /// A handler runs.
    pub run_task: Bit,
    /// The packet waits for the header handler.
    pub append: Bit,
    /// The packet is placed.
    pub place: Bit,
    /// By the phase,
    pub placed_by_phase: Bit,
    /// by the overload rule,
    pub placed_by_bypass: Bit,
    /// or by a handler's command.
    pub placed_by_command: Bit,
}

/// What is to be done about an event.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// A handler runs.
    pub task: Bit,
    /// Its kind.
    pub handler: Bits<2>,
    /// The packet is placed.
    pub place: Bit,
    /// By a handler, or in place of one.
    pub from_handler: Bit,
    /// The packet stays until the placement of its bytes that a handler commands is over.
    pub holds: Bit,
    /// The packet waits for the header handler.
    pub append: Bit,
    /// Another waits already.
    pub link: Bit,
    /// First packet that waited before the event.
    pub wait_head: Bits<10>,
    /// Last packet that waited before the event.
    pub wait_tail: Bits<10>,
    /// The waiting packets of the message become ready.
    pub splice: Bit,
    /// Return the packet's cells.
    pub free: Bit,
    /// The packet joined a message.
    pub accept: Bit,
    /// Write the packet's state.
    pub write_packet: Bit,
    /// Write the message's state.
    pub write_message: Bit,
    /// No packet can join the message any more.
    pub forget: Bit,
    /// The message ended: its slot is free.
    pub release: Bit,
    /// A message ended well, by the fast path.
    pub fast: Bit,
    /// The end of the message is reported by a MESSAGE event.
    pub sends_event: Bit,
    /// How it ends: the event's code.
    pub code: Bits<2>,
    /// What became of the frame, if it ended.
    pub outcome: Outcome,
    /// New state of the packet.
    pub packet: PacketState,
    /// New state of the message.
    pub message: MessageState,
}
