//! Transactions between the blocks of this engine, and the codes of their fields.
//!
//! One packet is `PlacementDesc` → [`Packet`] → [`LookedUpPacket`] → [`BoundPacket`] → [`HostWrite`] → [`WriteOrigin`]
//! → [`BytesAcked`].

use spindle_blocks::desc::{CommandIssuer, PlacementDone};
use spindle_verilog::prelude::*;

/// Bits of a mailbox number (at most 4096 mailboxes).
pub const MAILBOX_BITS: usize = 12;
/// Bits of a buffer slot (at most 16384 posted buffers).
pub const SLOT_BITS: usize = 14;
/// Depth of the FIFOs between the stages, as address bits.
pub const QUEUE_BITS: usize = 4;
/// Level at which a producer with words in flight stops: 16 words less the four that may still come.
pub const QUEUE_STOP: u64 = 12;

/// [`TableRequest::op`]: look up {pid, addr} for a packet.
pub const LOOKUP: u64 = 0;
/// [`TableRequest::op`]: look up {pid, addr} for a new mailbox, and propose a number.
pub const PROBE: u64 = 1;
/// [`TableRequest::op`]: check that the mailbox is open and belongs to the process.
pub const NUMBER: u64 = 2;
/// [`TableRequest::op`]: open the mailbox of this number.
pub const INSERT: u64 = 3;

/// [`TableRequest::op`]: the mailbox is being closed.
pub const CLOSING: u64 = 4;
/// [`TableRequest::op`]: the mailbox is closed.
pub const REMOVE: u64 = 5;
/// `mode` of a mailbox that is being closed, beside `mailbox_mode`.
pub const MODE_CLOSING: u64 = 1 << 8;

/// [`QueueCommand::op`]: post a buffer.
pub const QUEUE_POST: u64 = 0;
/// [`QueueCommand::op`]: empty the queue of a mailbox.
pub const QUEUE_INIT: u64 = 1;
/// [`QueueCommand::op`]: bind no more messages to this buffer.
pub const QUEUE_CUT: u64 = 2;
/// [`QueueCommand::op`]: this buffer is complete as it is.
pub const QUEUE_END: u64 = 3;

/// [`EpochQuery::op`]: the epoch.
pub const QUERY_EPOCH: u64 = 0;
/// [`EpochQuery::op`]: a complete buffer.
pub const QUERY_POINTER: u64 = 1;
/// [`EpochQuery::op`]: a complete buffer; those completed later leave the history.
pub const QUERY_REWIND: u64 = 2;
/// [`EpochQuery::op`]: the oldest incomplete buffer, and the epoch.
pub const QUERY_OLDEST: u64 = 3;
/// Address bits of the histories: {mailbox, index}.
pub const HISTORY_BITS: usize = MAILBOX_BITS + 3;

/// [`WriteOrigin::kind`]: payload of a packet.
pub const PACKET: u64 = 0;
/// [`WriteOrigin::kind`]: DMA command of a handler.
pub const HANDLER: u64 = 1;
/// [`WriteOrigin::kind`]: completion record.
pub const RECORD: u64 = 2;
/// [`WriteOrigin::kind`]: event record.
pub const EVENT: u64 = 3;
/// [`WriteOrigin::kind`]: word of an atomic operation.
pub const ATOMIC: u64 = 4;

/// A request to the mailbox table.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TableRequest {
    /// `LOOKUP`, `PROBE`, `NUMBER`, `INSERT`, `CLOSING` or `REMOVE`.
    pub op: Bits<3>,
    /// Process that owns the mailbox.
    pub pid: Bits<16>,
    /// Mailbox address.
    pub addr: Bits<64>,
    /// Key of the packet, or of a new mailbox.
    pub key: Bits<32>,
    /// `mailbox_mode` of a new mailbox, or `MODE_CLOSING`.
    pub mode: Bits<9>,
    /// Window of a new TAGGED mailbox.
    pub window: Bits<9>,
    /// Mailbox number (all but `LOOKUP` and `PROBE`).
    pub mailbox: Bits<12>,
    /// Generation of the mailbox number (all but `LOOKUP` and `PROBE`); `CLOSING`, `REMOVE`: the next generation.
    pub generation: Bits<4>,
}

/// The result of a request.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TableResult {
    /// The mailbox exists; `NUMBER`: and belongs to the process.
    pub hit: Bit,
    /// The key is that of the mailbox.
    pub key_fits: Bit,
    /// `PROBE`: no number or no room for a new mailbox.
    pub full: Bit,
    /// `PROBE`: mailboxes are being moved, so there may be room soon.
    pub busy: Bit,
    /// Mailbox number; `PROBE` without a hit: the number of the new mailbox.
    pub mailbox: Bits<12>,
    /// `mailbox_mode`, and `MODE_CLOSING`.
    pub mode: Bits<9>,
    /// TAGGED: window.
    pub window: Bits<9>,
    /// Generation of the mailbox number.
    pub generation: Bits<4>,
}

/// A packet in the look-up: fields of its `PlacementDesc`, and fields computed from them.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Packet {
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// Head cell of the packet buffer.
    pub pkt: Bits<10>,
    /// Byte offset of the payload in the frame.
    pub payload_offset: Bits<11>,
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
    /// Offset of the packet's first byte in the buffer; MANAGED: in its message.
    pub start: Bits<32>,
    /// End of the message in the buffer; MANAGED: length of the message.
    pub end: Bits<32>,
    /// The sender repeats packets that are refused temporarily.
    pub sequenced: Bit,
    /// The mailbox chooses the offset.
    pub managed: Bit,
    /// Fence phase at its arrival.
    pub fence_phase: Bit,
    /// The header contradicts itself: the packet ends after its message, or the message after 4 GiB.
    pub inconsistent: Bit,
    /// The packet is a message of its own: a handler redirects it, or it goes to the catch-all mailbox of its process.
    pub single: Bit,
    /// The packet names an epoch.
    pub tagged: Bit,
    /// Epoch, or ordinal of the stream's message.
    pub epoch: Bits<16>,
    /// GET.
    pub get: Bit,
    /// GET with the flag ACTIVE: from the oldest incomplete buffer.
    pub active: Bit,
    /// An opcode that this version does not serve.
    pub unsupported: Bit,
    /// The whole frame, for the host window: its mailbox is named by number.
    pub host: Bit,
    /// Bytes of a packet that a handler redirects: `msg_slot` names the command.
    pub of_bytes: Bit,
    /// Its message is pending: the buffer is held.
    pub pending: Bit,
}

/// A packet with its mailbox.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct LookedUpPacket {
    /// The packet.
    pub packet: Packet,
    /// The packet is refused.
    pub refused: Bit,
    /// Reason of the refusal.
    pub reason: Bits<5>,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// The mailbox is TAGGED, and not a stream.
    pub tagged: Bit,
    /// TAGGED: window.
    pub window: Bits<9>,
    /// No NACK for any refusal.
    pub silent: Bit,
    /// No NACK if no buffer is found.
    pub silent_unbound: Bit,
    /// A packet that finds no buffer goes to the catch-all mailbox of its process.
    pub spills: Bit,
    /// Catch-all mailbox of the process.
    pub catch_all: Bits<12>,
}

/// A posted buffer: address and size.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BufferEntry {
    /// Host address.
    pub base: Bits<64>,
    /// Bytes.
    pub size: Bits<32>,
}

/// Fields of a completion record that are known when the buffer is posted.
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
    /// Process that gets the events of the buffer.
    pub pid: Bits<6>,
    /// The process gets an event when the buffer is complete.
    pub event: Bit,
}

/// A change of a mailbox's queue.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct QueueCommand {
    /// `QUEUE_POST`, `QUEUE_INIT`, `QUEUE_CUT` or `QUEUE_END`.
    pub op: Bits<2>,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// `QUEUE_POST`: process that gets the events of the buffer.
    pub pid: Bits<6>,
    /// `QUEUE_INIT`: the mailbox is new and its epochs begin; else the mailbox is being closed.
    pub opens: Bit,
    /// Buffer to cut or to end.
    pub slot: Bits<14>,
    /// `QUEUE_END`: because its mailbox is closed.
    pub cancelled: Bit,
    /// New mailbox: threshold; managed: less one.
    pub threshold: Bits<32>,
    /// New mailbox: the threshold counts operations.
    pub ops: Bit,
    /// New mailbox: managed.
    pub managed: Bit,
    /// New mailbox: TAGGED.
    pub tagged: Bit,
    /// New mailbox: a stream.
    pub ordered: Bit,
    /// New mailbox: complete buffers are reported by events.
    pub event: Bit,
    /// `QUEUE_POST`: the buffer.
    pub buffer: BufferEntry,
    /// Host address of the record, without its four zero bits.
    pub record: Bits<60>,
}

/// A buffer is posted, closed, cut or held.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BufferEvent {
    /// 1 = posted: the counts start at zero; no bit set = closed: no further message will be bound to the buffer.
    pub open: Bit,
    /// A pending message holds the buffer.
    pub hold: Bit,
    /// The buffer is cut: complete with the bytes placed.
    pub cut: Bit,
    /// With `cut`: its mailbox is closed.
    pub cancelled: Bit,
    /// Buffer.
    pub slot: Bits<14>,
    /// Closed: bytes of all messages bound to the buffer.
    pub total: Bits<32>,
    /// Frame that closed the buffer.
    pub frame: Bits<16>,
}

/// A packet of a pending message is bound.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HoldRequest {
    /// Message table slot.
    pub msg_slot: Bits<8>,
    /// Buffer.
    pub slot: Bits<14>,
    /// Its mailbox.
    pub mailbox: Bits<12>,
}

/// A hold is over.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HoldEnd {
    /// Buffer.
    pub slot: Bits<14>,
    /// Frame whose handler gave COMPLETE, or that ended the message.
    pub frame: Bits<16>,
}

/// The write of a packet ended.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BytesAcked {
    /// Buffer.
    pub slot: Bits<14>,
    /// Payload bytes.
    pub length: Bits<16>,
    /// The host took the bytes.
    pub ok: Bit,
    /// Fence phase of the packet.
    pub fence_phase: Bit,
    /// Frame.
    pub frame: Bits<16>,
}

/// A buffer is posted, or a mailbox is opened or emptied.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EpochUpdate {
    /// The mailbox is opened or emptied.
    pub opens: Bit,
    /// The mailbox is TAGGED.
    pub tagged: Bit,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Buffer.
    pub slot: Bits<14>,
    /// Host address of the buffer.
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

/// A query of a mailbox's epochs.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EpochQuery {
    /// `QUERY_EPOCH`, `QUERY_POINTER`, `QUERY_REWIND` or `QUERY_OLDEST`.
    pub op: Bits<2>,
    /// Mailbox.
    pub mailbox: Bits<12>,
    /// Complete buffers to go back: 0 is the last.
    pub back: Bits<4>,
}

/// The answer to a query.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct EpochReply {
    /// The buffer exists.
    pub ok: Bit,
    /// Epoch, or host address.
    pub value: Bits<64>,
    /// Bytes placed.
    pub length: Bits<32>,
    /// Slot of the oldest incomplete buffer.
    pub slot: Bits<14>,
}

/// A packet with its buffer.
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
    pub payload_offset: Bits<11>,
    /// Payload bytes, at least 1.
    pub payload_len: Bits<16>,
    /// The message has state.
    pub has_slot: Bit,
    /// Message table slot.
    pub msg_slot: Bits<8>,
    /// Fence phase of the packet.
    pub fence_phase: Bit,
    /// A frame for the host.
    pub host: Bit,
    /// Bytes that a handler redirects.
    pub of_bytes: Bit,
}

/// Origin of a host write, for the report of its end.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WriteOrigin {
    /// `PACKET`, `HANDLER`, `RECORD`, `EVENT` or `ATOMIC`.
    pub kind: Bits<3>,
    /// The bytes count at the last W beat, not at the last answer.
    pub posted: Bit,
    /// Buffer; `ATOMIC`: the operation's slot; `EVENT`: the process.
    pub slot: Bits<14>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// `PACKET`: head cell; `HANDLER`, `ATOMIC`: {cluster, hpu, handle}.
    pub tag: Bits<10>,
    /// The message has state; `ATOMIC`: the operation is wide.
    pub has_slot: Bit,
    /// Message table slot.
    pub msg_slot: Bits<8>,
    /// `PACKET`: fence phase of the packet.
    pub fence_phase: Bit,
    /// `PACKET`: a frame for the host.
    pub host: Bit,
    /// `PACKET`: bytes that a handler redirects.
    pub of_bytes: Bit,
    /// Bytes.
    pub length: Bits<16>,
}

/// A write of successive bytes to host memory.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostWrite {
    /// Host byte address.
    pub address: Bits<64>,
    /// Lines of 64 bytes that the write touches, less one.
    pub last_line: Bits<11>,
    /// Offset of the first byte in the first beat of the source.
    pub offset: Bits<6>,
    /// Origin; `origin.length` is the length of the write, at least 1.
    pub origin: WriteOrigin,
}

/// A write of the engine itself: it lies in one line, and its bytes start at byte 0 of `data`.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct InternalWrite {
    /// Destination.
    pub host_write: HostWrite,
    /// Bytes.
    pub data: Bits<256>,
}

/// Opening or closing of an event ring or command ring of a process.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RingCommand {
    /// Process.
    pub pid: Bits<6>,
    /// 1 = open, 0 = close.
    pub open: Bit,
    /// Host address, without its five zero bits.
    pub base: Bits<59>,
    /// Records less one: all ones.
    pub last: Bits<15>,
}

/// A write burst in flight.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct InFlight {
    /// The last burst of its transfer.
    pub last: Bit,
    /// Origin of the transfer.
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
        of_bytes: packet.of_bytes,
        spare: bits::<6>(0),
    }
}

/// The issuer that a tag of `HANDLER` or `ATOMIC` names.
#[hdl_fn]
pub fn issuer_of(tag: Bits<10>) -> CommandIssuer {
    CommandIssuer { cluster: tag.get_bits::<3>(7), hpu: tag.get_bits::<3>(4), handle: tag.get_bits::<4>(0) }
}
