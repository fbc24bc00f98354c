//! The sample of `cargo xtask test`: mutants that were caught must be caught again. Another commit runs other mutants.

use super::block;
use super::design::{loaded, Design};
use super::netlist::{Netlist, Sampling};
use super::results::{BlockResult, Results, Verdict};
use super::suite::{Outcome, Suite};
use super::table::{Block, Table};
use crate::synth::Yosys;
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::process::Command;
use std::time::{Duration, Instant};

/// No block is begun after this time, and no test runs longer than the second one.
const BEGIN: Duration = Duration::from_secs(80);
const END: Duration = Duration::from_secs(115);
/// Mutants of one block.
const EACH: usize = 4;
/// A block whose model took longer to build is left to the full run.
const BUILD_SECONDS: u64 = 60;

/// Runs the sample. `false` if a mutant is not caught any more.
pub fn run() -> Result<bool> {
    let start = Instant::now();
    let (table, yosys, results) = (Table::load()?, Yosys::find()?, Results::load()?);
    let suite = Suite::build()?;
    let commit = Command::new("git").args(["rev-parse", "HEAD"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let mut blocks: Vec<&Block> = table.block.iter().collect();
    blocks.sort_by_key(|block| order(&commit, &block.name));
    let (mut ran, mut lost, mut old) = (0, Vec::new(), Vec::new());
    for block in blocks {
        let Some(kept) = results.blocks.get(&block.name) else { continue };
        let Some(design) = listed(&table, block, kept)? else {
            old.push(block.name.as_str());
            continue;
        };
        if start.elapsed() > BEGIN || kept.build_seconds > BUILD_SECONDS {
            continue;
        }
        let sampled = sample(&suite, &yosys, block, kept, &design, &commit, start)?;
        ran += sampled.0;
        lost.extend(sampled.1);
    }
    if !old.is_empty() {
        println!("mutants: to be run again, since their Verilog has changed: {}", old.join(", "));
    }
    for mutant in &lost {
        println!("mutants: NOT CAUGHT any more: {mutant}");
    }
    println!("mutants: {ran} of the sample ran, {} not caught; {:.0} s", lost.len(), start.elapsed().as_secs_f64());
    Ok(lost.is_empty())
}

/// The block as the results know it, among the designs that the tests of this run have loaded.
fn listed(table: &Table, block: &Block, kept: &BlockResult) -> Result<Option<Design>> {
    for folder in loaded(&super::models_folder()) {
        if let Some(design) = Design::read(&folder, block, table)?.filter(|design| design.hash() == kept.hash) {
            return Ok(Some(design));
        }
    }
    Ok(None)
}

/// Runs some mutants of a block with the tests that caught them: how many ran, and which are not caught.
fn sample(
    suite: &Suite,
    yosys: &Yosys,
    block: &Block,
    kept: &BlockResult,
    design: &Design,
    commit: &str,
    start: Instant,
) -> Result<(usize, Vec<String>)> {
    let place = super::empty_folder("sample")?;
    let netlist = Netlist::make(yosys, design, &place, Sampling { count: kept.wanted, seed: kept.seed }, 1)?;
    let mut chosen: Vec<(usize, &str)> = Vec::new();
    for (index, mutant) in kept.mutants.iter().enumerate() {
        let same = netlist.mutations.get(index).is_some_and(|mutation| mutant.is(mutation));
        if let (true, Verdict::Caught(test)) = (same, &mutant.verdict) {
            // A test of a larger design would compile that first.
            if block.tests.iter().any(|prefix| test.starts_with(prefix)) && !test.ends_with(')') {
                chosen.push((index, test));
            }
        }
    }
    chosen.sort_by_key(|(index, _)| order(commit, &format!("{} {index}", block.name)));
    let (mut ran, mut lost) = (0, Vec::new());
    for (index, test) in chosen.into_iter().take(EACH) {
        let left = || END.saturating_sub(start.elapsed());
        // Without the mutant first: compiles the model, and shows that the test still loads the block.
        let without = block::run(suite, &place, test, 0, left())?.0;
        if without != Outcome::Passed || !block::loads(&place, test, block) {
            break;
        }
        let outcome = block::run(suite, &place, test, index + 1, left())?.0;
        let timely = !left().is_zero();
        ran += usize::from(timely);
        if outcome == Outcome::Passed && timely {
            let mutant = kept.mutants.get(index).context("a chosen mutant is one of the kept")?;
            lost.push(format!("{}: {} at {}, by {test}", block.name, mutant.what, mutant.at));
        }
    }
    Ok((ran, lost))
}

/// A place in an order that each commit shuffles.
fn order(commit: &str, name: &str) -> Vec<u8> {
    Sha256::digest(format!("{commit} {name}")).to_vec()
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn another_commit_has_another_order() {
        let first = |commit: &str| ["a", "b", "c", "d", "e"].into_iter().min_by_key(|name| order(commit, name));
        let firsts: std::collections::BTreeSet<_> = (0..20).map(|commit| first(&commit.to_string())).collect();
        assert!(firsts.len() > 2, "{firsts:?}");
        assert_eq!(first("1"), first("1"));
    }
}
