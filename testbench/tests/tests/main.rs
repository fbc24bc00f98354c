//! All cycle-level tests of the emitted design, in one binary, so that the design is linked once. A folder is a crate, and a file
//! has the name of the block that it tests.

use spindle_harness::Source;
use spindle_verilog::prelude::Block;

/// The emitted text of each block, alone, by the name that its module gets.
macro_rules! alone {
    ($($name:ident: $block:expr;)*) => {
        vec![$(crate::emitted(stringify!($name), || $block)),*]
    };
}

/// One of them: a function, or all blocks of a list would lie on one stack.
fn emitted<B: Block>(name: &str, make: impl FnOnce() -> B) -> Source {
    let design = spindle_verilog::emit(&mut make(), name).unwrap_or_else(|error| panic!("{error}"));
    Source::from_text(name, design.to_string())
}

mod blocks;
mod hpu_core;
mod large;
mod nic;
mod packet_engine;
mod rvma_lut;
mod verilog;
