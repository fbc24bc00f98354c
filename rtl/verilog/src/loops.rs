//! Arrays of submodules as generate loops.
//!
//! Elements of an array that are the same module are instantiated once, in a loop. The outputs of an element, and the inputs that it alone
//! has, are declared in the loop with the name of the port; outside, such a signal is `clusters[2].room`. Inputs that all elements
//! share, and parts of one signal that follow the loop index, are connected in the loop.

use crate::build::{Body, Instance, Role};
use crate::expr::{Expr, Kind, SigId};
use crate::names::flatten;
use crate::print::Printer;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

/// Elements of one array, by their numbers among the instances of the module.
pub(crate) struct Row {
    first: usize,
    count: usize,
    /// Name of the loop, of its index, and of the instance in it.
    label: String,
    index: String,
    unit: String,
    /// For each port, the name that a signal of the loop has.
    names: Vec<String>,
    /// For each port, the signals that are declared in the loop.
    own: Vec<Option<Vec<SigId>>>,
}

/// The arrays worth a loop. `child` is the module of an instance, `direct` what its inputs are connected to without a wire.
pub(crate) fn rows(body: &Body, child: &dyn Fn(usize) -> String, direct: &BTreeMap<SigId, Expr>) -> Vec<Row> {
    let place = |instance: &Instance| -> Option<(String, usize)> {
        let (array, at) = instance.key.rsplit_once('$')?;
        Some((array.to_string(), at.parse().ok()?))
    };
    let mut rows = vec![];
    let mut first = 0;
    while let Some(instance) = body.instances.get(first) {
        let same = |(n, other): &(usize, &Instance)| {
            let places = place(instance).zip(place(other));
            places.is_some_and(|(a, b)| a.0 == b.0 && a.1 == 0 && b.1 == *n)
                && child(instance.node) == child(other.node)
        };
        let count = body.instances[first..].iter().enumerate().take_while(same).count();
        let pins = instance.pins.len();
        let row = Row {
            first,
            count,
            label: String::new(),
            index: String::new(),
            unit: String::new(),
            names: vec![],
            own: vec![None; pins],
        };
        // Lines of the loop, against lines without it.
        let uneven = (0..pins).filter(|pin| !row.is_even(body, *pin, direct)).count();
        let plain = instance.pins.iter().all(|(_, sig)| body.sigs[*sig].role != Role::InOut);
        if count > 1 && plain && count * uneven + pins < count * pins {
            rows.push(row);
        }
        first += count.max(1);
    }
    rows
}

impl Row {
    pub fn instances<'a>(&self, body: &'a Body) -> &'a [Instance] {
        &body.instances[self.first..self.first + self.count]
    }

    /// The signals at one port.
    fn signals(&self, body: &Body, pin: usize) -> Vec<SigId> {
        self.instances(body).iter().map(|instance| instance.pins[pin].1).collect()
    }

    /// Whether a port is likely to be connected without a line for each element.
    fn is_even(&self, body: &Body, pin: usize, direct: &BTreeMap<SigId, Expr>) -> bool {
        let given: Vec<&Expr> = self.signals(body, pin).iter().filter_map(|sig| direct.get(sig)).collect();
        let output = |e: &Expr| matches!(e.kind, Kind::Sig(sig, _) if body.sigs[sig].role == Role::SubOut);
        given.len() < self.count
            || given.iter().all(|e| *e == given[0] || output(e))
            || going_round(&given, "i", &|_| String::new()).is_some()
    }

    /// Whether the loop has the instance with this number.
    pub fn holds(&self, instance: usize) -> bool {
        (self.first..self.first + self.count).contains(&instance)
    }

    /// Signals that are declared in the loop.
    pub fn declared(&self) -> impl Iterator<Item = SigId> + '_ {
        self.own.iter().flatten().flatten().copied()
    }

    /// Names the loop; the names of index and instance are the same in every loop of the module.
    pub fn name(&mut self, body: &mut Body, index: &str, unit: &str) {
        let array = body.instances[self.first].key.rsplit_once('$').map_or("", |(array, _)| array);
        self.label = body.names.unique(&flatten(array));
        self.index = index.to_string();
        self.unit = unit.to_string();
    }

    /// Names the signals that are the loop's own. `taken` are those that an earlier loop has.
    pub fn name_signals(
        &mut self,
        body: &mut Body,
        direct: &BTreeMap<SigId, Expr>,
        read: &dyn Fn(SigId) -> bool,
        outputs: &HashSet<SigId>,
        taken: &mut HashSet<SigId>,
    ) {
        let pins: Vec<String> = body.instances[self.first].pins.iter().map(|(pin, _)| pin.clone()).collect();
        self.names = pins.iter().map(|pin| body.names.inner(pin, &pins)).collect();
        for (at, name) in self.names.iter().enumerate() {
            let signals = self.signals(body, at);
            let given: Vec<&Expr> = signals.iter().filter_map(|sig| direct.get(sig)).collect();
            let own = match body.sigs[signals[0]].role {
                Role::SubOut => signals.iter().any(|sig| read(*sig)).then_some(signals),
                _ if given.len() < self.count => Some(signals),
                // What another submodule has for each element alone takes its name here.
                _ => {
                    let whole = |e: &&Expr| match e.kind {
                        Kind::Sig(sig, 0) if e.width == body.sigs[sig].width() => Some(sig),
                        _ => None,
                    };
                    let sources: Vec<SigId> = given.iter().filter_map(whole).collect();
                    let distinct: HashSet<SigId> = sources.iter().copied().collect();
                    let free = |sig: &SigId| {
                        body.sigs[*sig].role == Role::SubOut && !outputs.contains(sig) && !taken.contains(sig)
                    };
                    (distinct.len() == self.count && sources.iter().all(free)).then_some(sources)
                }
            };
            for (n, sig) in own.iter().flatten().enumerate() {
                body.sigs[*sig].name = format!("{}[{n}].{name}", self.label);
                taken.insert(*sig);
            }
            self.own[at] = own;
        }
    }

    /// One type for the signals of a port, so that they are declared once.
    pub fn unify(&self, typed: &mut [bool], kind: &dyn Fn(SigId, bool) -> String) {
        for signals in self.own.iter().flatten() {
            let any = signals.iter().any(|sig| typed[*sig]);
            let typed_alike = signals.iter().all(|sig| kind(*sig, true) == kind(signals[0], true));
            signals.iter().for_each(|sig| typed[*sig] = any && typed_alike);
        }
    }

    /// The source of the loop.
    pub fn written(
        &self,
        body: &Body,
        printer: &Printer,
        child: &dyn Fn(usize) -> String,
        direct: &BTreeMap<SigId, Expr>,
    ) -> Written {
        let pins = &body.instances[self.first].pins;
        let given: Vec<Option<String>> = (0..pins.len())
            .map(|at| match &self.own[at] {
                Some(_) => None,
                None => self.connection(&self.signals(body, at), printer, direct),
            })
            .collect();
        let mut written = Written::default();
        let mut lines = vec![];
        for (at, (pin, sig)) in pins.iter().enumerate() {
            let local = self.own[at].is_some() || given[at].is_none() && body.sigs[*sig].role != Role::SubOut;
            let text = match &given[at] {
                _ if local => self.names[at].clone(),
                Some(text) => text.clone(),
                None => String::new(),
            };
            written.open |= text.is_empty();
            lines.push(if text == *pin { format!("      .{pin}") } else { format!("      .{pin}({text})") });
            let signals = self.signals(body, at);
            if !local {
                signals.iter().filter_map(|sig| direct.get(sig)).for_each(|e| written.reads.push(e.clone()));
                continue;
            }
            let own = self.own[at].as_ref().unwrap_or(&signals);
            written.declared.push((own[0], self.names[at].clone()));
            for (n, (own, sig)) in own.iter().zip(&signals).enumerate() {
                if let (Some(expr), true) = (direct.get(sig), own == sig) {
                    let target = format!("{}[{n}].{}", self.label, self.names[at]);
                    written.assigned.push((target, printer.whole(expr)));
                }
            }
        }
        let _ = writeln!(
            written.head,
            "  for (genvar {i} = 0; {i} < {}; {i}++) begin : {}",
            self.count,
            self.label,
            i = self.index
        );
        let module = child(body.instances[self.first].node);
        written.instance = format!("    {module} {} (\n{}\n    );\n", self.unit, lines.join(",\n"));
        written
    }

    /// Takes those names out of a list that stand for something in every element, and gives the names in the loop.
    pub fn in_all(&self, body: &Body, names: &mut Vec<String>) -> Vec<String> {
        let mut inside = vec![];
        for (at, own) in self.own.iter().enumerate() {
            let Some(own) = own else { continue };
            if own.iter().all(|sig| names.contains(&body.sigs[*sig].name)) {
                names.retain(|name| !own.iter().any(|sig| *name == body.sigs[*sig].name));
                inside.push(self.names[at].clone());
            }
        }
        inside
    }

    /// What connects a port in every element.
    fn connection(&self, signals: &[SigId], printer: &Printer, direct: &BTreeMap<SigId, Expr>) -> Option<String> {
        let given: Vec<&Expr> = signals.iter().filter_map(|sig| direct.get(sig)).collect();
        if given.is_empty() {
            return None;
        }
        if given.iter().all(|e| *e == given[0]) {
            return Some(printer.expr(given[0]));
        }
        let name = |sig: SigId| printer.sigs[sig].name.clone();
        going_round(&given, &self.index, &name).or_else(|| {
            // The same of each element of another loop.
            let texts: Vec<String> = given.iter().map(|e| printer.expr(e)).collect();
            let of = |n: &str| texts[0].replacen("[0].", &format!("[{n}]."), 1);
            let alike = texts.iter().enumerate().all(|(n, text)| *text == of(&n.to_string()));
            alike.then(|| of(&self.index))
        })
    }
}

/// A loop as Verilog.
#[derive(Default)]
pub(crate) struct Written {
    pub head: String,
    /// What is declared in the loop: a signal of the type, and the name.
    pub declared: Vec<(SigId, String)>,
    pub instance: String,
    /// Inputs of single elements and their values.
    pub assigned: Vec<(String, String)>,
    /// What the connections in the loop read.
    pub reads: Vec<Expr>,
    /// Whether an output is connected to nothing.
    pub open: bool,
}

/// The numbers 0, 1, .. or parts of one signal at equal distances, as an expression of the index.
fn going_round(given: &[&Expr], index: &str, name: &dyn Fn(SigId) -> String) -> Option<String> {
    let width = given[0].width;
    if given.iter().enumerate().all(|(n, e)| matches!(&e.kind, Kind::Const(value) if *value == n.into())) {
        return Some(format!("{width}'({index})"));
    }
    let part = |e: &Expr| match e.kind {
        Kind::Sig(sig, lo) => Some((sig, lo)),
        _ => None,
    };
    let (sig, from) = part(given[0])?;
    let step = part(given[1])?.1.checked_sub(from).filter(|step| *step > 0)?;
    if !given.iter().enumerate().all(|(n, e)| e.width == width && part(e) == Some((sig, from + n * step))) {
        return None;
    }
    let times = if step == 1 { index.to_string() } else { format!("{step}*{index}") };
    let at = if from == 0 { times } else { format!("{times} + {from}") };
    let size = if width == 1 { String::new() } else { format!(" +: {width}") };
    Some(format!("{}[{at}{size}]", name(sig)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(given: &[Expr]) -> Option<String> {
        going_round(&given.iter().collect::<Vec<_>>(), "i", &|sig| ["a", "b"][sig].to_string())
    }

    fn parts(lows: &[usize], width: usize) -> Vec<Expr> {
        lows.iter().map(|lo| Expr::new(width, Kind::Sig(0, *lo))).collect()
    }

    #[test]
    fn what_follows_the_index_is_one_expression() {
        for (given, text) in [
            ((0u8..3).map(|n| Expr::number(4, n)).collect::<Vec<_>>(), "4'(i)"),
            (parts(&[0, 1, 2], 1), "a[i]"),
            (parts(&[5, 6, 7], 1), "a[i + 5]"),
            (parts(&[0, 8, 16], 8), "a[8*i +: 8]"),
            (parts(&[1, 5, 9], 8), "a[4*i + 1 +: 8]"),
        ] {
            assert_eq!(written(&given).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_does_not_follow_it_is_none() {
        let mut two = parts(&[0, 8], 8);
        two[1] = Expr::new(8, Kind::Sig(1, 8));
        let mut widths = parts(&[0, 8], 8);
        widths[1].width = 7;
        for given in [
            (1u8..4).map(|n| Expr::number(4, n)).collect(),
            vec![Expr::number(4, 0u8), Expr::number(4, 2u8)],
            parts(&[0, 8, 17], 8),
            parts(&[8, 0], 8),
            parts(&[4, 4], 4),
            vec![Expr::sig(0, 1), Expr::number(1, 1u8)],
            two,
            widths,
        ] {
            assert_eq!(written(&given), None, "{given:?}");
        }
    }
}
