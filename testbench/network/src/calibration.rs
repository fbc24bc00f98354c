//! Measures the parameters of the [model](crate::model) on two Verilated NICs, some of them on eight, and compares models with NICs on the
//! same network.
//!
//! The first NIC puts, the second one receives; a cable joins them. The cycle of a frame's last beat is the cycle of its first beat at
//! the other end, less the cable, so nothing inside a NIC is looked at.

use crate::endpoint::{digest_with, Endpoint, Frame, Outgoing, Report, EMPTY_DIGEST};
use crate::engine::{Network, Physics, Ranks};
use crate::model::{self, Line, Lines, Model, Parameters, PassOn, PostTimes, Sum, ACK_BYTES};
use crate::motif::{Motif, Post, Put, Seen, Task};
use crate::programs::{Pattern, ACK_EVERY};
use crate::rtl::{Rtl, Setting};
use crate::topology::{Shape, Topology};
use crate::workload::{Application, Arm, Workload};
use anyhow::{ensure, Context, Result};
use spindle_contract::params::{Config, BEAT_BYTES, SEGMENT_BYTES};
use spindle_contract::wire::{spindle, HEADER_BYTES};
use spindle_harness::Source;
use spindle_sim::Arrival;
use std::collections::BTreeMap;
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
/// Senders of messages of 8 bytes to one node, by which that node's NIC has more to do than it can, and how many each of them sends.
const SENDERS: usize = 7;
const LOADS: [u32; 2] = [8, 16];
/// Cycles between broadcasts by handlers, and between allreduces: more than one takes on 16 nodes.
const BETWEEN: u64 = 2000;
const BETWEEN_SUMS: u64 = 2500;
/// Messages after which every processor has run a handler.
const WARM: usize = 32;
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

/// Which frames are lost: drawn by source, destination, and number among the acknowledgements, or sequence number and how often it was
/// sent, so that NICs and models lose the same ones though they send in other cycles.
#[derive(Clone, Copy)]
struct Losses {
    /// Share of the frames on each of the two cables to another node.
    share: f64,
    seed: u64,
}

impl Losses {
    /// A number from 0 to 1 for a frame.
    fn draw(&self, name: [u32; 4]) -> f64 {
        // Of FNV the last byte reaches no high bit, so it stands for nothing.
        let bytes = name.iter().flat_map(|word| word.to_be_bytes()).chain(self.seed.to_be_bytes()).chain([0; 8]);
        let digest = digest_with(EMPTY_DIGEST, &bytes.collect::<Vec<u8>>());
        (digest >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether each frame of a node passes; `psn` is a frame's sequence number, none of an acknowledgement.
    fn of(self, node: u32, psn: fn(&Frame) -> Option<u32>) -> impl FnMut(&Frame) -> bool {
        let (mut acks, mut sent) = (BTreeMap::<u32, u32>::new(), BTreeMap::<(u32, u32), u32>::new());
        move |frame| {
            let Some(to) = frame.peer else { return true };
            let (psn, times) = match psn(frame) {
                None => (u32::MAX, acks.entry(to).or_default()),
                Some(psn) => (psn, sent.entry((to, psn)).or_default()),
            };
            *times += 1;
            self.draw([node, to, psn, *times]) >= 2.0 * self.share - self.share * self.share
        }
    }
}

/// The sequence number in a frame of a NIC; of an acknowledgement, that of the last packet that it covers.
fn number(frame: &Frame) -> u32 {
    const PSN: usize = spindle::START + spindle::PSN;
    frame.bytes.get(PSN..).and_then(|rest| rest.first_chunk()).map_or(0, |psn| u32::from_be_bytes(*psn))
}

/// Sequence number of a frame of a NIC; none of an acknowledgement.
fn nic_psn(frame: &Frame) -> Option<u32> {
    (frame.length != ACK_BYTES).then(|| number(frame))
}

/// What the host of a node has seen, and the frames that its NIC has sent.
type Watched = (Seen, Vec<Left>);

/// A NIC of a motif, whose host memory answers after the time of the measurements.
fn setting(source: &Source, config: &Config, motif: &Motif) -> Setting {
    Setting {
        config: *config,
        source: source.clone(),
        nodes: motif.nodes(),
        host_latency: (HOST_LATENCY, HOST_LATENCY),
        wave: None,
        fates: None,
        noise: None,
    }
}

fn run_nics(
    source: &Source,
    config: &Config,
    motif: &Motif,
    shape: &Shape,
    physics: Physics,
) -> Result<(Vec<Report>, Vec<Watched>)> {
    let setting = setting(source, config, motif);
    let motif = Arc::new(motif.clone());
    let seen = motif.seen();
    let sent: Vec<Sent> = (0..motif.nodes()).map(|_| Sent::default()).collect();
    let endpoint = |node: u32| -> Result<Box<dyn Endpoint>> {
        let endpoint = Rtl::new(node as usize, &setting, motif.program(&seen))?;
        let sent = sent[node as usize].clone();
        let passes = move |frame: &Frame| {
            let left = Left { cycle: frame.cycle, length: frame.length, psn: number(frame) };
            sent.lock().expect("no other thread has it").push(left);
            true
        };
        Ok(Box::new(Outgoing { endpoint, passes }))
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
    /// Cycle in which the sender's host saw that the put was over, if it looked.
    over: Option<u64>,
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

/// How rows of messages are sent.
#[derive(Clone, Copy)]
struct Way {
    post: Post,
    /// Cycles of the cable.
    cable: u64,
    /// The sender's host looks for acknowledgements.
    watched: bool,
}

/// Rows of messages from the first NIC to the second, each after the end of the one before it.
fn rows(source: &Source, config: &Config, way: Way, rows: &[Vec<u32>]) -> Result<Vec<Row>> {
    let Way { post, cable, watched } = way;
    let mut at = 0;
    let mut sends = Vec::new();
    for row in rows {
        sends.extend(row.iter().map(|bytes| Task { at, ..Task::put(Put::new(1, *bytes)) }));
        at += APART + 2 * cable + u64::from(row.iter().sum::<u32>()) / BYTES_A_CYCLE;
    }
    // With the answer to all, every acknowledgement has come to the first host.
    let answer = Task { at: at + APART, ..Task::put(Put::new(0, 8)).after(sends.len() as u32) };
    let mut motif = Motif::of(vec![sends, vec![answer]], post, config);
    motif.watched = watched;
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
            let over = first.acked.iter().find(|(k, _)| *k == number).map(|(_, cycle)| *cycle);
            messages.push(Message {
                bytes: *bytes,
                over,
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

/// Cycles from the first message of an incast of short ones to the record of the last one, less those of a record that nothing delays.
fn load(source: &Source, config: &Config, record: &Lines, each: u32) -> Result<f64> {
    let motif = Motif::new(Pattern::Incast, SENDERS + 1, each, 8, Post::Ring, config);
    let (_, seen) = run_nics(source, config, &motif, &star(&motif), physics())?;
    let (first, _) = seen.first().context("a motif without nodes")?;
    let came = first.arrivals.iter().filter(|arrival| arrival.bytes != ACK_BYTES as usize).map(|arrival| arrival.cycle);
    let (begin, end) = came.fold((u64::MAX, 0), |(begin, end), cycle| (begin.min(cycle), end.max(cycle)));
    let last = first.records.iter().map(|(_, _, cycle)| *cycle).max().context("no record")?;
    let late = (last - end) as f64 - record.of(8).at(8);
    ensure!(late > 0.0, "{SENDERS} senders do not load the receiver of their messages");
    Ok((end - begin) as f64 + late)
}

/// Cycles of the NIC for a message that comes, and the messages for which it has room until records are late.
///
/// One sender is slower than a receiver. With several of them, the NIC is through with the last message as long after the first one came
/// as all of them take, less those for which it has room.
fn message_times(source: &Source, config: &Config, record: &Lines) -> Result<(f64, f64)> {
    let [few, many] = LOADS.map(|each| (SENDERS as f64 * f64::from(each), load(source, config, record, each)));
    let (few, many) = ((few.0, few.1?), (many.0, many.1?));
    let gap = (many.1 - few.1) / (many.0 - few.0);
    Ok((round(gap), round(few.0 - few.1 / gap)))
}

/// The times of a handler that passes messages on, of the node of eight that has two children.
fn pass_on(source: &Source, config: &Config) -> Result<PassOn> {
    let lengths: Vec<u32> = std::iter::repeat_n(ONE[0], WARM).chain(ONE).collect();
    let motif = Motif::handler_broadcast(SENDERS + 1, &lengths, BETWEEN, config);
    let (_, seen) = run_nics(source, config, &motif, &star(&motif), physics())?;
    let node = SENDERS.div_ceil(2);
    let (own, sent) = &seen[node];
    let data = |bytes: usize| bytes != ACK_BYTES as usize;
    let came: Vec<u64> = own.arrivals.iter().filter(|frame| data(frame.bytes)).map(|frame| frame.cycle).collect();
    let left: Vec<u64> = sent.iter().filter(|frame| !frame.is_ack()).map(|frame| frame.cycle).collect();
    ensure!(
        came.len() == lengths.len() && left.len() == 2 * came.len(),
        "{} messages came and {} frames left, instead of {} and twice as many",
        came.len(),
        left.len(),
        lengths.len()
    );
    let measured = lengths.iter().zip(came.iter().zip(left.chunks(2))).skip(WARM);
    let first = line(measured.clone().map(|(bytes, (came, left))| (*bytes, (left[0] - came) as f64)));
    Ok(PassOn { first, gap: mean(measured.map(|(_, (_, left))| left[1] - left[0])) })
}

/// Lengths of the vectors that are measured, cycles from one to the next of those that come one by one, and how many come at once.
const VECTORS: [u32; 4] = [8, 256, 768, 1408];
const ONE_BY_ONE: u64 = 400;
const AT_ONCE: [usize; 2] = [3, SENDERS];
/// Cycles from a sum to the vectors of the next one, at least.
const ADDED: u64 = 800;

/// Vectors that a handler has added: their length, the first beats of the first and of the last one, and the last beat of the sum.
struct Added {
    bytes: u32,
    first: u64,
    last: u64,
    sum: u64,
}

/// Vectors of a number of senders, which begin so many cycles after each other, and are added by the handler of one more node.
fn added(source: &Source, config: &Config, senders: usize, each: u64) -> Result<Vec<Added>> {
    let warm = WARM.div_ceil(senders);
    let lengths: Vec<u32> = std::iter::repeat_n(VECTORS[0], warm).chain(VECTORS).collect();
    let motif = Motif::sums(senders, each, &lengths, ADDED, config);
    let (_, seen) = run_nics(source, config, &motif, &star(&motif), physics())?;
    let (own, sent) = &seen[senders];
    let data = own.arrivals.iter().filter(|frame| frame.bytes != ACK_BYTES as usize);
    let came: Vec<u64> = data.map(|frame| frame.cycle).collect();
    let left: Vec<u64> = sent.iter().filter(|frame| !frame.is_ack()).map(|frame| frame.cycle).collect();
    // After the last sum a message ends the motif.
    ensure!(
        came.len() == senders * lengths.len() + 1 && left.len() == lengths.len(),
        "{} messages came and {} sums left, instead of {senders} times {} with one more, and as many",
        came.len(),
        left.len(),
        lengths.len()
    );
    let of = |((bytes, came), sum): ((&u32, &[u64]), &u64)| {
        let [first, .., last] = *came else { return None };
        Some(Added { bytes: *bytes, first, last, sum: *sum })
    };
    Ok(lengths.iter().zip(came.chunks(senders)).zip(&left).skip(warm).filter_map(of).collect())
}

/// The times of a handler that adds: of vectors that come one by one, and of as many at once as the link brings.
fn sum(source: &Source, config: &Config) -> Result<Sum> {
    let alone = added(source, config, 2, ONE_BY_ONE)?;
    let first = line(alone.iter().map(|added| (added.bytes, (added.sum - added.last) as f64)));
    let [few, many] = AT_ONCE.map(|senders| added(source, config, senders, 0));
    let busy: Vec<(Added, Added)> = few?.into_iter().zip(many?).collect();
    // From the first vector to the sum, less what a vector takes alone: the time of the cluster for all, less those for which it has room.
    let whole = |added: &Added| (added.sum - added.first) as f64 - first.at(added.bytes);
    let more = (AT_ONCE[1] - AT_ONCE[0]) as f64;
    let gap = line(busy.iter().map(|(few, many)| (few.bytes, (whole(many) - whole(few)) / more)));
    let room = busy.iter().map(|(_, many)| AT_ONCE[1] as f64 - whole(many) / gap.at(many.bytes));
    Ok(Sum { first, gap, room: round(room.sum::<f64>() / busy.len() as f64) })
}

/// To a thousandth.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Measures the parameters of a configuration; `commit` names the source.
///
/// # Errors
/// The model of the NICs cannot be built; networks cannot be simulated; the NICs do not do what the model assumes of them.
pub fn measure(source: &Source, config: &Config, commit: &str) -> Result<Parameters> {
    let cable = Physics::default().window;
    let single: Vec<Vec<u32>> = ONE.iter().chain(&MANY).map(|bytes| vec![*bytes]).collect();
    let bells = rows(source, config, Way { post: Post::Doorbell, cable, watched: false }, &single)?;
    let mut all = single.clone();
    all.push(vec![8; WAITING]);
    let by_ring = Way { post: Post::Ring, cable, watched: false };
    let ring = rows(source, config, by_ring, &all)?;
    let (alone, busy) = ring.split_at(single.len());
    let waiting = rows(source, config, Way { cable: LONG_CABLE, ..by_ring }, &[vec![8; WAITING]])?;
    let watched = rows(source, config, Way { watched: true, ..by_ring }, &single)?;
    let over = watched.iter().map(|row| &row.messages[0]).map(|message| {
        let seen = message.over.context("an acknowledgement was not seen")?;
        seen.checked_sub(message.ack.came).context("an acknowledgement was seen before it came")
    });
    let over = over.collect::<Result<Vec<u64>>>()?;

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
    let record = lines(&record.collect::<Vec<_>>());
    let (message_gap, message_room) = message_times(source, config, &record)?;
    Ok(Parameters {
        commit: commit.into(),
        host_latency: HOST_LATENCY,
        beat_bytes: BEAT_BYTES as f64,
        doorbell: post_times(&bells),
        ring: post_times(alone),
        put_gap,
        segment_gap: line(segments),
        record,
        ack: lines(&ack.collect::<Vec<_>>()),
        ack_gap: mean(acks.windows(2).map(|two| two[1].left - two[0].left)),
        ack_cost,
        over: mean(over.into_iter()),
        restart: round(first as f64 - ack_cost.at(freed.frames) - put_gap),
        pass_on: pass_on(source, config)?,
        sum: sum(source, config)?,
        message_gap,
        message_room,
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
    /// Halos of grids of three dimensions.
    Halo,
    /// Wavefronts over grids of two dimensions.
    Sweep,
    /// A binomial broadcast by hosts.
    Broadcast,
    /// Allreduce, by recursive doubling, by a ring, and by handlers.
    Allreduce,
    /// A message of each node to every other one.
    AllToAll,
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
    let apply = |all: &[Workload]| {
        let count = if small { 1 } else { all.len() };
        all[..count].iter().map(|workload| Motif::workload(*workload, Ring, config)).collect()
    };
    // Sides that differ by a factor of two at most, of a number of nodes that is a power of two.
    let sides =
        |dimensions: u32| (0..dimensions).map(move |i| 1 << ((nodes.ilog2() + dimensions - 1 - i) / dimensions));
    use Post::{Doorbell, Ring};
    match check {
        Check::PingPong => pick(
            &[(2, 512, Doorbell), (3, 8, Doorbell), (3, 8, Ring), (2, 4096, Ring), (2, 65536, Doorbell)],
            Pattern::PingPong,
        ),
        Check::Rate => pick(&[(12, 8, Ring), (96, 8, Ring), (48, 256, Ring), (16, 8, Doorbell)], Pattern::Ring),
        Check::Long => pick(&[(2, 10_000, Ring), (2, 65536, Ring), (6, 4096, Ring)], Pattern::Ring),
        Check::Incast => pick(&[(8, 8, Ring), (1, 8192, Ring), (1, 32768, Ring), (4, 2000, Ring)], Pattern::Incast),
        Check::Broadcast => {
            let by_hosts = pick(&[(1, 8, Ring), (1, 4096, Ring), (1, 8, Doorbell)], Pattern::Broadcast);
            let by_handlers = [8, 1024].map(|bytes| {
                let lengths: Vec<u32> = std::iter::repeat_n(ONE[0], WARM).chain([bytes]).collect();
                Motif::handler_broadcast(nodes, &lengths, BETWEEN, config)
            });
            by_hosts.into_iter().chain(by_handlers.into_iter().filter(|_| !small)).collect()
        }
        Check::Halo => {
            let grid = collected(sides(3));
            let halo = |bytes, arm| Workload {
                compute: 200,
                ..Workload::new(Application::Halo { grid, iterations: 3, bytes }, arm)
            };
            apply(&[
                halo([2048, 256, 8], Arm::Rvma),
                halo([8192, 0, 0], Arm::Rvma),
                halo([2048, 256, 8], Arm::WriteHostFenceSend),
                halo([2048, 0, 0], Arm::Rendezvous),
            ])
        }
        Check::Sweep => {
            let grid = collected(sides(2));
            let sweep = |bytes, arm| Workload {
                compute: 100,
                ..Workload::new(Application::Sweep { grid, blocks: 2, sweeps: 4, bytes }, arm)
            };
            apply(&[
                sweep(1024, Arm::Rvma),
                sweep(19_200, Arm::Rvma),
                sweep(1024, Arm::WriteImm),
                sweep(1024, Arm::WriteHostFenceSend),
                sweep(4096, Arm::RendezvousBlocking),
            ])
        }
        Check::Allreduce => {
            let count = nodes as u32;
            let of = |application| Workload::new(application, Arm::Rvma);
            let mut all: Vec<Motif> = apply(&[
                of(Application::Doubling { nodes: count, bytes: 1024 }),
                of(Application::Doubling { nodes: count, bytes: 8 }),
                of(Application::ReductionRing { nodes: count, bytes: 16_384 }),
            ]);
            let (lasts, warm): (&[u32], usize) = if small { (&[8], WARM / 4) } else { (&[8, 1024], WARM) };
            all.extend(lasts.iter().filter_map(|bytes| {
                let lengths: Vec<u32> = std::iter::repeat_n(ONE[0], warm).chain([*bytes]).collect();
                Motif::handler_allreduce(nodes, &lengths, if nodes < 8 { 2 } else { 4 }, BETWEEN_SUMS, config).ok()
            }));
            all
        }
        Check::AllToAll => {
            let of = |bytes, arm| Workload::new(Application::AllToAll { nodes: nodes as u32, bytes }, arm);
            apply(&[
                of(1024, Arm::Rvma),
                of(16_384, Arm::Rvma),
                of(4096, Arm::WriteHostFenceSend),
                of(4096, Arm::RendezvousBlocking),
            ])
        }
    }
}

/// The sides of a grid.
fn collected<const N: usize>(sides: impl Iterator<Item = u32>) -> [u32; N] {
    let mut all = [1; N];
    all.iter_mut().zip(sides).for_each(|(to, side)| *to = side);
    all
}

impl Check {
    /// All of them.
    pub const ALL: [Check; 9] = [
        Check::PingPong,
        Check::Rate,
        Check::Long,
        Check::Incast,
        Check::Halo,
        Check::Sweep,
        Check::Broadcast,
        Check::Allreduce,
        Check::AllToAll,
    ];
}

/// A comparison: cycles from the start of a motif, or of its last part, to the last record, of NICs and of models.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Nodes.
    pub nodes: usize,
    /// The motif.
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

/// One switch for all nodes of a motif.
fn star(motif: &Motif) -> Shape {
    Shape::Star { nodes: motif.nodes() as u32 }
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

/// Cycles from the start of a motif, or of its last part, to the last record.
fn cycles(motif: &Motif, reports: &[Report]) -> u64 {
    reports.iter().map(|report| report.values[1]).max().unwrap_or(0) - motif.start - motif.last_part()
}

/// The reports of models with a motif.
fn run_models(motif: &Motif, parameters: &Parameters, physics: Physics) -> Result<Vec<Report>> {
    let parameters = Arc::new(parameters.clone());
    let transport = motif.transport(physics.loss > 0.0 || physics.corruption > 0.0);
    run(motif, &star(motif), physics, |node| Ok(Box::new(Model::new(node, motif, parameters.clone(), transport))))
}

/// Compares models with NICs on one switch.
///
/// # Errors
/// As of [`measure`].
pub fn compare(source: &Source, config: &Config, parameters: &Parameters, motif: &Motif) -> Result<Compared> {
    let (nics, _) = run_nics(source, config, motif, &star(motif), physics())?;
    let models = run_models(motif, parameters, physics())?;
    let [nics, models] = [nics, models].map(|reports| cycles(motif, &reports));
    Ok(Compared { nodes: motif.nodes(), what: motif.to_string(), nics, models })
}

/// Motifs for so many nodes on which models are compared with NICs while cables lose frames.
pub fn lossy_motifs(nodes: usize, config: &Config) -> Vec<Motif> {
    let of = |pattern, messages, bytes| Motif::new(pattern, nodes, messages, bytes, Post::Ring, config);
    let mut all = vec![
        of(Pattern::PingPong, 4, 16_384),
        of(Pattern::Ring, 48, 256),
        of(Pattern::Ring, 2, 65_536),
        of(Pattern::Incast, 1, 32_768),
    ];
    // What handlers add and put on is sent once: a motif of theirs does not end when a sum is lost.
    let first = |check: &Check| motifs(*check, nodes, config, true).into_iter().next();
    all.extend([Check::Halo, Check::Sweep, Check::Allreduce].iter().filter_map(first));
    all
}

/// Compares models with NICs on one switch whose cables lose this share of the frames, by the means over seeds. Both lose the same frames,
/// as long as they send the same ones.
///
/// # Errors
/// As of [`measure`].
pub fn compare_at_loss(
    source: &Source,
    config: &Config,
    parameters: &Parameters,
    motif: &Motif,
    loss: f64,
    seeds: u64,
) -> Result<Compared> {
    let shared = Arc::new(motif.clone());
    let parameters = Arc::new(parameters.clone());
    let setting = setting(source, config, motif);
    let (mut nics, mut models) = (0, 0);
    for seed in 1..=seeds {
        let losses = Losses { share: loss, seed };
        let seen = motif.seen();
        let nic = |node: u32| -> Result<Box<dyn Endpoint>> {
            let endpoint = Rtl::new(node as usize, &setting, shared.program(&seen))?;
            Ok(Box::new(Outgoing { endpoint, passes: losses.of(node, nic_psn) }))
        };
        let of_nics = cycles(motif, &run(motif, &star(motif), physics(), nic)?);
        let transport = motif.transport(true);
        let model = |node: u32| -> Result<Box<dyn Endpoint>> {
            let endpoint = Model::new(node, motif, parameters.clone(), transport);
            Ok(Box::new(Outgoing { endpoint, passes: losses.of(node, model::psn) }))
        };
        let of_models = cycles(motif, &run(motif, &star(motif), physics(), model)?);
        log::debug!("{motif} on {} nodes, loss {loss}, seed {seed}: {of_nics}, {of_models}", motif.nodes());
        nics += of_nics;
        models += of_models;
    }
    let mean = |sum: u64| sum.checked_div(seeds).unwrap_or(0);
    Ok(Compared { nodes: motif.nodes(), what: motif.to_string(), nics: mean(nics), models: mean(models) })
}
