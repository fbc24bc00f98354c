//! Decides what an event means for its packet and its message: the rules of sPIN's order, in one cycle.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `ev`, `recent`, `stored`, `packet` | scheduler: an event, and the states that it concerns |
//! | out `verdict` | scheduler: 1 cycle later, from registers |
//!
//! One event per cycle, also of one message: the state that the event before left is taken from the own output register
//! (`same`), that of the one before it from `recent`, older ones from the memory (`stored`). Two events of one packet are kept
//! apart by the chooser.
//!
//! A message goes through these phases:
//!
//! ```text
//!           first packet                  header handler returns
//!   (free) -------------> HEADER -----------+--> ACTIVE ----+--> COMPLETING --> (free)
//!      |   user header       ^              +--> PLACING ---+-------------------> (free)
//!      |   not there yet     | it came      +--> DROPPING ----------------------> (free)
//!      +---------------> WAITING            +--> FAILED   ----------------------> (free)
//!      |   no header handler                     ^ any handler of ACTIVE fails
//!      +------------------> ACTIVE
//!      |   mailbox, overload rule PLACE
//!      +------------------> PLACING         HEADER, WAITING, ACTIVE, PLACING, incomplete and idle: --> AGED --> (free)
//! ```
//!
//! It leaves a phase for the right when all its bytes have arrived and no packet is open, AGED when no packet is open. A message
//! that DROP or FAIL ended runs no further handlers, and its slot stays taken (a tombstone) until its bytes have arrived or it
//! has been idle for the same time.
//!
//! A packet of a multi-packet message whose mailbox has no buffer posted leaves its sequence number free and has not arrived: its bytes are
//! missing again, and the message goes on with its retransmission.
//!
//! What a frame counts as: PLACED when it was written to host memory, whatever the handler said of it later; else HANDLER_FAIL,
//! HANDLER_DROP or the reason of the refusal; else HANDLED. A packet for a message that has all its bytes is a duplicate or
//! contradicts the message length: BAD_TRANSPORT.

mod rules;
pub mod types;

pub use types::*;

use crate::schedule::message::*;
use rules::{less, phase_after, plus, reason_of};
use spindle_contract::{descriptors::kind, events, reasons};
use spindle_verilog::prelude::*;

/// [`Verdict::code`]: a handler failed.
pub const CODE_FAILED: u64 = events::message::FAILED as u64;
/// [`Verdict::code`]: it took too long.
pub const CODE_AGED: u64 = events::message::AGED as u64;
/// Scans without an event after which an incomplete message ages.
const OLD: u64 = 2;

/// See the head of this file.
#[block(no_reset)]
pub struct Evaluator {
    /// What happened.
    pub event_in: Signal<In, Event>,
    /// State of the message as the memory has it.
    pub stored: Signal<In, MessageState>,
    /// State with which a message begins, or which the event two before this one left.
    pub recent: Signal<In, MessageState>,
    /// `recent` holds.
    pub recent_holds: Signal<In, Bit>,
    /// The event before this one was of the same message.
    pub same: Signal<In, Bit>,
    /// State of the packet (of the cell's former owner when it has just arrived).
    pub packet: Signal<In, PacketState>,
    /// What is to be done.
    pub verdict: Signal<Out, Verdict>,
    decided: DFF<Verdict>,
}

#[hdl]
impl Evaluator {
    fn update(&mut self) {
        let ev = self.event_in.val();
        let arrives = ev.kind == EVENT_NEW;
        let resumes = ev.kind == EVENT_RESUME;
        let placed = ev.kind == EVENT_PLACED;
        let fast = ev.kind == EVENT_FAST;
        let looks = ev.kind == EVENT_AGE;
        let starts = ev.starts;

        let last = self.decided.q.val();
        let was: MessageState = if self.same.val() & last.write_message {
            last.message
        } else if self.recent_holds.val() {
            self.recent.val()
        } else {
            self.stored.val()
        };
        let mut packet: PacketState = self.packet.val();
        if arrives {
            packet = PacketState {
                alive: true,
                frame: ev.frame,
                payload_len: ev.payload_len,
                sequenced: ev.sequenced,
                ..Default::default()
            };
        }

        // An arrival joins a message, starts one, or is turned away.
        let is_aged = was.phase == PHASE_AGED;
        let excess = ev.hit & (was.complete | is_aged | !was.alive);
        let turned_away = arrives & (ev.refused | excess);
        let accepted = arrives & !ev.refused & !excess;
        let no_more = (was.phase == PHASE_DROPPING) | (was.phase == PHASE_FAILED);
        let bypassed = accepted & ev.bypass & !no_more & (was.phase != PHASE_PLACING);
        let joins = accepted & !ev.lost & !bypassed;

        // What a handler said, and what else moves the message to another phase.
        let header_done = ev.ends.header;
        let payload_done = ev.ends.payload;
        let completion_done = ev.ends.completion;
        let unposted = ev.ends.unposted;
        let returned_drop = ev.returned.dropped;
        let returned_success = ev.returned.success;
        let opens = accepted & ev.first & (was.phase == PHASE_WAITING);
        let stuck = !was.complete | (was.phase == PHASE_WAITING);
        let ages =
            looks & !ev.clear & was.alive & (was.idle == OLD) & stuck & (was.phase != PHASE_COMPLETING) & !is_aged;

        let phase = phase_after(was, ev, opens, ages);

        // What the phase wants of a packet that has just arrived, has waited, or has had its header handler.
        let has_bytes = packet.payload_len.any();
        let in_header = phase == PHASE_HEADER;
        let header_task = joins & (starts | opens) & in_header;
        let append = joins & ((in_header & !starts & !opens) | (phase == PHASE_WAITING));
        let apply = joins | resumes | header_done;
        let payload_task = apply & (phase == PHASE_ACTIVE) & was.has_payload & has_bytes;
        let run_task = header_task | payload_task;
        let placed_by_phase = apply & (phase == PHASE_PLACING) & !packet.placement_requested & !ev.to_host;
        let placed_by_bypass = bypassed & !ev.to_host;
        let placed_by_rule = accepted & ev.to_host & !ev.lost;
        // A command counts only while the handler that gave it runs, and once.
        let placed_by_command = (ev.kind == EVENT_PLACE)
            & packet.alive
            & packet.task_busy
            & !packet.placement_requested
            & (packet.frame == ev.frame);
        let place = placed_by_phase | placed_by_bypass | placed_by_rule | placed_by_command;

        // It finds the message dropped, or its header handler drops it; known before the phase is.
        let finds = (accepted & !ev.lost) | resumes;
        let drops =
            (finds & (was.phase == PHASE_DROPPING)) | (header_done & !is_aged & returned_drop & !ev.returned.process);

        // The packet's new state, and its end.
        let lost = accepted & ev.lost;
        let ends = (apply & !run_task & !append & !place & !packet.placement_busy)
            | lost
            | (payload_done & !packet.placement_busy)
            | (placed & !packet.task_busy);
        packet.task_busy = if apply | arrives { run_task | append } else { packet.task_busy & !payload_done };
        packet.placement_busy = place | (packet.placement_busy & !placed);
        packet.placement_requested = packet.placement_requested | place;
        packet.placed = packet.placed | (placed & ev.placed);
        packet.dropped = packet.dropped | (payload_done & returned_drop) | drops;
        packet.failed = packet.failed | ev.ends.failed | (apply & (phase == PHASE_FAILED));
        if lost {
            packet.refused = true;
            packet.reason = bits::<5>(reasons::QUOTA);
        } else if apply & (phase == PHASE_AGED) {
            packet.refused = true;
            packet.reason = bits::<5>(reasons::MESSAGE_AGED);
        } else if placed & !ev.placed {
            packet.refused = true;
            packet.reason = ev.reason;
        }
        packet.alive = packet.alive & !ends;

        // Bytes.
        let len = packet.payload_len;
        // What a mailbox had no buffer for is sent again under the same number, so it has not arrived.
        let returns = unposted & was.mailbox & packet.sequenced;
        // A tombstone that ages waits for no more bytes, and keeps its first error. The comparison of lengths is late: what it
        // decides alone and what is known without it are kept apart up to the end of the message.
        let filled = len >= was.missing.get_bits::<16>(0);
        let counts = accepted & !was.by_field & !was.missing.get_bits::<16>(16).any();
        let known = if accepted { was.by_field & ev.closes } else { (was.complete & !returns) | ages };
        let complete = known | (counts & filled);

        // The message's end.
        let last_open = if accepted { !was.open.any() } else { was.open == 1 };
        let last_ends = ends & last_open;
        let over = (last_ends & (known | (phase == PHASE_AGED))) | ((last_ends & counts) & filled);
        let runs_handlers = (phase == PHASE_ACTIVE) | (phase == PHASE_PLACING);
        let completion = over & runs_handlers & was.has_completion;
        let gives_back = (over & !completion) | completion_done | (ages & !was.open.any());
        let failed = if completion_done { !returned_success } else { phase == PHASE_FAILED };
        let aged = phase == PHASE_AGED;
        let withheld = (was.pending | ev.returned.pending) & !failed & !aged;

        let waited = was.waiting;
        let closes = accepted & ev.closes;
        let splice = (header_done | (opens & ev.short) | ages) & waited;
        let mut message: MessageState = was;
        message.alive = if starts { !gives_back } else { was.alive & !gives_back & !ev.clear };
        message.phase = if completion { bits::<3>(PHASE_COMPLETING) } else { phase };
        message.keyed = was.keyed & !closes & !ages;
        message.pending = was.pending | ev.returned.pending;
        message.complete = complete;
        // Not written when the arrival is turned away.
        if arrives {
            message.missing = less(was.missing, len);
        } else if returns {
            message.missing = plus(was.missing, len);
        }
        if (payload_done & returned_drop) | lost | drops {
            message.dropped = plus(was.dropped, len);
        }
        message.flow_control = was.flow_control | lost | bypassed | unposted;
        if accepted & !ends {
            message.open = was.open + 1;
        } else if !accepted & ends {
            message.open = was.open - 1;
        }
        message.waiting = (waited & !splice) | append;
        if append {
            message.wait_tail = ev.pkt;
            if !waited {
                message.wait_head = ev.pkt;
            }
        }
        message.idle = if looks & !was.idle.get_bit(1) {
            was.idle + 1
        } else if looks {
            was.idle
        } else {
            bits::<2>(0)
        };

        // What the frame counts as.
        let reason = reason_of(ev, packet, turned_away, is_aged);
        let refused = packet.failed | packet.dropped | packet.refused;

        self.decided.d.next = Verdict {
            task: run_task | completion,
            handler: if completion {
                bits::<2>(kind::COMPLETION)
            } else if header_task {
                bits::<2>(kind::HEADER)
            } else {
                bits::<2>(kind::PAYLOAD)
            },
            place: place,
            from_handler: placed_by_command | ((placed_by_phase | placed_by_bypass) & !was.mailbox),
            append: append,
            link: waited,
            wait_head: was.wait_head,
            wait_tail: was.wait_tail,
            splice: splice,
            // The last packet's fields serve the completion handler, so its cells return with that.
            free: (ends & !completion) | turned_away | completion_done | fast,
            accept: accepted,
            write_packet: !turned_away & !completion_done & !looks & !fast,
            write_message: !turned_away & !fast,
            forget: was.keyed & (gives_back | ages | closes),
            release: gives_back,
            fast: fast,
            sends_event: !was.mailbox & !withheld,
            code: if aged {
                bits::<2>(CODE_AGED)
            } else if failed {
                bits::<2>(CODE_FAILED)
            } else if phase == PHASE_DROPPING {
                bits::<2>(events::message::DROPPED)
            } else {
                bits::<2>(events::message::DONE)
            },
            outcome: Outcome {
                handled: ends & !packet.placed & !refused,
                placed: (ends & packet.placed) | (fast & ev.placed),
                dropped: turned_away | (ends & !packet.placed & refused) | (fast & !ev.placed),
                reason: reason,
            },
            packet: packet,
            message: message,
        };
        self.verdict.next = self.decided.q.val();
    }
}
