//! From the wire to the packet buffer: each block against a naive model, with exact cycle counts, then all of them together.

pub mod cell_list;
pub mod common;
pub mod frames;
pub mod header_matcher;
pub mod ingress_join;
pub mod matcher_bench;
pub mod packet_buffer;
pub mod parser;
pub mod psn_filter;
pub mod read_share;
pub mod shapes;
