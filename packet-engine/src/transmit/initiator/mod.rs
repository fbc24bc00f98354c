//! The initiator: frames that the NIC makes itself, for puts and gets.
//!
//! ```text
//!  put ------> put_planner --------------------------------------+
//!                                                                v
//!  array's egress stream (frames, payloads) --> packet sums --> framer --> egress
//!                                                                ^  ^
//!  reply ----> planner (replies) --------------------------------+  |
//!  frame ----> put_read, heads (a frame of host memory, as it is)   |
//!  host_put -> sender -> planner (host) -> heads ----------------+  |
//!                   \--> put_read ...... put_data ------------------+
//!                    \-> segment ...... array's egress stream
//! ```
//!
//! | ports | neighbour |
//! |---|---|
//! | in `egress` | array: frames, payloads of device puts, and segments of context memory in the order of the requests |
//! | in `put` | array: a device put, before the first beat of its payload and in the order of the payloads |
//! | in `host_put` | array: a put from host memory or of context memory, or a get |
//! | in `frame` | RVMA engine: host memory that is a frame, at most 8 KiB |
//! | in `parsed`, `bad_icrc` | parser: acknowledgements and refusals for the sender, with a right ICRC if they have one |
//! | in `source` | parser: reads the node table |
//! | out `send` | PSN filter: acknowledgements and refusals go no further |
//! | out `put_event` | RVMA engine: ends of puts of the host |
//! | in `reply` | responder |
//! | out `put_read`; in `put_data` | RVMA engine: segments of host memory in the order of requests, each as a whole; checksums of frames |
//! | out `segment` | array: a segment of context memory or of a packet, which comes on the egress stream |
//! | out `packet_ended` | packet holds: a put of this packet is over, and no frame reads it any more |
//! | out `put_done` | array: a put or get is over |
//! | out `beat` | egress |
//! | out `acks` | responder: its registers, and what they count |
//! | in `csr` / out `csr_answer` | page `node` |
//!
//! Both data streams end in a queue, so that their `ready` is a register: that of the array in the LUT RAM of [`PacketSums`],
//! where frames wait for the checksums that their handlers want, the host's, and the heads of its frames, in block RAM where there
//! is some to spare: they wait for host memory anyway. The framer after these queues is one stage of logic up to egress.
//!
//! Segments carry [`SEGMENT`](frame_head::SEGMENT) bytes. Device puts are cut through: the first beat leaves 4 cycles after `put`
//! is taken, its payload follows at one beat per cycle; small ones follow one another without a pause, a put every two cycles.
//! Host puts leave segment by segment, up to 32 of them requested ahead, as far as the read buffer holds them. Puts of context
//! memory are among them: their segments are requested from the array instead,
//! and come on its stream. Frames of host memory need no planner: one per two cycles enters the queues of reads and heads, in turn
//! with the planner. 32 are under way, so a frame of one beat takes a 32nd of the latency of host memory.
//! Device puts are UNSEQ: no node acknowledges them; the [`Sender`] makes the others reliable.

pub mod frame_head;
pub mod framer;
pub mod nodes;
pub mod packet_sums;
pub mod planner;
pub mod put_planner;

use crate::bundles::{AckControlSource, HeadersSink, SourceLookupSink};
use crate::transmit::egress::EgressBeat;
use crate::transmit::sender::congestion_window::WindowSettings;
use crate::transmit::sender::Sender;
use frame_head::FrameHead;
use framer::Framer;
use nodes::Nodes;
use packet_sums::PacketSums;
use planner::Planner;
use put_planner::PutPlanner;
use spindle_blocks::bundles::EgressSink;
use spindle_blocks::checksum::{ChecksumField, BEAT_WORDS};
use spindle_blocks::fifo::BlockFifo;
use spindle_blocks::ram::RamStyle;
use spindle_blocks::{CsrRequest, CsrResponse, EventDesc, FrameJob, HostRead, PutDesc, PutDone, Skid, Slice};
use spindle_contract::descriptors::client;
use spindle_contract::wire::opcode;
use spindle_verilog::prelude::*;

/// A beat of the array.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ArrayBeat {
    /// Beat.
    pub beat: EgressBeat,
    /// The beat is payload of a put.
    pub put: Bit,
    /// The beat is a segment of context memory.
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
#[block]
pub struct Initiator {
    /// Bytes from the array.
    pub egress: EgressSink,
    /// Device put.
    pub put: Sink<PutDesc>,
    /// Host put or get.
    pub host_put: Sink<PutDesc>,
    /// Frame in host memory.
    pub frame: Sink<HostRead>,
    /// Acknowledgement or refusal.
    pub reply: Sink<FrameJob>,
    /// Segment of host memory.
    pub put_read: Source<HostRead>,
    /// A put of this packet is over.
    pub packet_ended: Pulse<Bits<10>>,
    /// Segment of context memory or of a packet.
    pub segment: Source<HostRead>,
    /// Its bytes.
    pub put_data: Sink<Bits<512>>,
    /// Last beat.
    pub put_data_last: Signal<In, Bit>,
    /// The segment could not be read.
    pub put_data_error: Signal<In, Bit>,
    /// A checksum to insert into the beat.
    pub put_data_field: Signal<In, ChecksumField>,
    /// Who asked for what is over.
    pub put_done: Pulse<PutDone>,
    /// Beat for the wire.
    pub beat: Source<EgressBeat>,
    /// Configuration of the responder, and what it sent.
    pub acks: AckControlSource,
    /// Access.
    pub csr: Signal<In, CsrRequest>,
    /// Answer.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Headers of a frame.
    pub parsed: HeadersSink,
    /// The ICRC of the frame whose headers came in the last cycle is wrong.
    pub bad_icrc: Signal<In, Bit>,
    /// Source of a frame, and its address.
    pub source: SourceLookupSink,
    /// Puts are sequenced: acknowledgements and refusals go no further.
    pub send: Signal<Out, Bit>,
    /// End of a put of the host.
    pub put_event: Source<EventDesc>,
    sender: Sender,
    device: PutPlanner,
    host: Planner,
    replies: Planner,
    framer: Framer,
    nodes: Nodes,
    raw: Slice<HostRead>,
    /// Frames of host memory have their turn.
    raw_turn: Reg<Bit>,
    heads: BlockFifo<FrameHead, 5>,
    reply_head: Slice<FrameHead>,
    reads: Skid<HostRead>,
    segments: Slice<HostRead>,
    packet_sums: PacketSums,
    host_beats: BlockFifo<HostBeat, 3>,
}

impl Initiator {
    /// An initiator whose small memories, those of its sender too, are of the kind `small` (see [`Sender::new`]), and whose
    /// host side waits in memories of the kind `waiting`.
    pub fn new(small: RamStyle, waiting: RamStyle) -> Self {
        Self {
            sender: Sender::new(small),
            replies: Planner::single(),
            nodes: Nodes::new(small),
            heads: BlockFifo::new(waiting),
            host_beats: BlockFifo::new(waiting),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Initiator {
    fn update(&mut self) {
        // Device puts.
        self.put.join(&mut self.device.put);
        self.device.own_sum.next = self.nodes.own_sum.val();
        self.nodes.lookup[0].next = self.device.lookup.val();
        self.device.node.next = self.nodes.row[0].val();
        self.device.head.join(&mut self.framer.device);

        // Host puts and gets.
        self.host.from_host.next = true;
        self.host_put.join(&mut self.sender.put);
        self.parsed.join(&mut self.sender.parsed);
        self.sender.bad_icrc.next = self.bad_icrc.val();
        self.source.join(&mut self.nodes.source);
        self.framer.lost.join(&mut self.sender.lost);
        self.framer.packet_ended.join(&mut self.packet_ended);
        self.sender.put_event.join(&mut self.put_event);
        self.sender.enable.next = self.nodes.settings.val().send_control_sequenced;
        self.sender.timeout.next = self.nodes.settings.val().send_times_timeout;
        self.sender.hole_time.next = self.nodes.settings.val().send_times_hole_time;
        self.sender.retries.next = self.nodes.settings.val().send_control_retries;
        self.sender.incarnation.next = self.nodes.settings.val().send_incarnation;
        self.sender.limit.next = self.nodes.settings.val().send_limit;
        let settings = self.nodes.settings.val();
        self.sender.windows.next = WindowSettings {
            enable: settings.congestion_obey_marks,
            shrink: settings.congestion_shrink,
            least: settings.congestion_window_least,
            first: settings.congestion_window_first,
            most: settings.congestion_window_most,
        };
        self.sender.turns.next = settings.send_turns_puts;
        self.sender.own_nid.next = settings.local_nid;
        self.host.ecn.next = settings.congestion_obey_marks;
        self.nodes.resent.next = self.sender.resent.val();
        self.nodes.refused.next = self.sender.refused.val();
        self.nodes.refusal.next = self.sender.refusal.val();
        self.send.next = self.nodes.settings.val().send_control_sequenced;
        self.sender.job.join(&mut self.host.job);
        self.host.own_sum.next = self.nodes.own_sum.val();
        self.nodes.lookup[1].next = self.host.lookup.val();
        self.host.node.next = self.nodes.row[1].val();
        self.frame.join(&mut self.raw.write);
        let raw = self.raw.read.val();
        let raw_offers = self.raw.read.valid.val() & self.raw_turn.q.val();
        let raw_goes = raw_offers & self.heads.write.ready.val() & self.reads.write.ready.val();
        self.raw.read.ready.next = raw_goes;
        self.raw_turn.d.next = !raw_goes;
        let mut head: FrameHead = self.host.head.val();
        if raw_offers {
            head.raw = true;
            head.get = false;
            head.data = true;
            head.ecn = false;
            head.from_host = true;
            head.bad = false;
            head.ip_len = raw.length;
            // Nothing waits for the end of the frame here.
            head.tracked = true;
            head.opcode = bits::<8>(opcode::CTRL);
            head.issuer.frame = bits::<16>(0);
        }
        self.heads.write.offer(raw_goes | (self.host.head.valid.val() & !raw_offers), head);
        self.host.head.ready.next = self.heads.write.ready.val() & !raw_offers;
        self.heads.read.join(&mut self.framer.host);
        let of_context = self.host.read.val().client == bits::<2>(client::CONTEXT);
        let planned = self.host.read.valid.val() & !of_context & !raw_offers;
        self.reads.write.offer(raw_goes | planned, if raw_offers { raw } else { self.host.read.val() });
        self.segments.write.offer(self.host.read.valid.val() & of_context, self.host.read.val());
        self.host.read.ready.next =
            (if of_context { self.segments.write.ready.val() } else { self.reads.write.ready.val() }) & !raw_offers;
        self.reads.read.join(&mut self.put_read);
        self.segments.read.join(&mut self.segment);
        self.host_beats.write.next =
            HostBeat { data: self.with_checksum(), last: self.put_data_last.val(), error: self.put_data_error.val() };
        self.host_beats.write.valid.next = self.put_data.valid.val();
        self.put_data.ready.next = self.host_beats.write.ready.val();
        self.host_beats.read.join(&mut self.framer.data);

        // Acknowledgements and refusals.
        self.replies.from_host.next = false;
        self.replies.ecn.next = false;
        self.reply.join(&mut self.replies.job);
        self.replies.read.ready.next = true;
        self.replies.own_sum.next = self.nodes.own_sum.val();
        self.nodes.lookup[2].next = self.replies.lookup.val();
        self.replies.node.next = self.nodes.row[2].val();
        self.replies.head.join(&mut self.reply_head.write);
        self.reply_head.read.join(&mut self.framer.reply);

        // Frames.
        let beat = EgressBeat {
            data: self.egress.data.val(),
            keep: self.egress.keep.val(),
            last: self.egress.last.val(),
            frame: self.egress.frame.val(),
            icrc: false,
        };
        self.packet_sums.write.next =
            ArrayBeat { beat, put: self.egress.put.val(), segment: self.egress.segment.val() };
        self.packet_sums.write.valid.next = self.egress.valid.val();
        self.packet_sums.checksum.next = self.egress.checksum.val();
        self.egress.ready.next = self.packet_sums.write.ready.val();
        self.packet_sums.read.join(&mut self.framer.array);
        self.nodes.unsummed.next = self.packet_sums.unsummed.val();
        self.framer.own_node.next = self.nodes.own_node.val();
        self.framer.beat.join(&mut self.beat);
        // Ends of puts: the framer's cannot wait, the sender's can.
        let issuer = self.framer.ended_issuer.val();
        let ended = self.framer.ended.val();
        let acknowledged = self.sender.done.valid.val() & !ended;
        self.sender.done.ready.next = !ended;
        if ended {
            self.put_done.next = PutDone {
                issuer: issuer.command,
                error: self.framer.ended_error.val(),
                of_context: self.framer.ended_context.val(),
                ..Default::default()
            };
        } else {
            self.put_done.next = self.sender.done.val();
        }
        self.put_done.valid.next = ended | acknowledged;
        self.nodes.ended.next = ended | acknowledged;
        self.nodes.ended_error.next = if ended { self.framer.ended_error.val() } else { self.sender.done.val().error };
        self.acks.enable.next = self.nodes.settings.val().ack_control_respond;
        self.acks.every.next = self.nodes.settings.val().ack_control_ack_every;
        self.acks.nack_gap.next = self.nodes.settings.val().ack_control_nack_gap;
        self.nodes.ack_sent.next = self.acks.sent.val();
        self.nodes.nack_sent.next = self.acks.nack_sent.val();
        self.nodes.nack_withheld.next = self.acks.nack_withheld.val();
        self.nodes.csr.next = self.csr.val();
        self.csr_answer.next = self.nodes.csr_answer.val();
    }

    /// The beat of host memory, with the checksum that is inserted into it.
    fn with_checksum(&mut self) -> Bits<512> {
        let field = self.put_data_field.val();
        let mut data: Bits<512> = self.put_data.val();
        for i in 0..BEAT_WORDS {
            let inserted = field.present & (field.word == bits::<5>(i));
            data.set_bits::<16>(
                16 * i,
                if inserted { field.value } else { self.put_data.val().get_bits::<16>(16 * i) },
            );
        }
        data
    }
}
