//! Naive Rust models of the blocks.

pub mod checksums;
pub mod frames;
pub mod handlers;
pub mod header_matcher;
pub mod host_access;
pub mod jobs;
pub mod packet_buffer;
pub mod parser;
pub mod psn_filter;
pub mod responder;

pub mod rvma;
pub mod scheduler;
