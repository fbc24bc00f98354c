//! COMBINE, element by element, in integers that hold every sum.

use spindle_contract::memory_map::combine::{self, ADD, ADDS, ADDU, GF, MAX, MAXU, MIN, MINU};

/// Product in GF(2^8), by division: the product of polynomials, less multiples of the field's.
pub fn product(a: u8, b: u8) -> u8 {
    let mut product = (0..8).filter(|bit| b >> bit & 1 == 1).fold(0u32, |sum, bit| sum ^ u32::from(a) << bit);
    for bit in (8..16).rev() {
        if product >> bit & 1 == 1 {
            product ^= combine::POLYNOMIAL << (bit - 8);
        }
    }
    product as u8
}

/// A little-endian number, with a sign or without.
fn number(bytes: &[u8], signed: bool) -> i64 {
    let value = bytes.iter().rev().fold(0i64, |value, byte| value << 8 | i64::from(*byte));
    let bits = 8 * bytes.len();
    if signed && value >> (bits - 1) == 1 {
        value - (1 << bits)
    } else {
        value
    }
}

/// Combines a source with a destination of the same length; `None` if there is no such operation for this length.
pub fn combine(operation: u32, destination: &[u8], source: &[u8]) -> Option<Vec<u8>> {
    let (size, kind, constant) = (1usize << (operation & 3), operation >> 2 & 7, (operation >> 8) as u8);
    let known = operation >> 16 == 0 && operation >> 5 & 7 == 0 && size <= 4;
    let suits = if kind == GF { size == 1 } else { constant == 0 };
    if !known || !suits || !source.len().is_multiple_of(size) {
        return None;
    }
    let signed = [ADDS, MIN, MAX].contains(&kind);
    let (low, high) =
        if signed { (-(1i64 << (8 * size - 1)), (1 << (8 * size - 1)) - 1) } else { (0, (1 << (8 * size)) - 1) };
    let element = |(destination, source): (&[u8], &[u8])| -> Vec<u8> {
        let (a, b) = (number(destination, signed), number(source, signed));
        let result = match kind {
            GF => i64::from(destination[0] ^ product(constant, source[0])),
            ADD => a + b,
            ADDS | ADDU => (a + b).clamp(low, high),
            MIN | MINU => a.min(b),
            MAX | MAXU => a.max(b),
            _ => unreachable!("eight kinds"),
        };
        result.to_le_bytes()[..size].to_vec()
    };
    Some(destination.chunks(size).zip(source.chunks(size)).flat_map(element).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_that_of_reed_solomon() {
        // Powers of 2 reach every element but 0, and the first ones are those of every table.
        let powers: Vec<u8> = std::iter::successors(Some(1), |power| Some(product(*power, 2))).take(255).collect();
        assert_eq!(powers[..10], [1, 2, 4, 8, 16, 32, 64, 128, 0x1D, 0x3A]);
        let mut sorted = powers.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=255).collect::<Vec<u8>>());
        for a in 0..=255 {
            assert_eq!((product(a, 1), product(a, 0), product(a, 0x8E)), (a, 0, product(0x8E, a)));
            assert_eq!(product(product(a, 2), 0x8E), a, "0x8E is the inverse of 2");
        }
    }

    #[test]
    fn sums_end_at_the_ends_of_the_range() {
        let operation = |kind, size| combine::operation(kind, size);
        let of = |kind, size, a: &[u8], b: &[u8]| combine(operation(kind, size), a, b);
        assert_eq!(of(ADD, 0, &[200, 1], &[100, 2]), Some(vec![44, 3]));
        assert_eq!(of(ADDU, 0, &[200, 1], &[100, 2]), Some(vec![255, 3]));
        assert_eq!(of(ADDS, 0, &[0x7F, 0x80, 0xFF], &[1, 0xFF, 1]), Some(vec![0x7F, 0x80, 0]));
        assert_eq!(of(ADDS, 1, &[0xFF, 0x7F], &[1, 0]), Some(vec![0xFF, 0x7F]));
        assert_eq!(of(MIN, 1, &[0, 0x80], &[1, 0]), Some(vec![0, 0x80]));
        assert_eq!(of(MINU, 1, &[0, 0x80], &[1, 0]), Some(vec![1, 0]));
        assert_eq!(of(ADD, 2, &[0xFF, 0xFF, 0xFF, 0xFF], &[1, 0, 0, 0]), Some(vec![0; 4]));
        assert_eq!(of(ADD, 2, &[0; 6], &[0; 6]), None);
        assert_eq!(of(ADD, 3, &[0; 8], &[0; 8]), None);
        assert_eq!(of(GF, 1, &[0; 8], &[0; 8]), None);
        assert_eq!(combine(operation(ADD, 0) | 1 << 8, &[0], &[0]), None);
    }
}
