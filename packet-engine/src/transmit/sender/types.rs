//! What the sender keeps of destinations, records and puts, and the jobs that it makes of them.

use crate::transmit::initiator::frame_head::{packet_of, unsequenced};
use spindle_blocks::{EventDesc, FrameJob, PacketDesc, PutDesc, PutDone};
use spindle_contract::{
    descriptors::put_op,
    events,
    wire::{control, flag, opcode},
};
use spindle_verilog::prelude::*;

/// [`Destination::state`]: nothing was sent to it yet.
pub const NEW: u64 = 0;
/// [`Destination::state`]: its window is being opened.
pub const OPENING: u64 = 1;
/// [`Destination::state`]: segments may be sent.
pub const OPEN: u64 = 2;

/// What the sender does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum Sending {
    /// Clears its tables.
    Clear,
    /// Chooses.
    Idle,
    /// The destination of a response is there.
    Response,
    /// Whether the response is about numbers that were sent.
    Judge,
    /// Records below the number of a response are freed.
    Release,
    /// Records of its bitmap are marked or sent again.
    Select,
    /// The parts of the new congestion window are there.
    Weigh,
    /// The new congestion window is there.
    Adapt,
    /// The destination of the put that is being sent is there.
    Issue,
    /// A destination's timer is checked.
    Timer,
    /// Its oldest records are sent again.
    Repeat,
    /// Its records are given up.
    GiveUp,
    /// The record whose frame cannot be made is there.
    Lost,
    /// A segment is sent, or again: low half of its address.
    Again,
    /// High half.
    High,
    /// Its job is made as soon as the last one is taken.
    Job,
    /// A put is over: its issuer and its process are informed.
    Over,
    /// The destination is written back.
    Save,
}

/// A destination: its numbers, and the list of its records, oldest first.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Destination {
    /// [`NEW`], [`OPENING`] or [`OPEN`].
    pub state: Bits<2>,
    /// Number of the oldest record.
    pub base: Bits<32>,
    /// Next number.
    pub psn: Bits<32>,
    /// Records.
    pub count: Bits<11>,
    /// Oldest record.
    pub head: Bits<10>,
    /// Youngest record.
    pub tail: Bits<10>,
    /// Time at which the oldest record has waited too long.
    pub deadline: Bits<16>,
    /// Timeouts since the last acknowledgement.
    pub retries: Bits<4>,
    /// Windows that were given up.
    pub generation: Bits<8>,
    /// The last of them because the destination refuses us.
    pub unwelcome: Bit,
}

/// A segment that was sent.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct SendRecord {
    /// Put.
    pub slot: Bits<6>,
    /// Where the segment begins in the message.
    pub offset: Bits<32>,
    /// The segment has been acknowledged.
    pub acked: Bit,
    /// The segment is lost, and has not been sent again since.
    pub lost: Bit,
    /// Time from which the record is sent again if a later one arrived.
    pub due: Bits<16>,
}

/// A put as it was submitted.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PutEntry {
    /// What to send.
    pub put: PutDesc,
    /// Its message number.
    pub msg_id: Bits<32>,
}

/// A put that has begun and is not sent to its end.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Unsent {
    /// Destination.
    pub node: Bits<8>,
    /// Slot of the put.
    pub slot: Bits<6>,
    /// Where the next segment begins in the message.
    pub offset: Bits<32>,
    /// Bytes from there on.
    pub left: Bits<32>,
}

/// Progress of a put.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PutState {
    /// The slot is taken.
    pub live: Bit,
    /// The put has had a turn,
    pub begun: Bit,
    /// and this was then the generation of its destination.
    pub generation: Bits<8>,
    /// All segments were sent once.
    pub issued: Bit,
    /// Segments that were sent and have not been acknowledged.
    pub open: Bits<11>,
    /// The put failed: no further segment of it is sent.
    pub failed: Bit,
    /// Reason: a code of `wire::nack`, or 0 when the destination did not answer or the data could not be read.
    pub code: Bits<8>,
    /// A refusal for lack of a buffer ends it from `expires` on.
    pub limited: Bit,
    /// In units of 1024 cycles.
    pub expires: Bits<16>,
}

/// An acknowledgement or refusal that arrived.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Low bits of its source.
    pub node: Bits<8>,
    /// The lowest number that has not been accepted.
    pub expected: Bits<32>,
    /// Bit i: that number + i has been accepted.
    pub selective: Bits<64>,
    /// Refusal: of which number.
    pub about: Bits<32>,
    /// The response is a refusal.
    pub refusal: Bit,
    /// Its code.
    pub code: Bits<8>,
    /// The response answers an OPEN.
    pub opens: Bit,
    /// Of which incarnation.
    pub incarnation: Bits<32>,
    /// The response has no numbers: the destination keeps those of another node in our entry.
    pub stranger: Bit,
    /// Packets of ours that were marked, modulo 256; an acknowledgement only.
    pub marks: Bits<8>,
}

/// The state of the sender, and the put at hand.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// Nothing is under way.
    pub idle: Bit,
    /// A segment of the current put is to be sent.
    pub issues: Bit,
    /// Records are walked over.
    pub walks: Bit,
    /// The tables are cleared.
    pub clears: Bit,
    /// Slot of the put that is looked up.
    pub slot: Bits<6>,
    /// State of the put that was looked up.
    pub put: PutState,
}

/// What is done to the record at hand.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Walk {
    /// A refusal is about the record.
    pub refuses: Bit,
    /// The bitmap's bit of the record is looked at.
    pub selects: Bit,
    /// The record is sent again after a timeout.
    pub repeats: Bit,
    /// The record is given up.
    pub gives_up: Bit,
    /// The record's frame could not be made.
    pub loses: Bit,
    /// The record becomes free.
    pub frees: Bit,
    /// The bitmap has the record.
    pub marks: Bit,
    /// The bitmap does not have the record.
    pub missing: Bit,
    /// The put fails because of a refusal.
    pub refused: Bit,
    /// The record is sent again.
    pub resends: Bit,
    /// The record is found to be lost, which was not known.
    pub declares: Bit,
    /// The record's segment is acknowledged or given up for the first time.
    pub settles: Bit,
    /// The segment was the last of its put that was open.
    pub ends: Bit,
}

/// What is done to the put that is being sent.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Issue {
    /// The put has its turn.
    pub visits: Bit,
    /// The put has failed.
    pub dead: Bit,
    /// The segment is the last one.
    pub last: Bit,
    /// The rest of the put is not sent.
    pub abandons: Bit,
    /// A segment gets a record and is sent.
    pub sends: Bit,
    /// The record follows another one of the destination.
    pub chains: Bit,
}

/// What is done to a put that is over.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct End {
    /// The put answers a get: its issuer expects nothing.
    pub of_get_response: Bit,
    /// The bytes are a packet's: the issuer is answered after the frames that are under way.
    pub of_packet: Bit,
    /// A process of the host issued the put.
    pub by_host: Bit,
    /// The slot becomes free.
    pub forgets: Bit,
}

/// Whether the next put begins.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Begin {
    /// The put is sequenced.
    pub sequenced: Bit,
    /// The put is taken.
    pub takes: Bit,
    /// The put is taken and sequenced.
    pub begins: Bit,
    /// The put is taken, and waits for its turn.
    pub joins: Bit,
    /// The put that has waited longest has its turn.
    pub resumes: Bit,
    /// The put at hand, which had its turn, makes room for another one.
    pub yields: Bit,
}

/// Jobs that may be made.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Jobs {
    /// The job register is free.
    pub free: Bit,
    /// Job of the record.
    pub segment: FrameJob,
    /// Incarnation of the destination's window.
    pub incarnation: Bits<32>,
    /// Job that opens the window, or the probe of an open one.
    pub control: FrameJob,
    /// Job that ends the put at hand, which is one of a packet.
    pub ending: FrameJob,
}

/// Contents of an ACK or a NACK.
#[hdl_fn]
pub fn response_of(packet: PacketDesc) -> Response {
    Response {
        node: packet.src_nid.get_bits::<8>(0),
        expected: packet.psn + 1,
        selective: (packet.msg_len, packet.msg_off).cat::<64>(),
        about: packet.buf_off,
        refusal: packet.opcode == bits(opcode::NACK),
        code: packet.key.get_bits::<8>(24),
        opens: packet.msg_id == bits(control::OPEN),
        incarnation: packet.addr.get_bits::<32>(0),
        stranger: (packet.flags & bits(flag::UNSEQ)).any(),
        marks: packet.key.get_bits::<8>(16),
    }
}

/// How a job is derived from its put.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct JobKind {
    /// All frames of the put at once, without numbers of the sender.
    pub plain: Bit,
    /// The put has failed: a NOP takes the number of the segment.
    pub failed: Bit,
    /// The segment was sent before.
    pub again: Bit,
    /// The segment is the last of its put.
    pub last: Bit,
    /// An acknowledgement is wanted, since the congestion window is half full.
    pub asks: Bit,
}

/// A segment of a put; of one that failed, the NOP that takes its number; or a whole put that is not sequenced.
#[hdl_fn]
pub fn job_of(
    entry: PutEntry,
    record: SendRecord,
    at: Bits<10>,
    psn: Bits<32>,
    address: Bits<64>,
    left: Bits<32>,
    manner: JobKind,
) -> FrameJob {
    let whole = unsequenced(entry.put);
    let plain = manner.plain;
    let failed = manner.failed & !plain;
    let repeated = (manner.again | manner.failed) & !plain;
    let flags = (entry.put.flags & !bits::<16>(flag::UNSEQ))
        | (bits::<16>(flag::UNSEQ) & repeat::<16>(plain))
        | (bits::<16>(flag::RETX) & repeat::<16>(repeated))
        | (bits::<16>(flag::ACK_REQ) & repeat::<16>(repeated | ((manner.last | manner.asks) & !plain)));
    FrameJob {
        opcode: if failed { bits::<8>(opcode::CTRL) } else { whole.opcode },
        flags,
        msg_off: record.offset,
        left: left & repeat::<32>(!failed & (entry.put.op != bits(put_op::GET))),
        single: !plain,
        msg_id: if failed { bits::<32>(control::NOP) } else { entry.msg_id },
        numbered: !plain | whole.numbered,
        psn: psn & repeat::<32>(!plain),
        host_address: address,
        tracked: !plain,
        record: if plain { whole.record } else { at },
        ..whole
    }
}

/// The end of a put of a packet. It follows the frames that read the packet. Fields without meaning for it are those of `job`.
#[hdl_fn]
pub fn ending_of(job: FrameJob, put: PutDesc, over: PutState) -> FrameJob {
    FrameJob { over: true, failed: over.failed, tracked: false, record: packet_of(put), ..job }
}

/// The incarnation of a destination's window.
#[hdl_fn]
pub fn incarnation_of(ours: Bits<32>, generation: Bits<8>) -> Bits<32> {
    ours ^ bit_cast::<32, 8>(generation)
}

/// The packet that opens a window; or, if the window is open, a probe: a NOP with the number of the
/// oldest record. Fields without meaning for it are those of `job`.
#[hdl_fn]
pub fn control_job(job: FrameJob, node: Bits<8>, incarnation: Bits<32>, asks: Bit, psn: Bits<32>) -> FrameJob {
    FrameJob {
        opcode: bits::<8>(opcode::CTRL),
        flags: bits::<16>(flag::ACK_REQ) | (bits::<16>(flag::RETX) & repeat::<16>(asks)),
        node,
        // The acknowledgement echoes the address, not the key.
        addr: bit_cast::<64, 32>(incarnation),
        key: incarnation,
        single: true,
        msg_id: if asks { bits::<32>(control::NOP) } else { bits::<32>(control::OPEN) },
        numbered: true,
        psn: psn & repeat::<32>(asks),
        tracked: true,
        from_host: job.from_host,
        host_address: job.host_address,
        reply_addr: job.reply_addr,
        reply_off: job.reply_off,
        reply_key: job.reply_key,
        context: job.context,
        issuer: job.issuer,
        frame: job.frame,
        record: job.record,
        ..Default::default()
    }
}

/// The end of a put, for its issuer.
#[hdl_fn]
pub fn done_of(put: PutDesc, over: PutState) -> PutDone {
    PutDone {
        issuer: put.issuer,
        error: over.failed,
        of_context: !put.from_host & (put.op == bits::<2>(put_op::PUT)),
        ..Default::default()
    }
}

/// The end of a put of the host, for its process.
#[hdl_fn]
pub fn event_of(entry: PutEntry, over: PutState) -> EventDesc {
    EventDesc {
        pid: entry.put.src_pid.get_bits::<6>(0),
        kind: bits::<4>(events::PUT),
        code: bit_cast::<8, 1>(over.failed.into()),
        id: entry.msg_id,
        length: entry.put.length,
        extra: bit_cast::<32, 8>(over.code),
        source: (entry.put.frame, bits::<8>(0), entry.put.node).cat::<32>(),
        user: entry.put.addr,
        ..Default::default()
    }
}
