//! RV32 handler processor, cluster and array.
//!
//! In the order of a task:
//!
//! | module | what it does |
//! |---|---|
//! | [`dispatcher`], [`context_table`] | gives the task and its context to a cluster |
//! | [`loader`], [`load_router`] | packet into L1, facts into the task page, launch to an HPU |
//! | [`hpu`] with [`decode`], [`registers_file`], [`alu`], [`divider`], [`protection`] | runs the handler |
//! | [`instruction_memory`], [`access_router`], [`l1`], [`task_page`], [`l2`] with [`l2_bank`] | its memories |
//! | [`command_port`], [`mover`], [`dma_router`], [`collector`] | its commands, on their way out |
//! | [`reporter`] | how it ended, faults |
//! | [`registers`] with [`context_staging`], [`telemetry`] with [`sum_counter`] and [`hpu_counter`] | the host's side |
//! | [`cluster`], [`array`] | all of it |
#![warn(missing_docs)]

pub mod access_router;
pub mod alu;
pub mod amo_alu;
pub mod array;
pub mod cluster;
pub mod collector;
pub mod command_port;
pub mod context_staging;
pub mod context_table;
pub mod decode;
pub mod dispatcher;
pub mod divider;
pub mod dma_router;
pub mod hpu;
pub mod hpu_counter;
pub mod instruction_memory;
pub mod l1;
pub mod l2;
pub mod l2_bank;
pub mod l2_port;
pub mod load_router;
pub mod loader;
pub mod mover;
pub mod processor;
pub mod protection;
pub mod registers;
pub mod registers_file;
pub mod reporter;
pub mod sum_counter;
pub mod task_page;
pub mod telemetry;
pub mod types;

pub use array::HpuArray;
