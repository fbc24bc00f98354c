//! The cluster as a whole.

pub mod bench;
pub mod combine;
pub mod commands;
pub mod contention;
pub mod handlers;
pub mod off_cluster;
pub mod off_cluster_commands;
pub mod tailroom;
pub mod tasks;
