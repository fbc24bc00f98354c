//! Tests of the front half of the packet engine on the emitted Verilog: each block against a naive model, with exact cycle
//! counts, then all of them together.

mod common;
mod frames;
mod header_matcher;
mod ingress;
mod matcher_bench;
mod packet_buffer;
mod parser;
mod psn_filter;
mod shapes;
