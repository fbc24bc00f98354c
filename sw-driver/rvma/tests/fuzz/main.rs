//! Fuzzing of the calls that C programs make. See `docs/trust.md`.
#![allow(non_snake_case, reason = "the names of the RVMA paper")]

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod c;
mod calls;
mod card;
mod directed;
mod handles;
