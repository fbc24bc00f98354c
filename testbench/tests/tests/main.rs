//! All cycle-level tests of the emitted design, in one binary, so that the design is linked once. A folder is a crate, and a
//! file has the name of the block that it tests.

// In every file: a failure names hardware and model, block and cycle, and the command that repeats the test.
#[macro_use(assert_eq)]
extern crate spindle_testing;

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
    source(&mut make(), name)
}

/// The text of a block, ready for Verilator.
fn source(block: &mut impl Block, top: &str) -> Source {
    spindle_harness::source_of(block, top).unwrap_or_else(|error| panic!("{top}: {error}"))
}

mod blocks;
mod hpu_core;
mod large;
mod nic;
mod packet_engine;
mod rvma_lut;
