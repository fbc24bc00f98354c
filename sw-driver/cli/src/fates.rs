//! The fate of every frame of a run, as the trace ports of the emitted design report it.

use crate::play::Played;
use crate::session::Session;
use crate::summary::STAGES;
use anyhow::{ensure, Result};
use serde::Serialize;
use spindle::stats::Stats;
use spindle_contract::reasons;
use spindle_sim::{End, Event, FateEvent, SimDevice, Step, TraceLog};
use std::collections::HashMap;

/// How a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// All handlers of the frame returned success.
    Handled,
    /// The frame was written to host memory through a mailbox.
    Placed,
    /// The frame was dropped; [`FrameFate::reason`] is the reason.
    Dropped,
    /// The frame was still inside the NIC at the end of the run.
    Inside,
}

/// One run of a handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskSpan {
    /// `header`, `payload` or `completion`.
    pub kind: Option<&'static str>,
    /// HPU, counted over all clusters.
    pub hpu: usize,
    /// Hardware thread of the HPU.
    pub thread: Option<u8>,
    /// Cycle of the first instruction fetch.
    pub start: u64,
    /// Cycle in which the return was resolved; `None` if the handler was still running at the end.
    pub end: Option<u64>,
    /// Cycles in which the handler issued commands.
    pub commands: Vec<u64>,
}

/// A frame that a handler sent because of this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplySpan {
    /// Index in [`Played::replies`], or among all frames that the card has sent.
    pub reply: usize,
    /// Cycle of the first beat on the wire.
    pub first: u64,
    /// Cycle of the last beat on the wire.
    pub last: u64,
    /// Bytes without FCS.
    pub bytes: usize,
}

/// A trace point that the frame passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// Index in [`reasons::TRACE_POINTS`].
    pub point: usize,
    /// Cycle since reset.
    pub cycle: u64,
    /// HPU for points that each HPU has, else 0.
    pub unit: usize,
}

/// The fate of a frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameFate {
    /// Index of the frame among those played in, from 0.
    pub frame: usize,
    /// Sequence number that the NIC gave to the frame; it wraps at 65,536.
    pub number: u16,
    /// Bytes without FCS.
    pub bytes: usize,
    /// Cycle of the first beat.
    pub arrival: u64,
    /// Index of the rule that matched, in the order of `--match`; `None` if no rule matched, and for a frame that the parser drops.
    pub rule: Option<usize>,
    /// Context of the rule, if the rule has one.
    pub context: Option<usize>,
    /// Slot of the frame's message in the message table; `None` for a frame that joined no message.
    pub message: Option<usize>,
    /// Number of the mailbox that took the frame; `None` for a frame without payload for a mailbox.
    pub mailbox: Option<usize>,
    /// How the frame ended.
    pub disposition: Option<Disposition>,
    /// Drop reason, by its name in `docs/generated/reasons.md`.
    pub reason: Option<&'static str>,
    /// Trace points in the order of time.
    pub passages: Vec<Passage>,
    /// Handlers that ran on the frame, in the order of their starts.
    pub tasks: Vec<TaskSpan>,
    /// Frames sent because of this one.
    pub replies: Vec<ReplySpan>,
}

impl FrameFate {
    /// Cycle in which the frame first passed `point`.
    pub fn first(&self, point: usize) -> Option<u64> {
        self.passages.iter().find(|passage| passage.point == point).map(|passage| passage.cycle)
    }

    /// Cycles that the frame spent in each stage of [`STAGES`] that it passed, added up over its passes.
    pub fn stage_cycles(&self) -> Vec<(&'static str, u64)> {
        STAGES
            .iter()
            .filter_map(|(stage, from, to)| {
                let (mut since, mut total) = (None, None);
                for passage in &self.passages {
                    if passage.point == *to {
                        if let Some(start) = since.take() {
                            *total.get_or_insert(0) += passage.cycle - start;
                        }
                    }
                    if passage.point == *from {
                        since = Some(passage.cycle);
                    }
                }
                Some((*stage, total?))
            })
            .collect()
    }

    /// Bytes of all replies.
    pub fn bytes_sent(&self) -> usize {
        self.replies.iter().map(|reply| reply.bytes).sum()
    }
}

/// Kinds of handler, by their number in a task.
const KINDS: [&str; 4] = ["header", "payload", "completion", "task"];

/// The fates while the trace is read.
struct Collector<'a> {
    fates: Vec<FrameFate>,
    /// Index of the last frame that had each number.
    index_of: Vec<Option<usize>>,
    arrived: usize,
    /// Kind of the handler that was sent to an HPU for a frame and has not started.
    sent: HashMap<(usize, usize), u8>,
    rule_of_slot: &'a dyn Fn(usize) -> Option<usize>,
}

impl Collector<'_> {
    /// A trace point.
    fn point(&mut self, event: &Event) {
        if event.point == reasons::T_FIRST_BEAT {
            self.index_of[usize::from(event.frame)] = Some(self.arrived);
            self.arrived += 1;
        }
        let Some(index) = self.index_of[usize::from(event.frame)] else { return };
        let fate = &mut self.fates[index];
        fate.passages.push(Passage { point: event.point, cycle: event.cycle, unit: event.unit });
        let running = fate.tasks.iter_mut().find(|task| task.hpu == event.unit && task.end.is_none());
        match (event.point, running) {
            (reasons::T_HANDLER_END, Some(task)) => task.end = Some(event.cycle),
            (reasons::T_COMMAND, Some(task)) => task.commands.push(event.cycle),
            _ => {}
        }
    }

    /// A report of the fate ports.
    fn step(&mut self, event: &FateEvent) {
        let Some(index) = self.index_of[usize::from(event.frame)] else { return };
        let fate = &mut self.fates[index];
        match event.step {
            Step::Judged { rule, .. } => {
                fate.rule = rule.and_then(|(slot, _)| (self.rule_of_slot)(slot));
                fate.context = rule.and_then(|(_, context)| context);
            }
            Step::Joined { slot, .. } => fate.message = Some(slot),
            Step::Sent { kind, unit, .. } => {
                self.sent.insert((index, unit), kind);
            }
            Step::Started { unit, thread } => fate.tasks.push(TaskSpan {
                kind: self.sent.remove(&(index, unit)).map(|kind| KINDS[usize::from(kind)]),
                hpu: unit,
                thread: Some(thread),
                start: event.cycle,
                end: None,
                commands: Vec::new(),
            }),
            Step::Bound { mailbox } => fate.mailbox = Some(mailbox),
            Step::Ended(end) => {
                fate.disposition = Some(match end {
                    End::Handled => Disposition::Handled,
                    End::Placed => Disposition::Placed,
                    End::Dropped(_) => Disposition::Dropped,
                });
                if let End::Dropped(reason) = end {
                    fate.reason = Some(reasons::DROP_REASONS[reason].0);
                }
            }
        }
    }
}

/// A frame that entered a card.
#[derive(Clone, Copy, Debug)]
struct Entered {
    number: u16,
    bytes: usize,
    arrival: u64,
}

/// What a trace says of the frames of a card: cycle of the trace point and number of each that came, and which of them caused each frame
/// that left; none for a frame without a cause.
pub fn frames(trace: &TraceLog) -> (Vec<(u64, u16)>, Vec<Option<usize>>) {
    let mut index_of = vec![None; 1 << reasons::TRACE_TAG_BITS];
    let (mut came, mut causes) = (Vec::new(), Vec::new());
    for event in trace.events() {
        if event.point == reasons::T_FIRST_BEAT {
            index_of[usize::from(event.frame)] = Some(came.len());
            came.push((event.cycle, event.frame));
        } else if event.point == reasons::T_EGRESS_FIRST {
            causes.push(index_of[usize::from(event.frame)]);
        }
    }
    (came, causes)
}

/// The fates of these frames, which are all of the trace, without what they caused.
fn of_trace(
    trace: &TraceLog,
    entered: impl Iterator<Item = Entered>,
    rule_of_slot: &dyn Fn(usize) -> Option<usize>,
) -> Vec<FrameFate> {
    let fates = entered.enumerate().map(|(frame, Entered { number, bytes, arrival })| FrameFate {
        frame,
        number,
        bytes,
        arrival,
        rule: None,
        context: None,
        message: None,
        mailbox: None,
        disposition: Some(Disposition::Inside),
        reason: None,
        passages: Vec::new(),
        tasks: Vec::new(),
        replies: Vec::new(),
    });
    let mut collector = Collector {
        fates: fates.collect(),
        index_of: vec![None; 1 << reasons::TRACE_TAG_BITS],
        arrived: 0,
        sent: HashMap::new(),
        rule_of_slot,
    };
    let mut steps = trace.fates().iter().peekable();
    for event in trace.events() {
        while let Some(step) = steps.next_if(|step| step.cycle < event.cycle) {
            collector.step(step);
        }
        collector.point(event);
    }
    steps.for_each(|step| collector.step(step));
    collector.fates
}

/// Collects the fate of every frame that was played in; `lengths` are their sizes in bytes.
pub fn collect(session: &Session, played: &Played, lengths: &[usize]) -> Vec<FrameFate> {
    let numbered = played.numbers.iter().zip(lengths).zip(&played.arrivals);
    let entered =
        numbered.map(|((number, bytes), arrival)| Entered { number: *number, bytes: *bytes, arrival: *arrival });
    let mut sim = session.card.sim();
    let mut fates = of_trace(sim.trace(), entered, &|slot| session.device.rule_of_slot(slot));
    for (number, reply) in played.replies.iter().enumerate() {
        if let Some(cause) = reply.cause {
            let frame = &reply.frame;
            let span = ReplySpan { reply: number, first: frame.first, last: frame.last, bytes: frame.bytes.len() };
            fates[cause].replies.push(span);
        }
    }
    fates
}

/// The fates of all frames that a card has taken since reset, if it was traced since then; `sent` are the frames that it has sent. The
/// card may have any driver, so a rule is named by its slot in the header matcher.
pub fn of_card(sim: &mut SimDevice, sent: &[ReplySpan]) -> Vec<FrameFate> {
    let arrivals = sim.take_entered();
    let (came, causes) = frames(sim.trace());
    // The trace point is one cycle later than the beat. A card that does not receive reports no beat.
    let entered = came.into_iter().filter_map(|(cycle, number)| {
        let place = arrivals.partition_point(|arrival| arrival.cycle < cycle);
        let arrival = arrivals.get(place.checked_sub(1)?)?;
        Some(Entered { number, bytes: arrival.bytes, arrival: arrival.cycle })
    });
    let mut fates = of_trace(sim.trace(), entered, &Some);
    for (span, cause) in sent.iter().zip(causes) {
        if let Some(fate) = cause.and_then(|cause| fates.get_mut(cause)) {
            fate.replies.push(span.clone());
        }
    }
    fates
}

/// Compares the fates with the counters of the card since reset: each frame is in exactly one counter.
///
/// # Errors
/// A count differs.
pub fn check(fates: &[FrameFate], stats: &Stats) -> Result<()> {
    let compare = |what: &str, fates: usize, counter: u32| {
        ensure!(
            fates == counter as usize,
            "the trace of the NIC reports {fates} {what} frames, its counter {counter}; this is an error of the \
                design: repeat the run with --vcd and report it"
        );
        Ok(())
    };
    let count = |disposition| fates.iter().filter(|fate| fate.disposition == Some(disposition)).count();
    compare("handled", count(Disposition::Handled), stats.frames_handled)?;
    compare("placed", count(Disposition::Placed), stats.frames_placed)?;
    for ((reason, _), counter) in reasons::DROP_REASONS.iter().zip(stats.drops) {
        let dropped = fates.iter().filter(|fate| fate.reason == Some(*reason)).count();
        compare(&format!("dropped ({reason})"), dropped, counter)?;
    }
    compare("unfinished", count(Disposition::Inside), stats.inside())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(frame: usize, disposition: Disposition, reason: Option<&'static str>) -> FrameFate {
        FrameFate {
            frame,
            number: frame as u16,
            bytes: 64,
            arrival: 0,
            rule: None,
            context: None,
            message: None,
            mailbox: None,
            disposition: Some(disposition),
            reason,
            passages: Vec::new(),
            tasks: Vec::new(),
            replies: Vec::new(),
        }
    }

    #[test]
    fn fates_have_to_equal_the_counters() {
        let reason = reasons::DROP_REASONS[reasons::NO_RULE].0;
        let fates = [
            fate(0, Disposition::Handled, None),
            fate(1, Disposition::Placed, None),
            fate(2, Disposition::Dropped, Some(reason)),
            fate(3, Disposition::Inside, None),
        ];
        let mut stats = Stats { frames_in: 4, frames_handled: 1, frames_placed: 1, ..Stats::default() };
        stats.drops[reasons::NO_RULE] = 1;
        check(&fates, &stats).unwrap();
        for (change, words) in [
            (Stats { frames_handled: 2, ..stats.clone() }, "1 handled frames, its counter 2"),
            (Stats { frames_placed: 0, ..stats.clone() }, "1 placed frames, its counter 0"),
            (Stats { drops: [0; reasons::DROP_COUNT], ..stats.clone() }, "dropped (no_rule)"),
            (Stats { frames_in: 5, ..stats.clone() }, "1 unfinished frames, its counter 2"),
        ] {
            let error = check(&fates, &change).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn passes_of_a_stage_add_up() {
        let at = |point, cycle| Passage { point, cycle, unit: 0 };
        let mut fate = fate(0, Disposition::Handled, None);
        // A header handler of 10 cycles and a payload handler of 5; the answer of the first one leaves after 3.
        fate.passages = vec![
            at(reasons::T_HANDLER_START, 100),
            at(reasons::T_COMMAND, 106),
            at(reasons::T_EGRESS_FIRST, 109),
            at(reasons::T_HANDLER_END, 110),
            at(reasons::T_HANDLER_START, 120),
            at(reasons::T_HANDLER_END, 125),
        ];
        assert_eq!(fate.stage_cycles(), [("handler", 15), ("egress", 3)]);
    }
}
