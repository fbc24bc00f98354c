//! RV32 handler processor, cluster and array.
//!
//! In the order of a task:
//!
//! | module | what it does |
//! |---|---|
//! | [`dispatcher`], [`context_table`] | gives the task and its context to a cluster |
//! | [`loader`] with [`loader_tables`], [`slots`], [`task_page`], [`task_records`]; [`load_router`] | packet and task page into L1, launch to an HPU |
//! | [`processor`] | runs the handler |
//! | [`instruction_memory`], [`l1`] with [`super_bank`] | its memories in the cluster |
//! | [`remote_router`], [`l1_atomics`], [`l2`] with [`l2_bank`], [`amo_alu`] | context memory, atomics |
//! | [`command_port`], [`command_unit`] with [`command_check`] and [`command_rules`], [`l2_copy`], [`l1_read_dma`], [`dma_router`], [`rr_mux`] | its commands, on their way out |
//! | [`off_cluster_queue`], [`off_cluster_unit`], [`host_writer`], [`completions`] | those that are done outside the cluster |
//! | [`reporter`], [`reports`] | how it ended, faults, what it says |
//! | [`registers`] with [`context_staging`], [`telemetry`] with [`tally`] | the host's side |
//! | [`rr_arbiter4`] | who is next, wherever several ask |
//! | [`cluster`], [`array`] | all of it |
#![warn(missing_docs)]

pub mod array;
pub mod bundles;
pub mod cluster;
pub mod processor;
pub mod registers;
pub mod types;

pub use array::HpuArray;
