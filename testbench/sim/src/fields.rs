//! Fields of packed ports, from the least significant bit.

use bitvec::field::BitField;
use bitvec::prelude::{BitSlice, BitVec, Lsb0};
use bitvec::view::BitView;

/// Puts fields together.
#[derive(Default)]
pub struct Packer(BitVec<u8, Lsb0>);

impl Packer {
    /// Appends the low `width` bits of `value`.
    ///
    /// # Panics
    /// `value` has further bits.
    pub fn field(mut self, value: u64, width: usize) -> Self {
        assert!(width >= 64 || value >> width == 0, "{value:#x} does not fit {width} bits");
        self.0.extend_from_bitslice(&value.view_bits::<Lsb0>()[..width]);
        self
    }

    /// The fields, in whole bytes.
    pub fn bytes(mut self) -> Vec<u8> {
        self.0.set_uninitialized(false);
        self.0.into_vec()
    }
}

/// Takes fields apart.
pub struct Reader<'a>(&'a BitSlice<u8, Lsb0>);

impl<'a> Reader<'a> {
    /// From the least significant bit on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.view_bits())
    }

    /// The next `width` bits, 1 to 64.
    pub fn field(&mut self, width: usize) -> u64 {
        let (field, rest) = self.0.split_at(width);
        self.0 = rest;
        field.load_le()
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
