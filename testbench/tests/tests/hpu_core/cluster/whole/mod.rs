//! The cluster as a whole.

pub mod bench;
pub mod combine;
pub mod commands;
pub mod contention;
pub mod handlers;
pub mod illegal_commands;
pub mod off_cluster;
pub mod off_cluster_commands;
pub mod program_writer;
pub mod random_programs;
pub mod tailroom;
pub mod tasks;
