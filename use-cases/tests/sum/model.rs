//! What the requester must have: the sum of its numbers.

/// The numbers of a round: others in each round, so that an answer of the last one is none to this one.
pub fn numbers(count: u64, round: u64) -> Vec<u32> {
    (0..count).map(|i| (i * 77_777 + round * 1_000_003 + 1) as u32).collect()
}

/// Their sum.
pub fn sum(numbers: &[u32]) -> u32 {
    numbers.iter().fold(0, |sum, number| sum.wrapping_add(*number))
}
