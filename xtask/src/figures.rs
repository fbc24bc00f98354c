//! `figures`: fills the figure tables of README and docs from `docs/figures.json`.
//!
//! `docs/figures.toml` declares the tables: columns and rows, whose cells name figures of the report by their dotted keys.
//! A page takes a table between two markers, and everything between them is replaced:
//!
//! ```text
//! <!-- figures: NAME -->
//! <!-- end of figures -->
//! ```
//!
//! A placeholder is `{key}`, or `{key:N}` with N decimals. `{budget.FAMILY.BLOCK.FIGURE}` is a bound of `xtask/budgets.toml`.
//! `{synth.FAMILY.BLOCK.FIGURE}` is a row of the synthesis, of any block; other keys are those of `report.json`, and of a report
//! on another configuration than `alveo` with its name before them, as `{alveo32.throughput.put_8_packets_per_cycle}`. Figures of
//! fuzzing, `{trust.fuzz_…}`, are those of `docs/fuzz.json`, with their own commits. `{hpu.clock_times_ipc_gain}` follows from others.
//!
//! A table with `each = "KEY"` has its rows once for each figure below the key: `*` in a row is the figure's name, and the
//! row of the sum, `all`, is the last.

use crate::fuzz;
use crate::process::program;
use crate::timing::delays::{Base, Delays};
use anyhow::{bail, ensure, Context, Result};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const TABLES: &str = "docs/figures.toml";
const FIGURES: &str = "docs/figures.json";
const BUDGETS: &str = "xtask/budgets.toml";
/// The configuration whose figures have no name before their keys.
const CONFIGURATION: &str = "alveo";
const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end of figures -->";

/// What is filled, and from where.
#[derive(Args)]
pub struct Options {
    /// Take new figures from this report first; figures that it does not have keep their value and their commit.
    #[arg(long, value_name = "report.json")]
    from: Option<PathBuf>,
    /// Commit at which the report was measured; the present one if absent.
    #[arg(long, requires = "from")]
    commit: Option<String>,
    /// Change nothing; fail if a page differs from what it would be.
    #[arg(long, conflicts_with = "from")]
    check: bool,
    /// Run every use case instead, on one or two points of each mode and configuration `sim`: each is compared with its model.
    #[arg(long, conflicts_with_all = ["from", "check", "measure"])]
    quick: bool,
    /// Measure every figure of the use cases instead, and write docs/figures (up to 2 hours).
    #[arg(long, conflicts_with_all = ["from", "check"])]
    measure: bool,
}

impl Options {
    /// Fills the tables from the figures that are there.
    pub fn fill() -> Self {
        Self { check: false, from: None, commit: None, quick: false, measure: false }
    }

    /// The use cases, as `cargo xtask test` runs them.
    pub fn quick() -> Self {
        Self { quick: true, ..Self::fill() }
    }

    /// What `cargo xtask test` asks for.
    pub fn check() -> Self {
        Self { check: true, ..Self::fill() }
    }
}

/// `docs/figures.toml`.
#[derive(Deserialize)]
struct Declarations {
    table: Vec<Table>,
}

/// One table. The last column names the evidence; an older figure adds its commit there.
#[derive(Deserialize)]
struct Table {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The rows are there for each figure below this key.
    #[serde(default)]
    each: Option<String>,
}

/// What keys of fuzzing begin with.
const FUZZ: &str = "trust.fuzz_";

/// `docs/figures.json`: the figures that tables use.
#[derive(Default, Serialize, Deserialize)]
struct Figures {
    /// Commit of the last report.
    commit: String,
    /// Figures that the last report did not have, and the commit at which they were measured.
    older: BTreeMap<String, String>,
    figures: BTreeMap<String, Number>,
}

/// Fills the tables. `false` if a page is out of date (`--check`).
pub fn run(options: &Options) -> Result<bool> {
    if options.quick || options.measure {
        let arguments: &[&str] =
            if options.quick { &["all", "--quick", "--config", "sim"] } else { &["all", "--figure"] };
        return Ok(program("spindle-use-cases", "spindle-use-cases").args(arguments).status()?.success());
    }
    let read = |path: &str| std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
    let declarations: Declarations = toml::from_str(&read(TABLES)?).with_context(|| format!("{TABLES} is wrong"))?;
    let budgets: toml::Table = toml::from_str(&read(BUDGETS)?).with_context(|| format!("{BUDGETS} is wrong"))?;
    let mut figures: Figures = serde_json::from_str(&read(FIGURES)?).with_context(|| format!("{FIGURES} is wrong"))?;
    if let Some(path) = &options.from {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let report: Value = serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?;
        let commit = options.commit.clone().map_or_else(present_commit, Ok)?;
        figures.update(&report, &commit, &declarations.keys());
        std::fs::write(FIGURES, serde_json::to_string_pretty(&figures)? + "\n")?;
    }
    figures.add_fuzzing(&fuzz::Results::load()?);
    figures.add_gain(&Delays::load()?.base);
    let mut rendered = BTreeMap::new();
    for table in &declarations.table {
        let text = table.render(&figures, &budgets).with_context(|| format!("table `{}` of {TABLES}", table.name))?;
        rendered.insert(table.name.as_str(), text);
    }
    let mut stale = Vec::new();
    let mut used = BTreeSet::new();
    for path in pages()? {
        let text = std::fs::read_to_string(&path)?;
        let filled = fill(&text, &rendered, &mut used).with_context(|| path.display().to_string())?;
        if filled != text {
            if !options.check {
                std::fs::write(&path, filled)?;
            }
            stale.push(path);
        }
    }
    if let Some(unused) = rendered.keys().find(|name| !used.contains(**name)) {
        bail!("no page has the table `{unused}` of {TABLES}");
    }
    for path in &stale {
        let what = if options.check { "is out of date; run `cargo xtask figures`" } else { "filled" };
        println!("figures: {}: {what}", path.display());
    }
    println!("figures: {} tables, {} figures of commit {}", rendered.len(), figures.figures.len(), figures.commit);
    Ok(!options.check || stale.is_empty())
}

impl Declarations {
    /// Every figure that a table names.
    fn keys(&self) -> BTreeSet<String> {
        let cells = self.table.iter().flat_map(|table| table.rows.iter().flatten());
        let keys = cells.flat_map(|cell| placeholders(cell)).map(|(_, key, _)| key.to_string());
        keys.filter(|key| !key.starts_with("budget.") && !key.starts_with(FUZZ) && key != Base::GAIN).collect()
    }
}

impl Table {
    /// The rows, once for each figure where this is asked for.
    fn rows(&self, figures: &Figures) -> Vec<Vec<String>> {
        let Some(each) = &self.each else { return self.rows.clone() };
        let prefix = format!("{each}.");
        let names = figures.figures.keys().filter_map(|key| key.strip_prefix(&prefix));
        let (sum, names): (Vec<&str>, Vec<&str>) = names.partition(|name| *name == "all");
        let row = |name: &str| {
            let cells = move |row: &Vec<String>| row.iter().map(|cell| cell.replace('*', name)).collect::<Vec<_>>();
            self.rows.iter().map(cells).collect::<Vec<_>>()
        };
        names.into_iter().chain(sum).flat_map(row).collect()
    }

    fn render(&self, figures: &Figures, budgets: &toml::Table) -> Result<String> {
        let mut text = format!("| {} |\n|{}\n", self.columns.join(" | "), "---|".repeat(self.columns.len()));
        let mut fresh = 0;
        let rows = self.rows(figures);
        for row in &rows {
            ensure!(row.len() == self.columns.len(), "the row `{}` has {} cells", row.join(" | "), row.len());
            let mut cells = Vec::new();
            let mut older = BTreeSet::new();
            for cell in row {
                cells.push(render_cell(cell, figures, budgets, &mut older)?);
            }
            fresh += usize::from(older.is_empty());
            if let (Some(last), false) = (cells.last_mut(), older.is_empty()) {
                let commits = older.into_iter().collect::<Vec<_>>().join(", ");
                let separator = if last.is_empty() { "" } else { "; " };
                *last += &format!("{separator}measured at {commits}");
            }
            text += &format!("| {} |\n", cells.join(" | "));
        }
        let rest = if fresh == rows.len() { "" } else { ", except where a row names another" };
        if fresh > 0 {
            text += &format!("\nMeasured at commit {}{rest}.\n", figures.commit);
        }
        Ok(text)
    }
}

/// A cell with its placeholders replaced; commits of older figures go to `older`.
fn render_cell(cell: &str, figures: &Figures, budgets: &toml::Table, older: &mut BTreeSet<String>) -> Result<String> {
    let mut text = String::new();
    let mut end = 0;
    for (range, key, decimals) in placeholders(cell) {
        text += &cell[end..range.start];
        end = range.end;
        let value = match key.strip_prefix("budget.") {
            Some(bound) => budget(budgets, bound)?,
            None => {
                older.extend(figures.older.get(key).cloned());
                let number = figures.figures.get(key).with_context(|| format!("{FIGURES} has no figure `{key}`"))?;
                number.as_f64().with_context(|| format!("`{key}` is no number"))?
            }
        };
        text += &format_number(value, decimals);
    }
    Ok(text + &cell[end..])
}

/// The placeholders of a cell: where each stands, its key, and its number of decimals.
fn placeholders(cell: &str) -> Vec<(std::ops::Range<usize>, &str, Option<usize>)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = cell[from..].find('{').map(|at| from + at) {
        let Some(end) = cell[start..].find('}').map(|at| start + at) else { break };
        let inner = &cell[start + 1..end];
        let (key, decimals) = match inner.rsplit_once(':') {
            Some((key, decimals)) => (key, decimals.parse().ok()),
            None => (inner, None),
        };
        found.push((start..end + 1, key, decimals));
        from = end + 1;
    }
    found
}

/// The most specific bound: `[family.block]`, then `[block.name]`, then `[default]`.
fn budget(budgets: &toml::Table, bound: &str) -> Result<f64> {
    let parts: Vec<&str> = bound.split('.').collect();
    let [family, block, figure] = parts[..] else { bail!("`budget.{bound}` is not budget.FAMILY.BLOCK.FIGURE") };
    let specific = budgets.get(family).and_then(|table| table.get(block)?.get(figure));
    let value = specific
        .or_else(|| budgets.get("block")?.get(block)?.get(figure))
        .or_else(|| budgets.get("default")?.get(figure))
        .with_context(|| format!("{BUDGETS} has no bound `{bound}`"))?;
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
    number.with_context(|| format!("`{bound}` of {BUDGETS} is no number"))
}

/// A number with thousands separated. Without a number of decimals, integers have none and others two, trailing zeros cut.
fn format_number(value: f64, decimals: Option<usize>) -> String {
    let text = match decimals {
        Some(decimals) => format!("{value:.decimals$}"),
        None => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_string(),
    };
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

impl Figures {
    /// Adds the figures of fuzzing, which have a file of their own.
    fn add_fuzzing(&mut self, results: &fuzz::Results) {
        let mut found = BTreeMap::new();
        flatten("trust", &Value::Object(results.figures()), &mut found);
        for (key, number) in found {
            let commits = results.commits(key.rsplit('.').next().unwrap_or_default());
            let older: Vec<&str> = commits.into_iter().filter(|commit| *commit != self.commit).collect();
            if !older.is_empty() {
                self.older.insert(key.clone(), older.join(", "));
            }
            self.figures.insert(key, number);
        }
    }

    /// Adds what follows from a period and cycles per instruction, which different commands measure.
    fn add_gain(&mut self, base: &Base) {
        let gain = base.gain(|key| self.figures.get(key)?.as_f64());
        let Some(gain) = gain.and_then(Number::from_f64) else { return };
        let commits: BTreeSet<&String> = base.inputs().filter_map(|(key, _)| self.older.get(&key)).collect();
        if !commits.is_empty() {
            let commits: Vec<String> = commits.into_iter().cloned().collect();
            self.older.insert(Base::GAIN.into(), commits.join(", "));
        }
        self.figures.insert(Base::GAIN.into(), gain);
    }

    /// Takes the figures `keys` of a report that was measured at `commit`. What the report lacks stays, with its own commit.
    fn update(&mut self, report: &Value, commit: &str, keys: &BTreeSet<String>) {
        let mut found = BTreeMap::new();
        if let Some(object) = report.as_object() {
            let groups = ["measured", "missing", "synthesis", "place_and_route"];
            let tree: Map<String, Value> =
                object.clone().into_iter().filter(|(key, _)| !groups.contains(&key.as_str())).collect();
            let prefix = report["config"]["name"].as_str().filter(|name| *name != CONFIGURATION).unwrap_or_default();
            flatten(prefix, &Value::Object(tree), &mut found);
        }
        for row in report["synthesis"]["rows"].as_array().into_iter().flatten() {
            if let (Some(family), Some(block)) = (row["family"].as_str(), row["block"].as_str()) {
                flatten(&format!("synth.{family}.{block}"), row, &mut found);
            }
        }
        let before = std::mem::replace(&mut self.commit, commit.into());
        let mut figures = BTreeMap::new();
        let mut older = BTreeMap::new();
        for key in keys {
            if let Some(number) = found.remove(key) {
                figures.insert(key.clone(), number);
            } else if let Some(number) = self.figures.remove(key) {
                older.insert(key.clone(), self.older.remove(key).unwrap_or_else(|| before.clone()));
                figures.insert(key.clone(), number);
            }
        }
        older.retain(|_, measured| measured != commit);
        (self.figures, self.older) = (figures, older);
    }
}

/// The numbers of a tree, by dotted keys.
fn flatten(prefix: &str, value: &Value, found: &mut BTreeMap<String, Number>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&key, value, found);
            }
        }
        Value::Number(number) => _ = found.insert(prefix.into(), number.clone()),
        _ => (),
    }
}

/// A page with its tables filled; names of the tables that it has go to `used`.
fn fill(page: &str, tables: &BTreeMap<&str, String>, used: &mut BTreeSet<String>) -> Result<String> {
    let mut text = String::new();
    let mut rest = page;
    while let Some(start) = rest.find(BEGIN) {
        let line_end = rest[start..].find('\n').map(|at| start + at + 1).context("a marker ends the page")?;
        let marker = rest[start + BEGIN.len()..line_end].trim_end();
        let name = marker.strip_suffix("-->").context("a marker of figures is not closed in its line")?.trim();
        let table = tables.get(name).with_context(|| format!("{TABLES} has no table `{name}`"))?;
        let end = rest[line_end..].find(END).map(|at| line_end + at);
        let end = end.with_context(|| format!("the table `{name}` has no `{END}`"))?;
        used.insert(name.into());
        text += &rest[..line_end];
        text += &format!("\n{table}\n");
        rest = &rest[end..];
    }
    Ok(text + rest)
}

/// README and every page of docs that is written by hand.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![PathBuf::from("README.md")];
    markdown(Path::new("docs"), &mut pages)?;
    Ok(pages)
}

fn markdown(folder: &Path, pages: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            markdown(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    Ok(())
}

/// The short hash of the checked-out commit.
pub fn present_commit() -> Result<String> {
    let output = Command::new("git").args(["rev-parse", "--short=7", "HEAD"]).output().context("cannot run `git`")?;
    ensure!(output.status.success(), "git knows no commit here; name it with --commit");
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table(cell: &str) -> Table {
        Table {
            name: "t".into(),
            columns: vec!["figure".into(), "evidence".into()],
            rows: vec![vec![cell.into(), "simulated".into()]],
            each: None,
        }
    }

    #[test]
    fn numbers_have_separators_and_decimals() {
        let texts =
            [(7.0, None), (110_982.0, None), (2.384, None), (2.0, Some(2)), (1_234.5, Some(1)), (-1_000.0, None)];
        let texts = texts.map(|(value, decimals)| format_number(value, decimals));
        assert_eq!(texts, ["7", "110,982", "2.38", "2.00", "1,234.5", "-1,000"]);
    }

    #[test]
    fn a_report_replaces_figures_and_older_ones_keep_their_commit() {
        let mut figures = Figures { commit: "old".into(), ..Default::default() };
        figures.figures.extend([("a.b".into(), 1.into()), ("hpu.bench".into(), 2.into())]);
        let report = json!({
            "a": {"b": 3}, "hpu": {"bench": null}, "measured": {"a.b": "counted"},
            "synthesis": {"rows": [{"block": "alu", "family": "xcup", "lut": 9, "levels": 5}]}
        });
        let keys = ["a.b", "hpu.bench", "synth.xcup.alu.lut"].map(String::from).into();
        figures.update(&report, "new", &keys);
        assert_eq!(figures.figures["a.b"], 3.into());
        assert_eq!(figures.figures["synth.xcup.alu.lut"], 9.into());
        assert_eq!((figures.commit.as_str(), figures.older["hpu.bench"].as_str()), ("new", "old"));
        let mut table = table("{a.b} of {hpu.bench:1}");
        let rows = table.render(&figures, &toml::Table::new()).unwrap();
        assert!(rows.ends_with("| 3 of 2.0 | simulated; measured at old |\n"), "{rows}");
        table.rows.push(vec!["{a.b}".into(), String::new()]);
        let rows = table.render(&figures, &toml::Table::new()).unwrap();
        assert!(rows.contains("Measured at commit new, except where a row names another."), "{rows}");
    }

    #[test]
    fn figures_of_another_configuration_have_its_name() {
        let mut figures = Figures::default();
        let keys: BTreeSet<String> = ["a.b", "alveo32.a.b"].map(String::from).into();
        for (name, value) in [("alveo", 1), ("alveo32", 2)] {
            figures.update(&json!({"config": {"name": name}, "a": {"b": value}}), name, &keys);
        }
        assert_eq!((&figures.figures["a.b"], &figures.figures["alveo32.a.b"]), (&1.into(), &2.into()));
        assert_eq!(figures.older["a.b"], "alveo");
    }

    #[test]
    fn unknown_figures_tables_and_open_markers_are_errors() {
        let figures = Figures::default();
        let error = table("{no.such}").render(&figures, &toml::Table::new()).unwrap_err();
        assert!(error.to_string().contains("no.such"), "{error:#}");
        let mut used = BTreeSet::new();
        let tables = BTreeMap::from([("t", "| x |\n".to_string())]);
        let page = "a\n<!-- figures: t -->\nold\n<!-- end of figures -->\nb\n";
        let filled = fill(page, &tables, &mut used).unwrap();
        assert_eq!(filled, "a\n<!-- figures: t -->\n\n| x |\n\n<!-- end of figures -->\nb\n");
        assert_eq!(fill(&filled, &tables, &mut used).unwrap(), filled);
        assert!(fill("<!-- figures: u -->\n<!-- end of figures -->\n", &tables, &mut used).is_err());
        assert!(fill("<!-- figures: t -->\nopen\n", &tables, &mut used).is_err());
    }

    #[test]
    fn a_table_has_a_row_for_each_figure_and_the_sum_last() {
        let mut figures = Figures { commit: "new".into(), ..Default::default() };
        for (key, number) in [("a.all", 9), ("a.x", 4), ("a.y", 5), ("b.x", 1), ("b.y", 2), ("b.all", 3), ("ab.z", 7)] {
            figures.figures.insert(key.into(), number.into());
        }
        figures.older.insert("b.y".into(), "old".into());
        let row = ["`*`", "{a.*} of {b.*}"].map(String::from).to_vec();
        let table = Table { each: Some("a".into()), rows: vec![row], ..table("") };
        let rows = table.render(&figures, &toml::Table::new()).unwrap();
        let wanted = "| `x` | 4 of 1 |\n| `y` | 5 of 2; measured at old |\n| `all` | 9 of 3 |\n";
        assert!(rows.contains(wanted), "{rows}");
    }

    #[test]
    fn figures_of_fuzzing_keep_their_commits() {
        let results: fuzz::Results = serde_json::from_value(json!({"parsers": {
            "pcap": {"cases": 5, "taken": 2, "seconds": 1.0, "commit": "old"},
            "rule": {"cases": 6, "taken": 2, "seconds": 1.0, "commit": "new"},
        }}))
        .unwrap();
        let mut figures = Figures { commit: "new".into(), ..Default::default() };
        figures.add_fuzzing(&results);
        assert_eq!(figures.figures["trust.fuzz_cases.all"], 11.into());
        let of = |parser: &str| figures.older.get(&format!("trust.fuzz_taken.{parser}")).map(String::as_str);
        assert_eq!((of("pcap"), of("rule"), of("all")), (Some("old"), None, Some("old")));
    }

    #[test]
    fn the_gain_follows_from_period_and_cycles_per_instruction() {
        let base = Base { commit: "base".into(), period_ns: 4.0, cpi: [("a".into(), 1.2), ("b".into(), 3.0)].into() };
        let mut figures = Figures { commit: "new".into(), ..Figures::default() };
        let number = |value: f64| Number::from_f64(value).unwrap();
        figures.figures.insert("timing.xcup.cluster.period_ns".into(), number(2.0));
        figures.figures.insert("hpu.cpi.a".into(), number(1.2));
        figures.add_gain(&base);
        assert!(!figures.figures.contains_key(Base::GAIN), "a kernel is missing");
        figures.figures.insert("hpu.cpi.b".into(), number(12.0));
        figures.older.insert("hpu.cpi.b".into(), "old".into());
        figures.add_gain(&base);
        // Twice the clock, and the root of one and a quarter.
        assert_eq!((figures.figures[Base::GAIN].as_f64(), figures.older[Base::GAIN].as_str()), (Some(1.0), "old"));
    }

    #[test]
    fn the_most_specific_budget_counts() {
        let budgets =
            toml::from_str("[default]\nlevels = 11\n[block.hpu]\nlevels = 12\n[xcup.hpu]\nlut = 2700\n").unwrap();
        assert_eq!(budget(&budgets, "xcup.hpu.lut").unwrap(), 2700.0);
        assert_eq!(budget(&budgets, "xcup.hpu.levels").unwrap(), 12.0);
        assert_eq!(budget(&budgets, "xc7.nic.levels").unwrap(), 11.0);
        assert!(budget(&budgets, "xcup.hpu.uram").is_err());
    }
}
