//! The card of the program, opened with its first socket of the network.

use anyhow::{anyhow, Context, Result};
use spindle_rvma::{open, Nic, Options};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Address of the card.
const CARD: &str = "RVMA_CARD";
/// Number of the card in the network.
const NODE: &str = "RVMA_NODE";
/// Process of the card for sockets.
const PROCESS: &str = "RVMA_SOCKETS_PROCESS";
/// The process, if the variable is not set.
pub const DEFAULT_PROCESS: u16 = 7;
/// The network 10.78.0.0/24: the last byte is the node.
const NETWORK: [u8; 3] = [10, 78, 0];

/// The card, and what the program is in the network.
pub struct Card {
    /// Its process.
    pub nic: Nic,
    /// Its node.
    pub node: u8,
    /// The process for sockets, the same one on all nodes.
    pub process: u16,
}

/// Whether sockets of the network are wanted at all.
pub fn wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os(CARD).is_some())
}

/// The node of an address of the network.
pub fn node_of(ip: [u8; 4]) -> Option<u8> {
    (ip[..3] == NETWORK).then_some(ip[3])
}

/// The address of a node.
pub fn address_of(node: u8) -> [u8; 4] {
    [NETWORK[0], NETWORK[1], NETWORK[2], node]
}

/// A number of the environment.
fn number(name: &str, default: u16) -> Result<u16> {
    match std::env::var(name) {
        Ok(text) => text.parse().map_err(|_| anyhow!("{name} is `{text}`; give a number")),
        Err(_) => Ok(default),
    }
}

/// The card; the first call opens it.
///
/// # Errors
/// A variable is wrong, or the card cannot be opened.
pub fn card() -> Result<&'static Card> {
    static OPENED: Mutex<Option<&'static Card>> = Mutex::new(None);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(card) = *opened {
        return Ok(card);
    }
    let address = std::env::var(CARD).with_context(|| format!("{CARD} names no card; set it to a card's address"))?;
    let (node, process) = (number(NODE, 0)?, number(PROCESS, DEFAULT_PROCESS)?);
    let node = u8::try_from(node).with_context(|| format!("{NODE} is {node}; a network has nodes 0 to 255"))?;
    let options = Options { number: node.into(), ..Options::default() };
    let nic = Nic::open(&open(&address, &options)?, process.into())?;
    // Open to the end of the program: a connection may be closed by the last call of the program.
    let card = Box::leak(Box::new(Card { nic, node, process }));
    *opened = Some(card);
    Ok(card)
}
