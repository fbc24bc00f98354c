//! The bridge of `pcie_7x` against a naive root complex.

pub mod bars;
mod bench;
mod down;
mod faults;
mod formal;
mod host;
pub mod link;
mod master;
mod memory;
mod msix;
pub mod packet;
mod refused;
mod registers;
pub mod root;
