//! `xtask/mutants.toml`: the blocks whose mutants run, and the tests of each.

use anyhow::{bail, Context, Result};
use regex::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;

const FILE: &str = "xtask/mutants.toml";

/// The whole table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Modules that stay boxes in every other block, as regular expressions of the whole name: memories and queues.
    #[serde(default)]
    boxes: Vec<String>,
    #[serde(default)]
    pub engine: BTreeMap<String, Engine>,
    #[serde(default)]
    pub block: Vec<Block>,
    #[serde(default)]
    pub survivor: Vec<Survivor>,
}

/// Why no test can notice a mutant, although there is no proof that nothing changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survivor {
    pub block: String,
    /// As docs/mutants.json has them.
    pub what: String,
    pub at: String,
    pub reason: String,
}

/// What the blocks of an engine have in common.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Tests of larger designs, which run the mutants that survive a block's own tests.
    pub broad: Vec<String>,
}

/// A block with tests.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Entry")]
pub struct Block {
    pub name: String,
    pub engine: String,
    /// The Verilog module.
    pub module: String,
    /// How the names of its own tests begin.
    pub tests: Vec<String>,
    /// Modules that are no boxes here although they are elsewhere.
    pub own: Vec<String>,
    /// Blocks of the same group stand in the same models, which are compiled once for all of them.
    pub group: String,
    /// So many times the usual number of mutants.
    pub times: usize,
}

/// A block as the table has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    engine: String,
    /// The block's name if absent.
    module: Option<String>,
    tests: Vec<String>,
    #[serde(default)]
    own: Vec<String>,
    /// The block's name if absent.
    group: Option<String>,
    /// 1 if absent.
    times: Option<usize>,
}

impl From<Entry> for Block {
    fn from(Entry { name, engine, module, tests, own, group, times }: Entry) -> Block {
        let or_name = |given: Option<String>| given.unwrap_or_else(|| name.clone());
        Block { module: or_name(module), group: or_name(group), times: times.unwrap_or(1), name, engine, tests, own }
    }
}

impl Table {
    /// Reads the table of the checkout.
    pub fn load() -> Result<Table> {
        let text = std::fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
        let table: Table = toml::from_str(&text).with_context(|| format!("{FILE} is wrong"))?;
        for block in &table.block {
            if table.block.iter().filter(|other| other.name == block.name).count() > 1 {
                bail!("{FILE} has the block `{}` twice; give one of them another name", block.name);
            }
            if !table.engine.contains_key(&block.engine) {
                bail!("{FILE} has no [engine.{}], which the block `{}` names", block.engine, block.name);
            }
        }
        Ok(table)
    }

    /// The blocks of these names, by groups; all if there is none.
    pub fn find(&self, names: &[String]) -> Result<Vec<Vec<&Block>>> {
        if let Some(name) = names.iter().find(|name| self.block.iter().all(|block| block.name != **name)) {
            let known: Vec<&str> = self.block.iter().map(|block| block.name.as_str()).collect();
            bail!("{FILE} has no block `{name}`; it has {}", known.join(", "));
        }
        let mut groups: Vec<Vec<&Block>> = Vec::new();
        for block in self.block.iter().filter(|block| names.is_empty() || names.contains(&block.name)) {
            match groups.iter_mut().find(|group| group[0].group == block.group) {
                Some(group) => group.push(block),
                None => groups.push(vec![block]),
            }
        }
        Ok(groups)
    }

    /// Whether a module stays a box in `block`: it has tests of its own, perhaps in another shape.
    pub fn is_box(&self, module: &str, block: &Block) -> bool {
        let whole =
            |pattern: &String| Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|regex| regex.is_match(module));
        module != block.module
            && !block.own.iter().any(|own| own == module)
            && (self.block.iter().any(|other| other.module == module || other.name == module)
                || self.boxes.iter().any(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_group_are_found_together() {
        let block =
            |name: &str, more: &str| format!("[[block]]\nname = '{name}'\nengine = 'e'\ntests = ['t']\n{more}\n");
        let text = block("a", "group = 'g'") + &block("b", "own = ['c']") + &block("c", "group = 'g'");
        let table: Table = toml::from_str(&text).unwrap();
        let names = |wanted: &[String]| -> Vec<Vec<String>> {
            let groups = table.find(wanted).unwrap();
            groups.iter().map(|group| group.iter().map(|block| block.name.clone()).collect()).collect()
        };
        assert_eq!(names(&[]), [vec!["a", "c"], vec!["b"]]);
        assert_eq!(names(&["c".into()]), [["c"]]);
        assert!(table.is_box("c", &table.block[0]) && !table.is_box("c", &table.block[1]));
    }

    #[test]
    fn the_projects_table_is_readable() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
        let table = Table::load().unwrap();
        assert!(table.boxes.iter().all(|pattern| Regex::new(pattern).is_ok()));
        assert!(table.block.iter().all(|block| !block.tests.is_empty()));
        assert!(table.find(&["no_such_block".into()]).unwrap_err().to_string().contains("no_such_block"));
    }
}
