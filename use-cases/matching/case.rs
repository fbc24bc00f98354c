//! Tag matching of MPI: the receiver's NIC finds the receive of a message, or its host does.

mod model;

use crate::bench::{window_of, word, Bench, Host, Landing, Node, Program, Setting, KEY, PROCESS};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row, HOSTS};
use crate::cost::Work;
use anyhow::{ensure, Context, Result};
use model::{Mpi, Wanted, EAGER, HEADER, STATUS};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::window::{Counting, WindowOptions};
use spindle::{ContextId, ContextOptions, HostMemory, Target};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

const HANDLERS: &[(&str, &str)] = &[("matching.c", include_str!("handlers/matching.c"))];
const MODES: &[Mode] = &[
    Mode { name: "spin", about: "handlers match; eager data go to their buffer at once, long ones are asked for" },
    Mode {
        name: "host",
        about: "the host takes each message, searches its list, copies eager data and gets long ones",
    },
];
/// Nodes: the receiver and two senders.
const NODES: usize = 3;
/// Addresses of windows: all messages; memory of the receiver, or of a sender's data; data of receive 0.
const MATCH: u64 = 0x4D00;
const MEMORY: u64 = 0x4D01;
const SLOT: u64 = 0x4E00;
/// Address of the host's window for messages of node 0; every sender has some, in turns, since its messages arrive side by side.
const LANE: u64 = 0x4F00;
const LANES: usize = 4;
/// Receives that messages match, receives of the lists' other entries, and unexpected messages that the NIC keeps.
const SLOTS: usize = 16;
const OTHERS: usize = 64;
const KEPT: usize = 32;
/// Bytes of the host region: a record of each receive.
const RECORD: usize = 16;
const RECORDS: usize = (SLOTS + OTHERS) * RECORD;
/// Bytes of an entry of the host's list.
const ENTRY: usize = 64;
/// Messages of a sender whose data stay in its memory.
const PLACES: usize = 32;
/// Least bytes of a long message.
const LONG: usize = 8192;
/// Messages of a sender that a host takes in a run.
const ARRIVALS: usize = 128;
/// HPUs of the handlers: those of cluster 0.
const CORES: u32 = 0xF;
/// Steps of the test of order, messages that warm the processors, and those whose times are averaged.
const STEPS: usize = 10;
const WARM: usize = 5;
const ROUNDS: usize = 2;
/// Receives that are posted, the matching one included.
const LISTS: [(usize, &str); 3] = [(1, "latency_ns"), (16, "latency_16_ns"), (64, "latency_64_ns")];
/// Tag of what is measured; tags of receives that nothing matches begin above it.
const TAG: u16 = 100;
/// Cycles in which the NICs become idle, after which a message without a receive is kept, and between posts.
const QUIET: u64 = 300;
const LANDS: u64 = 700;
const APART: u64 = 100;

/// The case.
pub const CASE: Case = Case {
    name: "matching",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(NODES)?;
    let mut world = World::new(&bench, mode == "spin", point as usize)?;
    world.refused()?;
    world.order()?;
    let mut values = Vec::new();
    let mut latencies = Vec::new();
    let mut posted = 1;
    for (count, name) in LISTS {
        world.others(posted..count)?;
        posted = count;
        // A longer list is the same code.
        for _ in 0..if count == 1 { WARM } else { 1 } {
            world.expected(point as usize)?;
        }
        let busy = world.receiver.busy.get();
        let mut cycles = 0;
        for _ in 0..ROUNDS {
            cycles += world.expected(point as usize)?;
        }
        let cycles = cycles as f64 / ROUNDS as f64;
        values.push((name, setting.ns(cycles)));
        latencies.push(cycles);
        if count == 1 {
            let busy = (world.receiver.busy.get() - busy) as f64 / ROUNDS as f64;
            values.push(("busy_ns", setting.ns(busy)));
            if mode == "spin" {
                let (first, next) = world.receiver.cycles.get();
                values.push(("match_cycles", first.into()));
                values.push(("next_cycles", next.into()));
            }
        }
    }
    let last = LISTS[LISTS.len() - 1].0;
    values.push(("cycles_per_element", (latencies[2] - latencies[0]) / (last - 1) as f64));
    let mut cycles = 0;
    for _ in 0..ROUNDS {
        cycles += world.unexpected(point as usize)?;
    }
    values.push(("unexpected_ns", setting.ns(cycles as f64 / ROUNDS as f64)));
    world.packets()?;
    Measured::new(&bench, values)
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let points = [(8, "8"), (4096, "4k"), (65536, "64k")];
    let mut figures = Vec::new();
    for (name, what) in [
        ("latency_ns", "latency"),
        ("latency_16_ns", "latency_16"),
        ("latency_64_ns", "latency_64"),
        ("unexpected_ns", "unexpected"),
    ] {
        figures.extend(ratios(rows, name, &points, &[("host", "spin", what)]));
    }
    for (point, text) in points {
        for (host, ending) in HOSTS {
            let busy = |mode| value(rows, mode, host, point, "busy_ns");
            if let (Some(spin), Some(host)) = (busy("spin"), busy("host")) {
                if host > 0.0 {
                    figures.push((format!("saved_{text}{ending}"), 1.0 - spin / host));
                }
            }
        }
    }
    let spin = |point, name| value(rows, "spin", "pcie", point, name);
    let found = [
        ("match_cycles", spin(8, "match_cycles")),
        ("next_cycles", spin(4096, "next_cycles")),
        ("cycles_per_element", spin(8, "cycles_per_element")),
        ("cycles_per_element_host", value(rows, "host", "pcie", 8, "cycles_per_element")),
    ];
    figures.extend(found.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))));
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "spin",
        "the numbers of messages do not count",
        "matching.c",
        "(number - m->next_message[from]) & 0xffff",
        "0",
    ),
    Broken::new(
        "spin",
        "a message may say that it is of another node",
        "matching.c",
        "(key & ~TAGS) != (VALID | from << 16)",
        "false",
    ),
    Broken::new(
        "spin",
        "data that wait for no other packet are a word late",
        "matching.c",
        "const uint8_t *bytes = spin_payload(h);",
        "const uint8_t *bytes = spin_payload(h) + (h->payload_len == h->msg_len && h->msg_len > 100 ? 4 : 0);",
    ),
    Broken::new(
        "spin",
        "the first packet of several has its header in the data",
        "matching.c",
        "skip = offset ? 0 : sizeof(struct head)",
        "skip = 0",
    ),
    Broken::new("spin", "a message that was taken is taken again", "matching.c", "take(&m->unexpected, i);", ""),
    Broken::new("spin", "a receive of any tag waits for tag 0", "matching.c", "wanted >> 31 ? TAGS : 0", "0"),
    Broken::new(
        "spin",
        "a message may be longer than it says",
        "matching.c",
        "(kind == EAGER ? length : 0))",
        "0 && 0)",
    ),
    Broken::new(
        "spin",
        "any node may have data put to receives",
        "matching.c",
        "h->src_nid != m->set.slots.node",
        "false",
    ),
];

/// A message: source, tag, whether it is eager, bytes.
type Message = (usize, u16, bool, usize);

/// Receiver, senders, and the model.
struct World<'a> {
    bench: &'a Bench,
    receiver: Rc<Receiver>,
    capacity: usize,
    /// Of each sender: its number of the next message, and memory of data and of headers with eager data.
    senders: Vec<(Host, u16, u64, u64)>,
    serial: usize,
    model: Mpi,
    random: ChaCha8Rng,
}

/// The receiver's host.
struct Receiver {
    host: Host,
    /// Context of the handlers, unless the host matches.
    context: Option<ContextId>,
    /// Records, buffers of receives, unexpected messages.
    memory: u64,
    capacity: usize,
    /// Windows of the data of long messages, and whether their buffers are posted.
    slots: Vec<Landing>,
    armed: RefCell<Vec<bool>>,
    /// Receives posted, and kept messages that were copied.
    number: Cell<u32>,
    copied: RefCell<VecDeque<u32>>,
    /// Of the host: all messages of each sender, how many it has taken, and its lists.
    arrivals: Vec<Posted>,
    taken: RefCell<[usize; NODES]>,
    posted: RefCell<Vec<Wanted>>,
    unexpected: RefCell<Vec<usize>>,
    statuses: RefCell<Vec<u8>>,
    /// Cycles of the processor.
    busy: Cell<u64>,
    /// Cycles in which the NIC matched the last message, and until it placed a packet that followed.
    cycles: Cell<(u32, u32)>,
}

/// What a header or a record says: source, tag, bytes.
fn status(key: u32, bytes: u32) -> Vec<u8> {
    [key << 1 >> 17, key & 0xFFFF, bytes].iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Receiver {
    fn new(bench: &Bench, host: Host, spin: bool, capacity: usize) -> Result<Receiver> {
        let bounces = RECORDS + SLOTS * capacity;
        let bytes = bounces + KEPT * EAGER;
        let memory = host.alloc(bytes)?;
        let operations = |address: u64| -> Result<_> {
            let (threshold, counting) = (1, Counting::Operations);
            let options = WindowOptions { address, key: KEY, threshold, counting, ..WindowOptions::default() };
            Ok(host.nic(|nic| nic.open_window(PROCESS, &options))?)
        };
        let mut slots = Vec::new();
        for slot in 0..SLOTS {
            let window = operations(SLOT + slot as u64)?;
            let buffer = memory + (RECORDS + slot * capacity) as u64;
            let posted = Posted { buffer, size: capacity as u32, record: host.alloc(64)? };
            slots.push(Landing { window, posted });
        }
        let (mut context, mut arrivals) = (None, Vec::new());
        if spin {
            host.endless_window(MEMORY, memory, bytes)?;
            let settings = [MEMORY as u32, RECORDS as u32, bounces as u32, capacity as u32];
            context = Some(install(bench, &host, (memory, RECORDS), &settings)?);
        } else {
            let size = HEADER + EAGER;
            let at = host.alloc(NODES * ARRIVALS * size)?;
            for source in 0..NODES {
                let lanes = (0..LANES).map(|lane| operations(lane_of(source, lane))).collect::<Result<Vec<_>>>()?;
                for number in 0..ARRIVALS {
                    let buffer = at + ((source * ARRIVALS + number) * size) as u64;
                    let posted = Posted { buffer, size: size as u32, record: host.alloc(64)? };
                    if source > 0 {
                        host.nic(|nic| nic.post(lanes[number % LANES], posted))?;
                    }
                    arrivals.push(posted);
                }
            }
        }
        host.listen()?;
        Ok(Receiver {
            host,
            context,
            memory,
            capacity,
            slots,
            armed: RefCell::new(vec![false; SLOTS]),
            number: Cell::new(0),
            copied: RefCell::default(),
            arrivals,
            taken: RefCell::default(),
            posted: RefCell::default(),
            unexpected: RefCell::default(),
            statuses: RefCell::new(vec![0; SLOTS * STATUS]),
            busy: Cell::new(0),
            cycles: Cell::new((0, 0)),
        })
    }

    /// The processor works so long; the host's own calls count what they take.
    fn works(&self, cycles: u64) {
        self.busy.set(self.busy.get() + cycles);
    }

    fn buffer(&self, slot: usize) -> u64 {
        self.memory + (RECORDS + slot * self.capacity) as u64
    }

    async fn work(&self, work: Work, bytes: usize) {
        self.works(self.host.cost().work(work, bytes));
        self.host.work(work, bytes).await;
    }

    /// Posts a receive, which the host matches at once with what it has.
    async fn post(&self, wanted: Wanted) -> Result<()> {
        let slot = wanted.slot;
        if slot < SLOTS {
            self.statuses.borrow_mut()[slot * STATUS..][..STATUS].fill(0);
            self.host.write(self.memory + (slot * RECORD) as u64, &[0; RECORD])?;
            let armed = self.armed.borrow_mut()[slot];
            if !armed {
                // The buffer for data that this host asks for, or its NIC does.
                let Landing { window, posted } = self.slots[slot];
                self.host.post(window, posted).await?;
                self.works(self.host.cost().overhead);
                self.armed.borrow_mut()[slot] = true;
            }
        }
        let Some(context) = self.context else {
            let mut searched = 0;
            let mut found = None;
            for (at, message) in self.unexpected.borrow().iter().enumerate() {
                let header = self.host.read(self.arrivals[*message].buffer, HEADER)?;
                searched += 1;
                if fits(&wanted, word(&header, 4)) {
                    found = Some(at);
                    break;
                }
            }
            self.work(Work::Filter, searched * ENTRY).await;
            match found {
                Some(at) => {
                    let message = self.unexpected.borrow_mut().remove(at);
                    self.finish(message, slot).await?;
                }
                None => self.posted.borrow_mut().push(wanted),
            }
            return Ok(());
        };
        let number = self.number.replace(self.number.get() + 1);
        let copied = self.copied.borrow_mut().pop_front().map_or(0, |kept| kept + 1);
        let any = u32::from(wanted.source.is_none()) << 30 | u32::from(wanted.tag.is_none()) << 31;
        let low = any | (wanted.source.unwrap_or(0) as u32) << 16 | u32::from(wanted.tag.unwrap_or(0));
        let high = number & 0xFFFF | (slot as u32) << 16 | copied << 24;
        self.works(self.host.cost().overhead);
        self.host.start_task(context, u64::from(high) << 32 | u64::from(low)).await
    }

    /// Waits until a receive is complete that the NIC matches, and copies what the NIC has kept.
    async fn complete(&self, slot: usize) -> Result<()> {
        let at = self.memory + (slot * RECORD) as u64;
        let record = self
            .host
            .until(|nic| {
                let mut record = [0; RECORD];
                nic.memory.read(at, &mut record)?;
                Ok((word(&record, 0) != 0).then_some(record))
            })
            .await?;
        let (kind, bytes) = (word(&record, 0), word(&record, 8));
        if kind & 0xFF == 0 {
            self.host.overhead().await;
        } else {
            self.host.record(&self.slots[slot].posted).await?;
            self.armed.borrow_mut()[slot] = false;
        }
        self.works(self.host.cost().overhead);
        if let Some(kept) = (kind >> 8 & 0xFF).checked_sub(1) {
            self.work(Work::Copy, bytes as usize).await;
            let from = self.memory + (RECORDS + SLOTS * self.capacity + kept as usize * EAGER) as u64;
            self.host.write(self.buffer(slot), &self.host.read(from, bytes as usize)?)?;
            self.copied.borrow_mut().push_back(kept);
        }
        self.cycles.set((word(&record, 12) & 0xFFFF, word(&record, 12) >> 16));
        self.statuses.borrow_mut()[slot * STATUS..][..STATUS].copy_from_slice(&status(word(&record, 4), bytes));
        Ok(())
    }

    /// Takes the next message and matches it.
    async fn arrive(&self) -> Result<()> {
        // The messages of a sender are taken in the order of their numbers.
        let next = |nic: &mut Node| {
            for (source, number) in self.taken.borrow().iter().enumerate().skip(1) {
                let message = source * ARRIVALS + number;
                if nic.poll(&self.arrivals[message])?.is_some() {
                    return Ok(Some(message));
                }
            }
            Ok(None)
        };
        let message = self.host.until(next).await?;
        self.taken.borrow_mut()[message / ARRIVALS] += 1;
        let arrival = self.arrivals[message];
        self.host.record(&arrival).await?;
        self.works(self.host.cost().overhead);
        let key = word(&self.host.read(arrival.buffer, HEADER)?, 4);
        let found = self.posted.borrow().iter().position(|wanted| fits(wanted, key));
        let searched = found.map_or(self.posted.borrow().len(), |at| at + 1);
        self.work(Work::Filter, searched * ENTRY).await;
        match found {
            Some(at) => {
                let slot = self.posted.borrow_mut().remove(at).slot;
                self.finish(message, slot).await
            }
            None => {
                self.unexpected.borrow_mut().push(message);
                Ok(())
            }
        }
    }

    /// Copies the data of a message to its receive, or gets them from the sender.
    async fn finish(&self, message: usize, slot: usize) -> Result<()> {
        let arrival = self.arrivals[message].buffer;
        let header = self.host.read(arrival, HEADER)?;
        let (kind, key, bytes, offset) = (word(&header, 0), word(&header, 4), word(&header, 8), word(&header, 12));
        if kind & 0xFFFF == 0 {
            self.work(Work::Copy, bytes as usize).await;
            self.host.write(self.buffer(slot), &self.host.read(arrival + HEADER as u64, bytes as usize)?)?;
        } else {
            let from = window_of((key << 1 >> 17) as usize, MEMORY, offset as usize);
            self.works(2 * self.host.cost().overhead);
            self.host.get_all(&[(bytes as usize, from, SLOT + slot as u64)]).await?;
            self.host.record(&self.slots[slot].posted).await?;
            self.armed.borrow_mut()[slot] = false;
        }
        self.statuses.borrow_mut()[slot * STATUS..][..STATUS].copy_from_slice(&status(key, bytes));
        Ok(())
    }
}

/// Address of a window of the host for messages of a sender.
fn lane_of(source: usize, number: usize) -> u64 {
    LANE + (source * LANES + number % LANES) as u64
}

/// A receive fits a message with this word of source and tag.
fn fits(wanted: &Wanted, key: u32) -> bool {
    wanted.source.is_none_or(|source| source as u32 == key << 1 >> 17)
        && wanted.tag.is_none_or(|tag| u32::from(tag) == key & 0xFFFF)
}

fn install(bench: &Bench, host: &Host, (address, bytes): (u64, usize), memory: &[u32; 4]) -> Result<ContextId> {
    let handler = bench.compile(HANDLERS, "matching.c")?;
    let host_region = Some((address, bytes as u32));
    let options = ContextOptions { host_region, core_mask: CORES, ..ContextOptions::default() };
    let rule = format!("spindle.addr == {MATCH}");
    let context = host.install(&handler.image, &rule, &options, Action::ContextPerMessage)?;
    let target = |mailbox: u64| [0, PROCESS as u32, mailbox as u32, (mailbox >> 32) as u32, KEY, 0];
    let settings = [&memory[..], &target(SLOT), &target(MATCH)].concat();
    host.set_words(context, &handler, "settings", &settings)?;
    Ok(context)
}

impl<'a> World<'a> {
    fn new(bench: &'a Bench, spin: bool, point: usize) -> Result<Self> {
        let capacity = point.max(EAGER);
        let hosts = bench.hosts();
        let (receiver, senders) = bench.set_up(|| {
            let receiver = Receiver::new(bench, hosts[0].clone(), spin, capacity)?;
            let mut senders = Vec::new();
            for host in &hosts[1..] {
                let data = host.alloc(PLACES * capacity)?;
                if spin {
                    install(bench, host, (data, PLACES * capacity), &[0; 4])?;
                } else {
                    host.endless_window(MEMORY, data, PLACES * capacity)?;
                }
                host.listen()?;
                senders.push((host.clone(), 0, data, host.alloc(PLACES * 2 * EAGER)?));
            }
            Ok((receiver, senders))
        })?;
        let (receiver, model) = (Rc::new(receiver), Mpi::new(SLOTS, capacity));
        let random = ChaCha8Rng::seed_from_u64(point as u64);
        Ok(World { bench, receiver, capacity, senders, serial: 0, model, random })
    }

    /// Writes a message to its sender's memory; the put that sends it. The model has it.
    fn message(&mut self, (source, tag, eager, bytes): Message) -> Result<((u64, usize, Target), Option<usize>)> {
        self.serial += 1;
        let place = self.serial % PLACES;
        let (host, number, data, headers) = &mut self.senders[source - 1];
        let (offset, at) = (place * self.capacity, *headers + (place * 2 * EAGER) as u64);
        let content = model::data(self.serial, bytes);
        let mut message = model::header(eager, *number, source, tag, bytes, offset);
        let address = if self.receiver.context.is_some() { MATCH } else { lane_of(source, usize::from(*number)) };
        ensure!(usize::from(*number) < ARRIVALS, "more messages than buffers");
        *number += 1;
        if eager {
            message.extend(&content);
        } else {
            host.write(*data + offset as u64, &content)?;
        }
        host.write(at, &message)?;
        let completes = self.model.arrive(source, tag, content);
        Ok(((at, message.len(), window_of(0, address, 0)), completes))
    }

    /// A sender sends messages with one doorbell; cycles until the receiver has all that match.
    fn send(&mut self, messages: &[Message]) -> Result<u64> {
        let (mut puts, mut completed) = (Vec::new(), Vec::new());
        for message in messages {
            let (put, completes) = self.message(*message)?;
            puts.push(put);
            completed.extend(completes);
        }
        let host = self.senders[messages[0].0 - 1].0.clone();
        let early = completed.len() < messages.len();
        let (start, end) = (self.bench.now(), Rc::new(Cell::new(0)));
        let (receiver, seen, count) = (self.receiver.clone(), end.clone(), messages.len());
        self.bench.run(vec![
            Box::pin(async move { host.put_all(&puts).await }),
            Box::pin(async move {
                if receiver.context.is_some() {
                    for slot in completed {
                        receiver.complete(slot).await?;
                    }
                } else {
                    for _ in 0..count {
                        receiver.arrive().await?;
                    }
                }
                seen.set(receiver.host.now());
                Ok(())
            }),
        ])?;
        self.bench.idle(if early && self.receiver.context.is_some() { LANDS } else { QUIET });
        Ok(end.get() - start)
    }

    /// The receiver posts receives; cycles until it has all that match.
    fn post(&mut self, receives: &[Wanted]) -> Result<u64> {
        let completed: Vec<bool> = receives.iter().map(|wanted| self.model.post(*wanted)).collect();
        let (receiver, receives) = (self.receiver.clone(), receives.to_vec());
        let (start, end) = (self.bench.now(), Rc::new(Cell::new(0)));
        let seen = end.clone();
        let program: Program = Box::pin(async move {
            for wanted in &receives {
                receiver.post(*wanted).await?;
                if receives.len() > 1 {
                    // The next task must not be started before this one was.
                    receiver.host.busy(APART).await;
                }
            }
            for (wanted, completed) in receives.iter().zip(completed) {
                if completed && receiver.context.is_some() {
                    receiver.complete(wanted.slot).await?;
                }
            }
            seen.set(receiver.host.now());
            Ok(())
        });
        self.bench.run(vec![program])?;
        self.bench.idle(QUIET);
        Ok(end.get() - start)
    }

    /// Posts receives that nothing matches.
    fn others(&mut self, range: std::ops::Range<usize>) -> Result<()> {
        let receiver = self.receiver.clone();
        self.bench.run(vec![Box::pin(async move {
            for i in range {
                let wanted = Wanted { slot: SLOTS + i, source: Some(1), tag: Some(TAG + i as u16) };
                receiver.post(wanted).await?;
                receiver.host.busy(APART).await;
            }
            Ok(())
        })])?;
        self.bench.idle(QUIET);
        Ok(())
    }

    /// A message whose receive is posted.
    fn expected(&mut self, bytes: usize) -> Result<u64> {
        self.post(&[Wanted { slot: 0, source: Some(1), tag: Some(TAG) }])?;
        let cycles = self.send(&[(1, TAG, bytes < LONG, bytes)])?;
        self.compare()?;
        Ok(cycles)
    }

    /// A message that comes before its receive: cycles from the call of the receive.
    fn unexpected(&mut self, bytes: usize) -> Result<u64> {
        self.send(&[(1, TAG, bytes < LONG, bytes)])?;
        let cycles = self.post(&[Wanted { slot: 0, source: Some(1), tag: Some(TAG) }])?;
        self.compare()?;
        Ok(cycles)
    }

    /// Eager messages of several packets, with their receives posted, and before them.
    fn packets(&mut self) -> Result<()> {
        let wanted = |slot| Wanted { slot, source: Some(2), tag: None };
        self.post(&[wanted(1), wanted(2)])?;
        self.send(&[(2, TAG, true, EAGER), (2, TAG, true, 1393)])?;
        self.compare()?;
        self.send(&[(2, TAG, true, 2000), (2, TAG, true, EAGER)])?;
        self.post(&[wanted(3), wanted(4)])?;
        self.compare()
    }

    /// Random messages and receives, wildcards among them, until both lists are empty again.
    fn order(&mut self) -> Result<()> {
        let lengths = [0, 1, 8, 100, 1392, 1393, 2000, EAGER];
        let long = [1, 64, 3000, self.capacity];
        for step in 0..STEPS {
            let (waiting, early) = (self.model.posted.len(), self.model.unexpected.len());
            let count = self.random.random_range(1..=3);
            if waiting > SLOTS - 4 || (early <= SLOTS - 4 && self.random.random_bool(0.5)) {
                let source = self.random.random_range(1..NODES);
                let messages: Vec<Message> = (0..count)
                    .map(|_| {
                        let eager = self.random.random_bool(0.7);
                        let lengths = if eager { &lengths[..] } else { &long[..] };
                        let bytes = lengths[self.random.random_range(0..lengths.len())];
                        (source, self.random.random_range(0..3), eager, bytes)
                    })
                    .collect();
                self.send(&messages)?;
            } else {
                let receives: Vec<Wanted> = (0..count)
                    .map(|i| Wanted {
                        slot: self.free()[i],
                        source: self.random.random_bool(0.6).then(|| self.random.random_range(1..NODES)),
                        tag: self.random.random_bool(0.6).then(|| self.random.random_range(0..3)),
                    })
                    .collect();
                self.post(&receives)?;
            }
            self.compare().with_context(|| format!("step {step} of the test of order"))?;
        }
        while !self.model.unexpected.is_empty() {
            let slot = self.free()[0];
            self.post(&[Wanted { slot, source: None, tag: None }])?;
        }
        while let Some(wanted) = self.model.posted.first().copied() {
            self.send(&[(wanted.source.unwrap_or(2), wanted.tag.unwrap_or(2), true, 8)])?;
        }
        self.compare()
    }

    /// Slots of receives that are not posted.
    fn free(&self) -> Vec<usize> {
        (0..SLOTS).filter(|slot| self.model.posted.iter().all(|wanted| wanted.slot != *slot)).collect()
    }

    /// Messages that have no effect: to the receiver, and to a sender whose NIC answers requests.
    fn refused(&mut self) -> Result<()> {
        if self.receiver.context.is_none() {
            return Ok(());
        }
        self.post(&[Wanted { slot: 0, source: None, tag: None }])?;
        let (node, number) = (&self.senders[0].0, self.senders[0].1);
        let mut programs: Vec<(Host, usize, Vec<u8>)> =
            model::malformed(number, self.capacity).into_iter().map(|message| (node.clone(), 0, message)).collect();
        // Of a node that is not the receiver, and of the receiver for bytes that are not the sender's.
        programs.push((self.senders[1].0.clone(), 1, model::ask(0, 64, 0)));
        let all = PLACES * self.capacity;
        for (slot, bytes, offset) in [(0, 64, all - 63), (0, usize::MAX >> 32, 8), (80, 8, 0), (0, 0, 0)] {
            programs.push((self.receiver.host.clone(), 1, model::ask(slot, bytes, offset)));
        }
        let mut puts = vec![Vec::new(); NODES];
        for (host, to, message) in programs {
            let from = host.alloc(message.len())?;
            host.write(from, &message)?;
            puts[host.number()].push((from, message.len(), window_of(to, MATCH, 0)));
        }
        let programs = puts.into_iter().enumerate().map(|(node, puts)| -> Program {
            let host = self.bench.host(node);
            Box::pin(async move { host.put_all(&puts).await })
        });
        self.bench.run(programs.collect())?;
        self.bench.idle(LANDS);
        self.compare()?;
        self.send(&[(1, 1, true, 64)])?;
        self.compare()
    }

    /// Compares all buffers of receives, and what the host knows of each.
    fn compare(&self) -> Result<()> {
        let receiver = &self.receiver;
        let buffers = receiver.host.read(receiver.buffer(0), SLOTS * self.capacity)?;
        self.bench.expect("the buffers of the receives", &buffers, &self.model.buffers)?;
        self.bench.expect("sources, tags and lengths", &receiver.statuses.borrow(), &self.model.statuses)?;
        if receiver.context.is_some() {
            // No receive that waits has a record.
            for wanted in &self.model.posted {
                let record = receiver.host.read(receiver.memory + (wanted.slot * RECORD) as u64, RECORD)?;
                self.bench.expect("the record of a receive that waits", &record, &[0; RECORD])?;
            }
        }
        Ok(())
    }
}
