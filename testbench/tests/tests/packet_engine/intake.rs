//! What the ingress join hands to the scheduler beside a packet.

use crate::packet_engine::schedule::message_index::hash;
use packet_engine::schedule::payload_scheduler::PayloadScheduler;
use spindle_blocks::desc::PacketDesc;
use spindle_contract::descriptors::action;
use spindle_contract::wire::opcode;
use spindle_harness::Dut;

/// The destination of a packet, by the rules of the wire and of the rule language.
pub fn intake(packet: &PacketDesc) -> u64 {
    let code = packet.opcode.to_u64() as u8;
    let host = packet.action.to_u64() == u64::from(action::HOST);
    let mailbox = packet.action.to_u64() == u64::from(action::MAILBOX) || host;
    let by_field = packet.by_field && !mailbox;
    let served = host || [opcode::PUT, opcode::GET, opcode::GET_RESP].contains(&code);
    let whole =
        host || !packet.is_spindle || code == opcode::GET || packet.msg_len.to_u64() == packet.payload_len.to_u64();
    let single = !by_field && (whole || (!packet.per_message && !mailbox));
    let class = u128::from(packet.opcode.to_u64() & 7) | u128::from(by_field) << 3;
    let members = [
        (packet.context.to_u64(), 5),
        (packet.src_nid.to_u64(), 9),
        (packet.src_pid.to_u64(), 41),
        (packet.msg_id.to_u64(), 57),
    ];
    let key = members.iter().fold(class | u128::from(mailbox) << 4, |key, (value, at)| key | u128::from(*value) << at);
    let flags = [mailbox, host, served, by_field, single, mailbox && served && whole];
    let flags = flags.iter().enumerate().fold(0, |word, (bit, flag)| word | u64::from(*flag) << bit);
    flags | hash(key) << 6
}

/// Offers a packet to the scheduler, with its destination, as the ingress join does.
pub fn set_packet(dut: &Dut<PayloadScheduler>, packet: &PacketDesc) {
    dut.packet.set(*packet);
    dut.packet_intake.set_bytes(&intake(packet).to_le_bytes()[..2]);
}
