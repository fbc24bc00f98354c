//! Reads, writes and atomics of host memory.

mod dma_writer_alone;
mod frame_sends;
pub mod frame_sums;
pub mod get_responder;
mod get_responder_alone;
pub mod host_atomics;
mod host_atomics_alone;
pub mod read_requests;
mod read_requests_alone;
mod region_table;
pub mod regions;
