//! `compat`: the examples of a PsPIN or FPsPIN checkout on the simulated NIC; `spindle compat` does the work.

use crate::process::cargo;
use anyhow::{Context, Result};
use clap::Args;
use std::path::PathBuf;

/// Which examples run.
#[derive(Args)]
pub struct Options {
    /// Checkout of PsPIN, with its folder `examples`.
    #[arg(long, value_name = "FOLDER", required_unless_present = "fpspin")]
    pspin: Option<PathBuf>,
    /// Checkout of FPsPIN.
    #[arg(long, value_name = "FOLDER")]
    fpspin: Option<PathBuf>,
    /// More arguments for `spindle compat`.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Builds, runs and judges the examples; the checkout is not changed.
pub fn run(options: &Options) -> Result<()> {
    let command = ["run", "--quiet", "--package", "spindle-lab", "--", "compat"];
    for (option, checkout) in [("--pspin", &options.pspin), ("--fpspin", &options.fpspin)] {
        let Some(checkout) = checkout else { continue };
        let folder = checkout.to_str().context("the name of the checkout's folder is no UTF-8")?;
        cargo(command, &[&[option.to_owned(), folder.to_owned()], options.arguments.as_slice()].concat())?;
    }
    Ok(())
}
