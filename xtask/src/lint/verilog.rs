//! Verilator's lint with every warning on, over each emitted block and the whole NIC.

use crate::blocks;
use anyhow::{Context, Result};
use std::process::Command;

/// Warnings that are off, and why.
const WAIVED: &[(&str, &str)] = &[("DECLFILENAME", "a file may hold more than one module")];

/// Emits the blocks of `config` and lints them; prints every warning. `false` if there is any.
pub fn run(config: &str) -> Result<bool> {
    let folder = blocks::emit(config)?;
    let blocks = blocks::find(&folder, &[])?;
    let verilator = std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    let mut total = 0;
    for block in &blocks {
        let output = Command::new(&verilator)
            .current_dir(&block.folder)
            .args(["--lint-only", "-Wall", "-Wno-fatal", "--top-module", &block.top])
            .args(WAIVED.iter().map(|(code, _)| format!("-Wno-{code}")))
            .args(block.files.split(' '))
            .output()
            .with_context(|| format!("cannot run `{verilator}`; run `cargo xtask setup`"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let findings = findings(&text).max(usize::from(!output.status.success()));
        if findings > 0 {
            println!("lint: {}: {findings} findings\n{}", block.name, text.trim_end());
        }
        total += findings;
    }
    println!("lint: {} blocks, {total} findings", blocks.len());
    Ok(total == 0 && !blocks.is_empty())
}

/// Warnings and errors in Verilator's output.
fn findings(text: &str) -> usize {
    let finding = |line: &&str| line.starts_with("%Warning-") || line.starts_with("%Error");
    text.lines().filter(finding).count()
}

#[cfg(test)]
mod tests {
    use super::findings;

    #[test]
    fn warnings_and_errors_are_counted_and_context_is_not() {
        let text = "%Warning-WIDTH: a.sv:2:13: too wide\n    2 | assign q = x;\n%Error: a.sv:3:1: syntax error\n";
        assert_eq!(findings(text), 2);
        assert_eq!(findings(""), 0);
    }
}
