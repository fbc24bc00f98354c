//! The `spindle` program, its words and verdicts, and a folder for its files.
#![allow(dead_code, reason = "no test that shares this file uses all of it")]

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program.
pub fn spindle(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spindle")).args(arguments).output().expect("the program starts")
}

/// All that the program wrote: standard output, then standard error.
pub fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs `spindle compat` on a checkout of the kind that the option `kind` names: whether it succeeded, and for each
/// example whether it was right, with the verdict.
pub fn compat(kind: &str, checkout: &Path, only: &[&str]) -> (bool, Vec<(bool, String)>) {
    let report = tempfile::NamedTempFile::new().unwrap();
    let json = report.path().to_str().unwrap();
    let mut arguments = vec!["compat", kind, checkout.to_str().unwrap(), "--json", json];
    arguments.extend(only.iter().flat_map(|name| ["--only", name]));
    let output = spindle(&arguments);
    let text = std::fs::read_to_string(json).unwrap();
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{}", words(&output)));
    let verdict =
        |row: &serde_json::Value| (row["right"].as_bool().unwrap(), row["verdict"].as_str().unwrap().to_owned());
    (output.status.success(), rows.as_array().unwrap().iter().map(verdict).collect())
}

/// A temporary folder.
pub struct Folder(pub tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// Path of a file in the folder.
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    /// Writes a file: its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}
