//! Naive Rust models of the blocks, by crate and block; beside them frames, and what the shipped handlers do.

pub mod checksums;
pub mod frames;
pub mod handlers;
pub mod jobs;
pub mod packet_engine;
pub mod rvma_lut;
