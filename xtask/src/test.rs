//! `test`: every check of the project, one after another, and a closing line with the sums.

use crate::process::{all_are_built, cargo_command, installed, program};
use crate::skips::Skips;
use crate::{
    boards, book, figures, independent, install, lint, mutants, pictures, python, rust_mutants, seeds, setup, synth,
    timing,
};
use anyhow::Result;
use clap::Args;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Malformed requests that each server of a use case gets with `--full`.
const MALFORMED: &str = "100000";

/// Which checks run.
#[derive(Args)]
pub struct Options {
    /// Leave synthesis out.
    #[arg(long)]
    no_synth: bool,
    /// Fail if a test is skipped that .config/optional-tests.toml does not name; the variable CI does the same.
    #[arg(long)]
    no_skips: bool,
    /// Also run the tests and checks that take long: synthesis of every block and family, 100,000 malformed requests to each
    /// server, the program with a linked model, the book.
    #[arg(long)]
    full: bool,
    /// Run the random tests alone, under so many fresh seeds.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["no_synth", "full", "soak"])]
    seeds: Option<u64>,
    /// Run the random tests alone, under one fresh seed after another for so many hours.
    #[arg(long, value_name = "HOURS", conflicts_with_all = ["no_synth", "full"])]
    soak: Option<f64>,
}

/// Passed, failed and skipped so far. A check that is no test suite counts as one.
#[derive(Default)]
struct Sum {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// Runs every check, even after one has failed. `false` if any failed, or was skipped where that is refused.
pub fn run(options: &Options) -> Result<bool> {
    setup::run(&setup::Options::default())?;
    if let Some(end) = options.seeds.map(seeds::End::Seeds).or(options.soak.map(seeds::End::Hours)) {
        return seeds::explore(&end);
    }
    seeds::begin(options.no_skips)?;
    let skips = Skips::begin(options.no_skips)?;
    std::env::set_var("SPINDLE_FULL", if options.full { "1" } else { "" });
    let mut sum = Sum::default();
    sum.check("format", cargo_command().args(["fmt", "--all", "--check"]))?;
    if sum.check("build", cargo_command().args(["build", "--quiet", "--workspace", "--all-targets"]))? {
        all_are_built();
    }
    sum.check(
        "clippy",
        cargo_command().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    )?;
    sum.check("generated files", program("spindle-contract", "generate").arg("--check"))?;
    sum.outcome("prose", lint::prose(&[]));
    sum.outcome("independent", independent::run().map(|()| true));
    sum.outcome("figures", figures::run(&figures::Options::check()));
    sum.outcome("pictures", pictures::run(&pictures::Options::check()));
    sum.outcome("pages of mutants", Ok(mutants::check()? & rust_mutants::check()?));
    mutants::list_designs()?;
    let nextest = installed("cargo-nextest");
    if nextest {
        sum.suite("tests", cargo_command().args(["nextest", "run", "--workspace", "--no-fail-fast"]))?;
        // The runner above does not run documentation tests.
        sum.suite("documentation tests", cargo_command().args(["test", "--workspace", "--doc", "--no-fail-fast"]))?;
    } else {
        sum.suite("tests", cargo_command().args(["test", "--workspace", "--no-fail-fast"]))?;
    }
    mutants::forget_designs();
    // After the tests: the model of the simulated cards is there.
    sum.outcome("install", install::check());
    sum.outcome("use cases", figures::run(&figures::Options::quick()));
    // With what was installed.
    match python::pytest() {
        Ok(mut pytest) => sum.suite("Python module", &mut pytest)?,
        Err(error) => sum.outcome("Python module", Err(error)),
    }
    // The default configuration is the one that simulates; the largest is the one that must fit.
    sum.outcome("lint", lint::verilog("sim"));
    sum.outcome("sample of mutants", mutants::sample());
    if !options.no_synth {
        sum.outcome("boards", boards::run(&boards::Options::of_tests(options.full)));
        let quick = synth::Options { quick: !options.full, ..Default::default() };
        sum.outcome("synthesis", synth::run(&quick));
        // From the netlists of the synthesis.
        sum.outcome("periods", timing::run(&timing::Options::of_tests(options.full)));
    }
    if options.full {
        let storm = ["nextest", "run", "--workspace", "-E", "test(a_server_survives_malformed_requests)"];
        let plain = ["test", "--workspace", "--test", "cases", "a_server_survives_malformed_requests"];
        let mut command = cargo_command();
        command.args(if nextest { &storm[..] } else { &plain[..] }).env("SPINDLE_MALFORMED", MALFORMED);
        sum.suite("malformed requests", &mut command)?;
        let linked = ["nextest", "run", "--package", "spindle-cli", "--features", "linked", "--test", "linked"];
        let plain = ["test", "--package", "spindle-cli", "--features", "linked", "--test", "linked"];
        sum.suite("linked model", cargo_command().args(if nextest { &linked[..] } else { &plain[..] }))?;
        sum.outcome("book", book::run().map(|_| true));
    }
    let skipped = skips.tests()?;
    sum.take_skips(skipped.tests);
    println!(
        "{} passed, {} failed, {} skipped, {} of them optional",
        sum.passed, sum.failed, sum.skipped, skipped.optional
    );
    Ok(sum.failed == 0 && !(skips.refused && sum.skipped > skipped.optional))
}

impl Sum {
    /// Counts tests as skipped that the runners have counted as passed.
    fn take_skips(&mut self, tests: u64) {
        let tests = tests.min(self.passed);
        self.passed -= tests;
        self.skipped += tests;
    }

    fn record(&mut self, name: &str, passed: bool) {
        println!("test: {name}: {}", if passed { "passed" } else { "FAILED" });
        *if passed { &mut self.passed } else { &mut self.failed } += 1;
    }

    fn outcome(&mut self, name: &str, outcome: Result<bool>) {
        if let Err(error) = &outcome {
            eprintln!("{name}: {error:#}");
        }
        self.record(name, outcome.unwrap_or(false));
    }

    fn check(&mut self, name: &str, command: &mut Command) -> Result<bool> {
        let start = Instant::now();
        let passed = command.status()?.success();
        self.record(&format!("{name} ({:.0} s)", start.elapsed().as_secs_f64()), passed);
        Ok(passed)
    }

    /// Runs a test runner, shows its output, and adds its own counts.
    fn suite(&mut self, name: &str, command: &mut Command) -> Result<()> {
        // cargo test reports on standard output, nextest on standard error: one pipe takes both.
        let (reader, writer) = std::io::pipe()?;
        let mut child = command.stdout(Stdio::from(writer.try_clone()?)).stderr(Stdio::from(writer)).spawn()?;
        // The command still holds the pipe's writing ends, and the loop below ends when all are closed.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        for line in BufReader::new(reader).lines() {
            let line = line?;
            if let Some((p, f, s)) = counts(&line) {
                passed += p;
                failed += f;
                skipped += s;
            }
            println!("{line}");
        }
        // A runner that died before it counted has failed once.
        if !child.wait()?.success() && failed == 0 {
            failed = 1;
        }
        println!("test: {name}: {passed} passed, {failed} failed, {skipped} ignored");
        self.passed += passed;
        self.failed += failed;
        self.skipped += skipped;
        Ok(())
    }
}

/// Passed, failed and ignored of a closing line: `test result: ok. 3 passed; 1 failed; 0 ignored; ...`,
/// `Summary [ 1.2s] 4 tests run: 3 passed (1 slow), 1 failed, 0 skipped`, or pytest's `1 failed, 3 passed, 1 skipped in 4.02s`.
fn counts(line: &str) -> Option<(u64, u64, u64)> {
    // The output of a failed test, which nextest indents, has a line of the first kind of its own.
    let words: Vec<&str> = line.split_whitespace().collect();
    let outcome = |word: &str| ["passed", "failed", "skipped", "error", "errors"].contains(&word.trim_end_matches(','));
    let pytest = matches!(words[..], [count, word, ..] if count.parse::<u64>().is_ok() && outcome(word))
        && words.contains(&"in");
    if !(pytest || line.starts_with("test result:") || line.trim_start().starts_with("Summary [")) {
        return None;
    }
    let before = |names: &[&str]| -> u64 {
        let pair = words.windows(2).filter(|pair| names.contains(&pair[1].trim_end_matches([',', ';'])));
        pair.filter_map(|pair| pair[0].parse::<u64>().ok()).sum()
    };
    Some((before(&["passed"]), before(&["failed", "timed", "error", "errors"]), before(&["ignored", "skipped"])))
}

#[cfg(test)]
mod tests {
    use super::{counts, Sum};

    #[test]
    fn skipped_tests_are_not_passed_ones() {
        let mut sum = Sum { passed: 5, failed: 1, skipped: 0 };
        sum.take_skips(2);
        assert_eq!((sum.passed, sum.failed, sum.skipped), (3, 1, 2));
    }

    #[test]
    fn closing_lines_of_both_runners_are_read() {
        assert_eq!(counts("test result: FAILED. 11 passed; 2 failed; 3 ignored; 0 measured"), Some((11, 2, 3)));
        assert_eq!(
            counts("     Summary [   1.2s] 4 tests run: 3 passed (1 slow), 1 failed, 0 skipped"),
            Some((3, 1, 0))
        );
        assert_eq!(counts("     Summary [   1.2s] 4 tests run: 3 passed, 1 timed out, 2 skipped"), Some((3, 1, 2)));
        assert_eq!(counts("1 failed, 40 passed, 2 skipped, 3 warnings in 12.03s"), Some((40, 1, 2)));
        assert_eq!(counts("38 passed, 1 error in 75.10s (0:01:15)"), Some((38, 1, 0)));
        assert_eq!(counts("3 passed the wire"), None);
        assert_eq!(counts("    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured"), None);
        assert_eq!(counts("test models::x ... ok"), None);
    }
}
