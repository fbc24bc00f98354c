//! Paths between clocks, and the judgement of each.

use super::domains::{Domains, End, To, NONE};
use super::rules::{Constant, Rules};
use super::{gray, Crossing, Kind, Report};
use crate::check::graph::{is_register, Driver, Graph, Load};
use crate::check::netlist::{fits, Bit};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What sends or receives: a name with its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Name(usize),
    Port(usize),
    Memory(usize),
    Pin(usize, usize),
}

/// A path from another clock to an end.
#[derive(Clone, Debug)]
pub(super) struct Path {
    from: (Who, usize),
    from_clock: usize,
    end: End,
    /// No logic lies between.
    direct: bool,
}

pub(super) struct Check<'g, 'n> {
    graph: &'g Graph<'n>,
    rules: &'g Rules,
    pub report: Report,
    loads: HashMap<u32, Vec<Option<Load<'n>>>>,
}

impl<'g, 'n> Check<'g, 'n> {
    pub fn new(graph: &'g Graph<'n>, rules: &'g Rules) -> Self {
        Self { graph, rules, report: Report::default(), loads: graph.loads() }
    }

    /// The output of the register whose data input the end is, if that is marked and nothing but wires lies before it.
    pub fn synchroniser(&self, end: &End) -> Option<Bit> {
        let To::Data { cell, bit } = end.to else { return None };
        let output = self.graph.output(cell, bit);
        (self.direct(end.bit) && self.graph.marked(output)).then_some(output)
    }

    /// Paths to an end from clocks that are not those of the end.
    pub fn paths(&mut self, end: &End, domains: &mut Domains, paths: &mut Vec<Path>) -> Result<(), String> {
        let reaching = domains.reaching(end.bit)?;
        let own = domains.timed(end.clock);
        for clock in domains.members(reaching & own).filter(|clock| *clock != end.clock).collect::<Vec<_>>() {
            let pair = (domains.names[clock].clone(), domains.names[end.clock].clone());
            *self.report.timed.entry(pair).or_default() += 1;
        }
        if reaching & !own == 0 {
            return Ok(());
        }
        let mut waiting = vec![end.bit];
        let mut seen = BTreeSet::new();
        let direct = self.direct(end.bit);
        while let Some(bit) = waiting.pop() {
            if !seen.insert(bit) || domains.reaching(bit)? & !own == 0 {
                continue;
            }
            let Some(driver) = self.graph.driver(bit) else { continue };
            let clocks = domains.of(driver)? & !own;
            for from_clock in domains.members(clocks).collect::<Vec<_>>() {
                paths.push(Path { from: self.who(driver, bit), from_clock, end: *end, direct });
            }
            waiting.extend(self.graph.inputs(driver));
        }
        Ok(())
    }

    /// Whether only buffers lie before a net.
    fn direct(&self, bit: Bit) -> bool {
        let before = self.graph.driver(self.graph.before_buffers(bit));
        !matches!(before, Some(Driver::Logic { .. } | Driver::Read { .. }))
    }

    fn who(&self, driver: Driver, bit: Bit) -> (Who, usize) {
        match driver {
            Driver::Port { port, bit } => (Who::Port(port), bit),
            Driver::Read { cell, bit, .. } => (Who::Memory(cell), bit),
            Driver::Box { cell, pin, bit } => (Who::Pin(cell, pin), bit),
            Driver::Register { .. } | Driver::Logic { .. } => match self.graph.named(bit) {
                Some(named) => (Who::Name(named.name), named.bit),
                None => (Who::Name(usize::MAX), 0),
            },
        }
    }

    fn text(&self, who: Who, bits: &[usize]) -> String {
        let with_bits = |name: String, width: usize| match (bits.iter().min(), bits.iter().max()) {
            (Some(least), Some(most)) if width > 1 && least == most => format!("{name}[{least}]"),
            (Some(least), Some(most)) if width > 1 => format!("{name}[{most}:{least}]"),
            _ => name,
        };
        match who {
            Who::Name(usize::MAX) => "a register without a name".into(),
            Who::Name(name) => self.graph.span(name, bits, "."),
            Who::Port(port) => {
                let port = &self.graph.netlist.ports[port];
                with_bits(port.name.clone(), port.bits.len())
            }
            Who::Memory(cell) => {
                let cell = self.graph.cell(cell);
                cell.parameters.get("MEMID").map_or(&cell.name, |id| id).trim_start_matches('\\').to_owned()
            }
            Who::Pin(cell, pin) => {
                let width = self.graph.cell(cell).connections.values().nth(pin).map_or(1, Vec::len);
                with_bits(format!("{}/{}", self.graph.cell(cell).name, self.graph.pin(cell, pin).0), width)
            }
        }
    }

    /// What an end belongs to, and its bits there.
    fn receiver(&self, end: &End) -> (Who, Vec<usize>) {
        let named = |bit: Bit| {
            self.graph.named(bit).map_or((Who::Name(usize::MAX), 0), |named| (Who::Name(named.name), named.bit))
        };
        match end.to {
            To::Data { cell, bit } => {
                let (who, bit) = named(self.graph.output(cell, bit));
                (who, vec![bit])
            }
            To::Control { cell } => {
                let outputs = self.graph.cell(cell).bits("Q").iter().map(|bit| named(*bit));
                let who = named(self.graph.output(cell, 0)).0;
                (who, outputs.filter(|(of, _)| *of == who).map(|(_, bit)| bit).collect())
            }
            To::Write { cell } | To::Read { cell } => (Who::Memory(cell), vec![]),
            To::Box { cell, pin, bit } => (Who::Pin(cell, pin), vec![bit]),
        }
    }

    /// Takes the paths that begin synchronisers out of `paths`, and judges them.
    pub fn synchronised(&mut self, paths: &mut Vec<Path>, domains: &Domains) {
        let begins = |path: &Path| path.direct && self.synchroniser(&path.end).is_some() && !self.is_constant(path);
        let (mine, rest): (Vec<Path>, Vec<Path>) = std::mem::take(paths).into_iter().partition(begins);
        *paths = rest;
        let mut buses: BTreeMap<(Who, usize, usize), Vec<&Path>> = BTreeMap::new();
        for path in &mine {
            buses.entry((path.from.0, path.from_clock, path.end.clock)).or_default().push(path);
        }
        for ((from, from_clock, to_clock), bus) in buses {
            self.bus(from, [from_clock, to_clock], &bus, domains);
        }
    }

    /// Judges the synchronisers that take bits of one sender into one clock.
    fn bus(&mut self, from: Who, [from_clock, to_clock]: [usize; 2], bus: &[&Path], domains: &Domains) {
        let clocks = [&domains.names[from_clock], &domains.names[to_clock]];
        let mut near: BTreeMap<Who, Vec<usize>> = BTreeMap::new();
        for path in bus {
            let (who, bit) = self.receiver(&path.end);
            near.entry(who).or_default().extend(bit);
        }
        let sent: Vec<usize> = bus.iter().map(|path| path.from.1).collect();
        let distinct: BTreeSet<usize> = sent.iter().copied().collect();
        let sender = format!("{} (clock `{}`)", self.quoted(from, &sent), clocks[0]);
        let names: Vec<String> = near.iter().map(|(who, bits)| self.quoted(*who, bits)).collect();
        let receivers = format!("{} (clock `{}`)", names.join(" and "), clocks[1]);
        for path in bus {
            if let Some(fault) = self.second(path) {
                let one = self.receiver(&path.end);
                let first = self.quoted(one.0, &one.1);
                let sender = format!("{} (clock `{}`)", self.quoted(from, &[path.from.1]), clocks[0]);
                self.report.findings.push(format!("{sender} goes into {first} (clock `{}`), {fault}", clocks[1]));
                return;
            }
        }
        if distinct.len() < sent.len() {
            self.report.findings.push(format!(
                "{sender} is synchronised twice, by {receivers}: the two may differ for a cycle; use one synchroniser"
            ));
            return;
        }
        for (who, bits) in &near {
            let to = self.text(*who, bits);
            let kind = if distinct.len() == 1 {
                Kind::Level
            } else if let Some(rule) = self.rules.independent.iter().find(|rule| fits(&rule.to, &self.text(*who, &[])))
            {
                Kind::Independent(rule.reason.clone())
            } else if near.len() > 1 {
                self.report.findings.push(format!(
                    "bits of {sender} are synchronised apart, by {receivers}: they are seen in different cycles; use Gray \
                     code and one synchroniser, or a handshake"
                ));
                return;
            } else if matches!(from, Who::Name(name) if name != usize::MAX && gray::is_gray(self.graph, name)) {
                Kind::Gray
            } else {
                self.report.findings.push(format!(
                    "{sender} crosses bit by bit into {receivers}, and is no Gray code of a counter: its bits are seen in \
                     different cycles; use Gray code or a handshake"
                ));
                return;
            };
            self.report.crossings.push(Crossing {
                from_clock: clocks[0].clone(),
                to_clock: clocks[1].clone(),
                from: self.text(from, &sent),
                to,
                cells: self.cells(*who),
                kind,
            });
        }
    }

    /// What is wrong with the second register of a synchroniser.
    fn second(&self, path: &Path) -> Option<&'static str> {
        let output = self.synchroniser(&path.end)?;
        let readers = self.loads.get(&output.net()?).map_or(&[][..], Vec::as_slice);
        let mut seconds = 0;
        for reader in readers {
            let Some(Load { cell, port, bit }) = *reader else {
                return Some("which is the only register of the synchroniser and a port; put a second one after it");
            };
            let of = self.graph.cell(cell);
            if !is_register(of) || port != "D" {
                return Some("and logic reads this register; put a second one between, marked ASYNC_REG");
            }
            if !self.graph.marked(self.graph.output(cell, bit)) {
                return Some("after which the second register is not marked ASYNC_REG; mark it");
            }
            let first = match path.end.to {
                To::Data { cell, .. } => self.graph.cell(cell).bits("CLK"),
                _ => &[],
            };
            if of.bits("CLK") != first {
                return Some("after which the second register has another clock; give it the same one");
            }
            seconds += 1;
        }
        (seconds == 0).then_some("which nothing reads; remove it")
    }

    fn is_constant(&self, path: &Path) -> bool {
        self.constant(path).is_some()
    }

    fn constant(&self, path: &Path) -> Option<&Constant> {
        let (from, to) = (self.text(path.from.0, &[]), self.text(self.receiver(&path.end).0, &[]));
        self.rules.constant.iter().find(|rule| fits(&rule.from, &from) && fits(&rule.to, &to))
    }

    /// Judges the paths that begin no synchroniser.
    pub fn others(&mut self, paths: &[Path], domains: &Domains) {
        let mut groups: BTreeMap<(Who, Who, usize, usize), Vec<&Path>> = BTreeMap::new();
        for path in paths {
            let to = self.receiver(&path.end).0;
            groups.entry((path.from.0, to, path.from_clock, path.end.clock)).or_default().push(path);
        }
        for ((from, to, from_clock, to_clock), group) in groups {
            let sent: Vec<usize> = group.iter().map(|path| path.from.1).collect();
            let taken: Vec<usize> = group.iter().flat_map(|path| self.receiver(&path.end).1).collect();
            let clocks = [domains.names[from_clock].clone(), domains.names[to_clock].clone()];
            let kind = match (self.constant(group[0]), self.held(from, to, &clocks)) {
                (Some(rule), _) => Some(Kind::Constant(rule.reason.clone())),
                (_, Some((guard, reason))) => Some(Kind::Held(guard, reason)),
                _ => None,
            };
            let Some(kind) = kind else {
                let sender = format!("{} (clock `{}`)", self.quoted(from, &sent), clocks[0]);
                let receiver = format!("{} (clock `{}`)", self.quoted(to, &taken), clocks[1]);
                let marked = group.iter().any(|path| match path.end.to {
                    To::Data { cell, bit } => self.graph.marked(self.graph.output(cell, bit)),
                    _ => false,
                });
                self.report.findings.push(if marked && from_clock != NONE {
                    format!("{sender} passes logic on its way to the synchroniser {receiver}; put a register before it")
                } else {
                    format!("{sender} reaches {receiver} without a synchroniser; use one, or a bus with a handshake")
                });
                continue;
            };
            let [from_clock, to_clock] = clocks;
            let crossing = Crossing {
                from_clock,
                to_clock,
                from: self.text(from, &sent),
                to: self.text(to, &taken),
                cells: if self.in_block_ram(from) { None } else { self.cells(to) },
                kind,
            };
            self.report.crossings.push(crossing);
        }
    }

    /// The guard of a bus, and the reason: a rule fits, and the synchroniser that it names was found.
    fn held(&self, from: Who, to: Who, clocks: &[String; 2]) -> Option<(String, String)> {
        let (from, to) = (self.text(from, &[]), self.text(to, &[]));
        self.rules.held.iter().find_map(|rule| {
            let instance = instance(&rule.to, &to)?;
            let inside =
                |pattern: &str, name: &str| name.strip_prefix(instance).is_some_and(|rest| fits(pattern, rest));
            let guard = self.report.crossings.iter().find(|c| {
                let name = if c.to.ends_with(']') { c.to.rsplit_once('[').map_or("", |(name, _)| name) } else { &c.to };
                let same = c.from_clock == clocks[0] && c.to_clock == clocks[1];
                inside(&rule.guard, name) && same && matches!(c.kind, Kind::Gray | Kind::Level)
            })?;
            inside(&rule.from, &from).then(|| (guard.to.clone(), rule.reason.clone()))
        })
    }

    fn quoted(&self, who: Who, bits: &[usize]) -> String {
        let what = match who {
            Who::Name(_) => "register",
            Who::Port(_) => "port",
            Who::Memory(_) => "memory",
            Who::Pin(..) => "pin",
        };
        format!("{what} `{}`", self.text(who, bits))
    }

    /// Whether this is a memory whose read register is in the same block RAM.
    fn in_block_ram(&self, who: Who) -> bool {
        matches!(who, Who::Memory(cell) if self.graph.cell(cell).block_ram)
    }

    fn cells(&self, who: Who) -> Option<String> {
        match who {
            Who::Name(name) if name != usize::MAX => {
                let of = &self.graph.netlist.names[name];
                let bit = if of.bits.len() > 1 { "[*]" } else { "" };
                Some(format!("{}_reg{bit}", of.path.join("/")))
            }
            _ => None,
        }
    }
}

/// The instance in which a name ends with the pattern: the text before it, empty or with its last point.
fn instance<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    let begins = std::iter::once(0).chain(name.match_indices('.').map(|(at, _)| at + 1));
    begins.into_iter().find(|at| fits(pattern, &name[*at..])).map(|at| &name[..at])
}
