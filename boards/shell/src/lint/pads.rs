//! Pins: tables, I/O standards, what the sources say, pairs and buses.

use crate::data::{Board, Direction, Function, Issue, Pin, Table, TablePin};
use std::collections::BTreeMap;

pub(super) fn check(board: &Board, table: &Table) -> Vec<Issue> {
    let mut issues = Vec::new();
    let package = crate::data::package(&board.part);
    for pin in board.pins.values().flatten() {
        let Some(known) = table.pin(&pin.loc) else {
            let text = format!("pin {} of `{}` is not in boards/packages/{}", pin.loc, pin.port, table.file);
            issues.push(board.issue(pin.line, text));
            continue;
        };
        if let Some(package) = &package {
            if package.get(&pin.loc).map(|(bank, function)| (Some(*bank), function))
                != Some((known.bank, &known.function))
            {
                let text = format!("{} and the package of {} disagree about pin {}", table.file, board.part, pin.loc);
                issues.push(board.issue(pin.line, text));
            }
        }
        standard(board, pin, known, &mut issues);
        statements(board, pin, known, &mut issues);
        output(board, pin, &mut issues);
    }
    pairs(board, table, &mut issues);
    buses(board, &mut issues);
    issues
}

/// Whether the pin belongs to a transceiver.
fn transceiver(pin: &TablePin) -> bool {
    pin.function.starts_with("MGT")
}

/// A pin has an I/O standard, or belongs to a transceiver.
fn standard(board: &Board, pin: &Pin, known: &TablePin, issues: &mut Vec<Issue>) {
    match (&pin.iostandard, transceiver(known)) {
        (None, false) => {
            let text =
                format!("`{}` at {} has no iostandard, and {} is no pin of a transceiver", pin.port, pin.loc, pin.loc);
            issues.push(board.issue(pin.line, text));
        }
        (Some(standard), true) => {
            let text =
                format!("`{}` at {} has the iostandard {standard}, but is a pin of a transceiver", pin.port, pin.loc);
            issues.push(board.issue(pin.line, text));
        }
        _ => {}
    }
}

/// The row names the sources whose table has the pin, and agrees with each.
fn statements(board: &Board, pin: &Pin, known: &TablePin, issues: &mut Vec<Issue>) {
    for (source, statement) in &known.statements {
        if !pin.sources.contains(source) {
            let text =
                format!("{source} states pin {} as `{}`; name {source} among the sources", pin.loc, statement.name);
            issues.push(board.issue(pin.line, text));
        }
        let differs =
            pin.iostandard.as_ref().is_some_and(|s| !statement.iostandard.is_empty() && *s != statement.iostandard);
        if differs {
            let text = format!(
                "`{}` has the iostandard {}, but {source} states {}",
                pin.port,
                pin.iostandard.as_deref().unwrap_or_default(),
                statement.iostandard
            );
            issues.push(board.issue(pin.line, text));
        }
    }
}

/// Constants and drive strengths are those of outputs, a bias that of inputs.
fn output(board: &Board, pin: &Pin, issues: &mut Vec<Issue>) {
    if pin.dir == Direction::In && (pin.constant.is_some() || pin.drive.is_some() || pin.slew.is_some()) {
        let text = format!("`{}` is an input and has a const, drive or slew, which only outputs have", pin.port);
        issues.push(board.issue(pin.line, text));
    }
    let differential = pin.iostandard.as_ref().is_some_and(|standard| standard.starts_with("LVDS"));
    if pin.dqs_bias && !(pin.dir == Direction::In && differential && pin.bus().ends_with("_p")) {
        let text = format!("`{}` has dqs_bias, which only the positive input of an LVDS pair has", pin.port);
        issues.push(board.issue(pin.line, text));
    }
    if pin.constant.is_some_and(|level| level > 1) {
        issues.push(board.issue(pin.line, format!("`{}` has a const that is neither 0 nor 1", pin.port)));
    }
}

/// The other port of a pair, such as `x_rx_n[3]` of `x_rx_p[3]`; none if the port is of no pair.
fn partner(port: &str) -> Option<String> {
    let (bus, index) = port.split_at(port.find('[').unwrap_or(port.len()));
    let (stem, other) = match bus.strip_suffix("_p") {
        Some(stem) => (stem, "n"),
        None => (bus.strip_suffix("_n")?, "p"),
    };
    let pair = ["clk", "_rx", "_tx"].iter().any(|end| stem.ends_with(end));
    pair.then(|| format!("{stem}_{other}{index}"))
}

/// Each port of a pair has its partner, and their pins are the pair of one function.
fn pairs(board: &Board, table: &Table, issues: &mut Vec<Issue>) {
    for pin in board.pins.values().flatten() {
        let Some(partner) = partner(&pin.port) else { continue };
        let Some(other) = board.pin(&partner) else {
            issues.push(board.issue(pin.line, format!("`{}` lacks its partner `{partner}`", pin.port)));
            continue;
        };
        if other.iostandard != pin.iostandard || other.dir != pin.dir {
            let text = format!("`{}` and `{partner}` differ in iostandard or direction", pin.port);
            issues.push(board.issue(pin.line, text));
        }
        let Some(known) = table.pin(&pin.loc) else { continue };
        let function = |loc: &str| table.pin(loc).and_then(|p| Function::parse(&p.function));
        let (Some(mine), Some(theirs)) = (function(&pin.loc), function(&other.loc)) else { continue };
        let positive = pin.bus().ends_with("_p");
        if !forms_pair(mine, theirs, positive) || known.bank != table.pin(&other.loc).and_then(|p| p.bank) {
            let sign = if positive { "positive" } else { "negative" };
            let text = format!("pin {} of `{}` is not the {sign} one of a pair with {}", pin.loc, pin.port, other.loc);
            issues.push(board.issue(pin.line, text));
        }
    }
}

fn forms_pair(mine: Function, theirs: Function, positive: bool) -> bool {
    match (mine, theirs) {
        (Function::Lane { receive, positive: p, channel, quad }, _) => {
            p == positive && theirs == Function::Lane { receive, positive: !p, channel, quad }
        }
        (Function::Refclk { positive: p, number, quad }, _) => {
            p == positive && theirs == Function::Refclk { positive: !p, number, quad }
        }
        (Function::Io { pair: Some((number, p)), .. }, Function::Io { pair: Some((other, q)), .. }) => {
            p == positive && q != p && number == other
        }
        _ => false,
    }
}

/// The bits of a bus are 0 to n, of one direction.
fn buses(board: &Board, issues: &mut Vec<Issue>) {
    let mut buses: BTreeMap<&str, Vec<&Pin>> = BTreeMap::new();
    for pin in board.pins.values().flatten() {
        buses.entry(pin.bus()).or_default().push(pin);
    }
    for (bus, pins) in buses {
        let mut indices: Vec<_> = pins.iter().map(|p| p.index()).collect();
        indices.sort_unstable();
        let dense = indices == [None] || indices.iter().enumerate().all(|(i, index)| *index == Some(i));
        if !dense {
            let text = format!("bus `{bus}` lacks a bit: its bits are 0 to {} without a gap", pins.len() - 1);
            issues.push(board.issue(pins[0].line, text));
        }
        if pins.iter().any(|p| p.dir != pins[0].dir) {
            issues.push(board.issue(pins[0].line, format!("bits of bus `{bus}` differ in direction")));
        }
    }
}
