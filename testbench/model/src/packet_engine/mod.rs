//! Models of the blocks of the packet engine.

pub mod fair_share;
pub mod header_matcher;
pub mod packet_buffer;
pub mod parser;
pub mod payload_scheduler;
pub mod psn_filter;
pub mod responder;
pub mod task_timers;
