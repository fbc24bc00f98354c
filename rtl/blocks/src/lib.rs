//! Building blocks of the engines: streams, FIFOs, RAMs, arbiters, the byte aligner and the register slave.
//!
//! | module | contents |
//! |---|---|
//! | [`desc`] | hardware structs of every descriptor of `spindle-contract` |
//! | [`stream`] | the stream law and its monitor |
//! | [`skid`] | registers on a valid/ready port: [`Skid`] (both directions), [`Slice`] (forward) |
//! | [`fifo`], [`pass_fifo`], [`async_fifo`] | FIFOs with one clock, one that words pass while it is empty, and with two clocks |
//! | [`crossing`] | a level, a count, and the clearing of both sides, between two clocks |
//! | [`ram`] | memories with stated latency and collision behaviour |
//! | [`arbiter`] | round robin, and N streams into one |
//! | [`aligner`] | moves a stream from one byte alignment to another |
//! | [`checksum`] | sums of Internet checksums, a beat per cycle |
//! | [`crc`] | the matrices of cyclic redundancy checks; CRC-32C, a beat per cycle |
//! | [`csr`] | AXI4-Lite slave in front of the register pages |
//! | [`pages`] | register pages |
//! | [`headers`] | extractors of header fields |
//! | [`counter`], [`count_memory`] | counters in LUT RAM: a bank of which two may move in a cycle, and one that is visited in turn |
//! | [`sum_bank`] | sums in a memory, to one of which a number is added in a cycle |
//!
//! Every block takes `clock` and a synchronous, active-high `reset` unless its page says otherwise.
#![warn(missing_docs)]

pub mod aligner;
pub mod arbiter;
pub mod async_fifo;
pub mod bundles;
pub mod checksum;
pub mod count_memory;
pub mod counter;
pub mod crc;
pub mod crossing;
pub mod csr;
pub mod desc;
pub mod fifo;
pub mod headers;
pub mod pages;
pub mod pass_fifo;
pub mod ram;
pub mod skid;
pub mod stream;
pub mod sum_bank;

pub use aligner::{AlignJob, AlignedBeat, ByteAligner, Funnel};
pub use arbiter::{RoundRobin, StreamArbiter};
pub use async_fifo::AsyncFifo;
pub use bundles::*;
pub use count_memory::CountMemory;
pub use counter::CounterBank;
pub use crc::{BeatCrc, CrcEnd};
pub use crossing::{ClearPair, GrayCount, Level};
pub use csr::CsrBlock;
pub use desc::*;
pub use fifo::{BlockFifo, Fifo, LutFifo};
pub use pages::*;
pub use pass_fifo::PassFifo;
pub use ram::{ByteRam, CrossMemory, LutMemory, LutRam, Ram1w2r, RamStyle, SdpMemory, SdpRam, TdpRam};
pub use skid::{Skid, Slice};
pub use stream::{Beat, StreamMonitor};
pub use sum_bank::SumBank;

/// `count` default ports or parts: what an array of them starts as.
pub fn replicate<T: Default>(count: usize) -> Vec<T> {
    std::iter::repeat_with(T::default).take(count).collect()
}
