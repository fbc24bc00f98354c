//! `spindle export`: the NIC as SystemVerilog.

use anyhow::Result;
use std::path::PathBuf;

/// Arguments of `spindle export`.
#[derive(clap::Args)]
pub struct ExportArguments {
    /// Configuration: sim, kintex7 or alveo.
    #[arg(long, default_value = "alveo")]
    config: String,
    /// Folder to write to.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write, instead of the whole NIC, each separately synthesised block to a folder of its own.
    #[arg(long)]
    blocks: bool,
    /// Write one handler processor with its retirement port (RVFI) instead: what formal tools and instruction tests attach to.
    #[arg(long, conflicts_with = "blocks")]
    processor: bool,
}

/// Exports.
pub fn export(arguments: &ExportArguments) -> Result<()> {
    let config = crate::config::config(&arguments.config)?;
    let folder = &arguments.out;
    if arguments.blocks {
        for (folder, design) in spindle_nic::export_blocks(&config, folder)? {
            println!("{}: {} modules", folder.display(), design.module_count());
        }
    } else if arguments.processor {
        let design = spindle_nic::export_processor(&config, folder)?;
        println!("{}: {} modules, top hpu, file list filelist.f", folder.display(), design.module_count());
    } else {
        let design = spindle_nic::export(&config, folder)?;
        let bytes: usize = design.modules.iter().map(|module| module.text.len()).sum();
        println!(
            "{}: {} modules, {bytes} bytes, file list filelist.f, parameters parameters.json and parameters.md",
            folder.display(),
            design.module_count()
        );
    }
    Ok(())
}
