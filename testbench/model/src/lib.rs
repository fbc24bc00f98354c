//! Naive Rust models of the blocks, by crate and block; beside them frames, and what the shipped handlers do.

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

pub mod checksums;
pub mod combine;
pub mod frames;
pub mod handlers;
pub mod icrc;
pub mod jobs;
pub mod packet_engine;
pub mod rvma_lut;
