//! Reads, writes and atomics of host memory.

pub mod frame_sums;
pub mod get_responder;
pub mod host_atomics;
pub mod read_requests;
mod region_table;
pub mod regions;
