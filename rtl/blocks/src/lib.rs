//! Building blocks of the engines: streams, FIFOs, RAMs, arbiters, the byte aligner and the register slave.
//!
//! | module | what it gives |
//! |---|---|
//! | [`desc`] | hardware structs of every descriptor of `spindle-contract` |
//! | [`stream`] | the stream law and its monitor |
//! | [`skid`] | registers on a valid/ready port: [`Skid`] (both directions), [`Slice`] (forward) |
//! | [`fifo`], [`async_fifo`] | FIFOs with one and with two clocks |
//! | [`ram`] | memories with stated latency and collision behaviour |
//!
//! Every block takes `clock` and a synchronous, active-high `reset` unless its page says otherwise.
#![warn(missing_docs)]

pub mod async_fifo;
pub mod desc;
pub mod fifo;
pub mod ram;
pub mod skid;
pub mod stream;

pub use async_fifo::AsyncFifo;
pub use desc::*;
pub use fifo::Fifo;
pub use ram::{AsymRam, ByteRam, LutRam, Ram1w2r, RamStyle, SdpRam, TdpRam};
pub use skid::{Skid, Slice};
pub use stream::{Beat, StreamMonitor};
