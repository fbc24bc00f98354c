//! The RVMA engine and its blocks against a model, on the emitted Verilog. Folders are those of `rvma-lut/src`.

#![allow(clippy::single_range_in_vec_init)] // a list of address ranges may have one member

pub mod commands;
pub mod completion;
pub mod host_access;
pub mod lookup;
mod placement;
pub mod rvma_engine;
pub mod shapes;
