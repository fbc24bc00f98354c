//! What a broadcast must leave: the root's message in the memory of every node.

/// The message of a round: other bytes in each round, so that those of the last are not taken for these.
pub fn message(bytes: usize, round: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 11 + i / 253 + 3 + round * 89) as u8).collect()
}

/// The memories of all nodes after the broadcast, by node.
pub fn memories(nodes: usize, message: &[u8]) -> Vec<Vec<u8>> {
    vec![message.to_vec(); nodes]
}
