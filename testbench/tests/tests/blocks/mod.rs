//! Tests of `rtl/blocks` on the emitted Verilog: each block against a naive model, with exact cycle counts.

pub mod aligner;
pub mod arbiter;
pub mod async_fifo;
pub mod common;
pub mod count_memory;
pub mod counter;
pub mod crc;
pub mod csr;
pub mod desc;
pub mod differential;
pub mod fifo;
pub mod pass_fifo;
pub mod ram;
pub mod shapes;
pub mod skid;
pub mod stream;
pub mod sum_bank;
pub mod synth;
