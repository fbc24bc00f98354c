//! The frame check sequence of Ethernet: CRC-32, eight bytes a cycle.
//!
//! The register is kept in the order of the wire: bit 0 of a byte comes first, the polynomial is 0xEDB88320. The CRC is
//! linear, so a step over a word of eight bytes is `advance_8(state) ^ word_sum(word)`. The second term does not depend
//! on the state and is computed a cycle ahead; the loop has one XOR of at most 20 bits, two LUTs deep.
//!
//! A last word of fewer bytes is filled with zeros. The receiver compares the state with the residue advanced by as many
//! zero bytes ([`residue_after`]). The transmitter takes the zero bytes back ([`back_4`], [`back_1`], [`back_2`],
//! [`back_3`]): the register's step is invertible. Neither costs a cycle of the loop.

use spindle_blocks::crc::{advance, residue, rows, word_rows, CRC32};
use spindle_verilog::prelude::*;

const WORD: [u64; 32] = word_rows(CRC32, 0);
const ADVANCE_8: [u64; 32] = rows(CRC32, true, 8);
const BACK_1: [u64; 32] = rows(CRC32, false, 1);
const BACK_2: [u64; 32] = rows(CRC32, false, 2);
const BACK_3: [u64; 32] = rows(CRC32, false, 3);
const BACK_4: [u64; 32] = rows(CRC32, false, 4);

/// The residue after so many zero bytes, 1 to 8.
const fn residues() -> [u64; 9] {
    let mut all = [0; 9];
    let mut bytes = 0;
    while bytes < 9 {
        all[bytes] = advance(CRC32, residue(CRC32), bytes) as u64;
        bytes += 1;
    }
    all
}
const RESIDUES: [u64; 9] = residues();

/// What a word of eight bytes adds to the state.
#[hdl_fn]
pub fn word_sum(word: Bits<64>) -> Bits<32> {
    let mut sum: Bits<32> = bits::<32>(0);
    for i in 0..32 {
        sum = sum.replace_bit(i, (word & bits::<64>(WORD[i])).xor());
    }
    sum
}

/// The state after eight zero bytes.
#[hdl_fn]
pub fn advance_8(state: Bits<32>) -> Bits<32> {
    let mut next: Bits<32> = bits::<32>(0);
    for i in 0..32 {
        next = next.replace_bit(i, (state & bits::<32>(ADVANCE_8[i])).xor());
    }
    next
}

/// The state before one zero byte.
#[hdl_fn]
pub fn back_1(state: Bits<32>) -> Bits<32> {
    let mut next: Bits<32> = bits::<32>(0);
    for i in 0..32 {
        next = next.replace_bit(i, (state & bits::<32>(BACK_1[i])).xor());
    }
    next
}

/// The state before two zero bytes.
#[hdl_fn]
pub fn back_2(state: Bits<32>) -> Bits<32> {
    let mut next: Bits<32> = bits::<32>(0);
    for i in 0..32 {
        next = next.replace_bit(i, (state & bits::<32>(BACK_2[i])).xor());
    }
    next
}

/// The state before three zero bytes.
#[hdl_fn]
pub fn back_3(state: Bits<32>) -> Bits<32> {
    let mut next: Bits<32> = bits::<32>(0);
    for i in 0..32 {
        next = next.replace_bit(i, (state & bits::<32>(BACK_3[i])).xor());
    }
    next
}

/// The state before four zero bytes.
#[hdl_fn]
pub fn back_4(state: Bits<32>) -> Bits<32> {
    let mut next: Bits<32> = bits::<32>(0);
    for i in 0..32 {
        next = next.replace_bit(i, (state & bits::<32>(BACK_4[i])).xor());
    }
    next
}

/// The state of a good frame whose last word had `bytes` bytes, 0 to 7, and zeros after them.
#[hdl_fn]
pub fn residue_after(bytes: Bits<3>) -> Bits<32> {
    let mut residue: Bits<32> = bits::<32>(RESIDUES[8]);
    for i in 1..8 {
        if bytes == bits::<3>(i as u64) {
            residue = bits::<32>(RESIDUES[8 - i]);
        }
    }
    residue
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CRC bit by bit, as the standard describes it.
    fn naive(bytes: &[u8]) -> u32 {
        let mut state = u32::MAX;
        for byte in bytes {
            for i in 0..8 {
                let out = (state ^ u32::from(*byte >> i)) & 1;
                state = state >> 1 ^ if out == 1 { CRC32 } else { 0 };
            }
        }
        state
    }

    #[test]
    fn check_value_of_the_standard() {
        assert_eq!(!naive(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_word_with_zeros_is_taken_back() {
        let frame: Vec<u8> = (0..64u32).map(|i| (i * i * 37 + 11) as u8).collect();
        for length in 57..=64 {
            let mut padded = frame[..length].to_vec();
            padded.resize(64, 0);
            let mut state: Bits<32> = bits::<32>(0);
            for (i, chunk) in padded.chunks(8).enumerate() {
                let mut word = u64::from_le_bytes(chunk.try_into().unwrap());
                if i == 0 {
                    word ^= u64::from(u32::MAX);
                }
                state = advance_8(state) ^ word_sum(bits::<64>(word));
            }
            let zeros = 64 - length;
            if zeros & 4 != 0 {
                state = back_4(state);
            }
            state = match zeros & 3 {
                1 => back_1(state),
                2 => back_2(state),
                3 => back_3(state),
                _ => state,
            };
            assert_eq!(state, bits::<32>(naive(&frame[..length])), "{length} bytes");
        }
    }

    #[test]
    fn residues_are_those_of_good_frames() {
        for length in 64..72usize {
            let mut frame: Vec<u8> = (0..length as u32 - 4).map(|i| (i * 7 + 3) as u8).collect();
            let fcs = !naive(&frame);
            frame.extend(fcs.to_le_bytes());
            frame.resize(72, 0);
            assert_eq!(residue_after(bits::<3>(length as u64 & 7)), bits::<32>(naive(&frame)), "{length} bytes");
        }
    }
}
