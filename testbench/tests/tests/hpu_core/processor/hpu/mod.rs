//! The processor as a whole.

pub mod budgets;
pub mod contention;
pub mod endings;
pub mod hart_bench;
pub mod instructions;
pub mod kernels;
pub mod lockstep;
pub mod overtaking;
pub mod pipeline;
pub mod pipeline_bench;
pub mod port_words;
pub mod protection;
pub mod random;
pub mod spike;
pub mod stalls;
pub mod stray_jumps;
