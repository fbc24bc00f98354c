//! `mutants`: how many small changes of the emitted Verilog the tests notice.

mod block;
mod design;
mod list;
mod netlist;
mod results;
mod sample;
mod suite;
mod table;

use crate::process::target_folder;
use crate::synth::Yosys;
use anyhow::{Context, Result};
use clap::Args;
use netlist::Sampling;
use results::{Results, Verdict};
use std::fs::File;
use std::path::PathBuf;
use suite::Suite;
use table::{Block, Table};

/// The folder in which all tests list the designs that they load.
const MODELS: &str = "models";

/// Which mutants run.
#[derive(Args)]
pub struct Options {
    /// Only these blocks of xtask/mutants.toml.
    #[arg(long)]
    block: Vec<String>,
    /// Mutants of each block.
    #[arg(short, default_value_t = 16)]
    number: usize,
    /// Seed of the choice of mutations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run blocks again whose results stand.
    #[arg(long)]
    again: bool,
    /// Leave out the tests of larger designs: what only they catch survives until a run with `--again`.
    #[arg(long)]
    own: bool,
    /// Run, for at most two minutes, some mutants that were caught; fail if one is not caught any more.
    #[arg(long, conflicts_with_all = ["block", "again", "own"])]
    sample: bool,
    /// Run no mutant; list the blocks without results that stand.
    #[arg(long, conflicts_with_all = ["again", "own", "sample"])]
    stale: bool,
    /// Run nothing; write docs/mutants.md of the results.
    #[arg(long, conflicts_with_all = ["block", "again", "sample", "stale"])]
    page: bool,
    /// Run nothing; fail if docs/mutants.md is not that of the results.
    #[arg(long, conflicts_with_all = ["block", "again", "sample", "stale", "page"])]
    check: bool,
}

/// Runs mutants. `false` if a block cannot be run, a mutant of the sample is not caught, or the page is out of date.
pub fn run(options: &Options) -> Result<bool> {
    if options.check {
        return check();
    }
    if options.page {
        let mut results = Results::load()?;
        let stale = results.explain(&Table::load()?.survivor);
        results.save()?;
        return Ok(no_stale_reason(&stale));
    }
    if options.sample {
        return sample::run();
    }
    let (mut table, yosys, suite) = (Table::load()?, Yosys::find()?, Suite::build(&programs())?);
    if options.own {
        table.engine.values_mut().for_each(|engine| engine.broad.clear());
    }
    let mut failed = 0;
    for group in table.find(&options.block)? {
        let mut fail = |name: &str, error: anyhow::Error| {
            println!("mutants: {name}: {error:#}");
            failed += 1;
        };
        if let Err(error) = run_group(options, &table, &yosys, &suite, &group, &mut fail) {
            fail(&group[0].group, error);
        }
    }
    let mut results = Results::load()?;
    let stale = results.explain(&table.survivor);
    let figures = results.figures();
    println!("mutants: {} in all, score {}, {failed} blocks failed", figures["total"], figures["score"]);
    Ok(no_stale_reason(&stale) && failed == 0)
}

/// Runs the blocks of a group whose results do not stand. A block that cannot be run goes to `fail`.
fn run_group(
    options: &Options,
    table: &Table,
    yosys: &Yosys,
    suite: &Suite,
    group: &[&Block],
    fail: &mut impl FnMut(&str, anyhow::Error),
) -> Result<()> {
    let sampling = Sampling { count: options.number, seed: options.seed };
    let kept = Results::load()?;
    let models = empty_folder(&format!("designs-{}", group[0].group))?;
    let mut designs = Vec::new();
    for block in group {
        let design = match block::design(suite, table, block, &models) {
            Ok(design) => design,
            Err(error) => {
                fail(&block.name, error);
                continue;
            }
        };
        let wanted = (design.hash(), yosys.version.clone(), options.seed, options.number * block.times);
        let stands = kept
            .blocks
            .get(&block.name)
            .is_some_and(|kept| (kept.hash.clone(), kept.tool.clone(), kept.seed, kept.wanted) == wanted);
        if options.stale {
            if !stands {
                println!("mutants: {}: to be run", block.name);
            }
        } else if stands && !options.again {
            println!("mutants: {}: the results stand", block.name);
        } else {
            designs.push((*block, design));
        }
    }
    if designs.is_empty() {
        return Ok(());
    }
    let folder = empty_folder(&format!("group-{}", group[0].group))?;
    block::results(suite, yosys, table, &designs, sampling, &folder, |block, result| {
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                fail(&block.name, error);
                return Ok(());
            }
        };
        for mutant in result.mutants.iter().filter(|mutant| matches!(mutant.verdict, Verdict::Survived(_))) {
            println!("mutants: {}: survived: {} at {}", block.name, mutant.what, mutant.at);
        }
        let count = result.count();
        println!(
            "mutants: {}: {} caught, {} survived, {} equivalent, {} s",
            block.name, count.caught, count.survived, count.equivalent, result.seconds
        );
        // Another run may write results of other blocks.
        let lock = File::create(self::folder().join("results.lock"))?;
        lock.lock().context("cannot lock the results")?;
        let mut results = Results::load()?;
        results.blocks.insert(block.name.clone(), result);
        results.explain(&table.survivor);
        results.save()
    })
}

/// Whether every reason of the table is that of a survivor.
fn no_stale_reason(stale: &[String]) -> bool {
    for reason in stale {
        println!(
            "mutants: xtask/mutants.toml has a reason of a mutant that has not survived: {reason}; delete the reason"
        );
    }
    stale.is_empty()
}

/// Whether the page is that of the results, with the reasons of the table.
pub fn check() -> Result<bool> {
    let kept = Results::load()?;
    let mut results = kept.clone();
    let stale = results.explain(&Table::load()?.survivor);
    let current = results == kept && results.page_is_current()?;
    if !current {
        println!("mutants: docs/mutants.md is out of date; run `cargo xtask mutants --page`");
    }
    Ok(no_stale_reason(&stale) && current)
}

/// The sample of `cargo xtask test`.
pub fn sample() -> Result<bool> {
    sample::run()
}

/// Has the tests that run from now on list the designs that they load, for the sample; [`forget_designs`] ends that.
pub fn list_designs() -> Result<()> {
    std::env::set_var("SPINDLE_MODELS", empty_folder(MODELS)?);
    Ok(())
}

/// See [`list_designs`].
pub fn forget_designs() {
    std::env::remove_var("SPINDLE_MODELS");
}

/// The figures of the last results, for the report.
pub fn figures() -> Result<serde_json::Value> {
    Ok(Results::load()?.figures())
}

fn folder() -> PathBuf {
    target_folder().join("mutants")
}

/// Where the executables of runs are.
fn programs() -> PathBuf {
    folder().join("programs")
}

/// A folder of this name, without what an earlier run has left; its absolute path.
fn empty_folder(name: &str) -> Result<PathBuf> {
    let path = folder().join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path).with_context(|| format!("cannot clear {}", path.display()))?;
    }
    std::fs::create_dir_all(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path.canonicalize()?)
}

/// Where a run of all tests lists the designs that they load.
fn models_folder() -> PathBuf {
    folder().join(MODELS)
}
