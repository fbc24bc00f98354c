//! The RVMA engine against its model, on the emitted Verilog.

mod bench;
mod directed;
mod doorbell;
mod figures;
mod host_side;
mod shapes;
mod traffic;
