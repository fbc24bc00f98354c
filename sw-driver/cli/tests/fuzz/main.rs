//! Fuzzing of what the command line takes: numbers, times, rates, nodes, variables, waves, and the header of the network
//! interface. See `docs/trust.md`.
#![cfg(feature = "sim")]

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod directed;
mod header;
mod numbers;
mod pacing;
mod variables;
mod waves;
