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
//! | [`own_writes`], [`bursts`] | records, events and atomics on their way to the writer; how runs become bursts |
//! | [`report`] | ends of placements and DMA commands |
//! | [`counters`], [`completion`] | when a buffer is complete; its record |
//! | [`epochs`], [`cutter`] | the order of buffers, the history of those complete; buffers that are taken back |
//! | [`get_responder`] | answers to GETs |
//! | [`put_join`] | puts of handlers and of processes, and answers to GETs |
//! | [`doorbell`], [`command_unit`], [`command_arguments`], [`command_words`], [`registers`] | the host's side |
//! | [`regions`] | the host memory that each process may name |
//! | [`command_rings`], [`ring_posts`] | commands that processes leave in host memory |
//! | [`rvma_engine`] | all of it |
//!
//! Served: PUT, GET and GET_RESP, steered and managed, BOUND and TAGGED mode, thresholds in bytes and operations. Everything else is refused with a reason.
#![warn(missing_docs)]

pub mod binding;
pub mod buffer_queue;
pub mod bursts;
pub mod catch_all;
pub mod command_arguments;
pub mod command_rings;
pub mod command_unit;
pub mod command_words;
pub mod completion;
pub mod counters;
pub mod cutter;
pub mod dma_writer;
pub mod doorbell;
pub mod epochs;
pub mod event_rings;
pub mod get_responder;
pub mod host_atomics;
pub mod lookup;
pub mod mailbox_table;
pub mod own_writes;
pub mod placement;
pub mod put_join;
pub mod queue_steps;
pub mod queue_types;
pub mod read_answers;
pub mod read_buffer;
pub mod read_requests;
pub mod receive_maps;
pub mod regions;
pub mod registers;
pub mod report;
pub mod ring_posts;
pub mod rvma_engine;
pub mod stash;
pub mod types;
pub mod windows;

pub use rvma_engine::RvmaEngine;
