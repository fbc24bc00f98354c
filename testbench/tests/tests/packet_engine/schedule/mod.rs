//! Message table and payload scheduler.

pub mod message_index;
pub mod payload_scheduler;
