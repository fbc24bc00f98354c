//! Reliable transport of [models](crate::model): what a sender keeps of the frames that are under way to a node, the congestion window of
//! that node, and what a receiver acknowledges. The rules are those of docs/transport.md; times are units of 64 cycles, as in the NIC.
//!
//! | part | what it does |
//! |---|---|
//! | [`Destination`] | records of frames; acknowledgements free and mark them, holes and timeouts send them again |
//! | [`Path`] | how many frames may be in flight, moved by counted marks and losses |
//! | [`Source`] | lets each number through once, and says when an acknowledgement is due and what it carries |
//!
//! Absent: refusals, openings of windows, and probes, since a model's receiver accepts all numbers of its window at once.

use crate::programs::{reliability, ACK_EVERY};
use spindle::congestion::Congestion;
use spindle::reliable::Reliability;
use spindle_contract::wire::PSN_WINDOW;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Cycles of a unit of the sender's times.
pub const UNIT: u64 = 64;
/// Records that a timeout sends again at once, without congestion windows.
const BURST: usize = 16;
/// Timeouts in a row up to which the time doubles.
const DOUBLINGS: u32 = 3;
/// Cycles from one look at a destination's timer to the next, and from one destination to the next; cycle of the first look after reset.
const SCAN: u64 = 4096;
/// Cycles from one look at a timer to that at the next destination's.
pub const SCAN_STEP: u64 = 16;
const SCAN_BEGIN: u64 = 1024;
/// A segment, in units of a window.
const SEGMENT: i64 = 16;
/// Rounds without mark and loss after which a window doubles again.
const QUIET_ROUNDS: u8 = 3;
/// Frames in flight up to which each one asks for an acknowledgement.
const FEW: u32 = 4;

/// How models send reliably.
#[derive(Clone, Copy, Debug)]
pub struct Transport {
    /// Time without an acknowledgement after which frames are sent again, in units of 64 cycles.
    pub timeout: u64,
    /// Time after which a frame is sent again if a later one has come, in units of 64 cycles.
    pub hole_time: u64,
    /// Timeouts in a row after which a node is given up.
    pub retries: u32,
    /// Congestion windows, if they are obeyed.
    pub congestion: Option<Congestion>,
    /// Acknowledgements show what has come beyond the first hole. In a network whose cables lose nothing, and without congestion windows,
    /// they do not: frames that overtake each other leave holes that fill by themselves, and what an output drops is sent again after a
    /// timeout.
    pub selective: bool,
}

impl Transport {
    /// The times of NICs in the same study, or these. `lossy`: cables lose or change frames.
    pub fn new(congestion: Option<Congestion>, times: Option<Reliability>, lossy: bool) -> Transport {
        let times = times.unwrap_or_else(|| reliability(congestion));
        Transport {
            timeout: times.timeout.into(),
            hole_time: times.hole_time.into(),
            retries: times.retries.into(),
            congestion,
            selective: lossy || congestion.is_some(),
        }
    }
}

/// What the sender keeps of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Task of the put.
    pub put: u32,
    /// Bytes of the put.
    pub message: u32,
    /// Payload.
    pub bytes: u16,
    /// Channel of the put.
    pub channel: u8,
    /// A bitmap has shown that the frame has come.
    acked: bool,
    /// The frame is lost, and waits for the window.
    lost: bool,
    /// Time from which on the frame is lost if a later one has come.
    due: u32,
}

impl Record {
    /// A frame that is to be sent.
    pub fn new(put: u32, message: u32, bytes: u32, channel: u8) -> Record {
        Record { put, message, bytes: bytes as u16, channel, acked: false, lost: false, due: 0 }
    }
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The first number that has not come.
    pub expected: u32,
    /// Which of the 64 numbers from there on have come.
    pub bitmap: u64,
    /// Frames that came with a mark, modulo 256.
    pub marks: u8,
}

/// What an acknowledgement or a timeout has the sender do.
#[derive(Debug, Default)]
pub struct Todo {
    /// Records that it has freed.
    pub freed: u32,
    /// Records after those at which it has looked.
    pub looked: u32,
    /// For each frame that it has settled, the put's task.
    pub settled: Vec<u32>,
    /// Numbers of the frames to send again, and their records.
    pub again: Vec<(u32, Record)>,
}

/// The congestion window of a node, as in the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Path {
    /// In sixteenths of a segment.
    window: i64,
    /// The window grows by a segment in a round.
    steady: bool,
    /// It was halved in this round.
    halved: bool,
    /// There was a mark or a loss in this round.
    troubled: bool,
    /// Rounds in a row without either.
    quiet: u8,
    /// A frame may be sent beyond the window.
    credit: bool,
    /// Marks that the receiver has counted.
    marks: u8,
    /// Number that ends the round.
    round: u32,
    flight: u32,
    lost: u32,
}

/// What an acknowledgement reports to a path.
struct News {
    limited: bool,
    marked: i64,
    settled: i64,
    loss: bool,
}

impl Path {
    fn new(congestion: Option<Congestion>) -> Path {
        let first = congestion.map_or(0, |congestion| congestion.first);
        Path {
            window: i64::from(first) * SEGMENT,
            steady: false,
            halved: false,
            troubled: false,
            quiet: 0,
            credit: false,
            marks: 0,
            round: 0,
            flight: 0,
            lost: 0,
        }
    }

    fn whole(&self) -> u32 {
        (self.window / SEGMENT) as u32
    }

    fn room(&self) -> bool {
        self.flight < self.whole()
    }

    fn limited(&self) -> bool {
        2 * self.flight >= self.whole()
    }

    fn spend(&mut self) {
        if !self.room() {
            self.credit = false;
        }
    }

    fn issue(&mut self) {
        self.spend();
        self.flight += 1;
    }

    fn resend(&mut self, of_lost: bool) {
        self.spend();
        if of_lost {
            self.flight += 1;
            self.lost -= 1;
        }
    }

    fn settle(&mut self, of_lost: bool) {
        self.credit = true;
        match of_lost {
            true => self.lost -= 1,
            false => self.flight = self.flight.saturating_sub(1),
        }
    }

    fn declare(&mut self) {
        self.flight = self.flight.saturating_sub(1);
        self.lost += 1;
    }

    fn news(&mut self, marks: u8) -> News {
        let fresh = marks.wrapping_sub(self.marks);
        let counts = fresh < 128;
        if counts {
            self.marks = marks;
        }
        let marked = if counts { fresh.into() } else { 0 };
        News { limited: self.limited(), marked, settled: 0, loss: false }
    }

    fn adapt(&mut self, news: &News, base: u32, next: u32, congestion: &Congestion) {
        let round_over = base.wrapping_sub(self.round) as i32 >= 0;
        let halves = news.loss && !self.halved;
        let grows = news.limited && !halves;
        let start = if halves { self.window >> 1 } else { self.window };
        let gain = match (self.steady, grows) {
            (true, true) if round_over => SEGMENT,
            (false, true) if news.marked == 0 => news.settled.min(1023) * SEGMENT,
            _ => 0,
        };
        let cut = (news.marked * SEGMENT) >> congestion.shrink;
        let trouble = news.marked > 0 || news.loss;
        let ends = round_over || halves;
        let clean = round_over && !self.troubled && !trouble;
        let again = clean && self.quiet == QUIET_ROUNDS - 1;
        let (least, most) = (i64::from(congestion.least) * SEGMENT, i64::from(congestion.most) * SEGMENT);
        self.window = (start + gain - cut).clamp(least, most);
        self.steady = (self.steady || trouble) && !again;
        self.halved = halves || (self.halved && !round_over);
        // A loss troubles the round that begins with it, too.
        self.troubled = if ends { halves } else { self.troubled || trouble };
        if clean {
            self.quiet = if again { 0 } else { self.quiet + 1 };
        } else if ends || trouble {
            self.quiet = 0;
        }
        if ends {
            self.round = next;
        }
    }

    fn expire(&mut self, next: u32, congestion: &Congestion) {
        self.window = i64::from(congestion.least) * SEGMENT;
        self.steady = false;
        self.halved = true;
        self.troubled = true;
        self.quiet = 0;
        self.credit = false;
        self.round = next;
    }
}

/// What the sender has on its way to a node.
#[derive(Debug)]
pub struct Destination {
    /// Number of the oldest record.
    base: u32,
    /// Records, oldest first.
    records: VecDeque<Record>,
    deadline: u64,
    retries: u32,
    path: Path,
}

impl Destination {
    /// A node to which nothing has been sent.
    pub fn new(transport: &Transport) -> Destination {
        let path = Path::new(transport.congestion);
        Destination { base: 0, records: VecDeque::new(), deadline: 0, retries: 0, path }
    }

    /// Frames that have not been acknowledged with all before them.
    pub fn under_way(&self) -> usize {
        self.records.len()
    }

    /// Number of the next new frame.
    pub fn next(&self) -> u32 {
        self.base + self.records.len() as u32
    }

    /// Whether a new frame may be sent.
    pub fn has_room(&self, transport: &Transport) -> bool {
        let Path { credit, lost, .. } = self.path;
        self.records.len() < PSN_WINDOW && (transport.congestion.is_none() || self.path.room() || (credit && lost == 0))
    }

    /// A new frame is sent at this time: its number, and whether it is to ask for an acknowledgement because few others would.
    pub fn issue(&mut self, record: Record, now: u64, transport: &Transport) -> (u32, bool) {
        let number = self.next();
        if self.records.is_empty() {
            self.deadline = now + transport.timeout;
            self.retries = 0;
        }
        self.records.push_back(Record { due: (now + transport.hole_time) as u32, ..record });
        if transport.congestion.is_none() {
            return (number, false);
        }
        self.path.issue();
        (number, self.path.limited() || self.path.flight < FEW)
    }

    /// An acknowledgement has come.
    pub fn acknowledge(&mut self, ack: &Ack, now: u64, transport: &Transport) -> Todo {
        let mut todo = Todo::default();
        // One that others have overtaken says nothing new.
        if ack.expected < self.base || ack.expected > self.next() {
            return todo;
        }
        let windows = transport.congestion.is_some();
        let mut news = self.path.news(ack.marks);
        let mut answers = false;
        while self.base < ack.expected {
            let Some(record) = self.records.pop_front() else { break };
            self.base += 1;
            todo.freed += 1;
            answers = true;
            if !record.acked {
                todo.settled.push(record.put);
                if windows {
                    self.path.settle(record.lost);
                    news.settled += 1;
                }
            }
        }
        let mut bits = ack.bitmap;
        let path = &mut self.path;
        for (i, record) in self.records.iter_mut().enumerate() {
            let refills = windows && path.lost > 0 && (path.room() || path.credit);
            if bits == 0 && !refills {
                break;
            }
            todo.looked += 1;
            let hole = bits != 0 && now >= u64::from(record.due);
            let has_come = bits & 1 == 1;
            bits >>= 1;
            if has_come {
                if !record.acked {
                    answers = true;
                    todo.settled.push(record.put);
                    if windows {
                        path.settle(record.lost);
                        news.settled += 1;
                    }
                }
                (record.acked, record.lost) = (true, false);
                continue;
            }
            if record.acked || !(hole || record.lost) {
                continue;
            }
            news.loss |= hole && !record.lost;
            let fits = if record.lost { path.room() } else { path.flight <= path.whole() };
            if !windows || fits || path.credit {
                if windows {
                    path.resend(record.lost);
                }
                record.lost = false;
                record.due = (now + transport.hole_time) as u32;
                todo.again.push((self.base + i as u32, *record));
            } else if !record.lost {
                path.declare();
                record.lost = true;
            }
        }
        if answers {
            self.retries = 0;
            self.deadline = now + transport.timeout;
        }
        // Of thousands of nodes few send at a time.
        if self.records.is_empty() {
            self.records = VecDeque::new();
        }
        if let Some(congestion) = &transport.congestion {
            let next = self.next();
            self.path.adapt(&news, self.base, next, congestion);
        }
        todo
    }

    /// Cycle in which the NIC finds that this node has not answered in time; none if nothing is under way. `node` is its number: the NIC
    /// looks at one destination after another, and `slip` cycles later where it had other work when a look was due.
    pub fn expires(&self, node: u32, slip: u64) -> Option<u64> {
        if self.records.is_empty() {
            return None;
        }
        let (deadline, phase) = (self.deadline * UNIT, SCAN_BEGIN + u64::from(node % 256) * SCAN_STEP + slip);
        let after = (phase % SCAN + SCAN - deadline % SCAN) % SCAN;
        Some(deadline + after)
    }

    /// The node has not answered in time: what is sent again; none if it is given up.
    pub fn expire(&mut self, now: u64, transport: &Transport) -> Option<Todo> {
        if self.retries >= transport.retries {
            return None;
        }
        self.deadline = now + (transport.timeout << self.retries.min(DOUBLINGS));
        self.retries += 1;
        let mut todo = Todo::default();
        let (windows, next) = (transport.congestion.is_some(), self.next());
        let most = if windows { usize::MAX } else { BURST };
        for (i, record) in self.records.iter_mut().take(most).enumerate().filter(|(_, record)| !record.acked) {
            if windows && i > 0 {
                if !record.lost {
                    self.path.declare();
                }
                record.lost = true;
                continue;
            }
            if windows {
                self.path.resend(record.lost);
            }
            record.lost = false;
            record.due = (now + transport.hole_time) as u32;
            todo.again.push((self.base + i as u32, *record));
        }
        if let Some(congestion) = &transport.congestion {
            self.path.expire(next, congestion);
        }
        Some(todo)
    }
}

/// A frame that the responder knows of, and no acknowledgement has covered.
#[derive(Clone, Copy, Debug)]
struct Report {
    /// Cycle from which on an acknowledgement may cover the frame.
    at: u64,
    number: u32,
    /// The frame asks for an acknowledgement.
    asks: bool,
    /// The frame came before.
    duplicate: bool,
    marked: bool,
}

/// What the receiver knows of the numbers of a node.
#[derive(Debug, Default)]
pub struct Source {
    /// Frames that have come with all before them, and the cycle from which on an acknowledgement may cover what has been reported.
    complete: u32,
    covered: u64,
    /// Those that have come before others. The reports of these wait, unless acknowledgements are selective.
    early: BTreeMap<u32, Report>,
    reports: VecDeque<Report>,
    /// As `complete` and `early`, of frames that acknowledgements have covered.
    accepted: u32,
    accepted_early: BTreeSet<u32>,
    /// The first hole of the last acknowledgement.
    missing: Option<u32>,
    marks: u8,
}

impl Source {
    /// A frame has come that an acknowledgement may cover from cycle `at` on: whether it came for the first time.
    pub fn comes(&mut self, number: u32, at: u64, asks: bool, marked: bool, transport: &Transport) -> bool {
        let duplicate = number < self.complete || self.early.contains_key(&number);
        let report = Report { at, number, asks: asks || duplicate, duplicate, marked: marked && !duplicate };
        if !duplicate {
            self.early.insert(number, report);
        }
        if duplicate || transport.selective {
            self.report(report);
        }
        // Paths differ, so frames overtake each other.
        while let Some(report) = self.early.remove(&self.complete) {
            self.complete += 1;
            if !transport.selective {
                self.report(report);
            }
        }
        !duplicate
    }

    fn report(&mut self, report: Report) {
        self.covered = self.covered.max(report.at);
        self.reports.push_back(Report { at: self.covered, ..report });
    }

    /// Cycle in which an acknowledgement is due; none if none is.
    pub fn wants(&self) -> Option<u64> {
        let due = self.reports.iter().enumerate().find(|(i, report)| {
            let fills = !report.duplicate && Some(report.number) == self.missing;
            report.asks || fills || i + 1 == usize::from(ACK_EVERY)
        });
        due.map(|(_, report)| report.at)
    }

    /// The acknowledgement of all that may be covered in this cycle.
    pub fn ack(&mut self, cycle: u64) -> Ack {
        while let Some(report) = self.reports.pop_front_if(|report| report.at <= cycle) {
            self.marks = self.marks.wrapping_add(report.marked.into());
            if report.duplicate {
                continue;
            }
            if report.number != self.accepted {
                self.accepted_early.insert(report.number);
                continue;
            }
            self.accepted += 1;
            while self.accepted_early.remove(&self.accepted) {
                self.accepted += 1;
            }
        }
        if self.reports.is_empty() {
            self.reports = VecDeque::new();
        }
        let shown = self.accepted_early.range(..self.accepted.saturating_add(64));
        let bitmap = shown.fold(0, |bitmap, number| bitmap | 1 << (number - self.accepted));
        self.missing = (bitmap != 0).then_some(self.accepted);
        Ack { expected: self.accepted, bitmap, marks: self.marks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONGESTION: Congestion = Congestion { shrink: 1, least: 2, first: 8, most: 64 };

    fn windows() -> Transport {
        Transport { selective: true, ..Transport::new(Some(CONGESTION), None, true) }
    }

    /// Frames of put 7 that the destination has room for, at most so many: their numbers, and whether each asks for an acknowledgement.
    fn issue(destination: &mut Destination, most: usize, now: u64, transport: &Transport) -> Vec<(u32, bool)> {
        let mut sent = vec![];
        while sent.len() < most && destination.has_room(transport) {
            sent.push(destination.issue(Record::new(7, 1 << 20, 1408, 0), now, transport));
        }
        sent
    }

    fn numbers(todo: &Todo) -> Vec<u32> {
        todo.again.iter().map(|(number, _)| *number).collect()
    }

    fn ack(expected: u32, bitmap: u64, marks: u8) -> Ack {
        Ack { expected, bitmap, marks }
    }

    #[test]
    fn without_windows_1024_frames_are_under_way() {
        let transport = Transport::new(None, None, true);
        let mut destination = Destination::new(&transport);
        assert_eq!(issue(&mut destination, 9999, 0, &transport).len(), 1024);
        let todo = destination.acknowledge(&ack(10, 0, 0), 5, &transport);
        assert_eq!((todo.freed, todo.settled, todo.again.len()), (10, vec![7; 10], 0));
        assert_eq!(issue(&mut destination, 9999, 5, &transport).first(), Some(&(1024, false)));
        // What others have overtaken, and what was not sent, says nothing.
        for expected in [9, 1035] {
            assert_eq!(destination.acknowledge(&ack(expected, 0, 0), 6, &transport).freed, 0);
        }
    }

    #[test]
    fn holes_are_sent_again_when_they_are_old_and_not_sooner_a_second_time() {
        let transport = Transport::new(None, None, true);
        let mut destination = Destination::new(&transport);
        issue(&mut destination, 6, 100, &transport);
        // 0 and 3 are missing; 5 may be on its way.
        let shown = ack(0, 0b10110, 0);
        assert_eq!(numbers(&destination.acknowledge(&shown, 115, &transport)), [0; 0]);
        let todo = destination.acknowledge(&shown, 116, &transport);
        assert_eq!((numbers(&todo), todo.settled.len()), (vec![0, 3], 0));
        assert_eq!(numbers(&destination.acknowledge(&shown, 131, &transport)), [0; 0]);
        assert_eq!(numbers(&destination.acknowledge(&shown, 132, &transport)), [0, 3]);
        // Those that the bitmap has settled are not settled once more.
        assert_eq!(destination.acknowledge(&ack(6, 0, 0), 140, &transport).settled.len(), 3);
        assert_eq!(destination.expires(1, 0), None);
    }

    #[test]
    fn timeouts_double_up_to_eight_times_and_end() {
        let transport = Transport { retries: 5, ..Transport::new(None, None, true) };
        let mut destination = Destination::new(&transport);
        issue(&mut destination, 40, 1000, &transport);
        destination.acknowledge(&ack(0, 0b10, 0), 1001, &transport);
        let mut now = 1001;
        for doubled in [1, 1, 2, 4, 8] {
            let cycle = destination.expires(0, 0).unwrap();
            // From a deadline on, the sender looks every 4,096 cycles.
            let deadline = (now + doubled * 128) * UNIT;
            assert!((deadline..deadline + 4096).contains(&cycle) && cycle % 4096 == 1024, "{doubled}: {cycle}");
            now = cycle / UNIT;
            let again = destination.expire(now, &transport).unwrap();
            let wanted: Vec<u32> = (0..16).filter(|number| *number != 1).collect();
            assert_eq!(numbers(&again), wanted);
        }
        assert!(destination.expire(now, &transport).is_none());
    }

    #[test]
    fn a_window_doubles_until_a_mark_and_then_grows_by_a_segment_in_a_round() {
        let transport = windows();
        let mut destination = Destination::new(&transport);
        let sent = issue(&mut destination, 99, 0, &transport);
        // The first three, and from half of the window on.
        let asks: Vec<bool> = sent.iter().map(|(_, asks)| *asks).collect();
        assert_eq!(asks, [true; 8]);
        destination.acknowledge(&ack(8, 0, 0), 1, &transport);
        // Twice as many, and one beyond the window for the acknowledgement.
        assert_eq!(issue(&mut destination, 99, 1, &transport).len(), 17);
        // Two marks take a segment. The round that ends adds none, since a mark ends the doubling.
        destination.acknowledge(&ack(25, 0, 2), 2, &transport);
        assert_eq!(issue(&mut destination, 99, 2, &transport).len(), 16);
        destination.acknowledge(&ack(41, 0, 2), 3, &transport);
        let sent = issue(&mut destination, 99, 3, &transport);
        assert_eq!(sent.len(), 17);
        let asks: Vec<bool> = sent.iter().map(|(_, asks)| *asks).collect();
        assert_eq!(asks[..8], [true, true, true, false, false, false, false, true]);
    }

    #[test]
    fn a_loss_halves_the_window_and_waits_for_room() {
        let transport = windows();
        let mut destination = Destination::new(&transport);
        issue(&mut destination, 8, 0, &transport);
        // All but the last are missing and old: the first fills the gap of the window, and so do the others, until it is halved.
        let todo = destination.acknowledge(&ack(0, 1 << 7, 0), 100, &transport);
        assert_eq!(numbers(&todo), [0, 1, 2, 3, 4, 5, 6]);
        // The window of four is full; an acknowledgement permits one frame beyond it.
        let todo = destination.acknowledge(&ack(1, 1 << 6, 0), 101, &transport);
        assert_eq!((todo.freed, todo.again.len()), (1, 0));
        assert_eq!(issue(&mut destination, 99, 101, &transport).len(), 1);
        // A timeout sends the oldest, and all others wait.
        let todo = destination.expire(500, &transport).unwrap();
        assert_eq!(numbers(&todo), [1]);
        let todo = destination.acknowledge(&ack(2, 1 << 5, 0), 501, &transport);
        assert_eq!(numbers(&todo), [2, 3, 4], "the window is of two frames, and one more for the acknowledgement");
    }

    #[test]
    fn a_source_acknowledges_what_asks_every_eighth_frame_and_what_fills_the_first_hole() {
        let transport = Transport::new(None, None, true);
        let mut source = Source::default();
        for number in 0..7 {
            assert!(source.comes(number, 100 + u64::from(number), false, false, &transport));
            assert_eq!(source.wants(), None);
        }
        assert!(source.comes(9, 110, false, true, &transport));
        assert_eq!(source.wants(), Some(110));
        assert_eq!(source.ack(109), ack(7, 0, 0));
        assert_eq!(source.wants(), None);
        assert!(source.comes(8, 111, true, true, &transport));
        assert_eq!(source.wants(), Some(111));
        assert_eq!(source.ack(111), ack(7, 0b110, 2));
        assert!(source.comes(7, 120, false, false, &transport));
        assert_eq!(source.wants(), Some(120), "it fills the first hole");
        assert_eq!(source.ack(120), ack(10, 0, 2));
        // A duplicate is acknowledged, and its mark is not counted.
        assert!(!source.comes(8, 130, false, true, &transport));
        assert_eq!((source.wants(), source.ack(130)), (Some(130), ack(10, 0, 2)));
    }

    #[test]
    fn without_loss_frames_that_overtake_others_wait_for_these() {
        let transport = Transport::new(None, None, false);
        let mut source = Source::default();
        assert!(source.comes(1, 100, true, false, &transport));
        assert_eq!((source.wants(), source.ack(200)), (None, ack(0, 0, 0)));
        assert!(source.comes(0, 90, false, false, &transport));
        assert_eq!((source.wants(), source.ack(100)), (Some(100), ack(2, 0, 0)));
    }
}
