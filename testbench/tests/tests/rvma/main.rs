//! The RVMA engine against its model, on the emitted Verilog.

mod bench;
mod host_side;
mod traffic;
