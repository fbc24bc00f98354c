//! Simulated cards for programs that use `librvma`: [`spindle_sim::transport`] as a library of cards.
//!
//! As a shared library, `librvma-sim.so`, the crate exports its cards through [`spindle::plugin`], so that `librvma` itself needs
//! neither the sources of the hardware nor Verilator.
#![warn(missing_docs)]

use spindle::plugin::{Factory, Table};
use spindle::{Card, Error, Result};
use spindle_sim::transport::{self, LocalCard};

/// Configuration of `sim:` alone.
const DEFAULT: &str = "sim:sim";
/// Network of the addresses that name none.
const NETWORK: &str = "rvma";

/// Opens a simulated card, `sim:CONFIG` or `sim:CONFIG/NETWORK`, as node `node` of its network in this program.
///
/// # Errors
/// There is no such configuration, or the model cannot be built.
pub fn open(address: &str, node: u32) -> Result<LocalCard> {
    let address = if address == transport::PREFIX { DEFAULT } else { address };
    transport::open_node(address, NETWORK, node as usize).map_err(|error| Error::Plugin(format!("{error:#}")))
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
