//! Naive Rust models of the blocks.

pub mod frames;
pub mod header_matcher;
pub mod packet_buffer;
pub mod parser;

pub mod rvma;
