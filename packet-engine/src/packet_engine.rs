//! The packet engine: from the wire to tasks and placements, and back to the wire.
//!
//! ```text
//! rx -> parser -> header_matcher --> ingress_join -> payload_scheduler -> task, placement
//!         |                            |    |            ^  |  task_done, place, placement_done
//!         +--> packet_buffer (write) --+    +-- free <---|--+-- packet_holds <- place (puts of packets), initiator
//!              packet_buffer (read) -> load_*; read_share -> place_*, segment_*
//! egress_*, put, host_put -> initiator -> egress -> tx      registers (pages `packet`, `node`)
//! ```
//!
//! Ports are those of `docs/interfaces.md`; this block is wiring, the choice between the two that return cells, the one
//! between ends of messages and of puts, and the one between ends of puts and of TASK commands. Latency from the last beat
//! of a frame to `task_valid` of a fresh message: that of the parser, the matcher and the join (their pages) and 5 cycles of the scheduler.

use crate::ingress::header_matcher::HeaderMatcher;
use crate::ingress::ingress_join::IngressJoin;
use crate::ingress::packet_buffer::PacketBuffer;
use crate::ingress::parser::Parser;
use crate::ingress::psn_filter::PsnFilter;
use crate::ingress::read_share::ReadShare;
use crate::registers::PacketRegisters;
use crate::schedule::packet_holds::{PacketHolds, PacketShare};
use crate::schedule::payload_scheduler::PayloadScheduler;
use crate::schedule::task_timers::TaskTimers;
use crate::trace_points::TracePoints;
use crate::traffic::Traffic;
use crate::transmit::egress::Egress;
use crate::transmit::initiator::Initiator;
use crate::transmit::responder::Responder;
use spindle_blocks::bundles::{BeatSource, EgressSink, FrameSource, RxSink};
use spindle_blocks::checksum::ChecksumField;
use spindle_blocks::{
    Command, CsrRequest, CsrResponse, EndTrace, EventDesc, HostRead, JoinTrace, PendingEnd, PlacementDesc,
    PlacementDone, PlacementOutcome, PolicySink, PutDesc, PutDone, RamStyle, ReadRequest, Slice, TaskDesc, TaskDone,
    TaskTrace,
};
use spindle_contract::memory_map::command;
use spindle_contract::params::Config;
use spindle_contract::registers::{node, PAGE};
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use spindle_verilog::prelude::*;

/// See the head of this file.
#[block]
pub struct PacketEngine {
    /// Wire in: bytes.
    pub rx: RxSink,
    /// Wire out: bytes.
    pub tx: FrameSource,
    /// Task for the array.
    pub task_desc: Signal<Out, TaskDesc>,
    /// There is one; the array takes it.
    pub task_valid: Signal<Out, Bit>,
    /// HPUs that can take one task more than before.
    pub task_room: Signal<In, Bits<32>>,
    /// Ended task.
    pub task_done: Sink<TaskDone>,
    /// PLACE, REDIRECT or TASK command, or PUT of a packet that keeps its cells; taken before the `task_done` of its handler is offered.
    pub place: Sink<Command>,
    /// `ContextStatus` of context c in bits 4c+3..4c.
    pub context_status: Signal<In, Bits<64>>,
    /// Policy of a context that was installed.
    pub policy: PolicySink,
    /// Loader's read port: request.
    pub load_request: Sink<ReadRequest>,
    /// Loader's read port: bytes.
    pub load_data: BeatSource,
    /// Frames of handlers: bytes.
    pub egress: EgressSink,
    /// Put of payload on the egress stream.
    pub put: Sink<PutDesc>,
    /// Put from host memory, or get.
    pub host_put: Sink<PutDesc>,
    /// Frame in host memory.
    pub frame: Sink<HostRead>,
    /// Put or get that is over, TASK command, or redirect of bytes.
    pub put_done: Pulse<PutDone>,
    /// Segment of host memory that a put needs.
    pub put_read: Source<HostRead>,
    /// Segment of context memory or of a packet that a put needs.
    pub segment: Source<HostRead>,
    /// Beats of a packet for such a segment.
    pub segment_request: Sink<ReadRequest>,
    /// A beat.
    pub segment_data: BeatSource,
    /// Contexts whose packets keep as many cells as they may for reliable puts.
    pub packets_full: Signal<Out, Bits<16>>,
    /// Its bytes; offered when all of them are there.
    pub put_data: Sink<Bits<512>>,
    /// Last beat.
    pub put_data_last: Signal<In, Bit>,
    /// It could not be read.
    pub put_data_error: Signal<In, Bit>,
    /// A checksum to insert into this beat.
    pub put_data_field: Signal<In, ChecksumField>,
    /// Placement for the RVMA engine.
    pub placement: Source<PlacementDesc>,
    /// RVMA engine's read port: request.
    pub place_request: Sink<ReadRequest>,
    /// RVMA engine's read port: bytes.
    pub place_data: BeatSource,
    /// Ended placement.
    pub placement_done: Sink<PlacementDone>,
    /// A pending message is done.
    pub pending_end: Source<PendingEnd>,
    /// What a mailbox said to a packet, before its `placement_done`.
    pub placement_outcome: PulseSink<PlacementOutcome>,
    /// End of a message.
    pub message_event: Source<EventDesc>,
    /// Register access.
    pub csr: Signal<In, CsrRequest>,
    /// Answer.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Trace points 0 to 4 and 9 to 11.
    pub trace_valid: Signal<Out, Bits<16>>,
    /// Their frames.
    pub trace_tags: Signal<Out, Bits<256>>,
    /// Trace of the ingress join.
    pub trace_join: Signal<Out, JoinTrace>,
    /// Trace of messages and ends of frames.
    pub trace_end: Signal<Out, EndTrace>,
    /// Trace of tasks.
    pub trace_task: Signal<Out, TaskTrace>,
    parser: Parser,
    header_matcher: HeaderMatcher,
    psn_filter: PsnFilter,
    packet_buffer: PacketBuffer,
    ingress_join: IngressJoin,
    payload_scheduler: PayloadScheduler,
    packet_holds: PacketHolds,
    read_share: ReadShare,
    task_timers: TaskTimers,
    initiator: Initiator,
    responder: Responder,
    transmit: Egress,
    registers: PacketRegisters,
    events: Slice<EventDesc>,
    rx_traffic: Traffic,
    /// The scheduler's turn to return cells when both want to.
    scheduler_turn: Reg<Bit>,
    trace: TracePoints,
}

impl PacketEngine {
    /// The packet engine of `config`. UltraRAM holds the packet buffer when it is larger than 256 KiB.
    pub fn new(config: &Config) -> Self {
        if let Err(sentence) = config.validate() {
            panic!("PacketEngine: {sentence}; correct the configuration");
        }
        let small = RamStyle::on(config, NODE_TABLE_ENTRIES);
        let style = if config.packet_buffer_bytes > 256 << 10 { RamStyle::Ultra } else { RamStyle::Block };
        Self {
            header_matcher: HeaderMatcher::new(config.match_rules, small),
            psn_filter: PsnFilter::new(config),
            packet_buffer: PacketBuffer::new(config.cells(), style),
            ingress_join: IngressJoin::new(config.cells()),
            payload_scheduler: PayloadScheduler::new(config),
            packet_holds: PacketHolds::new(config.cells()),
            task_timers: TaskTimers::new(config),
            initiator: Initiator::new(small, RamStyle::spare(config)),
            responder: Responder::new(small),
            registers: PacketRegisters::new(config),
            ..Self::blank()
        }
    }
}

#[hdl]
impl PacketEngine {
    fn update(&mut self) {
        // Wire in.
        self.rx.join(&mut self.parser.rx);
        self.parser.rx_enable.next = self.registers.settings.val().control_receive;
        self.parser.spindle_port.next = self.registers.settings.val().spindle_port;
        self.parser.check_source.next = self.registers.settings.val().psn_control_source;
        self.parser.source.join(&mut self.initiator.source);
        self.rx_traffic.keep.next = self.rx.keep.val();
        self.rx_traffic.last.next = self.rx.last.val();
        self.rx_traffic.moves.next = self.rx.valid.val();
        self.parser.beat.join(&mut self.header_matcher.beat);
        self.header_matcher.parsed_flags.next = self.parser.parsed_flags.val();
        self.parser.parsed.join(&mut self.header_matcher.parsed);
        self.header_matcher.word_index.next = self.registers.commit_index.val().get_bits::<4>(0);
        self.header_matcher.word_source.next = self.registers.word_source.val();
        self.header_matcher.word_write.next = self.registers.word_write.val();
        self.header_matcher.term_index.next = self.registers.commit_index.val();
        self.header_matcher.term_mask.next = self.registers.settings.val().term_mask;
        self.header_matcher.term_low.next = self.registers.settings.val().term_low;
        self.header_matcher.term_high.next = self.registers.settings.val().term_high;
        self.header_matcher.term_write.next = self.registers.term_write.val();
        self.header_matcher.rule_index.next = self.registers.commit_index.val().get_bits::<6>(0);
        self.header_matcher.rule_positive.next = self.registers.rule_positive.val();
        self.header_matcher.rule_negative.next = self.registers.rule_negative.val();
        self.header_matcher.rule_action.next = self.registers.rule_action.val();
        self.header_matcher.rule_write.next = self.registers.rule_write.val();
        self.header_matcher.commit.next = self.registers.match_commit.val();
        self.registers.match_committing.next = self.header_matcher.committing.val();
        self.header_matcher.host_window.next = self.registers.settings.val().host_window_valid;
        self.header_matcher.host_unmatched.next = self.registers.settings.val().control_host_unmatched;
        self.payload_scheduler.host_process.next = self.registers.settings.val().host_window_process;
        self.payload_scheduler.host_mailbox.next = self.registers.settings.val().host_window_mailbox;
        self.psn_filter.early_spindle.next = self.parser.early_spindle.val();
        self.psn_filter.early_peer.next = self.parser.early_peer.val();
        self.psn_filter.early_row.next = self.parser.early_row.val();
        self.parser.parsed.join(&mut self.psn_filter.parsed);
        self.psn_filter.bad_icrc.next = self.parser.bad_icrc.val();
        self.header_matcher.bad_icrc.next = self.parser.bad_icrc.val();
        self.initiator.bad_icrc.next = self.parser.bad_icrc.val();
        self.psn_filter.enable.next = self.registers.settings.val().psn_control_filter;
        self.registers.peer_query.join(&mut self.psn_filter.peer_query);
        self.ingress_join.verdict.next = self.psn_filter.verdict.val();
        self.ingress_join.psn_commit.join(&mut self.psn_filter.ingress_commit);
        self.payload_scheduler.psn_commit.join(&mut self.psn_filter.scheduler_commit);
        self.ingress_join.report.join(&mut self.responder.ingress_report);
        self.payload_scheduler.report.join(&mut self.responder.scheduler_report);
        self.parser.parsed.join(&mut self.initiator.parsed);
        self.psn_filter.take_responses.next = self.initiator.send.val();
        self.responder.peer_request.join(&mut self.psn_filter.peer_request);
        self.psn_filter.peer_answer.join(&mut self.responder.peer_answer);
        self.parser.beat.join(&mut self.packet_buffer.beat);
        self.header_matcher.matched.join(&mut self.ingress_join.matched);
        self.packet_buffer.written.join(&mut self.ingress_join.written);

        // Messages, tasks, placements.
        self.ingress_join.packet.join(&mut self.payload_scheduler.packet);
        self.payload_scheduler.packet_intake.next = self.ingress_join.packet_intake.val();
        self.payload_scheduler.contexts.next = self.context_status.val();
        self.task_desc.next = self.payload_scheduler.task_desc.val();
        self.task_valid.next = self.payload_scheduler.task_valid.val();
        self.policy.join(&mut self.payload_scheduler.policy);
        self.payload_scheduler.task_room.next = self.task_room.val();
        self.task_done.join(&mut self.payload_scheduler.task_done);
        // TASK commands go to the timers, puts of packets to their holds, the others to the scheduler.
        let is_task = self.place.val().flags.get_bit(0);
        let is_put = self.place.val().opcode == bits(command::PUT);
        self.payload_scheduler.place.offer(self.place.valid.val() & !is_task & !is_put, self.place.val());
        self.task_timers.command.offer(self.place.valid.val() & is_task, self.place.val());
        self.packet_holds.claim.offer(self.place.valid.val() & is_put, self.place.val().pkt);
        self.place.ready.next = if is_task {
            self.task_timers.command.ready.val()
        } else if is_put {
            self.packet_holds.claim.ready.val()
        } else {
            self.payload_scheduler.place.ready.val()
        };
        self.task_timers.contexts.next = self.context_status.val();
        self.policy.join(&mut self.task_timers.policy);
        self.task_timers.due.join(&mut self.payload_scheduler.due);
        self.payload_scheduler.due_alive.next = self.task_timers.due_alive.val();
        self.task_timers.judged.next = self.payload_scheduler.task_judged.val();
        self.task_timers.taken.next = self.payload_scheduler.task_taken.val();
        self.registers.host_task.join(&mut self.task_timers.host);
        self.registers.host_task_done.next = self.task_timers.host_done.val();
        self.registers.host_task_refused.next = self.task_timers.host_refused.val();
        self.task_timers.counts.join(&mut self.registers.task_counts);
        self.payload_scheduler.placement.join(&mut self.placement);
        self.placement_done.join(&mut self.payload_scheduler.placement_done);
        self.payload_scheduler.pending_end.join(&mut self.pending_end);

        self.placement_outcome.join(&mut self.payload_scheduler.placement_outcome);
        // Events: ends of messages before ends of puts.
        let message_ends = self.payload_scheduler.message_event.valid.val();
        self.events.write.next =
            if message_ends { self.payload_scheduler.message_event.val() } else { self.initiator.put_event.val() };
        self.events.write.valid.next = message_ends | self.initiator.put_event.valid.val();
        self.payload_scheduler.message_event.ready.next = self.events.write.ready.val();
        self.initiator.put_event.ready.next = self.events.write.ready.val() & !message_ends;
        self.events.read.join(&mut self.message_event);

        // A packet that is being put keeps its cells.
        let arrival = self.ingress_join.packet.val();
        self.packet_holds.store.next = self.ingress_join.packet.valid.val() & self.payload_scheduler.packet.ready.val();
        self.packet_holds.store_pkt.next = arrival.pkt;
        self.packet_holds.store_share.next = PacketShare { context: arrival.context, cells: arrival.cells };
        self.initiator.packet_ended.join(&mut self.packet_holds.ended);
        self.payload_scheduler.free.join(&mut self.packet_holds.freed);
        self.packets_full.next = self.packet_holds.full.val();
        // Cells return from the join (dropped frames) and from the scheduler; they alternate when both want to.
        let join_frees = self.ingress_join.free.valid.val();
        let scheduler_frees = self.packet_holds.free.valid.val();
        let scheduler_goes = scheduler_frees & (self.scheduler_turn.q.val() | !join_frees);
        self.packet_buffer.free.next =
            if scheduler_goes { self.packet_holds.free.val() } else { self.ingress_join.free.val() };
        self.packet_buffer.free.valid.next = join_frees | scheduler_frees;
        self.packet_holds.free.ready.next = self.packet_buffer.free.ready.val() & scheduler_goes;
        self.ingress_join.free.ready.next = self.packet_buffer.free.ready.val() & !scheduler_goes;
        self.scheduler_turn.load((join_frees | scheduler_frees) & self.packet_buffer.free.ready.val(), !scheduler_goes);

        // Reading packets.
        self.load_request.join(&mut self.packet_buffer.load_request);
        self.packet_buffer.load_data.join(&mut self.load_data);
        self.place_request.join(&mut self.read_share.request[0]);
        self.read_share.data[0].join(&mut self.place_data);
        self.segment_request.join(&mut self.read_share.request[1]);
        self.read_share.data[1].join(&mut self.segment_data);
        self.read_share.port_request.join(&mut self.packet_buffer.place_request);
        self.packet_buffer.place_data.join(&mut self.read_share.port_data);

        // Wire out.
        self.egress.join(&mut self.initiator.egress);
        self.put.join(&mut self.initiator.put);
        self.host_put.join(&mut self.initiator.host_put);
        self.frame.join(&mut self.initiator.frame);
        // Ends of TASK commands take the cycles in which no put ends, those of redirects of bytes what is left.
        let put_ends = self.initiator.put_done.valid.val();
        let task_ends = self.task_timers.answer.valid.val();
        self.put_done.offer(
            put_ends | task_ends | self.payload_scheduler.bytes_answer.valid.val(),
            if put_ends {
                self.initiator.put_done.val()
            } else if task_ends {
                self.task_timers.answer.val()
            } else {
                self.payload_scheduler.bytes_answer.val()
            },
        );
        self.task_timers.answer.ready.next = !put_ends;
        self.payload_scheduler.bytes_answer.ready.next = !put_ends & !task_ends;
        self.initiator.put_read.join(&mut self.put_read);
        self.initiator.segment.join(&mut self.segment);
        self.responder.job.join(&mut self.initiator.reply);
        self.initiator.acks.join(&mut self.responder.control);
        self.put_data.join(&mut self.initiator.put_data);
        self.initiator.put_data_last.next = self.put_data_last.val();
        self.initiator.put_data_error.next = self.put_data_error.val();
        self.initiator.put_data_field.next = self.put_data_field.val();
        self.initiator.beat.join(&mut self.transmit.beat);
        self.transmit.tx.join(&mut self.tx);

        // Registers.
        let to_node = self.csr.val().addr.get_bits::<8>(12) == bits::<8>((node::BASE / PAGE) as u64);
        self.registers.csr.next = self.csr.val();
        self.registers.csr.next.valid = self.csr.val().valid & !to_node;
        self.initiator.csr.next = self.csr.val();
        self.initiator.csr.next.valid = self.csr.val().valid & to_node;
        let answer = self.registers.csr_answer.val();
        let node_answer = self.initiator.csr_answer.val();
        self.csr_answer.next = CsrResponse {
            ack: answer.ack | node_answer.ack,
            error: answer.error | node_answer.error,
            rdata: answer.rdata | node_answer.rdata,
        };
        self.ingress_join.drop.join(&mut self.registers.drop);
        self.registers.joined.next = self.ingress_join.trace.val();
        self.payload_scheduler.counts.join(&mut self.registers.counts);
        self.payload_scheduler.timeout.next = self.registers.settings.val().message_timeout;
        self.payload_scheduler.live_index.next = self.registers.live_index.val();
        self.registers.live.next = self.payload_scheduler.live.val();
        self.registers.task_sent.next = self.trace.scheduled.val();
        self.registers.frames_in.next = self.rx_traffic.frames.val();
        self.registers.bytes_in.next = self.rx_traffic.bytes.val();
        self.registers.frames_out.next = self.transmit.frames.val();
        self.registers.bytes_out.next = self.transmit.bytes.val();
        self.registers.cells_free.next = self.packet_buffer.cells_free.val();

        // Trace.
        self.parser.started.join(&mut self.trace.started);
        self.trace.parsed.offer(self.parser.parsed.valid.val(), self.parser.parsed.val().frame);
        self.trace.matched.offer(self.header_matcher.matched.valid.val(), self.header_matcher.matched.val().frame);
        self.trace.buffered.next = self.ingress_join.packet.val().frame;
        self.trace.buffered.valid.next =
            self.ingress_join.packet.valid.val() & self.payload_scheduler.packet.ready.val();
        self.trace.dispatched.offer(self.payload_scheduler.task_valid.val(), self.payload_scheduler.task_desc.val());
        self.trace.egress_first.next = self.transmit.first.val();
        self.trace.egress_last.next = self.transmit.ends.val();
        self.trace.egress_frame.next = self.transmit.frame.val();
        self.trace.placement.next = self.payload_scheduler.placement.val().frame;
        self.trace.placement.valid.next = self.payload_scheduler.placement.valid.val() & self.placement.ready.val();
        self.trace_valid.next = self.trace.valid.val();
        self.trace_tags.next = self.trace.tags.val();
        self.trace_join.next = self.ingress_join.trace.val();
        self.trace_end.next = self.payload_scheduler.end_trace.val();
        self.trace_task.next = self.trace.sent.val();
    }
}
