//! `spindle export`: the NIC as SystemVerilog.

use crate::session;
use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};
use spindle_contract::params::{self, Config};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Arguments of `spindle export`.
#[derive(clap::Args)]
pub struct ExportArguments {
    /// Configuration: sim, kintex7 or alveo.
    #[arg(long, default_value = "alveo")]
    config: String,
    /// Folder to write to.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write each block that is synthesised by itself to a folder of its own instead of the whole NIC.
    #[arg(long)]
    blocks: bool,
    /// Write one handler processor with its retirement port (RVFI) instead: what formal tools and instruction tests attach to.
    #[arg(long, conflicts_with = "blocks")]
    processor: bool,
}

/// Exports.
pub fn export(arguments: &ExportArguments) -> Result<()> {
    let config = session::config(&arguments.config)?;
    let is_folder = arguments.out.is_dir() || !arguments.out.exists();
    ensure!(is_folder, "cannot write to {}: it is a file; give a folder", arguments.out.display());
    let cannot = || format!("cannot write to {}", arguments.out.display());
    if arguments.blocks {
        for (name, design) in session::elaborate(|| spindle_nic::blocks(&config))? {
            let folder = arguments.out.join(&name);
            design.write_dir(&folder).with_context(cannot)?;
            std::fs::write(folder.join("top.txt"), format!("{}\n", design.top)).with_context(cannot)?;
            println!("{}: {} modules", folder.display(), design.module_count());
        }
        return Ok(());
    }
    if arguments.processor {
        let design = session::elaborate(|| spindle_nic::emit_hpu(&config))?;
        design.write_dir(&arguments.out).with_context(cannot)?;
        println!("{}: {} modules, top hpu, file list filelist.f", arguments.out.display(), design.module_count());
        return Ok(());
    }
    let design = session::elaborate(|| spindle_nic::emit(&config))?;
    design.write_dir(&arguments.out).with_context(cannot)?;
    std::fs::write(arguments.out.join("top.txt"), format!("{}\n", design.top)).with_context(cannot)?;
    write_sheet(&arguments.out, &config).with_context(cannot)?;
    let bytes: usize = design.modules.iter().map(|module| module.text.len()).sum();
    println!(
        "{}: {} modules, {bytes} bytes, file list filelist.f, parameters parameters.json and parameters.md",
        arguments.out.display(),
        design.module_count()
    );
    Ok(())
}

/// Name, value and meaning of each parameter.
fn parameters(config: &Config) -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("name", json!(config.name), "configuration"),
        ("contract_version", json!(spindle_contract::VERSION), "version of registers, descriptors and memory map"),
        ("clock_mhz", json!(config.clock_mhz), "nominal core clock, MHz"),
        ("clusters", json!(config.clusters), "clusters"),
        ("hpus", json!(config.hpus), "HPUs of a cluster"),
        ("imem_bytes", json!(config.imem_bytes), "instruction memory of a cluster, bytes"),
        ("l1_bytes", json!(params::L1_BYTES), "L1 of a cluster, bytes"),
        ("l2_bytes", json!(config.l2_bytes), "context memory, bytes"),
        ("packet_buffer_bytes", json!(config.packet_buffer_bytes), "packet buffer, bytes"),
        ("contexts", json!(config.contexts), "execution contexts"),
        ("match_rules", json!(config.match_rules), "match rules"),
        ("match_terms", json!(params::MATCH_TERMS), "match terms, shared by all rules"),
        ("live_messages", json!(config.live_messages), "live messages"),
        ("mailboxes", json!(config.mailboxes), "RVMA mailboxes"),
        ("posted_buffers", json!(config.posted_buffers), "posted buffers"),
        ("processes", json!(config.processes), "doorbell pages"),
        ("beat_bytes", json!(params::BEAT_BYTES), "width of the streams, bytes"),
        ("max_frame", json!(params::MAX_FRAME), "longest frame, bytes"),
        ("slot_bytes", json!(params::SLOT_BYTES), "packet slot of a handler, bytes"),
    ]
}

fn write_sheet(folder: &Path, config: &Config) -> std::io::Result<()> {
    let parameters = parameters(config);
    let object: serde_json::Map<_, _> =
        parameters.iter().map(|(name, value, _)| ((*name).to_owned(), value.clone())).collect();
    std::fs::write(folder.join("parameters.json"), format!("{:#}\n", Value::Object(object)))?;
    let mut page =
        format!("# Parameters of the NIC `{}`\n\n| parameter | value | meaning |\n|---|---|---|\n", config.name);
    for (name, value, meaning) in parameters {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = writeln!(page, "| `{name}` | {value} | {meaning} |");
    }
    std::fs::write(folder.join("parameters.md"), page)
}
