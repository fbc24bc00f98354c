//! Responder: which reports are answered, by counting.

use std::collections::HashMap;

/// Reports of the scheduler wait for those of the ingress join, so that a few may be seen in another order.
const OVERTAKING: usize = 8;

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
    /// Its number, which tells it from the others.
    pub psn: u32,
}

/// What the sources are owed.
#[derive(Clone, Debug, Default)]
pub struct Responder {
    /// Accepted packets for which an acknowledgement is due.
    pub every: u32,
    /// Accepted packets of each source since one was due.
    counts: HashMap<u8, u32>,
    /// Since which report an acknowledgement is due.
    due: HashMap<u8, usize>,
    /// Refusals that have not been sent.
    refusals: Vec<Report>,
    /// Reports, in order.
    reports: Vec<Report>,
}

impl Responder {
    /// A responder that acknowledges every so many packets.
    pub fn new(every: u32) -> Self {
        Self { every, ..Self::default() }
    }

    /// A packet is reported.
    pub fn report(&mut self, report: Report) {
        self.reports.push(report);
        if report.code != 0 {
            self.refusals.push(report);
            return;
        }
        let count = self.counts.entry(report.node).or_default();
        *count += 1;
        if report.urgent || *count >= self.every {
            *count = 0;
            self.due.insert(report.node, self.reports.len() - 1);
        }
    }

    /// Reports so far.
    pub fn count(&self) -> usize {
        self.reports.len()
    }

    /// A refusal is sent: it must be the next one.
    pub fn refuses(&mut self, psn: u32) -> Result<Report, String> {
        if self.refusals.first().is_some_and(|report| report.psn == psn) {
            Ok(self.refusals.remove(0))
        } else {
            Err(format!("a refusal of {psn}, not of {:?}", self.refusals.first()))
        }
    }

    /// An acknowledgement is sent to a source, when the first `known` reports had certainly been seen: it must speak of the source's last
    /// packet among them, or of a later one.
    pub fn acknowledges(&mut self, node: u8, psn: u32, known: usize) -> Result<(), String> {
        let mine = |report: &Report| report.node == node && report.code == 0;
        let spoken = self.reports.iter().rposition(|report| mine(report) && report.psn == psn);
        let spoken = spoken.ok_or_else(|| format!("{psn} is no number that {node} had accepted"))?;
        let last = self.reports[..known].iter().rposition(mine).unwrap_or(0);
        if spoken + OVERTAKING < last {
            return Err(format!("{psn} is not the last number of {node}"));
        }
        if self.due.get(&node).is_some_and(|since| *since <= spoken + OVERTAKING) {
            self.due.remove(&node);
        }
        Ok(())
    }

    /// Whether everybody has had what was due.
    pub fn settled(&self) -> bool {
        self.due.is_empty() && self.refusals.is_empty()
    }
}
