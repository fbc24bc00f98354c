//! What the memories of victims must hold after an attack that failed, and after one that succeeded.

use crate::storage::model::chaskey;

/// Bytes of a message, of the place of each in the server's memory, and of that memory.
pub const MESSAGE: usize = 40;
pub const PLACE: usize = 64;
pub const MEMORY: usize = 8 * PLACE;
/// The place that attackers write to.
pub const FOREIGN: usize = 6;

/// Whether an attack succeeds: none against its defence, but that of a node on the path.
pub fn succeeds(attack: u64, defended: bool) -> bool {
    !defended || attack == 12
}

/// The message of this counter to a place: 32 bytes, and their tag.
pub fn message(key: [u32; 4], counter: u32, place: usize) -> Vec<u8> {
    let mut words = vec![0, counter, (place * PLACE) as u32, MESSAGE as u32];
    words.extend((0..4).map(|i: u32| counter.wrapping_mul(0x0101_0101).wrapping_add(0x1122_3344 * (i + 1))));
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let tag = chaskey(key, &bytes);
    bytes.extend(tag);
    bytes
}

/// A message of an attacker, who does not have the key, to the place of its own.
pub fn foreign() -> Vec<u8> {
    message([0xEEEE_EEEE; 4], 0xEE, FOREIGN)
}

/// Messages that no sender makes: too short, too long, for another place than they say, with a bit of the tag changed.
pub fn malformed(key: [u32; 4]) -> Vec<(usize, Vec<u8>)> {
    let good = message(key, 100, FOREIGN);
    let mut long = good.clone();
    long.extend([0; 8]);
    let mut flipped = good.clone();
    flipped[MESSAGE - 1] ^= 0x80;
    vec![
        (FOREIGN, good[..8].to_vec()),
        (FOREIGN, good[..MESSAGE - 4].to_vec()),
        (FOREIGN, long),
        (FOREIGN + 1, good),
        (FOREIGN, flipped),
    ]
}

/// The server's memory with these messages at their places.
pub fn memory(messages: &[(usize, Vec<u8>)]) -> Vec<u8> {
    let mut memory = vec![0; MEMORY];
    for (place, message) in messages {
        memory[place * PLACE..place * PLACE + message.len()].copy_from_slice(message);
    }
    memory
}
