//! Fields of packed descriptors, by name.

use bitvec::{field::BitField, order::Lsb0, view::BitView};
use spindle_contract::descriptors::DESCRIPTORS;

fn place_of(descriptor: &str, field: &str) -> (usize, usize) {
    let d = DESCRIPTORS.iter().find(|d| d.name == descriptor).unwrap_or_else(|| panic!("no descriptor {descriptor}"));
    let mut low = 0;
    for f in d.fields {
        if f.name == field {
            return (low, f.bits);
        }
        low += f.bits;
    }
    panic!("{descriptor} has no field {field}")
}

/// A field of a packed descriptor.
pub fn get_field(bytes: &[u8], descriptor: &str, field: &str) -> u64 {
    let (low, width) = place_of(descriptor, field);
    bytes.view_bits::<Lsb0>()[low..low + width].load_le()
}

/// Sets a field of a packed descriptor.
pub fn set_field(bytes: &mut [u8], descriptor: &str, field: &str, value: u64) {
    let (low, width) = place_of(descriptor, field);
    assert!(width == 64 || value >> width == 0, "{descriptor}.{field} has {width} bits, {value} does not fit");
    bytes.view_bits_mut::<Lsb0>()[low..low + width].store_le(value);
}

/// A packed descriptor of zeros.
pub fn packed(descriptor: &str) -> Vec<u8> {
    let bits: usize = DESCRIPTORS.iter().find(|d| d.name == descriptor).map_or(0, |d| d.bits());
    vec![0; bits.div_ceil(8)]
}

/// Whether a descriptor has this field.
pub fn has_field(descriptor: &str, field: &str) -> bool {
    DESCRIPTORS.iter().any(|d| d.name == descriptor && d.fields.iter().any(|f| f.name == field))
}
