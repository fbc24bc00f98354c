//! The executable with all tests of the emitted design: its tests by name, each run alone and within a time limit.

use crate::process::cargo_command;
use anyhow::{ensure, Context, Result};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// KiB of address space of a test: a mutant may fill the memory before its time ends.
const MEMORY_KIB: u64 = 12 << 20;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    /// It was still running at the limit.
    Late,
}

/// The tests.
pub struct Suite {
    program: PathBuf,
    /// Cargo runs tests in the folder of their crate.
    folder: PathBuf,
    names: Vec<String>,
}

impl Suite {
    /// Builds the tests, unless they are up to date.
    pub fn build() -> Result<Suite> {
        let arguments = ["test", "-p", "spindle-tests", "--test", "all", "--no-run", "--message-format", "json"];
        let output = cargo_command().args(arguments).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
        ensure!(output.status.success(), "the tests cannot be built; run `cargo test -p spindle-tests --no-run`");
        let text = String::from_utf8_lossy(&output.stdout);
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut programs = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
        let program = programs.next().context("cargo named no executable of the tests")?;
        Suite::of_program(program, Path::new("testbench/tests"))
    }

    /// The tests of an executable that understands `--list`, `--exact` and names as Rust's runner does.
    pub fn of_program(program: PathBuf, folder: &Path) -> Result<Suite> {
        let list = crate::process::quiet(Command::new(&program).args(["--list", "--format", "terse"]))?;
        let names = list.lines().filter_map(|line| line.strip_suffix(": test")).map(String::from).collect();
        Ok(Suite { program, folder: folder.canonicalize().context("the crate of the tests is missing")?, names })
    }

    /// The tests whose names begin with one of `prefixes`.
    pub fn beginning_with(&self, prefixes: &[String]) -> Vec<&str> {
        let wanted = |name: &&String| prefixes.iter().any(|prefix| name.starts_with(prefix));
        self.names.iter().filter(wanted).map(String::as_str).collect()
    }

    /// Runs one test; its output is dropped.
    pub fn run(&self, test: &str, variables: &[(&str, &OsStr)], limit: Duration) -> Result<(Outcome, Duration)> {
        let start = Instant::now();
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$@\""), "sh"])
            .arg(&self.program)
            .args([test, "--exact", "--test-threads", "1"])
            .current_dir(&self.folder)
            .envs(variables.iter().copied())
            .env("RUST_BACKTRACE", "0")
            // What was caught once is caught again.
            .env("SPINDLE_FRESH_SEED", "2")
            .env_remove("CI")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("cannot run {}", self.program.display()))?;
        Ok((wait(child, limit)?, start.elapsed()))
    }
}

/// Waits for `child`, and ends it at the limit.
pub fn wait(mut child: Child, limit: Duration) -> Result<Outcome> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Outcome::Passed } else { Outcome::Failed });
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Ok(Outcome::Late);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A suite of three tests, played by a shell script: `a::odd` fails under odd mutants, `a::none` under none, and
    /// `b::slow` takes ten seconds under mutant 4.
    pub fn script(folder: &Path) -> Suite {
        let program = folder.join("tests.sh");
        let text =
            "#!/bin/sh\ncase $1 in\n--list) printf 'a::odd: test\\na::none: test\\nb::slow: test\\nx: bench\\n' ;;\n\
                    a::odd) exit $((SPINDLE_MUTANT % 2)) ;;\n\
                    b::slow) [ \"$SPINDLE_MUTANT\" = 4 ] && exec sleep 10 ;;\nesac\nexit 0\n";
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        Suite::of_program(program, folder).unwrap()
    }

    #[test]
    fn tests_are_found_by_the_beginning_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let suite = script(folder.path());
        assert_eq!(suite.beginning_with(&["a::".into()]), ["a::odd", "a::none"]);
        assert_eq!(suite.beginning_with(&["b::".into(), "a::n".into()]), ["a::none", "b::slow"]);
    }

    #[test]
    fn a_run_passes_fails_or_is_late() {
        let folder = tempfile::tempdir().unwrap();
        let suite = script(folder.path());
        let run = |test, mutant: &str| {
            let variables: [(&str, &OsStr); 1] = [("SPINDLE_MUTANT", mutant.as_ref())];
            suite.run(test, &variables, Duration::from_millis(500)).unwrap().0
        };
        assert_eq!(run("a::odd", "2"), Outcome::Passed);
        assert_eq!(run("a::odd", "3"), Outcome::Failed);
        assert_eq!(run("b::slow", "4"), Outcome::Late);
    }
}
