//! The simulated device: a Verilated NIC with its wire, its BAR and its host memory.
//!
//! [`SimDevice`] takes the text of an emitted NIC ([`source`]) and moves it on cycle by cycle: frames go in and come
//! out with their cycles, registers are read and written through the AXI4-Lite port, host memory answers the AXI4
//! master with random latency, and the trace ports report which frame passed which stage when. [`capture`] reads and
//! writes pcap files. [`Network`] joins several NICs by a wire that may lose, double and reorder frames.
//! [`transport`] opens a card of this process by its address, and [`serve`] serves one to other processes as a PCI
//! function.

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

mod backend;
pub mod capture;
mod device;
pub mod fates;
pub mod fields;
pub mod host_memory;
mod host_reads;
pub mod instructions;
mod model;
mod network;
pub mod retirement;
pub mod serve;
pub mod trace;
pub mod transport;
pub mod waves;

pub use backend::SimHandle;
pub use device::{Arrival, InterruptSink, Options, PauseSink, SentFrame, SimDevice, WireFrame};
pub use fates::{End, FateEvent, Step};
pub use host_reads::ReadBurst;
pub use model::{model, source};
pub use network::{address, Network, NetworkNode, Queue, Routing, WireCounts, WireOptions};
pub use retirement::{MemoryAccess, Retired};
pub use trace::{Event, Lane, TraceLog};
pub use waves::WaveRequest;
