//! Fields of packed ports, from the least significant bit.

/// Puts fields together.
#[derive(Default)]
pub struct Packer {
    bytes: Vec<u8>,
    bits: usize,
}

impl Packer {
    /// Appends the low `width` bits of `value`, which has no others.
    pub fn field(mut self, value: u64, width: usize) -> Self {
        assert!(width >= 64 || value >> width == 0, "{value:#x} does not fit {width} bits");
        self.bytes.resize((self.bits + width).div_ceil(8), 0);
        for bit in (0..width).filter(|bit| value >> bit & 1 == 1) {
            self.bytes[(self.bits + bit) / 8] |= 1 << ((self.bits + bit) % 8);
        }
        self.bits += width;
        self
    }

    /// What has been put together.
    pub fn bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Takes fields apart.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// From the least significant bit on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `width` bits, at most 64.
    pub fn field(&mut self, width: usize) -> u64 {
        let (first, shift) = (self.at / 8, self.at % 8);
        let last = (self.at + width).div_ceil(8);
        let all = self.bytes[first..last].iter().rev().fold(0u128, |all, byte| all << 8 | u128::from(*byte));
        self.at += width;
        (all >> shift) as u64 & (u64::MAX >> (64 - width))
    }

    /// The next 32 bits.
    pub fn word(&mut self) -> u32 {
        self.field(32) as u32
    }

    /// The next bit.
    pub fn bit(&mut self) -> bool {
        self.field(1) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_can_be_read() {
        let fields = [(1, 1), (0xDEAD_BEEF_0123_4567, 64), (5, 3), (0x1_2345, 20), (0, 7), (1, 1)];
        let packed =
            fields.iter().fold(Packer::default(), |packer, (value, width)| packer.field(*value, *width)).bytes();
        let mut reader = Reader::new(&packed);
        for (value, width) in fields {
            assert_eq!(reader.field(width), value);
        }
    }
}
