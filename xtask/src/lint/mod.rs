//! `lint`: Verilator's lint over the emitted Verilog, and a lint of prose over sources and docs.
//!
//! The lint of prose reads every file that git knows. `words` finds words of `.config/prose.toml`, `links` and `names` find what
//! docs and comments name and the project does not have: files, headings, commands, options, crates, symbols.

mod links;
mod names;
mod sources;
mod verilog;
mod words;

pub use verilog::run as verilog;

use anyhow::{Context, Result};
use clap::Args;
use serde::Deserialize;
use sources::Source;
use std::path::PathBuf;
use std::time::Instant;

/// Which lints run; both unless one is chosen.
#[derive(Args)]
pub struct Options {
    /// Lint the sources and docs only.
    #[arg(long)]
    prose: bool,
    /// Lint the emitted Verilog only.
    #[arg(long, conflicts_with = "prose")]
    verilog: bool,
    /// Report findings of the lint of prose in these files and folders only.
    #[arg(value_name = "PATH", conflicts_with = "verilog")]
    paths: Vec<String>,
}

/// `.config/prose.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    /// Characters of the longest line of source.
    columns: usize,
    /// Files that no rule holds for.
    skip: Vec<String>,
    /// Words and phrases that are not used.
    words: Vec<words::Word>,
    /// Names in backticks that are not the project's.
    foreign: Vec<String>,
}

/// A fault in a line of a file.
struct Finding {
    path: PathBuf,
    line: usize,
    sentence: String,
}

/// Lints what the options choose. `false` if there is a finding.
pub fn run(options: &Options) -> Result<bool> {
    let prose = options.verilog || prose(&options.paths)?;
    let verilog = options.prose || !options.paths.is_empty() || verilog("sim")?;
    Ok(prose && verilog)
}

/// Lints sources and docs: `paths`, or all. Prints `file:line: sentence` for each finding. `false` if there is any.
pub fn prose(paths: &[String]) -> Result<bool> {
    let start = Instant::now();
    let path = ".config/prose.toml";
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let rules: Rules = toml::from_str(&text).with_context(|| path.to_owned())?;
    let sources = sources::read(&rules.skip)?;
    let mut findings = words::check(&sources, &rules)?;
    findings.extend(links::check(&sources));
    findings.extend(names::check(&sources, &rules.foreign)?);
    findings.retain(|finding| paths.is_empty() || paths.iter().any(|path| finding.path.starts_with(path)));
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    for Finding { path, line, sentence } in &findings {
        println!("{}:{line}: {sentence}", path.display());
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("lint: {} files, {} findings in prose ({seconds:.1} s)", sources.len(), findings.len());
    Ok(findings.is_empty())
}

impl Source {
    fn finding(&self, index: usize, sentence: String) -> Finding {
        Finding { path: self.path.clone(), line: index + 1, sentence }
    }
}
