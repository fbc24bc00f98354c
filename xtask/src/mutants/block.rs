//! The mutants of one block: sampled, run against the tests, and what survives is tried to be proved equal.

use super::design::{loaded_by, Design};
use super::netlist::{Netlist, Proof, Sampling};
use super::results::{BlockResult, Mutant, Verdict};
use super::suite::{Limit, Outcome, Suite};
use super::table::{Block, Table};
use crate::process::two_at_a_time;
use crate::synth::Yosys;
use anyhow::{bail, Result};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A test that runs without a mutant may take this long, the compilation of a large model on a busy machine included.
const BASE: Duration = Duration::from_secs(3600);

/// A test that loads the block, and what is known of it.
pub struct Timed {
    pub name: String,
    /// Of processor time.
    seconds: f64,
    /// Mutants that it has caught: what catches many is tried early.
    caught: AtomicU64,
}

impl Timed {
    /// A mutant that makes a test take much longer than this is caught: no bench waits for ever.
    fn limit(&self) -> Limit {
        Limit::cpu(Duration::from_secs_f64(10.0 + 6.0 * self.seconds))
    }

    fn cost(&self) -> f64 {
        (0.05 + self.seconds) / (1.0 + self.caught.load(Ordering::Relaxed) as f64)
    }
}

/// The design with the block that its tests load first. They list their designs in the folder `models`, where tests of
/// other blocks may have listed theirs.
pub fn design(suite: &Suite, table: &Table, block: &Block, models: &Path) -> Result<Design> {
    let tests = suite.beginning_with(&block.tests);
    if tests.is_empty() {
        bail!("no test's name begins with {}", block.tests.join(" or "));
    }
    // A test lists a design before it compiles the model, so it need not get as far. One that loads several designs lists
    // the others only after that.
    let no_verilator: (&str, &OsStr) = ("VERILATOR", "false".as_ref());
    for compiled in [false, true] {
        for test in &tests {
            if compiled || loaded_by(models, test).is_empty() {
                let mut variables = vec![("SPINDLE_MODELS", models.as_os_str())];
                variables.extend((!compiled).then_some(no_verilator));
                suite.run(test, &variables, Limit::wall(BASE))?;
            }
            for folder in loaded_by(models, test) {
                if let Some(design) = Design::read(&folder, block, table)? {
                    return Ok(design);
                }
            }
        }
    }
    bail!(
        "none of its {} tests loads a design with the module `{}`; correct `module` or `tests` in xtask/mutants.toml",
        tests.len(),
        block.module
    )
}

/// Runs `test` under a mutant; 0 is none.
pub fn run(suite: &Suite, folder: &Path, test: &str, mutant: usize, limit: Limit) -> Result<(Outcome, Duration)> {
    let number = mutant.to_string();
    let variables: [(&str, &OsStr); 2] = [("SPINDLE_MUTANTS", folder.as_os_str()), ("SPINDLE_MUTANT", number.as_ref())];
    suite.run(test, &variables, limit)
}

/// Whether `test` has loaded the mutated module of `block`.
pub fn loads(folder: &Path, test: &str, block: &Block) -> bool {
    let used = std::fs::read_to_string(folder.join("used")).unwrap_or_default();
    used.lines().any(|line| line.split_once('\t') == Some((test, &block.module)))
}

/// Runs of tests without a mutant: the processor time of each that passes.
#[derive(Default)]
struct Baseline(BTreeMap<String, Option<f64>>);

impl Baseline {
    /// Those of `tests` that load the mutated module of `block` and pass.
    fn of(&mut self, suite: &Suite, folder: &Path, tests: &[&str], block: &Block) -> Result<Vec<Timed>> {
        let fresh: Vec<&str> = tests.iter().copied().filter(|test| !self.0.contains_key(*test)).collect();
        let time = |test: &&str| -> Result<Option<f64>> {
            let (outcome, took) = run(suite, folder, test, 0, Limit::wall(BASE))?;
            if outcome != Outcome::Passed {
                println!("mutants: {test} fails without a mutant, and is left out");
            }
            Ok((outcome == Outcome::Passed).then_some(took.as_secs_f64()))
        };
        // The first one compiles the model that most of the others load too.
        let (first, others) = fresh.split_at(fresh.len().min(1));
        let mut times = two_at_a_time(first, time);
        times.extend(two_at_a_time(others, time));
        for (test, time) in fresh.iter().zip(times) {
            self.0.insert(test.to_string(), time?);
        }
        let timed = tests.iter().filter(|test| loads(folder, test, block)).filter_map(|test| {
            let seconds = self.0.get(*test).copied().flatten()?;
            Some(Timed { name: test.to_string(), seconds, caught: AtomicU64::new(0) })
        });
        Ok(timed.collect())
    }
}

/// The first of `tests` that fails under a mutant.
fn catch(suite: &Suite, folder: &Path, tests: &[Timed], mutant: usize) -> Result<Option<String>> {
    let mut order: Vec<&Timed> = tests.iter().collect();
    order.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
    for test in order {
        let outcome = run(suite, folder, &test.name, mutant, test.limit())?.0;
        if outcome != Outcome::Passed {
            test.caught.fetch_add(1, Ordering::Relaxed);
            let late = if outcome == Outcome::Late { " (time limit)" } else { "" };
            return Ok(Some(format!("{}{late}", test.name)));
        }
    }
    Ok(None)
}

/// What survives by `tests` of `mutants`, which are counted from `first`; what is caught goes to `verdicts`.
fn sift(
    suite: &Suite,
    folder: &Path,
    tests: &[Timed],
    first: usize,
    mutants: Vec<usize>,
    verdicts: &mut [Option<Verdict>],
) -> Result<Vec<usize>> {
    let caught = two_at_a_time(&mutants, |mutant| catch(suite, folder, tests, first + mutant));
    let mut survivors = Vec::new();
    for (mutant, caught) in mutants.into_iter().zip(caught) {
        match caught? {
            Some(test) => verdicts[mutant] = Some(Verdict::Caught(test)),
            None => survivors.push(mutant),
        }
    }
    Ok(survivors)
}

/// Runs the mutants of the blocks of a group, in its empty folder; each result goes to `done`, and so does an error of one
/// block, after which the others run.
pub fn results(
    suite: &Suite,
    yosys: &Yosys,
    table: &Table,
    designs: &[(&Block, Design)],
    sampling: Sampling,
    folder: &Path,
    mut done: impl FnMut(&Block, Result<BlockResult>) -> Result<()>,
) -> Result<()> {
    let mut netlists = Vec::new();
    let mut next = 1;
    for (block, design) in designs {
        let sampling = Sampling { count: sampling.count * block.times, ..sampling };
        let made = Netlist::make(yosys, design, folder, sampling, next);
        match made.and_then(|netlist| netlist.prepare_proofs(yosys, design).map(|()| netlist)) {
            Ok(netlist) => {
                next += netlist.mutations.len();
                netlists.push((*block, design, netlist));
            }
            Err(error) => done(block, Err(error))?,
        }
    }
    let mut baseline = Baseline::default();
    for (block, design, netlist) in &netlists {
        done(block, result(suite, yosys, table, block, design, netlist, sampling, folder, &mut baseline))?;
    }
    Ok(())
}

/// Runs the mutants of one block of a group.
#[allow(clippy::too_many_arguments)]
fn result(
    suite: &Suite,
    yosys: &Yosys,
    table: &Table,
    block: &Block,
    design: &Design,
    netlist: &Netlist,
    sampling: Sampling,
    folder: &Path,
    baseline: &mut Baseline,
) -> Result<BlockResult> {
    let start = Instant::now();
    let own = baseline.of(suite, folder, &suite.beginning_with(&block.tests), block)?;
    if own.is_empty() {
        bail!("no test of its own loads the block and passes without a mutant");
    }
    let build_seconds = start.elapsed().as_secs();
    let count = netlist.mutations.len();
    println!("mutants: {}: {count} mutants, {} tests, {build_seconds} s until they run", block.name, own.len());
    let verdicts = judge(suite, yosys, table, block, netlist, folder, &own, baseline)?;
    let mutants = netlist.mutations.iter().zip(verdicts).map(|(mutation, verdict)| {
        let at = mutation.at().to_string();
        let rust = design.rust_source(at.split(':').next().unwrap_or_default()).map(String::from);
        Mutant { what: mutation.what(), at, rust, verdict }
    });
    Ok(BlockResult {
        engine: block.engine.clone(),
        hash: design.hash(),
        tool: yosys.version.clone(),
        seed: sampling.seed,
        wanted: sampling.count * block.times,
        build_seconds,
        mutants: mutants.collect(),
        seconds: start.elapsed().as_secs(),
    })
}

/// What becomes of every mutant of a block: its own tests run, then proofs, then tests of larger designs.
#[allow(clippy::too_many_arguments)]
fn judge(
    suite: &Suite,
    yosys: &Yosys,
    table: &Table,
    block: &Block,
    netlist: &Netlist,
    folder: &Path,
    own: &[Timed],
    baseline: &mut Baseline,
) -> Result<Vec<Verdict>> {
    let count = netlist.mutations.len();
    let mut verdicts: Vec<Option<Verdict>> = vec![None; count];
    let mut survivors = sift(suite, folder, own, netlist.first, (0..count).collect(), &mut verdicts)?;
    let proofs = two_at_a_time(&survivors, |mutant| netlist.prove(yosys, *mutant));
    for (mutant, proof) in survivors.iter().zip(proofs) {
        let proof = proof?.map(|proof| match proof {
            Proof::Combinational => "registers cut",
            Proof::Induction => "induction",
        });
        verdicts[*mutant] = proof.map(|proof| Verdict::Equivalent(proof.into()));
    }
    survivors.retain(|mutant| verdicts[*mutant].is_none());
    let broad = table.engine.get(&block.engine).map_or(&[][..], |engine| &engine.broad);
    let mut larger = suite.beginning_with(broad);
    larger.retain(|test| !block.tests.iter().any(|own| test.starts_with(own)));
    if !survivors.is_empty() && !larger.is_empty() {
        let larger = baseline.of(suite, folder, &larger, block)?;
        sift(suite, folder, &larger, netlist.first, survivors, &mut verdicts)?;
    }
    Ok(verdicts.into_iter().map(|verdict| verdict.unwrap_or_else(|| Verdict::Survived(String::new()))).collect())
}

#[cfg(test)]
mod tests {
    use super::super::suite::tests::script;
    use super::*;

    fn timed(name: &str, seconds: f64) -> Timed {
        Timed { name: name.into(), seconds, caught: AtomicU64::new(0) }
    }

    #[test]
    fn a_suite_that_checks_nothing_catches_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let suite = script(folder.path());
        let mut verdicts = vec![None; 4];
        let useless = [timed("a::none", 0.1)];
        let survivors = sift(&suite, folder.path(), &useless, 1, vec![0, 1, 2, 3], &mut verdicts).unwrap();
        assert_eq!((survivors, verdicts), (vec![0, 1, 2, 3], vec![None; 4]));
    }

    #[test]
    fn a_mutant_is_caught_by_the_first_test_that_fails() {
        let folder = tempfile::tempdir().unwrap();
        let suite = script(folder.path());
        let mut verdicts = vec![None; 3];
        let tests = [timed("a::none", 0.1), timed("a::odd", 0.2)];
        // Mutants 1 and 3 are the odd ones.
        let survivors = sift(&suite, folder.path(), &tests, 1, vec![0, 1, 2], &mut verdicts).unwrap();
        let odd = Some(Verdict::Caught("a::odd".into()));
        assert_eq!((survivors, verdicts), (vec![1], vec![odd.clone(), None, odd]));
        assert_eq!(tests[1].caught.load(Ordering::Relaxed), 2);
        assert!(tests[1].cost() < tests[0].cost(), "what catches is tried first");
    }
}
