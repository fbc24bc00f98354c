//! The calls of `include/rvma.h` and `include/spin.h`: RVMA and handlers for C programs, over any card that implements [`spindle::Card`].
//!
//! Every call catches errors and panics and keeps a sentence for `RVMA_Error`. [`Session`] has the same for Rust, without
//! pointers. The default feature `sim` adds the simulated networks of `include/rvma_sim.h`; without it, the library is built
//! from the driver alone.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the names of the RVMA paper")]

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

mod alarm;
mod cards;
mod clock;
mod contexts;
mod ends;
mod failure;
mod handles;
mod memory;
mod monitor;
mod network;
mod node;
#[cfg(not(feature = "sim"))]
mod plugin;
mod process;
mod program;
mod receiving;
mod sending;
mod session;
#[cfg(feature = "sim")]
mod simulate;
mod spin;
mod stock;
mod waiting;
mod window;

pub use cards::{open, Options};
pub use contexts::{kind, Context, Event};
pub use ends::{Op, PutFailed};
pub use handles::{add_network, NetworkHandle};
pub use node::{Node, Refused};
pub use process::Nic;
pub use program::ProgramMemory;
pub use session::{Member, Session};
pub use stock::WindowStock;
pub use waiting::Sign;
pub use window::OpenWindow;
