//! A calibrated model of a NIC with its host: the times of a Verilated NIC, by the parameters of `calibration.json`, without the NIC.
//!
//! | part | what it does |
//! |---|---|
//! | host | does its tasks one after another, and sees records in the cycle of their visibility, unless it works just then |
//! | command queue | puts wait in their order, any number of them |
//! | sender | a put or an acknowledgement at a time, at most 64 puts; [windows](crate::transport), and frames that are sent again |
//! | link | one output for frames of puts, of 1,408 bytes of payload at most, and for acknowledgements; a beat a cycle |
//! | receiver | one input, a beat a cycle; a record when all frames of a message have come, some time after the last one |
//! | responder | one acknowledgement at a time; one for all that a node has sent and that is placed by then |
//!
//! Not modelled: refusals, tables that are full, gets. Of handlers there are one that passes messages of one frame on, and one that adds
//! them.

use crate::endpoint::{digest_with, Endpoint, Frame, Log, Port, Report, EMPTY_DIGEST, VALUES};
use crate::motif::{Channel, Motif, Need, Post, Task, VECTORS};
use crate::schedule::Schedule;
use crate::transport::{Ack, Destination, Record, Source, Todo, Transport, SCAN_STEP, UNIT};
use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};
use spindle_contract::params::SEGMENT_BYTES;
use spindle_contract::wire::HEADER_BYTES;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Puts that the sender has under way at most (docs/transport.md).
const MOST_PUTS: usize = 64;
/// Frames that lie between the sender and the link at most (docs/transport.md).
const BETWEEN: usize = 36;
/// Beats of payload between the sender and the link with which the sender takes no further frame: what the NIC's read buffer holds without
/// UltraRAM, 128 beats, and three frames of 22 that stand before the buffer and after it. The age of a lost frame depends on them.
const READ_BEATS: u64 = 128 + 3 * 22;
/// Bytes of a model's own header, at the begin of a frame's bytes.
const OWN: usize = 24;
/// A segment of a put, one that asks for an acknowledgement, as the last one does, an acknowledgement, and a message of one segment that is
/// sent once and never acknowledged; with the channel from bit 8 on, and a bit of segments whose marks are counted.
const SEGMENT: u32 = 0;
const ASKS: u32 = 1;
const ACK: u32 = 2;
const ONCE: u32 = 3;
const CHANNEL: u32 = 8;
const COUNTS_MARKS: u32 = 1 << 16;
/// Cycles of the sender: for an acknowledgement more with congestion windows; for a segment; for a record that is looked at and sent again.
const WINDOW_CYCLES: f64 = 2.0;
const SEGMENT_CYCLES: f64 = 7.0;
const AGAIN_CYCLES: f64 = 5.0;
/// Cycles in which the sender looks at no timer: of an acknowledgement, and more for a record that is looked at, one that is sent again,
/// and a put that ends (docs/transport.md).
const ACK_CYCLES: u64 = 6;
const RECORD_CYCLES: u64 = 2;
const REPEAT_CYCLES: u64 = 3;
const END_CYCLES: u64 = 2;
/// Cycles that an acknowledgement takes from its first beat to the sender; a timer is in the sender.
const INGRESS_CYCLES: f64 = 20.0;
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
    /// The line for messages of this length.
    pub fn of(&self, message: u32) -> Line {
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

/// The times of a handler that passes a message on, on a processor that has run it before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PassOn {
    /// From the frame's first beat to the last beat of the first frame that the handler sends, over the bytes of the message.
    pub first: Line,
    /// From put to put.
    pub gap: f64,
}

/// The times of a handler that adds vectors in one cluster, on processors that have run it before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// From the first beat of the last vector to the last beat of the sum's frame, over their bytes.
    pub first: Line,
    /// From vector to vector that come faster than the cluster adds, over their bytes.
    pub gap: Line,
    /// Vectors for which the cluster has handlers until sums are late.
    pub room: f64,
}

/// What was measured of a NIC, in its cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Commit at which it was measured.
    pub commit: String,
    /// Cycles until host memory answers.
    pub host_latency: u64,
    /// Bytes of a beat of the NIC's stream.
    pub beat_bytes: f64,
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
    /// From the first beat of the acknowledgement that ends a put to the cycle in which the host sees it.
    pub over: f64,
    /// Of the sender for an acknowledgement, over the puts of one frame that it ends.
    pub ack_cost: Line,
    /// From the first beat of an acknowledgement to the last beat of a frame that has waited for it, without the cost of the
    /// acknowledgement and the gap of the put.
    pub restart: f64,
    /// A handler that passes a message of one frame on.
    pub pass_on: PassOn,
    /// A handler that adds messages of one frame.
    pub sum: Sum,
    /// Of the receiver for a message: what it does when it comes and when it is complete.
    pub message_gap: f64,
    /// Messages that the receiver can have before it until their records are late.
    pub message_room: f64,
}

impl Parameters {
    /// The same NIC with a stream of `width` times as many bytes in a cycle. Its cycles stay; this is a projection, not a NIC that exists.
    pub fn widened(&self, width: f64) -> Parameters {
        let line = |line: Line| Line { each: line.each / width, ..line };
        let lines = |lines: Lines| Lines { one: line(lines.one), many: line(lines.many) };
        let times = |times: PostTimes| PostTimes { first: lines(times.first), ..times };
        let Parameters { doorbell, ring, segment_gap, record, ack, beat_bytes, pass_on, sum, .. } = self.clone();
        // A frame without payload, too, is as many beats as its header.
        let segment_gap = Line { base: segment_gap.base / width, ..line(segment_gap) };
        Parameters {
            doorbell: times(doorbell),
            ring: times(ring),
            segment_gap,
            record: lines(record),
            ack: lines(ack),
            beat_bytes: beat_bytes * width,
            pass_on: PassOn { first: line(pass_on.first), ..pass_on },
            sum: Sum { first: line(sum.first), gap: line(sum.gap), ..sum },
            ..self.clone()
        }
    }

    /// Beats of a frame.
    fn beats(&self, length: u32) -> u64 {
        (f64::from(length) / self.beat_bytes).ceil() as u64
    }

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

/// What a host still does. There are millions of them in a large network.
#[derive(Clone, Copy)]
struct Step {
    work: u32,
    put: Option<Message>,
}

/// A message of a step.
#[derive(Clone, Copy)]
struct Message {
    to: u32,
    bytes: u32,
    channel: Channel,
    fence: bool,
}

impl Step {
    fn of(task: &Task) -> Step {
        let message = |put: crate::motif::Put| {
            let crate::motif::Put { to, bytes, channel, fence, mailbox: _ } = put;
            Message { to, bytes, channel, fence }
        };
        Step { work: task.work, put: task.put.map(message) }
    }
}

/// Something that a host can see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sight {
    Message(u32, Channel),
    Acked(u32),
}

/// A put in the command queue.
#[derive(Clone, Copy)]
struct Put {
    to: u32,
    /// The task that it belongs to.
    number: u32,
    bytes: u32,
    channel: Channel,
    fence: bool,
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

/// A put that is under way.
#[derive(Default)]
struct Open {
    /// Frames that have left and are not known to have come.
    frames: u32,
    /// All frames have left.
    issued: bool,
}

/// What the sender has on its way to a node.
struct Window {
    destination: Destination,
    /// Cycle in which the NIC finds that the node has not answered in time, if it does not answer before.
    expires: Option<u64>,
}

/// What has come from a node.
#[derive(Default)]
struct Peer {
    numbers: Source,
    /// An acknowledgement is due.
    queued: bool,
    /// Bytes of messages that are not complete, by number.
    messages: BTreeMap<u32, u32>,
    /// Messages that are complete, by channel, where handlers pass messages on.
    complete_messages: BTreeMap<Channel, u32>,
}

/// The window of a node.
fn window<'a>(windows: &'a mut BTreeMap<u32, Window>, node: u32, transport: &Transport) -> &'a mut Window {
    windows.entry(node).or_insert_with(|| Window { destination: Destination::new(transport), expires: None })
}

/// The check of a model's own header.
fn check(bytes: &[u8]) -> [u8; 4] {
    (digest_with(EMPTY_DIGEST, bytes) as u32).to_le_bytes()
}

/// Sequence number of a model's frame; none of an acknowledgement.
pub fn psn(frame: &Frame) -> Option<u32> {
    let (words, _) = frame.bytes.as_chunks::<4>();
    let psn = words.get(OWN / 4 - 1).map(|psn| u32::from_le_bytes(*psn));
    psn.filter(|_| frame.length != ACK_BYTES)
}

/// A message of a node: its sender, its channel, and its number there, from 1 on.
type Name = (u32, Channel, u32);

/// The tasks of handlers that pass messages on, or of those that add them, by each message that they need.
fn handled(tasks: &[Task], adds: bool) -> BTreeMap<Name, Vec<u32>> {
    let mut all: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for (k, task) in tasks.iter().enumerate().filter(|(_, task)| task.handler && task.adds() == adds) {
        for need in &task.needs {
            if let Need::Got { from, channel, messages } = *need {
                all.entry((from, channel, messages)).or_default().push(k as u32);
            }
        }
    }
    all
}

/// How many vectors each task of a handler adds.
fn vectors(tasks: &[Task]) -> BTreeMap<u32, u32> {
    let adds = tasks.iter().enumerate().filter(|(_, task)| task.adds());
    adds.map(|(k, task)| (k as u32, task.needs.len() as u32)).collect()
}

/// The model of a node.
pub struct Model {
    node: u32,
    /// Node of the network that the motif counts as its first one.
    first: u32,
    post: Post,
    parameters: Arc<Parameters>,
    transport: Transport,
    start: u64,
    expected: usize,
    port: Port,
    log: Log,
    // The host.
    host_free: u64,
    steps: Vec<Step>,
    schedule: Schedule,
    /// The task at which the host is at work.
    working: Option<u32>,
    visible: BinaryHeap<Reverse<(u64, Sight)>>,
    /// Messages that handlers pass on, and the tasks of their puts.
    passed_on: BTreeMap<Name, Vec<u32>>,
    /// Vectors that a handler adds, and the task of the sum's put.
    added: BTreeMap<Name, Vec<u32>>,
    /// Vectors that each of these tasks still needs.
    vectors: BTreeMap<u32, u32>,
    /// Cycle in which the handlers are through with all vectors that have come.
    added_until: f64,
    /// Tasks of handlers that have not been done.
    handled: usize,
    came: usize,
    last_record: u64,
    /// Sums that wait for the link.
    sums: VecDeque<Segment>,
    // The sender.
    puts: VecDeque<Put>,
    /// Puts under way, by their tasks.
    under_way: BTreeMap<u32, Open>,
    windows: BTreeMap<u32, Window>,
    /// When the timers of nodes are over.
    timers: BTreeSet<(u64, u32)>,
    /// Cycle in which the sender took the last segment.
    sent_at: u64,
    /// The cycles in which the sender last worked on acknowledgements that followed each other.
    busy: Range<u64>,
    /// Cycles by which the sender looks at timers later, since it had this work.
    slip: u64,
    /// Frames that were sent again, and timeouts.
    repeated: u64,
    timeouts: u64,
    /// When the sender is free, as the cycle of the last beat of a frame that it then begins.
    sender_free: f64,
    /// Frames between sender and link.
    between: VecDeque<Segment>,
    /// Beats of their payload.
    beats_between: u64,
    /// Last beat of the last frame of a put.
    data_last: Option<u64>,
    /// The first put waits for an acknowledgement.
    held: bool,
    /// Cycle from which on the link is free.
    link_free: u64,
    // The receiver.
    sources: BTreeMap<u32, Peer>,
    /// Cycle from which on the next beat of a frame can enter.
    port_free: u64,
    /// Cycle in which the receiver is through with all messages that have come.
    messages_done: f64,
    /// Acknowledgements that are due: the cycle of the last beat if nothing holds it up, and the node.
    due: BTreeSet<(u64, u32)>,
    ack_last: Option<u64>,
}

impl Model {
    /// The model of a node that sends by these rules.
    pub fn new(node: u32, motif: &Motif, parameters: Arc<Parameters>, transport: Transport) -> Self {
        let tasks = motif.tasks(node as usize);
        Model {
            node,
            first: 0,
            post: motif.post,
            parameters,
            transport,
            start: motif.start,
            expected: motif.gets(node as usize),
            port: Port::default(),
            log: Log::default(),
            host_free: motif.start,
            steps: tasks.iter().map(Step::of).collect(),
            schedule: Schedule::new(&tasks),
            working: None,
            visible: BinaryHeap::new(),
            passed_on: handled(&tasks, false),
            added: handled(&tasks, true),
            vectors: vectors(&tasks),
            added_until: 0.0,
            sums: VecDeque::new(),
            handled: tasks.iter().filter(|task| task.handler).count(),
            came: 0,
            last_record: 0,
            puts: VecDeque::new(),
            under_way: BTreeMap::new(),
            windows: BTreeMap::new(),
            timers: BTreeSet::new(),
            busy: 0..0,
            slip: 0,
            sent_at: 0,
            repeated: 0,
            timeouts: 0,
            sender_free: 0.0,
            between: VecDeque::new(),
            beats_between: 0,
            data_last: None,
            held: false,
            link_free: 0,
            sources: BTreeMap::new(),
            port_free: 0,
            messages_done: 0.0,
            due: BTreeSet::new(),
            ack_last: None,
        }
    }

    /// The same in a network in which the motif's first node is this one.
    pub fn after(self, first: u32) -> Self {
        Model { first, ..self }
    }

    /// The next cycle in which the host does something: it hands a message over, ends its work, or sees something.
    fn host_next(&self) -> u64 {
        if self.working.is_some() {
            return self.host_free;
        }
        let sight = self.visible.peek().map_or(u64::MAX, |Reverse((cycle, _))| *cycle);
        let task = self.schedule.next().map_or(u64::MAX, |at| self.start + at);
        match sight.min(task) {
            u64::MAX => u64::MAX,
            cycle => cycle.max(self.host_free),
        }
    }

    /// Takes a task that the host has done: whether it has handed over a put.
    fn done(&mut self, task: u32, now: u64) -> bool {
        let Some(put) = self.steps[task as usize].put else { return false };
        let times = self.parameters.post(self.post);
        let first = now + times.first.of(put.bytes).at(put.bytes).round() as u64;
        self.put(task, put, first);
        true
    }

    fn put(&mut self, task: u32, message: Message, first: u64) {
        let Message { to, bytes, channel, fence } = message;
        self.puts.push_back(Put { to, number: task, bytes, channel, fence, left: 0, first });
    }

    /// A message of a node has come with the frame whose first beat came in this cycle: handlers pass it on, or add it.
    fn handle(&mut self, from: u32, channel: Channel, cycle: u64) {
        let number = self.sources.entry(from).or_default().complete_messages.entry(channel).or_default();
        *number += 1;
        let name = (from, channel, *number);
        let PassOn { first, gap } = self.parameters.pass_on;
        for (k, task) in self.passed_on.remove(&name).into_iter().flatten().enumerate() {
            let Some(put) = self.steps[task as usize].put else { continue };
            self.put(task, put, cycle + (first.at(put.bytes) + gap * k as f64).round() as u64);
            self.handled -= 1;
        }
        let Sum { first, gap, room } = self.parameters.sum;
        for task in self.added.remove(&name).into_iter().flatten() {
            let (Some(put), Some(left)) = (self.steps[task as usize].put, self.vectors.get_mut(&task)) else {
                continue;
            };
            self.added_until = self.added_until.max(cycle as f64) + gap.at(put.bytes);
            *left -= 1;
            if *left > 0 {
                continue;
            }
            self.handled -= 1;
            let late = (self.added_until - cycle as f64 - gap.at(put.bytes) * room).max(0.0);
            let ready = cycle + (first.at(put.bytes) + late).round() as u64;
            let words = [self.node, ONCE | u32::from(put.channel) << CHANNEL, task, put.bytes, put.bytes, 0];
            self.sums.push_back(Segment { to: put.to, bytes: put.bytes, ready, words });
        }
    }

    fn host(&mut self, now: u64) {
        let mut handed = false;
        match self.working.take() {
            Some(task) => handed = self.done(task, now),
            None => {
                while self.visible.peek().is_some_and(|Reverse((cycle, _))| *cycle <= now) {
                    match self.visible.pop() {
                        Some(Reverse((_, Sight::Message(from, channel)))) => {
                            self.schedule.got(from, channel);
                            self.came += 1;
                            self.last_record = now;
                        }
                        Some(Reverse((_, Sight::Acked(task)))) => self.schedule.acked(task),
                        None => {}
                    }
                }
            }
        }
        while !handed || self.post == Post::Ring {
            let Some(task) = self.schedule.first(now - self.start) else { break };
            let work = self.steps[task as usize].work;
            if work > 0 && handed {
                break;
            }
            self.schedule.take(task);
            if work > 0 {
                self.working = Some(task);
                self.host_free = now + u64::from(work);
                return;
            }
            handed |= self.done(task, now);
        }
        if handed {
            self.host_free = now + self.parameters.post(self.post).host.round() as u64;
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
        let full = self.between.len() >= BETWEEN || self.transport.selective && self.beats_between > READ_BEATS;
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
        let transport = &self.transport;
        let destination = &mut window(&mut self.windows, put.to, transport).destination;
        let waits = put.fence && put.left == 0 && destination.under_way() > 0;
        let open = destination.has_room(transport) && !waits;
        if !open || (put.left == 0 && self.under_way.len() == MOST_PUTS) {
            self.held = true;
            return;
        }
        let (bytes, last) = Self::segment(&put);
        let record = Record::new(put.number, put.bytes, bytes, put.channel);
        let begins = self.through(&put).max(now as f64 + self.parameters.restart);
        // The sender takes its cycles for each segment, also while the link is slower.
        let at = if put.left == 0 { self.of_sender(begins) } else { now.max(self.sent_at + SEGMENT_CYCLES as u64) };
        self.sent_at = at;
        let transport = &self.transport;
        let destination = &mut window(&mut self.windows, put.to, transport).destination;
        let (psn, few) = destination.issue(record, at / UNIT, transport);
        let of_put = self.under_way.entry(put.number).or_default();
        of_put.frames += 1;
        of_put.issued = last;
        let mut ready = 0;
        if put.left == 0 {
            self.sender_free = begins;
            ready = self.sender_free.round() as u64;
        } else if self.transport.congestion.is_some() {
            // It may have waited for the window.
            self.sender_free = (self.sender_free + SEGMENT_CYCLES).max(now as f64 + self.parameters.restart);
            ready = self.leaves(bytes);
        }
        self.enter(self.frame(put.to, psn, &record, last || few, ready));
        self.time(put.to);
        match last {
            true => drop(self.puts.pop_front()),
            false => self.puts[0].left += bytes,
        }
    }

    /// Cycle in which the sender does what has a frame's last beat leave in cycle `leaves`.
    fn of_sender(&self, leaves: f64) -> u64 {
        (leaves - self.parameters.restart + INGRESS_CYCLES).max(0.0) as u64
    }

    /// Cycle of the last beat of a frame whose bytes are fetched now.
    fn leaves(&self, bytes: u32) -> u64 {
        (self.sender_free + self.parameters.ring.first.one.each * f64::from(bytes)).round() as u64
    }

    /// A frame of a put for the link.
    fn frame(&self, to: u32, psn: u32, record: &Record, asks: bool, ready: u64) -> Segment {
        let kind = if asks { ASKS } else { SEGMENT } | u32::from(record.channel) << CHANNEL;
        let counts = if self.transport.congestion.is_some() { COUNTS_MARKS } else { 0 };
        let bytes = u32::from(record.bytes);
        let words = [self.node, kind | counts, record.put, bytes, record.message, psn];
        Segment { to, bytes, ready, words }
    }

    /// Puts a frame before the link.
    fn enter(&mut self, segment: Segment) {
        self.beats_between += self.parameters.beats(segment.bytes);
        self.between.push_back(segment);
    }

    /// Sets the timer of a node anew.
    fn time(&mut self, node: u32) {
        let Some(window) = self.windows.get_mut(&node) else { return };
        let expires = window.destination.expires(node, self.slip);
        if expires == window.expires {
            return;
        }
        if let Some(before) = window.expires {
            self.timers.remove(&(before, node));
        }
        if let Some(expires) = expires {
            self.timers.insert((expires, node));
        }
        window.expires = expires;
    }

    /// Puts frames before the link that are sent again.
    fn again(&mut self, to: u32, again: &[(u32, Record)]) {
        self.repeated += again.len() as u64;
        for (psn, record) in again {
            self.sender_free += AGAIN_CYCLES;
            let ready = self.leaves(record.bytes.into());
            self.enter(self.frame(to, *psn, record, true, ready));
        }
    }

    /// A node has not answered in time.
    fn expire(&mut self, now: u64) -> Result<()> {
        let Some((_, to)) = self.timers.first().copied() else { return Ok(()) };
        let Some(window) = self.windows.get_mut(&to) else { return Ok(()) };
        // The sender may have had other work since the timer was set.
        let expires = window.destination.expires(to, self.slip);
        if expires.is_some_and(|cycle| cycle > now) {
            self.time(to);
            return Ok(());
        }
        let Some(Todo { again, .. }) = window.destination.expire(now / UNIT, &self.transport) else {
            bail!(
                "node {} has sent to node {to} again after {} timeouts in a row, and gives it up; give cables less loss, or outputs more \
                 room",
                self.node,
                self.transport.retries
            );
        };
        self.timeouts += 1;
        self.sender_free = self.sender_free.max(now as f64 + self.parameters.restart - INGRESS_CYCLES);
        self.again(to, &again);
        self.time(to);
        Ok(())
    }

    /// Cycle of the first beat of the next frame of a put on the link.
    fn link_next(&self) -> u64 {
        let Some(Segment { bytes, ready, .. }) = self.between.front() else { return u64::MAX };
        let last = self.data_last.map_or(0, |last| last + self.parameters.segment_gap.at(*bytes).round() as u64);
        last.max(*ready).saturating_sub(self.parameters.beats(HEADER_BYTES as u32 + bytes) - 1)
    }

    /// Cycle of the first beat of the next sum on the link.
    fn sum_next(&self) -> u64 {
        let Some(Segment { bytes, ready, .. }) = self.sums.front() else { return u64::MAX };
        ready.saturating_sub(self.parameters.beats(HEADER_BYTES as u32 + bytes) - 1)
    }

    fn sum(&mut self, now: u64) {
        let Some(Segment { to, bytes, words, .. }) = self.sums.pop_front() else { return };
        self.leave(now, to, HEADER_BYTES as u32 + bytes, words);
    }

    fn link(&mut self, now: u64) {
        let Some(Segment { to, bytes, words, .. }) = self.between.pop_front() else { return };
        self.beats_between -= self.parameters.beats(bytes);
        self.data_last = Some(self.leave(now, to, HEADER_BYTES as u32 + bytes, words));
    }

    /// A frame on the link: the cycle of its last beat.
    fn leave(&mut self, now: u64, to: u32, length: u32, words: [u32; OWN / 4]) -> u64 {
        let last = now.max(self.link_free) + self.parameters.beats(length) - 1;
        self.link_free = last + 1;
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        if self.transport.selective {
            bytes.extend(check(&bytes));
        }
        let flow = self.node ^ to << 16;
        self.port.send(Frame { cycle: last, peer: Some(self.first + to), flow, length, bytes, marked: false, hops: 0 });
        last
    }

    /// Cycle of the first beat of the next acknowledgement.
    fn ack_next(&self) -> u64 {
        let Some((due, _)) = self.due.first() else { return u64::MAX };
        let paced = self.ack_last.map_or(0, |last| last + self.parameters.ack_gap.round() as u64);
        (*due).max(paced).saturating_sub(self.parameters.beats(ACK_BYTES) - 1)
    }

    fn ack(&mut self, now: u64) {
        let Some((_, to)) = self.due.pop_first() else { return };
        let peer = self.sources.entry(to).or_default();
        peer.queued = false;
        let Ack { expected, bitmap, marks } = peer.numbers.ack(now + self.parameters.beats(ACK_BYTES) - 1);
        let words = [self.node, ACK, expected, bitmap as u32, (bitmap >> 32) as u32, marks.into()];
        self.ack_last = Some(self.leave(now, to, ACK_BYTES, words));
        self.want_ack(to);
    }

    /// Has an acknowledgement sent to a node if one is wanted.
    fn want_ack(&mut self, to: u32) {
        let peer = self.sources.entry(to).or_default();
        if peer.queued {
            return;
        }
        if let Some(at) = peer.numbers.wants() {
            peer.queued = true;
            self.due.insert((at, to));
        }
    }

    /// An acknowledgement of a node has come, with its first beat in this cycle.
    fn acknowledged(&mut self, from: u32, ack: &Ack, cycle: u64) {
        let begins = self.sender_free.max(cycle as f64 + self.parameters.restart);
        let at = self.of_sender(begins);
        let window = window(&mut self.windows, from, &self.transport);
        let Todo { freed, looked, settled, again } = window.destination.acknowledge(ack, at / UNIT, &self.transport);
        let mut cost = self.parameters.ack_cost.at(freed) + (RECORD_CYCLES * u64::from(looked)) as f64;
        let mut ends = 0;
        for task in settled {
            let Some(put) = self.under_way.get_mut(&task) else { continue };
            put.frames -= 1;
            if put.frames > 0 || !put.issued {
                continue;
            }
            self.under_way.remove(&task);
            ends += 1;
            if self.schedule.waits_for_ack(task) {
                let seen = cycle + self.parameters.over.round() as u64;
                self.visible.push(Reverse((seen, Sight::Acked(task))));
            }
        }
        let records = RECORD_CYCLES * u64::from(freed + looked) + REPEAT_CYCLES * again.len() as u64;
        self.work(at, ACK_CYCLES + records + END_CYCLES * ends);
        if self.transport.congestion.is_some() {
            cost += WINDOW_CYCLES;
        }
        self.sender_free = begins + cost;
        self.again(from, &again);
        self.time(from);
        self.held = false;
    }

    /// The sender works on an acknowledgement that came to it in this cycle. It looks at timers after this one and all that wait by then,
    /// and keeps one look that has become due meanwhile.
    fn work(&mut self, at: u64, cycles: u64) {
        let missed = |busy: &Range<u64>| (busy.end / SCAN_STEP - busy.start / SCAN_STEP).saturating_sub(1);
        if at > self.busy.end {
            self.busy = at..at;
        }
        let before = missed(&self.busy);
        self.busy.end += cycles;
        self.slip += SCAN_STEP * (missed(&self.busy) - before);
    }

    fn receive(&mut self, frame: &Frame) {
        self.log.add(frame);
        // Its beats enter after those of the frame before it.
        let cycle = frame.cycle.max(self.port_free);
        self.port_free = cycle + self.parameters.beats(frame.length);
        let Some((own, rest)) = frame.bytes.split_first_chunk::<OWN>() else { return };
        // A frame that a cable has changed is lost.
        if self.transport.selective && *rest != check(own) {
            return;
        }
        let (words, _) = own.as_chunks::<4>();
        let Ok([from, kind, number, bytes, message, psn]) = <[[u8; 4]; OWN / 4]>::try_from(words) else { return };
        let [from, kind, number, bytes, message, psn] =
            [from, kind, number, bytes, message, psn].map(u32::from_le_bytes);
        if kind == ACK {
            let ack = Ack { expected: number, bitmap: u64::from(bytes) | u64::from(message) << 32, marks: psn as u8 };
            self.acknowledged(from, &ack, cycle);
            return;
        }
        if kind & 0xFF == ONCE {
            self.complete(from, (kind >> CHANNEL) as Channel, (message, bytes), cycle);
            return;
        }
        let peer = self.sources.entry(from).or_default();
        let covered = cycle + self.parameters.ack.of(message).at(bytes).round() as u64;
        let marked = frame.marked && kind & COUNTS_MARKS != 0;
        if !peer.numbers.comes(psn, covered, kind & 0xFF == ASKS, marked, &self.transport) {
            self.want_ack(from);
            return;
        }
        let got = peer.messages.entry(number).or_default();
        *got += bytes;
        if *got == message {
            peer.messages.remove(&number);
            self.complete(from, (kind >> CHANNEL) as Channel, (message, bytes), cycle);
        }
        self.want_ack(from);
    }

    /// A message of this length is complete with a frame of so many bytes, whose first beat came in this cycle.
    fn complete(&mut self, from: u32, channel: Channel, (message, bytes): (u32, u32), cycle: u64) {
        let Parameters { record, message_gap, message_room, .. } = &*self.parameters;
        self.messages_done = self.messages_done.max(cycle as f64) + message_gap;
        let late = (self.messages_done - cycle as f64 - message_gap * message_room).max(0.0);
        let visible = cycle + (record.of(message).at(bytes) + late).round() as u64;
        if channel < VECTORS {
            self.visible.push(Reverse((visible, Sight::Message(from, channel))));
        }
        if self.handled > 0 {
            self.handle(from, channel, cycle);
        }
    }

    /// The next cycle in which it does something.
    fn next(&self) -> u64 {
        let comes = self.port.comes();
        let expires = self.timers.first().map_or(u64::MAX, |(cycle, _)| *cycle);
        let sends = self.sender_next().min(self.ack_next()).min(self.sum_next()).min(self.link_next());
        comes.min(self.host_next()).min(sends).min(expires)
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
            if self.timers.first().is_some_and(|(cycle, _)| *cycle <= at) {
                self.expire(at)?;
            }
            if self.sum_next() <= at {
                self.sum(at);
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
        let all = self.came == self.expected && self.schedule.is_over() && self.working.is_none() && self.handled == 0;
        let mut values = [0; VALUES];
        values.copy_from_slice(&[self.came as u64, self.last_record, self.repeated, self.timeouts]);
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
