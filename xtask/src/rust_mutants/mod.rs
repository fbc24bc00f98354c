//! `rust-mutants`: how many small changes of the Rust sources the tests notice. `cargo-mutants` makes and runs them; this module
//! draws the sample and keeps the results.

mod results;
mod sample;
mod tool;

use crate::process::target_folder;
use crate::tree::{self, Copied};
use anyhow::{ensure, Context, Result};
use clap::Args;
use results::{Kept, Results, Verdict};
use std::collections::BTreeMap;
use std::path::Path;
use tool::Tool;

/// Mutants that one call of `cargo-mutants` runs; results are kept after each call.
const BATCH: usize = 20;

/// A part of the sources that is mutated, and the tests that should notice.
pub struct Part {
    pub name: &'static str,
    pub package: &'static str,
    /// Packages whose tests run, the quick ones first: what survives the tests of one group meets those of the next one.
    pub tests: &'static [&'static [&'static str]],
}

/// The parts, by the names of the command.
pub const PARTS: &[Part] = &[
    Part { name: "contract", package: "spindle-contract", tests: &[&["spindle-contract"], &["spindle"]] },
    Part { name: "driver", package: "spindle", tests: &[&["spindle"]] },
    Part { name: "back-end", package: "spindle-verilog", tests: &[&["spindle-verilog"]] },
];

/// Which mutants run.
#[derive(Args)]
pub struct Options {
    /// Only this part: contract, driver or back-end.
    #[arg(long, value_parser = PARTS.iter().map(|part| part.name).collect::<Vec<_>>())]
    part: Vec<String>,
    /// Mutants of each part that compile.
    #[arg(short, default_value_t = 200)]
    number: usize,
    /// Seed of the choice of mutants.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run mutants again that have survived: a new test may catch them.
    #[arg(long)]
    survivors: bool,
    /// Run nothing; write docs/rust-mutants.md of the results.
    #[arg(long, conflicts_with_all = ["part", "survivors"])]
    page: bool,
    /// Run nothing; fail if docs/rust-mutants.md is not that of the results.
    #[arg(long, conflicts_with_all = ["part", "survivors", "page"])]
    check: bool,
}

/// Runs mutants. `false` if the page is out of date (`--check`).
pub fn run(options: &Options) -> Result<bool> {
    if options.check {
        return check();
    }
    if options.page {
        return Results::load()?.save().map(|()| true);
    }
    ensure!(options.number > 0, "0 is no number of mutants; give one such as 200");
    let tool = Tool::find()?;
    let folder = std::path::absolute(target_folder().join("rust-mutants"))?;
    // Cargo-mutants changes the sources that it runs, so these are not those of the checkout.
    let sources = folder.join("tree");
    tree::copy(&sources, |_, contents| Ok(Copied::As(contents.to_vec())))?;
    for part in PARTS.iter().filter(|part| options.part.is_empty() || options.part.iter().any(|name| name == part.name))
    {
        run_part(options, &tool, &folder, &sources, part).with_context(|| format!("part {}", part.name))?;
    }
    Ok(true)
}

/// Whether the page is that of the results.
pub fn check() -> Result<bool> {
    let current = Results::load()?.page_is_current()?;
    if !current {
        println!("rust-mutants: docs/rust-mutants.md is out of date; run `cargo xtask rust-mutants --page`");
    }
    Ok(current)
}

/// The figures of the last results, for the report.
pub fn figures() -> Result<serde_json::Value> {
    Ok(Results::load()?.figures())
}

/// Runs the mutants of the sample whose results do not stand.
fn run_part(options: &Options, tool: &Tool, folder: &Path, tree: &Path, part: &Part) -> Result<()> {
    let list = sample::ordered(tool.list(tree, part)?, options.seed);
    let mut results = Results::load()?;
    let old = results.parts.remove(part.name).unwrap_or_default();
    // Only what is drawn now counts; the rest stays for later draws.
    let mut kept: BTreeMap<String, Kept> =
        old.into_iter().map(|kept| (kept.key(), Kept { drawn: false, ..kept })).collect();
    let mut drawn = 0;
    let mut next = 0;
    while drawn < options.number && next < list.len() {
        let mut batch = Vec::new();
        while drawn + batch.len() < options.number && batch.len() < BATCH && next < list.len() {
            let mutant = &list[next];
            next += 1;
            let known = kept.get_mut(&mutant.key()).filter(|known| known.hash == mutant.hash);
            match known.filter(|known| !(options.survivors && known.verdict == Verdict::Survived)) {
                Some(known) => {
                    known.drawn = true;
                    drawn += usize::from(known.verdict != Verdict::Unviable);
                }
                None => batch.push(mutant),
            }
        }
        if batch.is_empty() {
            continue;
        }
        for (mutant, verdict) in batch.iter().zip(tool.judge(folder, tree, part, &batch)?) {
            drawn += usize::from(verdict != Verdict::Unviable);
            if verdict == Verdict::Survived {
                println!("rust-mutants: {}: survived: {}", part.name, mutant.name);
            }
            kept.insert(mutant.key(), mutant.kept(verdict));
        }
        println!("rust-mutants: {}: {drawn} of {}", part.name, options.number);
        save(part, &kept)?;
    }
    // What no list has any more, or has changed since, is no result.
    let present: BTreeMap<String, &str> = list.iter().map(|mutant| (mutant.key(), mutant.hash.as_str())).collect();
    kept.retain(|key, kept| present.get(key) == Some(&kept.hash.as_str()));
    save(part, &kept)?;
    let count = Results::load()?.count(part.name);
    println!(
        "rust-mutants: {}: {} caught, {} survived, score {}",
        part.name,
        count.caught,
        count.survived,
        count.score()
    );
    Ok(())
}

fn save(part: &Part, kept: &BTreeMap<String, Kept>) -> Result<()> {
    // Another run may have written another part.
    let mut results = Results::load()?;
    results.parts.insert(part.name.into(), kept.values().cloned().collect());
    results.save()
}
