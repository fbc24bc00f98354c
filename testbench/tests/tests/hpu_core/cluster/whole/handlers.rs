//! Pieces of handlers that the tests of the cluster share.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{self as map, base};
use spindle_hart::assembler::*;

/// Address of the packet.
pub const PACKET: u32 = base(map::PACKET);
/// Address of the context memory.
pub const STATE: u32 = base(map::CONTEXT);
/// Address of the code.
pub const ENTRY: u32 = base(map::CODE);

pub fn random_bytes(rng: &mut ChaCha8Rng, count: usize) -> Vec<u8> {
    (0..count).map(|_| rng.random()).collect()
}

/// A word of a memory.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// x8 = state, x9 = command port, x3 = packet; then the body.
pub fn handler(body: &[u32]) -> Vec<u32> {
    [&[lui(8, STATE >> 12), lui(9, base(map::COMMAND) >> 12), lui(3, PACKET >> 12)], body].concat()
}

/// Copies x7 bytes, a multiple of 4, from x5 to x6.
pub fn copy() -> [u32; 6] {
    [lw(28, 5, 0), sw(28, 6, 0), addi(5, 5, 4), addi(6, 6, 4), addi(7, 7, -4), branch(1, 7, 0, -20)]
}

/// A command, in the body of a handler: source, length, host offset, opcode.
pub fn issue(source: u32, length: u32, offset: u32, opcode: impl Into<u32>) -> Vec<u32> {
    let mut words = vec![];
    for (value, at) in [
        (source, map::CMD_SOURCE),
        (length, map::CMD_LENGTH),
        (offset, map::CMD_ADDR_LO),
        (opcode.into(), map::CMD_ISSUE),
    ] {
        words.extend(li(5, value));
        words.push(sw(5, 9, at as i32));
    }
    words
}
