//! The handler processor and its cluster, on the emitted Verilog.

mod assembler;
mod directed;
mod ends;
mod oracle;
mod processor;
mod protection;
mod shapes;
mod timing;
