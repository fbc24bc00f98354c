//! Runs a study: nodes, slices of time, progress, and the result.

use crate::endpoint::{digest_with, Endpoint, Report, EMPTY_DIGEST};
use crate::engine::{Counts, Network, Ranks, NANOSECOND};
use crate::model::Model;
use crate::motif::Motif;
use crate::rtl::{Rtl, Setting};
use crate::stand_in::StandIn;
use crate::study::{Nodes, Study};
use crate::VERSION;
use anyhow::{ensure, Context, Result};
use serde::Serialize;
use spindle_contract::params::Config;
use spindle_harness::Progress;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Windows of a slice, after which the ranks agree whether all programs have ended.
const SLICE: u64 = 64;
/// Time between two lines of progress.
const LINE: Duration = Duration::from_secs(1);
/// Nodes without an end that an error names.
const NAMED: usize = 8;

/// The programs have not ended within the study's cycles: every rank finds the same.
#[derive(Debug)]
pub struct Unfinished(String);

impl std::fmt::Display for Unfinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfinished {}

/// What a run does beside the study.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Waves: node and file.
    pub waves: Vec<(u32, PathBuf)>,
    /// Tables of what became of the frames that a NIC took: node and file.
    pub fates: Vec<(u32, PathBuf)>,
    /// Lines of progress on standard error.
    pub progress: bool,
}

/// The result of a study: the same on any number of ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Version of this program.
    pub version: &'static str,
    /// The study's file.
    pub study: String,
    /// Cycle in which a motif starts, and the others 0.
    pub start_cycle: u64,
    /// Cycle in which the last program ended.
    pub end_cycle: u64,
    /// Simulated cycles: to the end of the slice in which the last program ended.
    pub cycles: u64,
    /// Cycles that nodes simulate at once.
    pub window_cycles: u64,
    /// What became of the frames.
    pub frames: Counts,
    /// Digest of all receive logs.
    pub digest: String,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// The result of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Cycle in which its program ended.
    pub end_cycle: u64,
    /// Digest of its receive log.
    pub digest: String,
    /// Frames received.
    pub frames: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Frames received with a mark.
    pub marked: u64,
    /// Results of its program, by their names.
    #[serde(flatten)]
    pub values: std::collections::BTreeMap<&'static str, u64>,
}

/// How a run went on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Speed {
    /// Ranks.
    pub ranks: u32,
    /// Nanoseconds by which ranks may differ; 0 for one rank.
    pub lookahead_ns: f64,
    /// Seconds from the first cycle to the last, those in which clients of served NICs compute included.
    pub seconds: f64,
    /// Cycles of all nodes in a second.
    pub node_cycles_per_second: f64,
    /// Most memory that this process has had, in megabytes.
    pub peak_mb: f64,
    /// Share of the ranks' time that was not the nodes': switches, events, messages, waiting for other ranks.
    pub overhead: f64,
}

/// The cycle to which this rank has come, for the words of a rank that is ended.
pub static REACHED: AtomicU64 = AtomicU64::new(0);

/// Names of a program's results, in the order of [`Report::values`].
fn value_names(study: &Study, node: usize) -> &'static [&'static str] {
    const OF_MODELS: &[&str] = &["messages", "last_message_cycle", "repeated", "timeouts"];
    match &study.nodes {
        _ if study.background.as_ref().is_some_and(|models| models.first as usize <= node) => OF_MODELS,
        Nodes::Nics { .. } => &["messages", "last_message_cycle", "mean_cycles", "most_cycles"],
        Nodes::Served { .. } => &["clients"],
        Nodes::StandIns(_) => &["asked", "answered", "repeated"],
        Nodes::Motif { models: Some(_), .. } => OF_MODELS,
        Nodes::Motif { .. } => &["messages", "last_message_cycle"],
    }
}

/// What of a study and its options can be wrong for a number of ranks, before a rank begins: the same sentence on every rank.
///
/// # Errors
/// There are too many ranks; a wave or fates of no Verilated NIC are wanted, or two of a node.
pub fn check(study: &Study, options: &Options, ranks: u32) -> Result<()> {
    study.topology.partition(ranks)?;
    let count = study.topology.nodes.len();
    for (what, wanted) in [("a wave", &options.waves), ("fates", &options.fates)] {
        for (i, (node, path)) in wanted.iter().enumerate() {
            ensure!((*node as usize) < count, "{what} of node {node}, and there are {count} nodes, from 0 on");
            ensure!(
                !matches!(study.nodes, Nodes::StandIns(_) | Nodes::Motif { models: Some(_), .. })
                    && study.background.as_ref().is_none_or(|models| *node < models.first),
                "{}: a stand-in or a model has no waves and no fates; use kind = \"nic\" or kind = \"served\"",
                path.display()
            );
            ensure!(
                wanted[..i].iter().all(|(other, _)| other != node),
                "{what} of node {node} twice; name each node once"
            );
        }
    }
    Ok(())
}

/// The file of a node.
fn file_of(files: &[(u32, PathBuf)], node: u32) -> Option<PathBuf> {
    files.iter().find(|(number, _)| *number == node).map(|(_, path)| path.clone())
}

/// Runs a study on these ranks, each of which calls this.
///
/// # Errors
/// A node or its host fails, or the programs do not end within the study's cycles.
pub fn run(study: &Study, options: &Options, ranks: Ranks) -> Result<(Outcome, Speed)> {
    check(study, options, ranks.ranks)?;
    let source = match &study.nodes {
        Nodes::Nics { config, .. } | Nodes::Served { config, .. } | Nodes::Motif { config, models: None, .. } => {
            let source = spindle_sim::source(config)?;
            // Built once, with its progress.
            spindle_sim::model(&source, &Progress::stderr("spindle network"))?;
            Some(source)
        }
        Nodes::StandIns(_) | Nodes::Motif { .. } => None,
    };
    let setting = |node: u32, config: &Config, host_latency: (u64, u64)| -> Result<Setting> {
        Ok(Setting {
            config: *config,
            source: source.clone().context("a NIC without its Verilog")?,
            nodes: study.background.as_ref().map_or(study.topology.nodes.len(), |models| models.first as usize),
            host_latency,
            wave: file_of(&options.waves, node),
            fates: file_of(&options.fates, node),
            noise: study.noise,
        })
    };
    let transport = |motif: &Motif| motif.transport(study.physics.loss > 0.0 || study.physics.corruption > 0.0);
    let endpoint = |node: u32| -> Result<Box<dyn Endpoint>> {
        let named = || format!("node {node}");
        if let Some(models) = study.background.as_ref().filter(|models| models.first <= node) {
            let model =
                Model::new(node - models.first, &models.motif, models.parameters.clone(), transport(&models.motif));
            return Ok(Box::new(model.after(models.first)));
        }
        Ok(match &study.nodes {
            Nodes::Nics { config, puts, host_latency } => {
                let setting = setting(node, config, *host_latency)?;
                Box::new(Rtl::new(node as usize, &setting, puts.program()).with_context(named)?)
            }
            Nodes::Served { config, serving, host_latency } => {
                let setting = setting(node, config, *host_latency)?;
                Box::new(Rtl::serve(node as usize, &setting, serving)?)
            }
            Nodes::StandIns(options) => Box::new(StandIn::new(node, *options)),
            Nodes::Motif { motif, models: Some(parameters), .. } => {
                Box::new(Model::new(node, motif, parameters.clone(), transport(motif)))
            }
            Nodes::Motif { config, motif, host_latency, .. } => {
                let setting = setting(node, config, *host_latency)?;
                Box::new(Rtl::new(node as usize, &setting, motif.program(&motif.seen())).with_context(named)?)
            }
        })
    };
    let network = Network::new(ranks, &study.topology, study.physics, endpoint)?;
    simulate(study, options, network)
}

fn simulate(study: &Study, options: &Options, mut network: Network) -> Result<(Outcome, Speed)> {
    let (window, nodes, ranks) = (study.physics.window, study.topology.nodes.len(), network.ranks());
    if let (Nodes::Served { serving, .. }, true, 0) = (&study.nodes, options.progress, ranks.rank) {
        eprintln!(
            "spindle network: {nodes} nodes are served, node 0 at {}; the run ends when the clients of all have left",
            serving.socket(0).display()
        );
    }
    network.begin()?;
    let start = Instant::now();
    let mut shown = start;
    let mut cycles = 0;
    loop {
        cycles += SLICE * window;
        network.run(cycles)?;
        REACHED.store(cycles, Ordering::Relaxed);
        let done = network.done()?;
        if options.progress && ranks.rank == 0 && (shown.elapsed() >= LINE || done) {
            shown = Instant::now();
            let us = cycles as f64 * study.physics.cycle as f64 / (1000 * NANOSECOND) as f64;
            let speed = (cycles * nodes as u64) as f64 / start.elapsed().as_secs_f64();
            eprintln!(
                "spindle network: {us:.1} µs ({cycles} cycles) of {nodes} nodes simulated, {:.0} thousand node-cycles a \
                 second",
                speed / 1000.0
            );
        }
        if done {
            break;
        }
        if cycles >= study.cycles {
            return Err(Unfinished(unfinished(study, &network.reports()?, cycles)).into());
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let (frames, reports) = (network.counts()?, network.reports()?);
    ensure!(
        frames.balance(),
        "frames are missing in the account of the network: {frames:?}; this is a fault of the engine"
    );
    let speed = Speed {
        ranks: ranks.ranks,
        lookahead_ns: network.lookahead() as f64 / NANOSECOND as f64,
        seconds,
        node_cycles_per_second: (cycles * nodes as u64) as f64 / seconds,
        peak_mb: peak_mb(),
        overhead: 1.0 - network.busy()? / (f64::from(ranks.ranks) * seconds),
    };
    network.finish()?;
    Ok((outcome(study, cycles, frames, &reports), speed))
}

/// Most memory that this process has had, in megabytes; 0 where the system does not say.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    (line.unwrap_or(0.0) / 1024.0).round()
}

/// Which programs have not ended.
fn unfinished(study: &Study, reports: &[Report], cycles: u64) -> String {
    let running: Vec<usize> = (0..reports.len()).filter(|node| reports[*node].done.is_none()).collect();
    let mut names = running.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if running.len() > NAMED {
        names.push_str(&format!(" and {} others", running.len() - NAMED));
    }
    let (what, end) = match study.nodes {
        Nodes::Served { .. } => ("clients", "left"),
        _ => ("programs", "ended"),
    };
    format!(
        "{}: after {cycles} cycles the {what} of nodes {names} have not {end}; give the study more `cycles` in [run]",
        study.name
    )
}

fn outcome(study: &Study, cycles: u64, frames: Counts, reports: &[Report]) -> Outcome {
    let hex = |digest: u64| format!("{digest:016x}");
    let digest = reports.iter().fold(EMPTY_DIGEST, |digest, report| digest_with(digest, &report.digest.to_le_bytes()));
    let node = |(number, report): (usize, &Report)| Node {
        end_cycle: report.done.unwrap_or_default(),
        digest: hex(report.digest),
        frames: report.received,
        bytes: report.bytes,
        marked: report.marked,
        values: value_names(study, number).iter().copied().zip(report.values).collect(),
    };
    Outcome {
        version: VERSION,
        study: study.name.clone(),
        start_cycle: if let Nodes::Motif { motif, .. } = &study.nodes { motif.start } else { 0 },
        end_cycle: reports.iter().filter_map(|report| report.done).max().unwrap_or_default(),
        cycles,
        window_cycles: study.physics.window,
        frames,
        digest: hex(digest),
        nodes: reports.iter().enumerate().map(node).collect(),
    }
}
