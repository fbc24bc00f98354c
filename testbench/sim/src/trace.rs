//! The trace ports: which frame passed which stage in which cycle.

use crate::fates::FateEvent;
use spindle_contract::reasons::{TRACE_COUNT, TRACE_POINTS};

/// One lane of the trace ports: a point, and the unit (HPU) that fires it where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Index in [`TRACE_POINTS`].
    pub point: usize,
    /// Number of the HPU for points that each HPU has, else 0.
    pub unit: usize,
}

/// A frame passed a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Cycle since reset.
    pub cycle: u64,
    /// Index in [`TRACE_POINTS`].
    pub point: usize,
    /// HPU, for points that each HPU has.
    pub unit: usize,
    /// Frame sequence number.
    pub frame: u16,
}

/// Everything that happened, in order of time.
#[derive(Clone, Debug, Default)]
pub struct TraceLog {
    events: Vec<Event>,
    fates: Vec<FateEvent>,
}

impl TraceLog {
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    pub(crate) fn push_fate(&mut self, fate: FateEvent) {
        self.fates.push(fate);
    }

    /// Rules, messages, handlers and ends of frames, in order of time.
    pub fn fates(&self) -> &[FateEvent] {
        &self.fates
    }

    /// All events in order of time.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.events.clear();
        self.fates.clear();
    }

    /// The events of one point.
    pub fn of(&self, point: usize) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| event.point == point)
    }

    /// The first time that `frame` passed `point` at or after `from`.
    pub fn first(&self, frame: u16, point: usize, from: u64) -> Option<u64> {
        self.of(point).find(|event| event.frame == frame && event.cycle >= from).map(|event| event.cycle)
    }

    /// For each time a frame passed `from`, the cycles until it next passed `to`.
    ///
    /// Frame numbers wrap at 65,536; a pair never spans another `from` of the same number.
    pub fn latencies(&self, from: usize, to: usize) -> Vec<u64> {
        let mut since = vec![None; 1 << 16];
        let mut latencies = Vec::new();
        for event in &self.events {
            let slot = &mut since[usize::from(event.frame)];
            if event.point == to {
                if let Some(start) = slot.take() {
                    latencies.push(event.cycle - start);
                }
            }
            if event.point == from {
                *slot = Some(event.cycle);
            }
        }
        latencies
    }
}

/// Name of a trace point.
///
/// # Panics
/// If there is no such point.
pub fn point_name(point: usize) -> &'static str {
    assert!(point < TRACE_COUNT, "there are {TRACE_COUNT} trace points, not {point}");
    TRACE_POINTS[point].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_pair_the_same_frame() {
        let mut log = TraceLog::default();
        for (cycle, point, frame) in [(1, 0, 7), (2, 0, 8), (5, 1, 7), (9, 1, 8), (20, 1, 7), (30, 0, 7), (31, 1, 7)] {
            log.push(Event { cycle, point, unit: 0, frame });
        }
        assert_eq!(log.latencies(0, 1), [4, 7, 1]);
        assert_eq!(log.first(7, 1, 6), Some(20));
    }
}
