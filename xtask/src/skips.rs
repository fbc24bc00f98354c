//! Skipped tests: Rust's runners have no such outcome, so each test adds a line to a list, as `spindle_harness::skip` does.

use crate::process::target_folder;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::PathBuf;

/// The reasons that are allowed where skips are refused.
const OPTIONAL: &str = ".config/optional-tests.toml";

/// The list of skipped tests of this run.
pub struct Skips {
    list: PathBuf,
    optional: Vec<Optional>,
    /// A skip that is not optional is a failure.
    pub refused: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    optional: Vec<Optional>,
}

/// A skip that is allowed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Optional {
    /// How its reason begins.
    reason: String,
    /// Why it is allowed.
    why: String,
}

impl Skips {
    /// Begins a list, and names the list and the optional skips to the tests.
    pub fn begin(refuse: bool) -> Result<Skips> {
        let set =
            |name: &str| std::env::var(name).is_ok_and(|value| !["", "0", "false"].contains(&&*value.to_lowercase()));
        let refused = refuse || set("CI") || set("SPINDLE_NO_SKIPS");
        let text = std::fs::read_to_string(OPTIONAL).with_context(|| format!("cannot read {OPTIONAL}"))?;
        let List { optional } = toml::from_str(&text).context(OPTIONAL)?;
        std::fs::create_dir_all(target_folder()).context("cannot create the target folder")?;
        // Absolute, since tests run in the folders of their crates.
        let list = std::path::absolute(target_folder().join("skipped-tests"))?;
        std::fs::write(&list, "").with_context(|| format!("cannot write {}", list.display()))?;
        std::env::set_var("SPINDLE_SKIPPED", &list);
        std::env::set_var("SPINDLE_NO_SKIPS", if refused { "1" } else { "" });
        let reasons: Vec<&str> = optional.iter().map(|optional| optional.reason.as_str()).collect();
        std::env::set_var("SPINDLE_OPTIONAL_SKIPS", reasons.join("\n"));
        Ok(Skips { list, optional, refused })
    }

    /// Prints the list and counts its tests.
    pub fn tests(&self) -> Result<Count> {
        let text = std::fs::read_to_string(&self.list)
            .with_context(|| format!("cannot read the skipped tests in {}", self.list.display()))?;
        let (lines, count) = summary(&text, &self.optional);
        lines.iter().for_each(|line| println!("{line}"));
        Ok(count)
    }
}

/// Whole tests that were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub tests: u64,
    /// Those that are optional.
    pub optional: u64,
}

/// A line for each entry, and the number of whole tests that were skipped.
fn summary(text: &str, optional: &[Optional]) -> (Vec<String>, Count) {
    let (mut lines, mut count) = (Vec::new(), Count::default());
    for entry in text.lines() {
        let mut fields = entry.splitn(3, '\t');
        let mut field = || fields.next().unwrap_or("?");
        let (kind, test, reason) = (field(), field(), field());
        let allowed = optional.iter().find(|optional| reason.starts_with(&optional.reason));
        let why = allowed.map_or(String::new(), |optional| format!(" (optional: {})", optional.why));
        if kind == "part" {
            // The same reason in many tests is one line.
            let line = format!("test: skipped in part: {reason}{why}");
            if !lines.contains(&line) {
                lines.push(line);
            }
        } else {
            lines.push(format!("test: SKIPPED {test}: {reason}{why}"));
            count.tests += 1;
            count.optional += u64::from(allowed.is_some());
        }
    }
    (lines, count)
}

/// Records that the test that calls is skipped; it then returns.
#[cfg(test)]
pub fn skip(reason: &str) {
    use std::io::Write;
    let test = std::thread::current().name().unwrap_or("a test").to_string();
    let refused = std::env::var("SPINDLE_NO_SKIPS").is_ok_and(|value| !value.is_empty());
    assert!(!refused, "{test} would be skipped, and skipped tests are refused here: {reason}");
    eprintln!("SKIPPED: {test}: {reason}");
    if let Some(list) = std::env::var_os("SPINDLE_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).open(list);
        let written = file.and_then(|mut file| file.write_all(format!("skipped\t{test}\t{reason}\n").as_bytes()));
        written.expect("the list of skipped tests can be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_tests_are_counted_and_parts_are_listed_once() {
        let optional = [Optional { reason: "no clang".into(), why: "GCC does".into() }];
        let text = "skipped\ta::b\tno spike\npart\tc\tno clang\npart\td\tno clang\nskipped\te\tno clang here\n";
        let (lines, count) = summary(text, &optional);
        assert_eq!(count, Count { tests: 2, optional: 1 });
        let wanted = [
            "test: SKIPPED a::b: no spike",
            "test: skipped in part: no clang (optional: GCC does)",
            "test: SKIPPED e: no clang here (optional: GCC does)",
        ];
        assert_eq!(lines, wanted);
        assert_eq!(summary("", &[]), (vec![], Count::default()));
    }

    #[test]
    fn the_list_of_optional_tests_can_be_read_and_is_short() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(OPTIONAL);
        let list: List = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(!list.optional.is_empty() && list.optional.len() <= 6);
        assert!(list.optional.iter().all(|optional| optional.reason.len() > 5 && optional.why.len() > 10));
    }
}
