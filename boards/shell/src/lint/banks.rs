//! Supplies: the pins of a bank agree on one VCCO.

use crate::data::{Board, Direction, Issue, Pin, Table};
use std::collections::BTreeMap;

/// VCCO that an I/O standard demands, V; none if the standard is unknown.
fn vcco(standard: &str) -> Option<f64> {
    let known = [
        ("LVCMOS12", 1.2),
        ("LVCMOS15", 1.5),
        ("LVCMOS18", 1.8),
        ("LVCMOS25", 2.5),
        ("LVCMOS33", 3.3),
        ("LVDS", 1.8),
        ("LVDS_25", 2.5),
        ("DIFF_SSTL12", 1.2),
        ("DIFF_SSTL15", 1.5),
    ];
    known.iter().find(|(name, _)| *name == standard).map(|(_, volts)| *volts)
}

/// Differential inputs without a termination inside take any supply.
fn any_supply(pin: &Pin, standard: &str) -> bool {
    pin.dir == Direction::In && standard.starts_with("LVDS")
}

pub(super) fn check(board: &Board, table: &Table) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut banks: BTreeMap<u32, (f64, &Pin)> = BTreeMap::new();
    for pin in board.pins.values().flatten() {
        let Some(standard) = &pin.iostandard else { continue };
        let Some(volts) = vcco(standard) else {
            let text = format!("iostandard {standard} of `{}` is unknown to the lint", pin.port);
            issues.push(board.issue(pin.line, text));
            continue;
        };
        let Some(bank) = table.pin(&pin.loc).and_then(|p| p.bank) else { continue };
        if any_supply(pin, standard) {
            continue;
        }
        if let Some(supply) = board.banks.vcco(bank).filter(|supply| *supply != volts) {
            let text = format!("`{}` needs {volts} V for {standard}, but bank {bank} has {supply} V", pin.port);
            issues.push(board.issue(pin.line, text));
        }
        let (first, other) = *banks.entry(bank).or_insert((volts, pin));
        if first != volts {
            let text =
                format!("`{}` needs {volts} V, but `{}` of the same bank {bank} needs {first} V", pin.port, other.port);
            issues.push(board.issue(pin.line, text));
        }
    }
    issues
}
