//! `docs/mutants.json`: what became of every mutant, and the page and the figures that are made of it.

use super::list::Mutation;
use super::table::Survivor;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

const FILE: &str = "docs/mutants.json";
const PAGE: &str = "docs/mutants.md";
const HEAD: &str = "\
# Mutants of the emitted design

`cargo xtask mutants` changes the emitted Verilog of each block in small ways and runs the tests against each change. A
mutant is *caught* if a test fails. It is *equivalent* if yosys proves that nothing changes: with the registers cut, or by
induction from a reset. Any other mutant has *survived*. The score is the caught share of those that are not equivalent.

* yosys samples mutations (`mutate -list`): a bit constant, inverted, or inverted if another bit has a value. All
  mutants of a block are one netlist, so that the model is compiled once, and `SPINDLE_MUTANT` chooses.
* `xtask/mutants.toml` lists the blocks and their tests. A module that has tests of its own is a box in all other
  blocks. The block's own tests run first, the quick ones before others; what survives also runs in larger designs.
* A result stands until the Verilog of its block changes. `cargo xtask test` runs a sample of what was caught, another
  one for each commit, and names the blocks whose Verilog has changed since; `cargo xtask mutants --stale` lists them too.
* `cargo xtask mutants --block NAME` runs a block again, `-n N` with more mutants, `--seed S` with others. Every mutant
  with the test that caught it is in [mutants.json](mutants.json). This page is generated of it.
* A survivor is a missing test, or has its reason in `xtask/mutants.toml`. A reason of a mutant that is caught is refused.
";

/// All results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    pub blocks: BTreeMap<String, BlockResult>,
}

/// Those of a block. They stand until the Verilog of the block changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockResult {
    pub engine: String,
    /// Of the Verilog of the block's own modules.
    pub hash: String,
    /// The yosys that listed the mutations, its seed, and how many were wanted.
    pub tool: String,
    pub seed: u64,
    pub wanted: usize,
    /// Until the model with all mutants was compiled and the first test had run, and for all.
    pub build_seconds: u64,
    pub seconds: u64,
    pub mutants: Vec<Mutant>,
}

/// One mutant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mutant {
    pub what: String,
    /// Line of the Verilog.
    pub at: String,
    /// The Rust source of that module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rust: Option<String>,
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// By this test.
    Caught(String),
    /// No test failed, and there is no proof that nothing changes; with the reason, if it is known.
    Survived(String),
    /// Nothing changes; how this was proved.
    Equivalent(String),
}

impl Mutant {
    /// Whether this is the mutation.
    pub fn is(&self, mutation: &Mutation) -> bool {
        (self.what.as_str(), self.at.as_str()) == (&*mutation.what(), mutation.at())
    }
}

/// Numbers of mutants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub caught: usize,
    pub survived: usize,
    pub equivalent: usize,
}

impl Count {
    fn of<'a>(mutants: impl IntoIterator<Item = &'a Mutant>) -> Count {
        let mut count = Count::default();
        for mutant in mutants {
            match mutant.verdict {
                Verdict::Caught(_) => count.caught += 1,
                Verdict::Survived(_) => count.survived += 1,
                Verdict::Equivalent(_) => count.equivalent += 1,
            }
        }
        count
    }

    /// The caught share of those that are not proved equivalent.
    pub fn score(self) -> f64 {
        crate::results::score(self.caught, self.survived)
    }
}

impl BlockResult {
    pub fn count(&self) -> Count {
        Count::of(&self.mutants)
    }
}

impl Results {
    /// Those of the repository; none if there is no file yet.
    pub fn load() -> Result<Results> {
        crate::results::load(FILE)
    }

    /// Gives each survivor its reason; the reasons that are of none.
    pub fn explain(&mut self, reasons: &[Survivor]) -> Vec<String> {
        let mut used = vec![false; reasons.len()];
        for (name, block) in &mut self.blocks {
            for mutant in &mut block.mutants {
                let Verdict::Survived(reason) = &mut mutant.verdict else { continue };
                let found = reasons.iter().position(|r| (&r.block, &r.what, &r.at) == (name, &mutant.what, &mutant.at));
                *reason = found.map_or(String::new(), |index| reasons[index].reason.clone());
                found.into_iter().for_each(|index| used[index] = true);
            }
        }
        let stale = reasons.iter().zip(used).filter(|(_, used)| !used);
        stale.map(|(reason, _)| format!("{}: {} at {}", reason.block, reason.what, reason.at)).collect()
    }

    /// Writes the file and its page.
    pub fn save(&self) -> Result<()> {
        std::fs::write(FILE, self.text()?).with_context(|| format!("cannot write {FILE}"))?;
        std::fs::write(PAGE, self.page()).with_context(|| format!("cannot write {PAGE}"))
    }

    /// Whether the page is that of the file.
    pub fn page_is_current(&self) -> Result<bool> {
        let page = std::fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?;
        Ok(page == self.page())
    }

    /// JSON with one mutant a line.
    fn text(&self) -> Result<String> {
        let mut blocks = Vec::new();
        for (name, block) in &self.blocks {
            let lines =
                block.mutants.iter().map(|mutant| Ok(serde_json::to_string(mutant)?)).collect::<Result<Vec<_>>>()?;
            let head = serde_json::to_string(&BlockResult { mutants: vec![], ..block.clone() })?;
            let head = head.strip_suffix("[]}").context("the mutants are the last field")?;
            blocks.push(format!("{}: {head}[\n{}\n]}}", serde_json::to_string(name)?, lines.join(",\n")));
        }
        Ok(format!("{{\"blocks\": {{\n{}\n}}}}\n", blocks.join(",\n")))
    }

    /// The page: scores of engines and blocks, survivors, proofs.
    fn page(&self) -> String {
        let mut page =
            format!("{HEAD}\n## Scores\n\n| block | caught | survived | equivalent | score |\n|---|---|---|---|---|\n");
        let mut row = |name: &str, count: Count| {
            let Count { caught, survived, equivalent } = count;
            let _ = writeln!(page, "| {name} | {caught} | {survived} | {equivalent} | {:.3} |", count.score());
        };
        let engines = self.engines();
        row("**all**", Count::of(engines.values().flatten().copied()));
        for (name, mutants) in &engines {
            row(&format!("**{name}**"), Count::of(mutants.iter().copied()));
        }
        for (name, block) in &self.blocks {
            row(name, block.count());
        }
        let all =
            || self.blocks.iter().flat_map(|(name, block)| block.mutants.iter().map(move |mutant| (name, mutant)));
        page += "\n## Survivors\n\n| block | change | Verilog | Rust | reason |\n|---|---|---|---|---|\n";
        for (name, mutant) in all() {
            if let Verdict::Survived(reason) = &mutant.verdict {
                let rust =
                    mutant.rust.as_ref().map_or(String::new(), |path| format!("[{0}](../{path})", file_name(path)));
                let _ = writeln!(page, "| {name} | {} | {} | {rust} | {reason} |", mutant.what, mutant.at);
            }
        }
        page += "\n## Proved equal\n\n| block | change | Verilog | proof |\n|---|---|---|---|\n";
        for (name, mutant) in all() {
            if let Verdict::Equivalent(proof) = &mutant.verdict {
                let _ = writeln!(page, "| {name} | {} | {} | {proof} |", mutant.what, mutant.at);
            }
        }
        page
    }

    /// The mutants of each engine.
    fn engines(&self) -> BTreeMap<&str, Vec<&Mutant>> {
        let mut engines: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
        for block in self.blocks.values() {
            engines.entry(&block.engine).or_default().extend(&block.mutants);
        }
        engines
    }

    /// The figures: counts of each block, the score of each engine and of all.
    pub fn figures(&self) -> Value {
        let mut figures = json!({"mutants": {}, "engines": {}});
        let engines = self.engines();
        for (name, block) in &self.blocks {
            let Count { caught, survived, equivalent } = block.count();
            figures["mutants"][name] = json!({
                "caught": caught, "survived": survived, "equivalent": equivalent, "score": block.count().score()
            });
        }
        for (name, mutants) in &engines {
            let count = Count::of(mutants.iter().copied());
            figures["engines"][name.replace('-', "_")] = json!({
                "caught": count.caught, "survived": count.survived, "equivalent": count.equivalent, "score": count.score()
            });
        }
        let count = Count::of(engines.into_values().flatten());
        figures["caught"] = count.caught.into();
        figures["survived"] = count.survived.into();
        figures["equivalent"] = count.equivalent.into();
        figures["total"] = (count.caught + count.survived + count.equivalent).into();
        figures["score"] = count.score().into();
        figures
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let mutant = |verdict| Mutant {
            what: "inv of Y[0] of xor".into(),
            at: "a.sv:3".into(),
            rust: Some("x/src/a.rs".into()),
            verdict,
        };
        let caught = || mutant(Verdict::Caught("a::test".into()));
        let block = BlockResult {
            engine: "hpu-core".into(),
            hash: "12ab".into(),
            tool: "yosys".into(),
            seed: 1,
            wanted: 5,
            build_seconds: 3,
            seconds: 9,
            mutants: vec![
                caught(),
                caught(),
                caught(),
                mutant(Verdict::Survived("no reader".into())),
                mutant(Verdict::Equivalent("induction".into())),
            ],
        };
        Results { blocks: [("a".into(), block)].into() }
    }

    #[test]
    fn what_is_written_is_read_back_with_one_mutant_a_line() {
        let text = results().text().unwrap();
        assert_eq!(text.lines().count(), 2 + 5 + 2, "{text}");
        assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results());
        assert_eq!(serde_json::from_str::<Results>(&Results::default().text().unwrap()).unwrap(), Results::default());
    }

    #[test]
    fn an_equivalent_mutant_does_not_count_and_a_survivor_does() {
        let figures = results().figures();
        assert_eq!((&figures["score"], &figures["engines"]["hpu_core"]["score"]), (&json!(0.75), &json!(0.75)));
        assert_eq!((&figures["mutants"]["a"]["equivalent"], &figures["total"]), (&json!(1), &json!(5)));
    }

    #[test]
    fn a_survivor_has_the_reason_of_the_table_and_a_reason_of_another_mutant_is_stale() {
        let reason = |block: &str, at: &str, reason: &str| Survivor {
            block: block.into(),
            what: "inv of Y[0] of xor".into(),
            at: at.into(),
            reason: reason.into(),
        };
        let mut explained = results();
        let stale =
            explained.explain(&[reason("a", "a.sv:3", "new"), reason("a", "a.sv:4", ""), reason("b", "a.sv:3", "")]);
        assert_eq!(stale, ["a: inv of Y[0] of xor at a.sv:4", "b: inv of Y[0] of xor at a.sv:3"]);
        let verdicts = |results: &Results| -> Vec<Verdict> {
            results.blocks["a"].mutants.iter().map(|mutant| mutant.verdict.clone()).collect()
        };
        let mut wanted = verdicts(&results());
        wanted[3] = Verdict::Survived("new".into());
        assert_eq!(verdicts(&explained), wanted);
        // A reason that the table has no more is gone.
        assert!(explained.explain(&[]).is_empty());
        assert_eq!(verdicts(&explained)[3], Verdict::Survived(String::new()));
        for mutant in &mut explained.blocks.get_mut("a").unwrap().mutants {
            mutant.verdict = Verdict::Caught("a::test".into());
        }
        assert_eq!(explained.explain(&[reason("a", "a.sv:3", "new")]).len(), 1, "what is caught needs no reason");
    }

    #[test]
    fn the_page_lists_scores_and_survivors() {
        let first = results().page();
        assert!(first.contains("| a | inv of Y[0] of xor | a.sv:3 | [a.rs](../x/src/a.rs) | no reader |"), "{first}");
        let (all, engine) = (first.contains("| **all** | "), first.contains("| **hpu-core** | "));
        assert!(all && engine && first.contains("\n| a | "), "{first}");
        assert_ne!(Results::default().page(), first);
    }
}
