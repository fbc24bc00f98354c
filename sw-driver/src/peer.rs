//! The PSN filter and the responder: sequence numbers accepted of each peer; acknowledgements and refusals.

use crate::access::whole;
use crate::{Bar, Device, Error, HostMemory, Registers, Result};
use spindle_contract::registers::{node, packet};

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

/// When the card answers the sources of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Responses {
    /// Accepted packets of a source for which an acknowledgement is due, 1 to 63; one is due at once for a packet that requests it,
    /// for a duplicate and for a control packet.
    pub ack_every: u8,
    /// Least time between two refusals to one source, in units of 64 cycles.
    pub nack_gap: u16,
}

impl Default for Responses {
    fn default() -> Self {
        let reset = node::AckControl::RESET;
        Self { ack_every: reset.ack_every() as u8, nack_gap: reset.nack_gap() as u16 }
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Has the card acknowledge and refuse packets; `None`, as after reset: it sends no answers. Sources must be in the
    /// node table.
    ///
    /// # Errors
    /// `ack_every` is not 1 to 63.
    pub fn set_responses(&mut self, responses: Option<Responses>) -> Result<()> {
        let Responses { ack_every, nack_gap } = responses.unwrap_or_default();
        if !(1..64).contains(&ack_every) {
            return Err(Error::Argument(format!("an acknowledgement every {ack_every} packets; choose 1 to 63")));
        }
        let control = node::AckControl::ZERO.with_nack_gap(nack_gap.into()).with_ack_every(ack_every.into());
        self.bar.write(control.with_respond(responses.is_some()))
    }

    /// Acknowledgements sent, refusals sent, and refusals that were withheld.
    pub fn responses(&mut self) -> Result<(u32, u32, u32)> {
        let mut read = |offset: u32| self.bar.read32(node::BASE + offset);
        Ok((read(node::ACKS_SENT)?, read(node::NACKS_SENT)?, read(node::NACKS_WITHHELD)?))
    }

    /// Switches the PSN filter on or off, and with it the check of sources ([`Device::set_source_check`]), without which
    /// the filter would take the number of a packet from anyone who names the right node. Both are off after reset,
    /// when packets pass whatever their sequence number.
    pub fn set_sequence_filter(&mut self, on: bool) -> Result<()> {
        self.bar.write(packet::PsnControl::ZERO.with_filter(on).with_source(on))
    }

    /// Switches the check of sources on or off, and leaves the PSN filter as it is. While it is on, a Spindle packet whose
    /// IPv4 source address is not the one that the node table has for its source node is dropped as `bad_source`, as is
    /// one of a node that the table does not have: enter each node that may send ([`Device::set_node`]).
    pub fn set_source_check(&mut self, on: bool) -> Result<()> {
        let control = self.bar.read::<packet::PsnControl>()?;
        self.bar.write(control.with_source(on))
    }

    /// Entry of the PSN filter's table, named by the low bits of a node; `None`: the entry has no peer.
    pub fn peer(&mut self, entry: u8) -> Result<Option<Peer>> {
        self.bar.write32(packet::BASE + packet::PEER_QUERY, entry.into())?;
        let mut patience = self.patience(QUERY_CYCLES)?;
        while self.bar.read::<packet::PeerQuery>()?.busy() {
            if self.is_over(&mut patience)? {
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
            selective: whole(low, high),
        }))
    }
}
