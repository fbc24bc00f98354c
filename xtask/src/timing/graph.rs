//! The graph of a mapped netlist: nets are nodes, ways through cells are edges, and registers begin and end paths.
//!
//! A path begins at the clock-to-output of a register, a memory or a DSP, goes through nets, LUTs, carry cells, multiplexers
//! and asynchronous reads of LUT RAM, and ends at a set-up. A net's delay is that of its number of sinks; eight pins of a
//! control set (enable, set, reset) count as one, because a slice shares them. A net inside a slice takes nothing: carry to
//! carry, LUT to the multiplexers and to the carry cell of its slice, and LUT or carry to the flip-flop beside it.

use super::delays::{Cell as CellDelays, Dsp, Family};
use super::model::Model;
use crate::netlist::{Bit, Cell, Module};
use anyhow::{bail, Context, Result};
use petgraph::algo::{tarjan_scc, toposort};
use petgraph::graph::{DiGraph, EdgeIndex, NodeIndex};
use petgraph::visit::EdgeRef;
use petgraph::Direction;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A way through a cell: from the net of an input to the net of an output.
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    /// Picoseconds in the net before the cell and in the cell.
    pub net: f64,
    pub cell: f64,
    /// The cell's place in `Graph::cells`.
    pub through: usize,
}

/// Where a path begins or ends.
#[derive(Clone, Debug)]
pub struct Terminal {
    pub net: NodeIndex,
    /// At a start clock-to-output, at an end set-up.
    pub cell: f64,
    /// At an end the net before the pin.
    pub wire: f64,
    pub place: Place,
    pub pin: String,
}

/// What stands at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// A register, memory, DSP or box: the place in `Graph::cells`.
    Cell(usize),
    Port,
}

/// The graph of one module.
pub struct Graph {
    pub nets: DiGraph<Net, Arc>,
    /// Nets in an order in which each arc leads onward.
    pub order: Vec<NodeIndex>,
    pub starts: Vec<Terminal>,
    pub ends: Vec<Terminal>,
    /// Names and kinds.
    pub cells: Vec<(String, String)>,
    /// Nets by their numbers.
    pub by_number: HashMap<u64, NodeIndex>,
    pub uncertainty: f64,
}

/// A net: its sinks, where a control pin counts as an eighth, and its driver's place in `Graph::cells`.
#[derive(Clone, Debug, Default)]
pub struct Net {
    pub number: u64,
    pub sinks: f64,
    /// Flip-flop data pins among the sinks.
    data_pins: usize,
    pub driver: Option<usize>,
}

/// When a net is stable at the latest, and by which arc; `None` where no path leads.
pub type Arrivals = Vec<Option<(f64, Option<EdgeIndex>)>>;

/// Pins that the flip-flops of a slice share.
fn is_control(kind: &str, pin: &str) -> bool {
    kind.starts_with("FD") && ["CE", "R", "S", "CLR", "PRE"].contains(&pin)
}

impl Graph {
    /// Builds the graph. The modules `boxes` are known by their models alone.
    pub fn build(module: &Module, family: &Family, boxes: &BTreeMap<String, Model>) -> Result<Graph> {
        let mut graph = Graph {
            nets: DiGraph::new(),
            order: Vec::new(),
            starts: Vec::new(),
            ends: Vec::new(),
            cells: Vec::new(),
            by_number: HashMap::new(),
            uncertainty: family.uncertainty,
        };
        // In the order of names, so that equal paths are reported alike in each run.
        let mut cells: Vec<(&str, &Cell)> = module.cells.iter().map(|(name, cell)| (&**name, cell)).collect();
        cells.sort_unstable_by_key(|(name, _)| *name);
        cells.retain(|(_, cell)| !["GND", "VCC", "$scopeinfo"].contains(&&*cell.kind));
        let mut unknown: Vec<&str> = Vec::new();
        for (place, (name, cell)) in cells.iter().enumerate() {
            graph.cells.push(((*name).into(), cell.kind.to_string()));
            match (family.cell.get(&*cell.kind), boxes.get(&*cell.kind)) {
                (Some(delays), _) => graph.connect(place, cell, |pin| delays.clock.iter().any(|clock| clock == pin)),
                (None, Some(model)) => {
                    model.check_pins(&cell.kind, cell)?;
                    graph.connect(place, cell, |_| false);
                }
                (None, None) => unknown.push(&cell.kind),
            }
        }
        unknown.sort_unstable();
        unknown.dedup();
        if let Some(kind) = unknown.first() {
            let more = if unknown.len() > 1 { format!(" (and {})", unknown[1..].join(", ")) } else { String::new() };
            bail!(
                "a cell is `{kind}`{more}, which has no delays; add it to xtask/timing.toml from its library, or give the \
                 module's Verilog too"
            );
        }
        for port in module.ports.values().filter(|port| port.direction != "output") {
            port.bits.iter().for_each(|bit| _ = graph.node(*bit));
        }
        for (place, (_, cell)) in cells.iter().enumerate() {
            match (family.cell.get(&*cell.kind), boxes.get(&*cell.kind)) {
                (Some(delays), _) => graph.add_cell(place, cell, delays, family)?,
                (None, Some(model)) => graph.add_box(place, cell, model, family),
                (None, None) => unreachable!("it was refused above"),
            }
        }
        graph.add_ports(module, family);
        graph.sort()?;
        Ok(graph)
    }

    /// The node of a net; `None` of a constant.
    fn node(&mut self, bit: Bit) -> Option<NodeIndex> {
        let Bit::Net(number) = bit else { return None };
        let nets = &mut self.nets;
        Some(*self.by_number.entry(number).or_insert_with(|| nets.add_node(Net { number, ..Net::default() })))
    }

    /// Notes drivers and counts sinks.
    fn connect(&mut self, place: usize, cell: &Cell, is_clock: impl Fn(&str) -> bool) {
        for (pin, bits) in &cell.connections {
            let output = cell.port_directions.get(pin).is_some_and(|direction| direction == "output");
            for bit in bits.iter().filter(|_| !is_clock(pin)) {
                let Some(node) = self.node(*bit) else { continue };
                let net = &mut self.nets[node];
                if output {
                    net.driver = Some(place);
                } else {
                    net.sinks += if is_control(&cell.kind, pin) { 0.125 } else { 1.0 };
                    net.data_pins += usize::from(cell.kind.starts_with("FD") && &**pin == "D");
                }
            }
        }
    }

    /// Picoseconds from the net's driver to this pin.
    fn wire(&self, node: NodeIndex, kind: &str, pin: &str, family: &Family) -> f64 {
        let net = &self.nets[node];
        let driver = net.driver.map_or("", |place| self.cells[place].1.as_str());
        let logic = |kind: &str| kind.starts_with("LUT") || kind == "INV";
        let carry = |kind: &str| kind.starts_with("CARRY");
        let inside = match pin {
            "CI" if carry(kind) => carry(driver),
            "I0" | "I1" if kind.starts_with("MUXF") => logic(driver) || driver.starts_with("MUXF"),
            "S" if carry(kind) => logic(driver) && net.sinks <= 1.0,
            "D" if kind.starts_with("FD") => {
                (logic(driver) || carry(driver) || driver.starts_with("MUXF")) && net.data_pins == 1
            }
            _ => false,
        };
        if inside {
            return 0.0;
        }
        let column = |kind: &str| family.cell.get(kind).is_some_and(|delays| delays.column);
        family.net(net.sinks, column(driver) || column(kind))
    }

    fn add_cell(&mut self, place: usize, cell: &Cell, delays: &CellDelays, family: &Family) -> Result<()> {
        let kind = &*cell.kind;
        let scale = delays.scale.unwrap_or(family.scale);
        let scaled = |delay: f64| delay * scale;
        let mut pins: Vec<(&str, &[Bit])> = cell.connections.iter().map(|(pin, bits)| (&**pin, &**bits)).collect();
        pins.sort_unstable_by_key(|(pin, _)| *pin);
        let outputs: Vec<(&str, &[Bit])> =
            pins.iter().copied().filter(|(pin, _)| cell.port_directions[*pin] == "output").collect();
        let dsp = delays.dsp.as_ref().map(|dsp| Stages::of(cell, dsp));
        for (pin, bits) in pins.iter().filter(|(pin, _)| cell.port_directions[*pin] != "output") {
            if delays.clock.iter().any(|clock| clock == pin) {
                continue;
            }
            for (index, bit) in bits.iter().enumerate() {
                let Some(node) = self.node(*bit) else { continue };
                let wire = self.wire(node, kind, pin, family);
                let name = if bits.len() > 1 { format!("{pin}[{index}]") } else { (*pin).to_string() };
                let arc = |graph: &mut Graph, to: Bit, delay: f64| {
                    if let Some(to) = graph.node(to) {
                        graph.nets.add_edge(node, to, Arc { net: wire, cell: scaled(delay), through: place });
                    }
                };
                let outs = delays.through.get(&name).or_else(|| delays.through.get(*pin));
                let read = delays.read.as_ref().and_then(|read| Some((read, read.ports.get(*pin)?)));
                let leads_on = outs.is_some() || read.is_some() || dsp.is_some();
                if let Some(outs) = outs {
                    for (output, list) in &outputs {
                        for (to, delay) in list.iter().zip(outs.get(*output).into_iter().flatten()) {
                            if *delay >= 0.0 {
                                arc(self, *to, *delay);
                            }
                        }
                    }
                }
                if let Some((read, output)) = read {
                    let delay = read.by_bit.get(index).with_context(|| format!("`{kind}` has no delay of {name}"))?;
                    let list = outputs.iter().find(|(name, _)| name == output).map_or(&[][..], |(_, list)| *list);
                    list.iter().for_each(|to| arc(self, *to, *delay));
                }
                let setup = match &dsp {
                    Some(stages) => {
                        if let Some(through) = stages.through(pin) {
                            for (_, list) in &outputs {
                                list.iter().for_each(|to| arc(self, *to, through));
                            }
                        }
                        match Stages::carries_data(pin) {
                            true => stages.setup(pin),
                            false => CellDelays::of_pin(&delays.setup, pin).copied(),
                        }
                    }
                    None => CellDelays::of_pin(&delays.setup, pin).copied(),
                };
                if let Some(setup) = setup {
                    let place = Place::Cell(place);
                    self.ends.push(Terminal { net: node, cell: scaled(setup), wire, place, pin: name });
                } else if !leads_on {
                    bail!("`{kind}` has no delay from its pin {name}; add it to xtask/timing.toml");
                }
            }
        }
        for (pin, bits) in outputs.iter().filter(|_| delays.is_sequential()) {
            let registered = CellDelays::of_pin(&delays.registered, pin).filter(|(p, _)| cell.is_set(p));
            let delay = match &dsp {
                Some(stages) => stages.clock_to_out(),
                None => registered.map(|(_, delay)| *delay).or(CellDelays::of_pin(&delays.clock_to_out, pin).copied()),
            };
            let Some(delay) = delay else { continue };
            for (index, bit) in bits.iter().enumerate() {
                let Some(net) = self.node(*bit) else { continue };
                let pin = if bits.len() > 1 { format!("{pin}[{index}]") } else { (*pin).to_string() };
                self.starts.push(Terminal { net, cell: scaled(delay), wire: 0.0, place: Place::Cell(place), pin });
            }
        }
        Ok(())
    }

    fn add_box(&mut self, place: usize, cell: &Cell, model: &Model, family: &Family) {
        let mut pins: Vec<_> = cell.connections.iter().collect();
        pins.sort_unstable_by(|a, b| a.0.cmp(b.0));
        for (pin, bits) in pins {
            for (index, bit) in bits.iter().enumerate() {
                let Some(net) = self.node(*bit) else { continue };
                let name = format!("{pin}[{index}]");
                let place = Place::Cell(place);
                if let Some(cell) = model.outputs.get(&name) {
                    self.starts.push(Terminal { net, cell: *cell, wire: 0.0, place, pin: name });
                } else if let Some(cell) = model.inputs.get(&name) {
                    let wire = self.wire(net, &cell_kind(&self.cells, place), pin, family);
                    self.ends.push(Terminal { net, cell: *cell, wire, place, pin: name });
                }
            }
        }
        let bit = |name: &str| {
            let (pin, index) = name.trim_end_matches(']').rsplit_once('[')?;
            cell.connections.get(pin)?.get(index.parse::<usize>().ok()?).copied()
        };
        for (from, to, delay) in &model.through {
            let (Some(from), Some(to)) = (bit(from), bit(to)) else { continue };
            if let (Some(from), Some(to)) = (self.node(from), self.node(to)) {
                let net = self.wire(from, &cell.kind, "", family);
                self.nets.add_edge(from, to, Arc { net, cell: *delay, through: place });
            }
        }
    }

    /// Ports as registers outside: a path from an input begins with a flip-flop's clock-to-output.
    fn add_ports(&mut self, module: &Module, family: &Family) {
        let outside = family.cell.get("FDRE").and_then(|cell| CellDelays::of_pin(&cell.clock_to_out, "Q").copied());
        let outside = outside.unwrap_or_default() * family.scale;
        for (name, port) in &module.ports {
            for (index, bit) in port.bits.iter().enumerate() {
                let Some(net) = self.node(*bit) else { continue };
                let pin = format!("{name}[{index}]");
                if port.direction == "output" {
                    self.ends.push(Terminal { net, cell: 0.0, wire: 0.0, place: Place::Port, pin });
                } else {
                    self.starts.push(Terminal { net, cell: outside, wire: 0.0, place: Place::Port, pin });
                }
            }
        }
    }

    /// Finds the order; a combinational loop has none.
    fn sort(&mut self) -> Result<()> {
        match toposort(&self.nets, None) {
            Ok(order) => self.order = order,
            Err(cycle) => {
                let looped: HashSet<NodeIndex> = tarjan_scc(&self.nets)
                    .into_iter()
                    .find(|component| component.contains(&cycle.node_id()))
                    .unwrap_or_default()
                    .into_iter()
                    .collect();
                let mut names: Vec<&str> = looped
                    .iter()
                    .filter_map(|net| self.nets[*net].driver)
                    .map(|place| self.cells[place].0.as_str())
                    .collect();
                names.sort_unstable();
                names.truncate(4);
                bail!(
                    "{} nets are a combinational loop, through {}; break it with a register",
                    looped.len(),
                    names.join(", ")
                );
            }
        }
        Ok(())
    }

    /// When each net is stable at the latest, with the given starts.
    pub fn arrivals<'a>(&self, starts: impl IntoIterator<Item = &'a Terminal>) -> Arrivals {
        let mut arrivals: Arrivals = vec![None; self.nets.node_count()];
        for start in starts {
            let slot = &mut arrivals[start.net.index()];
            if slot.is_none_or(|(time, _)| start.cell > time) {
                *slot = Some((start.cell, None));
            }
        }
        for net in &self.order {
            let Some((time, _)) = arrivals[net.index()] else { continue };
            for edge in self.nets.edges(*net) {
                let Arc { net, cell, .. } = *edge.weight();
                let slot = &mut arrivals[edge.target().index()];
                if slot.is_none_or(|(other, _)| time + net + cell > other) {
                    *slot = Some((time + net + cell, Some(edge.id())));
                }
            }
        }
        arrivals
    }

    /// The longest way from each net to one of the ends; `None` where none leads.
    pub fn remaining<'a>(&self, ends: impl IntoIterator<Item = &'a Terminal>) -> Vec<Option<f64>> {
        let mut remaining: Vec<Option<f64>> = vec![None; self.nets.node_count()];
        let raise = |remaining: &mut Vec<Option<f64>>, net: NodeIndex, time: f64| {
            let slot = &mut remaining[net.index()];
            *slot = Some(slot.map_or(time, |other| other.max(time)));
        };
        for end in ends {
            raise(&mut remaining, end.net, end.wire + end.cell);
        }
        for net in self.order.iter().rev() {
            for edge in self.nets.edges_directed(*net, Direction::Outgoing) {
                if let Some(time) = remaining[edge.target().index()] {
                    raise(&mut remaining, *net, edge.weight().net + edge.weight().cell + time);
                }
            }
        }
        remaining
    }
}

fn cell_kind(cells: &[(String, String)], place: Place) -> String {
    match place {
        Place::Cell(place) => cells[place].1.clone(),
        Place::Port => String::new(),
    }
}

/// The register stages that a DSP uses.
struct Stages<'a> {
    delays: &'a Dsp,
    operands: [bool; 3],
    product: bool,
    sum: bool,
}

impl<'a> Stages<'a> {
    fn of(cell: &Cell, delays: &'a Dsp) -> Self {
        let operands = ["AREG", "BREG", "CREG"].map(|register| cell.is_set(register));
        Stages { delays, operands, product: cell.is_set("MREG"), sum: cell.is_set("PREG") }
    }

    /// Which operand a pin belongs to; the others are the cascade and controls.
    fn operand(pin: &str) -> Option<usize> {
        ["A", "B", "C"].iter().position(|operand| *operand == pin)
    }

    /// Whether a pin leads to the sum; the others are controls.
    fn carries_data(pin: &str) -> bool {
        Stages::operand(pin).is_some() || pin == "PCIN"
    }

    fn setup(&self, pin: &str) -> Option<f64> {
        let delays = self.delays;
        match Stages::operand(pin) {
            Some(operand) if self.operands[operand] => Some(delays.operand_setup),
            Some(2) => self.sum.then_some(delays.cascade_to_sum),
            Some(_) if self.product => Some(delays.to_product),
            Some(_) => self.sum.then_some(delays.to_sum),
            None if pin == "PCIN" => self.sum.then_some(delays.cascade_to_sum),
            None => None,
        }
    }

    fn through(&self, pin: &str) -> Option<f64> {
        let delays = self.delays;
        match Stages::operand(pin) {
            _ if self.sum => None,
            Some(operand) if self.operands[operand] => None,
            Some(2) => Some(delays.cascade_through),
            Some(_) if self.product => None,
            Some(_) => Some(delays.through),
            None => (pin == "PCIN").then_some(delays.cascade_through),
        }
    }

    fn clock_to_out(&self) -> Option<f64> {
        let delays = self.delays;
        match (self.sum, self.product, self.operands) {
            (true, ..) => Some(delays.from_sum),
            (_, true, _) => Some(delays.from_product),
            (_, _, [false, false, _]) => None,
            _ => Some(delays.from_operand),
        }
    }
}
