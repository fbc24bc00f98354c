//! Clock crossings: a structural check of a netlist with several clocks.
//!
//! Every register, every port of a memory and every pin of a black box with a clock belongs to the clock that its clock net
//! comes from: a port of the top, or a pin of a vendor block. A path from one clock to another, through any logic, has to be
//! one of these:
//!
//! | kind | what is required |
//! |---|---|
//! | `level` | one bit, from a register without logic, to two registers marked `ASYNC_REG` without logic between; once in a clock |
//! | `gray` | the same for all bits of a register that is the Gray code of a counter, into one register |
//! | `independent` | the same for bits that may be seen apart: named in the rules, with a reason |
//! | `held` | a bus that stands still: named in the rules, with a synchroniser that guards it and a reason |
//! | `constant` | a signal that does not change while its receiver works: named in the rules, with a reason |
//! | timed | between clocks with common edges: no crossing, the timing analysis bounds the path |
//!
//! All else is a finding: a sentence with both registers and both clocks. What the check cannot see: whether two registers
//! of one bit each are parts of one code, whether a vendor block drives its output from a register, and whether the reason
//! of a rule is true.

mod domains;
mod gray;
mod judge;
mod list;
mod rules;

pub use list::list;
pub use rules::{Constant, Held, Independent, PortClock, Rules};

use crate::check::graph::Graph;
use crate::check::netlist::{Bit, Netlist};
use domains::Domains;
use judge::Check;
use std::collections::{BTreeMap, BTreeSet};

/// Clock of what has none.
pub const NO_CLOCK: &str = "no clock";

/// What makes a crossing safe. See the module text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// One bit.
    Level,
    /// Gray code of a counter.
    Gray,
    /// Bits that may come apart, and why.
    Independent(String),
    /// A bus with a guard: the first register of its synchroniser, and why.
    Held(String, String),
    /// A signal that stands still, and why.
    Constant(String),
}

/// A path from one clock to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// Clock of the sender, [`NO_CLOCK`] for an asynchronous signal.
    pub from_clock: String,
    /// Clock of the receiver.
    pub to_clock: String,
    /// What sends: a register, a memory, a port, or a pin of a black box.
    pub from: String,
    /// What receives: the first register of the synchroniser, or the register of a bus.
    pub to: String,
    /// The receiver as Vivado names its cells, `*` for the bit; none if no path of the device needs a bound: into a pin of a
    /// black box, and inside a block RAM.
    pub cells: Option<String>,
    /// What makes it safe.
    pub kind: Kind,
}

/// What was found in a netlist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Crossings, sorted.
    pub crossings: Vec<Crossing>,
    /// Pairs of clocks, sender first, whose paths the timing analysis bounds since the clocks have common edges; and the number
    /// of bits that receive.
    pub timed: BTreeMap<(String, String), usize>,
    /// What is wrong, a sentence each.
    pub findings: Vec<String>,
}

impl Report {
    /// Pairs of clocks with a path from the first to the second; signals without a clock make none.
    pub fn pairs(&self) -> BTreeSet<(String, String)> {
        let clocked = self.crossings.iter().filter(|crossing| crossing.from_clock != NO_CLOCK);
        let crossings = clocked.map(|c| (c.from_clock.clone(), c.to_clock.clone()));
        crossings.chain(self.timed.keys().cloned()).collect()
    }
}

/// Finds and judges all crossings.
///
/// # Errors
/// A sentence: the netlist has a cell or a clock that the check does not understand.
pub fn check(netlist: &Netlist, rules: &Rules) -> Result<Report, String> {
    let graph = Graph::new(netlist, &rules.boxes)?;
    let mut domains = Domains::new(&graph, rules)?;
    let ends = domains.ends()?;
    let mut check = Check::new(&graph, rules);
    check.report.findings = domains.infer(&ends, |end| check.synchroniser(end).is_some());
    let mut paths = Vec::new();
    for end in &ends {
        check.paths(end, &mut domains, &mut paths)?;
    }
    check.synchronised(&mut paths, &domains);
    check.others(&paths, &domains);
    let mut report = check.report;
    report.crossings.sort();
    report.crossings.dedup();
    report.findings.sort();
    report.findings.dedup();
    Ok(report)
}

/// The clock of a net: the port, or the pin of a vendor block (`cell/pin`), that makes it.
///
/// # Errors
/// A sentence: the net is no clock.
pub fn clock_of(netlist: &Netlist, rules: &Rules, bit: Bit) -> Result<String, String> {
    let graph = Graph::new(netlist, &rules.boxes)?;
    let mut domains = Domains::new(&graph, rules)?;
    let clock = domains.clock(bit)?;
    Ok(domains.names[clock].clone())
}
