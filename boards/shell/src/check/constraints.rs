//! Constraints against the netlist: every name means something, and every crossing has its bound.

use super::cdc::{self, Crossing, Kind, Report, Rules};
use super::netlist::{fits, Bit, Netlist};
use crate::write::xdc::{commands, Command, Word};
use std::collections::{BTreeMap, BTreeSet};

/// How a pair of clocks is treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Crossings between registers, each with a bound or an exception.
    pub bounded: usize,
    /// Crossings without a path in the device that a bound could name: into vendor blocks, and inside block RAM.
    pub inside: usize,
    /// Bits whose paths the timing analysis bounds, since the clocks have common edges.
    pub timed: usize,
}

/// What was read and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Names that were looked up.
    pub names: usize,
    /// Pairs of clocks with a path, the sender first.
    pub pairs: BTreeMap<(String, String), Pair>,
    /// What is wrong, a sentence each.
    pub findings: Vec<String>,
}

/// A bound or an exception of paths.
struct Bound {
    line: usize,
    command: String,
    /// Clock of the senders, as the netlist has it.
    from: String,
    /// Pattern of the receivers.
    cells: String,
    used: bool,
}

/// Resolves the constraints of a top, and compares their bounds with its crossings.
///
/// # Errors
/// A sentence: the text is no list of constraints.
pub fn check(text: &str, netlist: &Netlist, rules: &Rules, report: &Report) -> Result<Outcome, String> {
    let names = Names::new(netlist);
    let mut reader =
        Reader { netlist, rules, names, clocks: BTreeMap::new(), outcome: Outcome::default(), bounds: vec![] };
    for command in commands(text)? {
        reader.command(&command);
    }
    let Reader { mut outcome, mut bounds, .. } = reader;
    for crossing in &report.crossings {
        judge(crossing, &mut bounds, &mut outcome);
    }
    for ((from, to), bits) in &report.timed {
        pair(&mut outcome, from, to).timed += bits;
    }
    for bound in bounds.iter().filter(|bound| !bound.used) {
        let Bound { line, command, from, cells, .. } = bound;
        outcome
            .findings
            .push(format!("line {line}: no crossing from `{from}` ends at `{cells}`; remove {command}, or correct it"));
    }
    Ok(outcome)
}

fn pair<'o>(outcome: &'o mut Outcome, from: &str, to: &str) -> &'o mut Pair {
    let empty = Pair { bounded: 0, inside: 0, timed: 0 };
    outcome.pairs.entry((from.to_owned(), to.to_owned())).or_insert(empty)
}

/// Finds the bound of a crossing.
fn judge(crossing: &Crossing, bounds: &mut [Bound], outcome: &mut Outcome) {
    let Crossing { from_clock, to_clock, from, to, cells, kind } = crossing;
    let Some(cells) = cells else {
        pair(outcome, from_clock, to_clock).inside += 1;
        return;
    };
    // The analysis has no path from what has no clock.
    if from_clock == cdc::NO_CLOCK {
        pair(outcome, from_clock, to_clock).inside += 1;
        return;
    }
    let name = cells.replace("[*]", "[0]");
    let mut found = BTreeSet::new();
    for bound in bounds.iter_mut().filter(|bound| bound.from == *from_clock && fits(&bound.cells, &name)) {
        bound.used = true;
        found.insert(bound.command.clone());
    }
    let bounded = found.contains("set_max_delay") || found.contains("set_false_path");
    let mut missing = Vec::new();
    if !bounded {
        missing.push("set_max_delay");
    }
    if *kind == Kind::Gray && !found.contains("set_bus_skew") {
        missing.push("set_bus_skew");
    }
    if missing.is_empty() {
        pair(outcome, from_clock, to_clock).bounded += 1;
    } else {
        outcome.findings.push(format!(
            "the crossing from `{from}` (clock `{from_clock}`) to `{to}` (clock `{to_clock}`) has no {}; add it to the crossings \
             of the shell",
            missing.join(" and no ")
        ));
    }
}

/// Names of the netlist as Vivado has them.
struct Names {
    /// Cells: `instance/name_reg[0]` for registers, `instance/name` for black boxes; with the name in the netlist.
    cells: BTreeMap<String, String>,
}

impl Names {
    fn new(netlist: &Netlist) -> Self {
        let mut cells = BTreeMap::new();
        for name in netlist.names.iter().filter(|name| name.register) {
            let base = format!("{}_reg", name.path.join("/"));
            if name.bits.len() == 1 {
                cells.insert(base, String::new());
            } else {
                cells.extend((0..name.bits.len()).map(|bit| (format!("{base}[{bit}]"), String::new())));
            }
        }
        let boxes = netlist.cells.iter().filter(|cell| !cell.kind.starts_with('$'));
        cells.extend(boxes.map(|cell| (cell.path.join("/"), cell.name.clone())));
        Self { cells }
    }
}

struct Reader<'n> {
    netlist: &'n Netlist,
    rules: &'n Rules,
    names: Names,
    /// Clocks by their name in the constraints, as the netlist has them.
    clocks: BTreeMap<String, String>,
    outcome: Outcome,
    bounds: Vec<Bound>,
}

impl Reader<'_> {
    fn finding(&mut self, line: usize, what: &str) {
        self.outcome.findings.push(format!("line {line}: {what}"));
    }

    fn command(&mut self, command: &Command) {
        if command.name() == "create_clock" {
            self.create_clock(command);
        }
        for query in command.queries() {
            self.query(query);
        }
        if ["set_max_delay", "set_false_path", "set_bus_skew"].contains(&command.name()) {
            let query = |option: &str| match command.option(option) {
                Some(Word::Query(query)) => Some(query),
                _ => None,
            };
            let (Some(from), Some(to)) = (query("-from"), query("-to")) else { return };
            let (Some(clock), Some(cells)) = (self.clock(from), pattern(to)) else {
                return self
                    .finding(command.line, &format!("{} is not from a clock to cells; write it so", command.name()));
            };
            let (line, name) = (command.line, command.name().to_owned());
            self.bounds.push(Bound { line, command: name, from: clock, cells: cells.to_owned(), used: false });
        }
    }

    fn create_clock(&mut self, command: &Command) {
        let name = match command.option("-name") {
            Some(Word::Text(name)) => name.clone(),
            _ => return self.finding(command.line, "a clock without a name; give it one with -name"),
        };
        let Some(port) = command.object().filter(|q| q.name() == "get_ports").and_then(|q| q.text(1)) else {
            return self.finding(command.line, &format!("clock `{name}` is of no port; give it one with get_ports"));
        };
        if self.clocks.insert(name.clone(), port.trim().to_owned()).is_some() {
            self.finding(command.line, &format!("clock `{name}` is created twice"));
        }
    }

    /// The clock that a query finds, as the netlist has it.
    fn clock(&self, query: &Command) -> Option<String> {
        if query.name() != "get_clocks" {
            return None;
        }
        if let Some(Word::Query(pins)) = query.option("-of_objects") {
            let bit = self.pin(pins.text(1)?.trim())?;
            return cdc::clock_of(self.netlist, self.rules, bit).ok();
        }
        self.clocks.get(query.text(1)?.trim()).cloned()
    }

    /// A bit of a pin, `instance/pin`.
    fn pin(&self, name: &str) -> Option<Bit> {
        let (cell, pin) = name.rsplit_once('/')?;
        let (pin, at) = index(pin);
        self.netlist.cell(self.names.cells.get(cell)?)?.bits(pin).get(at.unwrap_or(0)).copied()
    }

    fn port(&self, name: &str) -> bool {
        let (bus, at) = index(name);
        let exact = |port: &super::netlist::Port| port.name == bus && at.is_none_or(|at| at < port.bits.len());
        self.netlist.ports.iter().any(exact)
    }

    fn query(&mut self, query: &Command) {
        let line = query.line;
        let kind = query.name();
        if kind == "current_design" {
            return;
        }
        if let Some(cells) = pattern(query) {
            self.outcome.names += 1;
            if !self.names.cells.keys().any(|name| fits(cells, name)) {
                self.finding(line, &format!("no cell of the netlist is called `{cells}`; correct the pattern"));
            }
            return;
        }
        if query.option("-of_objects").is_some() {
            if self.clock(query).is_none() {
                self.finding(line, "the clock of a pin is asked for, and the pin has none; correct the pin");
            }
            return;
        }
        let names = query.words[1..].iter().filter_map(|word| match word {
            Word::Text(text) => Some(text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
            Word::Query(_) => None,
        });
        for name in names.flatten().collect::<Vec<_>>() {
            self.outcome.names += 1;
            let known = match kind {
                "get_ports" => self.port(&name),
                "get_pins" => self.pin(&name).is_some(),
                "get_clocks" => self.clocks.contains_key(&name),
                "get_cells" => self.names.cells.keys().any(|cell| fits(&name, cell)),
                _ => false,
            };
            if !known {
                self.finding(
                    line,
                    &format!("`{kind} {name}` finds nothing in `{}`; correct the name", self.netlist.top),
                );
            }
        }
    }
}

/// The pattern of `get_cells -hierarchical -filter {NAME =~ pattern}`.
fn pattern(query: &Command) -> Option<&str> {
    let filter = match query.option("-filter") {
        Some(Word::Text(filter)) if query.name() == "get_cells" => filter,
        _ => return None,
    };
    filter.trim().strip_prefix("NAME =~ ").map(str::trim)
}

/// `name[3]` as name and index.
fn index(name: &str) -> (&str, Option<usize>) {
    let indexed = name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
    match indexed.and_then(|(bus, at)| Some((bus, at.parse().ok()?))) {
        Some((bus, at)) => (bus, Some(at)),
        None => (name, None),
    }
}
