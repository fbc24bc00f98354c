//! Skipped tests: Rust's runners know none, so each adds a line to a list, as `spindle_harness::skip` does.

use crate::process::target_folder;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The list of skipped tests of this run.
pub struct Skips {
    list: PathBuf,
    /// A test that is skipped has failed.
    pub refused: bool,
}

impl Skips {
    /// Begins a list, and names it to the tests.
    pub fn begin(refuse: bool) -> Result<Skips> {
        let set =
            |name: &str| std::env::var(name).is_ok_and(|value| !["", "0", "false"].contains(&&*value.to_lowercase()));
        let refused = refuse || set("CI") || set("SPINDLE_NO_SKIPS");
        std::fs::create_dir_all(target_folder()).context("cannot create the target folder")?;
        // Absolute, since tests run in the folders of their crates.
        let list = std::path::absolute(target_folder().join("skipped-tests"))?;
        std::fs::write(&list, "").with_context(|| format!("cannot write {}", list.display()))?;
        std::env::set_var("SPINDLE_SKIPPED", &list);
        std::env::set_var("SPINDLE_NO_SKIPS", if refused { "1" } else { "" });
        Ok(Skips { list, refused })
    }

    /// Prints the list and counts its tests.
    pub fn tests(&self) -> Result<u64> {
        let text = std::fs::read_to_string(&self.list)
            .with_context(|| format!("cannot read the skipped tests in {}", self.list.display()))?;
        let (lines, count) = summary(&text);
        lines.iter().for_each(|line| println!("{line}"));
        Ok(count)
    }
}

/// A line for each entry, and the number of whole tests that were skipped.
fn summary(text: &str) -> (Vec<String>, u64) {
    let (mut lines, mut count) = (Vec::new(), 0);
    for entry in text.lines() {
        let mut fields = entry.splitn(3, '\t');
        let mut field = || fields.next().unwrap_or("?");
        let (kind, test, reason) = (field(), field(), field());
        if kind == "part" {
            // The same reason in many tests is one line.
            let line = format!("test: in part: {reason}");
            if !lines.contains(&line) {
                lines.push(line);
            }
        } else {
            lines.push(format!("test: SKIPPED {test}: {reason}"));
            count += 1;
        }
    }
    (lines, count)
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn whole_tests_are_counted_and_parts_are_listed_once() {
        let (lines, count) =
            summary("skipped\ta::b\tno spike\npart\tc\tno clang\npart\td\tno clang\nskipped\te\tno gcc\n");
        assert_eq!(count, 2);
        assert_eq!(lines, ["test: SKIPPED a::b: no spike", "test: in part: no clang", "test: SKIPPED e: no gcc"]);
        assert_eq!(summary(""), (vec![], 0));
    }
}
