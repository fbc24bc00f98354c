//! Simulated cards for programs that use `librvma`.
//!
//! [`Simulation`] is a network of emitted NICs, each simulated cycle by cycle in one thread of its own, so that its
//! cards may be used from every thread. [`open`] opens a card by an address `sim:CONFIG`: all cards of a program with one
//! configuration are nodes of one network, joined by a faithful wire. As a shared library, `librvma-sim.so`, the crate
//! exports these through [`spindle::plugin`], so that `librvma` itself needs neither the sources of the hardware nor Verilator.
#![warn(missing_docs)]

mod card;
mod memory;
mod simulation;

pub use card::SimulatedCard;
pub use simulation::Simulation;

use spindle::plugin::{Factory, Table};
use spindle::{Card, Error, Result};
use spindle_contract::params::Config;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError, Weak};

/// What an address begins with.
const SCHEME: &str = "sim:";

/// Networks of the addresses, by configuration, as long as a card of theirs is open.
static NETWORKS: Mutex<Option<HashMap<&'static str, Weak<Simulation>>>> = Mutex::new(None);

/// Opens a simulated card, `sim:CONFIG` (`sim:` is `sim:sim`), as node `node` of the program's network of this configuration.
///
/// # Errors
/// There is no such configuration, the node is open already, or the model cannot be built.
pub fn open(address: &str, node: u32) -> Result<SimulatedCard> {
    let name = address.strip_prefix(SCHEME).unwrap_or(address);
    let config = Config::by_name(if name.is_empty() { Config::SIM.name } else { name }).ok_or_else(|| {
        let names: Vec<String> = Config::ALL.iter().map(|config| format!("{SCHEME}{}", config.name)).collect();
        Error::Argument(format!("there is no simulated card {address}; choose {}", names.join(" or ")))
    })?;
    let mut networks = NETWORKS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = networks.get_or_insert_default().entry(config.name).or_default();
    let network = match known.upgrade() {
        Some(network) => network,
        None => Simulation::new(config, Default::default(), 0)?,
    };
    *known = std::sync::Arc::downgrade(&network);
    drop(networks);
    network.add(node)
}

struct SimulatedCards;

impl Factory for SimulatedCards {
    fn open(address: &str, node: u32) -> Result<Box<dyn Card>> {
        Ok(Box::new(open(address, node)?))
    }
}

static TABLE: Table = Table::of::<SimulatedCards>();

/// The functions of this library: [`spindle::plugin::ENTRY`].
#[no_mangle]
pub extern "C" fn spindle_plugin() -> *const Table {
    &TABLE
}
