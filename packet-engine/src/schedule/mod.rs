//! From a stored packet to a decision: its message, its quotas, the order of its handlers.

pub mod admission;
pub mod age_scan;
pub mod byte_redirects;
pub mod dispositions;
pub mod evaluator;
pub mod event_arbiter;
pub mod message;
pub mod message_index;
pub mod message_report;
pub mod packet_holds;
pub mod payload_scheduler;
pub mod quota;
pub mod ready_list;
pub mod task_timers;
