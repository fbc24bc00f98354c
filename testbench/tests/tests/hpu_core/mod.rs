//! The HPU array, its clusters and its processors, on the emitted Verilog. Folders are those of `hpu-core/src`.

pub mod array;
pub mod cluster;
pub mod fields;
pub mod off_cluster_words;
pub mod processor;
pub mod registers;
