//! Puts headers in front of payloads, between the array's frames.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `array` | array: beats of frames, of payloads marked `put`, and of segments of context memory marked `segment` |
//! | in `device` | planner of device puts: their heads |
//! | in `host` | queue of heads of host puts, puts of context memory and gets |
//! | in `reply` | planner of acknowledgements: frames without payload |
//! | in `data` | RVMA engine: bytes of host puts, a segment at a time, without gaps |
//! | in `own_node` | node page |
//! | out `beat` | egress |
//! | out `ended`, `ended_issuer`, `ended_error`, `ended_context` | array: a put or get is over; its payload has been taken |
//! | out `packet_ended` | packet holds: a put of this packet is over, and no frame reads it any more |
//! | out `lost` | sender: the frame of a send record cannot be made |
//!
//! A frame for a node with which the ICRC is used leaves with `icrc` set; egress appends the ICRC, which the lengths in its headers count.
//!
//! Latency 0: the next register is egress's. One beat per cycle. A frame of the array passes unchanged. Frames of puts begin with a
//! beat of headers; the second beat has 26 more header bytes and 38 of the payload, so each payload beat is spread over two beats:
//! a fixed rotation, wires. Frames of the array and of the host side take turns when both wait; a reply, two beats, goes before
//! both unless the previous frame was a reply. A frame of host memory (a head with `raw`) passes unchanged too; bytes after its end
//! become zero. A segment of context memory waits on the array's stream until its head is the next
//! of the host side.

use super::frame_head::*;
use super::{ArrayBeat, HostBeat};
use crate::transmit::egress::EgressBeat;
use spindle_verilog::prelude::*;

const ROOM: u64 = SECOND_ROOM as u64;
const HEADS: u64 = SECOND_BYTES as u64;
const ROOM_BITS: usize = 8 * SECOND_ROOM;

/// Where in a frame the framer is.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
enum Framing {
    /// Between frames.
    Between,
    /// Inside a frame of the array.
    Pass,
    /// Inside a frame of host memory.
    PassHost,
    /// Second beat of a frame of ours.
    Second,
    /// Beats after it.
    Body,
    /// Payload that is not sent.
    Swallow,
    /// A frame without payload that is not sent.
    Skip,
}

/// The frame that the framer makes.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Choice {
    /// Between frames: a frame of the array, of a device put, of the host side or a reply is next.
    takes_frame: Bit,
    takes_device: Bit,
    takes_host: Bit,
    takes_reply: Bit,
    /// The payload of the host side's next frame comes from host memory.
    reads_host: Bit,
    /// A beat of a frame of host memory is next, and there is one.
    raw: Bit,
    /// The frame is one of the host side.
    ours: Bit,
    /// The frame is a reply.
    replies: Bit,
    head: FrameHead,
    /// The frame is not sent: its segment could not be read, or its node does not exist.
    mute: Bit,
    /// There is no payload that has to be taken.
    mute_without_data: Bit,
}

/// See the head of this file.
#[block]
pub struct Framer {
    /// Beat of the array.
    pub array: Sink<ArrayBeat>,
    /// Head of a device put's frame.
    pub device: Sink<FrameHead>,
    /// Head of a host put's or get's frame.
    pub host: Sink<FrameHead>,
    /// Head of a reply.
    pub reply: Sink<FrameHead>,
    /// Beat of host memory.
    pub data: Sink<HostBeat>,
    /// Who we are.
    pub own_node: Signal<In, LocalNode>,
    /// Beat for the wire.
    pub beat: Source<EgressBeat>,
    /// A put or get is over.
    pub ended: Signal<Out, Bit>,
    /// Whose.
    pub ended_issuer: Signal<Out, FrameIssuer>,
    /// The put or get was not sent as a whole.
    pub ended_error: Signal<Out, Bit>,
    /// The put was one of context memory or of a packet.
    pub ended_context: Signal<Out, Bit>,
    /// Packet of a put that is over, with `ended`.
    pub packet_ended: Pulse<Bits<10>>,
    /// Send record of a frame that is not sent.
    pub lost: Pulse<Bits<10>>,
    state: Reg<Framing>,
    /// The frame is one of the host side,
    from_host: Reg<Bit>,
    /// and its payload comes from host memory.
    host_bytes: Reg<Bit>,
    /// The frame is a reply; between frames: the one before was.
    from_reply: Reg<Bit>,
    /// The host side is next when both wait.
    host_turn: Reg<Bit>,
    /// The first beat of a frame waits: its choice stays.
    held: Reg<Bit>,
    held_host: DFF<Bit>,
    held_reply: DFF<Bit>,
    /// Payload bytes that have not been sent.
    left: DFF<Bits<11>>,
    carry: DFF<Bits<SECOND_BITS>>,
    /// A segment of the host put that is being sent could not be read.
    spoiled: Reg<Bit>,
    ended_out: Reg<Bit>,
    issuer_out: DFF<FrameIssuer>,
    error_out: DFF<Bit>,
    context_out: DFF<Bit>,
    lost_out: Reg<Bit>,
    record_out: DFF<Bits<10>>,
    of_packet_out: DFF<Bit>,
}

/// Bytes of the last beat of a frame of so many bytes.
#[hdl_fn]
fn raw_mask(length: Bits<16>) -> Bits<64> {
    let count = length.get_bits::<6>(0);
    bytes_kept((!count.any(), count).cat::<7>())
}

/// Ones in the low `count` of 64 bits.
#[hdl_fn]
fn bytes_kept(count: Bits<7>) -> Bits<64> {
    !(bits::<64>(u64::MAX) << count)
}

#[hdl]
impl Framer {
    fn update(&mut self) {
        let state = self.state.q.val();
        let between = state == Framing::Between;
        let second = state == Framing::Second;
        let body = state == Framing::Body;
        let swallow = state == Framing::Swallow;
        let room = self.beat.ready.val();

        let array = self.array.val().beat;
        let choice = self.choose(between);

        // Payload.
        let left = self.left.q.val();
        let wants = (second & left.any()) | (body & (left > bits::<11>(HEADS)));
        let host_bytes = self.host_bytes.q.val();
        // Not from `head`, which between frames is found out late.
        let get = if self.from_reply.q.val() {
            self.reply.val().get
        } else if self.from_host.q.val() {
            self.host.val().get
        } else {
            self.device.val().get
        };
        let payload_valid = if host_bytes { self.data.valid.val() } else { self.array.valid.val() | get };
        let sends = (second | body) & (payload_valid | !wants);
        let moves = sends & room;
        let host_data = self.data.val().data;
        let capacity = if second { bits::<11>(ROOM) } else { bits::<11>(64) };
        let ends = left <= capacity;
        let count = if ends { left.get_bits::<7>(0) } else { capacity.get_bits::<7>(0) };
        // Bytes of a last beat; of left and not of count, which is found out late.
        let kept = left.get_bits::<7>(0) + if second { bits::<7>(HEADS) } else { bits::<7>(0) };
        if moves {
            self.left.d.next = left - bit_cast::<11, 7>(count);
            // What a GET carries ends in the second beat.
            let payload = if host_bytes { host_data } else { array.data };
            self.carry.d.next = payload.get_bits::<SECOND_BITS>(8 * SECOND_ROOM);
        }

        // The beat: each half of it is one of four words, chosen by two bits.
        let frame_passes = (choice.takes_frame & between) | (state == Framing::Pass) | choice.raw;
        // Not from `choice`, which is found out late.
        let raw_ends = choice.raw & self.data.val().last;
        let raw_keep = if self.data.val().last { raw_mask(self.host.val().ip_len) } else { bits::<64>(u64::MAX) };
        let passed = if choice.raw { host_data & byte_mask::<512, 64>(raw_keep) } else { array.data };
        let header = frame_header(choice.head, self.own_node.val());
        let from_head = if between {
            header.get_bits::<ROOM_BITS>(SECOND_BITS)
        } else {
            bit_cast::<ROOM_BITS, 128>(get_beat(choice.head))
        };
        let gets = get & self.from_host.q.val();
        // Without payload the head, which stays, fills the rest: what waits on the array's stream may change meanwhile.
        let high_pick = (!frame_passes & wants & !gets, !frame_passes & (!wants | gets | host_bytes)).cat::<2>();
        let high = match high_pick.index() {
            0 => passed.get_bits::<ROOM_BITS>(SECOND_BITS),
            1 => from_head,
            2 => array.data.get_bits::<ROOM_BITS>(0),
            _ => host_data.get_bits::<ROOM_BITS>(0),
        };
        let low_pick = (!frame_passes & !between, !frame_passes & (between | !second)).cat::<2>();
        let low = match low_pick.index() {
            0 => passed.get_bits::<SECOND_BITS>(0),
            1 => header.get_bits::<SECOND_BITS>(0),
            2 => header.get_bits::<SECOND_BITS>(512),
            _ => self.carry.q.val(),
        };
        let data = (high, low).cat::<512>();
        let mut keep: Bits<64> = bytes_kept(kept) | repeat::<64>(!ends);
        let mut last: Bit = ends;
        let mut frame: Bits<16> = choice.head.issuer.frame;
        let icrc = choice.head.node.icrc & !frame_passes;
        if choice.raw {
            keep = raw_keep;
            last = self.data.val().last;
        } else if frame_passes {
            keep = array.keep;
            last = array.last;
            frame = array.frame;
        } else if between {
            keep = bits::<64>(u64::MAX);
            last = false;
        }
        let begins =
            between & (choice.takes_device | choice.takes_host | choice.takes_reply) & !choice.mute & !choice.raw;
        self.held.d.next = between & (choice.takes_frame | begins | choice.raw) & !room;
        self.held_host.d.next = choice.takes_host;
        self.held_reply.d.next = choice.takes_reply;
        let passes = (between & choice.takes_frame) | ((state == Framing::Pass) & self.array.valid.val()) | choice.raw;
        self.beat.offer(passes | begins | sends, EgressBeat { data, keep, last, frame, icrc });

        // What is taken.
        let array_payload = wants & !host_bytes & !gets & (second | body);
        let data_payload = wants & host_bytes;
        self.array.ready.next = room & ((between & choice.takes_frame) | (state == Framing::Pass) | array_payload)
            | (swallow & !host_bytes);
        self.data.ready.next = (room & (data_payload | choice.raw)) | (swallow & host_bytes);
        let swallowed = swallow
            & if host_bytes {
                self.data.valid.val() & self.data.val().last
            } else {
                self.array.valid.val() & array.last
            };
        // Never between frames, where whose frame it is is found out late.
        let skipped = state == Framing::Skip;
        let done = (moves & ends) | swallowed | skipped;
        self.device.ready.next = done & !self.from_host.q.val() & !self.from_reply.q.val();
        self.host.ready.next = (done & self.from_host.q.val()) | (raw_ends & room);
        self.reply.ready.next = done & self.from_reply.q.val();

        self.step(choice, between, second, array, done, begins, moves);
        self.end(choice, done, swallowed, skipped);
    }

    /// The frame that is next, or the frame that is being made.
    fn choose(&mut self, between: Bit) -> Choice {
        let array_put = self.array.val().put;
        let array_segment = self.array.val().segment;
        let reads_host = self.host.val().data & self.host.val().from_host;
        let frame_waits = self.array.valid.val() & !array_put & !array_segment;
        let device_waits = self.array.valid.val() & array_put & self.device.valid.val();
        let there =
            if self.host.val().from_host { self.data.valid.val() } else { self.array.valid.val() & array_segment };
        let host_waits = self.host.valid.val() & (there | !self.host.val().data);
        let array_waits = frame_waits | device_waits;
        let reply_turn = self.reply.valid.val() & !(self.from_reply.q.val() & (array_waits | host_waits));
        let takes_reply = if self.held.q.val() { self.held_reply.q.val() } else { reply_turn };
        let host_turn = host_waits & !takes_reply & (self.host_turn.q.val() | !array_waits);
        let takes_host = if self.held.q.val() { self.held_host.q.val() } else { host_turn };
        let takes_frame = frame_waits & !takes_host & !takes_reply;
        let takes_device = device_waits & !takes_host & !takes_reply;
        let ours = if between { takes_host } else { self.from_host.q.val() };
        let replies = if between { takes_reply } else { self.from_reply.q.val() };
        let head = if replies {
            self.reply.val()
        } else if ours {
            self.host.val()
        } else {
            self.device.val()
        };
        // Nothing is sent of a segment that could not be read, or to a node that does not exist.
        let mute = head.bad | (ours & reads_host & self.data.val().error);
        let mute_without_data = head.bad & (ours | replies);
        let begins_raw = takes_host & self.host.val().raw & !self.data.val().error;
        let raw = (between & begins_raw) | ((self.state.q.val() == Framing::PassHost) & self.data.valid.val());
        Choice {
            takes_frame,
            takes_device,
            takes_host,
            takes_reply,
            reads_host,
            raw,
            ours,
            replies,
            head,
            mute,
            mute_without_data,
        }
    }

    /// The next state.
    fn step(
        &mut self,
        choice: Choice,
        between: Bit,
        second: Bit,
        array: EgressBeat,
        done: Bit,
        begins: Bit,
        moves: Bit,
    ) {
        let room = self.beat.ready.val();
        if between {
            self.from_host.d.next = choice.takes_host;
            self.host_bytes.d.next = choice.takes_host & choice.reads_host;
            self.left.d.next = choice.head.size;
            if choice.takes_frame {
                if room {
                    self.from_reply.d.next = false;
                    self.host_turn.d.next = true;
                    self.state.load(!array.last, Framing::Pass);
                }
            } else if (choice.takes_device | choice.takes_host | choice.takes_reply) & choice.mute {
                self.from_reply.d.next = choice.takes_reply;
                self.host_turn.load(!choice.takes_reply, !choice.takes_host);
                self.state.d.next = if choice.mute_without_data { Framing::Skip } else { Framing::Swallow };
            } else if choice.raw {
                if room {
                    self.from_reply.d.next = false;
                    self.host_turn.d.next = false;
                    self.state.load(!self.data.val().last, Framing::PassHost);
                }
            } else if begins & room {
                self.from_reply.d.next = choice.takes_reply;
                self.host_turn.load(!choice.takes_reply, !choice.takes_host);
                self.state.d.next = Framing::Second;
            }
        } else if self.state.q.val() == Framing::Pass {
            self.state.load(self.array.valid.val() & array.last & room, Framing::Between);
        } else if self.state.q.val() == Framing::PassHost {
            self.state.load(choice.raw & self.data.val().last & room, Framing::Between);
        } else if done {
            self.state.d.next = Framing::Between;
        } else if second & moves {
            self.state.d.next = Framing::Body;
        }
    }

    /// The end of a put. A segment that could not be read fails the put.
    fn end(&mut self, choice: Choice, done: Bit, swallowed: Bit, skipped: Bit) {
        let spoils = swallowed & self.host_bytes.q.val();
        let spoiled = self.spoiled.q.val() & choice.ours;
        self.spoiled.load(done & choice.ours & !choice.head.tracked, (spoiled | spoils) & !choice.head.last);
        self.ended_out.d.next = done & choice.head.last & !choice.head.tracked & !choice.replies;
        // A control packet has no record whose put could fail for it.
        self.lost_out.d.next = (swallowed | skipped)
            & choice.head.tracked
            & (choice.head.opcode != bits(spindle_contract::wire::opcode::CTRL));
        self.record_out.load(done, choice.head.record);
        self.of_packet_out.d.next = choice.head.of_packet;
        self.packet_ended.offer(self.ended_out.q.val() & self.of_packet_out.q.val(), self.record_out.q.val());
        self.lost.offer(self.lost_out.q.val(), self.record_out.q.val());
        self.issuer_out.d.next = choice.head.issuer;
        self.error_out.d.next = if choice.head.over { choice.head.failed } else { swallowed | skipped | spoiled };
        self.ended.next = self.ended_out.q.val();
        self.ended_issuer.next = self.issuer_out.q.val();
        self.ended_error.next = self.error_out.q.val();
        self.context_out.d.next = choice.ours & !choice.head.from_host & !choice.head.get;
        self.ended_context.next = self.context_out.q.val();
    }
}
