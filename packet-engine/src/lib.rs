//! Parser, header matcher, packet buffer, message table, payload scheduler, egress.
pub mod cell_list;
pub mod cell_reader;
pub mod checksum;
pub mod header_check;
pub mod header_matcher;
pub mod header_window;
pub mod ingress_join;
pub mod packet_buffer;
pub mod parser;
pub mod dispatch;
pub mod evaluator;
pub mod message;
pub mod message_table;
pub mod payload_scheduler;
