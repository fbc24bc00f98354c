//! The handler processor: RV32IMA, Zicsr, Zba, Zbb, Zbs; pipelined, in order, two hardware threads.

pub mod amo_alu;
pub mod types;
