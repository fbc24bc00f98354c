//! The calls of `include/rvma.h`: RVMA for C programs, on simulated NICs.
//!
//! Every call catches what goes wrong and keeps a sentence for `RVMA_Error`. [`Session`] has the same for Rust, without pointers.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the names of the RVMA paper")]

mod ends;
mod failure;
mod handles;
mod memory;
mod network;
mod receiving;
mod sending;
mod session;

pub use ends::{Op, PutFailed};
pub use session::{Nic, OpenWindow, Refused, Session};
