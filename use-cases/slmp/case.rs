//! Files over UDP with a window of outstanding segments: handlers of the receiver's NIC place and acknowledge them, or its host does.

mod model;

use crate::bench::{Bench, Host, Node, Program, Setting};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row, HOSTS};
use crate::cost::Work;
use anyhow::{ensure, Context, Result};
use spindle::command_ring::{CommandRing, FrameOptions};
use spindle::frames::Frames;
use spindle::rule_table::Action;
use spindle::ContextOptions;
use spindle_model::frames::{udp, Ends, UDP_HEADERS};
use spindle_sim::address;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("slmp.c", include_str!("handlers/slmp.c"))];
const MODES: &[Mode] = &[
    Mode { name: "nic", about: "handlers write segments to the host's memory, and acknowledge groups of them" },
    Mode {
        name: "host",
        about: "a process of the receiver takes each frame, copies its bytes, and acknowledges groups",
    },
];
/// Ports of sender and receiver, and the MAC and IP addresses' nodes.
const PORTS: (u16, u16) = (4000, 9330);
const SENDER: usize = 0;
const RECEIVER: usize = 1;
/// Bytes of a segment, of its header, of a file at most, and of the receiver's memory, which ends with number and length of the file.
const SEGMENT: usize = 1408;
const HEADER: usize = 10;
const FILE: usize = 2 << 20;
const MEMORY: usize = FILE + 64;
/// Bytes from a frame to the next in the sender's memory.
const PLACE: usize = 1536;
/// Segments of a group at most, and frames that are handed to the card with one register write.
const GROUP: usize = 16;
const BATCH: usize = 8;
/// Processes of frames received and of frames sent, and places of the sender's command ring.
const FRAMES: usize = 1;
const SENDING: usize = 2;
const COMMANDS: usize = 1024;
/// Flags of a header: it opens a file, it is an answer.
const SYN: u16 = 0x4000;
const ACK: u16 = 0x2000;
/// Segments that the sender leaves out at first when losses are tried, beside the last one; and the group whose first acknowledgement it
/// does not see.
const LOST: [usize; 3] = [5, 40, 41];
const DEAF: usize = 3;
/// Cycles after which the NICs are idle.
const QUIET: u64 = 4000;

/// The case.
pub const CASE: Case = Case {
    name: "slmp",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(2)?;
    let window = point as usize;
    // The turns of the wire of a window of one segment take long: fewer are enough.
    let bytes = if window < 64 { window << 14 } else { FILE };
    let mut transfers = Transfers::new(&bench, mode == "nic", window)?;
    // The last segment and the last group are not whole.
    let odd = bytes.min(FILE / 8) - 7;
    transfers.malformed(odd)?;
    transfers.file(odd, true)?;
    let cycles = transfers.file(bytes, false)?;
    Measured::new(&bench, [("gb_per_s", 8.0 * bytes as f64 / setting.ns(cycles as f64))])
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let points = [(1, "1"), (4, "4"), (16, "16"), (64, "64"), (256, "256")];
    let mut figures = ratios(rows, "gb_per_s", &points, &[("nic", "host", "over_host")]);
    for (host, ending) in HOSTS {
        for (mode, key) in [("nic", "goodput"), ("host", "goodput_host")] {
            let rate = value(rows, mode, host, 256, "gb_per_s");
            figures.extend(rate.map(|rate| (format!("{key}{ending}"), rate)));
        }
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "nic",
        "a group is acknowledged before all of it has come",
        "slmp.c",
        "(before | bit) != full || before == full",
        "before == full",
    ),
    Broken::new("nic", "the bytes begin in the header", "slmp.c", "(uint8_t *)(slmp + 1)", "(uint8_t *)(slmp + 1) - 1"),
    Broken::new("nic", "segments of any place are taken", "slmp.c", "segment * SEGMENT != place || ", ""),
    Broken::new("nic", "segments of any file are taken", "slmp.c", "number != file || ", ""),
    Broken::new("nic", "a group is not acknowledged again", "slmp.c", "before == full ?", "before == ~full ?"),
    Broken::new("nic", "a new file has the marks of the one before", "slmp.c", "marks[i] = 0;", ""),
];

/// Sender, receiver, and what the model knows of the receiver's memory.
struct Transfers<'a> {
    bench: &'a Bench,
    receiver: Host,
    sender: Rc<RefCell<Sender>>,
    process: Option<Process>,
    window: usize,
    group: usize,
    number: u32,
    /// Address of the receiver's memory, and what it must have.
    region: u64,
    memory: Vec<u8>,
    /// Address of the sender's frames.
    from: u64,
}

/// Ends of the way from one node to the other.
fn ends(from: usize, to: usize) -> Ends {
    let (here, there) = (address(from), address(to));
    Ends { src_mac: here.mac, dst_mac: there.mac, src_ip: here.ip, dst_ip: there.ip, vlan: None }
}

fn to_receiver(payload: &[u8]) -> Vec<u8> {
    udp(&ends(SENDER, RECEIVER), PORTS.0, PORTS.1, payload)
}

fn to_sender(payload: &[u8]) -> Vec<u8> {
    udp(&ends(RECEIVER, SENDER), PORTS.1, PORTS.0, payload)
}

/// The window of a process that gets all frames for the host.
fn open_frames(host: &Host, buffers: usize) -> Result<Frames> {
    host.nic(|nic| {
        let frames = nic.open_frames(FRAMES, buffers, 65536)?;
        nic.frames_to_host(Some(frames.window()), true)?;
        Ok(frames)
    })
}

impl<'a> Transfers<'a> {
    fn new(bench: &'a Bench, by_nic: bool, window: usize) -> Result<Self> {
        let (host, receiver) = (bench.host(SENDER), bench.host(RECEIVER));
        let group = (window / 2).clamp(1, GROUP);
        let region = receiver.alloc(MEMORY)?;
        let mut process = None;
        if by_nic {
            let handler = bench.compile(HANDLERS, "slmp.c")?;
            let options = ContextOptions { host_region: Some((region, MEMORY as u32)), ..ContextOptions::default() };
            let rule = format!("udp.dport == {}", PORTS.1);
            let context = receiver.install(&handler.image, &rule, &options, Action::ContextPerMessage)?;
            receiver.set_word(context, &handler, "group_log", group.ilog2())?;
        } else {
            // Buffers for a whole window.
            let state =
                State { frames: open_frames(&receiver, 8)?, waiting: VecDeque::new(), region, group, open: None };
            process = Some(Process(Rc::new(RefCell::new(state))));
        }
        let frames = open_frames(&host, 4)?;
        let ring = host.nic(|nic| -> Result<_> {
            let ring = nic.open_commands(SENDING, COMMANDS)?;
            nic.set_sender(SENDING, true)?;
            Ok(ring)
        })?;
        let from = host.alloc(FILE.div_ceil(SEGMENT).next_multiple_of(GROUP) * PLACE)?;
        for host in [&host, &receiver] {
            host.nic(|nic| nic.set_receive(true))?;
        }
        let sender = Rc::new(RefCell::new(Sender { host, frames, ring, answers: Vec::new() }));
        let memory = vec![0; MEMORY];
        Ok(Transfers { bench, receiver, sender, process, window, group, number: 0, region, memory, from })
    }

    /// Writes frames with these payloads into the sender's memory: where they are and their bytes.
    fn prepare(&self, payloads: &[Vec<u8>]) -> Result<Vec<(u64, usize)>> {
        let frame = |(i, payload): (usize, &Vec<u8>)| {
            let (at, bytes) = (self.from + (i * PLACE) as u64, to_receiver(payload));
            self.sender.borrow().host.write(at, &bytes)?;
            Ok((at, bytes.len()))
        };
        payloads.iter().enumerate().map(frame).collect()
    }

    /// Runs the sender's program beside that of the receiver's process, if there is one.
    fn run(&self, sending: impl Future<Output = Result<()>> + 'static) -> Result<()> {
        let done = Rc::new(Cell::new(false));
        let ended = done.clone();
        let mut programs: Vec<Program> = vec![Box::pin(async move {
            let result = sending.await;
            ended.set(true);
            result
        })];
        if let Some(process) = &self.process {
            programs.push(process.clone().program(self.receiver.clone(), done));
        }
        self.bench.run(programs)
    }

    fn check(&self) -> Result<()> {
        let got = self.receiver.read(self.region, MEMORY)?;
        self.bench.expect("the receiver's memory", &got, &self.memory)
    }

    /// Opens the next file, and sends what must have no effect.
    #[expect(clippy::await_holding_refcell_ref, reason = "only one program sends at a time")]
    fn malformed(&mut self, bytes: usize) -> Result<()> {
        let number = self.number + 1;
        let payloads = [vec![model::open(number, bytes)], model::malformed(number, bytes)].concat();
        let (frames, sender) = (self.prepare(&payloads)?, self.sender.clone());
        self.run(async move {
            let mut sender = sender.borrow_mut();
            sender.send(&frames[..1]).await?;
            sender.answer(u64::MAX).await?;
            sender.send(&frames[1..]).await?;
            let end = sender.host.now() + QUIET;
            while sender.answer(end).await?.is_some() {}
            Ok(())
        })?;
        let answers = std::mem::take(&mut self.sender.borrow_mut().answers);
        self.bench.expect("the answers", &answers.concat(), &to_sender(&model::opened(number, bytes)))?;
        self.check()
    }

    /// Sends a file, with losses or without: cycles from its first packet to the sender's last acknowledgement. All bytes are compared.
    #[expect(clippy::await_holding_refcell_ref, reason = "only one program sends at a time")]
    fn file(&mut self, bytes: usize, losses: bool) -> Result<u64> {
        self.number += 1;
        let (number, group, window) = (self.number, self.group, self.window);
        let file = model::file(bytes, number);
        let mut segments = self.prepare(&model::segments(number, &file))?;
        // The packet that opens the file lies after them.
        let open = to_receiver(&model::open(number, bytes));
        let at = self.from + (segments.len() * PLACE) as u64;
        self.sender.borrow().host.write(at, &open)?;
        segments.push((at, open.len()));
        let groups = (segments.len() - 1).div_ceil(group);
        let (sender, outcome) = (self.sender.clone(), Rc::new(Cell::new((0, 0))));
        let seen = outcome.clone();
        self.bench.idle(QUIET);
        let start = self.bench.now();
        self.run(async move {
            let mut sender = sender.borrow_mut();
            let open = segments.pop().context("a file has segments")?;
            sender.send(&[open]).await?;
            sender.answer(u64::MAX).await?;
            let resent = sender.segments(&segments, group, window, losses).await?;
            seen.set((sender.host.now(), resent));
            Ok(())
        })?;
        self.bench.idle(QUIET);
        let (end, resent) = outcome.get();
        ensure!((resent > 0) == losses, "{resent} groups were sent again");
        self.memory = model::memory(&self.memory, number, &file);
        self.check()?;
        let answers = std::mem::take(&mut self.sender.borrow_mut().answers);
        self.bench.expect("the answer to the first packet", &answers[0], &to_sender(&model::opened(number, bytes)))?;
        let mut wanted: Vec<_> = (0..groups).map(|group| to_sender(&model::acknowledgement(number, group))).collect();
        let mut got = answers[1..].to_vec();
        wanted.sort_unstable();
        got.sort_unstable();
        if losses {
            // Groups may be acknowledged twice.
            got.dedup();
        }
        self.bench.expect("the acknowledgements", &got.concat(), &wanted.concat())?;
        Ok(end - start)
    }
}

/// The sender's process.
struct Sender {
    host: Host,
    frames: Frames,
    ring: CommandRing,
    /// Frames that came.
    answers: Vec<Vec<u8>>,
}

impl Sender {
    /// Sends frames from where they lie; each costs the overhead of a message.
    async fn send(&mut self, frames: &[(u64, usize)]) -> Result<()> {
        for batch in frames.chunks(BATCH) {
            self.host.busy(self.host.cost().overhead * batch.len() as u64).await;
            let ring = &mut self.ring;
            self.host.nic(|nic| -> Result<()> {
                for (address, length) in batch {
                    let added = nic.add_frame(ring, *address, *length as u32, FrameOptions::default())?;
                    ensure!(added.is_some(), "the command ring is full");
                }
                Ok(nic.write_commands(ring)?)
            })?;
        }
        Ok(())
    }

    /// Waits for an answer until this cycle, and takes it: the last word of its header.
    async fn answer(&mut self, until: u64) -> Result<Option<usize>> {
        let frames = &mut self.frames;
        let poll = |nic: &mut Node| {
            let frame = nic.receive_frame(frames)?;
            let late = nic.memory.card().sim().cycle() >= until;
            Ok((frame.is_some() || late).then_some(frame))
        };
        let Some(frame) = self.host.until(poll).await? else { return Ok(None) };
        self.host.overhead().await;
        let word = frame.bytes.get(UDP_HEADERS + 6..UDP_HEADERS + HEADER).context("an answer is too short")?;
        let word = u32::from_be_bytes(word.try_into()?) as usize;
        self.answers.push(frame.bytes);
        Ok(Some(word))
    }

    /// Sends segments until all groups are acknowledged, a window of them at most at a time. A group without acknowledgement is sent again
    /// as a whole after a time. Returns how many were.
    async fn segments(&mut self, all: &[(u64, usize)], size: usize, window: usize, losses: bool) -> Result<usize> {
        let groups: Vec<&[(u64, usize)]> = all.chunks(size).collect();
        let lost = |segment: usize| losses && (LOST.contains(&segment) || segment + 1 == all.len());
        let timeout = 2000 + 48 * window as u64;
        let (mut acknowledged, mut sent) = (vec![false; groups.len()], VecDeque::new());
        let (mut next, mut outstanding, mut left, mut resent) = (0, 0, groups.len(), 0);
        let mut deaf = losses;
        while left > 0 {
            let may = next < groups.len() && outstanding + groups[next].len() <= window;
            let oldest: Option<&(u64, usize)> = sent.front();
            let until = if may { 0 } else { oldest.context("nothing is under way")?.0 };
            if let Some(group) = self.answer(until).await? {
                let done = acknowledged.get_mut(group).with_context(|| format!("there is no group {group}"))?;
                if deaf && group == DEAF {
                    deaf = false;
                } else if !*done {
                    *done = true;
                    left -= 1;
                    outstanding -= groups[group].len();
                    sent.retain(|(_, number)| *number != group);
                }
            } else if may {
                let present = (next * size..).zip(groups[next]).filter(|(i, _)| !lost(*i)).map(|(_, frame)| *frame);
                self.send(&present.collect::<Vec<_>>()).await?;
                sent.push_back((self.host.now() + timeout, next));
                outstanding += groups[next].len();
                next += 1;
            } else if let Some((_, group)) = sent.pop_front() {
                self.send(groups[group]).await?;
                sent.push_back((self.host.now() + timeout, group));
                resent += 1;
            }
        }
        Ok(resent)
    }
}

/// The receiver's process.
#[derive(Clone)]
struct Process(Rc<RefCell<State>>);

struct State {
    frames: Frames,
    waiting: VecDeque<Vec<u8>>,
    region: u64,
    group: usize,
    open: Option<Open>,
}

/// The open file.
struct Open {
    number: u32,
    bytes: usize,
    /// Segments that are in memory, groups that are not.
    marks: Vec<bool>,
    left: usize,
}

/// What comes of a frame: bytes that were copied, and an answer.
#[derive(Default)]
struct Outcome {
    copied: usize,
    answer: Option<Vec<u8>>,
}

impl State {
    /// Takes the frames that are there.
    fn receive(&mut self, nic: &mut Node) -> Result<()> {
        while let Some(frame) = nic.receive_frame(&mut self.frames)? {
            self.waiting.push_back(frame.bytes);
        }
        Ok(())
    }

    fn take(&mut self, host: &Host, payload: &[u8]) -> Result<Outcome> {
        let Some((header, bytes)) = payload.split_at_checked(HEADER) else { return Ok(Outcome::default()) };
        let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (flags, number, place) = (u16::from_be_bytes([header[0], header[1]]), word(2), word(6) as usize);
        match flags {
            SYN => Ok(self.open(number, place, bytes)),
            0 => self.segment(host, number, place, bytes),
            _ => Ok(Outcome::default()),
        }
    }

    fn open(&mut self, number: u32, length: usize, bytes: &[u8]) -> Outcome {
        if !bytes.is_empty() || number == 0 || !(1..=FILE).contains(&length) {
            return Outcome::default();
        }
        if self.open.as_ref().is_none_or(|open| open.number != number) {
            let segments = length.div_ceil(SEGMENT);
            let (marks, left) = (vec![false; segments], segments.div_ceil(self.group));
            self.open = Some(Open { number, bytes: length, marks, left });
        }
        let same = self.open.as_ref().is_some_and(|open| open.bytes == length);
        Outcome { copied: 0, answer: same.then(|| answer(SYN | ACK, number, length)) }
    }

    fn segment(&mut self, host: &Host, number: u32, place: usize, bytes: &[u8]) -> Result<Outcome> {
        let (region, size) = (self.region, self.group);
        let mut outcome = Outcome::default();
        let Some(open) = self.open.as_mut().filter(|open| open.number == number) else { return Ok(outcome) };
        let wanted = SEGMENT.min(open.bytes.saturating_sub(place));
        if wanted == 0 || !place.is_multiple_of(SEGMENT) || bytes.len() != wanted {
            return Ok(outcome);
        }
        let (segment, group) = (place / SEGMENT, place / SEGMENT / size);
        let again = std::mem::replace(&mut open.marks[segment], true);
        if !again {
            host.write(region + place as u64, bytes)?;
            outcome.copied = bytes.len();
        }
        let of_group = group * size..((group + 1) * size).min(open.marks.len());
        if open.marks[of_group].iter().all(|mark| *mark) {
            outcome.answer = Some(answer(ACK, number, group));
            if !again {
                open.left -= 1;
            }
            if !again && open.left == 0 {
                let record = [number.to_le_bytes(), (open.bytes as u32).to_le_bytes()].concat();
                host.write(region + FILE as u64, &record)?;
            }
        }
        Ok(outcome)
    }
}

/// A header without bytes.
fn answer(flags: u16, number: u32, word: usize) -> Vec<u8> {
    [&flags.to_be_bytes()[..], &number.to_be_bytes(), &(word as u32).to_be_bytes()].concat()
}

impl Process {
    /// Takes frames until the sender has ended. A frame costs the overhead of a message and the copy of its bytes, an answer another
    /// overhead.
    #[expect(clippy::await_holding_refcell_ref, reason = "only one program receives at a time")]
    fn program(self, host: Host, done: Rc<Cell<bool>>) -> Program {
        Box::pin(async move {
            let mut state = self.0.borrow_mut();
            loop {
                let next = |nic: &mut Node| {
                    state.receive(nic)?;
                    let frame = state.waiting.pop_front();
                    Ok((frame.is_some() || done.get()).then_some(frame))
                };
                let Some(frame) = host.until(next).await? else { return Ok(()) };
                host.overhead().await;
                let outcome = state.take(&host, &frame[UDP_HEADERS..])?;
                host.work(Work::Copy, outcome.copied).await;
                let Some(answer) = outcome.answer else { continue };
                host.overhead().await;
                let reply = to_sender(&answer);
                // There is room for frames when the events of frames that the card has read are seen.
                let send = |nic: &mut Node| {
                    state.receive(nic)?;
                    Ok(nic.send_frame(&mut state.frames, &reply, None)?.then_some(()))
                };
                host.until(send).await?;
            }
        })
    }
}
