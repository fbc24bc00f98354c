//! Use cases of the papers on the emitted NIC.
//!
//! Each case has a folder: handlers in C, the hosts' programs (`case.rs`), an independent model of what must be in the hosts' memories
//! (`model.rs`), `figure.toml` and a README with source, baseline and what is unfair. `docs/use-cases.md` has the gallery and says how a
//! case is added.

pub mod bench;
pub mod case;
pub mod channel;
pub mod cost;
pub mod figure;
pub mod plot;
pub mod source;
pub mod tap;
pub mod trace;

pub use spindle_host_rates as rates;

#[path = "../accumulate/case.rs"]
pub mod accumulate;
#[path = "../allreduce/case.rs"]
pub mod allreduce;
#[path = "../broadcast/case.rs"]
pub mod broadcast;
#[path = "../conditional-read/case.rs"]
pub mod conditional_read;
#[path = "../consensus/case.rs"]
pub mod consensus;
#[path = "../datatypes/case.rs"]
pub mod datatypes;
#[path = "../ddt-apps/case.rs"]
pub mod ddt_apps;
#[path = "../erasure/case.rs"]
pub mod erasure;
#[path = "../ft-broadcast/case.rs"]
pub mod ft_broadcast;
#[path = "../graph/case.rs"]
pub mod graph;
#[path = "../halo3d/case.rs"]
pub mod halo3d;
#[path = "../invocation/case.rs"]
pub mod invocation;
#[path = "../kv/case.rs"]
pub mod kv;
#[path = "../matching/case.rs"]
pub mod matching;
#[path = "../mpi-rma/case.rs"]
pub mod mpi_rma;
#[path = "../nevermore/case.rs"]
pub mod nevermore;
#[path = "../ping-pong/case.rs"]
pub mod ping_pong;
#[path = "../pspin/case.rs"]
pub mod pspin;
#[path = "../raid/case.rs"]
pub mod raid;
#[path = "../rewind/case.rs"]
pub mod rewind;
#[path = "../rvma-latency/case.rs"]
pub mod rvma_latency;
#[path = "../sdr/case.rs"]
pub mod sdr;
#[path = "../slmp/case.rs"]
pub mod slmp;
#[path = "../sparse-allreduce/case.rs"]
pub mod sparse_allreduce;
#[path = "../storage/case.rs"]
pub mod storage;
#[path = "../sweep3d/case.rs"]
pub mod sweep3d;
#[path = "../tenants/case.rs"]
pub mod tenants;
#[path = "../transactions/case.rs"]
pub mod transactions;
