//! Clocks of registers, ports and pins, and the clocks that reach a net.

use super::rules::Rules;
use crate::check::boxes::Pin;
use crate::check::graph::{is_memory, is_register, Driver, Graph, CONTROLS};
use crate::check::netlist::{fits, Bit, Direction};
use std::collections::HashMap;

/// Number of the clock of signals that have none.
pub(super) const NONE: usize = 0;
/// A set of clocks, by number.
pub(super) type Set = u64;

/// What a path ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    /// Data input of a register.
    Data { cell: usize, bit: usize },
    /// Enable or reset of a register.
    Control { cell: usize },
    /// Write port of a memory.
    Write { cell: usize },
    /// Clocked read port of a memory.
    Read { cell: usize },
    /// Input of a black box.
    Box { cell: usize, pin: usize, bit: usize },
}

/// An end of paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub bit: Bit,
    pub to: To,
    pub clock: usize,
}

/// Clocks of a design.
pub(super) struct Domains<'g, 'n> {
    graph: &'g Graph<'n>,
    /// Names of clocks: that of a port, or `cell/pin`. The first is that of signals without a clock.
    pub names: Vec<String>,
    /// Pairs whose paths the timing analysis bounds.
    related: Vec<(usize, usize)>,
    /// Clock of each port of the top; none: not known yet.
    ports: Vec<Option<usize>>,
    sets: HashMap<u32, Set>,
}

impl<'g, 'n> Domains<'g, 'n> {
    pub fn new(graph: &'g Graph<'n>, rules: &Rules) -> Result<Self, String> {
        let netlist = graph.netlist;
        let ports = vec![None; netlist.ports.len()];
        let mut domains =
            Self { graph, names: vec![super::NO_CLOCK.into()], related: vec![], ports, sets: HashMap::new() };
        for (at, port) in netlist.ports.iter().enumerate() {
            let Some(rule) = rules.ports.iter().find(|rule| fits(&rule.port, &port.name)) else { continue };
            domains.ports[at] = Some(match &rule.clock {
                None => NONE,
                Some(clock) => {
                    let bit = netlist.port(clock).and_then(|p| p.bits.first()).copied();
                    let bit =
                        bit.ok_or_else(|| format!("port `{}` has the clock `{clock}`, which is no port", port.name))?;
                    domains.clock(bit)?
                }
            });
        }
        for (one, other) in &rules.related {
            let pair = (domains.number(one), domains.number(other));
            domains.related.push(pair);
        }
        Ok(domains)
    }

    /// Number of the clock of that name.
    fn number(&mut self, name: &str) -> usize {
        match self.names.iter().position(|known| known == name) {
            Some(number) => number,
            None => {
                self.names.push(name.to_owned());
                self.names.len() - 1
            }
        }
    }

    /// The clock of a net that clocks something: the port or the pin of a box where it comes from.
    pub fn clock(&mut self, bit: Bit) -> Result<usize, String> {
        let mut at = bit;
        for _ in 0..self.graph.netlist.cells.len() + 1 {
            let net = self.graph.named(at).map_or("?".to_owned(), |n| self.graph.span(n.name, &[n.bit], "."));
            match self.graph.driver(at) {
                Some(Driver::Port { port, .. }) => return Ok(self.number(&self.graph.netlist.ports[port].name)),
                Some(driver @ Driver::Box { cell, pin, .. }) => {
                    let (name, what) = self.graph.pin(cell, pin);
                    let name = format!("{}/{name}", self.graph.cell(cell).name);
                    match what {
                        Pin::Through(_) => at = self.graph.inputs(driver).first().copied().unwrap_or(Bit::Unknown),
                        Pin::Divided(input) => {
                            let input = self.graph.cell(cell).bits(&input).first().copied().unwrap_or(Bit::Unknown);
                            let pair = (self.number(&name), self.clock(input)?);
                            if !self.related.contains(&pair) {
                                self.related.push(pair);
                            }
                            return Ok(pair.0);
                        }
                        Pin::Clock => return Ok(self.number(&name)),
                        _ => {
                            return Err(format!(
                                "`{name}` clocks a register, and is no clock; add it to check/boxes.rs"
                            ))
                        }
                    }
                }
                Some(driver @ Driver::Logic { cell, .. })
                    if ["$not", "$buf", "$pos"].contains(&self.graph.cell(cell).kind.as_str()) =>
                {
                    at = self.graph.inputs(driver)[0];
                }
                Some(Driver::Logic { .. }) => return Err(format!("clock `{net}` is made by logic; use an enable")),
                Some(_) => return Err(format!("clock `{net}` is made by a register or memory; use an enable")),
                None => return Err(format!("clock `{net}` comes from nowhere; connect it")),
            }
        }
        Err("a clock goes round in a loop".into())
    }

    /// All ends of paths that have a clock.
    pub fn ends(&mut self) -> Result<Vec<End>, String> {
        let mut ends = Vec::new();
        for (at, cell) in self.graph.netlist.cells.iter().enumerate() {
            if is_register(cell) {
                let clock = self.clock(cell.bits("CLK").first().copied().unwrap_or(Bit::Unknown))?;
                let data = cell.bits("D").iter().enumerate();
                ends.extend(data.map(|(bit, net)| End { bit: *net, to: To::Data { cell: at, bit }, clock }));
                let controls = CONTROLS.iter().flat_map(|(pin, _)| cell.bits(pin));
                ends.extend(controls.map(|bit| End { bit: *bit, to: To::Control { cell: at }, clock }));
            } else if is_memory(cell) {
                for port in 0..cell.number("WR_PORTS") {
                    let clock = self.clock(cell.bits("WR_CLK")[port])?;
                    let slice = |pins: &str, width: usize| cell.bits(pins)[port * width..(port + 1) * width].to_vec();
                    let (address, word) = (cell.number("ABITS"), cell.number("WIDTH"));
                    let bits = [slice("WR_ADDR", address), slice("WR_DATA", word), slice("WR_EN", word)].concat();
                    ends.extend(bits.into_iter().map(|bit| End { bit, to: To::Write { cell: at }, clock }));
                }
                for port in (0..cell.number("RD_PORTS")).filter(|port| cell.flag("RD_CLK_ENABLE", *port)) {
                    let clock = self.clock(cell.bits("RD_CLK")[port])?;
                    let address = cell.number("ABITS");
                    let mut bits = cell.bits("RD_ADDR")[port * address..(port + 1) * address].to_vec();
                    bits.push(cell.bits("RD_EN")[port]);
                    ends.extend(bits.into_iter().map(|bit| End { bit, to: To::Read { cell: at }, clock }));
                }
            } else if self.graph.boxes.has(&cell.kind) {
                for (pin, (name, bits)) in cell.connections.iter().enumerate() {
                    let Pin::Of(clock) = self.graph.boxes.pin(&cell.kind, name) else { continue };
                    if cell.directions.get(name) == Some(&Direction::Output) {
                        continue;
                    }
                    let clock = self.clock(cell.bits(&clock).first().copied().unwrap_or(Bit::Unknown))?;
                    let inputs = bits.iter().enumerate();
                    ends.extend(inputs.map(|(bit, net)| End { bit: *net, to: To::Box { cell: at, pin, bit }, clock }));
                }
            }
        }
        ends.retain(|end| end.bit.net().is_some());
        if self.names.len() > Set::BITS as usize {
            return Err(format!("the design has {} clocks, more than {}", self.names.len() - 1, Set::BITS - 1));
        }
        Ok(ends)
    }

    /// The clocks of what a net comes from at once: of a register, a port, a pin, the words of a memory; none for logic and
    /// for what has no known clock.
    pub fn of(&mut self, driver: Driver) -> Result<Set, String> {
        Ok(match driver {
            Driver::Port { port, .. } => self.ports[port].map_or(0, |clock| 1 << clock),
            Driver::Register { cell, .. } => 1 << self.clock(self.graph.cell(cell).bits("CLK")[0])?,
            Driver::Read { cell, port, .. } => {
                let cell = self.graph.cell(cell);
                let mut set = 0;
                for clock in &cell.bits("WR_CLK")[..cell.number("WR_PORTS")] {
                    set |= 1 << self.clock(*clock)?;
                }
                if cell.flag("RD_CLK_ENABLE", port) {
                    set |= 1 << self.clock(cell.bits("RD_CLK")[port])?;
                }
                set
            }
            Driver::Box { cell, pin, .. } => match self.graph.pin(cell, pin).1 {
                Pin::Of(clock) => 1 << self.clock(self.graph.cell(cell).bits(&clock)[0])?,
                Pin::Through(_) => 0,
                Pin::Clock | Pin::Divided(_) | Pin::Free => 1 << NONE,
            },
            Driver::Logic { .. } => 0,
        })
    }

    /// The clocks that reach a net, through logic.
    pub fn reaching(&mut self, bit: Bit) -> Result<Set, String> {
        let Some(net) = bit.net() else { return Ok(0) };
        if let Some(set) = self.sets.get(&net) {
            return Ok(*set);
        }
        // A loop of logic is not followed; `check -assert` finds it.
        self.sets.insert(net, 0);
        let Some(driver) = self.graph.driver(bit) else { return Ok(0) };
        let mut set = self.of(driver)?;
        for input in self.graph.inputs(driver) {
            set |= self.reaching(input)?;
        }
        self.sets.insert(net, set);
        Ok(set)
    }

    /// Gives each port without a rule the clock that reads it; a sentence for each port that several clocks read. Ends of
    /// `synchronisers` do not count.
    pub fn infer(&mut self, ends: &[End], synchronises: impl Fn(&End) -> bool) -> Vec<String> {
        let open: Vec<usize> = (0..self.ports.len())
            .filter(|p| self.ports[*p].is_none() && self.graph.netlist.ports[*p].direction != Direction::Output)
            .collect();
        let mut sentences = Vec::new();
        if open.is_empty() {
            return sentences;
        }
        let mut readers: HashMap<usize, Set> = HashMap::new();
        let mut seen: HashMap<u32, Vec<usize>> = HashMap::new();
        for end in ends.iter().filter(|end| !synchronises(end)) {
            for port in self.ports_behind(end.bit, &open, &mut seen) {
                *readers.entry(port).or_default() |= 1 << end.clock;
            }
        }
        for port in open {
            let set = readers.get(&port).copied().unwrap_or(0);
            let name = &self.graph.netlist.ports[port].name;
            if set.count_ones() > 1 {
                let mut clocks: Vec<&str> = self.members(set).map(|clock| self.names[clock].as_str()).collect();
                clocks.sort_unstable();
                sentences.push(format!(
                    "port `{name}` is read by registers of {}; say which clock it has, or synchronise it",
                    clocks.join(" and ")
                ));
            }
            // A port of two clocks is one finding, not one at each register.
            self.ports[port] = match set.count_ones() {
                0 => Some(NONE),
                1 => Some(set.trailing_zeros() as usize),
                _ => None,
            };
        }
        sentences
    }

    fn ports_behind(&self, bit: Bit, open: &[usize], seen: &mut HashMap<u32, Vec<usize>>) -> Vec<usize> {
        let Some(net) = bit.net() else { return vec![] };
        if let Some(known) = seen.get(&net) {
            return known.clone();
        }
        seen.insert(net, vec![]);
        let mut ports = match self.graph.driver(bit) {
            Some(Driver::Port { port, .. }) if open.contains(&port) => vec![port],
            Some(driver) => {
                self.graph.inputs(driver).into_iter().flat_map(|b| self.ports_behind(b, open, seen)).collect()
            }
            None => vec![],
        };
        ports.sort_unstable();
        ports.dedup();
        seen.insert(net, ports.clone());
        ports
    }

    /// Clocks in a set.
    pub fn members(&self, set: Set) -> impl Iterator<Item = usize> {
        (0..self.names.len()).filter(move |clock| set >> clock & 1 == 1)
    }

    /// The clocks whose paths to this clock the timing analysis bounds, itself among them.
    pub fn timed(&self, clock: usize) -> Set {
        // Dividers of one clock are related by it.
        let mut set: Set = 1 << clock;
        loop {
            let next = self.related.iter().fold(set, |set, (a, b)| {
                let pair = 1 << a | 1 << b;
                if set & pair != 0 {
                    set | pair
                } else {
                    set
                }
            });
            if next == set {
                return set;
            }
            set = next;
        }
    }
}
