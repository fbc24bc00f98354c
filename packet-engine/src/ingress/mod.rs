//! From the wire to the packet buffer: headers are checked and matched, sequence numbers filtered, cells written.

pub mod arrival;
pub mod cell_list;
pub mod cell_reader;
pub mod checksum;
pub mod header_check;
pub mod header_matcher;
pub mod icrc_check;
pub mod ingress_join;
pub mod packet_buffer;
pub mod parser;
pub mod psn_filter;
pub mod read_share;
