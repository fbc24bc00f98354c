//! What a broadcast must leave: every message once, in order, on every node that lives, and nothing on those that are dead.

/// Bytes of a message.
pub const BYTES: usize = 64;

/// The message of this number.
pub fn message(number: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..BYTES).map(|i| (i * 31 + number * 17 + 9) as u8).collect();
    bytes[..4].copy_from_slice(&(number as u32).to_le_bytes());
    bytes
}

/// Messages that no node may deliver or pass on: too short, too long, with a number that there is not.
pub fn malformed(number: usize) -> Vec<Vec<u8>> {
    let mut longer = message(number);
    longer.extend([0; 4]);
    let mut beyond = message(number);
    beyond[..4].copy_from_slice(&128u32.to_le_bytes());
    let mut far = message(number);
    far[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    vec![message(number)[..3].to_vec(), message(number)[..BYTES - 4].to_vec(), longer, beyond, far]
}

/// The memory of a node after so many messages.
pub fn memory(lives: bool, messages: usize, bytes: usize) -> Vec<u8> {
    let mut memory: Vec<u8> = if lives { (0..messages).flat_map(message).collect() } else { Vec::new() };
    memory.resize(bytes, 0);
    memory
}
