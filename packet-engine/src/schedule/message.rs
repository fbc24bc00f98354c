//! What the blocks after the packet buffer hand to each other: messages, stored packets, orders.

use crate::schedule::task_timers::types::DueTask;
use spindle_blocks::{PacketDesc, PlacementDesc, TaskDesc};
use spindle_contract::memory_map::HANDLE_BITS;
use spindle_contract::wire::flag;
use spindle_contract::{descriptors, VERSION};
use spindle_verilog::prelude::*;

/// [`MessageState::phase`]: the header handler has not returned; packets wait.
pub const PHASE_HEADER: u64 = 0;
/// [`MessageState::phase`]: payload handlers run.
pub const PHASE_ACTIVE: u64 = 1;
/// [`MessageState::phase`]: every packet is placed, no payload handlers.
pub const PHASE_PLACING: u64 = 2;
/// [`MessageState::phase`]: the header handler returned DROP; a tombstone until all bytes have arrived.
pub const PHASE_DROPPING: u64 = 3;
/// [`MessageState::phase`]: a handler failed; a tombstone until all bytes have arrived.
pub const PHASE_FAILED: u64 = 4;
/// [`MessageState::phase`]: the completion handler runs.
pub const PHASE_COMPLETING: u64 = 5;
/// [`MessageState::phase`]: the packet with the user header has not arrived; the others wait for it.
pub const PHASE_WAITING: u64 = 6;
/// [`MessageState::phase`]: no progress for too long; ends as soon as its open packets have ended.
pub const PHASE_AGED: u64 = 7;

/// What makes two packets belong to one message. The execution context (or mailbox) is part of it, so that a packet can never
/// join a message that a rule gave to another context.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MessageKey {
    /// Opcode, which distinguishes a PUT from the answer to a GET with the same number; bit 3: the message is named by a field of the
    /// frame.
    pub class: Bits<4>,
    /// 1 = on its way to a mailbox.
    pub mailbox: Bit,
    /// Execution context.
    pub context: Bits<4>,
    /// Source node.
    pub src_nid: Bits<32>,
    /// Source process.
    pub src_pid: Bits<16>,
    /// Message.
    pub msg_id: Bits<32>,
}

/// The state of a message.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MessageState {
    /// The message has begun and not ended.
    pub alive: Bit,
    /// One of the `PHASE_*` constants.
    pub phase: Bits<3>,
    /// Execution context.
    pub context: Bits<4>,
    /// On its way to a mailbox: no handlers.
    pub mailbox: Bit,
    /// There is a payload handler, as of the first packet.
    pub has_payload: Bit,
    /// There is a completion handler, as of the first packet.
    pub has_completion: Bit,
    /// Named by a field of the frame: it ends with the packet of the rule's end test, and its length is what has arrived.
    pub by_field: Bit,
    /// Its key is in the message index.
    pub keyed: Bit,
    /// A header handler returned a *_PENDING code.
    pub pending: Bit,
    /// A handler gave COMPLETE.
    pub completed: Bit,
    /// Bytes that have not arrived; of a message named by a field: minus those that have, modulo 2^32.
    pub missing: Bits<32>,
    /// All of it has arrived.
    pub complete: Bit,
    /// Bytes that handlers or the overload rule dropped.
    pub dropped: Bits<32>,
    /// A placement was refused because no buffer was posted, or the overload rule touched the message.
    pub flow_control: Bit,
    /// Packets that have arrived and not ended.
    pub open: Bits<11>,
    /// Packets wait for the header handler.
    pub waiting: Bit,
    /// First waiting packet.
    pub wait_head: Bits<10>,
    /// Last waiting packet.
    pub wait_tail: Bits<10>,
    /// Scans since its last event, at most 2.
    pub idle: Bits<2>,
}

/// The state of a packet that belongs to a message.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PacketState {
    /// Has arrived and not ended.
    pub alive: Bit,
    /// Its frame number, against commands that come too late.
    pub frame: Bits<16>,
    /// Its payload bytes.
    pub payload_len: Bits<16>,
    /// The packet has a sequence number, which is free again if the packet is refused.
    pub sequenced: Bit,
    /// A handler was ordered or runs, or the packet waits for the header handler.
    pub task_busy: Bit,
    /// A placement was ordered or is under way.
    pub placement_busy: Bit,
    /// A placement was ordered once: never again.
    pub placement_requested: Bit,
    /// The RVMA engine wrote it to host memory.
    pub placed: Bit,
    /// The packet was refused, for `reason`.
    pub refused: Bit,
    /// A handler returned DROP.
    pub dropped: Bit,
    /// A handler failed.
    pub failed: Bit,
    /// Why it was refused.
    pub reason: Bits<5>,
    /// Redirects of its bytes that are under way: at most those of the handles of two HPUs and of ends on their way here.
    pub redirects: Bits<{ HANDLE_BITS + 2 }>,
}

/// What is kept of a packet for tasks and placements that come later.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct StoredPacket {
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// Cycle of the first beat.
    pub stamp: Bits<32>,
    /// Bytes of the frame.
    pub length: Bits<14>,
    /// Byte offset of the IP header.
    pub l3_offset: Bits<6>,
    /// Byte offset of the payload.
    pub payload_offset: Bits<7>,
    /// Payload bytes.
    pub payload_len: Bits<16>,
    /// Spindle opcode.
    pub opcode: Bits<8>,
    /// Source node.
    pub src_nid: Bits<32>,
    /// Source process.
    pub src_pid: Bits<16>,
    /// Destination process.
    pub dst_pid: Bits<16>,
    /// Mailbox address.
    pub addr: Bits<64>,
    /// Message.
    pub msg_id: Bits<32>,
    /// Message length.
    pub msg_len: Bits<32>,
    /// Offset in the message.
    pub msg_off: Bits<32>,
    /// Base offset in the buffer.
    pub buf_off: Bits<32>,
    /// Execution context.
    pub context: Bits<4>,
}

/// Fields of a packet that are kept for its placement alone.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PlacementTerms {
    /// Packet sequence number.
    pub psn: Bits<32>,
    /// Mailbox key.
    pub key: Bits<32>,
    /// Spindle flags.
    pub flags: Bits<16>,
    /// Epoch tag.
    pub epoch: Bits<16>,
}

/// Destination of a REDIRECT. It is kept in place of the packet's [`PlacementTerms`], which such a placement does not need.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Redirection {
    /// Mailbox address.
    pub addr: Bits<64>,
    /// Offset in its buffer.
    pub offset: Bits<32>,
    /// Process of the handler's context.
    pub pid: Bits<6>,
}

/// Bits in which either is kept.
pub const TERMS_BITS: usize = Redirection::BITS;
/// Bits of the terms of a packet.
pub const PACKET_TERMS_BITS: usize = PlacementTerms::BITS;

/// A member of a list of packets: the next packet and its message.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// Head cell.
    pub pkt: Bits<10>,
    /// Message table slot.
    pub slot: Bits<8>,
}

/// Order of the scheduler for a packet: a task or a placement.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Order {
    /// Head cell of the packet; of a task without a packet its slot.
    pub pkt: Bits<10>,
    /// Message table slot.
    pub slot: Bits<8>,
    /// Execution context; unused for a placement.
    pub context: Bits<4>,
    /// Kind of handler; unused for a placement.
    pub kind: Bits<2>,
    /// Placement: commanded by a handler, or made in place of one.
    pub from_handler: Bit,
    /// Placement: its message is pending, and no handler gave COMPLETE.
    pub pending: Bit,
    /// Placement: to the destination of a REDIRECT.
    pub redirected: Bit,
    /// Completion: bytes dropped.
    pub dropped: Bits<32>,
    /// Completion: flow control was triggered.
    pub flow_control: Bit,
}

/// What an order of the next cycle may be about.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Prefetch {
    /// Head cell of the packet; of a task without a packet its slot.
    pub pkt: Bits<10>,
    /// It is a task without a packet.
    pub bare: Bit,
    /// Message table slot.
    pub slot: Bits<8>,
    /// Execution context; if it turns out another one, the order takes the long way.
    pub context: Bits<4>,
}

/// What is kept of a task until it leaves.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TaskOrder {
    /// Head cell of the packet; of a task without a packet its slot.
    pub pkt: Bits<10>,
    /// Message table slot.
    pub slot: Bits<8>,
    /// Kind of handler.
    pub kind: Bits<2>,
    /// Completion: bytes dropped.
    pub dropped: Bits<32>,
    /// Completion: flow control was triggered.
    pub flow_control: Bit,
}

/// What is kept of a placement until it leaves.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PlacementOrder {
    /// Head cell of the packet.
    pub pkt: Bits<10>,
    /// Message table slot.
    pub slot: Bits<8>,
    /// Commanded by a handler.
    pub from_handler: Bit,
    /// Its message returned a `*_PENDING` code, and no handler gave COMPLETE.
    pub pending: Bit,
    /// The placement goes to the destination of a REDIRECT.
    pub redirected: Bit,
}

/// Outcome of a frame: exactly one of these per frame.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// All its handlers ended well.
    pub handled: Bit,
    /// Written to host memory.
    pub placed: Bit,
    /// Dropped, for `reason`.
    pub dropped: Bit,
    /// Reason of the drop.
    pub reason: Bits<5>,
}

/// Commit of a sequenced packet's number, for the PSN filter: one per packet with `sequenced`.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PsnCommit {
    /// The packet joined a message of a context or was placed; else its number is free again.
    pub accepted: Bit,
    /// Low bits of its `src_nid`.
    pub peer: Bits<8>,
    /// Low bits of its sequence number.
    pub psn: Bits<11>,
}

const DESC_VERSION: u64 = VERSION as u64;
/// Bit 1 of a kind: the handler gets no packet.
const _: () = assert!(descriptors::kind::COMPLETION == 2 && descriptors::kind::TASK == 3);

/// What is kept of a packet.
#[hdl_fn]
pub fn stored(packet: PacketDesc) -> StoredPacket {
    StoredPacket {
        frame: packet.frame,
        stamp: packet.stamp,
        length: packet.length,
        l3_offset: packet.l3_offset,
        payload_offset: packet.payload_offset,
        payload_len: packet.payload_len,
        opcode: packet.opcode,
        src_nid: packet.src_nid,
        src_pid: packet.src_pid,
        dst_pid: packet.dst_pid,
        addr: packet.addr,
        msg_id: packet.msg_id,
        msg_len: packet.msg_len,
        msg_off: packet.msg_off,
        buf_off: packet.buf_off,
        context: packet.context,
    }
}

/// What is kept of it for its placement.
#[hdl_fn]
pub fn terms_of(packet: PacketDesc) -> PlacementTerms {
    PlacementTerms { psn: packet.psn, key: packet.key, flags: packet.flags, epoch: packet.epoch }
}

/// What is kept of a task without a packet, in place of a packet.
#[hdl_fn]
pub fn stored_task(due: DueTask) -> StoredPacket {
    StoredPacket {
        frame: due.task.frame,
        stamp: due.task.deadline,
        addr: due.task.argument,
        context: due.context,
        ..Default::default()
    }
}

/// The task that an order and its packet make. A completion task carries no packet; its other fields are those of the message's
/// last packet.
#[hdl_fn]
pub fn task_of(
    order: TaskOrder,
    packet: StoredPacket,
    cluster: Bits<3>,
    hpu: Bits<3>,
    dispatched: Bits<32>,
) -> TaskDesc {
    TaskDesc {
        version: bits::<4>(DESC_VERSION),
        kind: order.kind,
        context: packet.context,
        msg_slot: order.slot,
        frame: packet.frame,
        stamp: packet.stamp,
        has_packet: !order.kind.get_bit(1),
        pkt: order.pkt,
        length: packet.length,
        l3_offset: packet.l3_offset,
        payload_offset: packet.payload_offset,
        payload_len: packet.payload_len,
        opcode: packet.opcode,
        src_nid: packet.src_nid,
        src_pid: packet.src_pid,
        dst_pid: packet.dst_pid,
        addr: packet.addr,
        msg_id: packet.msg_id,
        msg_len: packet.msg_len,
        msg_off: packet.msg_off,
        buf_off: packet.buf_off,
        dropped_bytes: order.dropped,
        flow_control: order.flow_control,
        cluster,
        hpu,
        dispatched,
        spare: bits::<14>(0),
    }
}

/// The placement that an order and its packet make.
#[hdl_fn]
pub fn placement_of(
    order: PlacementOrder,
    has_slot: Bit,
    packet: StoredPacket,
    terms: PlacementTerms,
) -> PlacementDesc {
    PlacementDesc {
        version: bits::<4>(DESC_VERSION),
        frame: packet.frame,
        stamp: packet.stamp,
        pkt: order.pkt,
        length: packet.length,
        payload_offset: zext::<11, 7>(packet.payload_offset),
        payload_len: packet.payload_len,
        opcode: packet.opcode,
        flags: terms.flags,
        psn: terms.psn,
        src_nid: packet.src_nid,
        src_pid: packet.src_pid,
        dst_pid: packet.dst_pid,
        addr: packet.addr,
        key: terms.key,
        msg_id: packet.msg_id,
        msg_len: packet.msg_len,
        msg_off: packet.msg_off,
        buf_off: packet.buf_off,
        epoch: terms.epoch,
        has_slot,
        msg_slot: order.slot,
        from_handler: order.from_handler,
        pending: order.pending,
        redirected: false,
        of_bytes: false,
        host: false,
        rule: bits::<6>(0),
        checks: bits::<4>(0),
        spare: bits::<6>(0),
    }
}

/// The placement of a whole frame in the mailbox of the host window: the frame is a message, and is written in whole lines. The
/// packet buffer has zeros after the end of a frame.
#[hdl_fn]
pub fn whole_frame(placement: PlacementDesc, packet: PacketDesc, process: Bits<6>, mailbox: Bits<16>) -> PlacementDesc {
    let lines = packet.length.get_bits::<8>(6) + zext::<8, 1>(packet.length.get_bits::<6>(0).any().into());
    let bytes = (lines, bits::<6>(0)).cat::<14>();
    PlacementDesc {
        payload_offset: bits::<11>(0),
        payload_len: zext::<16, 14>(bytes),
        flags: bits::<16>(flag::MANAGED),
        dst_pid: zext::<16, 6>(process),
        addr: zext::<64, 16>(mailbox),
        msg_len: zext::<32, 14>(bytes),
        msg_off: bits::<32>(0),
        buf_off: bits::<32>(0),
        host: true,
        rule: packet.rule,
        checks: (packet.ruled, packet.is_vlan, packet.l4_good, packet.is_ipv4).cat::<4>(),
        ..placement
    }
}

/// The placement of a packet that a handler redirects: a put of its payload alone.
#[hdl_fn]
pub fn redirected_to(to: Redirection, placement: PlacementDesc) -> PlacementDesc {
    PlacementDesc {
        flags: bits::<16>(0),
        psn: bits::<32>(0),
        dst_pid: bit_cast::<16, 6>(to.pid),
        addr: to.addr,
        key: bits::<32>(0),
        msg_len: bit_cast::<32, 16>(placement.payload_len),
        msg_off: bits::<32>(0),
        buf_off: to.offset,
        epoch: bits::<16>(0),
        redirected: true,
        ..placement
    }
}
