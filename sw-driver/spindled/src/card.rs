//! The card, its processes, and the addresses of their memory.

use rustix::io::Errno;
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::{Device, Error, Icrc, Node, Result, Rule, SharedCard};
use spindle_contract::registers::{doorbell, PAGE};
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use std::ops::Range;
use std::os::fd::BorrowedFd;

/// The administrator's process.
pub const ADMIN: usize = 0;
/// Bytes of the window of a process, and start of the first.
const WINDOW: u64 = 4 << 30;
/// Polls after which a command is given up.
const POLLS: usize = 10_000;

/// Who a card is on its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    /// Number of the node.
    pub nid: u32,
    /// MAC address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: [u8; 4],
}

/// A node that processes can put to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its addresses.
    pub node: Node,
    /// Packets in both directions have the ICRC.
    pub icrc: bool,
}

/// The card of the daemon.
pub struct Card {
    /// The card.
    pub card: SharedCard,
    /// Its driver.
    pub device: Device<SharedCard, SharedCard>,
    /// Who the card is; `None`: not set yet.
    pub station: Option<Station>,
    /// Nodes that were entered, by their numbers.
    pub nodes: std::collections::BTreeMap<usize, Peer>,
    /// Memory of clients at their own addresses, outside of all windows.
    own: Vec<(usize, Range<u64>)>,
    failure: Option<Error>,
}

/// Addresses at which the memory of a process lies on the card.
pub fn window(process: usize) -> Range<u64> {
    let start = WINDOW * (1 + process as u64);
    start..start + WINDOW
}

impl Card {
    /// Takes the card: all earlier state is cleared, every process is confined to its regions, and what comes for mailboxes is placed.
    pub fn open(card: SharedCard) -> Result<Card> {
        let mut device = Device::open(card.clone(), card.clone())?;
        for process in 0..device.info().processes {
            device.confine(process)?;
            device.forget_regions(process)?;
        }
        device.add_rule(&"spindle".parse::<Rule>()?, Action::Mailbox)?;
        Ok(Card {
            card,
            device,
            station: None,
            nodes: std::collections::BTreeMap::new(),
            own: Vec::new(),
            failure: None,
        })
    }

    /// Sets who the card is, and begins to receive, to answer and to send reliably. A packet and its acknowledgement take about
    /// `round_trip` cycles.
    pub fn set_station(&mut self, station: Station, round_trip: u64) -> Result<()> {
        if station.nid as usize >= NODE_TABLE_ENTRIES {
            return Err(Error::Argument(format!(
                "a station with the number {} cannot be put to: the node table ends at {}; choose a number from there",
                station.nid,
                NODE_TABLE_ENTRIES - 1
            )));
        }
        let units = |cycles: u64| cycles.div_ceil(64).clamp(1, 4095) as u16;
        self.device.set_identity(station.nid, station.mac, station.ip)?;
        self.device.set_sequence_filter(true)?;
        self.device.set_responses(Some(Responses { ack_every: 1, ..Responses::default() }))?;
        self.device.set_reliability(Some(Reliability {
            timeout: units(round_trip.saturating_mul(4)),
            hole_time: units(round_trip),
            retries: 15,
            incarnation: station.nid + 1,
        }))?;
        self.device.set_receive(true)?;
        self.station = Some(station);
        Ok(())
    }

    /// Enters a node that processes can put to.
    pub fn set_node(&mut self, number: usize, peer: Peer) -> Result<()> {
        let uses = if peer.icrc { Icrc::BOTH } else { Icrc::default() };
        self.device.set_checked_node(number, peer.node, uses)?;
        self.nodes.insert(number, peer);
        Ok(())
    }

    /// The card's answer as that of a function. A card that is gone ends the daemon.
    pub fn settle<T>(&mut self, answer: Result<T>) -> std::result::Result<T, Errno> {
        answer.map_err(|error| {
            log::debug!("{error}");
            let errno = match &error {
                Error::Gone { .. } => Errno::NODEV,
                Error::Full { .. } | Error::Argument(_) => Errno::NOSPC,
                Error::Refused { .. } | Error::Memory(_) => Errno::NOMEM,
                _ => Errno::IO,
            };
            if errno == Errno::NODEV {
                self.failure.get_or_insert(error);
            }
            errno
        })
    }

    /// Why the card cannot be used any more.
    pub fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Reads a register.
    pub fn read(&mut self, address: u32) -> std::result::Result<u32, Errno> {
        let value = self.card.lock().read32(address);
        self.settle(value)
    }

    /// Writes a register.
    pub fn write(&mut self, address: u32, value: u32) -> std::result::Result<(), Errno> {
        let written = self.card.lock().write32(address, value);
        self.settle(written)
    }

    /// Issues a command on the doorbell page of a process, and waits until it is over: its result.
    pub fn command(&mut self, process: usize, command: u32) -> std::result::Result<doorbell::Result, Errno> {
        let page = doorbell::BASE + process as u32 * PAGE;
        self.write(page + doorbell::COMMAND, command)?;
        for _ in 0..POLLS {
            let result = doorbell::Result(self.read(page + doorbell::RESULT)?);
            if !result.busy() {
                return Ok(result);
            }
        }
        log::warn!("command {command} of process {process} does not end; the card may need a reset");
        Err(Errno::TIMEDOUT)
    }

    /// Writes staged registers of a process, and issues a command with them.
    pub fn staged(
        &mut self,
        process: usize,
        command: u32,
        staged: &[(u32, u32)],
    ) -> std::result::Result<doorbell::Result, Errno> {
        let page = doorbell::BASE + process as u32 * PAGE;
        for (register, value) in staged {
            self.write(page + register, *value)?;
        }
        self.command(process, command)
    }

    /// Lets the card reach memory of a client. The range is whole pages in the window of the process, or at the client's own addresses
    /// outside of all windows, where no other client is.
    pub fn map(
        &mut self,
        process: usize,
        file: BorrowedFd<'_>,
        offset: u64,
        range: &Range<u64>,
    ) -> std::result::Result<(), Errno> {
        if [range.start, range.end, offset].iter().any(|at| !at.is_multiple_of(PAGE.into())) {
            return Err(Errno::INVAL);
        }
        let inside = |outer: &Range<u64>| outer.start <= range.start && range.end <= outer.end;
        let apart = |other: &Range<u64>| other.end <= range.start || range.end <= other.start;
        let windows = window(0).start..window(self.device.info().processes - 1).end;
        let own = !inside(&window(process));
        if own && !(apart(&windows) && self.own.iter().all(|(_, other)| apart(other))) {
            return Err(Errno::EXIST);
        }
        let mapped = self.card.lock().map_file(file, offset, range);
        self.settle(mapped)?;
        if own {
            self.own.push((process, range.clone()));
        }
        Ok(())
    }

    /// Takes memory of a client back.
    pub fn unmap(&mut self, process: usize, range: &Range<u64>) {
        self.own.retain(|(owner, own)| *owner != process || own != range);
        let unmapped = self.card.lock().unmap_file(range);
        if let Err(error) = unmapped {
            // The addresses are lost to the client; nothing else lies there, since its window is its own.
            log::error!("memory of process {process} at {:#x} stays mapped: {error}", range.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_apart() {
        for process in 0..63 {
            assert_eq!(window(process).end, window(process + 1).start);
        }
        assert!(window(0).start >= 4 << 30);
    }
}
