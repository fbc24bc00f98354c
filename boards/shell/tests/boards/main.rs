//! Tests of the boards.

// In every file: a failure names hardware and model, block and cycle, and the command that repeats the test.
#[macro_use(assert_eq)]
extern crate spindle_testing;

mod check;
mod data;
mod ethernet;
mod host_side;
mod ip;
mod mac64;
mod pcs;
mod project;
mod shell;
mod si5324;
mod tlp;
mod wire_side;
mod xdc;
mod yosys;
