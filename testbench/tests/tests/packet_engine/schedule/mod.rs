//! Message table and payload scheduler.

pub mod byte_redirects_alone;
pub mod evaluator_alone;
pub mod message_index;
pub mod payload_scheduler;
pub mod quota_alone;
pub mod task_timers;
