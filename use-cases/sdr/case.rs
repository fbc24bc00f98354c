//! A message over a long wire that loses packets: repaired from parity, asked for again by the receiver, or sent again by the NIC.

mod model;

use crate::bench::{window_of, Bench, Host, Landing, Setting, KEY, PROCESS};
use crate::case::{ratios, value, Case, Measured, Mode, Row};
use crate::cost::Work;
use anyhow::{bail, ensure, Context, Result};
use spindle::reliable::Reliability;
use spindle::rvma::{Posted, Window};
use spindle::window::{Counting, WindowOptions};
use spindle::{EventKind, EventRing, ReceiveMap, Target};
use spindle_contract::params::SEGMENT_BYTES;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

const MODES: &[Mode] = &[
    Mode {
        name: "parity",
        about: "a segment of parity after each eight: the receiver repairs what the map lacks, and asks for the rest",
    },
    Mode { name: "map", about: "the receiver asks for the segments that the map lacks" },
    Mode { name: "retransmit", about: "a reliable put: the NIC sends again what is not acknowledged" },
];
const SENDER: usize = 0;
const RECEIVER: usize = 1;
/// Bytes of a message. With its parity it has at most as many granules as a map.
const BYTES: usize = 896 << 10;
/// Bytes of a bit of the map: no more than a segment, so that each segment has its own.
const GRANULE: usize = 1024;
/// Segments of a message.
const SEGMENTS: usize = BYTES.div_ceil(SEGMENT_BYTES);
/// Segments that a segment of parity is for.
const GROUP: usize = 8;
const GROUPS: usize = SEGMENTS.div_ceil(GROUP);
/// Segments with parity, which lies after the message.
const ALL: usize = SEGMENTS + GROUPS;
/// Windows: the message, the sender's marks, the receiver's answers.
const DATA: u64 = 0x300;
const MARKS: u64 = 0x301;
const ANSWERS: u64 = 0x302;
/// A mark is sent before and after a message, an answer for each mark after it; each leaves so many times.
const COPIES: usize = 3;
const MARK: usize = 8;
/// An answer: the mark, a bit for each segment that is missing, the mark again, since bytes of a packet become visible in their order.
const MISSING: usize = SEGMENTS.div_ceil(8).next_multiple_of(8);
const ANSWER: usize = MARK + MISSING + MARK;
/// The shares that are lost, with the endings of their values.
const LOSSES: [(f64, [&str; 4]); 2] = [
    (1e-3, ["completion_1e3", "worst_1e3", "time_1e3_ns", "lost_1e3"]),
    (1e-2, ["completion_1e2", "worst_1e2", "time_1e2_ns", "lost_1e2"]),
];
const QUIET: u64 = 1000;
/// Cycles between two readings of the map: segments of a word come in 1100.
const POLL: u64 = 600;
/// Cycles after the mark of a message within which nothing is repaired, so the map is not read.
const FIRST: u64 = 10_000;

/// The case.
pub const CASE: Case = Case {
    name: "sdr",
    figure: include_str!("figure.toml"),
    handlers: &[],
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: &[],
};

/// The wire of a point, which is its length in microseconds, and how many messages are measured over it at each loss: a round trip of
/// two milliseconds is half a million cycles of two NICs.
fn wire(point: u64) -> Result<(&'static str, usize)> {
    match point {
        10 => Ok(("long-0.01ms", 1)),
        100 => Ok(("long-0.1ms", 3)),
        1000 => Ok(("long-1ms", 1)),
        _ => bail!("there is no wire of {point} µs"),
    }
}

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let (wire, messages) = wire(point)?;
    let setting = Setting { wire: wire.into(), patience: u64::MAX / 2, ..setting.clone() };
    let crossing = setting.wire_cycles()?;
    // What cannot be passed: a segment takes 24 cycles of the wire, and who knows of the end is a round trip away.
    let ideal = (2 * crossing) as f64 + BYTES as f64 / SEGMENT_BYTES as f64 * SEGMENT_CYCLES;
    let bench = setting.bench(2)?;
    let mut transfer = Transfer::new(&bench, mode, crossing)?;
    bench.hosts().iter().try_for_each(Host::listen)?;
    let mut values = Vec::new();
    // Over a longer wire the NIC gives a reliable put up at the greater loss: see README.md.
    let losses = if mode == "retransmit" && point > 10 { 1 } else { LOSSES.len() };
    for (number, (loss, names)) in LOSSES.into_iter().take(losses).enumerate() {
        let before = bench.lost();
        bench.lose(loss);
        let times: Vec<u64> =
            (0..messages).map(|message| transfer.message(number * messages + message)).collect::<Result<_>>()?;
        let lost = bench.lost() - before;
        ensure!(lost > 0 || loss < 1e-2, "the wire has lost nothing");
        let mean = times.iter().sum::<u64>() as f64 / messages as f64;
        let worst = times.into_iter().max().unwrap_or(0) as f64;
        values.extend(names.into_iter().zip([mean / ideal, worst / ideal, setting.ns(mean), lost as f64]));
    }
    Measured::new(&bench, values)
}

/// Cycles of a full segment on the wire.
const SEGMENT_CYCLES: f64 = 24.0;

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    const POINTS: [(u64, &str); 3] = [(10, "10us"), (100, "100us"), (1000, "1ms")];
    let mut figures = Vec::new();
    for (mode, text) in [("parity", "completion"), ("map", "map"), ("retransmit", "retransmit")] {
        for (point, wire) in POINTS {
            for (name, loss) in [("completion_1e3", "1e3"), ("completion_1e2", "1e2")] {
                let multiple = value(rows, mode, "pcie", point, name);
                figures.extend(multiple.map(|multiple| (format!("{text}_{wire}_{loss}"), multiple)));
            }
        }
    }
    figures.extend(ratios(rows, "worst_1e3", &POINTS, &[("retransmit", "parity", "speedup_1e3")]));
    figures
}

/// Bytes of a message, or of what lies at the place of a segment.
fn place(segment: usize) -> std::ops::Range<usize> {
    let end = if segment < SEGMENTS { BYTES } else { usize::MAX };
    segment * SEGMENT_BYTES..((segment + 1) * SEGMENT_BYTES).min(end)
}

/// The segments of a group.
fn members(group: usize) -> std::ops::Range<usize> {
    group * GROUP..((group + 1) * GROUP).min(SEGMENTS)
}

/// The bit of a segment in the map.
fn bit(segment: usize) -> usize {
    segment * SEGMENT_BYTES / GRANULE
}

/// The exclusive or of segments, each as long as a full one: the bytes after the message are 0.
fn xor(memory: &[u8], segments: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut sum = vec![0; SEGMENT_BYTES];
    for segment in segments {
        let bytes = &memory[segment * SEGMENT_BYTES..(segment + 1) * SEGMENT_BYTES];
        sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}

/// The two ends.
struct Transfer<'a> {
    bench: &'a Bench,
    /// Cycles until the sender, without an answer, marks the end of its segments again.
    patience: u64,
    kind: Kind,
}

enum Kind {
    /// The NIC sends again.
    Reliable { from: u64, landing: Landing, ring: Option<EventRing> },
    /// Hosts do.
    Mapped { sender: Sender, receiver: Receiver },
}

impl<'a> Transfer<'a> {
    fn new(bench: &'a Bench, mode: &str, crossing: u64) -> Result<Self> {
        let (from, to) = (bench.host(SENDER), bench.host(RECEIVER));
        let patience = 2 * crossing + 20_000;
        let memory = from.alloc(ALL * SEGMENT_BYTES)?;
        let kind = if mode == "retransmit" {
            // A hole is a loss on this wire; what was sent again is not missing before its acknowledgement can be here.
            let hole_time = (2 * crossing / 64).min(32_767) as u16;
            let timeout = (patience / 64).min(4095) as u16;
            let reliability = Reliability { timeout, hole_time, retries: 15, incarnation: 0 };
            from.nic(|nic| nic.set_reliability(Some(reliability)))?;
            let ring = Some(from.nic(|nic| nic.open_ring(PROCESS, 64))?);
            Kind::Reliable { from: memory, landing: Landing::new(&to, DATA, BYTES)?, ring }
        } else {
            for host in [&from, &to] {
                host.nic(|nic| nic.set_reliability(None))?;
            }
            let parity = mode == "parity";
            let (answer, mark) = (from.alloc(ANSWER)?, to.alloc(MARK)?);
            from.endless_window(ANSWERS, answer, ANSWER)?;
            to.endless_window(MARKS, mark, MARK)?;
            let buffer = Posted {
                buffer: to.alloc(ALL * SEGMENT_BYTES)?,
                size: (ALL * SEGMENT_BYTES) as u32,
                record: to.alloc(64)?,
            };
            let (threshold, counting) = (u32::MAX, Counting::Operations);
            let options = WindowOptions { address: DATA, key: KEY, threshold, counting, ..WindowOptions::default() };
            let window = to.nic(|nic| nic.open_window(PROCESS, &options))?;
            let (leaving, answering) = (from.alloc(COPIES * MARK)?, to.alloc(ANSWER)?);
            Kind::Mapped {
                sender: Sender { host: from, parity, memory, leaving, answer },
                receiver: Receiver { host: to, parity, window, buffer, mark, answering },
            }
        };
        Ok(Transfer { bench, patience, kind })
    }

    /// Cycles from the first put of a message until its sender knows that the receiver has all. Compares it.
    fn message(&mut self, number: usize) -> Result<u64> {
        let data = model::message(number, BYTES);
        let end = Rc::new(Cell::new(None));
        let (seen, to) = (end.clone(), self.bench.host(RECEIVER));
        let buffer = match &self.kind {
            Kind::Reliable { landing, .. } => landing.posted.buffer,
            Kind::Mapped { receiver, .. } => receiver.buffer.buffer,
        };
        to.write(buffer, &vec![0; BYTES])?;
        match &mut self.kind {
            Kind::Reliable { from, landing, ring } => {
                landing.post(&to)?;
                let (host, from) = (self.bench.host(SENDER), *from);
                host.write(from, &data)?;
                let mut events = ring.take().context("a transfer is under way")?;
                let back = Rc::new(Cell::new(None));
                let (returned, start) = (back.clone(), self.bench.now());
                self.bench.run(vec![Box::pin(async move {
                    host.put(from, BYTES, &window_of(RECEIVER, DATA, 0)).await?;
                    let event = host.until(|nic| Ok(nic.poll_event(&mut events)?)).await?;
                    ensure!(
                        matches!(event.kind, EventKind::Put { acknowledged: true, .. }),
                        "the put ended as {event:?}"
                    );
                    host.overhead().await;
                    seen.set(Some(host.now() - start));
                    returned.set(Some(events));
                    Ok(())
                })])?;
                *ring = back.take();
            }
            Kind::Mapped { sender, receiver } => {
                sender.host.write(sender.memory, &data)?;
                let map = receiver.host.nic(|nic| nic.post_mapped(receiver.window, receiver.buffer, GRANULE as u32))?;
                let (sender, taker, patience) = (sender.clone(), receiver.clone(), self.patience);
                let over = end.clone();
                let start = self.bench.now();
                self.bench.run(vec![
                    Box::pin(async move {
                        sender.send(number, patience).await?;
                        seen.set(Some(sender.host.now() - start));
                        Ok(())
                    }),
                    Box::pin(async move { taker.take(number, map, &over).await }),
                ])?;
                self.bench.idle(QUIET);
                // Ends the segments of lost puts, too.
                receiver.host.nic(|nic| nic.inc_epoch(receiver.window))?;
                receiver.host.nic(|nic| nic.free_map(map))?;
            }
        }
        self.bench.idle(QUIET);
        self.bench.expect(&format!("message {number}"), &to.read(buffer, BYTES)?, &data)?;
        end.get().context("a message without an end")
    }
}

/// A mark: message, round of segments, and how often its end was marked before. No two are the same.
fn mark(number: usize, round: usize, again: usize) -> [u8; MARK] {
    (((number + 1) << 32 | round << 16 | again) as u64).to_le_bytes()
}

/// The mark without how often.
fn round_of(mark: [u8; MARK]) -> u64 {
    u64::from_le_bytes(mark) >> 16
}

/// The sending host.
#[derive(Clone)]
struct Sender {
    host: Host,
    parity: bool,
    /// The message, and its parity.
    memory: u64,
    /// Marks that leave: that before the message, then those after its segments in turn.
    leaving: u64,
    /// Answers of the receiver.
    answer: u64,
}

impl Sender {
    async fn send(&self, number: usize, patience: u64) -> Result<()> {
        self.mark(mark(number, 0, 0), 0).await?;
        self.first(BYTES).await?;
        for round in 1.. {
            let missing = self.answered(number, round, patience).await?;
            if missing.is_empty() {
                break;
            }
            let puts: Vec<_> = missing.into_iter().map(|segment| self.segment(segment)).collect();
            self.host.put_all(&puts).await?;
        }
        Ok(())
    }

    /// The message for the first time.
    async fn first(&self, bytes: usize) -> Result<()> {
        if !self.parity {
            return self.host.put(self.memory, bytes, &window_of(RECEIVER, DATA, 0)).await;
        }
        let memory = self.host.read(self.memory, SEGMENTS * SEGMENT_BYTES)?;
        self.host.put_all(&[self.group(0)]).await?;
        for group in 0..GROUPS {
            // The parity of a group is computed while its segments leave.
            self.host.work(Work::Xor, members(group).len() * SEGMENT_BYTES).await;
            let at = SEGMENTS + group;
            self.host.write(self.memory + place(at).start as u64, &xor(&memory, members(group)))?;
            let next = (group + 1 < GROUPS).then(|| self.group(group + 1));
            let puts: Vec<_> = std::iter::once(self.segment(at)).chain(next).collect();
            self.host.put_all(&puts).await?;
        }
        Ok(())
    }

    fn segment(&self, segment: usize) -> (u64, usize, Target) {
        self.range(place(segment))
    }

    fn group(&self, group: usize) -> (u64, usize, Target) {
        let members = members(group);
        self.range(place(members.start).start..place(members.end - 1).end)
    }

    fn range(&self, bytes: std::ops::Range<usize>) -> (u64, usize, Target) {
        (self.memory + bytes.start as u64, bytes.len(), window_of(RECEIVER, DATA, bytes.start))
    }

    /// Sends a mark; marks may be under way together if their places differ.
    async fn mark(&self, mark: [u8; MARK], at: usize) -> Result<()> {
        let from = self.leaving + (at * MARK) as u64;
        self.host.write(from, &mark)?;
        self.host.put_all(&[(from, MARK, window_of(RECEIVER, MARKS, 0)); COPIES]).await
    }

    /// Marks the end of the segments of a round until the receiver says what it lacks.
    async fn answered(&self, number: usize, round: usize, patience: u64) -> Result<Vec<usize>> {
        for again in 0.. {
            self.mark(mark(number, round, again), 1 + again % 2).await?;
            let until = self.host.now() + patience;
            while self.host.now() < until {
                let answer = self.host.read(self.answer, ANSWER)?;
                let (head, tail) = (&answer[..MARK], &answer[MARK + MISSING..]);
                if head == tail && round_of(head.try_into()?) == round_of(mark(number, round, 0)) {
                    self.host.overhead().await;
                    let lacks = |segment: &usize| answer[MARK + segment / 8] >> (segment % 8) & 1 == 1;
                    return Ok((0..SEGMENTS).filter(lacks).collect());
                }
                self.host.busy(1).await;
            }
        }
        bail!("no answer")
    }
}

/// The receiving host.
#[derive(Clone)]
struct Receiver {
    host: Host,
    parity: bool,
    window: Window,
    buffer: Posted,
    /// The sender's marks.
    mark: u64,
    /// Answers that leave.
    answering: u64,
}

impl Receiver {
    /// Takes a message, and answers until its sender needs no answer.
    async fn take(&self, number: usize, map: ReceiveMap, over: &Cell<Option<u64>>) -> Result<()> {
        let last = if self.parity { ALL } else { SEGMENTS };
        let mut missing: BTreeSet<usize> = (0..last).collect();
        // A mark of the message says that its segments are here, or come now.
        while self.seen()? >> 32 != number as u64 + 1 {
            self.host.busy(1).await;
        }
        self.host.overhead().await;
        self.host.busy(FIRST).await;
        let (mut answered, mut word) = (mark(number, 0, 0), 0);
        while over.get().is_none() {
            let seen = self.seen()?.to_le_bytes();
            if seen == answered {
                // While segments come, the map is read after them.
                if round_of(answered) == round_of(mark(number, 0, 0)) && self.follow(&map, &mut missing, word)? {
                    word += 1;
                    continue;
                }
                self.host.busy(POLL).await;
                continue;
            }
            if round_of(seen) != round_of(answered) {
                // Of the words that were followed to their end, nothing has come yet in the first round.
                let from = if round_of(seen) == round_of(mark(number, 1, 0)) { word } else { 0 };
                let words: BTreeSet<usize> = missing.iter().map(|segment| bit(*segment) / 64).collect();
                words
                    .into_iter()
                    .filter(|word| *word >= from)
                    .try_for_each(|word| self.read(&map, &mut missing, word))?;
                self.repair(&mut missing).await?;
            }
            answered = seen;
            let mut answer = [seen.as_slice(), &[0; MISSING], &seen].concat();
            for segment in missing.iter().filter(|segment| **segment < SEGMENTS) {
                answer[MARK + segment / 8] |= 1 << (segment % 8);
            }
            self.host.write(self.answering, &answer)?;
            self.host.put_all(&[(self.answering, ANSWER, window_of(SENDER, ANSWERS, 0)); COPIES]).await?;
        }
        Ok(())
    }

    /// The last mark.
    fn seen(&self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.host.read(self.mark, MARK)?.as_slice().try_into()?))
    }

    /// Reads a word of the map.
    fn read(&self, map: &ReceiveMap, missing: &mut BTreeSet<usize>, word: usize) -> Result<()> {
        let bits = self.host.nic(|nic| nic.read_map_word(map, word))?;
        missing.retain(|segment| bit(*segment) / 64 != word || bits >> (bit(*segment) % 64) & 1 == 0);
        Ok(())
    }

    /// Reads a word of the map, and whether nothing more comes of it: all of it is here, or a segment of the next word, which the wire
    /// brings later.
    fn follow(&self, map: &ReceiveMap, missing: &mut BTreeSet<usize>, word: usize) -> Result<bool> {
        let lacks =
            |missing: &BTreeSet<usize>, word| missing.iter().filter(|segment| bit(**segment) / 64 == word).count();
        if lacks(missing, word) == 0 {
            return Ok(word * 64 <= bit(ALL - 1));
        }
        self.read(map, missing, word)?;
        if lacks(missing, word) == 0 {
            return Ok(true);
        }
        let before = lacks(missing, word + 1);
        if before == 0 {
            return Ok(false);
        }
        self.read(map, missing, word + 1)?;
        if lacks(missing, word + 1) == before {
            return Ok(false);
        }
        self.read(map, missing, word)?;
        Ok(true)
    }

    /// Computes the segments that are alone in missing from their groups.
    async fn repair(&self, missing: &mut BTreeSet<usize>) -> Result<()> {
        for group in (0..GROUPS).filter(|_| self.parity) {
            let parity = SEGMENTS + group;
            let mut lost = members(group).filter(|segment| missing.contains(segment));
            let (Some(segment), None) = (lost.next(), lost.next()) else { continue };
            if missing.contains(&parity) {
                continue;
            }
            self.host.work(Work::Xor, GROUP * SEGMENT_BYTES).await;
            let memory = self.host.read(self.buffer.buffer, ALL * SEGMENT_BYTES)?;
            let others = members(group).filter(|other| *other != segment);
            let bytes = xor(&memory, others.chain([parity]));
            let range = place(segment);
            self.host.write(self.buffer.buffer + range.start as u64, &bytes[..range.len()])?;
            missing.remove(&segment);
        }
        Ok(())
    }
}
