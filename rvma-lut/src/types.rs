//! What the blocks of this engine hand to each other.

use spindle_blocks::desc::PlacementDone;
use spindle_verilog::prelude::*;

/// Bits of a mailbox number (at most 4096 mailboxes).
pub const MAILBOX_BITS: usize = 12;
/// Bits of a buffer slot (at most 16384 posted buffers).
pub const SLOT_BITS: usize = 14;
/// Depth of the FIFOs between the stages, as address bits.
pub const QUEUE_BITS: usize = 4;
/// Level from which a producer with words in flight stops: 16 words less the at most four that may still come.
pub const QUEUE_STOP: u64 = 12;

/// [`TableRequest::op`]: look up {pid, addr} for a packet.
pub const LOOKUP: u64 = 0;
/// [`TableRequest::op`]: look up {pid, addr} for a new mailbox and propose a number.
pub const PROBE: u64 = 1;
/// [`TableRequest::op`]: is this mailbox open, and is it this process's?
pub const NUMBER: u64 = 2;
/// [`TableRequest::op`]: open the mailbox of this number.
pub const INSERT: u64 = 3;

/// [`TableRequest::op`]: the mailbox is being closed.
pub const CLOSING: u64 = 4;
/// [`TableRequest::op`]: it is closed.
pub const REMOVE: u64 = 5;
/// `mode` of a mailbox that is being closed, beside `mailbox_mode`.
pub const MODE_CLOSING: u64 = 1 << 8;

/// [`QueueCommand::op`]: post a buffer.
pub const QUEUE_POST: u64 = 0;
/// [`QueueCommand::op`]: empty the queue of a mailbox.
pub const QUEUE_INIT: u64 = 1;
/// [`QueueCommand::op`]: bind nothing more to this buffer.
pub const QUEUE_CUT: u64 = 2;
/// [`QueueCommand::op`]: this buffer is complete as it is.
pub const QUEUE_END: u64 = 3;

/// [`EpochQuery::op`]: the epoch.
pub const QUERY_EPOCH: u64 = 0;
/// [`EpochQuery::op`]: a completed buffer.
pub const QUERY_POINTER: u64 = 1;
/// [`EpochQuery::op`]: likewise, and forget those after it.
pub const QUERY_REWIND: u64 = 2;
/// [`EpochQuery::op`]: the oldest incomplete buffer, and the epoch.
pub const QUERY_OLDEST: u64 = 3;
/// Bits of a place in the histories: {mailbox, place}.
pub const HISTORY_BITS: usize = MAILBOX_BITS + 3;

/// [`HostWrite::kind`]: payload of a packet.
pub const PACKET: u64 = 0;
/// [`HostWrite::kind`]: DMA command of a handler.
pub const HANDLER: u64 = 1;
/// [`HostWrite::kind`]: completion record.
pub const RECORD: u64 = 2;
/// [`HostWrite::kind`]: event record.
pub const EVENT: u64 = 3;
/// [`HostWrite::kind`]: word of an atomic operation.
pub const ATOMIC: u64 = 4;

/// A question to the mailbox table.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TableRequest {
    /// `LOOKUP`, `PROBE`, `NUMBER`, `INSERT`, `CLOSING` or `REMOVE`.
    pub op: Bits<3>,
    /// Process that owns the mailbox.
    pub pid: Bits<16>,
    /// Mailbox address.
    pub addr: Bits<64>,
    /// Key that the packet shows, or that a new mailbox gets.
    pub key: Bits<32>,
    /// `mailbox_mode` of a new mailbox, or `MODE_CLOSING`.
    pub mode: Bits<9>,
    /// Window of a new TAGGED mailbox.
    pub window: Bits<9>,
    /// Mailbox number (all but `LOOKUP` and `PROBE`).
    pub mailbox: Bits<12>,
    /// Which of the mailboxes that had this number (all but `LOOKUP` and `PROBE`); `CLOSING`, `REMOVE`: of the next one.
    pub generation: Bits<4>,
}

/// The table's answer.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TableResult {
    /// The mailbox exists (`NUMBER`: and belongs to the process).
    pub hit: Bit,
    /// The key opens it.
    pub key_fits: Bit,
    /// `PROBE`: there is no number or no room for a new mailbox.
    pub full: Bit,
    /// But there may be soon.
    pub busy: Bit,
    /// The mailbox; `PROBE` without a hit: the number it would get.
    pub mailbox: Bits<12>,
    /// Its `mailbox_mode`, and `MODE_CLOSING`.
    pub mode: Bits<9>,
    /// TAGGED: its window.
    pub window: Bits<9>,
    /// Its generation.
    pub generation: Bits<4>,
}

/// A packet on its way through the tables: what is left of its `PlacementDesc`, and what was worked out meanwhile.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Packet {
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// Head cell.
    pub pkt: Bits<10>,
    /// Byte offset of the payload in the frame.
    pub payload_offset: Bits<7>,
    /// Payload bytes.
    pub payload_len: Bits<16>,
    /// Source node.
    pub src_nid: Bits<32>,
    /// Source process.
    pub src_pid: Bits<16>,
    /// Message.
    pub msg_id: Bits<32>,
    /// Message length.
    pub msg_len: Bits<32>,
    /// The message has state.
    pub has_slot: Bit,
    /// Message table slot.
    pub msg_slot: Bits<8>,
    /// First byte of the packet in the buffer; MANAGED: in its message.
    pub start: Bits<32>,
    /// First byte behind the message in the buffer; MANAGED: its length.
    pub end: Bits<32>,
    /// The sender repeats what is refused for the time being.
    pub sequenced: Bit,
    /// The packet leaves its place to the mailbox.
    pub managed: Bit,
    /// Colour of its arrival.
    pub fence_phase: Bit,
    /// The header contradicts itself: the packet ends behind its message, or the message behind 4 GiB.
    pub inconsistent: Bit,
    /// The packet is a message of its own: a handler redirects it, or it is on its way to its process's catch-all mailbox.
    pub single: Bit,
    /// The packet names the epoch it is for.
    pub tagged: Bit,
    /// That epoch.
    pub epoch: Bits<16>,
    /// It asks for bytes instead of bringing some.
    pub get: Bit,
    /// From the oldest buffer that is not complete.
    pub active: Bit,
    /// An opcode that this version does not serve.
    pub unsupported: Bit,
}

/// A packet with the table's answer.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct LookedUpPacket {
    /// The packet.
    pub packet: Packet,
    /// Not to be bound.
    pub refused: Bit,
    /// Why.
    pub reason: Bits<5>,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// It is TAGGED, and not a stream.
    pub tagged: Bit,
    /// Then: its window.
    pub window: Bits<9>,
    /// No NACK for any refusal.
    pub silent: Bit,
    /// No NACK when there is no buffer.
    pub silent_unbound: Bit,
    /// What finds no buffer goes to the process's catch-all mailbox.
    pub spills: Bit,
    /// That mailbox.
    pub catch_all: Bits<12>,
}

/// A posted buffer, as far as placing into it needs.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BufferEntry {
    /// Host address.
    pub base: Bits<64>,
    /// Bytes.
    pub size: Bits<32>,
}

/// A posted buffer, as far as its completion record needs.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RecordEntry {
    /// Host address of the buffer.
    pub base: Bits<64>,
    /// Host address of the record, without its four zero bits.
    pub record: Bits<60>,
    /// Ordinal of the buffer in its mailbox.
    pub epoch: Bits<16>,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Process that gets its events.
    pub pid: Bits<6>,
}

/// A change of a mailbox's queue that the doorbell asks for.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct QueueCommand {
    /// `QUEUE_POST`, `QUEUE_INIT`, `QUEUE_CUT` or `QUEUE_END`.
    pub op: Bits<2>,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// `QUEUE_POST`: process that gets the events of the buffer.
    pub pid: Bits<6>,
    /// `QUEUE_INIT`: of a new mailbox, whose epochs begin; else of one that is being closed.
    pub opens: Bit,
    /// Buffer to cut or to end.
    pub slot: Bits<14>,
    /// It ends because its mailbox is closed.
    pub cancelled: Bit,
    /// New mailbox: its threshold; managed: less one.
    pub threshold: Bits<32>,
    /// New mailbox: it counts operations.
    pub ops: Bit,
    /// New mailbox: it is managed.
    pub managed: Bit,
    /// New mailbox: it is TAGGED.
    pub tagged: Bit,
    /// New mailbox: it is a stream.
    pub ordered: Bit,
    /// The buffer.
    pub buffer: BufferEntry,
    /// Host address of the record, without its four zero bits.
    pub record: Bits<60>,
}

/// News of a buffer for its counters.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BufferEvent {
    /// 1 = posted, start at zero; 0 = closed, no further message will be bound to it.
    pub open: Bit,
    /// Not closed but cut: complete as it is.
    pub cut: Bit,
    /// Cut because its mailbox is closed.
    pub cancelled: Bit,
    /// Buffer.
    pub slot: Bits<14>,
    /// Closed: bytes of all messages bound to it.
    pub total: Bits<32>,
    /// Frame that closed it.
    pub frame: Bits<16>,
}

/// A packet was written, or failed to be.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BytesAcked {
    /// Buffer.
    pub slot: Bits<14>,
    /// Payload bytes.
    pub length: Bits<16>,
    /// The host took them.
    pub ok: Bit,
    /// Colour of the packet.
    pub fence_phase: Bit,
    /// Frame.
    pub frame: Bits<16>,
}

/// A buffer that joins its mailbox, or a mailbox that is opened or emptied.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EpochUpdate {
    /// The mailbox is opened.
    pub opens: Bit,
    /// And TAGGED.
    pub tagged: Bit,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Buffer.
    pub slot: Bits<14>,
    /// Its host address.
    pub base: Bits<64>,
}

/// A buffer that is complete.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Retired {
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Buffer.
    pub slot: Bits<14>,
    /// Its host address.
    pub base: Bits<64>,
    /// Bytes placed.
    pub length: Bits<32>,
}

/// A question about a mailbox's epochs.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EpochQuery {
    /// `QUERY_EPOCH`, `QUERY_POINTER`, `QUERY_REWIND` or `QUERY_OLDEST`.
    pub op: Bits<2>,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Completed buffers to go back: 0 is the last.
    pub back: Bits<4>,
}

/// Its answer.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EpochReply {
    /// There is such a buffer.
    pub ok: Bit,
    /// Epoch, or host address.
    pub value: Bits<64>,
    /// Bytes placed.
    pub length: Bits<32>,
    /// Slot of the oldest incomplete buffer.
    pub slot: Bits<14>,
}

/// A packet that has its place.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BoundPacket {
    /// Host address of the buffer.
    pub base: Bits<64>,
    /// First byte of the packet in the buffer.
    pub start: Bits<32>,
    /// Buffer.
    pub slot: Bits<14>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// Head cell.
    pub pkt: Bits<10>,
    /// Byte offset of the payload in the frame.
    pub payload_offset: Bits<7>,
    /// Payload bytes, at least 1.
    pub payload_len: Bits<16>,
    /// The message has state.
    pub has_slot: Bit,
    /// Message table slot.
    pub msg_slot: Bits<8>,
    /// Colour of its arrival.
    pub fence_phase: Bit,
}

/// Who is to hear of a transfer's end.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WriteOrigin {
    /// `PACKET`, `HANDLER`, `RECORD`, `EVENT` or `ATOMIC`.
    pub kind: Bits<3>,
    /// The bytes count at the last W beat, not at the last response.
    pub posted: Bit,
    /// Buffer; `ATOMIC`: the operation's slot.
    pub slot: Bits<14>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// `PACKET`: head cell; `HANDLER`, `ATOMIC`: {cluster, hpu, handle}.
    pub tag: Bits<10>,
    /// The message has state; `ATOMIC`: the operation is wide.
    pub has_slot: Bit,
    /// Message table slot.
    pub msg_slot: Bits<8>,
    /// `PACKET`: colour of the packet's arrival.
    pub fence_phase: Bit,
    /// Bytes.
    pub length: Bits<16>,
}

/// A run of bytes to host memory.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostWrite {
    /// Host byte address.
    pub address: Bits<64>,
    /// Lines of 64 bytes that it touches, less one.
    pub last_line: Bits<11>,
    /// Offset of its first byte in the first beat of its source.
    pub offset: Bits<6>,
    /// Who asks; `origin.length` is the length of the run, at least 1.
    pub origin: WriteOrigin,
}

/// A write that the engine makes itself: all of it lies in one line, its bytes start at byte 0.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct InternalWrite {
    /// Where.
    pub host_write: HostWrite,
    /// What.
    pub data: Bits<256>,
}

/// Opens or closes the event ring of a process.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RingCommand {
    /// Whose.
    pub pid: Bits<6>,
    /// 1 = opens.
    pub open: Bit,
    /// Its host address, without its five zero bits.
    pub base: Bits<59>,
    /// Records less one, all ones.
    pub last: Bits<15>,
}

/// A write burst in flight.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct InFlight {
    /// The last burst of its transfer.
    pub last: Bit,
    /// Whose.
    pub origin: WriteOrigin,
}

/// End of a packet without a write.
#[hdl_fn]
pub fn verdict_of(packet: Packet, placed: Bit, reason: Bits<5>) -> PlacementDone {
    PlacementDone {
        pkt: packet.pkt,
        frame: packet.frame,
        has_slot: packet.has_slot,
        msg_slot: packet.msg_slot,
        payload_len: packet.payload_len,
        placed: placed,
        reason: reason,
        spare: bits::<7>(0),
    }
}
