//! Verilog back end for rust-hdl descriptions: width-exact, one module per distinct shape.
//!
//! A block is a rust-hdl struct whose `update()` carries the [`macro@hdl`](prelude::hdl) attribute. rust-hdl's simulator
//! runs that function; [`emit`] turns the same source into SystemVerilog. `README.md` lists the language.

extern crate self as spindle_verilog;

mod bitops;
mod build;
mod bundles;
mod chains;
mod check;
mod collapse;
mod describe;
mod design;
mod error;
mod expr;
mod hierarchy;
mod inline;
mod intrinsics;
#[path = "../macros/src/language.rs"]
mod language;
mod loops;
mod lower;
mod module;
mod names;
mod options;
mod packed;
mod part;
pub mod ports;
mod print;
mod register;
mod rest;
mod sizes;
mod stmt;
mod stock;
mod ty;
mod types;

pub use describe::{black_box, custom, custom_with};
pub use design::{emit, emit_with, Design, Module};
pub use error::EmitError;
pub use options::Options;

/// Everything a block description needs.
pub mod prelude {
    pub use crate::bitops::{bits, mul, mul_signed, pack, repeat, sext, signed_lt, sra, trunc, unpack, zext, Cat};
    pub use crate::bundles::{Pulse, PulsePorts, PulseSink, PulseSinkPorts, Sink, SinkPorts, Source, SourcePorts};
    pub use crate::intrinsics::{
        add_with_carry, byte_mask, byte_swap, count_ones, eq, first_set, lowest_set, ne, select, select_hot, Values,
    };
    pub use crate::packed::Packed;
    pub use crate::part::Join;
    pub use crate::register::{Load, Reg};
    pub use rust_hdl_core::prelude::*;
    pub use rust_hdl_widgets::dff::DFF;
    pub use spindle_hdl_macros::{block, bundle, hdl, hdl_fn, LogicState, LogicStruct};
}

/// What the macros expand to; not for direct use.
#[doc(hidden)]
pub mod __private {
    pub use crate::bitops::{pack, IntegerConstant};
    pub use crate::describe::{
        hand_over, BlockSource, Describe, DescribeNumber, DescribeSynth, FnSource, Source, StageSource, Value,
    };
    pub use crate::packed::{literal_of, BitReader, Packed};
    pub use crate::part::{Join, Part, Parts};
    pub use crate::ports::{write_packed, WireId, Wires, Word};
    pub use rust_hdl_core::logic::{logic_connect_fn, logic_connect_join_fn, logic_connect_link_fn};
    pub use rust_hdl_core::prelude::{
        Bits, Block, Clock, In, Logic, Out, Probe, Signal, Synth, TypeDescriptor, TypeField, TypeKind, VCDValue,
        Verilog, VerilogLiteral,
    };
}
