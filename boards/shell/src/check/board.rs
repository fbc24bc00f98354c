//! All checks of a board's top.

use super::constraints::{self, Outcome};
use super::{cdc, pads, shell, yosys};
use crate::data::Board;
use crate::shell::ShellDesign;
use crate::write::xdc;
use std::fmt::Write;
use std::path::Path;

/// What was found in a top.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The list of crossings and of pairs of clocks, as `boards/crossings/<board>.txt` has it.
    pub list: String,
    /// Crossings.
    pub crossings: usize,
    /// Pairs of clocks with a path from the one to the other.
    pub clock_pairs: usize,
    /// Names of constraints that were looked up.
    pub names: usize,
    /// What is wrong, a sentence each.
    pub findings: Vec<String>,
}

/// Checks the top of a board, with the NIC as a black box; yosys works in `folder`, where the design is left.
///
/// # Errors
/// A sentence: yosys refuses the design, or there is something in it that the checks do not know.
pub fn check(board: &Board, design: &ShellDesign, yosys: &Path, folder: &Path) -> Result<Checked, String> {
    let modules = design.design.modules.iter();
    let files: Vec<_> = modules.map(|module| (format!("{}.sv", module.name), module.text.clone())).collect();
    let top = &design.design.top;
    let netlist = yosys::netlist(yosys, folder, &files, top, &[spindle_nic::TOP])?;
    let rules = shell::of(board)?;
    let report = cdc::check(&netlist, &rules)?;
    let mut findings = report.findings.clone();
    findings.extend(pads::check(board, &netlist, &rules.boxes)?);
    let text = xdc::text(board, &design.timing)?;
    let Outcome { names, pairs, findings: more } = constraints::check(&text, &netlist, &rules, &report)?;
    findings.extend(more.into_iter().map(|finding| format!("constraints: {finding}")));
    let mut list =
        format!("# Clock crossings of {top}, written by `cargo xtask boards --write`.\n\n{}", cdc::list(&report));
    list.push_str("\n# Pairs of clocks: paths with a bound or an exception, paths in vendor blocks and in block RAM, timed bits.\n\n");
    for ((from, to), pair) in &pairs {
        let _ =
            writeln!(list, "{from} -> {to}: {} bounded, {} inside, {} timed", pair.bounded, pair.inside, pair.timed);
    }
    let (crossings, clock_pairs) = (report.crossings.len(), report.pairs().len());
    Ok(Checked { list, crossings, clock_pairs, names, findings })
}
