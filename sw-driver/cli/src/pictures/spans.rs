//! Intervals of a frame's walk, and rows on which intervals do not overlap.

use crate::fates::{Disposition, FrameFate};
use crate::summary::STAGES;

/// A stage that a frame passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageSpan {
    /// Index in [`STAGES`].
    pub stage: usize,
    /// Cycle at its start.
    pub start: u64,
    /// Cycle at its end.
    pub end: u64,
}

/// All stages that a frame passed, paired as the report pairs them: the last start before each end.
pub fn stage_spans(fate: &FrameFate) -> Vec<StageSpan> {
    let mut spans = Vec::new();
    for (stage, (_, from, to)) in STAGES.iter().enumerate() {
        let mut since = None;
        for passage in &fate.passages {
            if passage.point == *to {
                if let Some(start) = since.take() {
                    spans.push(StageSpan { stage, start, end: passage.cycle });
                }
            }
            if passage.point == *from {
                since = Some(passage.cycle);
            }
        }
    }
    spans
}

/// Latencies of each stage over all frames, in ascending order.
pub fn latencies(fates: &[FrameFate]) -> Vec<(&'static str, Vec<u64>)> {
    let mut values = vec![Vec::new(); STAGES.len()];
    for span in fates.iter().flat_map(stage_spans) {
        values[span.stage].push(span.end - span.start);
    }
    let named = STAGES.iter().map(|(name, _, _)| *name).zip(values);
    named
        .filter(|(_, values)| !values.is_empty())
        .map(|(name, mut values)| {
            values.sort_unstable();
            (name, values)
        })
        .collect()
}

/// The least value that at least `percent` of the sorted values do not exceed.
pub fn rank(sorted: &[u64], percent: usize) -> u64 {
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

/// Last cycle in which the trace reports anything of a frame; a frame that never ended lasts until `end`.
pub fn end_of(fate: &FrameFate, end: u64) -> u64 {
    let unfinished = fate.disposition == Some(Disposition::Inside) || fate.tasks.iter().any(|task| task.end.is_none());
    let passages = fate.passages.iter().map(|passage| passage.cycle);
    let replies = fate.replies.iter().map(|reply| reply.last);
    passages.chain(replies).chain(unfinished.then_some(end)).fold(fate.arrival, u64::max)
}

/// Rows for intervals that come in the order of their starts.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    ends: Vec<u64>,
}

impl Rows {
    /// The first row that is free from `start` on; the interval occupies the row until `end`.
    pub fn place(&mut self, start: u64, end: u64) -> usize {
        let row = self.ends.iter().position(|free| *free <= start).unwrap_or(self.ends.len());
        if row == self.ends.len() {
            self.ends.push(end);
        } else {
            self.ends[row] = end;
        }
        row
    }
}

/// Rows for the intervals of one frame: on a row, any two are disjoint or one contains the other.
#[derive(Clone, Debug, Default)]
pub struct Nests {
    rows: Vec<Vec<(u64, u64)>>,
}

impl Nests {
    /// The first row on which the interval nests.
    pub fn place(&mut self, start: u64, end: u64) -> usize {
        let nests = |&(from, to): &(u64, u64)| {
            end <= from || to <= start || (from <= start && end <= to) || (start <= from && to <= end)
        };
        let row = self.rows.iter().position(|row| row.iter().all(nests)).unwrap_or(self.rows.len());
        if row == self.rows.len() {
            self.rows.push(Vec::new());
        }
        self.rows[row].push((start, end));
        row
    }
}
