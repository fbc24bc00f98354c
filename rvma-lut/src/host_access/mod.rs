//! AXI4 to host memory: write bursts, reads and their answers, atomics, regions.

pub mod bursts;
pub mod dma_writer;
pub mod frame_sends;
pub mod frame_sums;
pub mod get_responder;
pub mod host_atomics;
pub mod internal_write_mux;
pub mod read_answers;
pub mod read_buffer;
pub mod read_requests;
pub mod regions;
pub mod ring_reads;
