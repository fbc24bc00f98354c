//! What a put must leave, and what RDMA's receiver sends its sender about a buffer.

/// The message of a round: its last byte differs from that of the round before, which is polled.
pub fn message(bytes: usize, round: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 11 + i / 253 + 3 + round * 89) as u8).collect()
}

/// Bytes of a description of a registered buffer.
pub const DESCRIPTION: usize = 16;

/// A registered buffer as its peer learns of it: address, key, length.
pub fn description(address: u64, key: u32, length: usize) -> [u8; DESCRIPTION] {
    let mut bytes = [0; DESCRIPTION];
    bytes[..8].copy_from_slice(&address.to_le_bytes());
    bytes[8..12].copy_from_slice(&key.to_le_bytes());
    bytes[12..].copy_from_slice(&(length as u32).to_le_bytes());
    bytes
}
