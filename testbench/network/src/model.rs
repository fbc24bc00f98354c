//! A calibrated model of a NIC with its host: the times of a Verilated NIC, by the parameters of `calibration.json`, without the NIC.
//!
//! | part | what it does |
//! |---|---|
//! | host | hands messages over one after another, and sees records in the cycle of their visibility, unless it hands over just then |
//! | command queue | puts wait in their order, any number of them |
//! | sender | a put or an acknowledgement at a time; at most 64 puts and, to a node, 1,024 frames that are not acknowledged |
//! | link | one output for frames of puts, of 1,408 bytes of payload at most, and for acknowledgements; a beat a cycle |
//! | receiver | one input, a beat a cycle; a record when all frames of a message have come, after a time that depends on the last one |
//! | responder | one acknowledgement at a time; one for all that a node has sent and that is placed by then |
//!
//! Absent: loss. No frame is sent again, so a run in which a frame is lost does not end. Not modelled either: refusals, tables that are
//! full, gets, handlers.

use crate::endpoint::{Endpoint, Frame, Log, Port, Report, VALUES};
use crate::motif::{Motif, Post};
use crate::programs::ACK_EVERY;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use spindle_contract::params::{BEAT_BYTES, SEGMENT_BYTES};
use spindle_contract::wire::{HEADER_BYTES, PSN_WINDOW};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;

/// Puts that the sender has under way at most (docs/transport.md).
const MOST_PUTS: usize = 64;
/// Frames that lie between the sender and the link at most (docs/transport.md).
const BETWEEN: usize = 36;
/// Bytes of a model's own header, at the begin of a frame's bytes.
const OWN: usize = 20;
/// A segment of a put.
const SEGMENT: u32 = 0;
/// The last segment of a put, which is acknowledged.
const LAST: u32 = 1;
/// An acknowledgement.
const ACK: u32 = 2;
/// Bytes of an acknowledgement on the wire.
pub const ACK_BYTES: u32 = HEADER_BYTES as u32;

/// Cycles as a line over bytes or frames, and how far the worst measured point is from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Cycles of no bytes.
    pub base: f64,
    /// Cycles of a byte or of a frame.
    pub each: f64,
    /// Cycles between the line and the point that is farthest from it.
    pub worst: f64,
}

impl Line {
    /// The line through points of bytes and cycles with the least squares; one that does not rise if all have the same bytes.
    pub fn fit(points: &[(f64, f64)]) -> Line {
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len().max(1) as f64;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
        let each = if spread > 0.0 { both / spread } else { 0.0 };
        let base = y - each * x;
        let worst = points.iter().map(|point| (base + each * point.0 - point.1).abs()).fold(0.0, f64::max);
        // A thousandth is far below a cycle; of a byte there are thousands.
        let round = |value: f64, parts: f64| (value * parts).round() / parts;
        Line { base: round(base, 1e3), each: round(each, 1e6), worst: round(worst, 1e3) }
    }

    /// The cycles of so many bytes or frames.
    pub fn at(&self, bytes: u32) -> f64 {
        (self.base + self.each * f64::from(bytes)).max(0.0)
    }
}

/// A line for messages of one frame, and one for longer messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lines {
    /// Messages of one frame.
    pub one: Line,
    /// Longer ones.
    pub many: Line,
}

impl Lines {
    fn of(&self, message: u32) -> Line {
        if message as usize <= SEGMENT_BYTES {
            self.one
        } else {
            self.many
        }
    }
}

/// The times of a way to hand a message over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostTimes {
    /// Cycles that the host is busy with a call.
    pub host: f64,
    /// From the begin of the call to the last beat of the first frame, over the bytes of the message.
    pub first: Lines,
}

/// What was measured of a NIC, in its cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Commit at which it was measured.
    pub commit: String,
    /// Cycles until host memory answers.
    pub host_latency: u64,
    /// A put by the doorbell.
    pub doorbell: PostTimes,
    /// Puts by the command ring.
    pub ring: PostTimes,
    /// From put to put in the sender.
    pub put_gap: f64,
    /// From last beat to last beat of frames that follow each other without a pause, over the payload of the later one.
    pub segment_gap: Line,
    /// From the first beat of a message's last frame to the cycle in which the host sees the record, over the payload of that frame.
    pub record: Lines,
    /// From the first beat of a put's last frame to the last beat of its acknowledgement, over the payload of that frame.
    pub ack: Lines,
    /// From last beat to last beat of acknowledgements.
    pub ack_gap: f64,
    /// Of the sender for an acknowledgement, over the puts of one frame that it ends.
    pub ack_cost: Line,
    /// From the first beat of an acknowledgement to the last beat of a frame that has waited for it, without the cost of the
    /// acknowledgement and the gap of the put.
    pub restart: f64,
}

impl Parameters {
    fn post(&self, post: Post) -> &PostTimes {
        match post {
            Post::Doorbell => &self.doorbell,
            Post::Ring => &self.ring,
        }
    }
}

/// The measured NICs, by the name of their configuration.
pub type Calibration = BTreeMap<String, Parameters>;

/// The calibration of this source.
///
/// # Errors
/// The file is no calibration.
pub fn calibration() -> Result<Calibration> {
    serde_json::from_str(include_str!("../calibration.json")).context("calibration.json is no calibration")
}

/// The parameters of a configuration.
///
/// # Errors
/// It has not been measured.
pub fn parameters(config: &str) -> Result<Parameters> {
    let found = calibration()?.remove(config);
    found.with_context(|| {
        format!(
            "configuration `{config}` is not in calibration.json; measure it with `spindle report --only scale.calibration --config \
             {config} --calibration testbench/network/calibration.json`"
        )
    })
}

/// A put in the command queue.
#[derive(Clone, Copy)]
struct Put {
    to: u32,
    number: u32,
    bytes: u32,
    /// Bytes that have left.
    left: u32,
    /// Cycle of the last beat of its first frame, if nothing holds it up.
    first: u64,
}

/// A frame of a put that waits for the link.
struct Segment {
    to: u32,
    /// Payload.
    bytes: u32,
    /// The earliest cycle of the last beat.
    ready: u64,
    words: [u32; OWN / 4],
}

/// What the sender has on its way to a node.
#[derive(Default)]
struct Window {
    sent: u32,
    acknowledged: u32,
    /// Numbers of frames with which puts end.
    ends: VecDeque<u32>,
}

/// What has come from a node.
#[derive(Default)]
struct Source {
    /// Frames that have been acknowledged.
    acknowledged: u32,
    /// Frames that have not: the cycle from which on an acknowledgement may cover each, and whether it wants one.
    pending: VecDeque<(u64, bool)>,
    /// An acknowledgement is due.
    queued: bool,
    /// Bytes of messages that are not complete, by number.
    messages: BTreeMap<u32, u32>,
}

/// The model of a node.
pub struct Model {
    node: u32,
    motif: Arc<Motif>,
    parameters: Arc<Parameters>,
    start: u64,
    expected: usize,
    port: Port,
    log: Log,
    // The host.
    host_free: u64,
    next: usize,
    visible: BinaryHeap<Reverse<u64>>,
    came: usize,
    last_record: u64,
    // The sender.
    puts: VecDeque<Put>,
    under_way: usize,
    windows: BTreeMap<u32, Window>,
    /// When the sender is free, as the cycle of the last beat of a frame that it then begins.
    sender_free: f64,
    /// Frames between sender and link.
    between: VecDeque<Segment>,
    /// Last beat of the last frame of a put.
    data_last: Option<u64>,
    /// The first put waits for an acknowledgement.
    held: bool,
    /// Cycle from which on the link is free.
    link_free: u64,
    // The receiver.
    sources: BTreeMap<u32, Source>,
    /// Cycle from which on the next beat of a frame can enter.
    port_free: u64,
    /// Acknowledgements that are due: the cycle of the last beat if nothing holds it up, and the node.
    due: BTreeSet<(u64, u32)>,
    ack_last: Option<u64>,
}

fn beats(length: u32) -> u64 {
    u64::from(length).div_ceil(BEAT_BYTES as u64)
}

impl Model {
    /// The model of a node.
    pub fn new(node: u32, motif: Arc<Motif>, parameters: Arc<Parameters>) -> Self {
        let (start, expected) = (motif.start, motif.expected(node as usize).len());
        Model {
            node,
            motif,
            parameters,
            start,
            expected,
            port: Port::default(),
            log: Log::default(),
            host_free: start,
            next: 0,
            visible: BinaryHeap::new(),
            came: 0,
            last_record: 0,
            puts: VecDeque::new(),
            under_way: 0,
            windows: BTreeMap::new(),
            sender_free: 0.0,
            between: VecDeque::new(),
            data_last: None,
            held: false,
            link_free: 0,
            sources: BTreeMap::new(),
            port_free: 0,
            due: BTreeSet::new(),
            ack_last: None,
        }
    }

    fn sends(&self) -> &[crate::motif::Send] {
        &self.motif.sends[self.node as usize]
    }

    /// The next cycle in which the host does something: it hands a message over, or sees a record.
    fn host_next(&self) -> u64 {
        let record = self.visible.peek().map_or(u64::MAX, |Reverse(cycle)| *cycle);
        let send = self.sends().get(self.next).filter(|send| send.after as usize <= self.came);
        let send = send.map_or(u64::MAX, |send| self.start + send.at);
        match record.min(send) {
            u64::MAX => u64::MAX,
            cycle => cycle.max(self.host_free),
        }
    }

    fn host(&mut self, now: u64) {
        while self.visible.peek().is_some_and(|Reverse(cycle)| *cycle <= now) {
            self.visible.pop();
            self.came += 1;
            self.last_record = now;
        }
        let (post, first) = (self.motif.post, self.next);
        let times = *self.parameters.post(post);
        while let Some(send) = self.sends().get(self.next).copied() {
            let ready = send.after as usize <= self.came && now >= self.start + send.at;
            if !ready || (post == Post::Doorbell && self.next > first) {
                break;
            }
            let first = now + times.first.of(send.bytes).at(send.bytes).round() as u64;
            self.puts.push_back(Put { to: send.to, number: self.next as u32, bytes: send.bytes, left: 0, first });
            self.next += 1;
        }
        if self.next > first {
            self.host_free = now + times.host.round() as u64;
        }
    }

    /// Bytes of the next frame of the first put, and whether it is the last one.
    fn segment(put: &Put) -> (u32, bool) {
        let rest = put.bytes - put.left;
        let bytes = rest.min(SEGMENT_BYTES as u32);
        (bytes, bytes == rest)
    }

    /// When the sender is through with the first put's first frame, as the cycle of the frame's last beat if the link is free.
    fn through(&self, put: &Put) -> f64 {
        (self.sender_free + self.parameters.put_gap).max(put.first as f64)
    }

    /// The next cycle in which the sender takes a frame of a put, if no acknowledgement comes before.
    fn sender_next(&self) -> u64 {
        let full = self.between.len() == BETWEEN;
        let Some(put) = self.puts.front().filter(|_| !self.held && !full) else { return u64::MAX };
        // The frames of one put follow each other faster than the link takes them.
        let first = put.left == 0;
        if first {
            (self.through(put) - self.parameters.restart).round() as u64
        } else {
            0
        }
    }

    fn sender(&mut self, now: u64) {
        let Some(put) = self.puts.front().copied() else { return };
        let window = self.windows.entry(put.to).or_default();
        let open = window.sent - window.acknowledged < PSN_WINDOW as u32;
        if !open || (put.left == 0 && self.under_way == MOST_PUTS) {
            self.held = true;
            return;
        }
        let (bytes, last) = Self::segment(&put);
        window.sent += 1;
        if last {
            window.ends.push_back(window.sent);
        }
        let mut ready = 0;
        if put.left == 0 {
            self.under_way += 1;
            self.sender_free = self.through(&put).max(now as f64 + self.parameters.restart);
            ready = self.sender_free.round() as u64;
        }
        let kind = if last { LAST } else { SEGMENT };
        let words = [self.node, kind, put.number, bytes, put.bytes];
        self.between.push_back(Segment { to: put.to, bytes, ready, words });
        match last {
            true => drop(self.puts.pop_front()),
            false => self.puts[0].left += bytes,
        }
    }

    /// Cycle of the first beat of the next frame of a put on the link.
    fn link_next(&self) -> u64 {
        let Some(Segment { bytes, ready, .. }) = self.between.front() else { return u64::MAX };
        let last = self.data_last.map_or(0, |last| last + self.parameters.segment_gap.at(*bytes).round() as u64);
        last.max(*ready).saturating_sub(beats(HEADER_BYTES as u32 + bytes) - 1)
    }

    fn link(&mut self, now: u64) {
        let Some(Segment { to, bytes, words, .. }) = self.between.pop_front() else { return };
        self.data_last = Some(self.leave(now, to, HEADER_BYTES as u32 + bytes, words));
    }

    /// A frame on the link: the cycle of its last beat.
    fn leave(&mut self, now: u64, to: u32, length: u32, words: [u32; OWN / 4]) -> u64 {
        let last = now.max(self.link_free) + beats(length) - 1;
        self.link_free = last + 1;
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let flow = self.node ^ to << 16;
        self.port.send(Frame { cycle: last, peer: Some(to), flow, length, bytes, marked: false, hops: 0 });
        last
    }

    /// Cycle of the first beat of the next acknowledgement.
    fn ack_next(&self) -> u64 {
        let Some((due, _)) = self.due.first() else { return u64::MAX };
        let paced = self.ack_last.map_or(0, |last| last + self.parameters.ack_gap.round() as u64);
        (*due).max(paced).saturating_sub(beats(ACK_BYTES) - 1)
    }

    fn ack(&mut self, now: u64) {
        let Some((_, to)) = self.due.pop_first() else { return };
        let source = self.sources.entry(to).or_default();
        let covers = now + beats(ACK_BYTES) - 1;
        while source.pending.front().is_some_and(|(from, _)| *from <= covers) {
            source.pending.pop_front();
            source.acknowledged += 1;
        }
        source.queued = false;
        let words = [self.node, ACK, source.acknowledged, 0, 0];
        self.ack_last = Some(self.leave(now, to, ACK_BYTES, words));
        self.want_ack(to);
    }

    /// Has an acknowledgement sent to a node if one is wanted.
    fn want_ack(&mut self, to: u32) {
        let source = self.sources.entry(to).or_default();
        let wanted =
            source.pending.iter().enumerate().find(|(i, (_, wants))| *wants || i + 1 == usize::from(ACK_EVERY));
        if let (Some((_, (at, _))), false) = (wanted, source.queued) {
            source.queued = true;
            self.due.insert((*at, to));
        }
    }

    fn receive(&mut self, frame: &Frame) {
        self.log.add(frame);
        // Its beats enter after those of the frame before it.
        let cycle = frame.cycle.max(self.port_free);
        self.port_free = cycle + beats(frame.length);
        let (words, _) = frame.bytes.as_chunks::<4>();
        let Ok([from, kind, number, bytes, message]) = <[[u8; 4]; OWN / 4]>::try_from(words) else { return };
        let [from, kind, number, bytes, message] = [from, kind, number, bytes, message].map(u32::from_le_bytes);
        if kind == ACK {
            let window = self.windows.entry(from).or_default();
            let frames = number.saturating_sub(window.acknowledged);
            window.acknowledged = window.acknowledged.max(number);
            while window.ends.front().is_some_and(|end| *end <= window.acknowledged) {
                window.ends.pop_front();
                self.under_way -= 1;
            }
            let begins = self.sender_free.max(cycle as f64 + self.parameters.restart);
            self.sender_free = begins + self.parameters.ack_cost.at(frames);
            self.held = false;
            return;
        }
        let source = self.sources.entry(from).or_default();
        let got = source.messages.entry(number).or_default();
        *got += bytes;
        let covered = cycle + self.parameters.ack.of(message).at(bytes).round() as u64;
        source.pending.push_back((covered, kind == LAST));
        if *got == message {
            source.messages.remove(&number);
            let visible = cycle + self.parameters.record.of(message).at(bytes).round() as u64;
            self.visible.push(Reverse(visible));
        }
        self.want_ack(from);
    }

    /// The next cycle in which it does something.
    fn next(&self) -> u64 {
        let comes = self.port.comes();
        comes.min(self.host_next()).min(self.sender_next()).min(self.ack_next()).min(self.link_next())
    }
}

impl Endpoint for Model {
    fn step(&mut self, until: u64) -> Result<u64> {
        loop {
            let at = self.next().max(self.port.cycle);
            if at >= until {
                break;
            }
            self.port.cycle = at;
            while let Some(frame) = self.port.due(at) {
                self.receive(&frame);
            }
            if self.host_next() <= at {
                self.host(at);
            }
            if self.ack_next() <= at {
                self.ack(at);
            }
            if self.sender_next() <= at {
                self.sender(at);
            }
            if self.link_next() <= at {
                self.link(at);
            }
        }
        let next = self.next();
        Ok(self.port.end(until, next))
    }

    fn inject(&mut self, frame: Frame) -> Result<()> {
        self.port.inject(frame)
    }

    fn take(&mut self) -> Option<Frame> {
        self.port.take()
    }

    fn report(&self) -> Report {
        let all = self.came == self.expected && self.next == self.sends().len();
        let mut values = [0; VALUES];
        values[..2].copy_from_slice(&[self.came as u64, self.last_record]);
        self.log.report(all.then_some(self.host_free.max(self.last_record)), values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_its_points() {
        let line = Line::fit(&[(0.0, 10.0), (100.0, 12.0), (200.0, 14.0)]);
        assert_eq!(line, Line { base: 10.0, each: 0.02, worst: 0.0 });
        assert_eq!(line.at(50), 11.0);
        let line = Line::fit(&[(8.0, 3.0), (8.0, 5.0)]);
        assert_eq!(line, Line { base: 4.0, each: 0.0, worst: 1.0 });
    }

    #[test]
    fn an_unknown_configuration_is_refused_with_the_command_that_measures_it() {
        let words = format!("{:#}", parameters("none").unwrap_err());
        assert!(words.contains("spindle report --only scale.calibration --config none"), "{words}");
    }
}
