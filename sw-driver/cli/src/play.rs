//! Plays frames into a NIC and waits until each has come to its end.

use crate::session::Session;
use anyhow::{ensure, Result};
use spindle::stats::Stats;
use spindle_contract::reasons;
use spindle_sim::{SentFrame, WireFrame};

/// A frame that the NIC sent, and the frame that caused it.
pub struct Reply {
    /// Index of the frame that was played in; `None` if the trace does not tell.
    pub cause: Option<usize>,
    /// What came out.
    pub frame: SentFrame,
}

/// What happened.
pub struct Played {
    /// Frames that were sent, in order.
    pub replies: Vec<Reply>,
    /// Sequence number that the NIC gave to each frame played in.
    pub numbers: Vec<u16>,
    /// Cycle of the first beat of each frame played in.
    pub arrivals: Vec<u64>,
    /// Cycle of the first beat in, and the last in which something was still inside.
    pub span: (u64, u64),
    /// Counters at the end.
    pub stats: Stats,
    /// Everything has come to its end.
    pub drained: bool,
}

/// Cycles between two looks at the counters while the NIC drains.
const LOOK: u64 = 64;

/// Plays `frames` with `gap` idle cycles before each and runs until none is left inside, at most `limit` cycles behind the last.
pub fn play(session: &mut Session, frames: &[Vec<u8>], gap: u64, limit: u64) -> Result<Played> {
    let before = session.device.stats()?;
    session.card.sim().trace().clear();
    session.card.sim().take_sent();
    for bytes in frames {
        session.card.sim().inject(WireFrame { bytes: bytes.clone(), gap, bad: false });
    }
    let start = session.card.sim().cycle();
    // RX never waits: a frame takes its beats and its gap.
    while session.card.sim().pending() > 0 {
        session.card.sim().step();
    }
    let deadline = session.card.sim().cycle() + limit;
    let mut end;
    let mut drained;
    let stats = loop {
        end = session.card.sim().cycle();
        let stats = session.device.stats()?;
        let sent = stats.frames_out.wrapping_sub(before.frames_out);
        let entered = stats.frames_in.wrapping_sub(before.frames_in);
        let out = sent as usize == session.card.sim().sent_count();
        drained = entered as usize == frames.len() && stats.inside() == 0 && out;
        if drained || session.card.sim().cycle() > deadline {
            break stats;
        }
        session.card.sim().run(LOOK);
    };
    let sent = session.card.sim().take_sent();
    let (numbers, arrivals, causes) = causes(session, frames.len(), sent.len())?;
    let replies = sent.into_iter().zip(causes).map(|(frame, cause)| Reply { cause, frame }).collect();
    let span = (arrivals.first().copied().unwrap_or(start), end);
    Ok(Played { replies, numbers, arrivals, span, stats, drained })
}

type Causes = (Vec<u16>, Vec<u64>, Vec<Option<usize>>);

/// Numbers and arrival cycles of the frames in, and which of them caused which frame out: the trace tells it by frame number.
fn causes(session: &Session, frames: usize, sent: usize) -> Result<Causes> {
    let mut sim = session.card.sim();
    let mut index_of = vec![None; 1 << reasons::TRACE_TAG_BITS];
    let (mut numbers, mut arrivals, mut causes) = (Vec::new(), Vec::new(), Vec::new());
    for event in sim.trace().events() {
        if event.point == reasons::T_FIRST_BEAT {
            index_of[usize::from(event.frame)] = Some(numbers.len());
            numbers.push(event.frame);
            arrivals.push(event.cycle);
        } else if event.point == reasons::T_EGRESS_FIRST {
            causes.push(index_of[usize::from(event.frame)]);
        }
    }
    ensure!(
        numbers.len() == frames,
        "{frames} frames were played in, the trace saw {}; the NIC lost or invented some",
        numbers.len()
    );
    ensure!(
        causes.len() == sent,
        "{sent} frames came out, the trace saw {}; the NIC lost or invented some",
        causes.len()
    );
    Ok((numbers, arrivals, causes))
}
