//! The fate of every frame of a run, as the trace ports of the emitted design report it.

use crate::play::Played;
use crate::session::Session;
use serde::Serialize;
use spindle_contract::reasons;

/// How a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// All handlers of the frame returned success.
    Handled,
    /// The frame was written to host memory through a mailbox.
    Placed,
    /// The frame was dropped; [`FrameFate::reason`] tells why.
    Dropped,
    /// The frame was still inside the NIC at the end of the run.
    Inside,
}

/// One run of a handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskSpan {
    /// `header`, `payload` or `completion`, if the trace tells.
    pub kind: Option<&'static str>,
    /// HPU, counted over all clusters.
    pub hpu: usize,
    /// Hardware thread of the HPU, if the trace tells.
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
    /// Index in [`Played::replies`].
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
    /// Index of the rule that matched, in the order of `--match`.
    pub rule: Option<usize>,
    /// Context that got the frame.
    pub context: Option<usize>,
    /// Slot of the message in the message table.
    pub message: Option<usize>,
    /// How the frame ended; `None` while the design's trace does not tell.
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

    /// Bytes of all replies.
    pub fn bytes_sent(&self) -> usize {
        self.replies.iter().map(|reply| reply.bytes).sum()
    }
}

/// Collects the fate of every frame that was played in; `lengths` are their sizes in bytes.
pub fn collect(session: &Session, played: &Played, lengths: &[usize]) -> Vec<FrameFate> {
    let mut fates: Vec<FrameFate> = played
        .numbers
        .iter()
        .enumerate()
        .map(|(frame, number)| FrameFate {
            frame,
            number: *number,
            bytes: lengths[frame],
            arrival: played.arrivals[frame],
            rule: None,
            context: None,
            message: None,
            disposition: None,
            reason: None,
            passages: Vec::new(),
            tasks: Vec::new(),
            replies: Vec::new(),
        })
        .collect();
    let mut sim = session.card.sim();
    let mut index_of = vec![None; 1 << reasons::TRACE_TAG_BITS];
    let mut arrived = 0;
    for event in sim.trace().events() {
        if event.point == reasons::T_FIRST_BEAT {
            index_of[usize::from(event.frame)] = Some(arrived);
            arrived += 1;
        }
        let Some(index) = index_of[usize::from(event.frame)] else { continue };
        let fate: &mut FrameFate = &mut fates[index];
        fate.passages.push(Passage { point: event.point, cycle: event.cycle, unit: event.unit });
        let running = |task: &&mut TaskSpan| task.hpu == event.unit && task.end.is_none();
        match event.point {
            reasons::T_HANDLER_START => fate.tasks.push(TaskSpan {
                kind: None,
                hpu: event.unit,
                thread: None,
                start: event.cycle,
                end: None,
                commands: Vec::new(),
            }),
            reasons::T_HANDLER_END => {
                if let Some(task) = fate.tasks.iter_mut().find(running) {
                    task.end = Some(event.cycle);
                }
            }
            reasons::T_COMMAND => {
                if let Some(task) = fate.tasks.iter_mut().find(running) {
                    task.commands.push(event.cycle);
                }
            }
            _ => {}
        }
    }
    for (number, reply) in played.replies.iter().enumerate() {
        if let Some(cause) = reply.cause {
            let frame = &reply.frame;
            let span = ReplySpan { reply: number, first: frame.first, last: frame.last, bytes: frame.bytes.len() };
            fates[cause].replies.push(span);
        }
    }
    fates
}
