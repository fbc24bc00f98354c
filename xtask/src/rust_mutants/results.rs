//! `docs/rust-mutants.json`: what became of every mutant that ran, and the page and the figures that are made of it.

use super::sample::key;
use super::PARTS;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

const FILE: &str = "docs/rust-mutants.json";
const PAGE: &str = "docs/rust-mutants.md";
const HEAD: &str = "\
# Mutants of the Rust sources

`cargo xtask rust-mutants` changes the sources of contract, driver and back end in small ways and runs the tests against each
change ([cargo-mutants](https://mutants.rs)): an operator, a function's result, an arm of a `match`. A mutant is *caught* if a
test fails or does not end. Any other mutant has *survived*, though it may be equivalent. What does not compile does not count.

* A seed draws 200 mutants of each part; the draw changes only where the sources do.
* A result stands until the function changes. `--survivors` runs the mutants again that have survived.
* Every mutant that ran is in [rust-mutants.json](rust-mutants.json). This page is generated of it.

";

/// All results, by part.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    pub parts: BTreeMap<String, Vec<Kept>>,
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub file: String,
    pub what: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ordinal: usize,
    /// Of the text that it changes.
    pub hash: String,
    /// Whether it belongs to the sample.
    pub drawn: bool,
    pub verdict: Verdict,
}

/// How the run of a mutant ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Caught,
    /// A test did not end in time.
    Late,
    Survived,
    /// It does not compile.
    Unviable,
}

/// Numbers of mutants of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub caught: usize,
    pub survived: usize,
}

impl Count {
    /// The caught share.
    pub fn score(self) -> f64 {
        crate::results::score(self.caught, self.survived)
    }
}

impl Kept {
    /// As that of the mutant.
    pub fn key(&self) -> String {
        key(&self.file, &self.what, self.ordinal)
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Results {
    /// Those of the repository; none if there is no file yet.
    pub fn load() -> Result<Results> {
        crate::results::load(FILE)
    }

    /// Writes the file and its page.
    pub fn save(&self) -> Result<()> {
        std::fs::write(FILE, self.text()?).with_context(|| format!("cannot write {FILE}"))?;
        std::fs::write(PAGE, self.page()).with_context(|| format!("cannot write {PAGE}"))
    }

    /// Whether the page is that of the file.
    pub fn page_is_current(&self) -> Result<bool> {
        Ok(std::fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))? == self.page())
    }

    /// JSON with one mutant a line.
    fn text(&self) -> Result<String> {
        let mut parts = Vec::new();
        for (name, mutants) in &self.parts {
            let lines = mutants.iter().map(|mutant| Ok(serde_json::to_string(mutant)?)).collect::<Result<Vec<_>>>()?;
            parts.push(format!("{}: [\n{}\n]", serde_json::to_string(name)?, lines.join(",\n")));
        }
        Ok(format!("{{\"parts\": {{\n{}\n}}}}\n", parts.join(",\n")))
    }

    /// The sample of a part, counted.
    pub fn count(&self, part: &str) -> Count {
        let mut count = Count::default();
        for mutant in self.parts.get(part).into_iter().flatten().filter(|mutant| mutant.drawn) {
            match mutant.verdict {
                Verdict::Caught | Verdict::Late => count.caught += 1,
                Verdict::Survived => count.survived += 1,
                Verdict::Unviable => (),
            }
        }
        count
    }

    fn page(&self) -> String {
        let mut page = format!("{HEAD}| part | crate | caught | survived | score |\n|---|---|---|---|---|\n");
        for part in PARTS {
            let count = self.count(part.name);
            if count != Count::default() {
                let (caught, survived) = (count.caught, count.survived);
                let row =
                    format!("| {} | `{}` | {caught} | {survived} | {:.3} |", part.name, part.package, count.score());
                let _ = writeln!(page, "{row}");
            }
        }
        page += "\n## Survivors\n\n| part | file | change |\n|---|---|---|\n";
        for (part, mutants) in &self.parts {
            for mutant in mutants.iter().filter(|mutant| mutant.drawn && mutant.verdict == Verdict::Survived) {
                let what = mutant.what.replace('|', "\\|");
                let _ = writeln!(page, "| {part} | [{0}](../{0}) | `{what}` |", mutant.file);
            }
        }
        page
    }

    /// The figures of each part.
    pub fn figures(&self) -> Value {
        let mut figures = json!({});
        for part in PARTS {
            let count = self.count(part.name);
            if count != Count::default() {
                figures[part.name.replace('-', "_")] =
                    json!({"caught": count.caught, "survived": count.survived, "score": count.score()});
            }
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let mutant = |what: &str, drawn, verdict| Kept {
            file: "src/a.rs".into(),
            what: what.into(),
            ordinal: 0,
            hash: "12".into(),
            drawn,
            verdict,
        };
        let mutants = vec![
            mutant("replace | with & in f", true, Verdict::Survived),
            mutant("b", true, Verdict::Caught),
            mutant("c", true, Verdict::Late),
            mutant("d", true, Verdict::Caught),
            mutant("e", true, Verdict::Unviable),
            mutant("f", false, Verdict::Survived),
        ];
        Results { parts: [("driver".into(), mutants)].into() }
    }

    #[test]
    fn what_is_written_is_read_back_with_one_mutant_a_line() {
        let text = results().text().unwrap();
        assert_eq!(text.lines().count(), 2 + 6 + 2, "{text}");
        assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results());
        assert_eq!(serde_json::from_str::<Results>(&Results::default().text().unwrap()).unwrap(), Results::default());
    }

    #[test]
    fn the_sample_is_counted_without_what_does_not_compile() {
        assert_eq!(results().count("driver"), Count { caught: 3, survived: 1 });
        let wanted = json!({"driver": {"caught": 3, "survived": 1, "score": 0.75}});
        assert_eq!(results().figures(), wanted);
    }

    #[test]
    fn the_page_names_the_survivors_of_the_sample() {
        let page = results().page();
        assert!(page.contains("| driver | `spindle` | 3 | 1 | 0.750 |"), "{page}");
        assert!(page.contains("| driver | [src/a.rs](../src/a.rs) | `replace \\| with & in f` |"), "{page}");
        assert!(!page.contains("`f`"), "{page}");
    }
}
