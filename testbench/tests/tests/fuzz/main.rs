//! Fuzzing of what reaches the emitted NIC from outside: frames of the wire, and accesses of its registers. See
//! `docs/trust.md`. The NIC is that of the tests of the whole NIC, with their bench.

#[macro_use(assert_eq)]
extern crate spindle_testing;

#[allow(dead_code, reason = "other tests use the rest of the bench")]
#[path = "../nic/bench.rs"]
mod bench;
mod frames;
mod registers;
