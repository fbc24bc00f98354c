//! What writes to storage nodes must leave: the data of those that are allowed, on every node that keeps a copy.

#![allow(deprecated)] // SipHasher is the standard library's SipHash-2-4.

use std::hash::{Hasher, SipHasher};

/// Bytes of a write: other ones for each write and round.
pub fn data(bytes: usize, write: usize, round: usize) -> Vec<u8> {
    let seed = (write * 29 + round * 61 + 17) as u32;
    (0..bytes as u32).map(|i| (i.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// The tag of a capability by SipHash-2-4.
pub fn siphash(key: [u32; 4], capability: &[u8]) -> [u8; 8] {
    let word = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let mut hasher = SipHasher::new_with_keys(word(key[0], key[1]), word(key[2], key[3]));
    hasher.write(capability);
    hasher.finish().to_le_bytes()
}

/// The tag of a capability of 32 bytes by Chaskey-12: the first 64 bits of the code of Mouha et al., with numbers of 128 bits.
pub fn chaskey(key: [u32; 4], capability: &[u8]) -> [u8; 8] {
    let number = |words: [u32; 4]| words.iter().rev().fold(0_u128, |sum, word| sum << 32 | u128::from(*word));
    let permute = |v: u128| {
        let mut v: [u32; 4] = std::array::from_fn(|i| (v >> (32 * i)) as u32);
        for _ in 0..12 {
            v[0] = v[0].wrapping_add(v[1]);
            v[2] = v[2].wrapping_add(v[3]);
            v[1] = v[1].rotate_left(5) ^ v[0];
            v[3] = v[3].rotate_left(8) ^ v[2];
            v[0] = v[0].rotate_left(16).wrapping_add(v[3]);
            v[2] = v[2].wrapping_add(v[1]);
            v[3] = v[3].rotate_left(13) ^ v[0];
            v[1] = v[1].rotate_left(7) ^ v[2];
            v[2] = v[2].rotate_left(16);
        }
        number(v)
    };
    let key = number(key);
    let doubled = (key << 1) ^ ((key >> 127) * 0x87);
    let block = |at: usize| u128::from_le_bytes(capability[at..at + 16].try_into().expect("16 bytes"));
    let tag = permute(permute(key ^ block(0)) ^ block(16) ^ doubled) ^ doubled;
    (tag as u64).to_le_bytes()
}

/// The header of a write: 32 bytes of capability (client, right to write, offset, length of the message, serial number), 8 of tag, 24 of
/// zeros.
/// A forged one has a bit of its tag changed.
pub fn header(
    tag: fn([u32; 4], &[u8]) -> [u8; 8],
    key: [u32; 4],
    offset: usize,
    length: usize,
    serial: usize,
    forged: bool,
) -> Vec<u8> {
    let words = [0, 2, offset as u32, length as u32, serial as u32, 0, 0, 0];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let mut tag = tag(key, &bytes);
    tag[serial % 8] ^= u8::from(forged) << (serial % 7);
    bytes.extend(tag);
    bytes.resize(64, 0);
    bytes
}

/// The acknowledgement of a copy.
pub fn acknowledgement(write: usize, bytes: usize) -> Vec<u8> {
    [(write as u32).to_le_bytes(), (bytes as u32).to_le_bytes()].concat()
}
