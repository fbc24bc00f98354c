//! Commands that are carried out outside the clusters, as the words that make them.

use hpu_core::array::off_cluster_queue::{OffClusterCommand, OffClusterHeader};
use spindle_contract::memory_map::{command, HANDLE_BITS};
use spindle_verilog::prelude::{bits, Bits};

/// Where the fields of a header begin, after frame and context.
pub const HANDLE_SHIFT: usize = 20;
pub const HPU_SHIFT: usize = HANDLE_SHIFT + HANDLE_BITS;
pub const OPCODE_SHIFT: usize = HPU_SHIFT + 3;

/// The opcodes, and how many words follow the header of each.
pub const OPCODES: [(u8, usize); 7] = [
    (command::DMA_FROM_HOST, 4),
    (command::PUT, 7),
    (command::PUT_HOST, 8),
    (command::GET, 10),
    (command::HOST_CAS, 9),
    (command::HOST_ADD, 7),
    (command::PUT_CONTEXT, 8),
];

/// In the header: the PUT is a reliable one of the packet.
pub const OF_PACKET: u32 = 1 << (OPCODE_SHIFT + 4);

/// Words that follow the header of a command of this opcode.
pub fn words_after(opcode: u8) -> usize {
    let found = OPCODES.iter().find(|known| known.0 == opcode);
    found.unwrap_or_else(|| panic!("opcode {opcode} is not done outside")).1
}

/// The command of a header and the words that follow.
pub fn command_of(words: &[u32]) -> OffClusterCommand {
    let word = |i: usize| words.get(1 + i).copied().unwrap_or(0);
    let pair = |i: usize| bits(u64::from(word(i + 1)) << 32 | u64::from(word(i)));
    OffClusterCommand {
        header: OffClusterHeader {
            frame: bits(words[0] & 0xFFFF),
            context: bits(words[0] >> 16 & 15),
            handle: bits(words[0] >> HANDLE_SHIFT & ((1 << HANDLE_BITS) - 1)),
            hpu: bits(words[0] >> HPU_SHIFT & 7),
            opcode: bits(words[0] >> OPCODE_SHIFT & 15),
            of_packet: words[0] & OF_PACKET != 0,
        },
        source: bits(word(0)),
        length: bits(word(1)),
        address: pair(2),
        node: bits(word(4)),
        key: bits(word(5)),
        offset: bits(word(6)),
        other: pair(7),
        result: bits(word(9)),
    }
}

/// The header of a command, and the words that follow it by its opcode.
pub fn words_of(command: &OffClusterCommand) -> Vec<u32> {
    let OffClusterHeader { frame, context, handle, hpu, opcode, of_packet } = command.header;
    let [opcode, hpu, handle, context] = [opcode.to_u32(), hpu.to_u32(), handle.to_u32(), context.to_u32()];
    let halves = |pair: Bits<64>| [pair.to_u64() as u32, (pair.to_u64() >> 32) as u32];
    let [address_low, address_high] = halves(command.address);
    let [other_low, other_high] = halves(command.other);
    let words = [
        (u32::from(of_packet) * OF_PACKET)
            | opcode << OPCODE_SHIFT
            | hpu << HPU_SHIFT
            | handle << HANDLE_SHIFT
            | context << 16
            | frame.to_u32(),
        command.source.to_u32(),
        command.length.to_u32(),
        address_low,
        address_high,
        command.node.to_u32(),
        command.key.to_u32(),
        command.offset.to_u32(),
        other_low,
        other_high,
        command.result.to_u32(),
    ];
    words[..1 + words_after(opcode as u8)].to_vec()
}
