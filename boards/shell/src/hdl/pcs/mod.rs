//! The 64b/66b PCS of clause 49 (10GBASE-R), for a transceiver that keeps header and payload of a block apart.
//!
//! | block | part |
//! |---|---|
//! | [`PcsTx`] | encoder, transmit state diagram, scrambler, sequence of the transceiver's gearbox |
//! | [`PcsRx`] | block lock, descrambler, decoder, receive state diagram, error rate |
//! | [`BlockLock`] | finds the headers: 64 valid ones lock, 16 invalid ones among 64 slip |
//! | [`BitErrors`] | invalid headers in a window: high error rate |
//!
//! The same logic at 390.625 MHz is the PCS of 25GBASE-R without FEC (clause 107); only the window of the error rate differs
//! ([`Rate`]). EEE (low power idle) is not built: its characters are errors.
//!
//! Bit 0 of a payload and of a header is the first one on the wire, as in clause 49. Transceivers of AMD send bit 63 and
//! header bit 1 first: with `reversed` the blocks turn the bits round at their ports, which costs nothing.

mod errors;
mod lock;
mod rx;
mod rx_block;
mod tx;
mod tx_word;
mod types;

pub use errors::BitErrors;
pub use lock::BlockLock;
pub use rx::{PcsRx, PcsStatus};
pub use tx::PcsTx;

/// What the line's rate decides: the window of the error rate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Rate {
    /// 10GBASE-R: 16 invalid headers in 125 µs, 19,531 blocks.
    Ten,
    /// 25GBASE-R: 97 invalid headers in 2 ms, 781,250 blocks.
    TwentyFive,
}

impl Rate {
    /// The rate of so many Gbit/s; none if there is no such PCS.
    pub const fn of_gigabits(gigabits: u32) -> Option<Self> {
        match gigabits {
            10 => Some(Rate::Ten),
            25 => Some(Rate::TwentyFive),
            _ => None,
        }
    }

    /// The clock of a block in every cycle: 1/66 of the line's rate, MHz.
    pub const fn mhz(self) -> f64 {
        match self {
            Rate::Ten => 156.25,
            Rate::TwentyFive => 390.625,
        }
    }

    /// Blocks of a window.
    pub const fn window(self) -> u64 {
        match self {
            Rate::Ten => 19_531,
            Rate::TwentyFive => 781_250,
        }
    }

    /// Invalid headers of a window that make the rate high.
    pub const fn limit(self) -> u64 {
        match self {
            Rate::Ten => 16,
            Rate::TwentyFive => 97,
        }
    }
}

/// The gearbox of the transceiver.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Gearbox {
    /// A block in every cycle of a clock at 1/66 of the line's rate (GTY: `64B66B_ASYNC`); `gearbox_place` stays 0.
    Asynchronous,
    /// 32 blocks in 33 cycles of a clock at 1/64 of the line's rate (GTY: `64B66B`): `gearbox_place` counts from 0 to 32, and
    /// in its cycle 32 the transceiver takes nothing.
    Sequenced,
}
