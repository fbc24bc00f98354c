//! `fuzz`: many cases for each parser of outside data, and the table of their numbers in docs/trust.md.
//!
//! Every test `fuzz_<parser>` of the targets `fuzz` runs; the crate `spindle-fuzz` reads the variables that are set here, and
//! leaves a file with the counts of each parser that has passed. `docs/fuzz.json` keeps them with their commit.

use crate::figures;
use crate::process::{cargo_command, quiet, target_folder};
use anyhow::{bail, ensure, Context, Result};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::process::Command;

const FILE: &str = "docs/fuzz.json";
const PREFIX: &str = "fuzz_";

/// Which parsers get how many cases.
#[derive(Args)]
pub struct Options {
    /// Cases of each parser.
    #[arg(long, value_name = "COUNT", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    cases: u64,
    /// Only this parser; may be given several times.
    #[arg(long)]
    parser: Vec<String>,
    /// Do not keep the results in docs/fuzz.json.
    #[arg(long)]
    dry_run: bool,
}

/// `docs/fuzz.json`.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    parsers: BTreeMap<String, Counts>,
}

/// What a run has done, as `spindle-fuzz` writes it, and the commit at which it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Counts {
    cases: u64,
    taken: u64,
    seconds: f64,
    #[serde(default)]
    commit: String,
}

/// Runs the tests. `false` if one has failed.
pub fn run(options: &Options) -> Result<bool> {
    let tests = chosen(&all()?, &options.parser)?;
    let commit = unchanged_commit()?;
    // Another run may be under way.
    let folder = std::path::absolute(target_folder().join(format!("fuzz/{}", std::process::id())))?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    println!("fuzz: {} parsers, {} cases each", tests.len(), options.cases);
    // Not by the runner of the other tests, which ends what takes long.
    let mut command = test_command();
    command.args(["--", "--exact", "--test-threads", "2"]).args(tests.values());
    command.env("SPINDLE_FUZZ_CASES", options.cases.to_string()).env("SPINDLE_FUZZ_REPORT", &folder);
    command.env("RUST_BACKTRACE", "0");
    let passed = command.status().context("cannot run cargo")?.success();
    let mut done = BTreeMap::new();
    for parser in tests.keys() {
        if let Some(counts) = counts(&folder, parser)? {
            println!("fuzz: {parser}: {} cases, {} taken, {:.0} s", counts.cases, counts.taken, counts.seconds);
            done.insert(parser.clone(), counts);
        } else {
            println!("fuzz: {parser}: FAILED, or skipped");
        }
    }
    std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    let sum: u64 = done.values().map(|counts| counts.cases).sum();
    println!("fuzz: {} of {} parsers passed, {sum} cases", done.len(), tests.len());
    match commit {
        _ if options.dry_run || done.is_empty() => {}
        None => println!("fuzz: sources differ from the commit; commit them before a run whose results are kept"),
        Some(commit) => {
            let lock = File::create(target_folder().join("fuzz/results.lock"))?;
            lock.lock().context("cannot lock the results")?;
            let mut results = Results::load()?;
            results.take(done, &commit);
            results.save()?;
            figures::run(&figures::Options::fill())?;
        }
    }
    Ok(passed)
}

/// The tests of the targets `fuzz`.
fn test_command() -> Command {
    let mut command = cargo_command();
    command.args(["test", "--quiet", "--workspace", "--test", "fuzz", "--no-fail-fast"]);
    command
}

/// All parsers, and the names of their tests.
fn all() -> Result<BTreeMap<String, String>> {
    let list = quiet(test_command().args(["--", "--list"]))?;
    let tests = tests(&list);
    ensure!(!tests.is_empty(), "no crate has a target `fuzz` with tests {PREFIX}*");
    Ok(tests)
}

/// The lines `module::fuzz_parser: test` of a list.
fn tests(list: &str) -> BTreeMap<String, String> {
    let tests = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let parser = |test: &str| test.rsplit("::").next()?.strip_prefix(PREFIX).map(String::from);
    tests.filter_map(|test| Some((parser(test)?, test.to_owned()))).collect()
}

/// The tests of these parsers; of all if none is named.
fn chosen(all: &BTreeMap<String, String>, parsers: &[String]) -> Result<BTreeMap<String, String>> {
    if let Some(unknown) = parsers.iter().find(|parser| !all.contains_key(*parser)) {
        let names: Vec<&str> = all.keys().map(String::as_str).collect();
        bail!("no test fuzzes a parser `{unknown}`; there are {}", names.join(", "));
    }
    let wanted = |parser: &String| parsers.is_empty() || parsers.contains(parser);
    Ok(all.iter().filter(|(parser, _)| wanted(parser)).map(|(parser, test)| (parser.clone(), test.clone())).collect())
}

/// What a parser's test has left; none if the test has not passed.
fn counts(folder: &Path, parser: &str) -> Result<Option<Counts>> {
    let path = folder.join(format!("{parser}.json"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(serde_json::from_str(&text).with_context(|| format!("{} is wrong", path.display()))?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The commit, if all but docs is as committed.
fn unchanged_commit() -> Result<Option<String>> {
    let changed = quiet(Command::new("git").args(["status", "--porcelain", "--", ".", ":!docs"]))?;
    Ok(if changed.trim().is_empty() { Some(figures::present_commit()?) } else { None })
}

impl Results {
    /// The file; empty if there is none.
    pub fn load() -> Result<Results> {
        crate::results::load(FILE)
    }

    fn save(&self) -> Result<()> {
        std::fs::write(FILE, serde_json::to_string_pretty(self)? + "\n").with_context(|| format!("cannot write {FILE}"))
    }

    /// Replaces results of parsers by those of a run.
    fn take(&mut self, done: BTreeMap<String, Counts>, commit: &str) {
        let at = |counts: Counts| Counts { commit: commit.into(), seconds: counts.seconds.round(), ..counts };
        self.parsers.extend(done.into_iter().map(|(parser, counts)| (parser, at(counts))));
    }

    /// Figures of the report: cases, taken cases and seconds of each parser, and their sums, `all`.
    pub fn figures(&self) -> Map<String, Value> {
        let mut figures = json!({"fuzz_cases": {}, "fuzz_taken": {}, "fuzz_seconds": {}});
        let (mut cases, mut taken, mut seconds) = (0, 0, 0.0);
        for (parser, counts) in &self.parsers {
            figures["fuzz_cases"][parser] = counts.cases.into();
            figures["fuzz_taken"][parser] = counts.taken.into();
            figures["fuzz_seconds"][parser] = counts.seconds.into();
            (cases, taken, seconds) = (cases + counts.cases, taken + counts.taken, seconds + counts.seconds);
        }
        figures["fuzz_cases"]["all"] = cases.into();
        figures["fuzz_taken"]["all"] = taken.into();
        figures["fuzz_seconds"]["all"] = seconds.into();
        match figures {
            Value::Object(figures) => figures,
            _ => Map::new(),
        }
    }

    /// The commits at which a parser's cases ran; those of all parsers for `all`.
    pub fn commits(&self, parser: &str) -> BTreeSet<&str> {
        let of = |name: &str| parser == "all" || parser == name;
        self.parsers.iter().filter(|(name, _)| of(name)).map(|(_, counts)| counts.commit.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let counts = |cases, commit: &str| Counts { cases, taken: cases / 2, seconds: 3.0, commit: commit.into() };
        Results { parsers: [("pcap".into(), counts(10, "a")), ("rule".into(), counts(30, "b"))].into() }
    }

    #[test]
    fn tests_are_found_by_their_names() {
        let list =
            "a::fuzz_pcap: test\nb::fuzz_pcapng: test\nb::other: test\nfuzz_x: test\nc::fuzz_y: benchmark\n2 tests\n";
        let all = tests(list);
        assert_eq!(all.keys().collect::<Vec<_>>(), ["pcap", "pcapng", "x"]);
        assert_eq!(chosen(&all, &["pcap".into()]).unwrap().values().collect::<Vec<_>>(), ["a::fuzz_pcap"]);
        assert_eq!(chosen(&all, &[]).unwrap(), all);
        let error = chosen(&all, &["pca".into()]).unwrap_err().to_string();
        assert!(error.contains("`pca`") && error.contains("pcap, pcapng, x"), "{error}");
    }

    #[test]
    fn results_of_a_run_replace_older_ones_of_the_same_parsers() {
        let mut kept = results();
        let new = Counts { cases: 50, taken: 1, seconds: 2.4, commit: String::new() };
        kept.take([("rule".to_string(), new)].into(), "c");
        let figures = kept.figures();
        assert_eq!(figures["fuzz_cases"], json!({"pcap": 10, "rule": 50, "all": 60}));
        assert_eq!((&figures["fuzz_taken"]["all"], &figures["fuzz_seconds"]["rule"]), (&json!(6), &json!(2.0)));
        assert_eq!(kept.commits("all"), ["a", "c"].into());
        assert_eq!(kept.commits("rule"), ["c"].into());
        assert_eq!(serde_json::from_str::<Results>(&serde_json::to_string(&kept).unwrap()).unwrap(), kept);
    }

    #[test]
    fn only_a_test_that_has_passed_leaves_counts() {
        let folder = target_folder().join(format!("fuzz-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("pcap.json"), r#"{"cases":5,"taken":2,"seconds":0.25}"#).unwrap();
        let found = counts(&folder, "pcap").unwrap().unwrap();
        assert_eq!((found.cases, found.taken, found.seconds), (5, 2, 0.25));
        assert_eq!(counts(&folder, "rule").unwrap(), None);
        std::fs::write(folder.join("rule.json"), "{").unwrap();
        assert!(counts(&folder, "rule").is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
