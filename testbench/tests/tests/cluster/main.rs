//! The blocks of a cluster, each alone, and the cluster as a whole, on the emitted Verilog.

#[path = "../hpu/assembler.rs"]
#[allow(dead_code)]
mod assembler;
mod atomics;
mod cluster;
mod cluster_bench;
mod command_port;
mod commands;
mod contention;
mod dut;
#[path = "../hpu/fields.rs"]
mod fields;
mod handlers;
mod instruction_memory;
mod l1;
mod loader;
mod remote_router;
mod shapes;
mod task;
