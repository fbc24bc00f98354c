//! The handler processor and its cluster, on the emitted Verilog.

mod assembler;
mod cluster;
mod cluster_bench;
mod commands;
mod directed;
mod ends;
mod fields;
mod handlers;
mod isa;
mod oracle;
mod pipeline;
mod pipeline_bench;
mod processor;
mod protection;
mod shapes;
mod task;
mod timing;
mod units;
mod units_state;
