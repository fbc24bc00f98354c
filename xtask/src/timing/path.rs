//! The longest paths of a graph: each end with its path, grouped by the blocks in which they begin and end.

use super::graph::{Arrivals, Graph, Place, Terminal};
use crate::netlist::{Bit, Module};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// One path from a register to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Path {
    /// Nanoseconds, clock uncertainty included.
    pub period_ns: f64,
    pub start: String,
    pub end: String,
    /// The blocks of start and end, without numbers of instances.
    pub group: (String, String),
    /// Ends of the same group.
    pub ends: usize,
    pub cells_ns: f64,
    pub nets_ns: f64,
    pub steps: Vec<Step>,
}

/// A cell on the way and the net after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    pub kind: String,
    pub cell_ns: f64,
    /// The net before the cell.
    pub net_ns: f64,
    /// The net that the cell drives, and its sinks.
    pub net: String,
    pub sinks: f64,
}

/// Names of nets and of registers.
pub struct Names {
    nets: HashMap<u64, String>,
    /// The net of each register, and where the source has it.
    registers: HashMap<String, (u64, Option<String>)>,
}

impl Names {
    /// Of several names of a register's net, the one of the module that has the register; of another net, the outermost one
    /// that the source has given.
    pub fn of(module: &Module) -> Names {
        let mut registers = HashMap::new();
        let mut files: HashMap<u64, &str> = HashMap::new();
        for (name, cell) in module.cells.iter().filter(|(_, cell)| cell.kind.starts_with("FD")) {
            let Some(Bit::Net(net)) = cell.connections.get("Q").and_then(|bits| bits.first()) else { continue };
            let source = cell.source();
            files.extend(source.map(|(file, _)| (*net, file.rsplit('/').next().unwrap_or(file))));
            let place = source.map(|(file, line)| format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)));
            registers.insert(name.to_string(), (*net, place));
        }
        let mut nets: HashMap<u64, (bool, bool, usize, String)> = HashMap::new();
        for (name, bits) in &module.netnames {
            let generated = name.starts_with('$') || name.contains(".$");
            for (index, bit) in bits.bits.iter().enumerate() {
                let Bit::Net(net) = bit else { continue };
                let stem = files.get(net).and_then(|file| file.split('.').next());
                let elsewhere = stem.is_some_and(|stem| !instance(name).contains(stem));
                let bit = if bits.bits.len() > 1 { format!("{name}[{index}]") } else { name.to_string() };
                let rank = (generated, elsewhere, name.matches('.').count(), bit);
                match nets.get(net) {
                    Some(other) if *other <= rank => (),
                    _ => _ = nets.insert(*net, rank),
                }
            }
        }
        Names { nets: nets.into_iter().map(|(net, (_, _, _, name))| (net, name)).collect(), registers }
    }

    fn net(&self, number: u64) -> String {
        self.nets.get(&number).cloned().unwrap_or_else(|| format!("net {number}"))
    }

    fn terminal(&self, graph: &Graph, terminal: &Terminal) -> String {
        let Place::Cell(place) = terminal.place else { return format!("port {}", terminal.pin) };
        let (name, kind) = &graph.cells[place];
        let Some((net, source)) = self.registers.get(name) else {
            return format!("{} {kind} ({})", plain(name), terminal.pin);
        };
        let pin = match terminal.pin.as_str() {
            "Q" | "D" => String::new(),
            pin => format!(" ({pin})"),
        };
        let source = source.as_ref().map_or_else(String::new, |source| format!(" [{source}]"));
        self.net(*net) + &pin + &source
    }
}

/// The instance that has a net: the name before the net's own.
fn instance(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(path, _)| path.rsplit('.').next().unwrap_or(path))
}

/// A cell's name without the marks that yosys adds when it flattens.
fn plain(name: &str) -> String {
    name.replace("$flatten", "").replace('\\', "")
}

/// The block of a register's name: its hierarchy, `*` for numbers of instances.
pub fn block_of(name: &str) -> String {
    let path = name.split(' ').next().unwrap_or_default();
    if path == "port" {
        return "ports".into();
    }
    let path = path.rsplit_once('.').map_or("top", |(path, _)| path);
    let mut block = String::new();
    for c in path.chars() {
        match c {
            '0'..='9' if block.ends_with('*') => (),
            '0'..='9' => block.push('*'),
            c => block.push(c),
        }
    }
    block
}

/// The longest path of each group, the longest first. Without `ports` only paths between registers count; ports for which
/// `ignored` holds never do.
pub fn longest(graph: &Graph, names: &Names, ports: bool, ignored: impl Fn(&str) -> bool) -> Vec<Path> {
    let counted = |terminal: &&Terminal| match terminal.place {
        Place::Port => ports && !ignored(terminal.pin.split('[').next().unwrap_or_default()),
        Place::Cell(_) => true,
    };
    let arrivals = graph.arrivals(graph.starts.iter().filter(counted));
    let mut ends: Vec<(f64, &Terminal)> = Vec::new();
    for end in graph.ends.iter().filter(counted) {
        if let Some((time, _)) = arrivals[end.net.index()] {
            ends.push((time + end.wire + end.cell + graph.uncertainty, end));
        }
    }
    ends.sort_by(|a, b| b.0.total_cmp(&a.0));
    let starts: BTreeMap<_, _> = graph.starts.iter().filter(counted).map(|start| (start.net, start)).collect();
    let mut groups: HashMap<(String, String), usize> = HashMap::new();
    let mut paths: Vec<Path> = Vec::new();
    // The start of each path is found by its first net, and named once.
    for (time, end) in ends {
        let mut first = end.net;
        while let Some((_, Some(edge))) = arrivals[first.index()] {
            first = graph.nets.edge_endpoints(edge).expect("the edge is in the graph").0;
        }
        let start = starts.get(&first).map_or_else(|| "?".into(), |start| names.terminal(graph, start));
        let to = names.terminal(graph, end);
        let group = (block_of(&start), block_of(&to));
        match groups.get(&group) {
            Some(known) => paths[*known].ends += 1,
            None => {
                groups.insert(group.clone(), paths.len());
                paths.push(trace(graph, names, &arrivals, end, (time, start, to, group)));
            }
        }
    }
    paths
}

fn trace(
    graph: &Graph,
    names: &Names,
    arrivals: &Arrivals,
    end: &Terminal,
    (time, start, to, group): (f64, String, String, (String, String)),
) -> Path {
    let mut steps = Vec::new();
    let mut net = end.net;
    while let Some((_, Some(edge))) = arrivals[net.index()] {
        let arc = graph.nets[edge];
        let driven = &graph.nets[net];
        steps.push(Step {
            kind: graph.cells[arc.through].1.clone(),
            cell_ns: ns(arc.cell),
            net_ns: ns(arc.net),
            net: names.net(driven.number),
            sinks: driven.sinks,
        });
        net = graph.nets.edge_endpoints(edge).expect("the edge is in the graph").0;
    }
    let (first, _) = arrivals[net.index()].expect("the path has a start");
    let driven = &graph.nets[net];
    let launch = driven.driver.map_or("port", |place| graph.cells[place].1.as_str());
    steps.push(Step {
        kind: launch.to_string(),
        cell_ns: ns(first),
        net_ns: 0.0,
        net: names.net(driven.number),
        sinks: driven.sinks,
    });
    steps.reverse();
    let capture = match end.place {
        Place::Cell(place) => graph.cells[place].1.clone(),
        Place::Port => "port".into(),
    };
    steps.push(Step { kind: capture, cell_ns: ns(end.cell), net_ns: ns(end.wire), net: String::new(), sinks: 0.0 });
    let sum = |of: fn(&Step) -> f64| ns(steps.iter().map(|step| of(step) * 1000.0).sum());
    Path {
        period_ns: ns(time),
        start,
        end: to,
        group,
        ends: 1,
        cells_ns: sum(|step| step.cell_ns),
        nets_ns: sum(|step| step.net_ns),
        steps,
    }
}

/// Nanoseconds with three decimals.
pub fn ns(picoseconds: f64) -> f64 {
    picoseconds.round() / 1000.0
}

impl Path {
    /// Several lines: where it begins, each cell with its net, and where it ends.
    pub fn text(&self) -> String {
        let mut text = format!(
            "  {:.2} ns ({:.2} in cells, {:.2} in nets), {} ends\n    from {}\n",
            self.period_ns, self.cells_ns, self.nets_ns, self.ends, self.start
        );
        for step in &self.steps {
            let Step { kind, cell_ns, net_ns, net, sinks } = step;
            let onto = if net.is_empty() { String::new() } else { format!(" {net} (fan-out {sinks:.0})") };
            text += &format!("    {net_ns:>6.3} + {cell_ns:>6.3} {kind:<9}{onto}\n");
        }
        text + &format!("    to {}\n", self.end)
    }
}
