//! Who this NIC is, and the nodes that it puts to.

use crate::{Bar, Device, Error, HostMemory, Result};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::registers::node;
use spindle_contract::wire::NODE_TABLE_ENTRIES;

/// Addresses of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// MAC address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: [u8; 4],
    /// UDP port of its Spindle transport.
    pub port: u16,
}

/// How the ICRC, the CRC-32C of Spindle header and payload, is used with a node. The default is not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Icrc {
    /// Spindle packets to the node have an ICRC: puts, gets and their answers, acknowledgements and refusals, and their repetitions.
    pub sends: bool,
    /// Spindle packets of the node that have none are dropped as `icrc_missing`. Without that, who clears the flag in a packet and
    /// cuts the four bytes off switches the check off.
    pub requires: bool,
}

impl Icrc {
    /// Both directions have the ICRC.
    pub const BOTH: Icrc = Icrc { sends: true, requires: true };
}

impl Node {
    /// The addresses that a node has by its number, where the network has no other plan: 02:00:00:00:01:n and 10.78.0.n.
    pub fn numbered(number: u8) -> Node {
        Node { mac: [2, 0, 0, 0, 1, number], ip: [10, 78, 0, number], port: SPINDLE_PORT }
    }
}

/// Low 32 and high 16 bits of a MAC address.
fn halves(mac: [u8; 6]) -> (u32, u32) {
    let [a, b, c, d, e, f] = mac;
    (u32::from_be_bytes([c, d, e, f]), u32::from_be_bytes([0, 0, a, b]))
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Number and addresses of this NIC: the source of the frames that it makes. Its port is no part of them.
    pub fn set_identity(&mut self, nid: u32, mac: [u8; 6], ip: [u8; 4]) -> Result<()> {
        let (low, high) = halves(mac);
        for (register, value) in [
            (node::LOCAL_NID, nid),
            (node::LOCAL_MAC_LO, low),
            (node::LOCAL_MAC_HI, high),
            (node::LOCAL_IP, u32::from_be_bytes(ip)),
        ] {
            self.bar.write32(node::BASE + register, value)?;
        }
        Ok(())
    }

    /// Number, MAC and IPv4 address of this NIC; all 0 after reset.
    pub fn own_addresses(&mut self) -> Result<(u32, [u8; 6], [u8; 4])> {
        let mut read = |offset: u32| self.bar.read32(node::BASE + offset);
        let (nid, low, high, ip) =
            (read(node::LOCAL_NID)?, read(node::LOCAL_MAC_LO)?, read(node::LOCAL_MAC_HI)?, read(node::LOCAL_IP)?);
        let [.., a, b] = high.to_be_bytes();
        let [c, d, e, f] = low.to_be_bytes();
        Ok((nid, [a, b, c, d, e, f], ip.to_be_bytes()))
    }

    /// Enters a node into the node table, or takes it out: handlers name it by this number. Packets to it have no ICRC, and packets
    /// of it need none; a packet with an ICRC is checked all the same.
    ///
    /// # Errors
    /// The number is beyond the table.
    pub fn set_node(&mut self, number: usize, entry: Option<Node>) -> Result<()> {
        self.enter_node(number, entry, Icrc::default())
    }

    /// Enters a node with which the ICRC is used. Both nodes of a pair are set alike, the one that requires the ICRC after the one
    /// that sends it, or packets are dropped meanwhile.
    ///
    /// # Errors
    /// The number is beyond the table.
    pub fn set_checked_node(&mut self, number: usize, entry: Node, icrc: Icrc) -> Result<()> {
        self.enter_node(number, Some(entry), icrc)
    }

    fn enter_node(&mut self, number: usize, entry: Option<Node>, icrc: Icrc) -> Result<()> {
        if number >= NODE_TABLE_ENTRIES {
            return Err(Error::Argument(format!(
                "there is no node {number}; the node table has numbers 0 to {}",
                NODE_TABLE_ENTRIES - 1
            )));
        }
        let port = node::NodePort::ZERO.with_present(entry.is_some());
        let port = port.with_use_icrc(icrc.sends).with_require_icrc(icrc.requires);
        let entry = entry.unwrap_or(Node { mac: [0; 6], ip: [0; 4], port: 0 });
        let (low, high) = halves(entry.mac);
        for (register, value) in [
            (node::NODE_MAC_LO, low),
            (node::NODE_MAC_HI, high),
            (node::NODE_IP, u32::from_be_bytes(entry.ip)),
            (node::NODE_PORT, port.with_port(entry.port.into()).0),
            (node::NODE_COMMIT, number as u32),
        ] {
            self.bar.write32(node::BASE + register, value)?;
        }
        Ok(())
    }

    /// Puts and gets of handlers that were sent, and those that were not: no such node, or their data could not be read.
    pub fn puts(&mut self) -> Result<(u32, u32)> {
        Ok((self.bar.read32(node::BASE + node::PUTS_DONE)?, self.bar.read32(node::BASE + node::PUTS_FAILED)?))
    }

    /// Frames of handlers that left without the transport checksum that their handler wanted: they are no UDP, TCP or ICMP in
    /// IPv4 without options, or their lengths contradict one another.
    pub fn sends_unsummed(&mut self) -> Result<u32> {
        self.bar.read32(node::BASE + node::SENDS_UNSUMMED)
    }
}
