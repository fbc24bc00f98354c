//! `spindle reset`: the whole card.

use super::live::Live;
use anyhow::{Context, Result};
use spindle::SharedCard;
use std::io::Write;

/// Resets the card and looks whether it is in order. The card need not be in order before.
///
/// # Errors
/// The card cannot be reset, or does not answer after the reset.
pub fn run(card: &SharedCard, out: &mut dyn Write) -> Result<()> {
    let address = card.lock().identity().address;
    card.lock().reset().with_context(|| format!("cannot reset the card {address}"))?;
    let live = Live::attach(card.clone()).context("the card was reset, and is not in order")?;
    let info = live.device.info();
    writeln!(out, "{address} was reset; it has no contexts, rules or windows ({} contexts free)", info.contexts)?;
    Ok(())
}
