//! Cards that are opened by an address. Each is opened once by a program; its processes share it.

use crate::clock::Clock;
use crate::node::{argument, lock, Node};
use crate::session::{open_node, Place};
use anyhow::Result;
use spindle::{Node as Address, SharedCard};
use spindle_contract::registers::global;
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::SystemTime;

/// What an address of a simulated card in this process begins with.
const SIMULATED: &str = "sim:";
/// Nodes whose addresses a card knows if its owner names none.
const NODES: usize = 16;
/// Time that a packet and its acknowledgement take if the owner names none.
const ROUND_TRIP: u64 = 64_000;

/// How a card is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Its number in the network.
    pub number: u32,
    /// Addresses of the nodes 0, 1, ...; empty: 16 nodes with the addresses of their numbers ([`Address::numbered`]).
    pub nodes: Vec<Address>,
    /// Nanoseconds of the card's time that a packet and its acknowledgement take while nothing waits; 0: 64,000.
    pub round_trip: u64,
}

/// Cards by address and, of simulated ones, by node.
type Cards = HashMap<(String, u32), (Options, Weak<Node>)>;

/// The cards that are open.
static OPEN: Mutex<Option<Cards>> = Mutex::new(None);

/// Opens the card of an address, or returns it if the program has it open.
///
/// # Errors
/// There is no such card, it cannot be opened, or it is open with other options.
pub fn open(address: &str, options: &Options) -> Result<Arc<Node>> {
    let nodes = match &options.nodes[..] {
        [] => (0..NODES as u8).map(Address::numbered).collect(),
        given if given.len() > NODE_TABLE_ENTRIES => {
            return argument(format!("{} nodes are too many; the node table has {NODE_TABLE_ENTRIES}", given.len()))
        }
        given => given.to_vec(),
    };
    let Ok(number) = u8::try_from(options.number) else {
        return argument(format!("there is no node {}; choose 0 to {}", options.number, NODE_TABLE_ENTRIES - 1));
    };
    let simulated = address.starts_with(SIMULATED);
    let key = (address.to_string(), if simulated { options.number } else { 0 });
    let mut table = lock(&OPEN);
    let open = table.get_or_insert_default();
    open.retain(|_, (_, node)| node.strong_count() > 0);
    if let Some((known, node)) = open.get(&key) {
        if let Some(node) = node.upgrade() {
            if known != options {
                return argument(format!(
                    "{address} is open as node {} with other options; give the same ones to all processes of a card",
                    known.number
                ));
            }
            return Ok(node);
        }
    }
    let card = if simulated { simulate(address, options.number)? } else { spindle::transport::open(address)? };
    let mhz = card.lock().read32(global::BASE + global::CLOCK_MHZ)?;
    let round_trip = if options.round_trip == 0 { ROUND_TRIP } else { options.round_trip };
    let place = Place { number, nodes, round_trip: Clock::new(mhz).cycles(round_trip), incarnation: incarnation() };
    let node = open_node(card, &place)?;
    open.insert(key, (options.clone(), Arc::downgrade(&node)));
    Ok(node)
}

/// A number that an earlier program on the card is unlikely to have had.
fn incarnation() -> u32 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (time.as_micros() as u32) | 1
}

/// A simulated card of this library.
#[cfg(feature = "sim")]
fn simulate(address: &str, node: u32) -> Result<SharedCard> {
    Ok(SharedCard::new(spindle_rvma_sim::open(address, node)?))
}

/// A simulated card of `librvma-sim.so`.
#[cfg(not(feature = "sim"))]
fn simulate(address: &str, node: u32) -> Result<SharedCard> {
    Ok(SharedCard::new(crate::plugin::open(address, node)?))
}
