//! `timing`: an estimated period of every block, from its mapped netlist.
//!
//! Yosys maps a block as for `synth`, whose netlist is taken where it is kept. The longest path between registers is then
//! summed from the delays of cells and a delay per net that grows with the net's sinks (`timing.toml`). No placement is
//! known, so two constants of the nets stand for all wires; they are calibrated by cores whose routed results are published.
//!
//! Ports of a block are registers outside: a path may begin or end there. Those of the whole NIC, and of a core that is read
//! with `--verilog`, do not count. Packet engine, RVMA engine and clusters are boxes in the netlist of the whole NIC, as in
//! `synth`; each is known there by the times from its inputs to its registers and from its registers to its outputs.

pub mod delays;
mod graph;
mod model;
mod path;
#[cfg(test)]
mod tests;

use crate::blocks::{self, Block, WHOLE};
use crate::budgets::{Breach, Budgets};
use crate::netlist::{Module, Netlist};
use crate::process::{target_folder, two_at_a_time};
use crate::synth::{self, Yosys, FAMILIES, PARTS, QUICK};
use anyhow::{bail, ensure, Context, Result};
use clap::Args;
use delays::{Base, Delays, Family};
use graph::Graph;
use model::Model;
use path::{ns, Names, Path};
use serde::Serialize;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// What is estimated.
#[derive(Args, Default, Clone)]
pub struct Options {
    /// Only these families: xcup, xc7.
    #[arg(long)]
    family: Vec<String>,
    /// Only the blocks of these names.
    #[arg(long)]
    block: Vec<String>,
    /// Paths that are printed of each block: the longest of each pair of blocks in which paths begin and end.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    path: usize,
    /// Folder of already emitted blocks, or of one such folder for each configuration, instead of emitting them now.
    #[arg(long)]
    from: Option<PathBuf>,
    /// Only UltraScale+ and the blocks that `test` synthesises.
    #[arg(long)]
    quick: bool,
    /// Verilog of a core of another project, instead of the blocks; may be given several times.
    #[arg(long, value_name = "FILE", requires = "top", conflicts_with_all = ["block", "from", "quick"])]
    verilog: Vec<PathBuf>,
    /// The core's top module.
    #[arg(long, value_name = "MODULE", requires = "verilog")]
    top: Option<String>,
    /// Another device of the family, with the factor of xtask/timing.toml.
    #[arg(long, value_name = "DEVICE", requires = "verilog")]
    device: Option<String>,
}

/// The estimate of a block on a family.
#[derive(Clone, Debug, Serialize)]
struct Row {
    block: String,
    family: String,
    config: String,
    period_ns: f64,
    mhz: f64,
    /// The longest path of each group.
    paths: Vec<Path>,
}

/// A block that could not be estimated.
#[derive(Debug, Serialize)]
struct Failure {
    block: String,
    family: String,
    error: String,
}

/// What is kept of each block's groups in the file of results.
const KEPT: usize = 40;

impl Options {
    /// What `cargo xtask test` runs.
    pub fn of_tests(full: bool) -> Options {
        Options { quick: !full, path: 0, ..Options::default() }
    }

    /// Every block and family, for the report.
    pub fn of_report() -> Options {
        Options { path: 0, ..Options::default() }
    }
}

/// Where the results are.
pub fn results_path() -> PathBuf {
    target_folder().join("timing/timing.json")
}

/// Estimates, prints the table and paths, writes `target/timing/timing.json`. `false` if a budget is missed by more than is
/// known, or a block could not be estimated.
pub fn run(options: &Options) -> Result<bool> {
    let delays = Delays::load()?;
    for family in &options.family {
        delays.family(family)?;
    }
    if let Some(top) = &options.top {
        return external(options, &delays, top);
    }
    let yosys = Yosys::find()?;
    let budgets = Budgets::load()?;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for (family, config) in FAMILIES.iter().filter(|(family, _)| options.wants(family)) {
        let folder = match &options.from {
            Some(folder) if folder.join(config).is_dir() => folder.join(config),
            Some(folder) => folder.clone(),
            None => blocks::emit(config)?,
        };
        let found = blocks::find(&folder, &options.names())?;
        let estimator =
            Estimator { delays: &delays, family: delays.family(family)?, name: family, config, yosys: &yosys };
        estimator.all(&found, options, &mut rows, &mut failures);
    }
    rows.sort_by(|a, b| (&b.family, &a.block).cmp(&(&a.family, &b.block)));
    let breaches: Vec<Breach> =
        rows.iter().filter_map(|row| budgets.period(&row.block, &row.family, row.period_ns)).collect();
    print!("{}", table(&rows, &budgets, options.path));
    breaches.iter().for_each(|breach| println!("over budget: {}", breach.sentence));
    failures.iter().for_each(|Failure { block, family, error }| println!("FAILED: {block} for {family}: {error}"));
    write(&rows, &failures, &delays)?;
    let fresh = breaches.iter().filter(|breach| !breach.known).count();
    println!(
        "timing: {} results, {} over budget ({} known), {} failed; {}",
        rows.len(),
        breaches.len(),
        breaches.len() - fresh,
        failures.len(),
        results_path().display()
    );
    Ok(fresh + failures.len() == 0)
}

impl Options {
    fn wants(&self, family: &str) -> bool {
        let named = self.family.is_empty() || self.family.iter().any(|name| name == family);
        named && !(self.quick && family != FAMILIES[0].0)
    }

    /// The blocks that are read: the parts of the whole NIC belong to it.
    fn names(&self) -> Vec<String> {
        let mut names = self.block.clone();
        if self.quick {
            names.extend(QUICK.iter().map(|name| name.to_string()));
        }
        if names.iter().any(|name| name == WHOLE) {
            names.extend(PARTS.iter().map(|(_, block)| block.to_string()));
        }
        names
    }
}

/// What all estimates of a family have in common.
struct Estimator<'a> {
    delays: &'a Delays,
    family: &'a Family,
    name: &'a str,
    config: &'a str,
    yosys: &'a Yosys,
}

impl Estimator<'_> {
    /// All blocks, the whole NIC last, with the models of its parts.
    fn all(&self, blocks: &[Block], options: &Options, rows: &mut Vec<Row>, failures: &mut Vec<Failure>) {
        let mut parts: Vec<&Block> = blocks.iter().filter(|block| block.name != WHOLE).collect();
        parts.sort_by_key(|block| std::cmp::Reverse(block.bytes));
        let whole = blocks.iter().find(|block| block.name == WHOLE);
        let start = Instant::now();
        let results = two_at_a_time(&parts, |block| {
            let module = PARTS.iter().find(|(_, name)| *name == block.name).map(|(module, _)| *module);
            let wanted = whole.is_some() && module.is_some();
            let result = self.block(block, wanted, &BTreeMap::new());
            let seconds = start.elapsed().as_secs();
            let end = result.as_ref().map_or("FAILED".into(), |(row, _)| format!("{:.2} ns", row.period_ns));
            println!("timing: [{seconds:>4} s] {} {}: {end}", block.name, self.name);
            (module, result)
        });
        let mut models = BTreeMap::new();
        let mut inside: Vec<Row> = Vec::new();
        let mut fail = |block: &Block, error: anyhow::Error| {
            let error = format!("{error:#}");
            failures.push(Failure { block: block.name.clone(), family: self.name.into(), error });
        };
        for (block, (module, result)) in parts.iter().zip(results) {
            match result {
                Ok((row, model)) => {
                    inside.extend(model.is_some().then(|| row.clone()));
                    let asked = options.block.is_empty() || options.block.contains(&block.name);
                    rows.extend(asked.then_some(row));
                    models.extend(module.zip(model).map(|(module, model)| (module.to_string(), model)));
                }
                Err(error) => fail(block, error),
            }
        }
        if let Some(block) = whole {
            match self.block(block, false, &models) {
                Ok((row, _)) => rows.push(with_parts(row, &inside)),
                Err(error) => fail(block, error),
            }
        }
    }

    /// One block's estimate, and its model if it is wanted.
    fn block(&self, block: &Block, model: bool, boxes: &BTreeMap<String, Model>) -> Result<(Row, Option<Model>)> {
        let path = synth::netlist(self.yosys, block, self.name)?;
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let netlist: Netlist = serde_json::from_str(&text).context("yosys wrote a netlist that cannot be read")?;
        let module = netlist.modules.get(block.top.as_str());
        let module = module.with_context(|| format!("yosys wrote no module `{}`", block.top))?;
        let graph = Graph::build(module, self.family, boxes)?;
        let ignored = self.ignored(block, module)?;
        let ports = block.name != WHOLE;
        let mut paths = path::longest(&graph, &Names::of(module), ports, |port| ignored.contains(&port));
        let period_ns = match paths.first() {
            Some(path) => path.period_ns,
            None => bail!("`{}` has no path; it needs two registers, or a register and a port", block.name),
        };
        paths.truncate(KEPT);
        let (name, family, config) = (block.name.clone(), self.name.to_string(), self.config.to_string());
        let row = Row { block: name, family, config, period_ns, mhz: mhz(period_ns), paths };
        let model = model.then(|| Model::of(&graph, self.family));
        Ok((row, model))
    }

    /// The ports of this block that `false_path` names.
    fn ignored(&self, block: &Block, module: &Module) -> Result<Vec<&str>> {
        let own = self.delays.false_path.iter().filter(|path| path.block == block.name);
        own.map(|path| {
            ensure!(
                module.ports.contains_key(path.port.as_str()),
                "xtask/timing.toml has a false path of `{}` (\"{}\"), which `{}` lacks; take the entry out",
                path.port,
                path.reason,
                block.name
            );
            Ok(path.port.as_str())
        })
        .collect()
    }
}

/// The whole NIC with the paths that lie inside its parts; those from and to ports of a part are its own, in their whole
/// length.
fn with_parts(mut whole: Row, parts: &[Row]) -> Row {
    for part in parts {
        let inner = |path: &&Path| ![&path.group.0, &path.group.1].contains(&&"ports".to_string());
        whole.paths.extend(part.paths.iter().filter(inner).map(|path| {
            let name = |end: &str| format!("{}: {end}", part.block);
            let group = (name(&path.group.0), name(&path.group.1));
            Path { start: name(&path.start), end: name(&path.end), group, ..path.clone() }
        }));
    }
    whole.paths.sort_by(|a, b| b.period_ns.total_cmp(&a.period_ns));
    whole.paths.truncate(KEPT);
    whole.period_ns = whole.paths.first().map_or(whole.period_ns, |path| path.period_ns);
    whole.mhz = mhz(whole.period_ns);
    whole
}

/// MHz of a period, with one decimal.
fn mhz(period_ns: f64) -> f64 {
    (10_000.0 / period_ns).round() / 10.0
}

/// A core of another project: its longest paths between registers.
fn external(options: &Options, delays: &Delays, top: &str) -> Result<bool> {
    let folder = tempfile::tempdir().context("cannot make a folder for the core's Verilog")?;
    let block = gather(options, top, folder.path())?;
    let mut families = Vec::new();
    for (name, _) in FAMILIES.iter().filter(|(name, _)| options.wants(name)) {
        families.push((*name, delays.family(name)?, delays.family(name)?.factor(options.device.as_deref())?));
    }
    let yosys = Yosys::find()?;
    for (name, family, factor) in families {
        let path = synth::foreign_netlist(&yosys, &block, name)?;
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let netlist: Netlist = serde_json::from_str(&text).context("yosys wrote a netlist that cannot be read")?;
        let module = netlist.modules.get(top).with_context(|| format!("the Verilog has no module `{top}`"))?;
        let graph = Graph::build(module, family, &BTreeMap::new())?;
        let paths = path::longest(&graph, &Names::of(module), false, |_| false);
        let longest = paths.first().with_context(|| format!("`{top}` has no path between registers"))?;
        let device = options.device.as_ref().unwrap_or(&family.device);
        let period = ns(longest.period_ns * factor * 1000.0);
        println!("{top} on {device}: {period:.2} ns, {:.1} MHz", mhz(period));
        paths.iter().take(options.path).for_each(|path| print!("{}", path.text()));
    }
    Ok(true)
}

/// The files of a core in a folder of their own, which is all that yosys sees.
fn gather(options: &Options, top: &str, folder: &std::path::Path) -> Result<Block> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    ensure!(!top.is_empty() && top.chars().all(fits), "`{top}` is no name of a module; give letters, digits and `_`");
    let mut files = Vec::new();
    for file in &options.verilog {
        let name = file.file_name().and_then(|name| name.to_str());
        let fits = |c: char| fits(c) || c == '.' || c == '-';
        let name = name.filter(|name| name.chars().all(fits)).with_context(|| {
            format!("yosys cannot take the name {}; use letters, digits, `.`, `_` and `-`", file.display())
        })?;
        std::fs::copy(file, folder.join(name)).with_context(|| format!("cannot read {}", file.display()))?;
        files.push(name.to_string());
    }
    Ok(Block { name: top.into(), top: top.into(), folder: folder.into(), files: files.join(" "), bytes: 0 })
}

fn table(rows: &[Row], budgets: &Budgets, paths: usize) -> String {
    let mut text = format!("{:<16} {:<6} {:<8} {:>9} {:>7}\n", "block", "family", "config", "period", "MHz");
    for row in rows {
        let Row { block, family, config, period_ns, mhz, .. } = row;
        let over = match budgets.period(block, family, *period_ns) {
            Some(Breach { known: true, .. }) => "  missed",
            Some(_) => "  over budget",
            None => "",
        };
        text += &format!("{block:<16} {family:<6} {config:<8} {period_ns:>6.2} ns {mhz:>7.1}{over}\n");
        row.paths.iter().take(paths).for_each(|path| text += &path.text());
    }
    text
}

/// Blocks whose figures the report names, and their names here.
const FIGURES: [(&str, &str); 5] =
    [("nic", "nic"), ("hpu", "hpu"), ("cluster", "cluster"), ("packet_engine", "packet_engine"), ("rvma", "rvma_lut")];

/// The figures of the report: `FAMILY.BLOCK.period_ns` and `.mhz`, and `calibration.KEY`.
fn figures(rows: &[Row], delays: &Delays) -> Value {
    let mut figures = json!({});
    for row in rows {
        if let Some((name, _)) = FIGURES.iter().find(|(_, block)| *block == row.block) {
            figures[&row.family][*name] = json!({"period_ns": row.period_ns, "mhz": row.mhz});
        }
        figures["blocks"][&row.family][&row.block] = json!({"period_ns": row.period_ns, "mhz": row.mhz});
    }
    for row in &delays.calibration {
        figures["calibration"][&row.key] = json!({
            "published_ns": row.published_ns, "estimated_ns": row.estimated_ns, "error_percent": row.error_percent()
        });
    }
    figures
}

/// Writes the results: figures as the report has them, and the paths.
fn write(rows: &[Row], failures: &[Failure], delays: &Delays) -> Result<()> {
    let path = results_path();
    std::fs::create_dir_all(path.parent().expect("it is in a folder"))?;
    let source = |family: &Family| json!({"device": family.device, "source": family.source});
    let results = json!({
        "timing": figures(rows, delays),
        "delays": {"xcup": source(&delays.xcup), "xc7": source(&delays.xc7)},
        "calibration": delays.calibration,
        "base": delays.base,
        "rows": rows,
        "failures": failures,
    });
    std::fs::write(&path, serde_json::to_string_pretty(&results)? + "\n")
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Enters what follows from the period of the cluster and the cycles per instruction of the kernels.
pub fn add_gain(report: &mut Map<String, Value>) -> Result<()> {
    let base = Delays::load()?.base;
    let figure = |key: &str| {
        let (group, rest) = key.split_once('.')?;
        rest.split('.').try_fold(report.get(group)?, |place, part| place.get(part))?.as_f64()
    };
    let gain = base.gain(figure);
    let (group, name) = Base::GAIN.split_once('.').context("the key of the gain has a group")?;
    report.entry(group).or_insert_with(|| json!({}))[name] = json!(gain);
    if let (None, Some(reasons)) = (gain, report.entry("missing").or_insert_with(|| json!({})).as_object_mut()) {
        reasons.insert(Base::GAIN.into(), "needs the period of the cluster and `hpu.cpi`".into());
    }
    Ok(())
}

/// Enters the figures of the last run into a report, with `null` and the reason for what is absent.
pub fn add_figures(report: &mut Map<String, Value>, results: &Value) {
    let mut figures = results["timing"].clone();
    let mut missing = Map::new();
    for (family, _) in FAMILIES {
        for (name, block) in FIGURES {
            if figures[family][name]["period_ns"].is_number() {
                continue;
            }
            let failed = results["failures"].as_array().into_iter().flatten();
            let failed = failed.into_iter().find(|row| row["block"] == block && row["family"] == *family);
            let why = failed.and_then(|row| row["error"].as_str()).unwrap_or("`cargo xtask timing` left it out");
            missing.insert(format!("timing.{family}.{name}.period_ns"), why.into());
            figures[family][name]["period_ns"] = Value::Null;
        }
    }
    report.insert("timing".into(), figures);
    if let Some(reasons) = report.entry("missing").or_insert_with(|| json!({})).as_object_mut() {
        reasons.append(&mut missing);
    }
}
