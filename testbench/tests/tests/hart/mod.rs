//! The handler processor alone, on the emitted Verilog.

mod contention;
mod endings;
mod hart_bench;
mod instructions;
mod kernels;
mod lockstep;
mod protection;
mod random;
mod spike;
mod stalls;
mod stray_jumps;
