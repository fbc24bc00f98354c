//! Seeds of random tests: the fresh one of a run, and runs of the random tests alone under many of them.
//!
//! `spindle_testing` reads the variables that are set here. The list of random tests is made by the tests themselves, since a
//! test is random if it draws a seed.

use crate::process::{cargo_command, installed, quiet, target_folder};
use anyhow::{ensure, Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Tests by package.
type Tests = BTreeMap<String, BTreeSet<String>>;

/// Names the fresh seed to the tests (that of the commit where a run must be `repeatable`, as in CI), begins the list of
/// random tests, and has a failure printed without a backtrace.
pub fn begin(repeatable: bool) -> Result<()> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if set("SPINDLE_SEED") {
        println!("test: random tests run under SPINDLE_SEED alone");
    } else {
        if !set("SPINDLE_FRESH_SEED") {
            let seed = if repeatable || set("CI") { of_commit() } else { None }.unwrap_or_else(fresh);
            std::env::set_var("SPINDLE_FRESH_SEED", seed.to_string());
        }
        println!("test: random tests run under the seeds 0 and {}", std::env::var("SPINDLE_FRESH_SEED")?);
    }
    begin_list()?;
    plain_failures();
    Ok(())
}

/// A failure explains itself; `RUST_BACKTRACE=1` is for a run of one test.
fn plain_failures() {
    std::env::set_var("RUST_BACKTRACE", "0");
}

/// Where the list of random tests is, absolute, since tests run in the folders of their crates.
fn list() -> Result<PathBuf> {
    Ok(std::path::absolute(target_folder().join("random-tests"))?)
}

fn begin_list() -> Result<()> {
    std::fs::create_dir_all(target_folder()).context("cannot create the target folder")?;
    let list = list()?;
    std::fs::write(&list, "").with_context(|| format!("cannot write {}", list.display()))?;
    std::env::set_var("SPINDLE_RANDOM_TESTS", &list);
    Ok(())
}

/// The first digits of the commit's hash, so that every run of a commit has the same seed.
fn of_commit() -> Option<u64> {
    let hash = quiet(Command::new("git").args(["rev-parse", "HEAD"])).ok()?;
    u64::from_str_radix(hash.get(..8)?, 16).ok()
}

/// A seed that no one has tried.
fn fresh() -> u64 {
    // The hasher of each map begins with random keys.
    RandomState::new().build_hasher().finish() >> 32
}

/// When a search among seeds ends.
pub enum End {
    /// After so many seeds.
    Seeds(u64),
    /// After so many hours, at the end of a seed.
    Hours(f64),
}

/// Runs the random tests, and only these, under one fresh seed after another. `false` if a test failed under one of them.
pub fn explore(end: &End) -> Result<bool> {
    if let End::Hours(hours) = end {
        ensure!(hours.is_finite() && *hours > 0.0, "--soak {hours} is no time; give hours, such as 0.5");
    }
    plain_failures();
    let list = list()?;
    let read = || Ok::<_, anyhow::Error>(tests(&std::fs::read_to_string(&list).unwrap_or_default()));
    let mut random = read()?;
    if random.is_empty() {
        println!("seeds: no run has listed the random tests; the first seed runs all tests and makes the list");
        begin_list()?;
    }
    let start = Instant::now();
    let (mut tried, mut failed) = (0, vec![]);
    let goes_on = |tried: u64| match end {
        End::Seeds(seeds) => tried < *seeds,
        End::Hours(hours) => start.elapsed() < Duration::from_secs_f64(hours * 3600.0),
    };
    while goes_on(tried) {
        let seed = fresh();
        tried += 1;
        println!("seeds: SPINDLE_SEED={seed}");
        let nextest = installed("cargo-nextest");
        let mut commands = if nextest { vec![of_nextest(&random)] } else { of_cargo(&random) };
        let mut passed = true;
        for command in &mut commands {
            passed &= command.env("SPINDLE_SEED", seed.to_string()).status()?.success();
        }
        if !passed {
            failed.push(seed.to_string());
        }
        if random.is_empty() {
            random = read()?;
            ensure!(!random.is_empty(), "no test drew a seed");
        }
    }
    let count = random.values().map(BTreeSet::len).sum::<usize>();
    let minutes = start.elapsed().as_secs() / 60;
    println!("seeds: {count} random tests under {tried} seeds in {minutes} minutes, {} failed", failed.len());
    if !failed.is_empty() {
        println!("seeds: failed under {}", failed.join(", "));
    }
    Ok(failed.is_empty())
}

/// The lines of the list: package, test.
fn tests(text: &str) -> Tests {
    let mut tests = Tests::new();
    for (package, test) in text.lines().filter_map(|line| line.split_once('\t')) {
        tests.entry(package.into()).or_default().insert(test.into());
    }
    tests
}

/// One command for all packages; without a list all tests.
fn of_nextest(tests: &Tests) -> Command {
    let mut command = cargo_command();
    command.args(["nextest", "run", "--no-fail-fast", "--workspace", "--status-level", "fail"]);
    if !tests.is_empty() {
        command.args(["--filterset", &filter(tests)]);
    }
    command
}

fn filter(tests: &Tests) -> String {
    let of = |(package, tests): (&String, &BTreeSet<String>)| {
        let names: Vec<String> = tests.iter().map(|test| format!("test(={test})")).collect();
        format!("package(={package}) & ({})", names.join(" | "))
    };
    tests.iter().map(of).collect::<Vec<_>>().join(" | ")
}

/// A command for each package; without a list all tests.
fn of_cargo(tests: &Tests) -> Vec<Command> {
    let command = |arguments: &[&str]| {
        let mut command = cargo_command();
        command.args(["test", "--quiet", "--no-fail-fast"]).args(arguments);
        command
    };
    if tests.is_empty() {
        return vec![command(&["--workspace"])];
    }
    let of = |(package, tests): (&String, &BTreeSet<String>)| {
        let mut command = command(&["--package", package, "--", "--exact"]);
        command.args(tests);
        command
    };
    tests.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_becomes_a_selection_of_tests() {
        let tests = tests("b\tx::y\na\tz\nb\tx::y\nno line\nb\tw\n");
        assert_eq!(filter(&tests), "package(=a) & (test(=z)) | package(=b) & (test(=w) | test(=x::y))");
        let arguments = |command: &Command| {
            command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        let commands: Vec<String> = of_cargo(&tests).iter().map(arguments).collect();
        let quiet = "test --quiet --no-fail-fast";
        assert_eq!(
            commands,
            [format!("{quiet} --package a -- --exact z"), format!("{quiet} --package b -- --exact w x::y")]
        );
        assert!(!arguments(&of_nextest(&Tests::new())).contains("filterset"), "without a list all tests run");
        assert_eq!(of_cargo(&Tests::new()).len(), 1);
    }

    #[test]
    fn the_seed_of_a_commit_stays_and_fresh_ones_differ() {
        assert_eq!(of_commit(), of_commit());
        assert_ne!(fresh(), fresh());
    }
}
