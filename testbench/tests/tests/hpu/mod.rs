//! The handler processor, on the emitted Verilog.

pub mod fields;
pub mod isa;
mod pipeline;
mod pipeline_bench;
pub mod units;
mod units_state;
