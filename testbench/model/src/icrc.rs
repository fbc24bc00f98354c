//! The ICRC of a Spindle packet, a bit at a time.

use spindle_contract::wire::{flag, spindle, ICRC_BYTES};

/// The polynomial of CRC-32C, x^31 in the highest bit.
const POLYNOMIAL: u32 = 0x1EDC_6F41;

/// CRC-32C: the remainder of the bytes, each lowest bit first, with its bits in reverse order; ones at both ends.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut remainder = u32::MAX;
    for byte in bytes {
        for bit in 0..8 {
            let carry = (remainder >> 31) as u8 ^ (byte >> bit & 1);
            remainder <<= 1;
            if carry == 1 {
                remainder ^= POLYNOMIAL;
            }
        }
    }
    !remainder.reverse_bits()
}

/// Appends the ICRC to a Spindle header with payload, if the header has the flag.
pub fn seal(datagram: &mut Vec<u8>) {
    if has_icrc(datagram) {
        let crc = crc32c(datagram);
        datagram.extend(crc.to_le_bytes());
    }
}

/// Whether a Spindle packet has the flag ICRC.
pub fn has_icrc(datagram: &[u8]) -> bool {
    datagram[spindle::FLAGS + 1] & flag::ICRC as u8 != 0
}

/// Whether the last four bytes of a Spindle packet with the flag are its ICRC.
pub fn intact(datagram: &[u8]) -> bool {
    let (covered, icrc) = datagram.split_at(datagram.len() - ICRC_BYTES);
    icrc == crc32c(covered).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_value_of_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    /// The remainder against a program that others wrote, for all lengths of a frame.
    #[test]
    fn another_program_computes_the_same() {
        let other = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);
        let mut bytes: Vec<u8> = vec![];
        for i in 0..2000u32 {
            assert_eq!(crc32c(&bytes), other.checksum(&bytes), "{i} bytes");
            bytes.push((i.wrapping_mul(0x9E37_79B9) >> 24) as u8);
        }
    }
}
