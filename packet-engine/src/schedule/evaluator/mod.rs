//! Decides what an event means for its packet and its message: the rules of sPIN's order, in one cycle.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `event_in`, `recent`, `stored`, `packet` | scheduler: an event, and the states of its message and its packet |
//! | out `verdict` | scheduler: 1 cycle later, from registers |
//!
//! One event per cycle, also of one message: the state after the previous event is taken from the own output register (`same`),
//! the state after the event before that from `recent`, older ones from the memory (`stored`). The event arbiter keeps two events
//! of one packet apart.
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
//! It leaves a phase to the right when all its bytes have arrived and no packet is open, AGED when no packet is open. A message
//! that DROP or FAIL ended runs no further handlers, and its slot stays taken (a tombstone) until its bytes have arrived or the
//! message has been idle for the time after which a message ages.
//!
//! A packet of a message of several packets whose mailbox has no buffer posted leaves its sequence number free and has not
//! arrived: its bytes are missing again, and the message goes on with the retransmission.
//!
//! A packet of which handlers redirect bytes stays until all placements of them are over. Its own placement, its handlers and what it
//! counts as are not concerned.
//!
//! A task without a packet is a message that begins in COMPLETING, with its handler, and ends with it. It is *pending* from the start:
//! only a task that failed has an event.
//!
//! COMPLETE of a handler changes nothing but `completed` of its message: placements that are ordered later are not *pending*.
//!
//! A frame counts as PLACED when it was written to host memory, whatever the handler returns later; else as HANDLER_FAIL,
//! HANDLER_DROP or the reason of the refusal; else as HANDLED. A packet for a message that has all its bytes is a duplicate or
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
        let task_begins = ev.kind == EVENT_TASK;
        let looks = ev.kind == EVENT_AGE;
        let starts = ev.starts;
        let was = self.state_before();
        let moves = self.moves(was, arrives, looks);
        let old = self.packet_before(arrives);
        let requests = self.requests(was, old, moves, starts, resumes);
        // The message was dropped before, or its header handler drops it now: known before the phase.
        let finds = (moves.accepted & !ev.lost) | resumes;
        let drops = (finds & (was.phase == PHASE_DROPPING))
            | (moves.header_done & !moves.is_aged & moves.returned_drop & !ev.returned.process);

        let lost = moves.accepted & ev.lost;
        let bytes_placed = ev.kind == EVENT_BYTES_PLACED;
        let holds = (ev.kind == EVENT_BYTES) & self.is_of_handler(old);
        let placing = old.placement_busy | old.redirects.any();
        let ends = (requests.apply & !requests.run_task & !requests.append & !requests.place & !placing)
            | lost
            | (moves.payload_done & !placing)
            | (placed & !old.task_busy & !old.redirects.any())
            | (bytes_placed & !old.task_busy & !old.placement_busy & (old.redirects == 1));
        let mut packet: PacketState = self.packet_after(old, moves, requests, arrives, placed, lost, drops, ends);
        if holds {
            packet.redirects = old.redirects + 1;
        } else if bytes_placed {
            packet.redirects = old.redirects - 1;
        }

        // Bytes.
        let len = packet.payload_len;
        // A packet without a buffer in its mailbox is sent again under the same number, so it has not arrived.
        let returns = moves.unposted & was.mailbox & packet.sequenced;
        // A tombstone that ages waits for no more bytes and keeps its first error. The comparison of lengths is late, so
        // what depends on it joins the rest at the end of the message only.
        let filled = len >= was.missing.get_bits::<16>(0);
        let counts = moves.accepted & !was.by_field & !was.missing.get_bits::<16>(16).any();
        let known = if moves.accepted { was.by_field & ev.closes } else { (was.complete & !returns) | moves.ages };
        let complete = known | (counts & filled);

        // The message's end.
        let last_open = if moves.accepted { !was.open.any() } else { was.open == 1 };
        let last_ends = ends & last_open;
        let over = (last_ends & (known | (moves.phase == PHASE_AGED))) | ((last_ends & counts) & filled);
        let runs_handlers = (moves.phase == PHASE_ACTIVE) | (moves.phase == PHASE_PLACING);
        let completion = over & runs_handlers & was.has_completion;
        let gives_back = (over & !completion) | moves.completion_done | (moves.ages & !was.open.any());
        let failed = if moves.completion_done { !moves.returned_success } else { moves.phase == PHASE_FAILED };
        let aged = moves.phase == PHASE_AGED;
        let withheld = (was.pending | ev.returned.pending) & !failed & !aged;

        let waited = was.waiting;
        let closes = moves.accepted & ev.closes;
        let splice = (moves.header_done | (moves.opens & ev.short) | moves.ages) & waited;
        let mut message: MessageState = was;
        message.alive = if starts { !gives_back } else { was.alive & !gives_back & !ev.clear };
        message.phase = if completion { bits::<3>(PHASE_COMPLETING) } else { moves.phase };
        message.keyed = was.keyed & !closes & !moves.ages;
        message.pending = was.pending | ev.returned.pending;
        message.completed = was.completed | ev.completes;
        message.complete = complete;
        // Not written when the arrival is turned away.
        if arrives {
            message.missing = less(was.missing, len);
        } else if returns {
            message.missing = plus(was.missing, len);
        }
        if (moves.payload_done & moves.returned_drop) | lost | drops {
            message.dropped = plus(was.dropped, len);
        }
        message.flow_control = was.flow_control | lost | moves.bypassed | moves.unposted;
        if moves.accepted & !ends {
            message.open = was.open + 1;
        } else if !moves.accepted & ends {
            message.open = was.open - 1;
        }
        message.waiting = (waited & !splice) | requests.append;
        if requests.append {
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
        let reason = reason_of(ev, packet, moves.turned_away, moves.is_aged);
        let refused = packet.failed | packet.dropped | packet.refused;

        self.decided.d.next = Verdict {
            task: requests.run_task | completion | task_begins,
            handler: if task_begins {
                bits::<2>(kind::TASK)
            } else if completion {
                bits::<2>(kind::COMPLETION)
            } else if requests.header_task {
                bits::<2>(kind::HEADER)
            } else {
                bits::<2>(kind::PAYLOAD)
            },
            place: requests.place,
            from_handler: requests.placed_by_command
                | ((requests.placed_by_phase | requests.placed_by_bypass) & !was.mailbox),
            holds,
            append: requests.append,
            link: waited,
            wait_head: was.wait_head,
            wait_tail: was.wait_tail,
            splice,
            // The last packet's fields serve the completion handler, so its cells return with that.
            free: (ends & !completion) | moves.turned_away | (moves.completion_done & !ev.ends.task) | fast,
            accept: moves.accepted,
            write_packet: !moves.turned_away & !moves.completion_done & !looks & !fast & !task_begins & !ev.completes,
            write_message: !moves.turned_away & !fast,
            forget: was.keyed & (gives_back | moves.ages | closes),
            release: gives_back,
            fast,
            sends_event: !was.mailbox & !withheld,
            code: if aged {
                bits::<2>(CODE_AGED)
            } else if failed {
                bits::<2>(CODE_FAILED)
            } else if moves.phase == PHASE_DROPPING {
                bits::<2>(events::message::DROPPED)
            } else {
                bits::<2>(events::message::DONE)
            },
            outcome: Outcome {
                handled: ends & !packet.placed & !refused,
                placed: (ends & packet.placed) | (fast & ev.placed),
                dropped: moves.turned_away | (ends & !packet.placed & refused) | (fast & !ev.placed),
                reason,
            },
            packet,
            message,
        };
        self.verdict.next = self.decided.q.val();
    }

    /// State of the message before the event.
    fn state_before(&mut self) -> MessageState {
        let last = self.decided.q.val();
        if self.same.val() & last.write_message {
            last.message
        } else if self.recent_holds.val() {
            self.recent.val()
        } else {
            self.stored.val()
        }
    }

    /// State of the packet before the event.
    fn packet_before(&mut self, arrives: Bit) -> PacketState {
        let ev = self.event_in.val();
        if arrives {
            PacketState {
                alive: true,
                frame: ev.frame,
                payload_len: ev.payload_len,
                sequenced: ev.sequenced,
                ..Default::default()
            }
        } else {
            self.packet.val()
        }
    }

    /// How the event moves the message: an arrival joins a message, starts one, or is turned away.
    fn moves(&mut self, was: MessageState, arrives: Bit, looks: Bit) -> Moves {
        let ev = self.event_in.val();
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

        Moves {
            accepted,
            turned_away,
            bypassed,
            joins,
            is_aged,
            header_done,
            payload_done,
            completion_done,
            unposted,
            returned_drop,
            returned_success,
            opens,
            ages,
            phase,
        }
    }

    /// What the phase requests for a packet that has just arrived, has waited, or has had its header handler.
    fn requests(
        &mut self,
        was: MessageState,
        packet: PacketState,
        moves: Moves,
        starts: Bit,
        resumes: Bit,
    ) -> Requests {
        let ev = self.event_in.val();
        let has_bytes = packet.payload_len.any();
        let in_header = moves.phase == PHASE_HEADER;
        let header_task = moves.joins & (starts | moves.opens) & in_header;
        let append = moves.joins & ((in_header & !starts & !moves.opens) | (moves.phase == PHASE_WAITING));
        let apply = moves.joins | resumes | moves.header_done;
        let payload_task = apply & (moves.phase == PHASE_ACTIVE) & was.has_payload & has_bytes;
        let run_task = header_task | payload_task;
        let placed_by_phase = apply & (moves.phase == PHASE_PLACING) & !packet.placement_requested & !ev.to_host;
        let placed_by_bypass = moves.bypassed & !ev.to_host;
        let placed_by_rule = moves.accepted & ev.to_host & !ev.lost;
        // It counts once.
        let placed_by_command =
            (ev.kind == EVENT_PLACE) & !ev.completes & self.is_of_handler(packet) & !packet.placement_requested;
        let place = placed_by_phase | placed_by_bypass | placed_by_rule | placed_by_command;
        Requests { apply, header_task, run_task, append, place, placed_by_phase, placed_by_bypass, placed_by_command }
    }

    /// A command counts only while the handler that gave it runs.
    fn is_of_handler(&mut self, packet: PacketState) -> Bit {
        packet.alive & packet.task_busy & (packet.frame == self.event_in.val().frame)
    }

    /// State of the packet after the event.
    fn packet_after(
        &mut self,
        old: PacketState,
        moves: Moves,
        requests: Requests,
        arrives: Bit,
        placed: Bit,
        lost: Bit,
        drops: Bit,
        ends: Bit,
    ) -> PacketState {
        let ev = self.event_in.val();
        let mut packet: PacketState = old;
        packet.task_busy = if requests.apply | arrives {
            requests.run_task | requests.append
        } else {
            packet.task_busy & !moves.payload_done
        };
        packet.placement_busy = requests.place | (packet.placement_busy & !placed);
        packet.placement_requested = packet.placement_requested | requests.place;
        packet.placed = packet.placed | (placed & ev.placed);
        packet.dropped = packet.dropped | (moves.payload_done & moves.returned_drop) | drops;
        packet.failed = packet.failed | ev.ends.failed | (requests.apply & (moves.phase == PHASE_FAILED));
        if lost {
            packet.refused = true;
            packet.reason = bits::<5>(reasons::QUOTA);
        } else if requests.apply & (moves.phase == PHASE_AGED) {
            packet.refused = true;
            packet.reason = bits::<5>(reasons::MESSAGE_AGED);
        } else if placed & !ev.placed {
            packet.refused = true;
            packet.reason = ev.reason;
        }
        packet.alive = packet.alive & !ends;
        packet
    }
}
