//! The packet engine and its blocks, on the emitted Verilog. Folders are those of `packet-engine/src`.

pub mod context_drops;
pub mod dispatch;
pub mod fair_share;
pub mod hpu_choice;
pub mod hpus;
pub mod ingress;
pub mod intake;
#[allow(clippy::module_inception)] // the block has the name of its crate
pub mod packet_engine;
pub mod schedule;
pub mod shapes;
pub mod task_queues;
pub mod transmit;
