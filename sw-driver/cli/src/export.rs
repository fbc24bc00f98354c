//! `spindle export`: the NIC as SystemVerilog, or a board's project for Vivado.

use anyhow::Result;
use spindle_boards::data::Board;
use spindle_boards::write::export as project;
use std::path::PathBuf;

/// Part of the packed NIC: the IP packager needs one, and any device of the families will do.
const PART_OF_NIC: &str = "xcu50-fsvh2104-2-e";

/// Arguments of `spindle export`.
#[derive(clap::Args)]
pub struct ExportArguments {
    /// Configuration: sim, kintex7, alveo or alveo32.
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
    /// Write the NIC for synthesis instead: without trace ports, with interface attributes and what packs it for block designs.
    #[arg(long, conflicts_with_all = ["blocks", "processor"])]
    synthesis: bool,
    /// Write the project of a board for Vivado: u50, u55c, u280, u250, kcu116 or kc705. The board has its configuration.
    #[arg(long, conflicts_with_all = ["blocks", "processor", "synthesis", "config"])]
    board: Option<String>,
    /// Network port of the board, where it has several [default: the first].
    #[arg(long, value_name = "PORT", requires = "board")]
    port: Option<String>,
}

/// Exports.
pub fn export(arguments: &ExportArguments) -> Result<()> {
    if let Some(board) = &arguments.board {
        return export_board(board, arguments);
    }
    let config = crate::config::config(&arguments.config)?;
    let folder = &arguments.out;
    if arguments.synthesis {
        let files = project::nic(&config, PART_OF_NIC)?;
        project::write(&files, folder)?;
        println!("{}: {} files, sources below rtl, top nic; pack with package.tcl", folder.display(), files.len());
    } else if arguments.blocks {
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

/// Exports a board.
fn export_board(name: &str, arguments: &ExportArguments) -> Result<()> {
    let mut board = Board::named(name)?;
    if let Some(port) = &arguments.port {
        board = board.with_mac(port)?;
    }
    let shell = spindle_boards::shell::design(&board)?;
    let files = project::project(&board, shell.as_ref())?;
    let folder = arguments.out.display();
    project::write(&files, &arguments.out)?;
    let (title, count) = (&board.title, files.len());
    let written = match shell {
        Some(shell) => {
            format!("{count} files for the {title}, top {}; the commands are in README.md", shell.design.top)
        }
        None => format!("{count} files; the {title} has no top yet, so no bitstream comes of them; see README.md"),
    };
    println!("{folder}: {written}\nnever built with Vivado by us, not run on a board: begin with `-step check`");
    Ok(())
}
