//! Benches of the shell's crossings and of whole shells, for tests and for reports.
//!
//! | module | what it has |
//! |---|---|
//! | [`frames`], [`stream`], [`clocks`] | frames, the agents that send and receive them, two clocks without a common edge |
//! | [`rx`], [`tx`] | a crossing between a MAC and a core |
//! | [`line_rate`](mod@line_rate) | frames per second through the receive crossing at 100 Gb/s |
//! | [`latency`] | nanoseconds through the crossings |
//! | [`shell`] | a whole shell with its NIC, between models of the vendor blocks, and the driver above |

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

pub mod clocks;
pub mod frames;
pub mod latency;
pub mod line_rate;
pub mod rx;
pub mod shell;
pub mod stream;
pub mod tx;

pub use clocks::{Clocks, CMAC_AND_CORE};
pub use frames::{assert_some_of, frame, length, Frame};
pub use line_rate::{line_rate, Rates};
pub use rx::RxBench;
pub use stream::{Receiver, Sender};
pub use tx::TxBench;
