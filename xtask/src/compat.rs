//! `compat`: the examples of a PsPIN checkout on the simulated NIC; `spindle compat` does the work.

use crate::process::cargo;
use anyhow::{Context, Result};
use clap::Args;
use std::path::PathBuf;

/// What is run.
#[derive(Args)]
pub struct Options {
    /// Checkout of PsPIN, with its folder `examples`.
    #[arg(long, value_name = "FOLDER")]
    pspin: PathBuf,
    /// More arguments for `spindle compat`.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Builds, runs and judges the examples; the checkout stays as it is.
pub fn run(options: &Options) -> Result<()> {
    let folder = options.pspin.to_str().context("the name of the checkout's folder is no UTF-8")?;
    let arguments = [&["--pspin".to_owned(), folder.to_owned()], options.arguments.as_slice()].concat();
    cargo(["run", "--quiet", "--package", "spindle-cli", "--", "compat"], &arguments)
}
