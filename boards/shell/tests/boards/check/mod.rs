//! Checks of netlists: each is clean on what is right, and finds what is wrong.

mod blocks;
mod cdc;
mod constraints;
mod fixtures;
mod pads;
mod tops;

use spindle_boards::check::netlist::Netlist;
use spindle_boards::check::yosys;
use std::path::Path;

/// The flattened netlist of Verilog files.
pub fn netlist(tool: &Path, files: &[(String, String)], top: &str, boxes: &[&str]) -> Netlist {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    yosys::netlist(tool, folder.path(), files, top, boxes).unwrap_or_else(|sentence| panic!("{sentence}"))
}
