//! What an allreduce must leave: the sum of all vectors, on every node.

/// The vector of a node in a round, as bytes of little-endian words.
pub fn vector(bytes: usize, node: usize, round: usize) -> Vec<u8> {
    let seed = (node * 7919 + round * 104_729 + 11) as u32;
    (0..bytes as u32 / 4).flat_map(|i| (i.wrapping_add(seed).wrapping_mul(2_654_435_761)).to_le_bytes()).collect()
}

/// The sum, modulo 2^32.
pub fn sum(bytes: usize, nodes: usize, round: usize) -> Vec<u8> {
    let vectors: Vec<Vec<u8>> = (0..nodes).map(|node| vector(bytes, node, round)).collect();
    let word = |vector: &[u8], i: usize| u32::from_le_bytes([vector[i], vector[i + 1], vector[i + 2], vector[i + 3]]);
    (0..bytes)
        .step_by(4)
        .flat_map(|i| vectors.iter().fold(0u32, |sum, vector| sum.wrapping_add(word(vector, i))).to_le_bytes())
        .collect()
}
