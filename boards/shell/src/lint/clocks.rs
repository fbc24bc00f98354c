//! Clocks: each is constrained once, at a pin that can take it.

use crate::data::{Board, Clock, ClockKind, Direction, Function, Issue, Table};

pub(super) fn check(board: &Board, table: &Table) -> Vec<Issue> {
    let mut issues = Vec::new();
    for (i, clock) in board.clocks.iter().enumerate() {
        if board.clocks[..i].iter().any(|c| c.name == clock.name || c.port == clock.port) {
            let text = format!("clock `{}` is constrained twice, by name or by port `{}`", clock.name, clock.port);
            issues.push(board.issue(clock.line, text));
        }
        pin(board, table, clock, &mut issues);
    }
    // The other way round: every pair of pins that brings a clock is constrained.
    for pin in board.pins.values().flatten().filter(|p| p.dir == Direction::In) {
        let clock = ["_clk_p", "_refclk_p"].iter().any(|s| pin.port.ends_with(s));
        if clock && !board.clocks.iter().any(|c| c.port == pin.port) {
            issues.push(board.issue(pin.line, format!("`{}` is a clock without a [[clock]]", pin.port)));
        }
    }
    references(board, table, &mut issues);
    free_running(board, &mut issues);
    issues
}

fn pin(board: &Board, table: &Table, clock: &Clock, issues: &mut Vec<Issue>) {
    let Some(pin) = board.pin(&clock.port).filter(|p| p.port.ends_with("_p")) else {
        let text = format!("clock `{}` has the port `{}`, which is no positive pin", clock.name, clock.port);
        issues.push(board.issue(clock.line, text));
        return;
    };
    if !(1.0..=1000.0).contains(&clock.mhz) {
        let text = format!("clock `{}` has {} MHz; a clock of a pin has 1 to 1000", clock.name, clock.mhz);
        issues.push(board.issue(board.line_of(clock.line, "mhz"), text));
    }
    let Some(function) = table.pin(&pin.loc).and_then(|p| Function::parse(&p.function)) else { return };
    let fits = match (clock.kind, function) {
        (ClockKind::Transceiver, Function::Refclk { .. }) => true,
        (ClockKind::Fabric, Function::Io { clock, .. }) => clock,
        _ => false,
    };
    if !fits {
        let kind = match clock.kind {
            ClockKind::Transceiver => "a reference clock of transceivers",
            ClockKind::Fabric => "a clock of the fabric",
        };
        let text = format!("clock `{}` comes at pin {}, which takes no {}", clock.name, pin.loc, &kind[2..]);
        issues.push(board.issue(clock.line, text));
    }
}

/// A reference clock reaches the transceivers of its user: at most two quads away.
fn references(board: &Board, table: &Table, issues: &mut Vec<Issue>) {
    let pcie = &board.pcie;
    let mut users = vec![("[pcie]".to_owned(), pcie.line, &pcie.refclk, pcie.quads.clone())];
    users.extend(board.macs.iter().map(|m| (format!("`{}`", m.name), m.line, &m.refclk, vec![m.quad])));
    for (user, line, refclk, quads) in users {
        let line = board.line_of(line, "refclk");
        let Some(clock) = board.clock(refclk).filter(|c| c.kind == ClockKind::Transceiver) else {
            issues.push(board.issue(
                line,
                format!("{user} has the reference clock `{refclk}`, which no [[clock]] of kind transceiver is"),
            ));
            continue;
        };
        let function =
            board.pin(&clock.port).and_then(|p| table.pin(&p.loc)).and_then(|p| Function::parse(&p.function));
        let Some(Function::Refclk { quad, .. }) = function else { continue };
        if let Some(far) = quads.iter().find(|q| q.abs_diff(quad) > 2) {
            let text =
                format!("reference clock `{refclk}` enters at quad {quad}, more than two from quad {far} of {user}");
            issues.push(board.issue(line, text));
        }
    }
}

/// The clock of initialisation is one of the fabric, and has 50 to 125 MHz after its divisor, as vendor blocks demand.
fn free_running(board: &Board, issues: &mut Vec<Issue>) {
    let free = &board.free_running;
    let Some(clock) = board.clock(&free.clock).filter(|c| c.kind == ClockKind::Fabric) else {
        let text = format!("the free-running clock `{}` is no [[clock]] of kind fabric", free.clock);
        issues.push(board.issue(board.line_of(free.line, "clock"), text));
        return;
    };
    let mhz = clock.mhz / f64::from(free.divide.max(1));
    if ![1, 2].contains(&free.divide) || !(50.0..=125.0).contains(&mhz) {
        let text = format!(
            "the free-running clock has {mhz} MHz after the divisor {}; it needs 50 to 125, divided by 1 or 2",
            free.divide
        );
        issues.push(board.issue(board.line_of(free.line, "divide"), text));
    }
}
