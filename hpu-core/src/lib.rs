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
//! | [`command_port`], [`command_unit`] with [`command_check`] and [`command_rules`], [`stager`], [`mover`], [`dma_router`], [`collector`] | its commands, on their way out |
//! | [`far_queue`], [`far_unit`], [`host_writer`], [`completions`] | those that are done outside the cluster |
//! | [`reporter`], [`reports`] | how it ended, faults, what it says |
//! | [`registers`] with [`context_staging`], [`telemetry`] with [`tally`] | the host's side |
//! | [`fast_robin`] | who is next, wherever several ask |
//! | [`cluster`], [`array`] | all of it |
#![warn(missing_docs)]

pub mod amo_alu;
pub mod array;
pub mod cluster;
pub mod collector;
pub mod command_check;
pub mod command_port;
pub mod command_rules;
pub mod command_unit;
pub mod completions;
pub mod context_staging;
pub mod context_table;
pub mod dispatcher;
pub mod dma_router;
pub mod far_queue;
pub mod far_unit;
pub mod fast_robin;
pub mod host_writer;
pub mod instruction_memory;
pub mod l1;
pub mod l1_atomics;
pub mod l2;
pub mod l2_bank;
pub mod load_router;
pub mod loader;
pub mod loader_tables;
pub mod mover;
pub mod processor;
pub mod registers;
pub mod remote_router;
pub mod reporter;
pub mod reports;
pub mod slots;
pub mod stager;
pub mod super_bank;
pub mod tally;
pub mod task_page;
pub mod task_records;
pub mod telemetry;
pub mod types;

pub use array::HpuArray;
