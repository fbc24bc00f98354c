//! Naive Rust models of the blocks.
