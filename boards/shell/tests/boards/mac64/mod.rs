//! The MAC on the emitted Verilog, against characters that are made and read one by one.

mod both;
pub mod characters;
mod fault;
mod receive;
mod receive_bench;
mod transmit;
