//! Fuzzing of what the simulated card reads from outside: captures. See `docs/trust.md`.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod capture;
mod classic;
mod directed;
mod pcapng;
