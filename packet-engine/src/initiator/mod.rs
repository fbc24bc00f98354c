//! The initiator: frames that the NIC makes itself, for puts and gets of handlers.
//!
//! ```text
//!  put ------> planner (device) ------------------+
//!                                                 v
//!  array's egress stream (frames, payloads) --> framer --> egress
//!                                                 ^  ^
//!  reply ----> planner (replies) -----------------+  |
//!  host_put -> sender -> planner (host) -> heads -+  |
//!                   \--> put_read ...... put_data ---+
//!                    \-> segment ...... array's egress stream
//! ```
//!
//! | ports | neighbour |
//! |---|---|
//! | in `egress_data`, `egress_keep`, `egress_last`, `egress_frame`, `egress_put`, `egress_segment`, `egress_valid` / out `egress_ready` | array: frames as they are, payloads of device puts, and segments of context memory in the order in which they were asked for |
//! | in `put`, `put_valid` / out `put_ready` | array: a device put, before the first beat of its payload and in the order of the payloads |
//! | in `host_put`, `host_put_valid` / out `host_put_ready` | array: a put from host memory or of context memory, or a get |
//! | in `parsed`, `parsed_drop`, `parsed_valid` | parser: acknowledgements and refusals for the sender |
//! | out `send` | PSN filter: they go no further |
//! | out `put_event`, `put_event_valid` / in `put_event_ready` | RVMA engine: ends of puts of the host |
//! | in `reply`, `reply_valid` / out `reply_ready` | responder |
//! | out `put_read`, `put_read_valid` / in `put_read_ready`; in `put_data`, `put_data_last`, `put_data_error`, `put_data_valid` / out `put_data_ready` | RVMA engine: segments of host memory, in the order of the requests, each offered as a whole |
//! | out `segment`, `segment_valid` / in `segment_ready` | array: a segment of context memory, which comes on the egress stream |
//! | out `put_done`, `put_done_valid` | array: a put or get is over |
//! | out `beat`, `beat_valid` / in `beat_ready` | egress |
//! | out `respond`, `ack_every`, `nack_gap` / in `ack_sent`, `nack_sent`, `nack_withheld` | responder: what the registers say, what they count |
//! | in `csr` / out `csr_answer` | page `node` |
//!
//! Both data streams end in a queue, so that their `ready` is a register: that of the array in a [`Fifo`] of four beats in LUT RAM (a [`Skid`] takes twice the LUTs of
//! 512 bits), the host's, and the heads of its frames, in block RAM where there is some to spare: they wait for host memory anyway. The
//! framer behind them is one stage of logic up to egress.
//!
//! Segments carry [`SEGMENT`](frame_head::SEGMENT) bytes. Device puts are cut through: the first beat leaves 7 cycles after `put` is taken, its payload
//! behind it at one beat per cycle. Host puts leave segment by segment, up to 16 of them (22 KiB) asked for ahead. Puts of context memory stand among them: their
//! segments are asked of the array instead, and come on its stream. Device puts are UNSEQ: nobody acknowledges them; the [`Sender`] makes the others reliable.

pub mod frame_head;
pub mod framer;
pub mod nodes;
pub mod planner;

use crate::egress::EgressBeat;
use crate::sender::Sender;
use frame_head::{unsequenced, FrameHead};
use framer::Framer;
use nodes::Nodes;
use planner::Planner;
use spindle_blocks::fifo::BlockFifo;
use spindle_blocks::ram::RamStyle;
use spindle_blocks::{
    CsrRequest, CsrResponse, EventDesc, Fifo, FrameJob, HostRead, PacketDesc, PutDesc, PutDone, Skid, Slice,
};
use spindle_contract::descriptors::client;
use spindle_contract::wire::opcode;
use spindle_verilog::prelude::*;

const PUT: u64 = opcode::PUT as u64;
const CONTEXT: u64 = client::CONTEXT as u64;

/// A beat of the array.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ArrayBeat {
    /// Beat.
    pub beat: EgressBeat,
    /// It is payload of a put.
    pub put: Bit,
    /// It is a segment of context memory.
    pub segment: Bit,
}

/// A beat of host memory.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostBeat {
    /// Bytes, the first in bits 7:0.
    pub data: Bits<512>,
    /// Last beat of a segment.
    pub last: Bit,
    /// The segment could not be read; the same in all its beats.
    pub error: Bit,
}

/// See the head of this file.
#[derive(LogicBlock, Default)]
pub struct Initiator {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    #[allow(missing_docs)]
    pub reset: Signal<In, Bit>,
    /// Bytes from the array.
    pub egress_data: Signal<In, Bits<512>>,
    /// Which bytes count.
    pub egress_keep: Signal<In, Bits<64>>,
    /// Last beat.
    pub egress_last: Signal<In, Bit>,
    /// Frame number of the packet that caused it.
    pub egress_frame: Signal<In, Bits<16>>,
    /// Payload of a put, not a frame.
    pub egress_put: Signal<In, Bit>,
    /// Segment of context memory, neither of them.
    pub egress_segment: Signal<In, Bit>,
    /// A beat is offered.
    pub egress_valid: Signal<In, Bit>,
    /// It is taken.
    pub egress_ready: Signal<Out, Bit>,
    /// Device put.
    pub put: Signal<In, PutDesc>,
    /// It is offered.
    pub put_valid: Signal<In, Bit>,
    /// It is taken.
    pub put_ready: Signal<Out, Bit>,
    /// Host put or get.
    pub host_put: Signal<In, PutDesc>,
    /// It is offered.
    pub host_put_valid: Signal<In, Bit>,
    /// It is taken.
    pub host_put_ready: Signal<Out, Bit>,
    /// Acknowledgement or refusal.
    pub reply: Signal<In, FrameJob>,
    /// It is offered.
    pub reply_valid: Signal<In, Bit>,
    /// It is taken.
    pub reply_ready: Signal<Out, Bit>,
    /// Segment of host memory.
    pub put_read: Signal<Out, HostRead>,
    /// One is offered.
    pub put_read_valid: Signal<Out, Bit>,
    /// It is taken.
    pub put_read_ready: Signal<In, Bit>,
    /// Segment of context memory.
    pub segment: Signal<Out, HostRead>,
    /// One is offered.
    pub segment_valid: Signal<Out, Bit>,
    /// It is taken.
    pub segment_ready: Signal<In, Bit>,
    /// Its bytes.
    pub put_data: Signal<In, Bits<512>>,
    /// Last beat.
    pub put_data_last: Signal<In, Bit>,
    /// It could not be read.
    pub put_data_error: Signal<In, Bit>,
    /// A beat is offered.
    pub put_data_valid: Signal<In, Bit>,
    /// It is taken.
    pub put_data_ready: Signal<Out, Bit>,
    /// Who asked for what is over.
    pub put_done: Signal<Out, PutDone>,
    /// A put or get is over.
    pub put_done_valid: Signal<Out, Bit>,
    /// Beat for the wire.
    pub beat: Signal<Out, EgressBeat>,
    /// It is offered.
    pub beat_valid: Signal<Out, Bit>,
    /// It is taken.
    pub beat_ready: Signal<In, Bit>,
    /// Answers are sent.
    pub respond: Signal<Out, Bit>,
    /// Accepted packets for which an acknowledgement is due.
    pub ack_every: Signal<Out, Bits<6>>,
    /// Least time between two refusals to one source.
    pub nack_gap: Signal<Out, Bits<16>>,
    /// An acknowledgement was sent.
    pub ack_sent: Signal<In, Bit>,
    /// A refusal was sent.
    pub nack_sent: Signal<In, Bit>,
    /// A refusal was not.
    pub nack_withheld: Signal<In, Bit>,
    /// Access.
    pub csr: Signal<In, CsrRequest>,
    /// Answer.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Headers of a frame.
    pub parsed: Signal<In, PacketDesc>,
    /// It is dropped.
    pub parsed_drop: Signal<In, Bit>,
    /// There is one.
    pub parsed_valid: Signal<In, Bit>,
    /// Puts are sequenced: acknowledgements and refusals go no further.
    pub send: Signal<Out, Bit>,
    /// End of a put of the host.
    pub put_event: Signal<Out, EventDesc>,
    /// There is one.
    pub put_event_valid: Signal<Out, Bit>,
    /// It is taken.
    pub put_event_ready: Signal<In, Bit>,
    sender: Sender,
    device: Planner,
    host: Planner,
    replies: Planner,
    framer: Framer,
    nodes: Nodes,
    heads: BlockFifo<FrameHead, 4>,
    device_head: Slice<FrameHead>,
    reply_head: Slice<FrameHead>,
    reads: Skid<HostRead>,
    segments: Slice<HostRead>,
    array_beats: Fifo<ArrayBeat, 2>,
    host_beats: BlockFifo<HostBeat, 3>,
}

impl Initiator {
    /// An initiator whose small memories, those of its sender too, are of the kind `small` (see [`Sender::new`]), and whose host side waits in memories of
    /// the kind `waiting`.
    pub fn new(small: RamStyle, waiting: RamStyle) -> Self {
        Self {
            sender: Sender::new(small),
            replies: Planner::single(),
            nodes: Nodes::new(small),
            heads: BlockFifo::new(waiting),
            host_beats: BlockFifo::new(waiting),
            ..Default::default()
        }
    }
}

impl Logic for Initiator {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, sender, device, host, replies, framer, nodes);
        clocks!(self, clock, reset, heads, device_head, reply_head, reads, segments, array_beats, host_beats);

        // Device puts.
        self.device.from_host.next = false;
        // What only gets and the host side have is constant, and no bit of it is kept.
        let mut device_job: FrameJob = unsequenced(self.put.val());
        device_job.opcode = bits::<8>(PUT);
        device_job.single = false;
        device_job.left = self.put.val().length;
        device_job.numbered = false;
        device_job.from_host = false;
        device_job.host_address = bits::<64>(0);
        device_job.reply_addr = bits::<64>(0);
        device_job.reply_off = bits::<32>(0);
        device_job.reply_key = bits::<32>(0);
        self.device.job.next = device_job;
        self.device.job_valid.next = self.put_valid.val();
        self.put_ready.next = self.device.job_ready.val();
        self.device.read_ready.next = true;
        self.device.own_sum.next = self.nodes.own_sum.val();
        self.nodes.lookup[0].next = self.device.lookup.val();
        self.device.node.next = self.nodes.entry[0].val();
        self.device_head.write.next = self.device.head.val();
        self.device_head.write_valid.next = self.device.head_valid.val();
        self.device.head_ready.next = self.device_head.write_ready.val();
        self.framer.device.next = self.device_head.read.val();
        self.framer.device_valid.next = self.device_head.read_valid.val();
        self.device_head.read_ready.next = self.framer.device_ready.val();

        // Host puts and gets.
        self.host.from_host.next = true;
        self.sender.put.next = self.host_put.val();
        self.sender.put_valid.next = self.host_put_valid.val();
        self.host_put_ready.next = self.sender.put_ready.val();
        self.sender.parsed.next = self.parsed.val();
        self.sender.parsed_drop.next = self.parsed_drop.val();
        self.sender.parsed_valid.next = self.parsed_valid.val();
        self.sender.lost.next = self.framer.lost.val();
        self.sender.lost_record.next = self.framer.lost_record.val();
        self.put_event.next = self.sender.put_event.val();
        self.put_event_valid.next = self.sender.put_event_valid.val();
        self.sender.put_event_ready.next = self.put_event_ready.val();
        self.sender.enable.next = self.nodes.send.val();
        self.sender.timeout.next = self.nodes.timeout.val();
        self.sender.hole_time.next = self.nodes.hole_time.val();
        self.sender.retries.next = self.nodes.retries.val();
        self.sender.incarnation.next = self.nodes.incarnation.val();
        self.sender.limit.next = self.nodes.limit.val();
        self.nodes.resent.next = self.sender.resent.val();
        self.nodes.refused.next = self.sender.refused.val();
        self.nodes.refusal.next = self.sender.refusal.val();
        self.send.next = self.nodes.send.val();
        self.host.job.next = self.sender.job.val();
        self.host.job_valid.next = self.sender.job_valid.val();
        self.sender.job_ready.next = self.host.job_ready.val();
        self.host.own_sum.next = self.nodes.own_sum.val();
        self.nodes.lookup[1].next = self.host.lookup.val();
        self.host.node.next = self.nodes.entry[1].val();
        self.heads.write.next = self.host.head.val();
        self.heads.write_valid.next = self.host.head_valid.val();
        self.host.head_ready.next = self.heads.write_ready.val();
        self.framer.host.next = self.heads.read.val();
        self.framer.host_valid.next = self.heads.read_valid.val();
        self.heads.read_ready.next = self.framer.host_ready.val();
        let of_context = self.host.read.val().client == bits::<2>(CONTEXT);
        self.reads.write.next = self.host.read.val();
        self.reads.write_valid.next = self.host.read_valid.val() & !of_context;
        self.segments.write.next = self.host.read.val();
        self.segments.write_valid.next = self.host.read_valid.val() & of_context;
        self.host.read_ready.next =
            if of_context { self.segments.write_ready.val() } else { self.reads.write_ready.val() };
        self.put_read.next = self.reads.read.val();
        self.put_read_valid.next = self.reads.read_valid.val();
        self.reads.read_ready.next = self.put_read_ready.val();
        self.segment.next = self.segments.read.val();
        self.segment_valid.next = self.segments.read_valid.val();
        self.segments.read_ready.next = self.segment_ready.val();
        self.host_beats.write.next =
            HostBeat { data: self.put_data.val(), last: self.put_data_last.val(), error: self.put_data_error.val() };
        self.host_beats.write_valid.next = self.put_data_valid.val();
        self.put_data_ready.next = self.host_beats.write_ready.val();
        self.framer.data.next = self.host_beats.read.val();
        self.framer.data_valid.next = self.host_beats.read_valid.val();
        self.host_beats.read_ready.next = self.framer.data_ready.val();

        // Acknowledgements and refusals.
        self.replies.from_host.next = false;
        self.replies.job.next = self.reply.val();
        self.replies.job_valid.next = self.reply_valid.val();
        self.reply_ready.next = self.replies.job_ready.val();
        self.replies.read_ready.next = true;
        self.replies.own_sum.next = self.nodes.own_sum.val();
        self.nodes.lookup[2].next = self.replies.lookup.val();
        self.replies.node.next = self.nodes.entry[2].val();
        self.reply_head.write.next = self.replies.head.val();
        self.reply_head.write_valid.next = self.replies.head_valid.val();
        self.replies.head_ready.next = self.reply_head.write_ready.val();
        self.framer.reply.next = self.reply_head.read.val();
        self.framer.reply_valid.next = self.reply_head.read_valid.val();
        self.reply_head.read_ready.next = self.framer.reply_ready.val();

        // Frames.
        let beat = EgressBeat {
            data: self.egress_data.val(),
            keep: self.egress_keep.val(),
            last: self.egress_last.val(),
            frame: self.egress_frame.val(),
        };
        self.array_beats.write.next =
            ArrayBeat { beat: beat, put: self.egress_put.val(), segment: self.egress_segment.val() };
        self.array_beats.write_valid.next = self.egress_valid.val();
        self.egress_ready.next = self.array_beats.write_ready.val();
        self.framer.array.next = self.array_beats.read.val();
        self.framer.array_valid.next = self.array_beats.read_valid.val();
        self.array_beats.read_ready.next = self.framer.array_ready.val();
        self.framer.own_node.next = self.nodes.own_node.val();
        self.beat.next = self.framer.beat.val();
        self.beat_valid.next = self.framer.beat_valid.val();
        self.framer.beat_ready.next = self.beat_ready.val();
        // Ends of puts: the framer's cannot wait, the sender's can.
        let issuer = self.framer.ended_issuer.val();
        let ended = self.framer.ended.val();
        let acknowledged = self.sender.done_valid.val() & !ended;
        self.sender.done_ready.next = !ended;
        if ended {
            self.put_done.next = PutDone {
                cluster: issuer.cluster,
                hpu: issuer.hpu,
                handle: issuer.handle,
                error: self.framer.ended_error.val(),
                of_context: self.framer.ended_context.val(),
                ..Default::default()
            };
        } else {
            self.put_done.next = self.sender.done.val();
        }
        self.put_done_valid.next = ended | acknowledged;
        self.nodes.ended.next = ended | acknowledged;
        self.nodes.ended_error.next = if ended { self.framer.ended_error.val() } else { self.sender.done.val().error };
        self.respond.next = self.nodes.respond.val();
        self.ack_every.next = self.nodes.ack_every.val();
        self.nack_gap.next = self.nodes.nack_gap.val();
        self.nodes.ack_sent.next = self.ack_sent.val();
        self.nodes.nack_sent.next = self.nack_sent.val();
        self.nodes.nack_withheld.next = self.nack_withheld.val();
        self.nodes.csr.next = self.csr.val();
        self.csr_answer.next = self.nodes.csr_answer.val();
    }
}
