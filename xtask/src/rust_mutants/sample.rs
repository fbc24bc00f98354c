//! The list of all mutants of a part, and the order in which a seed draws them.

use super::results::{Kept, Verdict};
use anyhow::{Context, Result};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// A mutant of the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// As `cargo-mutants` calls it, with line and column.
    pub name: String,
    pub file: String,
    /// The change, without its place: "replace < with <= in f".
    pub what: String,
    /// How many equal changes stand before it in its file.
    pub ordinal: usize,
    /// Of the text of the function, or of the file if it is in none. A result stands until it changes.
    pub hash: String,
}

impl Mutant {
    /// What identifies it while lines move.
    pub fn key(&self) -> String {
        key(&self.file, &self.what, self.ordinal)
    }

    /// The line in which it begins.
    pub fn line(&self) -> Result<usize> {
        let line = self.name.split(':').nth(1).and_then(|line| line.parse().ok()).filter(|line| *line > 0);
        line.with_context(|| format!("`{}` names no line", self.name))
    }

    /// Its result.
    pub fn kept(&self, verdict: Verdict) -> Kept {
        let (file, what, hash) = (self.file.clone(), self.what.clone(), self.hash.clone());
        Kept { file, what, ordinal: self.ordinal, hash, drawn: true, verdict }
    }
}

/// What identifies a mutant while lines move.
pub fn key(file: &str, what: &str, ordinal: usize) -> String {
    format!("{file}: {what} #{ordinal}")
}

/// The mutants of a list of `cargo mutants --list --json`, whose sources lie in `tree`.
pub fn read(list: &str, tree: &Path) -> Result<Vec<Mutant>> {
    let list: Vec<Value> = serde_json::from_str(list).context("cargo-mutants gave no list")?;
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    list.iter()
        .map(|entry| {
            let text =
                |name: &str| entry[name].as_str().map(String::from).with_context(|| format!("a mutant has no {name}"));
            let (name, file) = (text("name")?, text("file")?);
            let what = name.splitn(4, ':').nth(3).context("a mutant's name has no place")?.trim().to_string();
            if !texts.contains_key(&file) {
                let source =
                    std::fs::read_to_string(tree.join(&file)).with_context(|| format!("cannot read {file}"))?;
                texts.insert(file.clone(), source);
            }
            let hash = hash(&part_of(&texts[&file], &entry["function"]["span"]));
            let ordinal = seen.entry((file.clone(), what.clone())).and_modify(|count| *count += 1).or_default();
            Ok(Mutant { name, file, what, ordinal: *ordinal, hash })
        })
        .collect()
}

/// The lines of a span, or all.
fn part_of(text: &str, span: &Value) -> String {
    let line = |end: &str| span[end]["line"].as_u64().map(|line| line as usize);
    match (line("start"), line("end")) {
        (Some(first), Some(last)) => {
            text.lines().skip(first.saturating_sub(1)).take(last + 1 - first).collect::<Vec<_>>().join("\n")
        }
        _ => text.into(),
    }
}

/// In the order in which `seed` draws them; a change of the sources elsewhere leaves the order of the rest.
pub fn ordered(mut mutants: Vec<Mutant>, seed: u64) -> Vec<Mutant> {
    mutants.sort_by_cached_key(|mutant| hash(&format!("{seed} {}", mutant.key())));
    mutants
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "fn f(a: u8) -> bool {\n    a < 3 || a < 5\n}\nconst N: u8 = 1;\n";

    fn list(shift: usize) -> String {
        let entry = |line: usize, column: usize, function: &str| {
            format!(
                r#"{{"name": "src/a.rs:{line}:{column}: replace < with > in f", "file": "src/a.rs", "function": {function}}}"#
            )
        };
        let span = format!(r#"{{"span": {{"start": {{"line": {}}}, "end": {{"line": {}}}}}}}"#, 1 + shift, 3 + shift);
        format!("[{}, {}, {}]", entry(2 + shift, 7, &span), entry(2 + shift, 16, &span), entry(4 + shift, 1, "null"))
    }

    fn mutants(source: &str, shift: usize) -> Vec<Mutant> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/a.rs"), source).unwrap();
        read(&list(shift), folder.path()).unwrap()
    }

    #[test]
    fn equal_changes_are_told_apart_and_lines_may_move() {
        let first = mutants(SOURCE, 0);
        assert_eq!(first.iter().map(|mutant| mutant.ordinal).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(first[0].what, "replace < with > in f");
        let moved = mutants(&format!("\n{SOURCE}"), 1);
        let same = |a: &Mutant, b: &Mutant| a.key() == b.key() && a.hash == b.hash;
        assert!(same(&first[0], &moved[0]) && same(&first[1], &moved[1]));
        assert!(!same(&first[2], &moved[2]), "a mutant outside of functions is one of the whole file");
        let changed = mutants(&SOURCE.replace("|| a", "| a"), 0);
        assert!(!same(&first[0], &changed[0]));
    }

    #[test]
    fn a_seed_draws_an_order_that_others_do_not_change() {
        let all = mutants(SOURCE, 0);
        let order = |seed, mutants: &[Mutant]| -> Vec<String> {
            ordered(mutants.to_vec(), seed).iter().map(Mutant::key).collect()
        };
        assert_eq!(order(1, &all), order(1, &[all[2].clone(), all[0].clone(), all[1].clone()]));
        let without: Vec<String> = order(1, &all).into_iter().filter(|key| *key != all[1].key()).collect();
        assert_eq!(order(1, &[all[0].clone(), all[2].clone()]), without);
        assert!((2..20).any(|seed| order(seed, &all) != order(1, &all)));
    }

    #[test]
    fn a_list_that_is_none_is_an_error() {
        assert!(read("error: no", Path::new(".")).is_err());
        assert!(read(r#"[{"name": "a.rs", "file": "a.rs"}]"#, Path::new(".")).is_err());
    }
}
