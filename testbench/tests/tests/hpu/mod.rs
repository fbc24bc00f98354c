//! The handler processor, on the emitted Verilog.

pub mod fields;
mod isa;
mod pipeline;
mod pipeline_bench;
mod units;
mod units_state;
