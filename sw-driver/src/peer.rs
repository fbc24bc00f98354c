//! The PSN filter: which sequence numbers of its peers the card has accepted.

use crate::{Bar, Device, Error, HostMemory, Result};
use spindle_contract::registers::packet;

/// Cycles within which an entry has been read; the filter first opens a peer if it has to.
const QUERY_CYCLES: u64 = 100_000;

/// A peer of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its node.
    pub node: u32,
    /// Lowest sequence number that has not been accepted.
    pub expected: u32,
    /// Bit i: number `expected` + i has been accepted.
    pub selective: u64,
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Switches the PSN filter on or off; off after reset, when packets pass whatever their sequence number.
    pub fn set_sequence_filter(&mut self, on: bool) -> Result<()> {
        self.bar.write32(packet::BASE + packet::PSN_CONTROL, on.into())
    }

    /// What the PSN filter knows of an entry of its table, which is named by the low bits of a node; `None`: nobody is there.
    pub fn peer(&mut self, entry: u8) -> Result<Option<Peer>> {
        self.bar.write32(packet::BASE + packet::PEER_QUERY, entry.into())?;
        let start = self.cycle()?;
        while self.bar.read32(packet::BASE + packet::PEER_QUERY)? != 0 {
            if self.cycle()? - start > QUERY_CYCLES {
                return Err(Error::Timeout { what: "an entry of the peer table".into(), cycles: QUERY_CYCLES });
            }
        }
        let mut read = |offset: u32| self.bar.read32(packet::BASE + offset);
        if read(packet::PEER_LIVE)? == 0 {
            return Ok(None);
        }
        let (low, high) = (read(packet::PEER_SELECTIVE)?, read(packet::PEER_SELECTIVE + 4)?);
        Ok(Some(Peer {
            node: read(packet::PEER_NODE)?,
            expected: read(packet::PEER_EXPECTED)?,
            selective: u64::from(high) << 32 | u64::from(low),
        }))
    }
}
