//! The payload scheduler: packets in, tasks and placements out, in sPIN's order.
//!
//! One event per cycle goes through a pipeline: a packet arrived, a packet's wait for its header handler is over, a task ended, a
//! placement ended, a handler commands a placement, the age of a message is checked, a task without a packet is due.
//!
//! | stage | what happens |
//! |---|---|
//! | C, choose | the [`EventArbiter`] takes an event; an arrival is looked up and stored |
//! | L, look up | the packet's state is addressed, the context's limits are read |
//! | R, resolve | an arrival joins its message, begins one, or is turned away; the message's state is addressed |
//! | E, evaluate | the [`Evaluator`] decides |
//! | A, act | states, lists, orders, free cells, counters |
//!
//! Packets that wait for a header handler form a list per message. When the handler returns, the list is appended to the *ready
//! list*, from which packets are taken one at a time. [`Dispatch`] holds the packets' fields and the orders that cannot leave at
//! once.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `packet`, `packet_intake` | ingress join |
//! | out `free` | packet buffer: cells to return |
//! | out `task_desc`, `task_valid` | HPU array: always taken |
//! | in `task_done` | HPU array |
//! | in `place` | HPU array; must be taken before the `task_done` of the same handler is offered |
//! | in `contexts`, `policy`, `task_room` | HPU array: status of contexts; policy of a new one; HPUs with room for one task more |
//! | in `due`, `due_alive` / out `task_judged`, `task_taken` | task timers: a task that is due, and 3 cycles later whether it begins |
//! | out `bytes_answer` | packet engine: a redirect of bytes is over |
//! | out `placement` / in `placement_done`, `placement_outcome` | RVMA engine; the outcome of a packet comes before its `placement_done` |
//! | out `message_event` | RVMA engine: ends of messages |
//! | out `pending_end` | RVMA engine: COMPLETE of handlers, and ends of messages that were pending, in their order |
//! | out `psn_commit` | PSN filter: one pulse per sequenced packet that was taken, once its disposition is known |
//! | out `report` | responder: in the same cycle, for every sequenced packet and for others that were refused |
//! | in `timeout`, `live_index`, `host_process`, `host_mailbox` / out `live` | registers |
//! | out `counts` | registers |
//! | out `end_trace` | trace ports: frame and message of an event, in the cycle of `counts`, from registers |
//!
//! Cycles: one event each, also of one message; two events of one packet are at least four cycles apart. `packet_valid` of a
//! new message → order 4; `task_done_valid` → order 5. No event waits for the array or for host memory, only for the packet
//! buffer to take back cells and for the RVMA engine to take the events of ended messages. After reset nothing is taken for as
//! many cycles as there are message slots.
//!
//! A packet that is a whole message for a mailbox takes the fast path: it goes straight to `placement` (1 per cycle, 1 cycle),
//! with `has_slot` = 0, and its cells return when the RVMA engine has ended its placement. So does a frame for the host window.
//! Redirects of bytes share this path: [`ByteRedirects`] hands them over once the packet is known to stay.

use crate::bundles::SchedulerCountsSource;
use crate::dispatch::Dispatch;
use crate::ingress::arrival::{arrival_of, Arrival, Intake};
use crate::schedule::admission::{admission_of, admitted, first_state, task_state, AdmissionInputs};
use crate::schedule::age_scan::AgeScan;
use crate::schedule::byte_redirects::ByteRedirects;
use crate::schedule::dispositions::Dispositions;
use crate::schedule::evaluator::*;
use crate::schedule::event_arbiter::EventArbiter;
use crate::schedule::message::*;
use crate::schedule::message_index::MessageIndex;
use crate::schedule::message_report::{MessageEnd, MessageName, MessageReport};
use crate::schedule::quota::Quota;
use crate::schedule::ready_list::ReadyList;
use crate::schedule::task_timers::types::DueTask;
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_blocks::{
    Command, ContextStatus, EndTrace, EventDesc, Fifo, PacketDesc, PacketReport, PendingEnd, PlacementDesc,
    PlacementDone, PlacementOutcome, PolicySink, PutDone, TaskDesc, TaskDone,
};
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// Level of the lists of returned cells and of pending messages that are done, from which nothing new is begun: at most six
/// more come.
const FREE_STOP: u64 = 24;

/// See the head of this file.
#[block]
pub struct PayloadScheduler {
    /// Accepted packet.
    pub packet: Sink<PacketDesc>,
    /// Route of that packet.
    pub packet_intake: Signal<In, Intake>,
    /// Packet whose cells return.
    pub free: Source<Bits<10>>,
    /// Task for the array.
    pub task_desc: Signal<Out, TaskDesc>,
    /// A task leaves.
    pub task_valid: Signal<Out, Bit>,
    /// HPUs that can take one task more than before.
    pub task_room: Signal<In, Bits<32>>,
    /// Ended task.
    pub task_done: Sink<TaskDone>,
    /// PLACE, REDIRECT or COMPLETE command of a handler.
    pub place: Sink<Command>,
    /// `ContextStatus` of context c in bits 4c+3..4c.
    pub contexts: Signal<In, Bits<64>>,
    /// Policy of a context that was installed.
    pub policy: PolicySink,
    /// Process of the host window.
    pub host_process: Signal<In, Bits<6>>,
    /// Mailbox of the host window.
    pub host_mailbox: Signal<In, Bits<16>>,
    /// Task that is due.
    pub due: Sink<DueTask>,
    /// Its context may still run it.
    pub due_alive: Signal<In, Bit>,
    /// The task that was taken last is judged:
    pub task_judged: Signal<Out, Bit>,
    /// it has begun; else its context has no room for it.
    pub task_taken: Signal<Out, Bit>,
    /// Placement for the RVMA engine.
    pub placement: Source<PlacementDesc>,
    /// Ended placement.
    pub placement_done: Sink<PlacementDone>,
    /// End of a redirect of bytes.
    pub bytes_answer: Source<PutDone>,
    /// End of a message.
    pub message_event: Source<EventDesc>,
    /// A pending message is done.
    pub pending_end: Source<PendingEnd>,
    /// Commit of a sequenced packet.
    pub psn_commit: Pulse<PsnCommit>,
    /// Report of a packet whose source gets an answer.
    pub report: Pulse<PacketReport>,
    /// Answer of a mailbox to a packet, before its `placement_done`.
    pub placement_outcome: PulseSink<PlacementOutcome>,
    /// Time after which a message ages, in units of 1024 cycles; 0 = never.
    pub timeout: Signal<In, Bits<16>>,
    /// Context whose live messages are counted in `live`.
    pub live_index: Signal<In, Bits<4>>,
    /// Their number, 1 cycle later.
    pub live: Signal<Out, Bits<9>>,
    /// What the registers count, from registers.
    pub counts: SchedulerCountsSource,
    /// Which frame ended or joined a message.
    pub end_trace: Signal<Out, EndTrace>,
    event_arbiter: EventArbiter,
    message_index: MessageIndex,
    quota: Quota,
    evaluator: Evaluator,
    dispatch: Dispatch,
    age_scan: AgeScan,
    byte_redirects: ByteRedirects,
    message_report: MessageReport,
    freed: Fifo<Bits<10>, 5>,
    pending_ends: Fifo<PendingEnd, 5>,
    packets: SdpMemory<PacketState, 10>,
    messages: SdpMemory<MessageState, 8>,
    dispositions: Dispositions,
    ready_list: ReadyList,
    has_room: Reg<Bit>,
    /// The fast path takes a redirect of bytes next, if there is one.
    bytes_turn: Reg<Bit>,
    l_valid: Reg<Bit>,
    l_event: DFF<Event>,
    l_arrival: DFF<Arrival>,
    r_valid: Reg<Bit>,
    r_event: DFF<Event>,
    r_arrival: DFF<Arrival>,
    r_status: DFF<ContextStatus>,
    /// The arrival one, and two, before this one has the same key.
    r_near: [DFF<Bit>; 2],
    e_valid: Reg<Bit>,
    e_event: DFF<Event>,
    e_arrival: DFF<Arrival>,
    e_recent: DFF<MessageState>,
    e_recent_holds: DFF<Bit>,
    e_same: DFF<Bit>,
    /// The next arrival with the same key belongs to the same message.
    e_alive: Reg<Bit>,
    a_valid: Reg<Bit>,
    a_event: DFF<Event>,
    a_alive: Reg<Bit>,
    outcome_out: Reg<Outcome>,
    of_context_out: DFF<Bit>,
    context_out: DFF<Bits<4>>,
    traced: Reg<EndTrace>,
    judged_out: Reg<Bit>,
    taken_out: DFF<Bit>,
    done_out: Reg<Bit>,
    failed_out: Reg<Bit>,
    aged_out: Reg<Bit>,
    to_hpu_out: Reg<Bit>,
    to_mailbox_out: Reg<Bits<2>>,
    to_host_out: Reg<Bit>,
}

impl PayloadScheduler {
    /// A scheduler for the message slots, cells and clusters of `config`.
    pub fn new(config: &Config) -> Self {
        let (slots, cells) = (config.live_messages, config.cells());
        Self {
            message_index: MessageIndex::new(slots, RamStyle::on(config, slots)),
            dispatch: Dispatch::new(config),
            age_scan: AgeScan::new(slots),
            byte_redirects: ByteRedirects::new(config),
            message_report: MessageReport::new(slots, RamStyle::on(config, slots)),
            packets: SdpMemory::with_depth(RamStyle::sparing(cells), 2, cells),
            messages: SdpMemory::with_depth(RamStyle::on(config, slots), 1, slots),
            dispositions: Dispositions::new(cells),
            ready_list: ReadyList::new(cells),
            ..Self::blank()
        }
    }
}

#[hdl]
impl PayloadScheduler {
    fn update(&mut self) {
        let fast_taken = self.choose();
        self.look_up();
        self.resolve();
        self.evaluate();
        let message = self.evaluator.verdict.val().message;
        let arrived = self.write_back(message);
        self.keep_lists();
        self.send_orders(message);
        self.end_packets(message, arrived);
        self.count(fast_taken);
    }

    /// C: choose. A whole message for a mailbox takes the fast path; the other arrivals are events. Returns whether a
    /// packet takes the fast path.
    fn choose(&mut self) -> Bit {
        let packet = self.packet.val();
        let intake = self.packet_intake.val();
        let fast = intake.fast;
        let fast_order = PlacementOrder { pkt: packet.pkt, ..Default::default() };
        let terms = terms_of(packet);
        let placement = placement_of(fast_order, false, stored(packet), terms);
        let arrives = self.packet.valid.val() & fast;
        let bytes_wait = self.byte_redirects.placement.valid.val();
        let bytes_go = bytes_wait & (self.bytes_turn.q.val() | !arrives);
        self.dispatch.fast.next = if bytes_go {
            self.byte_redirects.placement.val()
        } else if intake.host {
            whole_frame(placement, packet, self.host_process.val(), self.host_mailbox.val())
        } else {
            placement
        };
        self.dispatch.fast.valid.next = arrives | bytes_wait;
        let fast_moves = self.dispatch.fast.ready.val();
        self.byte_redirects.placement.ready.next = bytes_go & fast_moves;
        self.bytes_turn.load((arrives | bytes_wait) & fast_moves, !bytes_go);
        let fast_taken = arrives & !bytes_go & fast_moves;

        self.task_done.join(&mut self.event_arbiter.task_done);
        self.place.join(&mut self.event_arbiter.place);
        self.placement_done.join(&mut self.byte_redirects.placement_done);
        self.byte_redirects.ended.join(&mut self.event_arbiter.placement_done);
        self.event_arbiter.byte_redirect.join(&mut self.byte_redirects.command);
        self.byte_redirects.answer.join(&mut self.bytes_answer);
        self.event_arbiter.arrival.next = self.packet.valid.val() & !fast;
        self.event_arbiter.arrival_pkt.next = packet.pkt;
        self.ready_list.head.join(&mut self.event_arbiter.ready_packet);
        self.due.join(&mut self.event_arbiter.due);
        self.age_scan.timeout.next = self.timeout.val();
        self.age_scan.check.join(&mut self.event_arbiter.age_check);
        self.has_room.d.next = (self.freed.level.val() < FREE_STOP)
            & (self.pending_ends.level.val() < FREE_STOP)
            & self.message_report.room.val();
        self.event_arbiter.room.next = self.has_room.q.val();
        let take_arrival = self.event_arbiter.take_arrival.val();
        self.packet.ready.next = if fast { fast_moves & !bytes_go } else { take_arrival };
        self.dispositions.store.next = take_arrival | fast_taken;
        self.dispositions.packet.next = packet;

        let mut chosen: Event = self.event_arbiter.chosen.val();
        chosen.payload_len = packet.payload_len;
        chosen.mailbox = intake.for_mailbox & (chosen.kind != EVENT_TASK);
        chosen.named = take_arrival & !intake.single;
        chosen.by_field = intake.by_field;
        chosen.sequenced = packet.sequenced;
        chosen.closes = take_arrival & intake.by_field & packet.ends;
        chosen.to_host = take_arrival & packet.to_host & !intake.for_mailbox;
        if take_arrival {
            chosen.frame = packet.frame;
            chosen.context = packet.context;
        }
        let arrival = arrival_of(packet, intake);
        self.l_valid.d.next = self.event_arbiter.chosen.valid.val();
        self.l_event.d.next = chosen;
        self.l_arrival.d.next = arrival;
        self.message_index.lookup.next = arrival.key;
        self.message_index.lookup_hash.next = arrival.hash;
        self.dispatch.store.next = take_arrival;
        self.dispatch.store_pkt.next = packet.pkt;
        self.dispatch.store_packet.next = stored(packet);
        self.dispatch.store_terms.next = terms;
        fast_taken
    }

    /// L: look up.
    fn look_up(&mut self) {
        let l_event = self.l_event.q.val();
        let l_arrives = self.l_valid.q.val() & (l_event.kind == EVENT_NEW);
        self.packets.read(true, l_event.pkt);
        self.quota.enters.next = l_arrives & !l_event.mailbox;
        self.quota.lookup_context.next = l_event.context;
        self.r_valid.d.next = self.l_valid.q.val();
        self.r_event.d.next = l_event;
        self.r_arrival.load(self.l_valid.q.val(), self.l_arrival.q.val());
        let at = (l_event.context, bits::<2>(0)).cat::<6>();
        self.r_status.d.next = unpack::<ContextStatus, 4>(self.contexts.val().get_bits::<4>(at.index()));
        let l_key = self.l_arrival.q.val().key;
        let like_r = eq(self.r_arrival.q.val().key, l_key);
        let like_e = eq(self.e_arrival.q.val().key, l_key);
        self.r_near[0].d.next = self.r_valid.q.val() & self.r_event.q.val().named & like_r;
        self.r_near[1].d.next = self.e_valid.q.val() & self.e_event.q.val().named & like_e;
    }

    /// R: resolve. The index does not have the two arrivals before this one yet.
    fn resolve(&mut self) {
        let r_event = self.r_event.q.val();
        let r_arrival = self.r_arrival.q.val();
        let status = self.r_status.q.val();
        let arrives = self.r_valid.q.val() & (r_event.kind == EVENT_NEW);
        let mut known: Bit = self.message_index.hit.val();
        let mut known_slot: Bits<8> = self.message_index.hit_slot.val();
        if self.r_near[0].q.val() {
            known = self.e_alive.q.val();
            known_slot = self.e_event.q.val().slot;
        } else if self.r_near[1].q.val() {
            known = self.a_alive.q.val();
            known_slot = self.a_event.q.val().slot;
        }
        let inputs = AdmissionInputs {
            known,
            free: self.message_index.free.val(),
            can_insert: self.message_index.can_insert.val(),
            packets_full: self.quota.packets_full.val(),
            messages_full: self.quota.messages_full.val(),
            overload: self.quota.overload.val(),
            user_header: self.quota.user_header.val(),
        };
        let admission = admission_of(arrives, r_event, r_arrival, status, inputs);
        let hit = admission.hit;
        // A task without a packet begins like a message, or tries again.
        let is_task = self.r_event.q.val().kind == EVENT_TASK;
        let of_task = self.r_valid.q.val() & is_task;
        let task_starts = of_task & status.active & self.due_alive.val() & inputs.free & !inputs.messages_full;
        let starts = admission.starts | task_starts;
        let slot = if hit {
            known_slot
        } else if arrives | is_task {
            self.message_index.free_slot.val()
        } else {
            r_event.slot
        };
        self.dispositions.lookup_pkt.next = r_event.pkt;
        self.placement_outcome.join(&mut self.dispositions.placement_outcome);
        self.message_index.claim.next = starts;
        self.quota.starts.next = starts & !r_event.mailbox;
        self.messages.read(true, slot);

        self.e_valid.d.next = self.r_valid.q.val() & (!is_task | task_starts);
        let mut e_event: Event = admitted(arrives, r_event, r_arrival, inputs, admission, slot);
        if is_task {
            e_event.starts = true;
            e_event.pkt = bit_cast::<10, 8>(slot);
        }
        self.e_event.d.next = e_event;
        self.begin_task(of_task, task_starts, slot);
        self.e_arrival.load(self.r_valid.q.val(), r_arrival);
        self.e_alive.d.next = (hit | starts) & !(r_event.closes & !admission.refused);
        let verdict = self.evaluator.verdict.val();
        self.e_recent.d.next = if is_task {
            task_state(r_event.context)
        } else if starts {
            first_state(r_event, r_arrival, status, admission)
        } else {
            verdict.message
        };
        let writes = self.a_valid.q.val() & verdict.write_message;
        self.e_recent_holds.d.next = starts | (writes & (self.a_event.q.val().slot == slot));
        self.e_same.d.next = !starts & self.e_valid.q.val() & (self.e_event.q.val().slot == slot);
    }

    /// R: a task without a packet is stored under its slot, in a cycle in which no arrival is, and judged.
    fn begin_task(&mut self, of_task: Bit, task_starts: Bit, slot: Bits<8>) {
        self.dispatch.store_task.next = task_starts;
        self.dispatch.store_slot.next = slot;
        self.dispatch.stored_task.next = self.due.val();
        self.judged_out.d.next = of_task;
        self.taken_out.d.next = task_starts;
        self.task_judged.next = self.judged_out.q.val();
        self.task_taken.next = self.taken_out.q.val();
    }

    /// E: evaluate.
    fn evaluate(&mut self) {
        let e_event = self.e_event.q.val();
        let e_arrival = self.e_arrival.q.val();
        let begins = self.e_valid.q.val() & e_event.starts;
        self.message_index.insert.next = begins & e_event.named & !e_event.closes;
        self.message_index.insert_key.next = e_arrival.key;
        self.message_index.insert_hash.next = e_arrival.hash;
        self.message_index.insert_slot.next = e_event.slot;
        self.message_report.starts.next = begins;
        self.message_report.start_slot.next = e_event.slot;
        self.message_report.start_name.next = if e_event.kind == EVENT_TASK {
            MessageName { addr: self.due.val().task.argument, ..Default::default() }
        } else {
            MessageName {
                msg_id: e_arrival.key.msg_id,
                src_nid: e_arrival.key.src_nid,
                addr: e_arrival.addr,
                total: e_arrival.total,
            }
        };
        self.evaluator.event_in.next = e_event;
        self.evaluator.stored.next = self.messages.read_data.val();
        self.evaluator.recent.next = self.e_recent.q.val();
        self.evaluator.recent_holds.next = self.e_recent_holds.q.val();
        self.evaluator.same.next = self.e_same.q.val();
        self.evaluator.packet.next = self.packets.read_data.val();
        self.a_valid.d.next = self.e_valid.q.val();
        self.a_event.d.next = e_event;
        self.a_alive.d.next = self.e_alive.q.val();

        // The packets whose state is in the pipeline.
        self.event_arbiter.flight_pkt[0].next = self.l_event.q.val().pkt;
        self.event_arbiter.flight_pkt[1].next = self.r_event.q.val().pkt;
        self.event_arbiter.flight_pkt[2].next = e_event.pkt;
    }

    /// A: act. States, message index, quotas, events of messages. Returns whether the event is an arrival.
    fn write_back(&mut self, message: MessageState) -> Bit {
        let verdict = self.evaluator.verdict.val();
        let acts = self.a_valid.q.val();
        let acted = self.a_event.q.val();
        self.messages.write(acts & verdict.write_message, acted.slot, message);
        self.packets.write(acts & verdict.write_packet, acted.pkt, verdict.packet);
        self.message_index.give_back.next = acts & verdict.release;
        self.message_index.remove.next = acts & verdict.forget;
        self.message_index.give_back_slot.next = acted.slot;
        let arrived = acted.kind == EVENT_NEW;
        let of_context = if arrived { !acted.mailbox } else { !message.mailbox & (acted.kind != EVENT_FAST) };
        self.quota.packet_leaves.next = acts & verdict.free & of_context;
        self.quota.message_ends.next = acts & verdict.release & !message.mailbox;
        let owner = if arrived { acted.context } else { message.context };
        self.quota.owner.next = owner;
        self.of_context_out.d.next = of_context;
        self.context_out.d.next = owner;
        self.quota.clear.next = acts & acted.clear;
        self.quota.clear_index.next = acted.slot.get_bits::<4>(0);
        self.message_report.report.next = acts & verdict.release & verdict.sends_event;
        self.message_report.slot.next = acted.slot;
        self.message_report.ended.next = MessageEnd {
            context: message.context,
            code: verdict.code,
            flow_control: message.flow_control,
            dropped: message.dropped,
            by_field: message.by_field,
            task: acted.ends.task,
            missing: message.missing,
        };
        self.policy.join(&mut self.quota.policy);
        self.quota.pid_index.next = self.message_report.pid_index.val();
        self.message_report.pid.next = self.quota.pid.val();
        self.quota.live_index.next = self.live_index.val();
        self.live.next = self.quota.live.val();
        self.message_report.message_event.join(&mut self.message_event);
        let ended = verdict.release & (message.pending | message.completed);
        self.pending_ends.write.offer(
            acts & (ended | acted.completes),
            PendingEnd { msg_slot: acted.slot, frame: verdict.packet.frame, ended: verdict.release },
        );
        self.pending_ends.read.join(&mut self.pending_end);
        arrived
    }

    /// A: the lists of packets that wait.
    fn keep_lists(&mut self) {
        let acts = self.a_valid.q.val();
        let acted = self.a_event.q.val();
        let verdict = self.evaluator.verdict.val();
        self.ready_list.append.next = acts & verdict.append;
        self.ready_list.linked.next = verdict.link;
        self.ready_list.splice.next = acts & verdict.splice;
        self.ready_list.pkt.next = acted.pkt;
        self.ready_list.slot.next = acted.slot;
        self.ready_list.wait_head.next = verdict.wait_head;
        self.ready_list.wait_tail.next = verdict.wait_tail;
    }

    /// A: orders of tasks and placements.
    fn send_orders(&mut self, message: MessageState) {
        let acts = self.a_valid.q.val();
        let acted = self.a_event.q.val();
        let verdict = self.evaluator.verdict.val();
        let e_event = self.e_event.q.val();
        self.dispatch.prefetch.next = Prefetch {
            pkt: e_event.pkt,
            bare: e_event.kind == EVENT_TASK,
            slot: e_event.slot,
            context: e_event.context,
        };
        self.dispatch.order.next = Order {
            pkt: acted.pkt,
            slot: acted.slot,
            context: message.context,
            kind: verdict.handler,
            from_handler: verdict.from_handler,
            pending: message.pending & !message.completed,
            redirected: acted.redirects,
            dropped: message.dropped,
            flow_control: message.flow_control,
        };
        let redirect_to = self.event_arbiter.redirect_to.val();
        self.quota.redirect_context.next = redirect_to.context;
        self.dispatch.redirect.next = acts & verdict.place & acted.redirects;
        self.dispatch.redirection.next =
            Redirection { addr: redirect_to.addr, offset: redirect_to.offset, pid: self.quota.redirect_pid.val() };
        self.dispatch.task_push.next = acts & verdict.task;
        self.dispatch.placement_push.next = acts & verdict.place;
        self.task_desc.next = self.dispatch.task_desc.val();
        self.task_valid.next = self.dispatch.task_valid.val();
        self.policy.join(&mut self.dispatch.policy);
        self.policy.join(&mut self.byte_redirects.policy);
        self.byte_redirects.judged.next = acts & (acted.kind == EVENT_BYTES);
        self.byte_redirects.holds.next = verdict.holds;
        self.dispatch.room.next = self.task_room.val();
        self.dispatch.ended.next = self.task_done.valid.val() & self.event_arbiter.task_done.ready.val();
        self.dispatch.ended_task.next = self.task_done.val();
        self.dispatch.placement.join(&mut self.placement);
    }

    /// A: dispositions and cells that return. The disposition of a packet for a mailbox is known when the packet was
    /// placed, that of others when they join or are turned away.
    fn end_packets(&mut self, message: MessageState, arrived: Bit) {
        let acts = self.a_valid.q.val();
        let acted = self.a_event.q.val();
        let verdict = self.evaluator.verdict.val();
        let known_now = arrived & (!verdict.accept | !acted.mailbox);
        let known_later = (acted.kind == EVENT_FAST) | ((acted.kind == EVENT_PLACED) & message.mailbox);
        self.dispositions.dispose.next = acts & (known_now | known_later);
        self.dispositions.arrived.next = arrived;
        self.dispositions.accepted.next = if arrived { verdict.accept } else { acted.placed };
        self.dispositions.reason.next = if arrived { verdict.outcome.reason } else { acted.reason };
        self.dispositions.psn_commit.join(&mut self.psn_commit);
        self.dispositions.report.join(&mut self.report);

        self.freed.write.offer(acts & verdict.free, acted.pkt);
        self.freed.read.join(&mut self.free);
    }

    /// A: counters and the trace.
    fn count(&mut self, fast_taken: Bit) {
        let acts = self.a_valid.q.val();
        let acted = self.a_event.q.val();
        let verdict = self.evaluator.verdict.val();
        let mut outcome: Outcome = Outcome::default();
        if acts {
            outcome = verdict.outcome;
        }
        self.outcome_out.d.next = outcome;
        self.traced.d.next = EndTrace {
            frame: self.dispositions.frame.val(),
            joined: acts & verdict.accept,
            begins: acted.starts,
            slot: acted.slot,
            handled: outcome.handled,
            placed: outcome.placed,
            dropped: outcome.dropped,
            reason: outcome.reason,
        };
        let failed = verdict.code == CODE_FAILED;
        let aged = verdict.code == CODE_AGED;
        let ends = verdict.release & !acted.ends.task;
        self.done_out.d.next = acts & (verdict.fast | (ends & !failed & !aged));
        self.failed_out.d.next = acts & ends & failed;
        self.aged_out.d.next = acts & verdict.release & aged;
        self.to_hpu_out.d.next = acts & verdict.accept & !acted.mailbox;
        let tracked = acts & verdict.accept & acted.mailbox;
        let host = self.packet_intake.val().host;
        let fast_packet = fast_taken & !host;
        self.to_mailbox_out.d.next = (tracked & fast_packet, tracked ^ fast_packet).cat::<2>();
        self.to_host_out.d.next = fast_taken & host;
        self.counts.outcome.next = self.outcome_out.q.val();
        self.counts.of_context.next = self.of_context_out.q.val();
        self.counts.context.next = self.context_out.q.val();
        self.end_trace.next = self.traced.q.val();
        self.counts.message_done.next = self.done_out.q.val();
        self.counts.message_failed.next = self.failed_out.q.val();
        self.counts.message_aged.next = self.aged_out.q.val();
        self.counts.to_hpu.next = self.to_hpu_out.q.val();
        self.counts.to_mailbox.next = self.to_mailbox_out.q.val();
        self.counts.to_host.next = self.to_host_out.q.val();
        self.counts.messages_open.next = self.message_index.open.val();
    }
}
