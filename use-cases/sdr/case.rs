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
use spindle_contract::params::{Config, SEGMENT_BYTES};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
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
/// Bytes of a message: with parity as many granules as a map has.
const BYTES: usize = 896 << 10;
/// The same where tests run, on configuration `sim`.
const SMALL: usize = 192 << 10;
/// Windows: the message, the sender's marks, the receiver's answers.
const DATA: u64 = 0x300;
const MARKS: u64 = 0x301;
const ANSWERS: u64 = 0x302;
/// A mark is sent before and after a message, an answer for each mark after it; each leaves so many times.
const COPIES: usize = 3;
const MARK: usize = 8;
/// The shares that are lost, with the endings of their values.
const LOSSES: [(f64, [&str; 5]); 2] = [
    (1e-3, ["completion_1e3", "worst_1e3", "time_1e3_ns", "lost_1e3", "again_1e3"]),
    (1e-2, ["completion_1e2", "worst_1e2", "time_1e2_ns", "lost_1e2", "again_1e2"]),
];
/// Seed of the wire: the first with which a single message at 0.001 loses a segment in each mode, so that a run without losses is none.
const SEED: u64 = 2;
const QUIET: u64 = 1000;
/// Cycles between two readings of the map: segments of a word come in 1100.
const POLL: u64 = 600;
/// Cycles of a full segment on the wire.
const SEGMENT_CYCLES: f64 = 24.0;

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
        10 => Ok(("long-0.01ms", 3)),
        100 => Ok(("long-0.1ms", 3)),
        1000 => Ok(("long-1ms", 1)),
        _ => bail!("there is no wire of {point} µs"),
    }
}

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let small = setting.small();
    let shape = Shape { bytes: if small { SMALL } else { BYTES }, group: 8, granule: 1024 };
    let (wire, messages) = wire(point)?;
    // No handler runs, and NICs with fewer processors go on in half the time.
    let setting = Setting { wire: wire.into(), seed: SEED, ..setting.on(Config::SIM.name)? };
    let messages = if small { 1 } else { messages };
    let losses = match (small, mode) {
        // A message of this size hardly loses anything at the smaller share.
        (true, _) => 1..2,
        // Over the longest wire each timeout is a quarter of a million cycles, and the greater share takes several.
        (_, "retransmit") if point == 1000 => 0..1,
        _ => 0..2,
    };
    let mut transfer = Transfer::new(setting, mode, shape)?;
    let mut values = Vec::new();
    for (loss, names) in &LOSSES[losses] {
        let (lost, again) = (transfer.bench.lost(), transfer.again()?);
        transfer.bench.lose(*loss);
        let times: Vec<u64> = (0..messages).map(|_| transfer.message()).collect::<Result<_>>()?;
        let (lost, again) = (transfer.bench.lost() - lost, transfer.again()? - again);
        ensure!(lost > 0, "the wire has lost nothing at {loss}; choose another seed");
        ensure!(mode == "retransmit" || again <= lost, "{again} segments were asked for, {lost} frames were lost");
        let mean = times.iter().sum::<u64>() as f64 / messages as f64;
        let worst = times.into_iter().max().unwrap_or(0) as f64;
        // What cannot be passed: the bytes are on the wire, and who knows of the end is a round trip away.
        let ideal = transfer.round_trip as f64 + shape.cycles();
        let measured = [mean / ideal, worst / ideal, transfer.bench.setting().ns(mean), lost as f64, again as f64];
        values.extend(names.iter().copied().zip(measured));
    }
    Measured::new(&transfer.bench, values)
}

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

/// How a message is cut. Parity lies after it, a segment for each group.
#[derive(Clone, Copy)]
struct Shape {
    /// Bytes of the message.
    bytes: usize,
    /// Segments that a segment of parity is for.
    group: usize,
    /// Bytes of a bit of the map: no more than a segment, so that each segment has its own.
    granule: usize,
}

impl Shape {
    fn segments(self) -> usize {
        self.bytes.div_ceil(SEGMENT_BYTES)
    }

    fn groups(self) -> usize {
        self.segments().div_ceil(self.group)
    }

    /// Segments with parity.
    fn all(self) -> usize {
        self.segments() + self.groups()
    }

    /// Cycles of the message on the wire.
    fn cycles(self) -> f64 {
        self.bytes as f64 / SEGMENT_BYTES as f64 * SEGMENT_CYCLES
    }

    /// Bytes of a segment of the message or of parity.
    fn place(self, segment: usize) -> Range<usize> {
        let end = if segment < self.segments() { self.bytes } else { usize::MAX };
        segment * SEGMENT_BYTES..((segment + 1) * SEGMENT_BYTES).min(end)
    }

    /// The segments of a group.
    fn members(self, group: usize) -> Range<usize> {
        group * self.group..((group + 1) * self.group).min(self.segments())
    }

    /// The bit of a segment in the map.
    fn bit(self, segment: usize) -> usize {
        segment * SEGMENT_BYTES / self.granule
    }

    /// The word of a segment in the map.
    fn word(self, segment: usize) -> usize {
        self.bit(segment) / 64
    }

    /// Words of the map that can be read while segments come: a bit of the next word says that no more comes of one. The last word with
    /// segments of the message may have bits of parity, which come early.
    fn followed(self) -> usize {
        self.word(self.segments() - 1).saturating_sub(1)
    }

    /// Bytes of an answer's bits, one for each segment that is missing.
    fn missing(self) -> usize {
        self.segments().div_ceil(8).next_multiple_of(8)
    }

    /// Bytes of an answer: the mark, the bits, the mark again, since bytes of a packet become visible in their order.
    fn answer(self) -> usize {
        MARK + self.missing() + MARK
    }
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
struct Transfer {
    bench: Bench,
    shape: Shape,
    /// Cycles of the wire, to and fro.
    round_trip: u64,
    /// Messages so far.
    messages: usize,
    kind: Kind,
}

enum Kind {
    /// The NIC sends again.
    Reliable { from: u64, landing: Landing, ring: Option<EventRing> },
    /// Hosts do.
    Mapped { sender: Sender, receiver: Receiver },
}

impl Transfer {
    fn new(setting: Setting, mode: &str, shape: Shape) -> Result<Self> {
        let round_trip = 2 * setting.wire_cycles()?;
        // Without an answer, the end of the segments is marked again.
        let patience = round_trip + shape.cycles() as u64 + 4_000;
        let bench = Setting { patience: 40 * patience, ..setting }.bench(2)?;
        let (from, to) = (bench.host(SENDER), bench.host(RECEIVER));
        let memory = from.alloc(shape.all() * SEGMENT_BYTES)?;
        let kind = if mode == "retransmit" {
            // A hole is a loss on this wire; what was sent again is not missing before its acknowledgement can be here.
            let hole_time = (round_trip / 64).min(32_767) as u16;
            let timeout = (patience / 64).min(4095) as u16;
            let reliability = Reliability { timeout, hole_time, retries: 15, incarnation: 0 };
            from.nic(|nic| nic.set_reliability(Some(reliability)))?;
            let ring = Some(from.nic(|nic| nic.open_ring(PROCESS, 64))?);
            Kind::Reliable { from: memory, landing: Landing::new(&to, DATA, shape.bytes)?, ring }
        } else {
            for host in [&from, &to] {
                host.nic(|nic| nic.set_reliability(None))?;
            }
            let parity = mode == "parity";
            let (answer, mark) = (from.alloc(shape.answer())?, to.alloc(MARK)?);
            from.endless_window(ANSWERS, answer, shape.answer())?;
            to.endless_window(MARKS, mark, MARK)?;
            let size = shape.all() * SEGMENT_BYTES;
            let buffer = Posted { buffer: to.alloc(size)?, size: size as u32, record: to.alloc(64)? };
            let (threshold, counting) = (u32::MAX, Counting::Operations);
            let options = WindowOptions { address: DATA, key: KEY, threshold, counting, ..WindowOptions::default() };
            let window = to.nic(|nic| nic.open_window(PROCESS, &options))?;
            let (leaving, answering) = (from.alloc(COPIES * MARK)?, to.alloc(shape.answer())?);
            let again = Rc::new(Cell::new(0));
            Kind::Mapped {
                sender: Sender { host: from, shape, parity, memory, leaving, answer, patience, again },
                receiver: Receiver { host: to, shape, parity, window, buffer, mark, answering },
            }
        };
        bench.hosts().iter().try_for_each(Host::listen)?;
        Ok(Transfer { bench, shape, round_trip, messages: 0, kind })
    }

    /// Segments that were sent again so far.
    fn again(&self) -> Result<u64> {
        match &self.kind {
            Kind::Reliable { .. } => Ok(u64::from(self.bench.host(SENDER).nic(|nic| nic.segments_resent())?)),
            Kind::Mapped { sender, .. } => Ok(sender.again.get()),
        }
    }

    /// Cycles from the first put of a message until its sender knows that the receiver has all. Compares it.
    fn message(&mut self) -> Result<u64> {
        let number = self.messages;
        self.messages += 1;
        let bytes = self.shape.bytes;
        let data = model::message(number, bytes);
        let end = Rc::new(Cell::new(None));
        let (seen, to) = (end.clone(), self.bench.host(RECEIVER));
        let buffer = match &self.kind {
            Kind::Reliable { landing, .. } => landing.posted.buffer,
            Kind::Mapped { receiver, .. } => receiver.buffer.buffer,
        };
        to.write(buffer, &vec![0; bytes])?;
        match &mut self.kind {
            Kind::Reliable { from, landing, ring } => {
                landing.post(&to)?;
                let (host, from) = (self.bench.host(SENDER), *from);
                host.write(from, &data)?;
                let mut events = ring.take().context("a transfer is under way")?;
                let back = Rc::new(Cell::new(None));
                let (returned, start) = (back.clone(), self.bench.now());
                self.bench.run(vec![Box::pin(async move {
                    host.put(from, bytes, &window_of(RECEIVER, DATA, 0)).await?;
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
                let granule = receiver.shape.granule as u32;
                let map = receiver.host.nic(|nic| nic.post_mapped(receiver.window, receiver.buffer, granule))?;
                let (sender, taker) = (sender.clone(), receiver.clone());
                let over = end.clone();
                let start = self.bench.now();
                self.bench.run(vec![
                    Box::pin(async move {
                        sender.send(number).await?;
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
        self.bench.expect(&format!("message {number}"), &to.read(buffer, bytes)?, &data)?;
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
    shape: Shape,
    parity: bool,
    /// The message, and its parity.
    memory: u64,
    /// Marks that leave: that before the message, then those after its segments in turn.
    leaving: u64,
    /// Answers of the receiver.
    answer: u64,
    /// Cycles without an answer after which the end of the segments is marked again.
    patience: u64,
    /// Segments that were sent again.
    again: Rc<Cell<u64>>,
}

impl Sender {
    async fn send(&self, number: usize) -> Result<()> {
        self.mark(mark(number, 0, 0), 0).await?;
        self.first().await?;
        for round in 1.. {
            let missing = self.answered(number, round).await?;
            if missing.is_empty() {
                break;
            }
            self.again.set(self.again.get() + missing.len() as u64);
            let puts: Vec<_> = missing.into_iter().map(|segment| self.segment(segment)).collect();
            self.host.put_all(&puts).await?;
        }
        Ok(())
    }

    /// The message for the first time.
    async fn first(&self) -> Result<()> {
        let shape = self.shape;
        if !self.parity {
            return self.host.put(self.memory, shape.bytes, &window_of(RECEIVER, DATA, 0)).await;
        }
        let memory = self.host.read(self.memory, shape.segments() * SEGMENT_BYTES)?;
        self.host.put_all(&[self.group(0)]).await?;
        for group in 0..shape.groups() {
            // The parity of a group is computed while its segments leave.
            let members = shape.members(group);
            self.host.work(Work::Xor, members.len() * SEGMENT_BYTES).await;
            let at = shape.segments() + group;
            self.host.write(self.memory + shape.place(at).start as u64, &xor(&memory, members))?;
            let next = (group + 1 < shape.groups()).then(|| self.group(group + 1));
            let puts: Vec<_> = std::iter::once(self.segment(at)).chain(next).collect();
            self.host.put_all(&puts).await?;
        }
        Ok(())
    }

    fn segment(&self, segment: usize) -> (u64, usize, Target) {
        self.range(self.shape.place(segment))
    }

    fn group(&self, group: usize) -> (u64, usize, Target) {
        let members = self.shape.members(group);
        self.range(self.shape.place(members.start).start..self.shape.place(members.end - 1).end)
    }

    fn range(&self, bytes: Range<usize>) -> (u64, usize, Target) {
        (self.memory + bytes.start as u64, bytes.len(), window_of(RECEIVER, DATA, bytes.start))
    }

    /// Sends a mark; marks may be under way together if their places differ.
    async fn mark(&self, mark: [u8; MARK], at: usize) -> Result<()> {
        let from = self.leaving + (at * MARK) as u64;
        self.host.write(from, &mark)?;
        self.host.put_all(&[(from, MARK, window_of(RECEIVER, MARKS, 0)); COPIES]).await
    }

    /// Marks the end of the segments of a round until the receiver says what it lacks.
    async fn answered(&self, number: usize, round: usize) -> Result<Vec<usize>> {
        for again in 0.. {
            self.mark(mark(number, round, again), 1 + again % 2).await?;
            let until = self.host.now() + self.patience;
            while self.host.now() < until {
                let answer = self.host.read(self.answer, self.shape.answer())?;
                let (head, tail) = (&answer[..MARK], &answer[self.shape.answer() - MARK..]);
                if head == tail && round_of(head.try_into()?) == round_of(mark(number, round, 0)) {
                    self.host.overhead().await;
                    let lacks = |segment: &usize| answer[MARK + segment / 8] >> (segment % 8) & 1 == 1;
                    return Ok((0..self.shape.segments()).filter(lacks).collect());
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
    shape: Shape,
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
        let shape = self.shape;
        let last = if self.parity { shape.all() } else { shape.segments() };
        let mut missing: BTreeSet<usize> = (0..last).collect();
        // A mark of the message says that its segments are here, or come now.
        while self.seen()? >> 32 != number as u64 + 1 {
            self.host.busy(1).await;
        }
        self.host.overhead().await;
        // Most of the message comes before the first word is read: over the shortest wire its sender would be stopped meanwhile.
        self.host.busy((shape.cycles() * 5.0 / 8.0) as u64).await;
        let (mut answered, mut word) = (mark(number, 0, 0), 0);
        while over.get().is_none() {
            let seen = self.seen()?.to_le_bytes();
            if seen == answered {
                // While segments come, the map is read after them.
                let first = round_of(answered) == round_of(mark(number, 0, 0));
                if first && word < shape.followed() && self.follow(&map, &mut missing, word)? {
                    word += 1;
                    continue;
                }
                self.host.busy(POLL).await;
                continue;
            }
            if round_of(seen) != round_of(answered) {
                // Of the words that were followed to their end, nothing has come yet in the first round.
                let from = if round_of(seen) == round_of(mark(number, 1, 0)) { word } else { 0 };
                let words: BTreeSet<usize> = missing.iter().map(|segment| shape.word(*segment)).collect();
                words.range(from..).try_for_each(|word| self.read(&map, &mut missing, *word))?;
                self.repair(&mut missing).await?;
            }
            answered = seen;
            let mut answer = [seen.as_slice(), &vec![0; shape.missing()], &seen].concat();
            for segment in missing.iter().filter(|segment| **segment < shape.segments()) {
                answer[MARK + segment / 8] |= 1 << (segment % 8);
            }
            self.host.write(self.answering, &answer)?;
            self.host.put_all(&[(self.answering, answer.len(), window_of(SENDER, ANSWERS, 0)); COPIES]).await?;
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
        let shape = self.shape;
        missing.retain(|segment| shape.word(*segment) != word || bits >> (shape.bit(*segment) % 64) & 1 == 0);
        Ok(())
    }

    /// Reads a word of the map, and whether nothing more comes of it: all of it is here, or a segment of the next word, which the wire
    /// brings later.
    fn follow(&self, map: &ReceiveMap, missing: &mut BTreeSet<usize>, word: usize) -> Result<bool> {
        let lacks = |missing: &BTreeSet<usize>, word| {
            missing.iter().filter(|segment| self.shape.word(**segment) == word).count()
        };
        self.read(map, missing, word)?;
        if lacks(missing, word) == 0 {
            return Ok(true);
        }
        let before = lacks(missing, word + 1);
        self.read(map, missing, word + 1)?;
        if lacks(missing, word + 1) == before {
            return Ok(false);
        }
        self.read(map, missing, word)?;
        Ok(true)
    }

    /// Computes the segments that are alone in missing from their groups.
    async fn repair(&self, missing: &mut BTreeSet<usize>) -> Result<()> {
        let shape = self.shape;
        for group in (0..shape.groups()).filter(|_| self.parity) {
            let parity = shape.segments() + group;
            let mut lost = shape.members(group).filter(|segment| missing.contains(segment));
            let (Some(segment), None) = (lost.next(), lost.next()) else { continue };
            if missing.contains(&parity) {
                continue;
            }
            self.host.work(Work::Xor, shape.group * SEGMENT_BYTES).await;
            let memory = self.host.read(self.buffer.buffer, shape.all() * SEGMENT_BYTES)?;
            let others = shape.members(group).filter(|other| *other != segment);
            let bytes = xor(&memory, others.chain([parity]));
            let range = shape.place(segment);
            self.host.write(self.buffer.buffer + range.start as u64, &bytes[..range.len()])?;
            missing.remove(&segment);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { bytes: 96 << 10, group: 8, granule: 1024 };

    type Break = fn(&mut Receiver);

    /// A message over a wire that loses a frame of twenty, with a receiver that was changed.
    fn message(mode: &str, change: impl FnOnce(&mut Receiver)) -> Result<u64> {
        let setting = Setting { wire: "default".into(), ..Setting::new(Config::SIM)? };
        let mut transfer = Transfer::new(setting, mode, SHAPE)?;
        if let Kind::Mapped { receiver, .. } = &mut transfer.kind {
            change(receiver);
        }
        transfer.bench.lose(0.05);
        transfer.message()
    }

    /// What other cases have as broken handlers: here hosts do the work.
    #[test]
    fn the_model_catches_broken_hosts() {
        let broken: [(&str, &str, Break); 2] = [
            ("parity", "groups are others than the sender's", |receiver| receiver.shape.group = 10),
            ("map", "two segments have one bit", |receiver| receiver.shape.granule = 2048),
        ];
        for (mode, what, change) in broken {
            message(mode, |_| ()).unwrap();
            let error = message(mode, change).expect_err(what);
            assert!(format!("{error:#}").contains("message 0: byte"), "{what}: {error:#}");
        }
    }

    #[test]
    fn a_group_repairs_any_of_its_segments() {
        let mut memory = vec![0; SHAPE.all() * SEGMENT_BYTES];
        memory[..SHAPE.bytes].copy_from_slice(&model::message(0, SHAPE.bytes));
        for group in 0..SHAPE.groups() {
            let parity = SHAPE.segments() + group;
            let sum = xor(&memory, SHAPE.members(group));
            memory[SHAPE.place(parity)].copy_from_slice(&sum);
            for lost in SHAPE.members(group) {
                let others = SHAPE.members(group).filter(|segment| *segment != lost);
                let (bytes, place) = (xor(&memory, others.chain([parity])), SHAPE.place(lost));
                assert_eq!(bytes[..place.len()], memory[place], "segment {lost}");
            }
        }
    }
}
