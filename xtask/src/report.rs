//! `report`: what `spindle report` measures in simulation, joined with what synthesis says.

use crate::process::{cargo, target_folder};
use crate::{setup, synth};
use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

/// What goes into the report.
#[derive(Args)]
pub struct Options {
    /// Use the results of the last `synth` instead of running it again.
    #[arg(long)]
    reuse_synth: bool,
    /// Arguments for `spindle report`.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Writes `target/report/report.json`.
pub fn run(options: &Options) -> Result<()> {
    setup::run(&setup::Options::default())?;
    let folder = target_folder().join("report");
    std::fs::create_dir_all(&folder)?;
    let measured = folder.join("simulated.json");
    let mut arguments = vec!["--json".to_string(), measured.to_string_lossy().into_owned()];
    arguments.extend(options.arguments.iter().cloned());
    cargo(["run", "--quiet", "--package", "spindle-cli", "--", "report"], &arguments)?;
    let mut report: Value = read(&measured)?;

    let results = target_folder().join("synth/synth.json");
    if !(options.reuse_synth && results.exists()) {
        // A budget that is exceeded is part of the report, not an error of it.
        synth::run(&synth::Options { config: "alveo".into(), ..Default::default() })?;
    }
    let object = report.as_object_mut().context("`spindle report` wrote no JSON object")?;
    object.insert("synthesis".into(), read(&results)?);
    let path = folder.join("report.json");
    std::fs::write(&path, serde_json::to_string_pretty(&report)? + "\n")?;
    println!("report: {}", path.display());
    Ok(())
}

fn read(path: &std::path::Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))
}
