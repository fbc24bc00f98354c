//! The card in its network: its own addresses, the nodes that it knows, reliable transport.

use super::live::Live;
use anyhow::{bail, Result};
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::resident::{Effect, ResidentRule};
use spindle::Node;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

/// Arguments of commands that send and receive Spindle messages.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct NetworkArguments {
    /// Number of this card in its network, with its addresses if they do not follow from the number as
    /// 02:00:00:00:01:N and 10.78.0.N. Needed once after a reset.
    #[arg(long = "as", value_name = "N[=MAC,IP[:PORT]]")]
    own: Option<Numbered>,
    /// A node with which the card exchanges messages, likewise; may be given several times.
    #[arg(long = "peer", value_name = "N[=MAC,IP[:PORT]]")]
    peers: Vec<Numbered>,
}

/// A node and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Its number in the node table.
    pub number: u8,
    /// Its addresses.
    pub node: Node,
}

impl FromStr for Numbered {
    type Err = String;

    fn from_str(text: &str) -> Result<Numbered, String> {
        let wrong =
            || format!("`{text}` is no node; give its number, or all of it: 3=02:00:00:00:01:03,10.78.0.3:4795");
        let (number, addresses) = match text.split_once('=') {
            Some((number, addresses)) => (number, Some(addresses)),
            None => (text, None),
        };
        // Parsers of the library take a sign too.
        let plain = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
        let number = number.parse().ok().filter(|_| plain(number)).ok_or_else(wrong)?;
        let mut node = Node::numbered(number);
        if let Some((mac, ip)) = addresses.map(|addresses| addresses.split_once(',').ok_or_else(wrong)).transpose()? {
            node.mac = parse_mac(mac).ok_or_else(wrong)?;
            let (ip, port) = ip.split_once(':').map_or((ip, None), |(ip, port)| (ip, Some(port)));
            node.ip = ip.parse::<std::net::Ipv4Addr>().map_err(|_| wrong())?.octets();
            if let Some(port) = port {
                node.port = port.parse().ok().filter(|_| plain(port)).ok_or_else(wrong)?;
            }
        }
        Ok(Numbered { number, node })
    }
}

fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|byte| {
            let digits = byte.len() == 2 && byte.bytes().all(|digit| digit.is_ascii_hexdigit());
            digits.then(|| u8::from_str_radix(byte, 16).ok()).flatten()
        })
        .collect::<Option<_>>()?;
    bytes.try_into().ok()
}

/// Rule of what comes for mailboxes.
const MAILBOXES: &str = "spindle";

impl NetworkArguments {
    /// Gives the card its addresses, enters the nodes, and switches on what reliable transport needs. What was set
    /// before stays: sequence numbers that are in use are not begun anew.
    ///
    /// # Errors
    /// The card has no addresses yet and --as is missing, or a card does not answer.
    pub fn apply(&self, live: &mut Live) -> Result<()> {
        let device = &mut live.device;
        match self.own {
            Some(Numbered { number, node }) => {
                device.set_identity(number.into(), node.mac, node.ip)?;
                device.set_node(number.into(), Some(node))?;
            }
            None if device.own_addresses()?.1 == [0; 6] => {
                bail!("the card has no addresses since its reset; give its number in the network, such as --as 1")
            }
            None => {}
        }
        for Numbered { number, node } in &self.peers {
            device.set_node((*number).into(), Some(*node))?;
        }
        device.set_sequence_filter(true)?;
        device.set_responses(Some(Responses { ack_every: 1, ..Responses::default() }))?;
        if !device.sends_reliably()? {
            device.set_reliability(Some(Reliability { incarnation: incarnation(), ..Reliability::default() }))?;
        }
        device.add_resident_rule(ResidentRule { rule: MAILBOXES.into(), effect: Effect::Mailbox })?;
        if !device.receives()? {
            device.set_receive(true)?;
        }
        Ok(())
    }

    /// Adds the addresses of a node that no --peer names.
    pub fn with_node(mut self, number: u8) -> Self {
        if !self.peers.iter().any(|peer| peer.number == number) {
            self.peers.push(Numbered { number, node: Node::numbered(number) });
        }
        self
    }
}

/// Incarnation of the sender, not 0: one that a receiver has not seen since before the card's reset.
fn incarnation() -> u32 {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs());
    (seconds as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_node() {
        assert_eq!("7".parse(), Ok(Numbered { number: 7, node: Node::numbered(7) }));
    }

    #[test]
    fn addresses_are_given_in_full() {
        let node = Node { mac: [2, 0, 0, 0xaa, 0xbb, 0xcc], ip: [192, 168, 1, 2], port: 4795 };
        assert_eq!("3=02:00:00:aa:bb:cc,192.168.1.2".parse(), Ok(Numbered { number: 3, node }));
        let other = Node { port: 5000, ..node };
        assert_eq!("3=02:00:00:aa:bb:cc,192.168.1.2:5000".parse(), Ok(Numbered { number: 3, node: other }));
    }

    #[test]
    fn what_is_no_node_is_refused() {
        for text in [
            "",
            "256",
            "x",
            "1=",
            "1=02:00:00:00:00:01",
            "1=2:0:0:0:0:1,10.0.0.1",
            "1=02:00:00:00:00:01,10.0.0",
            "1=02:00:00:00:00:01,10.0.0.1:x",
            "1=02:00:00:00:00:01:02,10.0.0.1",
        ] {
            let error = text.parse::<Numbered>().unwrap_err();
            assert!(error.contains("is no node; give its number"), "{text}: {error}");
        }
    }
}
