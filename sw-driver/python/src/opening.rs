//! The opening of a card.

use crate::arguments::{Nodes, Number};
use crate::card::Card;
use crate::failure::Result;
use pyo3::prelude::*;
use spindle_rvma::Nic;

/// Open a card for this program, or another process of a card that this program has open.
///
/// ``address``: ``0000:65:00.0`` (VFIO), ``sysfs:0000:65:00.0``, ``unix:PATH`` (a served card, or a share of spindled),
/// or ``sim:CONFIG`` (simulated in this program, by librvma-sim.so). Contexts and rules of earlier programs end.
///
/// ``process``: process of the card; by default that of the share, or 0. ``node``: number of the card in its network.
/// ``nodes``: addresses of nodes 0, 1, ... (``Node``), or how many have the addresses of their numbers; by default 16.
/// ``round_trip_ns``: nanoseconds of the card's time that a packet and its acknowledgement take; 0 stands for 64,000.
#[pyfunction]
#[pyo3(
    signature = (address, *, process = None, node = Number::from(0), nodes = None, round_trip_ns = Number::from(0)),
    text_signature = "(address, *, process=None, node=0, nodes=None, round_trip_ns=0)"
)]
pub fn open(
    py: Python<'_>,
    address: &str,
    process: Option<Number>,
    node: Number,
    nodes: Option<Nodes>,
    round_trip_ns: Number,
) -> Result<Card> {
    let options = spindle_rvma::Options {
        number: node.fit("the number of the node")?,
        nodes: nodes.map_or(Ok(Vec::new()), |nodes| nodes.list())?,
        round_trip: round_trip_ns.fit("the round trip")?,
    };
    let process = process.map(|process| process.fit::<u32>("the process")).transpose()?;
    let nic = py.detach(|| -> Result<Nic> {
        let node = spindle_rvma::open(address, &options)?;
        let share = node.card().lock().process().unwrap_or(0);
        Ok(Nic::open(&node, process.map_or(share, |process| process as usize))?)
    })?;
    Ok(Card::new(nic, address))
}
