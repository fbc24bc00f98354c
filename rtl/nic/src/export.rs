//! Folders of SystemVerilog: the NIC with its parameter sheet, every block by itself, or one processor.

use serde_json::{json, Value};
use spindle_contract::params::{self, Config};
use spindle_verilog::{Design, EmitError};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Why a folder could not be written.
#[derive(Debug)]
pub enum ExportError {
    /// The design was refused.
    Emit(EmitError),
    /// The folder that could not be written, and the reason.
    Write(PathBuf, std::io::Error),
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Emit(error) => write!(f, "{error}"),
            Self::Write(folder, error) => write!(f, "cannot write to {}: {error}", folder.display()),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<EmitError> for ExportError {
    fn from(error: EmitError) -> Self {
        Self::Emit(error)
    }
}

/// Writes the NIC of a configuration: one file per module, `filelist.f`, `top.txt`, `parameters.json` and `parameters.md`.
///
/// # Errors
/// An illegal configuration, or a folder that cannot be written.
pub fn export(config: &Config, folder: &Path) -> Result<Design, ExportError> {
    let design = crate::emit(config)?;
    write_design(&design, folder)?;
    write_sheet(folder, config).map_err(|error| ExportError::Write(folder.into(), error))?;
    Ok(design)
}

/// Writes each block of [`blocks`](crate::blocks) to a folder of its own below `folder`; returns the folders and the blocks.
///
/// # Errors
/// As for [`export`].
pub fn export_blocks(config: &Config, folder: &Path) -> Result<Vec<(PathBuf, Design)>, ExportError> {
    let mut written = vec![];
    for (name, design) in crate::blocks(config)? {
        let folder = folder.join(name);
        write_design(&design, &folder)?;
        written.push((folder, design));
    }
    Ok(written)
}

/// Writes one processor with its retirement port.
///
/// # Errors
/// As for [`export`].
pub fn export_processor(config: &Config, folder: &Path) -> Result<Design, ExportError> {
    let design = crate::emit_hpu(config)?;
    write_design(&design, folder)?;
    Ok(design)
}

fn write_design(design: &Design, folder: &Path) -> Result<(), ExportError> {
    let write = || {
        if folder.exists() && !folder.is_dir() {
            return Err(std::io::Error::other("the path is a file; give a folder"));
        }
        design.write_dir(folder)?;
        std::fs::write(folder.join("top.txt"), format!("{}\n", design.top))
    };
    write().map_err(|error| ExportError::Write(folder.into(), error))
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
