//! What vectors of 32-bit integers leave when they are added to arrays.

/// Bytes of a vector: other ones for each vector and round.
pub fn vector(bytes: usize, number: usize, round: usize) -> Vec<u8> {
    let seed = (number * 131 + round * 61 + 17) as u32;
    (0..bytes as u32).map(|i| (i.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Adds a vector to an array: little-endian words, modulo 2^32.
pub fn add(array: &mut [u8], vector: &[u8]) {
    for (sum, term) in array.as_chunks_mut::<4>().0.iter_mut().zip(vector.as_chunks::<4>().0) {
        *sum = u32::from_le_bytes(*sum).wrapping_add(u32::from_le_bytes(*term)).to_le_bytes();
    }
}
