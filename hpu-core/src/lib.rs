//! RV32 handler processor, cluster and array.
#![warn(missing_docs)]

pub mod alu;
pub mod decode;
pub mod divider;
pub mod hpu;
pub mod protection;
pub mod registers_file;
pub mod types;
