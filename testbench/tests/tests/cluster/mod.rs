//! The blocks of a cluster, each alone, and the cluster as a whole, on the emitted Verilog.

mod atomics;
mod cluster_bench;
mod command_dut;
mod command_port;
mod commands;
mod contention;
pub mod dut;
mod far;
mod far_commands;
mod fast_robin;
mod handlers;
mod instruction_memory;
mod l1;
mod loader;
mod mover;
mod remote_router;
mod shapes;
mod slots;
mod task;
mod whole;
