//! Values in the bits of a port.

use bitvec::{field::BitField, order::Lsb0, view::BitView};
use hpu_core::processor::predecode::predecode;
use spindle_contract::descriptors::{Descriptor, DESCRIPTORS};

/// What instruction memory keeps of a word of the image.
pub fn code_word(word: u32) -> u64 {
    let code = predecode(spindle_verilog::prelude::bits::<32>(word));
    u64::from(code.legal) << 33 | u64::from(code.other) << 32 | code.word.to_u64()
}

/// (value, width) pairs from the least significant bit.
pub fn bits(fields: &[(u64, usize)]) -> Vec<u8> {
    let total: usize = fields.iter().map(|field| field.1).sum();
    let mut bytes = vec![0u8; total.div_ceil(8)];
    let mut at = 0;
    for (value, width) in fields {
        assert!(*width >= 64 || value >> width == 0, "{value:#x} does not fit {width} bits");
        bytes.view_bits_mut::<Lsb0>()[at..at + width].store_le(*value);
        at += width;
    }
    bytes
}

/// `width` bits from bit `from` on.
pub fn slice(bytes: &[u8], from: usize, width: usize) -> u64 {
    bytes.view_bits::<Lsb0>()[from..from + width].load_le()
}

fn descriptor(name: &str) -> &'static Descriptor {
    DESCRIPTORS.iter().find(|d| d.name == name).unwrap_or_else(|| panic!("the contract has no descriptor {name}"))
}

/// A descriptor's bytes from its fields; fields that are not named are zero.
pub fn pack(name: &str, values: &[(&str, u64)]) -> Vec<u8> {
    let fields = descriptor(name).fields;
    assert!(values.iter().all(|v| fields.iter().any(|f| f.name == v.0)), "{name} lacks one of {values:?}");
    let value = |field: &str| values.iter().find(|v| v.0 == field).map_or(0, |v| v.1);
    bits(&fields.iter().map(|f| (value(f.name), f.bits)).collect::<Vec<_>>())
}

/// Likewise, with random bits in the fields that are not named.
pub fn pack_random(name: &str, values: &[(&str, u64)], rng: &mut impl rand::Rng) -> Vec<u8> {
    let fields = descriptor(name).fields;
    let others = fields.iter().filter(|field| values.iter().all(|v| v.0 != field.name));
    // Fields of more than 64 bits stay zero.
    let random =
        others.map(|field| (field.name, if field.bits > 64 { 0 } else { rng.random::<u64>() >> (64 - field.bits) }));
    pack(name, &values.iter().copied().chain(random).collect::<Vec<_>>())
}

/// A field of a descriptor.
pub fn field(name: &str, bytes: &[u8], wanted: &str) -> u64 {
    let mut at = 0;
    for field in descriptor(name).fields {
        if field.name == wanted {
            return slice(bytes, at, field.bits);
        }
        at += field.bits;
    }
    panic!("{name} has no field {wanted}");
}
