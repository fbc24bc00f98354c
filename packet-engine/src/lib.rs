//! Parser, header matcher, packet buffer, message table, payload scheduler, egress.

pub mod age_scan;
pub mod arrival;
pub mod cell_list;
pub mod cell_reader;
pub mod checksum;
pub mod dispatch;
pub mod egress;
pub mod evaluator;
pub mod event_chooser;
pub mod fair_share;
pub mod fates;
pub mod header_check;
pub mod header_matcher;
pub mod hpu_choice;
pub mod ingress_join;
pub mod initiator;
pub mod message;
pub mod message_index;
pub mod message_report;
pub mod packet_buffer;
pub mod packet_engine;
pub mod parser;
pub mod payload_scheduler;
pub mod psn_filter;
pub mod quota;
pub mod ready_list;
pub mod registers;
pub mod resolution;
pub mod responder;
pub mod sender;
pub mod task_queues;
pub mod trace_points;
pub mod traffic;

pub use packet_engine::PacketEngine;
