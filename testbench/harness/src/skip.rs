//! Tests that cannot run, because a tool is missing, and tests that take long.
//!
//! Rust's test runners have no outcome for a skipped test. A test that cannot run calls [`skip`] and returns: the runner counts
//! the test as passed, `cargo xtask test` counts it as skipped. Where skips are refused, as in continuous integration, the call
//! is a failure, unless the reason begins as one of `.config/optional-tests.toml` does.

use spindle_testing::test_name;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Records that this test is skipped because a tool or setting is missing; the caller then returns.
///
/// # Panics
/// Skips are refused (`CI` or `SPINDLE_NO_SKIPS` is set), and this one is not optional.
#[track_caller]
pub fn skip(reason: &str) {
    skipped("skipped", reason);
}

/// Records that a part of this test does not run.
///
/// # Panics
/// As of [`skip`].
#[track_caller]
pub fn skip_part(reason: &str) {
    skipped("part", reason);
}

/// How the reason of a test that takes long begins.
const LONG: &str = "the test takes long";

/// Whether this is a run of all tests at their full length, as `cargo xtask test --full`, which sets `SPINDLE_FULL`. A test that draws
/// many cases draws fewer of them in other runs.
pub fn is_full_run() -> bool {
    set(|name| std::env::var_os(name), "SPINDLE_FULL")
}

/// Whether tests that take long run, as in `cargo xtask test --full`, which sets `SPINDLE_FULL`. If not, this test is recorded as
/// skipped, and the caller returns.
///
/// # Panics
/// As of [`skip`].
#[track_caller]
pub fn long_tests_run() -> bool {
    let run = is_full_run();
    if !run {
        skip(&format!("{LONG}; run `cargo xtask test --full`, or set SPINDLE_FULL=1"));
    }
    run
}

#[track_caller]
fn skipped(kind: &str, reason: &str) {
    let name = test_name();
    let variable = |name: &str| std::env::var_os(name);
    let refused = refused(variable) && !optional(reason, variable("SPINDLE_OPTIONAL_SKIPS"));
    assert!(!refused, "{name} would be skipped, and skipped tests are refused here: {reason}");
    record(kind, &name, reason, variable("SPINDLE_SKIPPED"));
}

/// Whether the reason begins as a line of `list` does.
fn optional(reason: &str, list: Option<OsString>) -> bool {
    let list = list.unwrap_or_default().to_string_lossy().into_owned();
    list.lines().any(|optional| !optional.is_empty() && reason.starts_with(optional))
}

/// Whether a skipped test is a failure.
fn refused(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    ["CI", "SPINDLE_NO_SKIPS"].iter().any(|name| set(&variable, name))
}

/// Whether a variable is there and says yes.
fn set(variable: impl Fn(&str) -> Option<OsString>, name: &str) -> bool {
    variable(name).is_some_and(|value| !["", "0", "false"].contains(&&*value.to_string_lossy().to_lowercase()))
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
    fn a_variable_says_yes_or_no() {
        let value = |value: &'static str| move |_: &str| Some(value.into());
        assert!(set(value("1"), "SPINDLE_FULL") && set(value("yes"), "SPINDLE_FULL"));
        assert!(
            !set(value("0"), "SPINDLE_FULL") && !set(value("False"), "SPINDLE_FULL") && !set(|_| None, "SPINDLE_FULL")
        );
    }

    #[test]
    fn an_optional_skip_is_one_whose_reason_is_listed() {
        let list = || Some(OsString::from("clang is not installed\nno wave"));
        assert!(optional("clang is not installed; install it", list()) && optional("no wave", list()));
        assert!(!optional("there is no clang", list()) && !optional("no", list()));
        assert!(!optional("clang is not installed", None) && !optional("", Some("".into())));
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
