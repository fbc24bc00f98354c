//! Networks of cycle-accurate NICs on ns-3 and MPI.
//!
//! A [`Network`](engine::Network) has switches and cables, which ns-3 simulates, and nodes, whose endpoints are written in Rust: a
//! Verilated NIC with its host's program or with a socket for one ([`rtl`]), or a stand-in ([`stand_in`]). One process simulates all of
//! it, or several ranks of MPI a part each; the results are the same to the femtosecond.
//!
//! | module | what it does |
//! |---|---|
//! | [`study`] | reads a study from its file |
//! | [`run`] | runs a study, shows its progress, and makes its result |
//! | [`topology`] | switches, cables, shortest paths, and the parts that ranks get |
//! | [`engine`] | compiles and opens the shim on ns-3; the network of this process |
//! | [`endpoint`] | what an endpoint is |
//! | [`rtl`] | a Verilated NIC with the program of its host, or served |
//! | [`served`] | the sockets of served NICs, and what moves their time |
//! | [`programs`] | programs of hosts |
//! | [`noise`] | pauses of hosts |
//! | [`stand_in`] | a node without a NIC |
//! | [`motif`] | patterns of messages, for NICs and models; `tree`, those of handlers, and `handlers`, which install them |
//! | [`schedule`] | which task of a motif a host does next |
//! | [`model`] | a node with the measured times of a NIC |
//! | [`calibration`] | measures these times, and compares models with NICs |
//! | [`cases`], [`plot`] | studies with cases, their tables and plots |
//! | [`abi`] | the C ABI of engine and endpoint |
//!
//! # Time
//!
//! Times are femtoseconds. A node simulates a window of cycles at once, as soon as every frame is known that comes in the window, so what
//! it sends is known a window late: a window is at most as long as the node's cable. A NIC and its switch are on one rank.
//!
//! # The same on any number of ranks
//!
//! ns-3 orders the events of one instant by numbers that depend on the ranks. So switches and nodes collect the frames whose heads arrive
//! at one instant, and take them by source and number. Losses, corruption and choices are hashes of frame and place.
#![warn(missing_docs)]

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

pub mod abi;
pub mod calibration;
pub mod cases;
pub mod endpoint;
pub mod engine;
mod handlers;
pub mod model;
pub mod motif;
pub mod noise;
pub mod plot;
pub mod programs;
pub mod rtl;
pub mod run;
pub mod schedule;
pub mod served;
pub mod stand_in;
pub mod study;
pub mod topology;
pub mod transport;
mod tree;
pub mod workload;

/// Version of the package, and a digest of its source: results of another one are not mixed with those of this one.
pub const VERSION: &str = env!("SPINDLE_NETWORK_VERSION");
