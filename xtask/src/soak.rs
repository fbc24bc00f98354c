//! `soak`: the whole NIC under random traffic, configuration and faults, with its checks, until a bound is reached.

use crate::process::{cargo, target_folder};
use anyhow::Result;
use clap::Args;

/// How long, and what it begins with.
#[derive(Args)]
pub struct Options {
    /// Cycles, at least; 10 million if no bound is given.
    #[arg(long, value_name = "COUNT", conflicts_with = "soak")]
    cycles: Option<u64>,
    /// Hours, at least.
    #[arg(long, value_name = "HOURS")]
    soak: Option<f64>,
    /// Seed of the first card; a new one if absent.
    #[arg(long)]
    seed: Option<u64>,
}

/// Runs the laboratory's soak; its figures are for `cargo xtask figures --from target/report/soak.json`.
pub fn run(options: &Options) -> Result<()> {
    let folder = target_folder().join("report");
    std::fs::create_dir_all(&folder)?;
    let mut arguments = vec!["--json".to_string(), folder.join("soak.json").display().to_string()];
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            arguments.extend([name.to_string(), value]);
        }
    };
    option("--cycles", options.cycles.map(|cycles| cycles.to_string()));
    option("--hours", options.soak.map(|hours| hours.to_string()));
    option("--seed", options.seed.map(|seed| seed.to_string()));
    cargo(["run", "--quiet", "--package", "spindle-lab", "--", "soak"], &arguments)
}
