//! The handler processor and its cluster, on the emitted Verilog.

mod assembler;
mod directed;
mod oracle;
mod processor;
mod shapes;
