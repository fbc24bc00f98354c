//! What a ping-pong must leave: the reply is the message.

/// The message of a round: other bytes in each round, so that those of the last are no reply to this one.
pub fn message(bytes: usize, round: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251 + 1 + round * 101) as u8).collect()
}

/// The bytes that come back.
pub fn reply(message: &[u8]) -> Vec<u8> {
    message.to_vec()
}
