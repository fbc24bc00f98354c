//! RV32 handler processor, cluster and array.
//!
//! In the order of a task:
//!
//! | module | function |
//! |---|---|
//! | `array`: `dispatcher`, `context_table` | gives the task and its context to a cluster |
//! | `cluster`: `loader`, `loader_tables`, `slots`, `task_page`, `task_records`; `array::load_router` | packet and page into L1, launch |
//! | [`processor`] | runs the handler |
//! | `cluster`: `instruction_memory`, `l1` with `super_bank` | its memories in the cluster |
//! | `cluster`: `remote_router`, `l1_atomics`, `amo_alu`; `array`: `l2`, `l2_bank` | context memory, atomics |
//! | `cluster`: `command_port`, `command_unit` with `command_check`, `command_rules`; `l1_read_dma` | commands of handlers |
//! | `array`: `l2_copy`, `dma_router`, `rr_mux` | bytes and results of the commands on their way out |
//! | `array`: `off_cluster_queue`, `off_cluster_unit`, `host_writer`, `completions` | commands that are carried out outside the cluster |
//! | `cluster::reporter`, `array::reports` | ends of handlers, faults, messages |
//! | [`registers`]; `array`: `telemetry`, `tally` | the host's side |
//! | `array::rr_arbiter4` | round robin, wherever requesters compete |
//! | [`cluster`], [`array`](mod@array) | the wiring |
//! | [`bundles`], [`types`] | what the blocks exchange |
#![warn(missing_docs)]

pub mod array;
pub mod bundles;
pub mod cluster;
pub mod processor;
pub mod registers;
pub mod types;

pub use array::HpuArray;
