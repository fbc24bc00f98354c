//! The back end's tests, in one binary. They need no block of the NIC, so that a change of the back end is tested without
//! compiling the NIC.

// In every file: a failure names hardware and model, block and cycle, and the command that repeats the test.
#[macro_use(assert_eq)]
extern crate spindle_testing;

use spindle_harness::Source;
use spindle_verilog::prelude::Block;

/// The text of a block, ready for Verilator, after the comparison with its golden text.
fn source(block: &mut impl Block, top: &str) -> Source {
    let source = spindle_harness::source_of(block, top).unwrap_or_else(|error| panic!("{top}: {error}"));
    golden::check(&source);
    source
}

mod golden;
mod ports;
mod verilog;
