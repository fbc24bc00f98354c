//! Measures the parameters of the [model](crate::model) on two Verilated NICs, and compares models with NICs on the same network.
//!
//! The first NIC puts, the second one receives; a cable joins them. The cycle of a frame's last beat is the cycle of its first beat at
//! the other end, less the cable, so nothing inside a NIC is looked at.

use crate::endpoint::{Endpoint, Frame, Report};
use crate::engine::{Network, Physics, Ranks};
use crate::model::{Line, Lines, Model, Parameters, PostTimes, ACK_BYTES};
use crate::motif::{Motif, Post, Seen, Send};
use crate::programs::{Pattern, ACK_EVERY};
use crate::rtl::{Rtl, Setting};
use crate::topology::{Shape, Topology};
use anyhow::{ensure, Context, Result};
use spindle_contract::params::{Config, SEGMENT_BYTES};
use spindle_contract::wire::{spindle, HEADER_BYTES};
use spindle_harness::Source;
use spindle_sim::Arrival;
use std::fmt::{Display, Formatter};
use std::sync::{Arc, Mutex};

/// Cycles of host memory's answers.
pub const HOST_LATENCY: u64 = 80;
/// Lengths of the messages that are measured, of one frame and of several.
const ONE: [u32; 8] = [8, 64, 128, 256, 512, 768, 1024, 1408];
const MANY: [u32; 9] = [1416, 1472, 1664, 2048, 2816, 4096, 8192, 16384, 65536];
/// Messages of 8 bytes that follow each other, and a cable on which they wait for acknowledgements, in cycles.
const WAITING: usize = 96;
const LONG_CABLE: u64 = 600;
/// Cycles within which all of a message is over, and more of them for each byte.
const APART: u64 = 1500;
const BYTES_A_CYCLE: u64 = 40;
/// Cycles without an end after which a run is given up.
const PATIENCE: u64 = 400_000;
/// Windows between two looks whether all programs have ended.
const SLICE: u64 = 16;

/// Runs a motif on endpoints until all have ended.
fn run(
    motif: &Motif,
    shape: &Shape,
    physics: Physics,
    endpoint: impl FnMut(u32) -> Result<Box<dyn Endpoint>>,
) -> Result<Vec<Report>> {
    let mut network = Network::new(Ranks::join()?, &Topology::new(shape)?, physics, endpoint)?;
    let end = motif.start + PATIENCE;
    let mut cycle = 0;
    while !network.done()? {
        ensure!(cycle < end, "a motif of {} nodes has not ended after {cycle} cycles", motif.nodes());
        cycle += SLICE * physics.window;
        network.run(cycle)?;
    }
    let counts = network.counts()?;
    ensure!(counts.dropped == 0, "a switch dropped {} frames; give it a longer queue, or send less", counts.dropped);
    let reports = network.reports()?;
    network.finish()?;
    Ok(reports)
}

/// A frame that a node has sent.
#[derive(Clone, Copy)]
struct Left {
    /// Cycle of the last beat.
    cycle: u64,
    length: u32,
    /// Its sequence number; of an acknowledgement, that of the last packet that it covers.
    psn: u32,
}

impl Left {
    fn is_ack(&self) -> bool {
        self.length == ACK_BYTES
    }
}

/// Frames that a node has sent.
type Sent = Arc<Mutex<Vec<Left>>>;

/// An endpoint of which it is noted what it sends.
struct Tap {
    endpoint: Rtl,
    sent: Sent,
}

impl Endpoint for Tap {
    fn step(&mut self, until: u64) -> Result<u64> {
        self.endpoint.step(until)
    }

    fn inject(&mut self, frame: Frame) -> Result<()> {
        self.endpoint.inject(frame)
    }

    fn take(&mut self) -> Option<Frame> {
        let frame = self.endpoint.take()?;
        const PSN: usize = spindle::START + spindle::PSN;
        let psn = frame.bytes.get(PSN..).and_then(|rest| rest.first_chunk()).map_or(0, |psn| u32::from_be_bytes(*psn));
        self.sent.lock().expect("no other thread has it").push(Left { cycle: frame.cycle, length: frame.length, psn });
        Some(frame)
    }

    fn report(&self) -> Report {
        self.endpoint.report()
    }

    fn finish(&mut self) -> Result<()> {
        self.endpoint.finish()
    }
}

/// What the host of a node has seen, and the frames that its NIC has sent.
type Watched = (Seen, Vec<Left>);

fn run_nics(
    source: &Source,
    config: &Config,
    motif: &Motif,
    shape: &Shape,
    physics: Physics,
) -> Result<(Vec<Report>, Vec<Watched>)> {
    let motif = Arc::new(motif.clone());
    let seen = motif.seen();
    let sent: Vec<Sent> = (0..motif.nodes()).map(|_| Sent::default()).collect();
    let setting = Setting {
        config: *config,
        source: source.clone(),
        nodes: motif.nodes(),
        host_latency: (HOST_LATENCY, HOST_LATENCY),
        wave: None,
        fates: None,
        noise: None,
    };
    let endpoint = |node: u32| -> Result<Box<dyn Endpoint>> {
        let endpoint = Rtl::new(node as usize, &setting, motif.program(&seen))?;
        Ok(Box::new(Tap { endpoint, sent: sent[node as usize].clone() }))
    };
    let reports = run(&motif, shape, physics, endpoint)?;
    let seen = std::mem::take(&mut *seen.lock().expect("all programs have ended"));
    let sent = sent.iter().map(|sent| std::mem::take(&mut *sent.lock().expect("the network is gone")));
    Ok((reports, seen.into_iter().zip(sent).collect()))
}

/// Messages that are handed over at once, their lengths, and what was seen of each.
struct Row {
    post: (u64, u64),
    messages: Vec<Message>,
    /// Acknowledgements of the row.
    acks: Vec<Ack>,
}

struct Message {
    bytes: u32,
    /// For each frame: last beat at the sender, first beat at the receiver, payload.
    frames: Vec<(u64, u64, u32)>,
    record: u64,
    /// The first acknowledgement that covers the last frame.
    ack: Ack,
}

/// An acknowledgement.
#[derive(Clone, Copy)]
struct Ack {
    /// Last beat at the receiver, and first beat at the sender.
    left: u64,
    came: u64,
    /// Packets that it and all before it cover, and those that it is the first one to cover.
    covers: u32,
    frames: u32,
}

impl Message {
    fn last(&self) -> (u64, u64, u32) {
        self.frames[self.frames.len() - 1]
    }
}

/// Rows of messages from the first NIC to the second, each after the end of the one before it.
fn rows(source: &Source, config: &Config, post: Post, cable: u64, rows: &[Vec<u32>]) -> Result<Vec<Row>> {
    let mut at = 0;
    let mut sends = Vec::new();
    for row in rows {
        sends.extend(row.iter().map(|bytes| Send { to: 1, bytes: *bytes, after: 0, at }));
        at += APART + 2 * cable + u64::from(row.iter().sum::<u32>()) / BYTES_A_CYCLE;
    }
    // With the answer to all, every acknowledgement has come to the first host.
    let answer = Send { to: 0, bytes: 8, after: sends.len() as u32, at: at + APART };
    let motif = Motif::of(vec![sends, vec![answer]], post, config);
    let physics = Physics { cable: cable as i64 * Physics::default().cycle, window: cable, ..Physics::default() };
    let (_, seen) = run_nics(source, config, &motif, &Shape::Cable, physics)?;
    let [(first, sent), (second, answered)] = <[_; 2]>::try_from(seen).ok().context("two hosts")?;
    ensure!(first.posts.len() == rows.len(), "{} rows were handed over in {} calls", rows.len(), first.posts.len());
    let mut sent = sent.iter().filter(|frame| !frame.is_ack());
    let mut arrivals = second.arrivals.iter().filter(|arrival| arrival.bytes != ACK_BYTES as usize);
    let mut acks: Vec<Ack> = Vec::new();
    let came = first.arrivals.iter().filter(|arrival| arrival.bytes == ACK_BYTES as usize);
    for (left, came) in answered.iter().filter(|frame| frame.is_ack()).zip(came) {
        let (covers, before) = (left.psn.wrapping_add(1), acks.last().map_or(0, |ack| ack.covers));
        acks.push(Ack { left: left.cycle, came: came.cycle, covers, frames: covers.saturating_sub(before) });
    }
    let (mut number, mut frame) = (0, 0);
    let mut row = |(lengths, post): (&Vec<u32>, &(u64, u64))| -> Result<Row> {
        let (mut messages, since) = (Vec::new(), frame);
        for bytes in lengths {
            let (mut frames, mut left) = (Vec::new(), *bytes);
            while left > 0 {
                let payload = left.min(SEGMENT_BYTES as u32);
                let Arrival { cycle, bytes } = *arrivals.next().context("a frame is missing")?;
                let last = sent.next().context("a frame has not left")?;
                let length = HEADER_BYTES + payload as usize;
                ensure!(
                    (bytes, last.length as usize, last.psn) == (length, length, frame),
                    "frame {} of {} bytes leaves and one of {bytes} bytes comes, instead of frame {frame} of {length} bytes",
                    last.psn,
                    last.length
                );
                frames.push((last.cycle, cycle, payload));
                left -= payload;
                frame += 1;
            }
            let record = second.records.iter().find(|(_, k, _)| *k == number).context("a record is missing")?.2;
            let ack = acks.iter().copied().find(|ack| ack.covers >= frame);
            messages.push(Message {
                bytes: *bytes,
                frames,
                record,
                ack: ack.context("an acknowledgement is missing")?,
            });
            number += 1;
        }
        let acks = acks.iter().filter(|ack| ack.covers > since && ack.covers <= frame).copied().collect();
        Ok(Row { post: *post, messages, acks })
    };
    let rows = rows.iter().zip(&first.posts).map(&mut row).collect::<Result<Vec<Row>>>()?;
    ensure!(arrivals.next().is_none() && sent.next().is_none(), "frames left that no message has; was one sent again?");
    Ok(rows)
}

fn one_frame(bytes: u32) -> bool {
    bytes as usize <= SEGMENT_BYTES
}

/// A line for messages of one frame and one for the others, through points of (length of the message, bytes, cycles).
fn lines(points: &[(u32, u32, u64)]) -> Lines {
    let of = |one: bool| {
        let points = points.iter().filter(|(message, ..)| one_frame(*message) == one);
        line(points.map(|(_, bytes, cycles)| (*bytes, *cycles as f64)))
    };
    Lines { one: of(true), many: of(false) }
}

fn line(points: impl Iterator<Item = (u32, f64)>) -> Line {
    Line::fit(&points.map(|(bytes, cycles)| (f64::from(bytes), cycles)).collect::<Vec<_>>())
}

/// The mean, to a thousandth of a cycle.
fn mean(values: impl Iterator<Item = u64>) -> f64 {
    line(values.map(|value| (0, value as f64))).base
}

/// The times of single messages.
fn post_times(rows: &[Row]) -> PostTimes {
    let first = |row: &Row| {
        let message = &row.messages[0];
        (message.bytes, message.bytes, message.frames[0].0 - row.post.0)
    };
    let host = mean(rows.iter().map(|row| row.post.1 - row.post.0));
    PostTimes { host, first: lines(&rows.iter().map(first).collect::<Vec<_>>()) }
}

/// Gaps between the last beats of a row's frames, each with the last beat and the payload of the later one.
fn gaps(row: &Row) -> Vec<(u64, u64, u32)> {
    let frames: Vec<(u64, u64, u32)> = row.messages.iter().flat_map(|message| message.frames.clone()).collect();
    frames.windows(2).map(|two| (two[1].0 - two[0].0, two[1].0, two[1].2)).collect()
}

/// Measures the parameters of a configuration; `commit` names the source.
///
/// # Errors
/// The model of the NICs cannot be built; networks cannot be simulated; the NICs do not do what the model assumes of them.
pub fn measure(source: &Source, config: &Config, commit: &str) -> Result<Parameters> {
    let cable = Physics::default().window;
    let single: Vec<Vec<u32>> = ONE.iter().chain(&MANY).map(|bytes| vec![*bytes]).collect();
    let bells = rows(source, config, Post::Doorbell, cable, &single)?;
    let mut all = single.clone();
    all.push(vec![8; WAITING]);
    let ring = rows(source, config, Post::Ring, cable, &all)?;
    let (alone, busy) = ring.split_at(single.len());
    let waiting = rows(source, config, Post::Ring, LONG_CABLE, &[vec![8; WAITING]])?;

    let singles = || bells.iter().chain(alone);
    let record = singles().map(|row| &row.messages[0]).map(|message| {
        let (_, came, payload) = message.last();
        (message.bytes, payload, message.record - came)
    });
    // A message of more frames has acknowledgements on its way when its last frame comes.
    let acknowledged = singles().map(|row| &row.messages[0]).filter(|message| message.frames.len() < ACK_EVERY.into());
    let ack = acknowledged.map(|message| {
        let (_, came, payload) = message.last();
        (message.bytes, payload, message.ack.left - came)
    });
    let segments = singles().flat_map(gaps).map(|(gap, _, payload)| (payload, gap as f64));
    // Frames that no acknowledgement has held up: all that may be under way before the first one comes.
    let freed = waiting[0].acks.first().context("no acknowledgement came")?;
    let (free, held): (Vec<_>, Vec<_>) = gaps(&waiting[0]).into_iter().partition(|(_, last, _)| *last < freed.came);
    let put_gap = mean(free.iter().map(|(gap, ..)| *gap));
    // An acknowledgement holds the frames after it up, one of them most, before the next one comes.
    let (acks, of_busy) = (&busy[0].acks, gaps(&busy[0]));
    let first = held.first().context("no frame waited for an acknowledgement")?.1 - freed.came;
    let cost = acks.windows(2).filter_map(|two| {
        let until = |ack: &Ack| ack.came + first / 2;
        let during = of_busy.iter().filter(|(_, last, _)| (until(&two[0])..until(&two[1])).contains(last));
        Some((two[0].frames, during.map(|(gap, ..)| *gap).max()? as f64 - put_gap))
    });
    let ack_cost = line(cost);
    Ok(Parameters {
        commit: commit.into(),
        host_latency: HOST_LATENCY,
        doorbell: post_times(&bells),
        ring: post_times(alone),
        put_gap,
        segment_gap: line(segments),
        record: lines(&record.collect::<Vec<_>>()),
        ack: lines(&ack.collect::<Vec<_>>()),
        ack_gap: mean(acks.windows(2).map(|two| two[1].left - two[0].left)),
        ack_cost,
        restart: ((first as f64 - ack_cost.at(freed.frames) - put_gap) * 1e3).round() / 1e3,
    })
}

/// A kind of motif on which models are compared with NICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// One message at a time.
    PingPong,
    /// Many short messages.
    Rate,
    /// Few long ones.
    Long,
    /// All to one.
    Incast,
}

/// Motifs for so many nodes; fewer and shorter ones if `small`.
pub fn motifs(check: Check, nodes: usize, config: &Config, small: bool) -> Vec<Motif> {
    let pick = |all: &[(u32, u32, Post)], pattern: Pattern| {
        let count = if small { 1 } else { all.len() };
        all[..count]
            .iter()
            .map(|(messages, bytes, post)| Motif::new(pattern, nodes, *messages, *bytes, *post, config))
            .collect()
    };
    use Post::{Doorbell, Ring};
    match check {
        Check::PingPong => pick(
            &[(2, 512, Doorbell), (3, 8, Doorbell), (3, 8, Ring), (2, 4096, Ring), (2, 65536, Doorbell)],
            Pattern::PingPong,
        ),
        Check::Rate => pick(&[(12, 8, Ring), (96, 8, Ring), (48, 256, Ring), (16, 8, Doorbell)], Pattern::Ring),
        Check::Long => pick(&[(2, 10_000, Ring), (2, 65536, Ring), (6, 4096, Ring)], Pattern::Ring),
        Check::Incast => pick(&[(1, 8192, Ring), (1, 32768, Ring), (4, 2000, Ring), (8, 8, Ring)], Pattern::Incast),
    }
}

impl Check {
    /// All of them.
    pub const ALL: [Check; 4] = [Check::PingPong, Check::Rate, Check::Long, Check::Incast];
}

/// A comparison: cycles from the start of a motif to the last record, of NICs and of models.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Nodes.
    pub nodes: usize,
    /// How messages were handed over, how many each node sent at most, and their length.
    pub what: String,
    /// Cycles of the NICs.
    pub nics: u64,
    /// Cycles of the models.
    pub models: u64,
}

impl Compared {
    /// How far the models are from the NICs, as a share of the NICs' cycles.
    pub fn error(&self) -> f64 {
        self.models.abs_diff(self.nics) as f64 / self.nics as f64
    }
}

impl Display for Compared {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        let Compared { nodes, what, nics, models } = self;
        write!(f, "{what} on {nodes} nodes, {nics} cycles of NICs and {models} of models")
    }
}

/// Cables and switch of comparisons: a queue that drops nothing, and the gaps of Ethernet.
fn physics() -> Physics {
    Physics { queue: 1 << 20, overhead: 24, ..Physics::default() }
}

/// Compares models with NICs in all motifs of a kind, on networks of so many nodes; the comparison that is farthest off, and the number
/// of them.
///
/// # Errors
/// As of [`measure`].
pub fn worst(
    source: &Source,
    config: &Config,
    parameters: &Parameters,
    check: Check,
    nodes: &[usize],
    small: bool,
) -> Result<(Compared, usize)> {
    let all = nodes.iter().flat_map(|nodes| motifs(check, *nodes, config, small));
    let all = all.map(|motif| compare(source, config, parameters, &motif)).collect::<Result<Vec<Compared>>>()?;
    let count = all.len();
    all.iter().for_each(|compared| log::debug!("{check:?}: {compared}, {:.4}", compared.error()));
    let farthest = all.into_iter().max_by(|a, b| a.error().total_cmp(&b.error()));
    Ok((farthest.context("no motif")?, count))
}

/// Compares models with NICs on one switch.
///
/// # Errors
/// As of [`measure`].
pub fn compare(source: &Source, config: &Config, parameters: &Parameters, motif: &Motif) -> Result<Compared> {
    let shape = Shape::Star { nodes: motif.nodes() as u32 };
    let cycles = |reports: &[Report]| reports.iter().map(|report| report.values[1]).max().unwrap_or(0) - motif.start;
    let (nics, _) = run_nics(source, config, motif, &shape, physics())?;
    let (shared, parameters) = (Arc::new(motif.clone()), Arc::new(parameters.clone()));
    let model =
        |node: u32| -> Result<Box<dyn Endpoint>> { Ok(Box::new(Model::new(node, shared.clone(), parameters.clone()))) };
    let models = run(motif, &shape, physics(), model)?;
    let sends = motif.sends.iter().max_by_key(|sends| sends.len()).context("a motif without nodes")?;
    let bytes = sends.first().map_or(0, |send| send.bytes);
    let what = format!("{} of {bytes} bytes by {:?}", sends.len(), motif.post);
    Ok(Compared { nodes: motif.nodes(), what, nics: cycles(&nics), models: cycles(&models) })
}
