//! The executable with all tests of the emitted design: its tests by name, each run alone and within a time limit.

use crate::process::cargo_command;
use anyhow::{ensure, Context, Result};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// KiB of address space of a test: a mutant may fill the memory before its time ends.
const MEMORY_KIB: u64 = 12 << 20;

/// Clock ticks of a second in `/proc`, on every Linux.
const TICKS: f64 = 100.0;

/// How long a run may take. Its own processor time decides, since a busy machine makes only the wall clock run on; the
/// limit of the wall clock is for what sleeps.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub cpu: Duration,
    pub wall: Duration,
}

impl Limit {
    /// This time on the wall clock alone.
    pub fn wall(wall: Duration) -> Limit {
        Limit { cpu: Duration::MAX, wall }
    }

    /// This processor time, also where the machine has a tenth of a processor for the run.
    pub fn cpu(cpu: Duration) -> Limit {
        Limit { cpu, wall: 10 * cpu + Duration::from_secs(60) }
    }
}

/// The source of the tests of the emitted design.
const MAIN: &str = "testbench/tests/tests/main.rs";

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
    /// The folder of the program, if it is a copy.
    _copy: Option<TempDir>,
    /// Cargo runs tests in the folder of their crate.
    folder: PathBuf,
    names: Vec<String>,
}

impl Suite {
    /// Builds the tests, unless they are up to date. Their program has a place of its own in `copies`, so that another
    /// build in the same target folder changes nothing in the middle of a run.
    pub fn build(copies: &Path) -> Result<Suite> {
        // All packages, so that the libraries have the features that a run of all tests gives them.
        let arguments = ["test", "--workspace", "--test", "all", "--no-run", "--message-format", "json"];
        let output = cargo_command().args(arguments).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
        ensure!(output.status.success(), "the tests cannot be built; run `cargo test --workspace --test all --no-run`");
        let text = String::from_utf8_lossy(&output.stdout);
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        // Another crate's tests have the same name.
        let main = |message: &Value| message["target"]["src_path"].as_str().is_some_and(|path| path.ends_with(MAIN));
        let mut programs =
            messages.filter(main).filter_map(|message| message["executable"].as_str().map(PathBuf::from));
        let program = programs.next().context("cargo named no executable of the tests")?;
        fs::create_dir_all(copies).with_context(|| format!("cannot write {}", copies.display()))?;
        let copy = TempDir::new_in(copies).with_context(|| format!("cannot write {}", copies.display()))?;
        let own = std::path::absolute(copy.path().join("all"))?;
        // A linker makes a new file; where no link is possible, a copy is.
        if fs::hard_link(&program, &own).is_err() {
            fs::copy(&program, &own).with_context(|| format!("cannot copy {}", program.display()))?;
        }
        Ok(Suite { _copy: Some(copy), ..Suite::of_program(own, Path::new("testbench/tests"))? })
    }

    /// The tests of an executable that understands `--list`, `--exact` and names as Rust's runner does.
    pub fn of_program(program: PathBuf, folder: &Path) -> Result<Suite> {
        let list = crate::process::quiet(Command::new(&program).args(["--list", "--format", "terse"]))?;
        let names = list.lines().filter_map(|line| line.strip_suffix(": test")).map(String::from).collect();
        let folder = folder.canonicalize().context("the crate of the tests is missing")?;
        Ok(Suite { program, _copy: None, folder, names })
    }

    /// The tests whose names begin with one of `prefixes`.
    pub fn beginning_with(&self, prefixes: &[String]) -> Vec<&str> {
        let wanted = |name: &&String| prefixes.iter().any(|prefix| name.starts_with(prefix));
        self.names.iter().filter(wanted).map(String::as_str).collect()
    }

    /// Whether there is a test of this name.
    pub fn has(&self, test: &str) -> bool {
        self.names.iter().any(|name| name == test)
    }

    /// Runs one test; its output is dropped. With the processor time of the test, without that of a compilation.
    pub fn run(&self, test: &str, variables: &[(&str, &OsStr)], limit: Limit) -> Result<(Outcome, Duration)> {
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
        wait(child, limit)
    }
}

/// Waits for `child`, and ends it at the limit; with its processor time.
pub fn wait(mut child: Child, limit: Limit) -> Result<(Outcome, Duration)> {
    let start = Instant::now();
    let mut cpu = Duration::ZERO;
    loop {
        // Before the child is asked whether it has ended, since its times are gone after that.
        cpu = cpu_time(child.id()).unwrap_or(cpu);
        if let Some(status) = child.try_wait()? {
            return Ok((if status.success() { Outcome::Passed } else { Outcome::Failed }, cpu));
        }
        if cpu >= limit.cpu || start.elapsed() >= limit.wall {
            child.kill()?;
            child.wait()?;
            return Ok((Outcome::Late, cpu));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processor time of a process, without its children; `None` if there is no such process any more.
fn cpu_time(process: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may have spaces. `utime` and `stime` are the fields 14 and 15 of all.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some(Duration::from_secs_f64((ticks(14)? + ticks(15)?) / TICKS))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A suite of three tests, played by a shell script: `a::odd` fails under odd mutants, `a::none` under none, and
    /// `b::slow` sleeps for ten seconds under mutant 4, for one under mutant 6, and works for ever under mutant 5. Each says that it has
    /// loaded the module `top`.
    pub fn script(folder: &Path) -> Suite {
        let program = folder.join("tests.sh");
        let text =
            "#!/bin/sh\n[ -n \"$SPINDLE_MUTANTS\" ] && printf '%s\\ttop\\n' \"$1\" >> \"$SPINDLE_MUTANTS/used\"\n\
                    case $1 in\n--list) printf 'a::odd: test\\na::none: test\\nb::slow: test\\nx: bench\\n' ;;\n\
                    a::odd) exit $((SPINDLE_MUTANT % 2)) ;;\n\
                    b::slow)\n[ \"$SPINDLE_MUTANT\" = 4 ] && exec sleep 10\n\
                    [ \"$SPINDLE_MUTANT\" = 6 ] && exec sleep 1\n\
                    while [ \"$SPINDLE_MUTANT\" = 5 ]; do :; done ;;\nesac\nexit 0\n";
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
        let run = |test, mutant: &str, limit| {
            let variables: [(&str, &OsStr); 1] = [("SPINDLE_MUTANT", mutant.as_ref())];
            suite.run(test, &variables, limit).unwrap()
        };
        let second = Limit::wall(Duration::from_secs(1));
        assert_eq!(run("a::odd", "2", second).0, Outcome::Passed);
        assert_eq!(run("a::odd", "3", second).0, Outcome::Failed);
        assert_eq!(run("b::slow", "4", second).0, Outcome::Late);
    }

    #[test]
    fn processor_time_is_limited_and_sleep_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let suite = script(folder.path());
        let run = |mutant: &str, cpu, wall| {
            let variables: [(&str, &OsStr); 1] = [("SPINDLE_MUTANT", mutant.as_ref())];
            let limit = Limit { cpu: Duration::from_millis(cpu), wall: Duration::from_secs(wall) };
            suite.run("b::slow", &variables, limit).unwrap()
        };
        let (outcome, cpu) = run("5", 300, 300);
        assert_eq!(outcome, Outcome::Late);
        assert!(cpu >= Duration::from_millis(300), "{cpu:?}");
        let (outcome, cpu) = run("6", 800, 300);
        assert_eq!(outcome, Outcome::Passed);
        assert!(cpu < Duration::from_millis(800), "{cpu:?}");
    }
}
