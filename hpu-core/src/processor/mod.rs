//! The handler processor: RV32IMA, Zicsr, Zba, Zbb, Zbs; pipelined, in order, two hardware threads.

pub mod alu;
pub mod bit_unit;
pub mod branch_predictor;
pub mod byte_lanes;
pub mod decode;
pub mod divider;
pub mod endings;
pub mod execute;
pub mod fetch;
pub mod hpu;
pub mod issue;
pub mod launches;
pub mod memory_stage;
pub mod multiplier;
pub mod operands;
pub mod predecode;
pub mod region_table;
pub mod register_file;
pub mod remote_tracker;
pub mod resolve;
pub mod rvfi;
pub mod stages;
pub mod store_buffer;
pub mod threads;
pub mod types;
pub mod write_back;
