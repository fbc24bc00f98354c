//! The handler processor and its cluster, on the emitted Verilog.

mod assembler;
mod cluster;
mod cluster_bench;
mod directed;
mod ends;
mod fields;
mod oracle;
mod processor;
mod protection;
mod shapes;
mod timing;
