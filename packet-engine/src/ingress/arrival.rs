//! What the ingress join and the scheduler derive from a packet that arrives, before anything is looked up.

use crate::schedule::{message::*, message_index::key_hash};
use spindle_blocks::PacketDesc;
use spindle_contract::{descriptors::action, wire::opcode};
use spindle_verilog::prelude::*;

/// Route of a packet. It is derived when the packet comes to the head of the waiting ones, because the scheduler needs it
/// before anything else.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Intake {
    /// To a mailbox, not to a context.
    pub for_mailbox: Bit,
    /// The whole frame, to the mailbox of the host window.
    pub host: Bit,
    /// The opcode is one that mailboxes serve.
    pub served: Bit,
    /// Its message is named by a field of the frame.
    pub by_field: Bit,
    /// The packet is a message by itself: no other packet joins it.
    pub single: Bit,
    /// Straight to placement: a whole message for a mailbox.
    pub fast: Bit,
    /// Hash of its message's key.
    pub hash: Bits<8>,
}

/// Route of this packet.
#[hdl_fn]
pub fn intake_of(packet: PacketDesc) -> Intake {
    let host = packet.action == bits(action::HOST);
    let for_mailbox = (packet.action == bits(action::MAILBOX)) | host;
    let served = host
        | (packet.opcode == bits(opcode::PUT))
        | (packet.opcode == bits(opcode::GET))
        | (packet.opcode == bits(opcode::GET_RESP));
    let by_field = packet.by_field & !for_mailbox;
    // A GET does not carry the bytes that it requests.
    let whole = host
        | !packet.is_spindle
        | (packet.opcode == bits(opcode::GET))
        | (packet.msg_len == bit_cast::<32, 16>(packet.payload_len));
    Intake {
        for_mailbox,
        host,
        served,
        by_field,
        single: !by_field & (whole | (!packet.per_message & !for_mailbox)),
        fast: for_mailbox & served & whole,
        hash: key_hash(pack(key_of(packet, for_mailbox, by_field))),
    }
}

/// The message that a packet belongs to.
#[hdl_fn]
pub fn key_of(packet: PacketDesc, for_mailbox: Bit, by_field: Bit) -> MessageKey {
    MessageKey {
        class: (by_field, packet.opcode.get_bits::<3>(0)).cat::<4>(),
        mailbox: for_mailbox,
        context: packet.context,
        src_nid: packet.src_nid,
        src_pid: packet.src_pid,
        msg_id: packet.msg_id,
    }
}

/// Fields of an arrival that the stages before the decision need.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Arrival {
    /// Which message it belongs to.
    pub key: MessageKey,
    /// Hash of the key.
    pub hash: Bits<8>,
    /// Match bits.
    pub addr: Bits<64>,
    /// Bytes of the message; 0 if it is named by a field.
    pub total: Bits<32>,
    /// An opcode that is not served.
    pub unsupported: Bit,
    /// At offset 0 of its message.
    pub foremost: Bit,
}

/// The arrival of a packet.
#[hdl_fn]
pub fn arrival_of(packet: PacketDesc, intake: Intake) -> Arrival {
    Arrival {
        key: key_of(packet, intake.for_mailbox, intake.by_field),
        hash: intake.hash,
        addr: packet.addr,
        total: if intake.by_field {
            bits::<32>(0)
        } else if intake.single {
            bit_cast::<32, 16>(packet.payload_len)
        } else {
            packet.msg_len
        },
        unsupported: intake.for_mailbox & !intake.served,
        foremost: !packet.msg_off.any() | intake.single,
    }
}
