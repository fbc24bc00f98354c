//! What the service computes, and what its clients hold.

/// Places of a client's window.
pub const PLACES: usize = 256;
/// Bytes of a reply.
pub const REPLY: usize = 8;
/// Bytes of a request.
pub const REQUEST: usize = 16;

/// A request of a tenant: the `count`-th one that it sends.
pub fn request(tenant: u32, count: usize, rounds: u32) -> [u8; REQUEST] {
    let words = [tenant, (count % PLACES) as u32, rounds, seed(count)];
    let mut bytes = [0; REQUEST];
    bytes.chunks_exact_mut(4).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
    bytes
}

/// Requests that are to have no effect: no tenant, no place, too many rounds, and one that is too short.
pub fn malformed() -> Vec<Vec<u8>> {
    let words = |words: [u32; 4]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let (tenant, place, rounds) = (words([2, 0, 1, 9]), words([0, 256, 1, 9]), words([0, 1, 4097, 9]));
    let largest = words([u32::MAX; 4]);
    vec![tenant, place, rounds, largest, words([0, 2, 1, 9])[..12].to_vec()]
}

fn seed(count: usize) -> u32 {
    (count as u32).wrapping_mul(0x9E37_79B9) | 1
}

/// The reply to such a request.
pub fn reply(count: usize, rounds: u32) -> [u8; REPLY] {
    let mut x = seed(count);
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    let mut bytes = [0; REPLY];
    bytes[..4].copy_from_slice(&((count % PLACES) as u32).to_le_bytes());
    bytes[4..].copy_from_slice(&x.to_le_bytes());
    bytes
}

/// The window of a client that has sent so many requests and has all replies.
pub fn window(sent: usize, rounds: u32) -> Vec<u8> {
    let mut bytes = vec![0; PLACES * REPLY];
    for count in sent.saturating_sub(PLACES)..sent {
        let at = count % PLACES * REPLY;
        bytes[at..at + REPLY].copy_from_slice(&reply(count, rounds));
    }
    bytes
}
