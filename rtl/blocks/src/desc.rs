//! Hardware structs of the descriptors listed in `spindle-contract`.
//!
//! A field of width 1 is a `Bit`, any other a `Bits<N>`; the first field of the list holds the least significant bits,
//! so the packed layout is the one that the contract documents.

use spindle_verilog::prelude::*;

macro_rules! hardware_type {
    (1) => { Bit };
    (CommandIssuer) => { CommandIssuer };
    ($bits:tt) => { Bits<$bits> };
}

/// The command of a handler: who issued it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CommandIssuer {
    /// Cluster of the issuer.
    pub cluster: Bits<3>,
    /// HPU of that cluster.
    pub hpu: Bits<3>,
    /// Handle of the command in the issuer's command table.
    pub handle: Bits<4>,
}

macro_rules! hardware_structs {
    ($(#[doc = $doc:literal] $ty:ident $name:literal { $($field:ident: $bits:tt $fdoc:literal,)* })*) => { $(
        #[doc = $doc]
        #[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
        pub struct $ty {
            $(#[doc = $fdoc] pub $field: hardware_type!($bits),)*
        }
    )* };
}

spindle_contract::descriptors!(hardware_structs);
