//! What an origin puts in each epoch, and what its window holds.

/// The bytes of an epoch.
pub fn epoch(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 11 + i / 249 * 3 + number * 67 + 9) as u8).collect()
}

/// A buffer, zero before, in which the first bytes of an epoch lie.
pub fn part(number: usize, arrived: usize, bytes: usize) -> Vec<u8> {
    let mut buffer = epoch(number, bytes);
    buffer[arrived..].fill(0);
    buffer
}
