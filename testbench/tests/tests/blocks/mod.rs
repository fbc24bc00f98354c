//! Tests of `rtl/blocks` on the emitted Verilog: each block against a naive model, with exact cycle counts.

mod aligner;
mod arbiter;
mod async_fifo;
pub mod common;
mod count_memory;
mod counter;
mod csr;
mod desc;
mod differential;
mod fifo;
mod ram;
mod shapes;
mod skid;
mod stream;
mod synth;
