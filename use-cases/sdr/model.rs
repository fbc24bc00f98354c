//! What a receiver must have of each message, whatever the wire lost.

/// The bytes of a message.
pub fn message(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 13 + i / 253 * 7 + number * 89 + 3) as u8).collect()
}
