//! Naive Rust models of the blocks.

pub mod frames;
