//! The bridge of `pcie_7x` against a naive root complex.

mod bars;
mod bench;
mod down;
mod faults;
mod formal;
mod host;
mod link;
mod master;
mod memory;
mod msix;
mod packet;
mod refused;
mod registers;
mod root;
