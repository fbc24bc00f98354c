//! Tests that cannot run, because a tool is missing.
//!
//! Rust's test runners know no test that ends as skipped. A test that cannot run calls [`skip`] and returns: the runner counts it as passed,
//! `cargo xtask test` counts it as skipped. Where skipped tests are refused, as in continuous integration, the call is a failure.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Records that this test is skipped for want of something that `cargo xtask setup` installs; the caller then returns.
///
/// # Panics
/// Skipped tests are refused: `CI` or `SPINDLE_NO_SKIPS` is set.
#[track_caller]
pub fn skip(reason: &str) {
    let name = test_name();
    let refused = refused(|variable| std::env::var_os(variable));
    assert!(!refused, "{name} would be skipped, and skipped tests are refused here: {reason}");
    record("skipped", &name, reason, std::env::var_os("SPINDLE_SKIPPED"));
}

/// Records that a part of this test does not run, for want of something that `cargo xtask setup` does not install.
pub fn skip_part(reason: &str) {
    record("part", &test_name(), reason, std::env::var_os("SPINDLE_SKIPPED"));
}

/// The test that runs: the runner names threads after their tests.
fn test_name() -> String {
    std::thread::current().name().unwrap_or("a test").to_string()
}

/// Whether a skipped test is a failure.
fn refused(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    ["CI", "SPINDLE_NO_SKIPS"].iter().any(|name| {
        variable(name).is_some_and(|value| !["", "0", "false"].contains(&&*value.to_string_lossy().to_lowercase()))
    })
}

/// Prints the skip, and adds it to the list that `cargo xtask test` reads: kind, test, reason.
fn record(kind: &str, name: &str, reason: &str, list: Option<OsString>) {
    eprintln!("SKIPPED: {name}: {reason}");
    let Some(list) = list.filter(|list| !list.is_empty()) else { return };
    // One write of one line: tests run side by side.
    let line = format!("{kind}\t{name}\t{}\n", reason.replace(['\n', '\t'], " "));
    let file = OpenOptions::new().create(true).append(true).open(Path::new(&list));
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        panic!("the list of skipped tests {} cannot be written: {error}", Path::new(&list).display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continuous_integration_refuses_skips() {
        let refused = |name: &str, value: &str| refused(|variable| (variable == name).then(|| value.into()));
        assert!(refused("CI", "true") && refused("CI", "1") && refused("SPINDLE_NO_SKIPS", "1"));
        assert!(
            !refused("CI", "") && !refused("CI", "false") && !refused("SPINDLE_NO_SKIPS", "0") && !refused("HOME", "1")
        );
    }

    #[test]
    fn skips_are_listed_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("skipped");
        record("skipped", "a", "no tool;\nget it", Some(list.clone().into()));
        record("part", "b", "no clang", Some(list.clone().into()));
        assert_eq!(std::fs::read_to_string(list).unwrap(), "skipped\ta\tno tool; get it\npart\tb\tno clang\n");
    }
}
