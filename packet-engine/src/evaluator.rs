//! Decides what an event means for its packet and its message: the rules of sPIN's order, in one cycle.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `incident`, `message`, `packet`, `stored_len` | scheduler: an event, and the states that it concerns |
//! | out `verdict` | scheduler: 1 cycle later, from registers |
//!
//! A message goes through these phases:
//!
//! ```text
//!           first packet                 header handler returns
//!   (free) ------------> HEADER -----------+--> ACTIVE ----+--> COMPLETING --> (free)
//!      |   no header handler               +--> PLACING ---+-------------------> (free)
//!      +------------------> ACTIVE         +--> DROPPING ----------------------> (free)
//!      |   mailbox                         +--> FAILED   ----------------------> (free)
//!      +------------------> PLACING              ^ any handler of ACTIVE fails
//! ```
//!
//! It leaves a phase for the right when all its bytes have arrived and no packet is open. `*_PENDING` codes count as the plain
//! ones. A message that DROP or FAIL ended runs no further handlers, and its slot stays taken (a tombstone) until its bytes have
//! arrived; a message whose bytes never arrive keeps its slot, which MESSAGES_OPEN shows.
//!
//! What a frame counts as: PLACED when it was written to host memory, whatever the handler said of it later; else HANDLER_FAIL,
//! HANDLER_DROP or the reason of the refusal; else HANDLED. A packet for a message that has all its bytes is a duplicate or
//! contradicts the message length: BAD_TRANSPORT.

use crate::message::*;
use spindle_blocks::ContextStatus;
use spindle_contract::{descriptors::kind, memory_map as code, reasons};
use spindle_verilog::prelude::*;

/// [`Event::kind`]: a packet arrived.
pub const EVENT_NEW: u64 = 0;
/// [`Event::kind`]: a packet's wait for the header handler is over.
pub const EVENT_WALK: u64 = 1;
/// [`Event::kind`]: a task ended.
pub const EVENT_DONE: u64 = 2;
/// [`Event::kind`]: a placement ended.
pub const EVENT_PLACED: u64 = 3;
/// [`Event::kind`]: a handler wants its packet placed.
pub const EVENT_PLACE: u64 = 4;

const HEADER: u64 = kind::HEADER as u64;
const PAYLOAD: u64 = kind::PAYLOAD as u64;
const COMPLETION: u64 = kind::COMPLETION as u64;
const PROCESS: u64 = code::SPIN_PROCESS_DATA as u64;
const PROCESS_PENDING: u64 = code::SPIN_PROCESS_DATA_PENDING as u64;
const DROP: u64 = code::SPIN_DROP as u64;
const DROP_PENDING: u64 = code::SPIN_DROP_PENDING as u64;
const PROCEED: u64 = code::SPIN_PROCEED as u64;
const PROCEED_PENDING: u64 = code::SPIN_PROCEED_PENDING as u64;
const SUCCESS: u64 = code::SPIN_SUCCESS as u64;
const SUCCESS_PENDING: u64 = code::SPIN_SUCCESS_PENDING as u64;
const BAD_TRANSPORT: u64 = reasons::BAD_TRANSPORT as u64;
const NO_CONTEXT: u64 = reasons::NO_CONTEXT as u64;
const NO_MESSAGE_SLOT: u64 = reasons::NO_MESSAGE_SLOT as u64;
const HANDLER_DROP: u64 = reasons::HANDLER_DROP as u64;
const HANDLER_FAIL: u64 = reasons::HANDLER_FAIL as u64;
const NO_POSTED_BUFFER: u64 = reasons::NO_POSTED_BUFFER as u64;
const UNSUPPORTED: u64 = reasons::UNSUPPORTED as u64;

/// What a handler said by its return; none of it = it failed.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Header: run the payload handlers.
    pub process: Bit,
    /// Header, payload: drop.
    pub dropped: Bit,
    /// Header: place the data.
    pub proceed: Bit,
    /// Payload, completion: done.
    pub success: Bit,
}

/// The answer of a handler of this kind that ended with this code, or by a fault.
#[hdl_fn]
pub fn answer_of(handler: Bits<2>, code: Bits<8>, fault: Bit) -> Answer {
    Answer {
        process: !fault & ((code == PROCESS) | (code == PROCESS_PENDING)),
        dropped: !fault & ((code == DROP) | ((code == DROP_PENDING) & (handler == HEADER))),
        proceed: !fault & ((code == PROCEED) | (code == PROCEED_PENDING)),
        success: !fault & ((code == SUCCESS) | ((code == SUCCESS_PENDING) & (handler == COMPLETION))),
    }
}

/// Something that happened to a packet.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// One of the `EVENT_*` constants.
    pub kind: Bits<3>,
    /// Head cell of the packet.
    pub pkt: Bits<10>,
    /// Its message.
    pub slot: Bits<8>,
    /// Its frame number (arrival: to remember; command: to compare).
    pub frame: Bits<16>,
    /// Arrival: its payload bytes.
    pub payload_len: Bits<16>,
    /// Arrival: bytes of the message.
    pub total: Bits<32>,
    /// Arrival: later packets may join the message.
    pub named: Bit,
    /// Arrival: goes to a mailbox.
    pub mailbox: Bit,
    /// Arrival: an opcode that is not served.
    pub unsupported: Bit,
    /// Arrival: a live message has the key.
    pub hit: Bit,
    /// Arrival: a slot is free.
    pub free: Bit,
    /// Arrival: execution context.
    pub context: Bits<4>,
    /// Arrival: what the context has.
    pub status: ContextStatus,
    /// Task: kind of handler.
    pub handler: Bits<2>,
    /// Task: what the handler said.
    pub answer: Answer,
    /// Placement: written.
    pub placed: Bit,
    /// Placement: why not.
    pub reason: Bits<5>,
}

/// What is to be done about an event.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Ask for a handler.
    pub task: Bit,
    /// Which kind.
    pub handler: Bits<2>,
    /// Ask for a placement.
    pub place: Bit,
    /// That a handler wanted.
    pub from_handler: Bit,
    /// The packet waits for the header handler.
    pub append: Bit,
    /// The waiting packets of the message are to be looked at.
    pub splice: Bit,
    /// Return the packet's cells.
    pub free: Bit,
    /// Remember the packet.
    pub accept: Bit,
    /// Write the packet's state.
    pub write_packet: Bit,
    /// Write the message's state.
    pub write_message: Bit,
    /// Take the message slot.
    pub claim: Bit,
    /// Give the message slot back.
    pub release: Bit,
    /// A message ended well.
    pub message_done: Bit,
    /// A message ended because a handler failed.
    pub message_failed: Bit,
    /// What became of the frame, if it ended.
    pub outcome: Outcome,
    /// New state of the packet.
    pub packet: PacketState,
    /// New state of the message.
    pub message: MessageState,
}

/// See the head of this file.
#[derive(LogicBlock, Default)]
pub struct Evaluator {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    /// What happened.
    pub incident: Signal<In, Event>,
    /// State of the message (of the slot's former owner when a message begins).
    pub message: Signal<In, MessageState>,
    /// State of the packet (of the cell's former owner when it has just arrived).
    pub packet: Signal<In, PacketState>,
    /// Payload bytes of a packet that had arrived before.
    pub stored_len: Signal<In, Bits<16>>,
    /// What is to be done.
    pub verdict: Signal<Out, Verdict>,
    decided: DFF<Verdict>,
}

impl Logic for Evaluator {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, decided);
        let incident = self.incident.val();
        let arrives = incident.kind == EVENT_NEW;
        let done = incident.kind == EVENT_DONE;
        let placed = incident.kind == EVENT_PLACED;

        // An arrival joins a message, starts one, or is turned away.
        let unsupported = incident.mailbox & incident.unsupported;
        let inactive = !incident.mailbox & !incident.hit & !incident.status.active;
        let excess = incident.hit & self.message.val().complete;
        let no_slot = !incident.hit & !incident.free;
        let turned_away = arrives & (unsupported | inactive | excess | no_slot);
        let accepted = arrives & !turned_away;
        let starts = accepted & !incident.hit;

        // What the message was, and what a new one begins as. (Of an arrival that is turned away nothing is written, so this need
        // not wait for that decision.)
        let mut message: MessageState = self.message.val();
        if arrives & !incident.hit {
            message = MessageState {
                phase: if incident.mailbox {
                    bits::<3>(PHASE_PLACING)
                } else if incident.status.has_header {
                    bits::<3>(PHASE_HEADER)
                } else {
                    bits::<3>(PHASE_ACTIVE)
                },
                context: incident.context,
                mailbox: incident.mailbox,
                has_payload: incident.status.has_payload,
                has_completion: incident.status.has_completion & !incident.mailbox,
                missing: incident.total,
                complete: false,
                dropped: bits::<32>(0),
                flow_control: false,
                open: bits::<11>(0),
                waiting: false,
                wait_head: bits::<10>(0),
                wait_tail: bits::<10>(0),
            };
        }
        let mut packet: PacketState = self.packet.val();
        if arrives {
            packet = PacketState { alive: true, frame: incident.frame, slot: incident.slot, ..Default::default() };
        }

        // What a handler said.
        let header_done = done & (incident.handler == HEADER);
        let payload_done = done & (incident.handler == PAYLOAD);
        let completion_done = done & (incident.handler == COMPLETION);
        let says_drop = incident.answer.dropped;
        let says_success = incident.answer.success;
        let payload_failed = payload_done & !says_success & !says_drop;

        let mut phase: Bits<3> = message.phase;
        if header_done {
            phase = if incident.answer.process {
                bits::<3>(PHASE_ACTIVE)
            } else if says_drop {
                bits::<3>(PHASE_DROPPING)
            } else if incident.answer.proceed {
                bits::<3>(PHASE_PLACING)
            } else {
                bits::<3>(PHASE_FAILED)
            };
        } else if payload_failed {
            phase = bits::<3>(PHASE_FAILED);
        }

        // What the phase wants of a packet that has just arrived, has waited, or has had its header handler.
        let has_bytes = if arrives { incident.payload_len.any() } else { self.stored_len.val().any() };
        let apply = accepted | (incident.kind == EVENT_WALK) | header_done;
        let in_header = phase == PHASE_HEADER;
        let header_task = starts & in_header;
        let append = accepted & !starts & in_header;
        let payload_task = apply & (phase == PHASE_ACTIVE) & message.has_payload & has_bytes;
        let place_phase = apply & (phase == PHASE_PLACING) & !packet.place_asked;
        // A command counts only while the handler that gave it runs, and once.
        let place_command = (incident.kind == EVENT_PLACE)
            & packet.alive
            & packet.task_busy
            & !packet.place_asked
            & (packet.frame == incident.frame);
        let place = place_phase | place_command;
        let run_task = header_task | payload_task;

        // The packet's new state, and its end.
        let ends = (apply & !run_task & !append & !place_phase & !packet.place_busy)
            | (payload_done & !packet.place_busy)
            | (placed & !packet.task_busy);
        packet.task_busy = if apply { run_task } else { packet.task_busy & !payload_done };
        packet.place_busy = place | (packet.place_busy & !placed);
        packet.place_asked = packet.place_asked | place;
        packet.placed = packet.placed | (placed & incident.placed);
        packet.dropped = packet.dropped | (payload_done & says_drop) | (apply & (phase == PHASE_DROPPING));
        packet.failed = packet.failed | payload_failed | (apply & (phase == PHASE_FAILED));
        if placed & !incident.placed {
            packet.refused = true;
            packet.reason = incident.reason;
        }
        packet.alive = packet.alive & !ends;

        // The message's new state. Bytes are compared in halves: a packet has at most 64 KiB. All sums are of registers, chosen from
        // afterwards.
        let joined = self.message.val().missing;
        let joined_fills = !joined.get_bits::<16>(16).any() & (incident.payload_len >= joined.get_bits::<16>(0));
        let started_fills =
            !incident.total.get_bits::<16>(16).any() & (incident.payload_len >= incident.total.get_bits::<16>(0));
        let joined_left = joined - bit_cast::<32, 16>(incident.payload_len);
        let started_left = incident.total - bit_cast::<32, 16>(incident.payload_len);
        let dropped_sum = self.message.val().dropped + bit_cast::<32, 16>(self.stored_len.val());
        let fills = if incident.hit { joined_fills } else { started_fills };
        let complete = if accepted { fills } else { message.complete };
        let last_open = if accepted { !message.open.any() } else { message.open == 1 };
        let over = ends & last_open & complete;
        let runs_handlers = (phase == PHASE_ACTIVE) | (phase == PHASE_PLACING);
        let completion = over & runs_handlers & message.has_completion;
        let gives_back = (over & !completion) | completion_done;
        let failed = if completion_done { !says_success } else { phase == PHASE_FAILED };

        let waited = message.waiting;
        message.phase = if completion { bits::<3>(PHASE_COMPLETING) } else { phase };
        message.complete = complete;
        // Not written when the arrival is turned away; see above.
        if arrives {
            message.missing = if incident.hit { joined_left } else { started_left };
        }
        if payload_done & says_drop {
            message.dropped = dropped_sum;
        }
        message.flow_control =
            message.flow_control | (placed & !incident.placed & (incident.reason == NO_POSTED_BUFFER));
        if accepted & !ends {
            message.open = message.open + 1;
        } else if !accepted & ends {
            message.open = message.open - 1;
        }
        message.waiting = (waited & !header_done) | append;
        if append {
            message.wait_tail = incident.pkt;
            if !waited {
                message.wait_head = incident.pkt;
            }
        }

        // What the frame counts as.
        let mut reason: Bits<5> = bits::<5>(HANDLER_FAIL);
        if turned_away {
            reason = if unsupported {
                bits::<5>(UNSUPPORTED)
            } else if inactive {
                bits::<5>(NO_CONTEXT)
            } else if excess {
                bits::<5>(BAD_TRANSPORT)
            } else {
                bits::<5>(NO_MESSAGE_SLOT)
            };
        } else if !packet.failed {
            reason = if packet.dropped { bits::<5>(HANDLER_DROP) } else { packet.reason };
        }
        let refused = packet.failed | packet.dropped | packet.refused;

        self.decided.d.next = Verdict {
            task: run_task | completion,
            handler: if completion {
                bits::<2>(COMPLETION)
            } else if header_task {
                bits::<2>(HEADER)
            } else {
                bits::<2>(PAYLOAD)
            },
            place: place,
            from_handler: place_command | !message.mailbox,
            append: append,
            splice: header_done & waited,
            // The last packet's fields serve the completion handler, so its cells return with that.
            free: (ends & !completion) | turned_away | completion_done,
            accept: accepted,
            write_packet: !turned_away & !completion_done,
            write_message: !turned_away,
            claim: starts & !gives_back,
            release: gives_back & !starts,
            message_done: gives_back & !failed,
            message_failed: gives_back & failed,
            outcome: Outcome {
                handled: ends & !packet.placed & !refused,
                placed: ends & packet.placed,
                dropped: turned_away | (ends & !packet.placed & refused),
                reason: reason,
            },
            packet: packet,
            message: message,
        };
        self.verdict.next = self.decided.q.val();
    }
}
