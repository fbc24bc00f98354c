//! Runs of studies by the command, in one process or in ranks. No test needs all of this.
#![allow(dead_code)]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_spindle-network");

/// The command that runs a study in so many ranks; with one, without MPI.
pub fn command(file: &Path, ranks: usize, mpi: &[&str]) -> Command {
    let mut command = Command::new(if ranks == 1 { PROGRAM } else { "mpirun" });
    if ranks > 1 {
        // Root in a container is the usual user of continuous integration.
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        command.args(["--oversubscribe", "-n", &ranks.to_string()]).args(mpi).arg(PROGRAM);
    }
    command.arg(file).arg("--quiet").stdin(Stdio::null());
    command
}

/// A study in so many ranks, with more arguments: result and run, or the error's words.
pub fn study_with(text: &str, ranks: usize, mpi: &[&str], arguments: &[String]) -> Result<(Value, Value), String> {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("study.toml"), folder.path().join("result.json"));
    std::fs::write(&file, text).unwrap();
    let output = command(&file, ranks, mpi).args(arguments).arg("--out").arg(&out).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).replace(&folder.path().display().to_string(), "");
    if !output.status.success() {
        return Err(words);
    }
    Ok(result(&out))
}

/// Result and run of the file, without the study's name.
pub fn result(out: &Path) -> (Value, Value) {
    let mut all: Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    all["result"]["study"].take();
    (all["result"].take(), all["run"].take())
}

/// Checks that all numbers of ranks give one result, and returns it.
pub fn same(text: &str, ranks: &[usize]) -> Value {
    let (first, _) = study_with(text, 1, &[], &[]).unwrap();
    for ranks in ranks {
        let (result, run) = study_with(text, *ranks, &[], &[]).unwrap();
        assert_eq!(run["ranks"], *ranks);
        assert!(run["lookahead_ns"].as_f64().unwrap() > 100.0, "{run}");
        assert!(result == first, "{ranks} ranks:\n{result:#}\none:\n{first:#}");
    }
    first
}
