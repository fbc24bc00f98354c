//! The packet engine: from the wire to tasks and placements, and back to the wire.
//!
//! ```text
//! rx -> parser -> header_matcher --> ingress_join -> payload_scheduler -> task, placement
//!         |                            |    |            ^  |  task_done, place, placement_done
//!         +--> packet_buffer (write) --+    +-- free <---|--+
//!              packet_buffer (read) -> load_*, place_*   contexts
//! egress_*, put, host_put -> initiator -> egress -> tx      registers (pages `packet`, `node`)
//! ```
//!
//! Ports are those of `docs/interfaces.md`; this block is wiring, the choice between the two that return cells, and the one
//! between ends of messages and of puts. Latency from the last beat of a frame to `task_valid` of a fresh
//! message: that of the parser, the matcher and the join (their pages) and 5 cycles of the scheduler.

use crate::egress::Egress;
use crate::header_matcher::HeaderMatcher;
use crate::ingress_join::IngressJoin;
use crate::initiator::Initiator;
use crate::packet_buffer::PacketBuffer;
use crate::parser::Parser;
use crate::payload_scheduler::PayloadScheduler;
use crate::psn_filter::PsnFilter;
use crate::registers::PacketRegisters;
use crate::responder::Responder;
use crate::trace_points::TracePoints;
use crate::traffic::Traffic;
use spindle_blocks::{
    Command, ContextPolicy, CsrRequest, CsrResponse, EndTrace, EventDesc, HostRead, JoinTrace, PlacementDesc,
    PlacementDone, PlacementOutcome, PutDesc, PutDone, RamStyle, ReadRequest, Slice, TaskDesc, TaskDone, TaskTrace,
};
use spindle_contract::params::Config;
use spindle_contract::registers::{node, PAGE};
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use spindle_verilog::prelude::*;

/// See the head of this file.
#[derive(LogicBlock, Default)]
pub struct PacketEngine {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
    /// Wire in: bytes.
    pub rx_data: Signal<In, Bits<512>>,
    /// Which bytes count.
    pub rx_keep: Signal<In, Bits<64>>,
    /// Last beat.
    pub rx_last: Signal<In, Bit>,
    /// With the last beat: bad frame.
    pub rx_user: Signal<In, Bit>,
    /// A beat arrives; it is always taken.
    pub rx_valid: Signal<In, Bit>,
    /// Wire out: bytes.
    pub tx_data: Signal<Out, Bits<512>>,
    /// Which bytes count.
    pub tx_keep: Signal<Out, Bits<64>>,
    /// Last beat.
    pub tx_last: Signal<Out, Bit>,
    /// A beat is offered.
    pub tx_valid: Signal<Out, Bit>,
    /// It is taken.
    pub tx_ready: Signal<In, Bit>,
    /// Task for the array.
    pub task_desc: Signal<Out, TaskDesc>,
    /// There is one; the array takes it.
    pub task_valid: Signal<Out, Bit>,
    /// HPUs that can take one task more than before.
    pub room_feedback: Signal<In, Bits<32>>,
    /// Ended task.
    pub task_done_feedback: Signal<In, TaskDone>,
    /// It is offered.
    pub task_done_valid: Signal<In, Bit>,
    /// It is taken.
    pub task_done_ready: Signal<Out, Bit>,
    /// PLACE command; taken before the `task_done` of its handler is offered.
    pub place_feedback: Signal<In, Command>,
    /// It is offered.
    pub place_valid: Signal<In, Bit>,
    /// It is taken.
    pub place_ready: Signal<Out, Bit>,
    /// `ContextStatus` of context c in bits 4c+3..4c.
    pub contexts_feedback: Signal<In, Bits<64>>,
    /// Policy of a context that was installed.
    pub policy: Signal<In, ContextPolicy>,
    /// Which context.
    pub policy_index: Signal<In, Bits<4>>,
    /// There is one (pulse).
    pub policy_valid: Signal<In, Bit>,
    /// Loader's read port: request.
    pub load_request: Signal<In, ReadRequest>,
    /// It is offered.
    pub load_request_valid: Signal<In, Bit>,
    /// It is taken.
    pub load_request_ready: Signal<Out, Bit>,
    /// Loader's read port: bytes.
    pub load_data: Signal<Out, Bits<512>>,
    /// Last beat.
    pub load_last: Signal<Out, Bit>,
    /// A beat is offered.
    pub load_valid: Signal<Out, Bit>,
    /// It is taken.
    pub load_ready: Signal<In, Bit>,
    /// Frames of handlers: bytes.
    pub egress_data: Signal<In, Bits<512>>,
    /// Which bytes count.
    pub egress_keep: Signal<In, Bits<64>>,
    /// Last beat.
    pub egress_last: Signal<In, Bit>,
    /// Frame number of the packet that caused it.
    pub egress_frame: Signal<In, Bits<16>>,
    /// A beat is offered; no gap inside a frame.
    pub egress_valid: Signal<In, Bit>,
    /// It is taken.
    pub egress_ready: Signal<Out, Bit>,
    /// The beats are a put's payload, not a frame.
    pub egress_put: Signal<In, Bit>,
    /// They are a segment of context memory that was asked for.
    pub egress_segment: Signal<In, Bit>,
    /// Put of payload on the egress stream.
    pub put: Signal<In, PutDesc>,
    /// It is offered.
    pub put_valid: Signal<In, Bit>,
    /// It is taken.
    pub put_ready: Signal<Out, Bit>,
    /// Put from host memory, or get.
    pub host_put: Signal<In, PutDesc>,
    /// It is offered.
    pub host_put_valid: Signal<In, Bit>,
    /// It is taken.
    pub host_put_ready: Signal<Out, Bit>,
    /// Put or get that is over.
    pub put_done_feedback: Signal<Out, PutDone>,
    /// One is.
    pub put_done_valid: Signal<Out, Bit>,
    /// Segment of host memory that a put needs.
    pub put_read: Signal<Out, HostRead>,
    /// One is offered.
    pub put_read_valid: Signal<Out, Bit>,
    /// It is taken.
    pub put_read_ready: Signal<In, Bit>,
    /// Segment of context memory that a put needs.
    pub segment: Signal<Out, HostRead>,
    /// One is offered.
    pub segment_valid: Signal<Out, Bit>,
    /// It is taken.
    pub segment_ready: Signal<In, Bit>,
    /// Its bytes; offered when all of them are there.
    pub put_data: Signal<In, Bits<512>>,
    /// Last beat.
    pub put_data_last: Signal<In, Bit>,
    /// It could not be read.
    pub put_data_error: Signal<In, Bit>,
    /// A beat is offered.
    pub put_data_valid: Signal<In, Bit>,
    /// It is taken.
    pub put_data_ready: Signal<Out, Bit>,
    /// Placement for the RVMA engine.
    pub placement: Signal<Out, PlacementDesc>,
    /// It is offered.
    pub placement_valid: Signal<Out, Bit>,
    /// It is taken.
    pub placement_ready: Signal<In, Bit>,
    /// RVMA engine's read port: request.
    pub place_request: Signal<In, ReadRequest>,
    /// It is offered.
    pub place_request_valid: Signal<In, Bit>,
    /// It is taken.
    pub place_request_ready: Signal<Out, Bit>,
    /// RVMA engine's read port: bytes.
    pub place_data: Signal<Out, Bits<512>>,
    /// Last beat.
    pub place_last: Signal<Out, Bit>,
    /// A beat is offered.
    pub place_data_valid: Signal<Out, Bit>,
    /// It is taken.
    pub place_data_ready: Signal<In, Bit>,
    /// Ended placement.
    pub placement_done_feedback: Signal<In, PlacementDone>,
    /// It is offered.
    pub placement_done_valid: Signal<In, Bit>,
    /// It is taken.
    pub placement_done_ready: Signal<Out, Bit>,
    /// What a mailbox said to a packet, before its `placement_done_feedback`.
    pub outcome_feedback: Signal<In, PlacementOutcome>,
    /// There is one (pulse).
    pub outcome_valid: Signal<In, Bit>,
    /// End of a message.
    pub message_event: Signal<Out, EventDesc>,
    /// There is one.
    pub message_event_valid: Signal<Out, Bit>,
    /// It is taken.
    pub message_event_ready: Signal<In, Bit>,
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
    initiator: Initiator,
    responder: Responder,
    egress: Egress,
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
            initiator: Initiator::new(small, RamStyle::spare(config)),
            responder: Responder::new(small),
            registers: PacketRegisters::new(config),
            ..Default::default()
        }
    }
}

impl Logic for PacketEngine {
    #[hdl]
    fn update(&mut self) {
        clocks!(
            self,
            clock,
            reset,
            parser,
            header_matcher,
            psn_filter,
            packet_buffer,
            ingress_join,
            payload_scheduler,
            initiator,
            responder,
            events,
            egress,
            registers,
            rx_traffic,
            trace
        );
        regs!(self, clock, reset, scheduler_turn);

        // Wire in.
        self.parser.rx_data.next = self.rx_data.val();
        self.parser.rx_keep.next = self.rx_keep.val();
        self.parser.rx_last.next = self.rx_last.val();
        self.parser.rx_user.next = self.rx_user.val();
        self.parser.rx_valid.next = self.rx_valid.val();
        self.parser.rx_enable.next = self.registers.rx_enable.val();
        self.parser.spindle_port.next = self.registers.spindle_port.val();
        self.rx_traffic.keep.next = self.rx_keep.val();
        self.rx_traffic.last.next = self.rx_last.val();
        self.rx_traffic.moves.next = self.rx_valid.val();
        self.header_matcher.beat_data.next = self.parser.beat_data.val();
        self.header_matcher.beat_valid.next = self.parser.beat_valid.val();
        self.header_matcher.beat_first.next = self.parser.beat_first.val();
        self.header_matcher.beat_second.next = self.parser.beat_second.val();
        self.header_matcher.beat_last.next = self.parser.beat_last.val();
        self.header_matcher.beat_vlan.next = self.parser.beat_vlan.val();
        self.header_matcher.beat_end.next = self.parser.beat_end.val();
        self.header_matcher.parsed_flags.next = self.parser.parsed_flags.val();
        self.header_matcher.parsed.next = self.parser.parsed.val();
        self.header_matcher.parsed_drop.next = self.parser.parsed_drop.val();
        self.header_matcher.parsed_reason.next = self.parser.parsed_reason.val();
        self.header_matcher.parsed_valid.next = self.parser.parsed_valid.val();
        self.header_matcher.word_index.next = self.registers.word_index.val();
        self.header_matcher.word_source.next = self.registers.word_source.val();
        self.header_matcher.word_write.next = self.registers.word_write.val();
        self.header_matcher.term_index.next = self.registers.term_index.val();
        self.header_matcher.term_mask.next = self.registers.term_mask.val();
        self.header_matcher.term_low.next = self.registers.term_low.val();
        self.header_matcher.term_high.next = self.registers.term_high.val();
        self.header_matcher.term_write.next = self.registers.term_write.val();
        self.header_matcher.rule_index.next = self.registers.rule_index.val();
        self.header_matcher.rule_positive.next = self.registers.rule_positive.val();
        self.header_matcher.rule_negative.next = self.registers.rule_negative.val();
        self.header_matcher.rule_action.next = self.registers.rule_action.val();
        self.header_matcher.rule_write.next = self.registers.rule_write.val();
        self.header_matcher.commit.next = self.registers.match_commit.val();
        self.registers.match_committing.next = self.header_matcher.committing.val();
        self.psn_filter.early_spindle.next = self.parser.early_spindle.val();
        self.psn_filter.early_peer.next = self.parser.early_peer.val();
        self.psn_filter.early_row.next = self.parser.early_row.val();
        self.psn_filter.parsed.next = self.parser.parsed.val();
        self.psn_filter.parsed_drop.next = self.parser.parsed_drop.val();
        self.psn_filter.parsed_valid.next = self.parser.parsed_valid.val();
        self.psn_filter.enable.next = self.registers.psn_enable.val();
        self.psn_filter.query.next = self.registers.peer_query.val();
        self.psn_filter.query_peer.next = self.registers.peer_index.val();
        self.registers.peer_busy.next = self.psn_filter.query_busy.val();
        self.registers.peer_live.next = self.psn_filter.peer_live.val();
        self.registers.peer_node.next = self.psn_filter.peer_node.val();
        self.registers.peer_expected.next = self.psn_filter.peer_expected.val();
        self.registers.peer_selective.next = self.psn_filter.peer_selective.val();
        self.ingress_join.verdict.next = self.psn_filter.verdict.val();
        self.psn_filter.lost.next = self.ingress_join.fate.val();
        self.psn_filter.lost_valid.next = self.ingress_join.fate_valid.val();
        self.psn_filter.fate.next = self.payload_scheduler.fate.val();
        self.psn_filter.fate_valid.next = self.payload_scheduler.fate_valid.val();
        self.responder.front.next = self.ingress_join.report.val();
        self.responder.front_valid.next = self.ingress_join.report_valid.val();
        self.responder.back.next = self.payload_scheduler.report.val();
        self.responder.back_valid.next = self.payload_scheduler.report_valid.val();
        self.initiator.parsed.next = self.parser.parsed.val();
        self.initiator.parsed_drop.next = self.parser.parsed_drop.val();
        self.initiator.parsed_valid.next = self.parser.parsed_valid.val();
        self.psn_filter.take_responses.next = self.initiator.send.val();
        self.psn_filter.ask.next = self.responder.ask.val();
        self.psn_filter.ask_peer.next = self.responder.ask_peer.val();
        self.responder.ask_ready.next = self.psn_filter.ask_ready.val();
        self.responder.answered.next = self.psn_filter.answered.val();
        self.responder.answer_expected.next = self.psn_filter.answer_expected.val();
        self.responder.answer_selective.next = self.psn_filter.answer_selective.val();
        self.packet_buffer.beat_data.next = self.parser.beat_data.val();
        self.packet_buffer.beat_last.next = self.parser.beat_last.val();
        self.packet_buffer.beat_valid.next = self.parser.beat_valid.val();
        self.ingress_join.matched.next = self.header_matcher.matched.val();
        self.ingress_join.matched_drop.next = self.header_matcher.matched_drop.val();
        self.ingress_join.matched_reason.next = self.header_matcher.matched_reason.val();
        self.ingress_join.matched_valid.next = self.header_matcher.matched_valid.val();
        self.ingress_join.written_pkt.next = self.packet_buffer.written_pkt.val();
        self.ingress_join.written_cells.next = self.packet_buffer.written_cells.val();
        self.ingress_join.written_overflow.next = self.packet_buffer.written_overflow.val();
        self.ingress_join.written_valid.next = self.packet_buffer.written_valid.val();

        // Messages, tasks, placements.
        self.payload_scheduler.packet.next = self.ingress_join.packet.val();
        self.payload_scheduler.packet_intake.next = self.ingress_join.packet_intake.val();
        self.payload_scheduler.packet_valid.next = self.ingress_join.packet_valid.val();
        self.ingress_join.packet_ready.next = self.payload_scheduler.packet_ready.val();
        self.payload_scheduler.contexts.next = self.contexts_feedback.val();
        self.task_desc.next = self.payload_scheduler.task_desc.val();
        self.task_valid.next = self.payload_scheduler.task_valid.val();
        self.payload_scheduler.policy.next = self.policy.val();
        self.payload_scheduler.policy_index.next = self.policy_index.val();
        self.payload_scheduler.policy_valid.next = self.policy_valid.val();
        self.payload_scheduler.room_feedback.next = self.room_feedback.val();
        self.payload_scheduler.task_done.next = self.task_done_feedback.val();
        self.payload_scheduler.task_done_valid.next = self.task_done_valid.val();
        self.task_done_ready.next = self.payload_scheduler.task_done_ready.val();
        self.payload_scheduler.place.next = self.place_feedback.val();
        self.payload_scheduler.place_valid.next = self.place_valid.val();
        self.place_ready.next = self.payload_scheduler.place_ready.val();
        self.placement.next = self.payload_scheduler.placement.val();
        self.placement_valid.next = self.payload_scheduler.placement_valid.val();
        self.payload_scheduler.placement_ready.next = self.placement_ready.val();
        self.payload_scheduler.placement_done.next = self.placement_done_feedback.val();
        self.payload_scheduler.placement_done_valid.next = self.placement_done_valid.val();
        self.placement_done_ready.next = self.payload_scheduler.placement_done_ready.val();

        self.payload_scheduler.outcome_feedback.next = self.outcome_feedback.val();
        self.payload_scheduler.outcome_valid.next = self.outcome_valid.val();
        // Events: ends of messages before ends of puts.
        let message_ends = self.payload_scheduler.message_event_valid.val();
        self.events.write.next =
            if message_ends { self.payload_scheduler.message_event.val() } else { self.initiator.put_event.val() };
        self.events.write_valid.next = message_ends | self.initiator.put_event_valid.val();
        self.payload_scheduler.message_event_ready.next = self.events.write_ready.val();
        self.initiator.put_event_ready.next = self.events.write_ready.val() & !message_ends;
        self.message_event.next = self.events.read.val();
        self.message_event_valid.next = self.events.read_valid.val();
        self.events.read_ready.next = self.message_event_ready.val();

        // Cells return from the join (dropped frames) and from the scheduler; they alternate when both want to.
        let join_frees = self.ingress_join.free_valid.val();
        let scheduler_frees = self.payload_scheduler.free_valid.val();
        let scheduler_goes = scheduler_frees & (self.scheduler_turn.q.val() | !join_frees);
        self.packet_buffer.free_pkt.next =
            if scheduler_goes { self.payload_scheduler.free_pkt.val() } else { self.ingress_join.free_pkt.val() };
        self.packet_buffer.free_valid.next = join_frees | scheduler_frees;
        self.payload_scheduler.free_ready.next = self.packet_buffer.free_ready.val() & scheduler_goes;
        self.ingress_join.free_ready.next = self.packet_buffer.free_ready.val() & !scheduler_goes;
        if (join_frees | scheduler_frees) & self.packet_buffer.free_ready.val() {
            self.scheduler_turn.d.next = !scheduler_goes;
        }

        // Reading packets.
        self.packet_buffer.load_request.next = self.load_request.val();
        self.packet_buffer.load_request_valid.next = self.load_request_valid.val();
        self.load_request_ready.next = self.packet_buffer.load_request_ready.val();
        self.load_data.next = self.packet_buffer.load_data.val();
        self.load_last.next = self.packet_buffer.load_last.val();
        self.load_valid.next = self.packet_buffer.load_valid.val();
        self.packet_buffer.load_ready.next = self.load_ready.val();
        self.packet_buffer.place_request.next = self.place_request.val();
        self.packet_buffer.place_request_valid.next = self.place_request_valid.val();
        self.place_request_ready.next = self.packet_buffer.place_request_ready.val();
        self.place_data.next = self.packet_buffer.place_data.val();
        self.place_last.next = self.packet_buffer.place_last.val();
        self.place_data_valid.next = self.packet_buffer.place_data_valid.val();
        self.packet_buffer.place_data_ready.next = self.place_data_ready.val();

        // Wire out.
        self.initiator.egress_data.next = self.egress_data.val();
        self.initiator.egress_keep.next = self.egress_keep.val();
        self.initiator.egress_last.next = self.egress_last.val();
        self.initiator.egress_frame.next = self.egress_frame.val();
        self.initiator.egress_put.next = self.egress_put.val();
        self.initiator.egress_segment.next = self.egress_segment.val();
        self.initiator.egress_valid.next = self.egress_valid.val();
        self.egress_ready.next = self.initiator.egress_ready.val();
        self.initiator.put.next = self.put.val();
        self.initiator.put_valid.next = self.put_valid.val();
        self.put_ready.next = self.initiator.put_ready.val();
        self.initiator.host_put.next = self.host_put.val();
        self.initiator.host_put_valid.next = self.host_put_valid.val();
        self.host_put_ready.next = self.initiator.host_put_ready.val();
        self.put_done_feedback.next = self.initiator.put_done.val();
        self.put_done_valid.next = self.initiator.put_done_valid.val();
        self.put_read.next = self.initiator.put_read.val();
        self.put_read_valid.next = self.initiator.put_read_valid.val();
        self.segment.next = self.initiator.segment.val();
        self.segment_valid.next = self.initiator.segment_valid.val();
        self.initiator.segment_ready.next = self.segment_ready.val();
        self.initiator.reply.next = self.responder.job.val();
        self.initiator.reply_valid.next = self.responder.job_valid.val();
        self.responder.job_ready.next = self.initiator.reply_ready.val();
        self.initiator.ack_sent.next = self.responder.ack_sent.val();
        self.initiator.nack_sent.next = self.responder.nack_sent.val();
        self.initiator.nack_withheld.next = self.responder.nack_withheld.val();
        self.responder.enable.next = self.initiator.respond.val();
        self.responder.ack_every.next = self.initiator.ack_every.val();
        self.responder.nack_gap.next = self.initiator.nack_gap.val();
        self.initiator.put_read_ready.next = self.put_read_ready.val();
        self.initiator.put_data.next = self.put_data.val();
        self.initiator.put_data_last.next = self.put_data_last.val();
        self.initiator.put_data_error.next = self.put_data_error.val();
        self.initiator.put_data_valid.next = self.put_data_valid.val();
        self.put_data_ready.next = self.initiator.put_data_ready.val();
        self.egress.beat.next = self.initiator.beat.val();
        self.egress.beat_valid.next = self.initiator.beat_valid.val();
        self.initiator.beat_ready.next = self.egress.beat_ready.val();
        self.tx_data.next = self.egress.tx_data.val();
        self.tx_keep.next = self.egress.tx_keep.val();
        self.tx_last.next = self.egress.tx_last.val();
        self.tx_valid.next = self.egress.tx_valid.val();
        self.egress.tx_ready.next = self.tx_ready.val();

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
        self.registers.drop_valid.next = self.ingress_join.drop_valid.val();
        self.registers.drop_reason.next = self.ingress_join.drop_reason.val();
        self.registers.outcome.next = self.payload_scheduler.outcome.val();
        self.registers.message_done.next = self.payload_scheduler.message_done.val();
        self.registers.message_failed.next = self.payload_scheduler.message_failed.val();
        self.registers.message_aged.next = self.payload_scheduler.message_aged.val();
        self.payload_scheduler.timeout.next = self.registers.timeout.val();
        self.payload_scheduler.live_index.next = self.registers.live_index.val();
        self.registers.live.next = self.payload_scheduler.live.val();
        self.registers.to_hpu.next = self.payload_scheduler.to_hpu.val();
        self.registers.to_mailbox.next = self.payload_scheduler.to_mailbox.val();
        self.registers.task_sent.next = self.trace.scheduled.val();
        self.registers.messages_open.next = self.payload_scheduler.messages_open.val();
        self.registers.frames_in.next = self.rx_traffic.frames.val();
        self.registers.bytes_in.next = self.rx_traffic.bytes.val();
        self.registers.frames_out.next = self.egress.frames.val();
        self.registers.bytes_out.next = self.egress.bytes.val();
        self.registers.cells_free.next = self.packet_buffer.cells_free.val();

        // Trace.
        self.trace.started.next = self.parser.started.val();
        self.trace.started_frame.next = self.parser.started_frame.val();
        self.trace.parsed.next = self.parser.parsed_valid.val();
        self.trace.parsed_frame.next = self.parser.parsed.val().frame;
        self.trace.matched.next = self.header_matcher.matched_valid.val();
        self.trace.matched_frame.next = self.header_matcher.matched.val().frame;
        self.trace.buffered.next = self.ingress_join.packet_valid.val() & self.payload_scheduler.packet_ready.val();
        self.trace.buffered_frame.next = self.ingress_join.packet.val().frame;
        self.trace.dispatched.next = self.payload_scheduler.task_valid.val();
        self.trace.dispatched_task.next = self.payload_scheduler.task_desc.val();
        self.trace.egress_first.next = self.egress.first.val();
        self.trace.egress_last.next = self.egress.ends.val();
        self.trace.egress_frame.next = self.egress.frame.val();
        self.trace.placement.next = self.payload_scheduler.placement_valid.val() & self.placement_ready.val();
        self.trace.placement_frame.next = self.payload_scheduler.placement.val().frame;
        self.trace_valid.next = self.trace.valid.val();
        self.trace_tags.next = self.trace.tags.val();
        self.trace_join.next = self.ingress_join.trace.val();
        self.trace_end.next = self.payload_scheduler.end_trace.val();
        self.trace_task.next = self.trace.sent.val();
    }
}
