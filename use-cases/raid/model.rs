//! What writes to a RAID 4 must leave: the new bytes on the data nodes, their parity on the parity node.

/// Bytes of a chunk: other ones for each data node, write and round.
pub fn chunk(bytes: usize, node: usize, write: usize, round: usize) -> Vec<u8> {
    let seed = (node * 131 + write * 29 + round * 61 + 17) as u32;
    (0..bytes as u32).map(|i| (i.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// The parity of chunks.
pub fn parity(chunks: &[&[u8]]) -> Vec<u8> {
    (0..chunks[0].len()).map(|i| chunks.iter().fold(0, |sum, chunk| sum ^ chunk[i])).collect()
}

/// Bytes of a chunk in the pieces whose number has this remainder by the number of clusters.
pub fn share(chunk: usize, piece: usize, class: usize, clusters: usize) -> usize {
    (0..chunk).filter(|at| at / piece % clusters == class).count()
}

/// The acknowledgement of a write: its number, and the bytes that are in memory.
pub fn acknowledgement(write: usize, bytes: usize) -> Vec<u8> {
    [(write as u32).to_le_bytes(), (bytes as u32).to_le_bytes()].concat()
}
