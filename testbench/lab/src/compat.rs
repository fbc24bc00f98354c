//! `spindle compat`: the examples of a PsPIN or FPsPIN checkout, compiled unmodified, run on the simulated NIC and judged.

mod cases;
mod fpspin;
mod fpspin_cases;
pub(crate) mod ran;
mod slp;

use anyhow::{ensure, Context, Result};
use cases::{Case, CASES};
use ran::{data_symbol, pattern, Did, Ran};
use serde::Serialize;
use spindle::rule_table::Action;
use spindle::{ContextOptions, HostMemory, Rule};
use spindle_cli::play::{play, Pacing};
use spindle_cli::session::Session;
use spindle_cli::table::table;
use spindle_contract::memory_map::{self as map, base};
use spindle_sdk::Sources;
use spindle_sdk::{self as sdk, Handler};
use std::path::{Path, PathBuf};

/// Cycles of a handler. PsPIN knows no budget, and a writer may wait there for readers who take turns: four times the usual one.
const BUDGET: u32 = 400_000;

/// Arguments of `spindle compat`.
#[derive(clap::Args)]
pub struct CompatArguments {
    /// Checkout of PsPIN, with its folder `examples`.
    #[arg(long, value_name = "FOLDER", required_unless_present = "fpspin", conflicts_with = "fpspin")]
    pspin: Option<PathBuf>,
    /// Checkout of FPsPIN, or a folder with `examples` like those of its folder fpga/app/pspin/deps/pspin.
    #[arg(long, value_name = "FOLDER")]
    fpspin: Option<PathBuf>,
    /// Only these examples.
    #[arg(long, value_name = "EXAMPLE")]
    only: Vec<String>,
    /// Configuration of the NIC: sim, kintex7, alveo or alveo32.
    #[arg(long, default_value = "sim")]
    config: String,
    /// Report to write as JSON.
    #[arg(long, value_name = "REPORT.json")]
    json: Option<PathBuf>,
}

/// The outcome of an example.
#[derive(Serialize)]
struct Row {
    example: &'static str,
    built: bool,
    ran: bool,
    packets: usize,
    replies: usize,
    bytes_to_host: usize,
    instructions_per_packet: f64,
    verdict: String,
    right: bool,
}

impl Row {
    fn new(example: &'static str) -> Row {
        Row {
            example,
            built: false,
            ran: false,
            packets: 0,
            replies: 0,
            bytes_to_host: 0,
            instructions_per_packet: 0.0,
            verdict: String::new(),
            right: false,
        }
    }

    /// It does not compile.
    fn failed(mut self, error: &anyhow::Error) -> Row {
        self.verdict = format!("does not compile: {:#}", error.root_cause());
        self
    }

    /// It ran, and was judged.
    fn judged(mut self, ran: &Ran, judged: Result<Did>) -> Row {
        self.built = true;
        self.ran = ran.played.drained;
        self.packets = ran.frames.len();
        self.replies = ran.played.replies.len();
        self.instructions_per_packet = ran.played.stats.instructions as f64 / ran.frames.len() as f64;
        self.right = judged.is_ok();
        self.verdict = match judged {
            Ok(did) => {
                self.bytes_to_host = did.bytes_to_host;
                format!("right: {}", did.sentence)
            }
            Err(error) => format!("WRONG: {error:#}"),
        };
        self
    }
}

/// Runs every example; an error if one behaves otherwise than on its own NIC.
pub fn compat(arguments: &CompatArguments) -> Result<()> {
    let (rows, project) = match (&arguments.pspin, &arguments.fpspin) {
        (_, Some(checkout)) => (fpspin::rows(checkout, arguments)?, "FPsPIN"),
        (Some(checkout), None) => (pspin_rows(checkout, arguments)?, "PsPIN"),
        (None, None) => anyhow::bail!("give a checkout: --pspin FOLDER or --fpspin FOLDER"),
    };
    report(&rows, project, arguments.json.as_deref())
}

/// Refuses names of examples that are not there.
fn check_names(only: &[String], names: &[&str]) -> Result<()> {
    for name in only {
        ensure!(names.contains(&name.as_str()), "there is no example `{name}`; there are {}", names.join(", "));
    }
    Ok(())
}

fn pspin_rows(checkout: &Path, arguments: &CompatArguments) -> Result<Vec<Row>> {
    let examples = checkout.join("examples");
    ensure!(examples.is_dir(), "{} is no checkout of PsPIN: it has no folder `examples`", checkout.display());
    check_names(&arguments.only, &CASES.iter().map(|case| case.name).collect::<Vec<_>>())?;
    let chosen = |case: &&Case| arguments.only.is_empty() || arguments.only.iter().any(|name| name == case.name);
    CASES.iter().filter(chosen).map(|case| row(case, &examples, &arguments.config)).collect()
}

/// The table, the JSON report, and an error that names the examples that are not right.
fn report(rows: &[Row], project: &str, json: Option<&Path>) -> Result<()> {
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let cells = rows.iter().map(|row| {
        [
            row.example.to_owned(),
            yes(row.built),
            yes(row.ran),
            row.packets.to_string(),
            row.replies.to_string(),
            row.bytes_to_host.to_string(),
            format!("{:.0}", row.instructions_per_packet),
            row.verdict.clone(),
        ]
    });
    let header = ["example", "built", "ran", "packets", "replies", "to host", "instructions", "verdict"];
    println!("{}", table(header, cells, false));
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(rows)?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    let wrong: Vec<&str> = rows.iter().filter(|row| !row.right).map(|row| row.example).collect();
    ensure!(wrong.is_empty(), "these examples do not do what they do on {project}: {}", wrong.join(", "));
    Ok(())
}

/// Builds, runs and judges an example.
fn row(case: &Case, examples: &Path, config: &str) -> Result<Row> {
    let row = Row::new(case.name);
    let images = case.contexts.iter().map(|init| build(case, init, examples)).collect::<Result<Vec<_>>>();
    let images = match images {
        Ok(images) => images,
        Err(error) => return Ok(row.failed(&error)),
    };
    let mut ran = run(case, images, config)?;
    let judged = ran.sound().and_then(|()| (case.judge)(&mut ran));
    Ok(row.judged(&ran, judged))
}

/// Compiles the sources of an example, which stay as they are.
fn build(case: &Case, init: &str, examples: &Path) -> Result<Handler> {
    let defines = case.defines.iter().map(|&define| define.to_owned());
    let defines = defines.chain([format!("SPINDLE_INIT_HANDLERS={init}")]).collect();
    sdk::load(&Sources { pspin: true, defines, ..sources(&examples.join(case.name).join("handlers"))? })
}

/// All C files of a folder.
fn sources(folder: &Path) -> Result<Sources> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("there is no folder {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    ensure!(!files.is_empty(), "{} has no C file", folder.display());
    Ok(Sources { includes: vec![folder.into()], ..Sources::of(files) })
}

/// Plays the example's traffic to its contexts.
fn run(case: &Case, images: Vec<Handler>, config: &str) -> Result<Ran> {
    let mut config = spindle_cli::config::config(config)?;
    config.l2_bytes = config.l2_bytes.max(case.least_l2_bytes);
    let mut session = Session::open(config, Default::default())?;
    let bytes = pattern(ran::HOST_BYTES);
    let host = case.host_address.map_or_else(|| session.device.memory.alloc(bytes.len(), 4096), Ok)?;
    session.device.memory.write(host, &bytes)?;
    let mut contexts = Vec::new();
    for (number, mut handler) in images.into_iter().enumerate() {
        if let Some(address) = data_symbol(&handler.elf, "spin_handler_mem")? {
            let start = (address - base(map::CONTEXT)) as usize;
            handler.image.state.resize(start, 0);
            handler.image.state.extend((case.handler_memory)());
        }
        let options = ContextOptions {
            watchdog: BUDGET,
            host_region: Some((host, bytes.len() as u32)),
            ..ContextOptions::default()
        };
        let context = session.device.install(&handler.image, &options)?;
        let rule: Rule =
            if case.contexts.len() == 1 { Rule::any() } else { format!("udp.dport == {number}").parse()? };
        session.device.add_rule(&rule, Action::Context(context))?;
        session.device.activate(context)?;
        contexts.push((context, handler));
    }
    session.device.set_receive(true)?;
    let frames = (case.frames)();
    let played = play(&mut session, &frames, Pacing { gap: case.gap, seed: None }, 1_000_000)?;
    Ok(Ran { session, contexts, frames, played, host })
}
