//! The handler processor: RV32IMA, Zicsr, Zba, Zbb, Zbs; pipelined, in order, two hardware threads.

pub mod alu;
pub mod bit_unit;
pub mod branch_predictor;
pub mod byte_lanes;
pub mod decode;
pub mod divider;
pub mod multiplier;
pub mod region_table;
pub mod types;
