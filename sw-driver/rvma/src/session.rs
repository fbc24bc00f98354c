//! Cards of a network, each opened by the driver: what the handles of `rvma.h` stand for.

use crate::node::{argument, Node, Peers};
use crate::process::Nic;
use crate::program::ProgramMemory;
use anyhow::Result;
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::{Device, Error, Node as Address, Rule, SharedCard};
use std::sync::Arc;

/// A card of a network, and its addresses on the wire.
pub struct Member {
    /// The card.
    pub card: SharedCard,
    /// Its addresses.
    pub address: Address,
}

/// Cards on a wire, all of them opened by this program.
pub struct Session {
    nodes: Vec<Arc<Node>>,
}

/// What a node is in its network, and how it sends.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its number.
    pub number: u8,
    /// Addresses of the nodes 0, 1, ...; its own is one of them.
    pub nodes: Vec<Address>,
    /// Cycles that a packet and its acknowledgement take at most while nothing waits.
    pub round_trip: u64,
    /// Distinguishes this opening of the node from earlier ones; not 0.
    pub incarnation: u32,
}

/// Times that suit the wire: a segment is missing when it is late by more than a round trip.
fn reliability(place: &Place) -> Reliability {
    /// In units of 64 cycles; the eightfold must fit 15 bits.
    const MOST: u64 = 4095;
    let units = |cycles: u64| cycles.div_ceil(64).min(MOST) as u16;
    Reliability {
        timeout: units(place.round_trip.saturating_mul(4)),
        hole_time: units(place.round_trip),
        retries: 15,
        incarnation: place.incarnation,
    }
}

/// Opens a card as a node of a network: it knows the others, and places what comes for its mailboxes.
///
/// # Errors
/// The card cannot be opened, or its node is not in the list.
pub fn open_node(card: SharedCard, place: &Place) -> Result<Arc<Node>> {
    let Some(own) = place.nodes.get(usize::from(place.number)) else {
        let sentence = format!(
            "the card is to be node {}, and {} nodes are given; give the addresses of nodes 0 to {0} at least",
            place.number,
            place.nodes.len()
        );
        return argument(sentence);
    };
    if card.lock().process().is_some() {
        // The owner of the card has set all of that.
        let device = Device::share(card.clone(), ProgramMemory::new(card.clone()))?;
        return Ok(Node::new(card, device, Peers::first(place.nodes.len())));
    }
    let mut device = Device::open(card.clone(), ProgramMemory::new(card.clone()))?;
    device.set_identity(place.number.into(), own.mac, own.ip)?;
    for (other, address) in place.nodes.iter().enumerate() {
        device.set_node(other, Some(*address))?;
    }
    device.add_rule(&"spindle".parse::<Rule>().map_err(Error::from)?, Action::Mailbox)?;
    device.set_sequence_filter(true)?;
    device.set_responses(Some(Responses { ack_every: 1, ..Responses::default() }))?;
    device.set_reliability(Some(reliability(place)))?;
    device.set_receive(true)?;
    Ok(Node::new(card, device, Peers::first(place.nodes.len())))
}

impl Session {
    /// Opens the cards of a network; their node numbers are their places in the list. Each knows all others, and places
    /// what comes for its mailboxes. A packet and its acknowledgement take `round_trip` cycles at most while nothing waits.
    ///
    /// # Errors
    /// A card cannot be opened.
    pub fn new(members: Vec<Member>, round_trip: u64) -> Result<Session> {
        let nodes: Vec<Address> = members.iter().map(|member| member.address).collect();
        let open = |(number, member): (usize, Member)| {
            let incarnation = number as u32 + 1;
            open_node(member.card, &Place { number: number as u8, nodes: nodes.clone(), round_trip, incarnation })
        };
        Ok(Session { nodes: members.into_iter().enumerate().map(open).collect::<Result<_>>()? })
    }

    /// A process of a node.
    ///
    /// # Errors
    /// There is no such node or process.
    pub fn open(&self, node: usize, process: usize) -> Result<Nic> {
        match self.nodes.get(node) {
            Some(node) => Nic::open(node, process),
            None => argument(format!("there is no node {node}; the network has {}, numbered from 0", self.nodes.len())),
        }
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// A card is gone.
    pub fn run(&self, cycles: u64) -> Result<()> {
        match self.nodes.first() {
            Some(node) => Ok(node.card().lock().pause(cycles)?),
            None => Ok(()),
        }
    }
}
