//! What a sparse allreduce must leave: the dense sum of all pairs, on every node.

/// Words of the vector.
pub const WORDS: usize = 4096;

/// The pairs of a node in a round: the places of a node are all different. The first of node 1 is beyond the vector, and counts nowhere.
pub fn pairs(count: usize, node: usize, round: usize) -> Vec<(u32, u32)> {
    let start = node * 523 + round * 211 + 5;
    // An odd step visits every place once.
    let place = |i: usize| if (node, i) == (1, 0) { 1 << 20 } else { ((start + i * 1229) % WORDS) as u32 };
    (0..count).map(|i| (place(i), (i * 40_503 + start * 7 + 1) as u32)).collect()
}

/// The sum of so many nodes, modulo 2^32.
pub fn sum(count: usize, nodes: usize, round: usize) -> Vec<u8> {
    let mut words = vec![0u32; WORDS];
    for (place, value) in (0..nodes).flat_map(|node| pairs(count, node, round)) {
        if let Some(word) = words.get_mut(place as usize) {
            *word = word.wrapping_add(value);
        }
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
