//! Message table and payload scheduler.

pub mod evaluator_alone;
pub mod message_index;
pub mod packet_holds;
pub mod payload_scheduler;
pub mod quota_alone;
pub mod task_timers;
