//! What an origin puts in each epoch.

/// The bytes of an epoch.
pub fn epoch(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251 + number * 41 + 5) as u8).collect()
}

/// A buffer in which the first bytes of an epoch lie over those of another one.
pub fn over(number: usize, arrived: usize, before: &[u8]) -> Vec<u8> {
    let mut bytes = before.to_vec();
    bytes[..arrived].copy_from_slice(&epoch(number, arrived));
    bytes
}
