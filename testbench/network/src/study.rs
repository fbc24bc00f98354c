//! Studies: what a network is, what its nodes do, and how long, in TOML. Errors name file and line.

use crate::engine::{Physics, Routing, NANOSECOND};
use crate::model::{parameters, Parameters};
use crate::motif::{Motif, Post, SUM_ROUND};
use crate::noise::Noise;
use crate::programs::{self, Pattern, Puts};
use crate::rtl;
use crate::served::{Serving, Time, NODE};
use crate::stand_in;
use crate::topology::{Shape, Topology};
use crate::workload::{Application, Arm, Workload};
use anyhow::{bail, Context, Result};
use serde::Deserialize;
use spindle::congestion::Congestion;
use spindle::reliable::{Reliability, MOST_PUT_TURNS};
use spindle_contract::params::{Config, BEAT_BYTES, SEGMENT_BYTES};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;

/// A study.
#[derive(Clone, Debug)]
pub struct Study {
    /// Name of its file.
    pub name: String,
    /// Switches, cables, nodes.
    pub topology: Topology,
    /// Times, rates, queues, faults.
    pub physics: Physics,
    /// What the nodes are.
    pub nodes: Nodes,
    /// Models on the nodes after those.
    pub background: Option<Background>,
    /// Pauses of hosts.
    pub noise: Option<Noise>,
    /// Cycles after which programs that have not ended are given up.
    pub cycles: u64,
}

/// Models beside Verilated NICs, on the last nodes of the topology: they send to each other, and load the network.
#[derive(Clone, Debug)]
pub struct Background {
    /// The node of the first one.
    pub first: u32,
    /// What their hosts do; nodes are counted from the first one on.
    pub motif: Arc<Motif>,
    /// Times of the models.
    pub parameters: Arc<Parameters>,
}

/// What the nodes of a study are.
#[derive(Clone, Debug)]
pub enum Nodes {
    /// Verilated NICs.
    Nics {
        /// Their configuration.
        config: Box<Config>,
        /// What their hosts do.
        puts: Puts,
        /// Cycles of host memory's answers, least and most.
        host_latency: (u64, u64),
    },
    /// Verilated NICs for programs of other processes.
    Served {
        /// Their configuration.
        config: Box<Config>,
        /// Where, and what moves their time.
        serving: Serving,
        /// Cycles of host memory's answers, least and most.
        host_latency: (u64, u64),
    },
    /// Stand-ins.
    StandIns(stand_in::Options),
    /// Verilated NICs or models of them, with a motif.
    Motif {
        /// Configuration of the NICs.
        config: Box<Config>,
        /// What their hosts do.
        motif: Arc<Motif>,
        /// Cycles of host memory's answers, least and most.
        host_latency: (u64, u64),
        /// Times of the models; without them, the NICs are Verilated.
        models: Option<Arc<Parameters>>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    topology: TopologyTable,
    #[serde(default)]
    cables: Cables,
    #[serde(default)]
    switches: Switches,
    nodes: NodeTable,
    program: Option<Spanned<ProgramTable>>,
    background: Option<Spanned<BackgroundTable>>,
    noise: Option<NoiseTable>,
    congestion: Option<Spanned<CongestionTable>>,
    reliability: Option<Spanned<ReliabilityTable>>,
    #[serde(default)]
    run: RunTable,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Cable,
    Star,
    FatTree,
    Torus,
    #[serde(rename = "hyperx")]
    HyperX,
    Dragonfly,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopologyTable {
    kind: Spanned<Kind>,
    nodes: Option<Spanned<u32>>,
    down: Option<Spanned<Vec<u32>>>,
    up: Option<Spanned<Vec<u32>>>,
    shape: Option<Spanned<Vec<u32>>>,
    width: Option<Spanned<u32>>,
    groups: Option<Spanned<u32>>,
    switches: Option<Spanned<u32>>,
    long: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Cables {
    gbps: Spanned<f64>,
    node_ns: Spanned<f64>,
    switch_ns: Spanned<f64>,
    long_ns: Option<Spanned<f64>>,
    overhead_bytes: u32,
    loss: Spanned<f64>,
    corruption: Spanned<f64>,
}

/// A value that no line of the file has.
fn usual<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

impl Default for Cables {
    fn default() -> Self {
        Cables {
            gbps: usual(128.0),
            node_ns: usual(88.0),
            switch_ns: usual(40.0),
            long_ns: None,
            // FCS, gap, preamble.
            overhead_bytes: 24,
            loss: usual(0.0),
            corruption: usual(0.0),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Switches {
    latency_ns: Spanned<f64>,
    queue_bytes: Spanned<u64>,
    mark_bytes: Option<Spanned<u64>>,
    routing: Routing,
    store: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Switches {
            latency_ns: usual(100.0),
            queue_bytes: usual(128 << 10),
            mark_bytes: None,
            routing: Routing::Static,
            store: false,
        }
    }
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum NodeKind {
    Nic,
    Served,
    StandIn,
    Model,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeTable {
    kind: Spanned<NodeKind>,
    count: Option<Spanned<usize>>,
    config: Option<Spanned<String>>,
    host_cycles: Option<Spanned<[u64; 2]>>,
    latency_cycles: Option<Spanned<u64>>,
    window_cycles: Option<Spanned<u64>>,
    sockets: Option<Spanned<String>>,
    time: Option<Spanned<Time>>,
    gbps: Option<Spanned<f64>>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum ProgramKind {
    Puts,
    Asks,
    Motif,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramTable {
    kind: Spanned<ProgramKind>,
    messages: Option<Spanned<u64>>,
    bytes: Spanned<u32>,
    pattern: Option<Spanned<Pattern>>,
    start: Option<Spanned<u64>>,
    turns: Option<Spanned<u64>>,
    answer_bytes: Option<Spanned<u32>>,
    timeout_cycles: Option<Spanned<u64>>,
    to: Option<Spanned<u32>>,
    post: Option<Spanned<Post>>,
    arm: Option<Spanned<Arm>>,
    grid: Option<Spanned<Vec<u32>>>,
    blocks: Option<Spanned<u32>>,
    sweeps: Option<Spanned<u32>>,
    iterations: Option<Spanned<u32>>,
    edge_bytes: Option<Spanned<u32>>,
    corner_bytes: Option<Spanned<u32>>,
    compute_ns: Option<Spanned<f64>>,
    copy_gb_per_s: Option<Spanned<f64>>,
    copies: Option<Spanned<bool>>,
    eager_bytes: Option<Spanned<u32>>,
    buffers: Option<Spanned<u32>>,
    restores_order: Option<Spanned<bool>>,
    fan_in: Option<Spanned<u32>>,
}

impl ProgramTable {
    /// Refuses keys of applications.
    fn no_application(&self, what: &str) -> Result<(), Wrong> {
        unused(&self.arm, "arm", what)?;
        unused(&self.grid, "grid", what)?;
        for (value, key) in [
            (&self.blocks, "blocks"),
            (&self.sweeps, "sweeps"),
            (&self.iterations, "iterations"),
            (&self.edge_bytes, "edge_bytes"),
            (&self.corner_bytes, "corner_bytes"),
            (&self.eager_bytes, "eager_bytes"),
            (&self.buffers, "buffers"),
        ] {
            unused(value, key, what)?;
        }
        unused(&self.compute_ns, "compute_ns", what)?;
        unused(&self.copy_gb_per_s, "copy_gb_per_s", what)?;
        unused(&self.copies, "copies", what)?;
        unused(&self.restores_order, "restores_order", what)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoiseTable {
    every_cycles: Spanned<u64>,
    pause_cycles: Spanned<[u64; 2]>,
    seed: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BackgroundTable {
    count: Spanned<u64>,
    pattern: Spanned<Pattern>,
    messages: Spanned<u64>,
    bytes: Spanned<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CongestionTable {
    shrink: Option<u8>,
    least: Option<u16>,
    first: Option<u16>,
    most: Option<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReliabilityTable {
    timeout: Option<Spanned<u64>>,
    hole_time: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RunTable {
    seed: u64,
    cycles: Spanned<u64>,
}

impl Default for RunTable {
    fn default() -> Self {
        RunTable { seed: 1, cycles: usual(2_000_000) }
    }
}

/// What is wrong in a file, and where.
struct Wrong(Range<usize>, String);

/// Femtoseconds of nanoseconds, which must not be negative and must fit.
fn femtoseconds(ns: &Spanned<f64>) -> Result<i64, Wrong> {
    let value = *ns.get_ref();
    if (0.0..=1e9).contains(&value) {
        Ok((value * NANOSECOND as f64).round() as i64)
    } else {
        Err(Wrong(ns.span(), format!("{value} ns; choose 0 to 1e9")))
    }
}

/// The value, within bounds.
fn bounded<T: Copy + PartialOrd + std::fmt::Display>(
    value: &Spanned<T>,
    least: T,
    most: T,
    what: &str,
) -> Result<T, Wrong> {
    match *value.get_ref() {
        value if (least..=most).contains(&value) => Ok(value),
        wrong => Err(Wrong(value.span(), format!("{wrong} {what}; choose {least} to {most}"))),
    }
}

/// The line of a place.
fn line(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

impl Study {
    /// Reads a study.
    ///
    /// # Errors
    /// The file cannot be read, has unknown keys, or contradicts itself.
    pub fn read(path: &Path) -> Result<Study> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read the study {}", path.display()))?;
        Study::parse(&path.display().to_string(), &text)
    }

    /// The study of a text; `name` stands for the file in errors.
    ///
    /// # Errors
    /// As of [`Study::read`].
    pub fn parse(name: &str, text: &str) -> Result<Study> {
        let at = |place: usize, words: &str| {
            format!("{name}:{}: {}", line(text, place), words.trim_end().replace('\n', " "))
        };
        let file: File = match toml::from_str(text) {
            Ok(file) => file,
            Err(error) => bail!("{}", at(error.span().map_or(0, |span| span.start), error.message())),
        };
        study(name, text, &file).map_err(|Wrong(span, words)| anyhow::anyhow!("{}", at(span.start, &words)))
    }
}

fn study(name: &str, text: &str, file: &File) -> Result<Study, Wrong> {
    let shape = shape(&file.topology)?;
    let kind_span = file.topology.kind.span();
    let topology = Topology::new(&shape).map_err(|error| Wrong(kind_span.clone(), format!("{error:#}")))?;
    let all = topology.nodes.len();
    let beside = match &file.background {
        Some(table) => bounded(&table.get_ref().count, 2, all as u64 - 1, "models in the background")? as usize,
        None => 0,
    };
    let count = all - beside;
    if let Some(wanted) = file.nodes.count.as_ref().filter(|wanted| *wanted.get_ref() != count) {
        let words = match beside {
            0 => format!("{} nodes, but the topology has {count}; change one of them", wanted.get_ref()),
            _ => format!(
                "{} nodes beside {beside} models in the background, but the topology has {all}; change one of them",
                wanted.get_ref()
            ),
        };
        return Err(Wrong(wanted.span(), words));
    }
    if count < 2 {
        return Err(Wrong(
            kind_span,
            "one node has no other to send to; choose a topology with two nodes at least".into(),
        ));
    }
    let config = config(&file.nodes)?;
    let physics = physics(file, &config)?;
    let noise = file.noise.as_ref().map(|table| noise(table, file.run.seed)).transpose()?;
    let place = |span: Range<usize>| format!("{name}:{}", line(text, span.start));
    let nodes = nodes(file, config, count, noise, &place)?;
    let background = file.background.as_ref().map(|table| background(file, table, &nodes, count)).transpose()?;
    let cycles = bounded(&file.run.cycles, 1, MOST_CYCLES, "cycles of a run")?;
    Ok(Study { name: name.into(), topology, physics, nodes, background, noise, cycles })
}

/// A key that the kind of the table needs.
fn needed<'a, T>(value: &'a Option<Spanned<T>>, key: &str, kind: Range<usize>, what: &str) -> Result<&'a T, Wrong> {
    value.as_ref().map(Spanned::get_ref).ok_or_else(|| Wrong(kind, format!("{what} needs `{key}`; add the key")))
}

/// Refuses a key that means nothing for the kind of the table.
fn unused<T>(value: &Option<Spanned<T>>, key: &str, what: &str) -> Result<(), Wrong> {
    match value {
        Some(value) => Err(Wrong(value.span(), format!("`{key}` means nothing for {what}; leave the key out"))),
        None => Ok(()),
    }
}

fn shape(table: &TopologyTable) -> Result<Shape, Wrong> {
    let kind = table.kind.span();
    let TopologyTable { nodes, down, up, shape, width, groups, switches, long, .. } = table;
    let number = |value: &Option<Spanned<u32>>, key, what| needed(value, key, kind.clone(), what).copied();
    let list = |value: &Option<Spanned<Vec<u32>>>, key, what| needed(value, key, kind.clone(), what).cloned();
    let none = |keys: &[(&Option<Spanned<u32>>, &str)], what| {
        keys.iter().try_for_each(|(value, key)| unused(value, key, what))
    };
    let no_lists = |keys: &[(&Option<Spanned<Vec<u32>>>, &str)], what| {
        keys.iter().try_for_each(|(value, key)| unused(value, key, what))
    };
    let of_dragonfly = [(groups, "groups"), (switches, "switches"), (long, "long")];
    match table.kind.get_ref() {
        kind @ (Kind::Cable | Kind::Star) => {
            let what = if *kind == Kind::Cable { "a cable" } else { "a star" };
            none(&of_dragonfly, what)?;
            none(&[(width, "width")], what)?;
            no_lists(&[(down, "down"), (up, "up"), (shape, "shape")], what)?;
            if *kind == Kind::Cable {
                none(&[(nodes, "nodes")], what)?;
                return Ok(Shape::Cable);
            }
            Ok(Shape::Star { nodes: number(nodes, "nodes", what)? })
        }
        Kind::FatTree => {
            let what = "a fat tree";
            none(&of_dragonfly, what)?;
            none(&[(width, "width"), (nodes, "nodes")], what)?;
            no_lists(&[(shape, "shape")], what)?;
            Ok(Shape::FatTree {
                down: list(down, "down", what)?,
                up: up.as_ref().map_or(vec![], |up| up.get_ref().clone()),
            })
        }
        kind @ (Kind::Torus | Kind::HyperX) => {
            let what = if *kind == Kind::Torus { "a torus" } else { "a HyperX" };
            none(&of_dragonfly, what)?;
            no_lists(&[(down, "down"), (up, "up")], what)?;
            let (shape, nodes) = (list(shape, "shape", what)?, number(nodes, "nodes", what)?);
            let width = width.as_ref().map_or(1, |width| *width.get_ref());
            Ok(if *kind == Kind::Torus {
                Shape::Torus { shape, width, nodes }
            } else {
                Shape::HyperX { shape, width, nodes }
            })
        }
        Kind::Dragonfly => {
            let what = "a dragonfly";
            none(&[(width, "width")], what)?;
            no_lists(&[(down, "down"), (up, "up"), (shape, "shape")], what)?;
            Ok(Shape::Dragonfly {
                groups: number(groups, "groups", what)?,
                switches: number(switches, "switches", what)?,
                long: number(long, "long", what)?,
                nodes: number(nodes, "nodes", what)?,
            })
        }
    }
}

fn config(nodes: &NodeTable) -> Result<Config, Wrong> {
    let Some(name) = &nodes.config else { return Ok(Config::SIM) };
    Config::by_name(name.get_ref()).ok_or_else(|| {
        let names: Vec<_> = Config::ALL.iter().map(|config| config.name).collect();
        let words = format!("there is no configuration `{}`; there are {}", name.get_ref(), names.join(", "));
        Wrong(name.span(), words)
    })
}

fn physics(file: &File, config: &Config) -> Result<Physics, Wrong> {
    let File { cables, switches, .. } = file;
    let cycle = 1000 * NANOSECOND / i64::from(config.clock_mhz);
    let share = |share: &Spanned<f64>| match *share.get_ref() {
        value if (0.0..=1.0).contains(&value) => Ok(value),
        value => Err(Wrong(share.span(), format!("a share of {value}; choose 0 to 1"))),
    };
    let gbps = *cables.gbps.get_ref();
    if !(0.01..=10_000.0).contains(&gbps) {
        return Err(Wrong(cables.gbps.span(), format!("{gbps} Gb/s; choose 0.01 to 10000")));
    }
    let cable = femtoseconds(&cables.node_ns)?;
    let trunk = femtoseconds(&cables.switch_ns)?;
    let long = cables.long_ns.as_ref().map_or(Ok(trunk), femtoseconds)?;
    let latency = femtoseconds(&switches.latency_ns)?;
    if trunk.min(long) + latency == 0 {
        let words = "cables between switches and switches take no time, so ranks cannot run side by side; give them 1 ns together";
        return Err(Wrong(cables.switch_ns.span(), words.into()));
    }
    if let Some(mark) = switches.mark_bytes.as_ref().filter(|mark| mark.get_ref() > switches.queue_bytes.get_ref()) {
        let words = format!(
            "frames are marked from {} bytes on, and an output holds {}, so none is marked; choose less",
            mark.get_ref(),
            switches.queue_bytes.get_ref()
        );
        return Err(Wrong(mark.span(), words));
    }
    let most = (cable / cycle) as u64;
    let window = match &file.nodes.window_cycles {
        None => most,
        Some(window) if *window.get_ref() == 0 || *window.get_ref() > most => {
            let words = format!(
                "a window of {} cycles, and the cable of a node has {most}: a node is known a window late, so choose 1 to {most}, or a \
                 longer `node_ns`",
                window.get_ref()
            );
            return Err(Wrong(window.span(), words));
        }
        Some(window) => *window.get_ref(),
    };
    if window == 0 {
        let words = format!("a cable of {} ns is shorter than a cycle; choose a longer one", cables.node_ns.get_ref());
        return Err(Wrong(cables.node_ns.span(), words));
    }
    Ok(Physics {
        routing: switches.routing,
        cable,
        trunk,
        long,
        latency,
        byte: (8.0 / gbps * NANOSECOND as f64).round() as i64,
        queue: *switches.queue_bytes.get_ref(),
        mark: switches.mark_bytes.as_ref().map_or(u64::MAX, |mark| *mark.get_ref()),
        overhead: cables.overhead_bytes,
        store: switches.store,
        loss: share(&cables.loss)?,
        corruption: share(&cables.corruption)?,
        seed: file.run.seed,
        cycle,
        window,
    })
}

fn noise(table: &NoiseTable, seed: u64) -> Result<Noise, Wrong> {
    let every = bounded(&table.every_cycles, 2, MOST_CYCLES, "cycles between pauses")?;
    let [least, most] = *table.pause_cycles.get_ref();
    if least == 0 || least > most || most > every / 2 {
        let words = format!(
            "pauses of {least} to {most} cycles; choose at least 1, the smaller number first, and at most {}, half of `every_cycles`",
            every / 2
        );
        return Err(Wrong(table.pause_cycles.span(), words));
    }
    Ok(Noise { every, least, most, seed: table.seed.unwrap_or(seed) })
}

/// The configuration's NICs: there are not too many, and memory answers in time.
fn nics(nodes: &NodeTable, count: usize) -> Result<(u64, u64), Wrong> {
    if count > rtl::MOST {
        let words = format!("{count} NICs; a network has at most {}: use `stand_in`", rtl::MOST);
        return Err(Wrong(nodes.kind.span(), words));
    }
    let [least, most] = nodes.host_cycles.as_ref().map_or([80, 80], |cycles| *cycles.get_ref());
    if let Some(cycles) = nodes.host_cycles.as_ref().filter(|_| least == 0 || least > most) {
        let words = format!(
            "answers of host memory after {least} to {most} cycles; choose at least 1, the smaller number first"
        );
        return Err(Wrong(cycles.span(), words));
    }
    Ok((least, most))
}

/// How NICs obey marks.
fn congestion(table: &Spanned<CongestionTable>) -> Result<Congestion, Wrong> {
    let usual = Congestion::default();
    let CongestionTable { shrink, least, first, most } = table.get_ref();
    let congestion = Congestion {
        shrink: shrink.unwrap_or(usual.shrink),
        least: least.unwrap_or(usual.least),
        first: first.unwrap_or(usual.first),
        most: most.unwrap_or(usual.most),
    };
    congestion.check().map_err(|error| Wrong(table.span(), error.to_string()))?;
    Ok(congestion)
}

/// When NICs send again.
fn reliability(table: &ReliabilityTable, usual: Reliability) -> Result<Reliability, Wrong> {
    let time = |value: &Option<Spanned<u64>>, usual: u16, most: u64| {
        let units = value.as_ref().map_or(Ok(usual.into()), |value| bounded(value, 1, most, "units of 64 cycles"))?;
        Ok(units as u16)
    };
    Ok(Reliability {
        timeout: time(&table.timeout, usual.timeout, MOST_TIMEOUT)?,
        hole_time: time(&table.hole_time, usual.hole_time, MOST_HOLE_TIME)?,
        ..usual
    })
}

fn nodes(
    file: &File,
    config: Config,
    count: usize,
    noise: Option<Noise>,
    place: &dyn Fn(Range<usize>) -> String,
) -> Result<Nodes, Wrong> {
    let File { nodes, program, run, .. } = file;
    let kind = *nodes.kind.get_ref();
    if let (Some(table), NodeKind::Served | NodeKind::StandIn) = (&file.congestion, kind) {
        let words = "`[congestion]` is for NICs whose programs the study has, and for models; leave the table out, or choose `kind = \
                     \"nic\"` or `kind = \"model\"`";
        return Err(Wrong(table.span(), words.into()));
    }
    let is_motif = program.as_ref().is_some_and(|program| *program.get_ref().kind.get_ref() == ProgramKind::Motif);
    if let (Some(table), false) = (&file.reliability, is_motif) {
        let words = "`[reliability]` is for programs of kind `motif`; leave the table out";
        return Err(Wrong(table.span(), words.into()));
    }
    if kind == NodeKind::Served {
        let what = "a `served` NIC";
        unused(&nodes.latency_cycles, "latency_cycles", what)?;
        unused(&nodes.gbps, "gbps", what)?;
        if let Some(program) = program {
            let words = "the programs of `served` NICs are their clients; leave `[program]` out";
            return Err(Wrong(program.span(), words.into()));
        }
        let host_latency = nics(nodes, count)?;
        let sockets = needed(&nodes.sockets, "sockets", nodes.kind.span(), what)?.clone();
        let span = nodes.sockets.as_ref().map_or(nodes.kind.span(), Spanned::span);
        if sockets.is_empty() {
            let words =
                format!("sockets without a name; give a folder, or a path with {NODE} for the number of the node");
            return Err(Wrong(span, words));
        }
        let time = nodes.time.as_ref().map_or(Time::Step, |time| *time.get_ref());
        let serving = Serving { sockets, time, place: place(span) };
        return Ok(Nodes::Served { config: Box::new(config), serving, host_latency });
    }
    let what = match kind {
        NodeKind::Nic => "a `nic` that puts",
        NodeKind::Model => "a `model`",
        _ => "a `stand_in` that asks",
    };
    unused(&nodes.sockets, "sockets", what)?;
    unused(&nodes.time, "time", what)?;
    let Some(program) = program.as_ref().map(Spanned::get_ref) else {
        return Err(Wrong(nodes.kind.span(), format!("{what} needs `[program]`; add the table")));
    };
    let fits = matches!(
        (kind, program.kind.get_ref()),
        (NodeKind::Nic, ProgramKind::Puts)
            | (NodeKind::StandIn, ProgramKind::Asks)
            | (NodeKind::Nic | NodeKind::Model, ProgramKind::Motif)
    );
    if !fits {
        let words = "hosts with a `nic` run `puts` or `motif`, with a `model` `motif`, and a `stand_in` runs `asks`; change the kind of \
                     nodes or program";
        return Err(Wrong(program.kind.span(), words.into()));
    }
    if *program.kind.get_ref() == ProgramKind::Motif {
        return motif(file, program, config, count);
    }
    unused(&program.post, "post", what)?;
    unused(&nodes.gbps, "gbps", what)?;
    unused(&program.fan_in, "fan_in", what)?;
    program.no_application(what)?;
    let messages = needed(&program.messages, "messages", program.kind.span(), "a program of puts or questions")?;
    if kind == NodeKind::Nic {
        unused(&nodes.latency_cycles, "latency_cycles", what)?;
        unused(&program.answer_bytes, "answer_bytes", what)?;
        unused(&program.timeout_cycles, "timeout_cycles", what)?;
        unused(&program.to, "to", what)?;
        let messages = messages_of_a_node(program, "a program of puts")?;
        let bytes = bounded(&program.bytes, 1, MOST_BYTES, "bytes of a message")?;
        let pattern = *needed(&program.pattern, "pattern", program.kind.span(), "a program of puts")?;
        if pattern.is_motif() {
            let words = "puts do not wait for each other; use a program of kind `motif`";
            return Err(Wrong(program.pattern.as_ref().map_or(0..0, Spanned::span), words.into()));
        }
        let host_latency = nics(nodes, count)?;
        let start = program
            .start
            .as_ref()
            .map_or(Ok(START), |start| bounded(start, 0, MOST_CYCLES, "cycles before messages"))?;
        let congestion = file.congestion.as_ref().map(congestion).transpose()?;
        let turns =
            program.turns.as_ref().map_or(Ok(1), |turns| bounded(turns, 1, MOST_PUT_TURNS.into(), "turns of puts"))?;
        let (messages, bytes, turns) = (messages as usize, bytes as usize, turns as u8);
        let puts = Puts { pattern, messages, bytes, start, congestion, turns };
        return Ok(Nodes::Nics { config: Box::new(config), puts, host_latency });
    }
    unused(&nodes.host_cycles, "host_cycles", what)?;
    unused(&program.pattern, "pattern", what)?;
    unused(&program.start, "start", what)?;
    unused(&program.turns, "turns", what)?;
    unused(&file.congestion, "congestion", what)?;
    if let Some(to) = program.to.as_ref().filter(|to| *to.get_ref() as usize >= count) {
        let words = format!("all nodes ask node {}, and there are {count}, from 0 on", to.get_ref());
        return Err(Wrong(to.span(), words));
    }
    let value = |value: &Option<Spanned<u64>>, usual, what| {
        value.as_ref().map_or(Ok(usual), |value| bounded(value, 1, 1 << 30, what))
    };
    let most = 1 << 20;
    Ok(Nodes::StandIns(stand_in::Options {
        nodes: count as u32,
        asks: *messages,
        bytes: bounded(&program.bytes, 1, most, "bytes of a question")?,
        answer: program.answer_bytes.as_ref().map_or(Ok(64), |bytes| bounded(bytes, 1, most, "bytes of an answer"))?,
        to: program.to.as_ref().map(|to| *to.get_ref()),
        latency: value(&nodes.latency_cycles, 100, "cycles from frame to frame")?,
        beat: BEAT_BYTES as u32,
        timeout: value(&program.timeout_cycles, 20_000, "cycles until a question is asked again")?,
        seed: run.seed,
        noise,
    }))
}

/// Models after so many NICs, which begin when these do.
fn background(file: &File, table: &Spanned<BackgroundTable>, nodes: &Nodes, count: usize) -> Result<Background, Wrong> {
    let BackgroundTable { count: models, pattern, messages, bytes } = table.get_ref();
    let (config, start) = match nodes {
        Nodes::Nics { config, puts, .. } => (config, puts.start),
        Nodes::Motif { config, motif, models: None, .. } => (config, motif.start),
        Nodes::Motif { .. } | Nodes::Served { .. } | Nodes::StandIns(_) => {
            let words = "`[background]` is for a network of `nic`; leave the table out";
            return Err(Wrong(table.span(), words.into()));
        }
    };
    let pattern_name = *pattern.get_ref();
    if !matches!(pattern_name, Pattern::Ring | Pattern::Half | Pattern::Incast | Pattern::AllToAll) {
        let words = "models in the background send in a `ring`, `half`, `incast` or `all_to_all`; choose one of these";
        return Err(Wrong(pattern.span(), words.into()));
    }
    let models = *models.get_ref() as usize;
    let sent = bounded(messages, 1, 1 << 20, "messages of a model")?;
    not_too_many(sent * models as u64, messages.span())?;
    let bytes = bounded(bytes, 1, MOST_BYTES, "bytes of a message")?;
    let mut motif = Motif::new(pattern_name, models, sent as u32, bytes, Post::Ring, config);
    motif.start = start;
    motif.congestion = file.congestion.as_ref().map(congestion).transpose()?;
    let parameters = parameters(config.name).map_err(|error| Wrong(table.span(), format!("{error:#}")))?;
    Ok(Background { first: count as u32, motif: Arc::new(motif), parameters: Arc::new(parameters) })
}

/// Messages that each node sends.
fn messages_of_a_node(program: &ProgramTable, what: &str) -> Result<u64, Wrong> {
    needed(&program.messages, "messages", program.kind.span(), what)?;
    program.messages.as_ref().map_or(Ok(1), |messages| bounded(messages, 1, 1 << 12, "messages of a node"))
}

/// NICs or models with a motif.
fn motif(file: &File, program: &ProgramTable, config: Config, count: usize) -> Result<Nodes, Wrong> {
    let (nodes, what) = (&file.nodes, "a motif");
    unused(&nodes.latency_cycles, "latency_cycles", what)?;
    unused(&program.answer_bytes, "answer_bytes", what)?;
    unused(&program.timeout_cycles, "timeout_cycles", what)?;
    unused(&program.to, "to", what)?;
    unused(&program.start, "start", what)?;
    unused(&program.turns, "turns", what)?;
    let pattern = *needed(&program.pattern, "pattern", program.kind.span(), what)?;
    let bytes = bounded(&program.bytes, 1, MOST_BYTES, "bytes of a message")?;
    let post = program.post.as_ref().map_or(Post::Ring, |post| *post.get_ref());
    let (mut models, mut host_latency) = (None, (0, 0));
    if *nodes.kind.get_ref() == NodeKind::Model {
        unused(&nodes.host_cycles, "host_cycles", "a `model`, which has the measured ones")?;
        if file.noise.is_some() {
            let words = "hosts of a `model` do not pause; leave `[noise]` out or use `nic`";
            return Err(Wrong(nodes.kind.span(), words.into()));
        }
        let named = nodes.config.as_ref().map_or(nodes.kind.span(), Spanned::span);
        let mut measured = parameters(config.name).map_err(|error| Wrong(named, format!("{error:#}")))?;
        if let Some(gbps) = &nodes.gbps {
            let own = 8.0 * BEAT_BYTES as f64 * f64::from(config.clock_mhz) / 1000.0;
            measured = measured.widened(bounded(gbps, 1.0, 10_000.0, "Gb/s of a NIC")? / own);
        }
        models = Some(Arc::new(measured));
    } else {
        unused(&nodes.gbps, "gbps", "a `nic`, which has the rate of its stream")?;
        host_latency = nics(nodes, count)?;
    }
    if pattern != Pattern::HandlerAllreduce {
        unused(&program.fan_in, "fan_in", "this pattern")?;
    }
    let mut motif = match application(program, pattern, bytes, count)? {
        Some(application) => {
            unused(&program.messages, "messages", "an application")?;
            let workload = workload(file, program, application, &config)?;
            Motif::workload(workload, post, &config)
        }
        None => {
            program.no_application("this pattern")?;
            if pattern == Pattern::PingPong && count % 2 == 1 {
                let words = format!("{count} nodes cannot be paired; choose a topology with an even number");
                return Err(Wrong(program.pattern.as_ref().map_or(0..0, Spanned::span), words));
            }
            let messages = messages_of_a_node(program, what)?;
            let span = program.pattern.as_ref().map_or(0..0, Spanned::span);
            not_too_many(messages * count as u64, span.clone())?;
            if pattern == Pattern::HandlerBroadcast && bytes as usize > SEGMENT_BYTES {
                let words =
                    format!("{bytes} bytes; handlers pass on messages of one packet, of at most {SEGMENT_BYTES}");
                return Err(Wrong(program.bytes.span(), words));
            }
            if pattern == Pattern::HandlerAllreduce {
                let Cables { loss, corruption, .. } = &file.cables;
                if let Some(share) = [loss, corruption].into_iter().find(|share| *share.get_ref() > 0.0) {
                    let words = "handlers put a sum once, so an allreduce that loses one does not end; leave loss and corruption out";
                    return Err(Wrong(share.span(), words.into()));
                }
                let fan_in = program.fan_in.as_ref().map_or(FAN_IN, |fan_in| *fan_in.get_ref());
                let vectors = vec![bytes; messages as usize];
                let motif = Motif::handler_allreduce(count, &vectors, fan_in as usize, SUM_ROUND, &config);
                motif.map_err(|error| Wrong(span, format!("{error:#}")))?
            } else {
                Motif::new(pattern, count, messages as u32, bytes, post, &config)
            }
        }
    };
    motif.congestion = file.congestion.as_ref().map(congestion).transpose()?;
    let usual = programs::reliability(motif.congestion);
    motif.reliability = file.reliability.as_ref().map(|table| reliability(table.get_ref(), usual)).transpose()?;
    Ok(Nodes::Motif { config: Box::new(config), motif: Arc::new(motif), host_latency, models })
}

/// The application of a pattern on so many nodes, if it is one.
fn application(
    program: &ProgramTable,
    pattern: Pattern,
    bytes: u32,
    count: usize,
) -> Result<Option<Application>, Wrong> {
    let span = program.pattern.as_ref().map_or(0..0, Spanned::span);
    let number = |value: &Option<Spanned<u32>>, usual: u32, what: &str| {
        value.as_ref().map_or(Ok(usual), |value| bounded(value, 1, 1 << 16, what))
    };
    let short = |value: &Option<Spanned<u32>>| {
        value.as_ref().map_or(Ok(0), |value| bounded(value, 0, MOST_BYTES, "bytes of a message"))
    };
    let no = |keys: &[(&Option<Spanned<u32>>, &str)], what: &str| {
        keys.iter().try_for_each(|(value, key)| unused(value, key, what))
    };
    let of_sweep = [(&program.blocks, "blocks"), (&program.sweeps, "sweeps")];
    let of_halo = [
        (&program.iterations, "iterations"),
        (&program.edge_bytes, "edge_bytes"),
        (&program.corner_bytes, "corner_bytes"),
    ];
    let nodes = count as u32;
    let application = match pattern {
        Pattern::Sweep => {
            no(&of_halo, "a sweep")?;
            let grid = grid(program, span.clone(), count, "a sweep")?;
            let (blocks, sweeps) =
                (number(&program.blocks, 1, "blocks of a sweep")?, number(&program.sweeps, 8, "sweeps")?);
            Application::Sweep { grid, blocks, sweeps, bytes }
        }
        Pattern::Halo => {
            no(&of_sweep, "a halo")?;
            let grid = grid(program, span.clone(), count, "a halo")?;
            let iterations = number(&program.iterations, 1, "iterations")?;
            let bytes = [bytes, short(&program.edge_bytes)?, short(&program.corner_bytes)?];
            Application::Halo { grid, iterations, bytes }
        }
        Pattern::Doubling | Pattern::ReductionRing => {
            no(&of_sweep, "an allreduce")?;
            no(&of_halo, "an allreduce")?;
            unused(&program.grid, "grid", "an allreduce")?;
            unused(&program.compute_ns, "compute_ns", "an allreduce, whose hosts add by `copy_gb_per_s`")?;
            match pattern {
                Pattern::Doubling => Application::Doubling { nodes, bytes },
                _ => Application::ReductionRing { nodes, bytes },
            }
        }
        Pattern::AllToAll if program.messages.is_none() => {
            no(&of_sweep, "all to all")?;
            no(&of_halo, "all to all")?;
            unused(&program.grid, "grid", "all to all")?;
            unused(&program.compute_ns, "compute_ns", "all to all")?;
            Application::AllToAll { nodes, bytes }
        }
        _ => return Ok(None),
    };
    application.check().map_err(|error| Wrong(span.clone(), format!("{error:#}")))?;
    not_too_many(application.messages(), span)?;
    Ok(Some(application))
}

/// Refuses motifs with which a run would not end on this day.
fn not_too_many(messages: u64, span: Range<usize>) -> Result<(), Wrong> {
    if messages > MOST_MESSAGES {
        return Err(Wrong(span, format!("a motif of {messages} messages; choose at most {MOST_MESSAGES}")));
    }
    Ok(())
}

/// The sides of a grid of so many nodes.
fn grid<const N: usize>(
    program: &ProgramTable,
    pattern: Range<usize>,
    count: usize,
    what: &str,
) -> Result<[u32; N], Wrong> {
    let sides = needed(&program.grid, "grid", pattern, what)?;
    let span = program.grid.as_ref().map_or(0..0, Spanned::span);
    let wrong = |words: String| Wrong(span.clone(), words);
    let grid = <[u32; N]>::try_from(sides.as_slice())
        .map_err(|_| wrong(format!("a grid of {} dimensions; {what} has {N}", sides.len())))?;
    let nodes = grid.iter().try_fold(1_u32, |nodes, side| nodes.checked_mul(*side));
    match nodes {
        Some(nodes) if nodes as usize == count => Ok(grid),
        _ => Err(wrong(format!(
            "a grid of {grid:?} does not have the {count} nodes of the topology; change one of them"
        ))),
    }
}

/// An application with its protocol.
fn workload(file: &File, program: &ProgramTable, application: Application, config: &Config) -> Result<Workload, Wrong> {
    let cycles_a_ns = f64::from(config.clock_mhz) / 1000.0;
    let arm = program.arm.as_ref().map_or(Arm::Rvma, |arm| *arm.get_ref());
    let usual = Workload::new(application, arm);
    let restores = program.restores_order.as_ref().is_some_and(|restores| *restores.get_ref());
    if arm.wants_order() && file.switches.routing == Routing::Adaptive && !restores {
        let words = "this arm is right on ordered paths alone; choose routing = \"static\" or \"ecmp\", restores_order = true for a NIC \
                     that restores the order, or another arm";
        return Err(Wrong(program.arm.as_ref().map_or(0..0, Spanned::span), words.into()));
    }
    let is_rendezvous = matches!(arm, Arm::Rendezvous | Arm::RendezvousBlocking);
    match (&program.eager_bytes, &program.copies) {
        (Some(eager), _) if !is_rendezvous => {
            return Err(Wrong(eager.span(), "`eager_bytes` is for an arm with a rendezvous; leave the key out".into()))
        }
        (_, Some(copies)) if is_rendezvous => {
            let words =
                "with a rendezvous, messages of up to `eager_bytes` are copied, and no others; leave `copies` out";
            return Err(Wrong(copies.span(), words.into()));
        }
        _ => {}
    }
    let compute = program.compute_ns.as_ref().map_or(Ok(0.0), |ns| bounded(ns, 0.0, 1e9, "ns of computation"))?;
    let copy = program.copy_gb_per_s.as_ref().map_or(Ok(10.0), |rate| bounded(rate, 0.01, 1e4, "GB/s of a copy"))?;
    let buffers =
        program.buffers.as_ref().map_or(Ok(usual.buffers), |buffers| bounded(buffers, 1, 1 << 16, "buffers"))?;
    Ok(Workload {
        compute: (compute * cycles_a_ns).round() as u32,
        bytes_a_cycle: copy / cycles_a_ns,
        eager: program.eager_bytes.as_ref().map_or(0, |bytes| *bytes.get_ref()),
        copies: program.copies.as_ref().is_some_and(|copies| *copies.get_ref()),
        buffers,
        ..usual
    })
}

/// Vectors that a handler adds, unless the study says how many.
const FAN_IN: u32 = 8;
/// Most messages of a motif.
const MOST_MESSAGES: u64 = 10_000_000;
/// Most bytes of a message.
const MOST_BYTES: u32 = 1 << 24;
/// Longest times after which a NIC sends again, in units of 64 cycles: those of its driver.
const MOST_TIMEOUT: u64 = 4095;
const MOST_HOLE_TIME: u64 = 32_767;
/// Most cycles of a run: their femtoseconds fit into 63 bits.
const MOST_CYCLES: u64 = 1_000_000_000_000;
/// Cycle in which hosts begin to send, unless the study names another.
const START: u64 = 8_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::Cases;

    const STUDY: &str =
        "[topology]\nkind = 'fat_tree'\ndown = [2, 2]\nup = [2]\n\n[nodes]\nkind = 'nic'\nconfig = 'sim'\n\n\
                         [program]\nkind = 'puts'\npattern = 'ring'\nmessages = 2\nbytes = 4096\n";

    #[test]
    fn a_study_has_usual_values() {
        let study = Study::parse("a.toml", STUDY).unwrap();
        assert_eq!((study.topology.nodes.len(), study.physics.window, study.physics.cycle), (4, 22, 4 * NANOSECOND));
        assert_eq!((study.physics.byte, study.physics.mark, study.cycles), (62_500, u64::MAX, 2_000_000));
    }

    #[test]
    fn the_studies_of_the_folder_are_studies() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("studies");
        let mut read = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let studies = match Cases::read(&path).unwrap() {
                Some(cases) => cases.settings().iter().take(1).map(|case| cases.study(case).unwrap()).collect(),
                None => vec![Study::read(&path).unwrap()],
            };
            studies.iter().for_each(|study| drop(study.topology.partition(2).unwrap()));
            read += 1;
        }
        assert!(read >= 2);
    }

    #[test]
    fn no_value_of_a_line_does_more_than_be_refused() {
        let mut texts = vec![STUDY.to_string()];
        for name in ["incast16.toml", "asks1024.toml", "served4.toml"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("studies").join(name);
            texts.push(std::fs::read_to_string(path).unwrap());
        }
        for (kind, keys) in [
            ("dragonfly", "groups = 5\nswitches = 3\nlong = 2\nnodes = 1"),
            ("torus", "shape = [3, 3]\nwidth = 2\nnodes = 1"),
            ("star", "nodes = 3"),
        ] {
            let more = "\n[cables]\ngbps = 1.5\nlong_ns = 3\noverhead_bytes = 1\n[switches]\nqueue_bytes = 1\nstore = true\n\
                        [nodes]\nkind = 'stand_in'\nlatency_cycles = 1\n[program]\nkind = 'asks'\nmessages = 1\nbytes = 1\n\
                        to = 0\nanswer_bytes = 1\ntimeout_cycles = 9\n[noise]\nevery_cycles = 1000\npause_cycles = [1, 1]\n\
                        [run]\nseed = 3\ncycles = 99\n";
            texts.push(format!("[topology]\nkind = '{kind}'\n{keys}{more}"));
        }
        texts.push(
            "[topology]\nkind = 'star'\nnodes = 16\n[nodes]\nkind = 'model'\n[program]\nkind = 'motif'\n\
             pattern = 'handler_allreduce'\nbytes = 8\nmessages = 2\nfan_in = 4\n"
                .into(),
        );
        let values = [
            "0",
            "1",
            "-1",
            "4294967295",
            "9223372036854775807",
            "1e300",
            "nan",
            "''",
            "[]",
            "[0, 0]",
            "{}",
            "'",
            "[4294967295]",
        ];
        let (mut refused, mut taken) = (0, 0);
        for text in &texts {
            Study::parse("s.toml", text).unwrap_or_else(|error| panic!("{text}: {error:#}"));
            let lines: Vec<&str> = text.lines().collect();
            for (i, line) in lines.iter().enumerate() {
                let Some((key, _)) = line.split_once(" = ") else { continue };
                for value in values {
                    let mut changed = lines.clone();
                    let line = format!("{key} = {value}");
                    changed[i] = &line;
                    match Study::parse("s.toml", &changed.join("\n")) {
                        Ok(_) => taken += 1,
                        Err(error) => {
                            let words = format!("{error:#}");
                            assert!(words.starts_with("s.toml:") && !words.contains('\n'), "{line}: {words}");
                            refused += 1;
                        }
                    }
                }
            }
        }
        assert!(refused > 500 && taken > 20, "{refused} refused, {taken} taken");
    }

    #[test]
    fn served_nodes_have_sockets_and_no_program() {
        let text = "[topology]\nkind = 'star'\nnodes = 3\n\n[nodes]\nkind = 'served'\nsockets = '/run/cards'\n";
        let study = Study::parse("a.toml", text).unwrap();
        let Nodes::Served { serving, host_latency, .. } = study.nodes else { panic!("{:?}", study.nodes) };
        let wanted = Serving { sockets: "/run/cards".into(), time: Time::Step, place: "a.toml:7".into() };
        assert_eq!((serving, host_latency), (wanted, (80, 80)));
        let refused = |from: &str, to: &str, wanted: &str| {
            let error = format!("{:#}", Study::parse("a.toml", &text.replacen(from, to, 1)).unwrap_err());
            assert!(error.starts_with(wanted) && !error.contains('\n'), "{error}");
        };
        refused("sockets = '/run/cards'", "", "a.toml:6: a `served` NIC needs `sockets`");
        refused("'/run/cards'", "''", "a.toml:7: sockets without a name");
        refused(
            "'/run/cards'",
            "'a'\nlatency_cycles = 9",
            "a.toml:8: `latency_cycles` means nothing for a `served` NIC",
        );
        refused("'/run/cards'", "'a'\ntime = 'slow'", "a.toml:8: unknown variant `slow`");
        refused("nodes = 3", "nodes = 300", "a.toml:6: 300 NICs");
        refused("'served'", "'nic'", "a.toml:7: `sockets` means nothing");
        refused("'served'\nsockets = '/run/cards'", "'nic'", "a.toml:6: a `nic` that puts needs `[program]`");
    }

    #[test]
    fn sums_of_handlers_and_messages_to_all_have_their_keys() {
        let text = "[topology]\nkind = 'star'\nnodes = 16\n\n[nodes]\nkind = 'model'\n\n\
                    [program]\nkind = 'motif'\npattern = 'handler_allreduce'\nbytes = 8\nmessages = 2\nfan_in = 4\n";
        Study::parse("a.toml", text).unwrap();
        Study::parse("a.toml", &text.replace("model", "nic")).unwrap();
        let to_all = text.replace("handler_allreduce", "all_to_all").replace("fan_in = 4\n", "");
        Study::parse("a.toml", &to_all).unwrap();
        let with_arm = to_all.replace("messages = 2", "arm = 'rendezvous'");
        let Nodes::Motif { motif, .. } = Study::parse("a.toml", &with_arm).unwrap().nodes else { panic!() };
        assert_eq!(motif.application().unwrap().application, Application::AllToAll { nodes: 16, bytes: 8 });
        for (text, from, to, wanted) in [
            (text, "fan_in = 4", "fan_in = 16", "a.toml:10: 16 nodes with a fan-in of 16"),
            (text, "bytes = 8", "bytes = 10", "a.toml:10: a vector of 10 bytes"),
            (text, "[nodes]", "[cables]\nloss = 0.1\n[nodes]", "a.toml:6: handlers put a sum once"),
            (text, "handler_allreduce", "handler_broadcast", "a.toml:13: `fan_in` means nothing for this pattern"),
            (text, "messages = 2", "messages = 2\narm = 'rvma'", "a.toml:13: `arm` means nothing for this pattern"),
            (&to_all, "messages = 2", "messages = 2\narm = 'rvma'", "a.toml:13: `arm` means nothing for this pattern"),
            (&with_arm, "bytes = 8", "bytes = 8\ngrid = [4, 4]", "a.toml:12: `grid` means nothing for all to all"),
        ] {
            let text = text.replace(from, to);
            let words = Study::parse("a.toml", &text).unwrap_err().to_string();
            assert!(words.contains(wanted), "{words}, not {wanted}");
        }
    }

    #[test]
    fn models_and_nics_of_a_motif_bear_loss_and_obey_marks() {
        let text =
            "[topology]\nkind = 'star'\nnodes = 3\n[cables]\nloss = 0.1\ncorruption = 0.1\n[nodes]\nkind = 'model'\n\
                    [program]\nkind = 'motif'\npattern = 'ring'\nmessages = 1\nbytes = 8\n";
        let motif = |more: &str, kind: &str| {
            let text = format!("{text}{more}").replace("'model'", kind);
            let Nodes::Motif { motif, .. } = Study::parse("a.toml", &text).unwrap().nodes else { panic!("{text}") };
            (motif.congestion, motif.reliability.map(|times| (times.timeout, times.hole_time)), motif.transport(true))
        };
        for kind in ["'model'", "'nic'"] {
            let (congestion, times, transport) = motif("", kind);
            assert_eq!((congestion, times, transport.timeout, transport.hole_time), (None, None, 128, 16));
            let (congestion, times, transport) = motif("[congestion]\nfirst = 5\n", kind);
            assert_eq!(congestion, Some(Congestion { first: 5, ..Congestion::default() }));
            // A round trip through a full output is longer.
            assert_eq!((times, transport.timeout, transport.hole_time), (None, 128, 32));
            let (_, times, transport) = motif("[congestion]\n[reliability]\ntimeout = 512\n", kind);
            assert_eq!((times, transport.timeout, transport.hole_time), (Some((512, 32)), 512, 32));
        }
        let refused = |from: &str, to: &str, wanted: &str| {
            assert!(text.contains(from), "{from}");
            let error = format!("{:#}", Study::parse("a.toml", &text.replacen(from, to, 1)).unwrap_err());
            assert!(error.starts_with(wanted) && !error.contains('\n'), "{error}");
        };
        refused(
            "[nodes]",
            "[reliability]\ntimeout = 4096\n[nodes]",
            "a.toml:8: 4096 units of 64 cycles; choose 1 to 4095",
        );
        refused(
            "[nodes]",
            "[reliability]\nhole_time = 0\n[nodes]",
            "a.toml:8: 0 units of 64 cycles; choose 1 to 32767",
        );
        refused("[nodes]", "[congestion]\nleast = 0\n[nodes]", "a.toml:7: windows of 0, 32");
        refused(
            "kind = 'model'",
            "kind = 'served'\n[congestion]",
            "a.toml:9: `[congestion]` is for NICs whose programs",
        );
        refused(
            "kind = 'model'\n[program]\nkind = 'motif'",
            "kind = 'nic'\n[reliability]\ntimeout = 9\n[program]\nkind = 'puts'",
            "a.toml:9: `[reliability]` is for programs of kind `motif`",
        );
    }

    #[test]
    fn errors_name_file_line_and_what_to_do() {
        let refused = |from: &str, to: &str, wanted: &str| {
            assert!(STUDY.contains(from), "{from}");
            let error = Study::parse("a.toml", &STUDY.replacen(from, to, 1)).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.starts_with("a.toml:") && error.contains(wanted), "{error}");
            assert!(!error.contains('\n'), "{error}");
        };
        refused("up = [2]", "upp = [2]", "a.toml:4: unknown field `upp`");
        refused("up = [2]", "up = [2]\nwidth = 2", "a.toml:5: `width` means nothing for a fat tree");
        refused("up = [2]", "up = [2, 2]", "a.toml:2: a fat tree of 2 levels");
        refused("kind = 'nic'", "kind = 'nic'\ncount = 5", "a.toml:8: 5 nodes, but the topology has 4");
        refused(
            "kind = 'nic'",
            "kind = 'nic'\nwindow_cycles = 23",
            "a.toml:8: a window of 23 cycles, and the cable of a node has 22",
        );
        refused("'sim'", "'simm'", "a.toml:8: there is no configuration `simm`");
        refused("pattern = 'ring'\n", "", "a.toml:11: a program of puts needs `pattern`");
        refused("messages = 2", "messages = 0", "a.toml:13: 0 messages");
        let beside = |count: u32, pattern: &str| {
            format!(
                "count = 2\n[background]\ncount = {count}\npattern = '{pattern}'\nmessages = 1\nbytes = 8\n[program]"
            )
        };
        let words = "a.toml:10: 2 nodes beside 3 models in the background, but the topology has 4";
        refused("[program]", &beside(3, "ring"), words);
        refused("[program]", &beside(4, "ring"), "a.toml:12: 4 models in the background; choose 2 to 3");
        refused("[program]", &beside(2, "sweep"), "a.toml:13: models in the background send in a `ring`");
        refused("messages = 2", "messages = 2\nturns = 65", "a.toml:14: 65 turns of puts");
        refused("bytes = 4096", "bytes = 'many'", "a.toml:14: invalid type");
        refused("[program]", "[cables]\nloss = 1.5\n[program]", "a.toml:11: a share of 1.5");
        refused(
            "[program]",
            "[switches]\nqueue_bytes = 10\nmark_bytes = 11\n[program]",
            "a.toml:12: frames are marked from 11",
        );
        refused("'puts'", "'asks'", "hosts with a `nic` run `puts` or `motif`");
        refused("'nic'", "'served'", "a.toml:10: the programs of `served` NICs are their clients");
        refused("'sim'", "'sim'\nsockets = '/run'", "a.toml:9: `sockets` means nothing for a `nic` that puts");
        refused("'sim'", "'sim'\ntime = 'free'", "a.toml:9: `time` means nothing for a `nic` that puts");
        refused("[program]", "[noise]\nevery_cycles = 9\n[program]", "a.toml:10: missing field `pause_cycles`");
        refused("[program]", "[noise]\npause_cycles = [1, 2]\n[program]", "a.toml:10: missing field `every_cycles`");
        refused(
            "[program]",
            "[noise]\nevery_cycles = 9\npause_cycles = [1, 5]\n[program]",
            "a.toml:12: pauses of 1 to 5 cycles",
        );
        refused("[program]", "[noise]\nevery_cycle = 9\n[program]", "a.toml:11: unknown field `every_cycle`");
        refused("[program]", "[cable]\n[program]", "unknown field `cable`");
        refused("[program]", "[program", "a.toml:10");
    }
}
