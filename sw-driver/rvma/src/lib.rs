//! The calls of `include/rvma.h`: RVMA for C programs, over any card that implements [`Card`].
//!
//! Every call catches errors and panics and keeps a sentence for `RVMA_Error`. [`Session`] has the same for Rust, without
//! pointers. The default feature `sim` adds the simulated networks of `include/rvma_sim.h`; without it, the library is built
//! from the driver alone.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the names of the RVMA paper")]

mod card;
mod ends;
mod failure;
mod handles;
mod memory;
mod network;
mod receiving;
mod sending;
mod session;
#[cfg(feature = "sim")]
mod simulate;

pub use card::{Card, SharedCard};
pub use ends::{Op, PutFailed};
pub use handles::{add_network, NetworkHandle};
pub use session::{Member, Nic, OpenWindow, Refused, Session};
