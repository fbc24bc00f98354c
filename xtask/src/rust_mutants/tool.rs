//! Runs `cargo-mutants` on a copy of the sources.

use super::results::Verdict;
use super::sample::{self, Mutant};
use super::Part;
use crate::process::{cargo_command, installed, quiet};
use anyhow::{bail, ensure, Context, Result};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

/// Seconds that the tests of a mutant may take, for the quickest and the slowest machine alike. The tests of a part take 12 to 30 s; a
/// mutant that never ends costs the limit.
const LIMIT: &str = "120";

/// Settings of cargo for the builds: a mutant is compiled once and its tests end in seconds, so compiling quickly counts.
const SETTINGS: [&str; 3] = [
    "profile.dev.debug=false",
    "profile.dev.package.spindle-verilog.opt-level=0",
    "profile.dev.package.spindle-harness.opt-level=0",
];

/// `cargo-mutants`, which `cargo xtask setup --mutants` installs.
pub struct Tool {
    nextest: bool,
    /// Tests that have passed without a mutant in this run.
    sound: RefCell<BTreeSet<String>>,
}

impl Tool {
    /// Finds it.
    pub fn find() -> Result<Tool> {
        ensure!(installed("cargo-mutants"), "cargo-mutants is not installed; run `cargo xtask setup --mutants`");
        Ok(Tool { nextest: installed("cargo-nextest"), sound: RefCell::default() })
    }

    /// Every mutant of a part.
    pub fn list(&self, tree: &Path, part: &Part) -> Result<Vec<Mutant>> {
        let mut command = command(tree);
        command.args(["--list", "--json", "--package", part.package]);
        sample::read(&quiet(&mut command)?, tree)
    }

    /// What becomes of `mutants`, in their order.
    pub fn judge(&self, folder: &Path, tree: &Path, part: &Part, mutants: &[&Mutant]) -> Result<Vec<Verdict>> {
        let mut verdicts: BTreeMap<&str, Verdict> = BTreeMap::new();
        for tests in part.tests {
            let left: Vec<&Mutant> = mutants
                .iter()
                .copied()
                .filter(|mutant| verdicts.get(&*mutant.name).is_none_or(|verdict| *verdict == Verdict::Survived))
                .collect();
            if left.is_empty() {
                break;
            }
            let found = self.run(folder, tree, part, tests, &left)?;
            for mutant in left {
                let verdict = found.get(&mutant.name).with_context(|| format!("{} did not run", mutant.name))?;
                verdicts.insert(&mutant.name, *verdict);
            }
        }
        Ok(mutants.iter().map(|mutant| verdicts[&*mutant.name]).collect())
    }

    /// One call: the verdicts by the names of the mutants.
    fn run(
        &self,
        folder: &Path,
        tree: &Path,
        part: &Part,
        tests: &[&str],
        mutants: &[&Mutant],
    ) -> Result<BTreeMap<String, Verdict>> {
        let configuration = folder.join("mutants.toml");
        let names: Vec<String> = mutants.iter().map(|mutant| format!("^{}$", regex::escape(&mutant.name))).collect();
        let text = toml::to_string(&BTreeMap::from([("examine_re", names)]))?;
        std::fs::write(&configuration, text).with_context(|| format!("cannot write {}", configuration.display()))?;
        // The filter of names lets every removal of a structure's field pass; the filter of changed lines does not.
        let lines = folder.join("mutants.diff");
        std::fs::write(&lines, diff(tree, mutants)?).with_context(|| format!("cannot write {}", lines.display()))?;
        let output = folder.join("output");
        if output.exists() {
            std::fs::remove_dir_all(&output).with_context(|| format!("cannot clear {}", output.display()))?;
        }
        std::fs::create_dir_all(&output)?;
        let mut command = command(tree);
        command.arg("--config").arg(&configuration).arg("--in-diff").arg(&lines).arg("--output").arg(&output);
        command.args(["--in-place", "--package", part.package, "--cap-lints", "true", "--timeout", LIMIT]);
        let tests = tests.join(",");
        let sound = self.sound.borrow().contains(&tests);
        command.args(["--test-package", &tests, "--baseline", if sound { "skip" } else { "run" }]);
        if self.nextest {
            // The first failure decides, and ends what runs beside: a mutant that a test catches may make another test endless.
            command.args(["--test-tool", "nextest", "--cargo-test-arg", "--max-fail=1:immediate"]);
        }
        for setting in SETTINGS {
            command.args(["--cargo-arg", &format!("--config={setting}")]);
        }
        // Mutants that were missed end it with another status than 0, so that the outcomes say whether it ran.
        let status = command.stdout(Stdio::null()).status().context("cannot run cargo-mutants")?;
        let outcomes = output.join("mutants.out/outcomes.json");
        let outcomes = std::fs::read_to_string(&outcomes)
            .with_context(|| format!("cargo-mutants ended with {status} and left no {}", outcomes.display()))?;
        let verdicts = verdicts(&outcomes)?;
        self.sound.borrow_mut().insert(tests);
        Ok(verdicts)
    }
}

/// A patch that adds the lines in which `mutants` begin.
fn diff(tree: &Path, mutants: &[&Mutant]) -> Result<String> {
    let mut lines: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for mutant in mutants {
        lines.entry(&mutant.file).or_default().insert(mutant.line()?);
    }
    let mut diff = String::new();
    for (file, lines) in lines {
        let text = std::fs::read_to_string(tree.join(file)).with_context(|| format!("cannot read {file}"))?;
        diff += &format!("--- a/{file}\n+++ b/{file}\n");
        for (before, line) in lines.into_iter().enumerate() {
            let added = text.lines().nth(line - 1).with_context(|| format!("{file} has no line {line}"))?;
            diff += &format!("@@ -{},0 +{line},1 @@\n+{added}\n", line - 1 - before);
        }
    }
    Ok(diff)
}

/// `cargo mutants` in the copy, with a target folder of its own beside it.
fn command(tree: &Path) -> Command {
    let mut command = cargo_command();
    command.arg("mutants").arg("--dir").arg(tree).current_dir(tree);
    command.env("CARGO_TARGET_DIR", tree.with_file_name("build"));
    // A mutant changes one function: an incremental build takes a fifth of the time.
    command.env("CARGO_INCREMENTAL", "1");
    // Variables of an outer cargo name the outer workspace; tests run under one seed, so that a verdict can be repeated.
    command.env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_MANIFEST_PATH").env("SPINDLE_SEED", "0");
    command
}

/// The verdicts of `outcomes.json`.
fn verdicts(outcomes: &str) -> Result<BTreeMap<String, Verdict>> {
    let outcomes: Value = serde_json::from_str(outcomes).context("outcomes.json is no JSON")?;
    let mut verdicts = BTreeMap::new();
    for outcome in outcomes["outcomes"].as_array().context("outcomes.json has no outcomes")? {
        let summary = outcome["summary"].as_str().unwrap_or_default();
        let Some(name) = outcome["scenario"]["Mutant"]["name"].as_str() else {
            ensure!(summary == "Success", "the tests fail without a mutant; run them in target/rust-mutants/tree");
            continue;
        };
        let verdict = match summary {
            "CaughtMutant" => Verdict::Caught,
            "MissedMutant" => Verdict::Survived,
            "Timeout" => Verdict::Late,
            "Unviable" => Verdict::Unviable,
            other => bail!("`{other}` of {name} is no outcome that is known"),
        };
        verdicts.insert(name.into(), verdict);
    }
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mutants_are_a_patch() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::write(tree.path().join("a.rs"), "one\ntwo\nthree\nfour\n").unwrap();
        let mutant = |line: usize| Mutant {
            name: format!("a.rs:{line}:3: replace f"),
            file: "a.rs".into(),
            what: "replace f".into(),
            ordinal: 0,
            hash: String::new(),
        };
        let (second, fourth) = (mutant(2), mutant(4));
        let wanted = "--- a/a.rs\n+++ b/a.rs\n@@ -1,0 +2,1 @@\n+two\n@@ -2,0 +4,1 @@\n+four\n";
        assert_eq!(diff(tree.path(), &[&fourth, &second, &second]).unwrap(), wanted);
        assert!(diff(tree.path(), &[&mutant(5)]).is_err());
    }

    #[test]
    fn outcomes_are_read_by_name() {
        let outcome = |name: &str, summary: &str| {
            format!(r#"{{"scenario": {{"Mutant": {{"name": "{name}"}}}}, "summary": "{summary}"}}"#)
        };
        let baseline = |summary: &str| format!(r#"{{"scenario": "Baseline", "summary": "{summary}"}}"#);
        let all = |list: &[String]| verdicts(&format!(r#"{{"outcomes": [{}]}}"#, list.join(",")));
        let found = all(&[baseline("Success"), outcome("a", "CaughtMutant"), outcome("b", "Timeout")]).unwrap();
        assert_eq!(found, BTreeMap::from([("a".into(), Verdict::Caught), ("b".into(), Verdict::Late)]));
        let found = all(&[outcome("a", "MissedMutant"), outcome("b", "Unviable")]).unwrap();
        assert_eq!(found, BTreeMap::from([("a".into(), Verdict::Survived), ("b".into(), Verdict::Unviable)]));
        let refused = all(&[baseline("Failure"), outcome("a", "CaughtMutant")]).unwrap_err().to_string();
        assert!(refused.starts_with("the tests fail without a mutant"), "{refused}");
        assert!(all(&[outcome("a", "Success")]).is_err());
    }
}
