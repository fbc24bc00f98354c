//! The hardware structs have the layout that the contract documents.

use spindle_blocks as blocks;
use spindle_contract::descriptors::DESCRIPTORS;
use spindle_verilog::prelude::*;

macro_rules! descriptors_as_types {
    ($(#[doc = $doc:literal] $ty:ident $name:literal { $($field:ident: $bits:tt $fdoc:literal,)* })*) => {
        /// (name, width, offset of each field found by setting it to all ones)
        fn hardware() -> Vec<(&'static str, usize, Vec<(usize, usize)>)> {
            vec![$({
                let mut fields = vec![];
                $(
                    let value = blocks::$ty { $field: Ones::ones(), ..Default::default() };
                    fields.push(extent(value));
                )*
                ($name, blocks::$ty::BITS, fields)
            }),*]
        }
    };
}
spindle_contract::descriptors!(descriptors_as_types);

/// A field of all ones.
trait Ones {
    fn ones() -> Self;
}

impl Ones for bool {
    fn ones() -> Self {
        true
    }
}

impl<const N: usize> Ones for Bits<N> {
    fn ones() -> Self {
        Bits::mask()
    }
}

/// Lowest set bit and number of set bits.
fn extent<T: Packed>(value: T) -> (usize, usize) {
    let mut bits = vec![];
    value.write_bits(&mut bits);
    (bits.iter().position(|b| *b).unwrap_or(usize::MAX), bits.iter().filter(|b| **b).count())
}

#[test]
fn layout_is_the_contract() {
    let hardware = hardware();
    assert_eq!(hardware.len(), DESCRIPTORS.len());
    for (descriptor, (name, width, fields)) in DESCRIPTORS.iter().zip(hardware) {
        assert_eq!(descriptor.name, name);
        assert_eq!(descriptor.bits(), width, "{name}");
        let mut offset = 0;
        for (field, (low, count)) in descriptor.fields.iter().zip(fields) {
            assert_eq!((low, count), (offset, field.bits), "{name}.{}", field.name);
            offset += field.bits;
        }
    }
}
