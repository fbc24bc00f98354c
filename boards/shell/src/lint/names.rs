//! Names: parts, configurations, sources, ports, clocks.

use crate::data::{Board, Config, Issue};
use std::collections::BTreeMap;

/// Parts that the shell has been written for.
const PARTS: [&str; 6] = [
    "xcu50-fsvh2104-2-e",
    "xcu55c-fsvh2892-2L-e",
    "xcu280-fsvh2892-2L-e",
    "xcu250-figd2104-2L-e",
    "xcku5p-ffvb676-2-e",
    "xc7k325tffg900-2",
];

pub(super) fn check(board: &Board) -> Vec<Issue> {
    let mut issues = Vec::new();
    if !PARTS.contains(&board.part.as_str()) {
        let text = format!("part `{}` is unknown; the shell knows {}", board.part, PARTS.join(", "));
        issues.push(board.issue(board.line_of(1, "part"), text));
    }
    if board.title.contains(|c: char| c.is_control()) {
        // It stands in comments of the files that are written.
        issues.push(board.issue(board.line_of(1, "title"), "title has a line end or another control character"));
    }
    configuration(board, &mut issues);
    sources(board, &mut issues);
    unique(board, &mut issues);
    issues
}

fn configuration(board: &Board, issues: &mut Vec<Issue>) {
    let line = board.line_of(1, "configuration");
    let Some(config) = Config::by_name(&board.configuration) else {
        let names: Vec<_> = Config::ALL.iter().map(|c| c.name).collect();
        let text = format!("configuration `{}` is unknown; give one of {}", board.configuration, names.join(", "));
        issues.push(board.issue(line, text));
        return;
    };
    if config.clock_mhz != board.core_mhz() {
        let text = format!(
            "configuration `{}` runs at {} MHz, but the core clock is {} MHz; change core_clock or the configuration",
            config.name,
            config.clock_mhz,
            board.core_mhz()
        );
        issues.push(board.issue(board.line_of(1, "core_clock"), text));
    }
}

/// Every table and row with its sources.
fn sourced(board: &Board) -> Vec<(usize, String, &[String])> {
    let mut all: Vec<(usize, String, &[String])> = vec![
        (board.line_of(1, "sources"), "the board".into(), &board.sources),
        (board.device.line, "[device]".into(), &board.device.sources),
        (board.pcie.line, "[pcie]".into(), &board.pcie.sources),
        (board.free_running.line, "[free_running]".into(), &board.free_running.sources),
        (board.limits.line, "[limits]".into(), &board.limits.sources),
        (board.bitstream.line, "[bitstream]".into(), &board.bitstream.sources),
        (board.flash.line, "[flash]".into(), &board.flash.sources),
    ];
    if board.banks.line > 0 {
        all.push((board.banks.line, "[banks]".into(), &board.banks.sources));
    }
    all.extend(board.macs.iter().map(|m| (m.line, format!("network port `{}`", m.name), m.sources.as_slice())));
    all.extend(board.clocks.iter().map(|c| (c.line, format!("clock `{}`", c.name), c.sources.as_slice())));
    all.extend(board.pins.values().flatten().map(|p| (p.line, format!("pin `{}`", p.port), p.sources.as_slice())));
    all
}

fn sources(board: &Board, issues: &mut Vec<Issue>) {
    let names: Vec<_> = board.origins.keys().map(String::as_str).collect();
    for (line, what, sources) in sourced(board) {
        if sources.is_empty() {
            issues.push(board.issue(line, format!("{what} has no source; name one of {}", names.join(", "))));
        }
        for source in sources.iter().filter(|s| !board.origins.contains_key(*s)) {
            let text = format!("{what} names the source `{source}`, which [origin] lacks; it has {}", names.join(", "));
            issues.push(board.issue(line, text));
        }
    }
}

fn unique(board: &Board, issues: &mut Vec<Issue>) {
    let mut ports: BTreeMap<&str, usize> = BTreeMap::new();
    let mut locs: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut pins: Vec<_> = board.pins.values().flatten().collect();
    pins.sort_by_key(|p| p.line);
    for pin in pins {
        if let Some(line) = ports.insert(&pin.port, pin.line) {
            issues.push(board.issue(pin.line, format!("port `{}` has a pin already, in line {line}", pin.port)));
        }
        if let Some((port, line)) = locs.insert(&pin.loc, (&pin.port, pin.line)) {
            let text =
                format!("pin {} belongs to `{}` already, in line {line}; give `{}` its own", pin.loc, port, pin.port);
            issues.push(board.issue(pin.line, text));
        }
    }
}
