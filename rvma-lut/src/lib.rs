//! RVMA engine: mailbox table, buffer queue, placement, DMA, completion counters and completion unit.
//!
//! In packet order:
//!
//! | module | what it does |
//! |---|---|
//! | [`lookup`], [`mailbox_table`], [`stash`] | the packet's mailbox by {process, address}, key check |
//! | [`binding`], [`buffer_queue`], [`queue_steps`], [`queue_types`] | the message's buffer, bounds check, reservation; posted buffers |
//! | [`placement`] | host address, request to the packet buffer |
//! | [`dma_writer`] | AXI4 write bursts for packets, handler DMA and records |
//! | [`read_requests`], [`read_answers`], [`read_buffer`] | AXI4 reads for handlers, frames, atomics and command rings |
//! | [`host_atomics`] | compare and swap, fetch and add on host memory |
//! | [`event_rings`] | what processes are told of, in rings in host memory |
//! | [`internal_write_mux`], [`bursts`] | records, events and atomics on their way to the writer; how runs become bursts |
//! | [`report`] | ends of placements and DMA commands |
//! | [`counters`], [`completion`] | when a buffer is complete; its record |
//! | [`epochs`], [`buffer_reclaim`] | the order of buffers, the history of those complete; buffers that are taken back |
//! | [`get_responder`] | answers to GETs |
//! | [`put_arbiter`] | puts of handlers and of processes, and answers to GETs |
//! | [`doorbell`], [`command_unit`], [`command_arguments`], [`command_words`], [`registers`] | the host's side |
//! | [`regions`] | the host memory that each process may name |
//! | [`command_rings`], [`ring_posts`] | commands that processes leave in host memory |
//! | [`rvma_engine`] | all of it |
//!
//! Served: PUT, GET and GET_RESP, steered and managed, BOUND and TAGGED mode, thresholds in bytes and operations. Everything else is refused with a reason.
#![warn(missing_docs)]

pub mod bundles;
pub mod commands;
pub mod completion;
pub mod host_access;
pub mod lookup;
pub mod placement;
mod prelude;
pub mod registers;
pub mod rvma_engine;
pub mod types;

pub use rvma_engine::RvmaEngine;
