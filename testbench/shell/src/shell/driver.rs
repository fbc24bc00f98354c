//! The real driver over the card of a simulated shell.

use super::card::{Shell, ShellCard};
use anyhow::Result;
use spindle::rule_table::Action;
use spindle::{ContextOptions, Device};
use spindle_sdk::Sources;
use spindle_sim::address;
use std::path::Path;

/// Bound of a wait, in cycles of the card.
pub const LIMIT: u64 = 400_000;

/// The driver; registers and memory are those of the shell's host.
pub type Driver<B> = Device<ShellCard<B>, ShellCard<B>>;

/// A driver that opens the card, with the addresses of simulated nodes.
///
/// # Errors
/// Those of the driver.
pub fn open<B: Shell>(card: &ShellCard<B>) -> Result<Driver<B>> {
    let mut driver = Device::open(card.clone(), card.clone())?;
    set_up(&mut driver)?;
    Ok(driver)
}

/// Gives a card after its reset the addresses of simulated nodes.
///
/// # Errors
/// Those of the driver.
pub fn set_up<B: Shell>(driver: &mut Driver<B>) -> Result<()> {
    let own = address(0);
    driver.set_identity(0, own.mac, own.ip)?;
    for node in 0..2 {
        driver.set_node(node, Some(address(node)))?;
    }
    Ok(())
}

/// Installs an example handler for the frames of a rule.
///
/// # Errors
/// No such handler, no compiler, or those of the driver.
pub fn install<B: Shell>(driver: &mut Driver<B>, name: &str, rule: &str) -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../handlers/examples/{name}.c"));
    let image = spindle_sdk::load(&Sources::one(&path))?.image;
    let context = driver.install(&image, &ContextOptions::default())?;
    driver.add_rule(&rule.parse()?, Action::Context(context))?;
    driver.activate(context)?;
    Ok(())
}
