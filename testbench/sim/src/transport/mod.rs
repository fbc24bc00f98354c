//! Simulated cards by address: `sim:CONFIG`, and `sim:CONFIG/NETWORK` for cards that a wire joins.
//!
//! A card runs in this process. Its time moves by calls: a register access takes the cycles that it takes, and
//! [`pause`](spindle::Card::pause) lets cycles pass. All cards that this process opens with the same name of a network are on one
//! wire, which carries a frame to the card that has its address ([`crate::address`]: the first that was opened has number 0).
//! Without a name of a network, the wire ends nowhere.

mod local;
mod memory;

use crate::network::WeakNetwork;
use crate::{Network, NetworkNode, Options, SimDevice, WireOptions};
use anyhow::{anyhow, Context, Result};
use spindle::SharedCard;
use spindle_contract::params::Config;
use spindle_harness::Progress;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub use local::LocalCard;
pub use memory::ProcessMemory;

/// How the addresses of simulated cards begin.
pub const PREFIX: &str = "sim:";

/// Opens the card of an address such as `sim:sim` or `sim:sim/lab`. The first one of a configuration builds its model, which
/// takes minutes and is shown on standard error.
///
/// # Errors
/// The address is no such address, the configuration does not exist, or its model can neither be found nor built.
pub fn open(address: &str) -> Result<SharedCard> {
    Ok(SharedCard::new(open_card(address)?))
}

/// As [`open`], for a program that also uses the wire.
///
/// # Errors
/// As for [`open`].
pub fn open_card(address: &str) -> Result<LocalCard> {
    let (config, network) = parse(address)?;
    let device = device(&config, Options::default())?;
    Ok(LocalCard::new(address, join(network, device, None)))
}

/// As [`open_card`], as the node of this number of its network, which has the name `network` if the address names none.
///
/// # Errors
/// As for [`open`].
pub fn open_node(address: &str, network: &str, number: usize) -> Result<LocalCard> {
    let (config, named) = parse(address)?;
    let device = device(&config, Options { seed: number as u64, ..Options::default() })?;
    Ok(LocalCard::new(address, join(named.or(Some(network)), device, Some(number))))
}

/// A card of a configuration after reset.
///
/// # Errors
/// The model can neither be found nor built.
pub fn device(config: &Config, options: Options) -> Result<SimDevice> {
    let source = crate::source(config)?;
    crate::model(&source.clone().with_trace(options.trace), &Progress::stderr("spindle"))?;
    let mut device = SimDevice::new(&source, config, options)?;
    // The log would grow for ever.
    device.set_tracing(false);
    device.memory().posted = true;
    Ok(device)
}

fn parse(address: &str) -> Result<(Config, Option<&str>)> {
    let name = address.strip_prefix(PREFIX).with_context(|| {
        format!("`{address}` is no address of a simulated card; give {PREFIX}CONFIG or {PREFIX}CONFIG/NETWORK")
    })?;
    let (config, network) = match name.split_once('/') {
        Some((config, network)) => (config, Some(network)),
        None => (name, None),
    };
    let found = Config::by_name(config).ok_or_else(|| {
        let names: Vec<_> = Config::ALL.iter().map(|config| config.name).collect();
        anyhow!("there is no configuration `{config}`; there are {}", names.join(", "))
    })?;
    Ok((found, network))
}

/// Puts a card on the wire of this name, the networks of this process' addresses.
fn join(name: Option<&str>, device: SimDevice, number: Option<usize>) -> NetworkNode {
    static NETWORKS: Mutex<BTreeMap<String, WeakNetwork>> = Mutex::new(BTreeMap::new());
    let empty = || Network::new(vec![], WireOptions::default());
    let add = |network: &Network, device| match number {
        Some(number) => network.join_as(device, number),
        None => network.join(device),
    };
    let Some(name) = name else { return add(&empty(), device) };
    let mut networks = NETWORKS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(network) = networks.get(name).and_then(WeakNetwork::upgrade) {
        return add(&network, device);
    }
    let network = empty();
    networks.insert(name.into(), network.downgrade());
    add(&network, device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_configuration_and_a_network() {
        let of = |address| parse(address).map(|(config, network)| (config.name, network));
        assert_eq!(of("sim:sim").unwrap(), ("sim", None));
        assert_eq!(of("sim:sim/lab").unwrap(), ("sim", Some("lab")));
        let message = of("sim:none").unwrap_err().to_string();
        assert!(message.contains("`none`") && message.contains("sim"), "{message}");
        assert!(of("unix:x").unwrap_err().to_string().contains("sim:CONFIG"));
    }
}
