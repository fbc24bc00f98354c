//! RVMA engine: mailbox table, buffer queue, placement, DMA, completion counters and completion unit.
//!
//! In packet order:
//!
//! | module | what it does |
//! |---|---|
//! | [`lookup`] | the packet's mailbox by {process, address}, key check: mailbox table with its stash, catch-all mailboxes |
//! | [`placement`] | the message's buffer, bounds check, reservation; posted buffers; host address, request to the packet buffer |
//! | [`host_access`] | AXI4 writes and reads, atomics, answers to GETs, regions of host memory |
//! | [`completion`] | ends of writes, counters, completion records, epochs, events, receive maps; buffers that are taken back |
//! | [`commands`] | doorbells, command rings, puts of handlers and processes |
//! | [`registers`] | the register page |
//! | [`rvma_engine`] | joins the blocks |
//! | [`types`], [`bundles`] | transactions between blocks, and their handshakes |
//!
//! Served: PUT, GET and GET_RESP, steered and managed, BOUND and TAGGED mode, thresholds in bytes and operations. Other
//! packets are refused with a reason.
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
pub mod storage;
pub mod types;

pub use rvma_engine::RvmaEngine;
