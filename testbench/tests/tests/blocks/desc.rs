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
                    for $field in Ones::each() {
                        fields.push(extent(blocks::$ty { $field, ..Default::default() }));
                    }
                )*
                ($name, blocks::$ty::BITS, fields)
            }),*]
        }
    };
}
spindle_contract::descriptors!(descriptors_as_types);

/// A field of all ones; of a nested structure, each member in turn.
trait Ones: Sized {
    fn each() -> Vec<Self>;
}

impl Ones for bool {
    fn each() -> Vec<Self> {
        vec![true]
    }
}

impl<const N: usize> Ones for Bits<N> {
    fn each() -> Vec<Self> {
        vec![Bits::mask()]
    }
}

impl Ones for blocks::CommandIssuer {
    fn each() -> Vec<Self> {
        vec![
            Self { cluster: Bits::mask(), ..Default::default() },
            Self { hpu: Bits::mask(), ..Default::default() },
            Self { handle: Bits::mask(), ..Default::default() },
        ]
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
