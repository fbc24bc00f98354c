//! Plays frames into a NIC and waits until each has come to its end.

use crate::prints::{Line, Lines};
use crate::session::Session;
use anyhow::{ensure, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::stats::{Fault, Stats};
use spindle::{EventKind, EventRing};
use spindle_sim::{SentFrame, WireFrame};

/// A frame that the NIC sent, and the frame that caused it.
pub struct Reply {
    /// Index of the frame that was played in; `None` if the trace does not have it.
    pub cause: Option<usize>,
    /// Frames that the NIC sent.
    pub frame: SentFrame,
}

/// What happened.
pub struct Played {
    /// Frames that were sent, in order.
    pub replies: Vec<Reply>,
    /// Sequence number that the NIC gave to each frame played in; as many as frames entered.
    pub numbers: Vec<u16>,
    /// Cycle of the first beat of each frame played in.
    pub arrivals: Vec<u64>,
    /// Cycle of the first beat in, and the last in which something was still inside.
    pub span: (u64, u64),
    /// Counters at the end.
    pub stats: Stats,
    /// What handlers printed.
    pub printed: Vec<Line>,
    /// Fault reports, if [`Watch::drain_faults`] was set; else they are still in the card's queue.
    pub faults: Vec<Fault>,
    /// Events that found the event ring full.
    pub events_lost: u64,
    /// The run was stopped by [`Watch::stop`].
    pub interrupted: bool,
    /// Everything has come to its end.
    pub drained: bool,
}

/// Idle cycles before each frame.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// How many, on average.
    pub gap: u64,
    /// Random from 0 to twice the average, from this seed; else always the average.
    pub seed: Option<u64>,
}

impl Pacing {
    /// The gaps, one for each frame.
    pub fn gaps(self) -> impl Iterator<Item = u64> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed.unwrap_or(0));
        std::iter::repeat_with(
            move || if self.seed.is_some() { random.random_range(0..=2 * self.gap) } else { self.gap },
        )
    }
}

/// A program of the host.
pub type Attendant<'a> = dyn FnMut(&mut Session) -> Result<()> + 'a;

/// What a caller does while frames are played.
#[derive(Default)]
pub struct Watch<'a> {
    /// Take fault reports while the NIC runs: its queue holds 16.
    pub drain_faults: bool,
    /// An event ring that is open: faults and prints come from there, without register accesses.
    pub ring: Option<EventRing>,
    /// Ends the run early when the function returns true: no further frame enters.
    pub stop: Option<&'a dyn Fn() -> bool>,
    /// A program of the host that runs beside the NIC: called every few cycles.
    pub attendant: Option<&'a mut Attendant<'a>>,
    /// Gets cycles since the start and frames that have not entered.
    pub progress: Option<&'a mut dyn FnMut(u64, usize)>,
}

/// Cycles between two looks at the queues of prints and faults, and at the counters while the NIC drains.
const LOOK: u64 = 64;
/// Cycles without anything to do after which the NIC is drained: more than all frames of all handlers take to leave a slow wire.
const QUIET: u64 = 4096;
/// Cycles that frames inside the NIC get to end after the run was stopped.
const STOPPED_LIMIT: u64 = 20_000;

/// Plays `frames` and runs until none is left inside, at most `limit` cycles after the last.
pub fn play(session: &mut Session, frames: &[Vec<u8>], pacing: Pacing, limit: u64) -> Result<Played> {
    play_with(session, frames, pacing.gaps(), limit)
}

/// As [`play`], with the idle cycles before each frame.
pub fn play_with(
    session: &mut Session,
    frames: &[Vec<u8>],
    gaps: impl Iterator<Item = u64>,
    limit: u64,
) -> Result<Played> {
    play_watched(session, frames, gaps, limit, Watch::default())
}

/// Reports that the host takes from the card while the NIC runs.
#[derive(Default)]
struct Queues {
    drain_faults: bool,
    ring: Option<EventRing>,
    lines: Lines,
    faults: Vec<Fault>,
    events_lost: u64,
}

impl Queues {
    fn take(&mut self, session: &mut Session) -> Result<()> {
        if let Some(ring) = &mut self.ring {
            while let Some(event) = session.device.poll_event(ring)? {
                match event.kind {
                    EventKind::Fault(fault) => self.faults.push(fault),
                    EventKind::Print(print) => self.lines.take([print]),
                    EventKind::Lost(count) => self.events_lost += u64::from(count),
                    _ => {}
                }
            }
            return Ok(());
        }
        if self.drain_faults {
            while let Some(fault) = session.device.pop_fault()? {
                self.faults.push(fault);
            }
        }
        self.lines.take(session.device.prints()?);
        Ok(())
    }
}

/// As [`play_with`], watched by the caller.
pub fn play_watched(
    session: &mut Session,
    frames: &[Vec<u8>],
    gaps: impl Iterator<Item = u64>,
    limit: u64,
    mut watch: Watch,
) -> Result<Played> {
    let before = session.device.stats()?;
    session.card.sim().trace().clear();
    session.card.sim().take_sent();
    session.card.sim().take_arrivals();
    for (bytes, gap) in frames.iter().zip(gaps) {
        session.card.sim().inject(WireFrame { bytes: bytes.clone(), gap, bad: false });
    }
    let start = session.card.sim().cycle();
    let mut report = |cycle: u64, pending: usize| {
        if let Some(progress) = &mut watch.progress {
            progress(cycle - start, pending);
        }
    };
    let stop = watch.stop;
    let stopped = || stop.is_some_and(|stop| stop());
    let mut attendant = watch.attendant;
    let mut attend = |session: &mut Session| attendant.as_mut().map_or(Ok(()), |attendant| attendant(session));
    // RX never waits: a frame takes its beats and its gap.
    let mut queues = Queues { drain_faults: watch.drain_faults, ring: watch.ring, ..Queues::default() };
    let mut looked = start;
    let mut entering = frames.len();
    let mut interrupted = false;
    while session.card.sim().pending() > 0 {
        session.card.sim().step();
        let cycle = session.card.sim().cycle();
        if cycle >= looked + LOOK {
            queues.take(session)?;
            attend(session)?;
            looked = session.card.sim().cycle();
            report(looked, session.card.sim().pending());
            if !interrupted && stopped() {
                interrupted = true;
                entering -= session.card.sim().cancel_pending();
            }
        }
    }
    let mut deadline = session.card.sim().cycle() + if interrupted { STOPPED_LIMIT } else { limit };
    // A frame that a handler has sent may still wait after others when the handler has returned and its packet is counted, and a
    // completion handler runs after all packets are: the NIC is drained when it has been idle for a while.
    let mut quiet_since = None;
    let (stats, drained) = loop {
        queues.take(session)?;
        attend(session)?;
        let stats = session.device.stats()?;
        let cycle = session.card.sim().cycle();
        let sent = session.card.sim().sent_count();
        let entered = stats.frames_in.wrapping_sub(before.frames_in) as usize == entering;
        let out = stats.frames_out.wrapping_sub(before.frames_out) as usize == sent;
        let ended = entered && out && stats.inside() == 0;
        if ended && stats.messages_open == 0 {
            match quiet_since {
                Some((since, before)) if before == sent && cycle - since >= QUIET => break (stats, true),
                Some((_, before)) if before == sent => {}
                _ => quiet_since = Some((cycle, sent)),
            }
        } else {
            quiet_since = None;
        }
        if cycle > deadline {
            // Messages whose packets never came stay open; that is for the reader of the counters.
            break (stats, ended);
        }
        report(cycle, 0);
        if !interrupted && stopped() {
            interrupted = true;
            deadline = deadline.min(cycle + STOPPED_LIMIT);
        }
        session.card.sim().run(LOOK);
    };
    queues.take(session)?;
    let end = quiet_since.map_or_else(|| session.card.sim().cycle(), |(since, _)| since);
    let sent = session.card.sim().take_sent();
    let arrivals = session.card.sim().take_arrivals();
    let (numbers, causes) = causes(session, entering, sent.len())?;
    let replies = sent.into_iter().zip(causes).map(|(frame, cause)| Reply { cause, frame }).collect();
    let span = (arrivals.first().copied().unwrap_or(start), end);
    let (printed, faults, events_lost) = (queues.lines.finish(), queues.faults, queues.events_lost);
    Ok(Played { replies, numbers, arrivals, span, stats, printed, faults, events_lost, interrupted, drained })
}

type Causes = (Vec<u16>, Vec<Option<usize>>);

/// Numbers of the frames in, and which of them caused which frame out: the trace has frame numbers.
fn causes(session: &Session, frames: usize, sent: usize) -> Result<Causes> {
    let (came, causes) = crate::fates::frames(session.card.sim().trace());
    let numbers: Vec<u16> = came.into_iter().map(|(_, number)| number).collect();
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
    Ok((numbers, causes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{compare_answers, predict, Expected};
    use spindle::rule_table::Action;
    use spindle::{ContextOptions, Rule};
    use spindle_contract::params::Config;
    use spindle_contract::reasons;
    use spindle_model::frames::{udp, Ends};
    use spindle_model::handlers::{by_name, Outcome};
    use spindle_sdk::Shipped;

    /// Two contexts fail on every packet, in the two ways there are; the third answers all of its own meanwhile.
    #[test]
    fn a_faulty_context_leaves_the_others_alone() {
        let mut session = Session::open(Config::SIM, Default::default()).unwrap();
        let mut rules = Vec::new();
        for (name, rule) in
            [("never_returns", "udp.dport == 1"), ("foreign_access", "udp.dport == 2"), ("ping_pong", "udp")]
        {
            let image = Shipped::by_name(name).unwrap().load().unwrap().image;
            let options = ContextOptions { watchdog: 3000, ..ContextOptions::default() };
            let context = session.device.install(&image, &options).unwrap();
            rules.push([rule.parse::<Rule>().unwrap()]);
            session.device.add_rule(&rules[context.0][0], Action::Context(context)).unwrap();
            session.device.activate(context).unwrap();
        }
        session.device.set_receive(true).unwrap();
        // One in six never returns: eight HPUs have more than enough time for the rest.
        let frames: Vec<_> = (0..60u16)
            .map(|i| udp(&Ends::default(), 1000 + i, if i % 3 > 0 { 9 } else { 1 + i / 3 % 2 }, &[i as u8; 100]))
            .collect();
        let played = play(&mut session, &frames, Pacing { gap: 500, seed: Some(5) }, 200_000).unwrap();
        assert!(played.drained, "{:?}", played.stats);
        let fails: Expected =
            Expected { rules: &[rules[0][0].clone(), rules[1][0].clone()], model: |_, _| Outcome::Drop, host_bytes: 0 };
        let works = Expected { rules: &rules[2], model: by_name("ping_pong").unwrap(), host_bytes: 0 };
        let expectation = predict(&[fails, works], &frames, &played.numbers);
        assert_eq!(compare_answers(&expectation, &played).unwrap(), 40);
        assert_eq!(played.stats.drops[reasons::HANDLER_FAIL], 20);
        assert_eq!(played.stats.tasks_faulted, 20);
        let mut causes = Vec::new();
        while let Some(fault) = session.device.pop_fault().unwrap() {
            // Each report names a frame that was meant for the context.
            let index = played.numbers.iter().position(|number| *number == fault.frame).unwrap();
            assert_eq!(index / 3 % 2, fault.context.0, "{fault:?}");
            causes.push(fault.cause_text().0);
        }
        // The queue holds 16; the rest is counted.
        assert_eq!((causes.len(), played.stats.faults_lost), (16, 4));
        assert!(causes.contains(&"FAULT_WATCHDOG") && causes.contains(&"FAULT_STORE"), "{causes:?}");
    }
}
