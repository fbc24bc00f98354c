//! Responder: which reports are answered, by counting. Reports of one source must come in the order in which the responder
//! sees them.

use std::collections::HashMap;

/// A report of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Entry of its source.
    pub node: u8,
    /// Why it was refused; 0 = accepted.
    pub code: u8,
    /// Its source waits for an acknowledgement.
    pub urgent: bool,
    /// Its number counts.
    pub sequenced: bool,
    /// A switch has marked it.
    pub marked: bool,
    /// Its number, by which it is known.
    pub psn: u32,
}

/// How far a number lies above another one, in a circle of twice the window.
fn circle(number: u32, from: u32) -> u32 {
    number.wrapping_sub(from) % 2048
}

/// What the sources are owed.
#[derive(Clone, Debug, Default)]
pub struct Responder {
    /// Accepted packets for which an acknowledgement is due.
    pub every: usize,
    /// Reports of accepted packets of each source that no acknowledgement covers, by their place in `reports`.
    uncovered: HashMap<u8, Vec<usize>>,
    /// First number that was missing in the last acknowledgement of each source, if that showed a hole.
    holes: HashMap<u8, u32>,
    /// Reports when that was sent.
    spoken: HashMap<u8, usize>,
    /// Refusals that have not been sent.
    refusals: Vec<Report>,
    /// Reports, in order.
    reports: Vec<Report>,
}

impl Responder {
    /// A responder that acknowledges every so many packets.
    pub fn new(every: usize) -> Self {
        Self { every, ..Self::default() }
    }

    /// A packet is reported.
    pub fn report(&mut self, report: Report) {
        if report.code != 0 {
            self.refusals.push(report);
        } else {
            self.uncovered.entry(report.node).or_default().push(self.reports.len());
        }
        self.reports.push(report);
    }

    /// Reports so far.
    pub fn count(&self) -> usize {
        self.reports.len()
    }

    /// Number of the last report, 0 before the first one.
    pub fn last_psn(&self) -> u32 {
        self.reports.last().map_or(0, |report| report.psn)
    }

    /// Marked packets of a source that were accepted: among the first `known` reports, and among all.
    pub fn marks(&self, node: u8, known: usize) -> (usize, usize) {
        let counts = |report: &&Report| report.node == node && report.code == 0 && report.sequenced && report.marked;
        let count = |reports: &[Report]| reports.iter().filter(counts).count();
        (count(&self.reports[..known]), count(&self.reports))
    }

    /// A refusal is sent: it must be the next one.
    pub fn refuses(&mut self, psn: u32) -> Result<Report, String> {
        if self.refusals.first().is_some_and(|report| report.psn == psn) {
            Ok(self.refusals.remove(0))
        } else {
            Err(format!("a refusal of {psn}, not of {:?}", self.refusals.first()))
        }
    }

    /// An acknowledgement is due to a source.
    fn due(&self, node: u8) -> bool {
        let waiting = self.waiting(node);
        let hole = self.holes.get(&node);
        waiting.len() >= self.every
            || waiting.iter().any(|at| self.reports[*at].urgent)
            || waiting.iter().any(|at| hole.is_some_and(|hole| circle(self.reports[*at].psn, *hole) == 0))
    }

    /// An acknowledgement may be sent although none is due: while the last one was made a number below its hole was
    /// reported, so that it is not known whether the hole's was reported too.
    fn may(&self, node: u8) -> bool {
        let below = |hole: &u32| {
            let meanwhile = |at: &&usize| **at < self.spoken[&node];
            self.waiting(node).iter().filter(meanwhile).any(|at| circle(self.reports[*at].psn, *hole) >= 1024)
        };
        self.holes.get(&node).is_some_and(below)
    }

    /// Reports of a source that no acknowledgement covers.
    fn waiting(&self, node: u8) -> &[usize] {
        self.uncovered.get(&node).map_or(&[], Vec::as_slice)
    }

    /// An acknowledgement is sent to a source, when the first `known` reports had certainly been seen: it must be due, and
    /// speak of the source's last packet among them, or of a later one. If it shows a hole, that begins with the number
    /// `hole`.
    pub fn acknowledges(&mut self, node: u8, psn: u32, known: usize, hole: Option<u32>) -> Result<(), String> {
        if !self.due(node) && !self.may(node) {
            return Err(format!("nothing is due to {node}"));
        }
        let mine = |report: &Report| report.node == node && report.code == 0;
        let spoken = self.reports.iter().rposition(|report| mine(report) && report.psn == psn);
        let spoken = spoken.ok_or_else(|| format!("{psn} is no number that {node} had accepted"))?;
        if self.reports[..known].iter().rposition(mine).is_some_and(|last| last > spoken) {
            return Err(format!("{psn} is not the last number of {node}"));
        }
        self.uncovered.get_mut(&node).expect("something is due").retain(|at| *at > spoken);
        self.spoken.insert(node, self.reports.len());
        match hole {
            Some(first) => self.holes.insert(node, first),
            None => self.holes.remove(&node),
        };
        Ok(())
    }

    /// Whether all sources have had what was due.
    pub fn settled(&self) -> bool {
        self.refusals.is_empty() && !self.uncovered.keys().any(|node| self.due(*node))
    }
}
