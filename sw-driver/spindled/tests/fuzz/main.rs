//! Fuzzing of what clients of the daemon send, and of its arguments. See `docs/trust.md`.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod arguments;
mod card;
mod directed;
mod requests;
mod share;
