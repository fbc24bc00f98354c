//! Epochs of MPI's one-sided communication over TAGGED windows, a window that moves to another process between two of them, and the
//! return to the last one after an origin's death.

mod model;

use crate::bench::{Bench, Host, Program, Setting, KEY, PROCESS};
use crate::case::{ratios, value, Broken, Case, Measured, Mode, Row, HOSTS};
use anyhow::{ensure, Context, Result};
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::window::WindowOptions;
use spindle::{ContextId, ContextOptions, EventKind, EventRing, Kind, Rule, Target};
use spindle_contract::wire::status;
use spindle_sdk::Handler;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

const MODES: &[Mode] = &[
    Mode {
        name: "spin",
        about: "the origin names the old process for ever; a handler has each packet, and a word says to which process it belongs",
    },
    Mode { name: "rule", about: "the same; the handler has packets after the move only, by a rule that is changed then" },
    Mode { name: "exchange", about: "the end of the epoch names the process that has the window now" },
];
const HANDLERS: &[(&str, &str)] = &[("moved.c", include_str!("handlers/moved.c"))];
/// The target, the origin that dies, and the one that takes over.
const TARGET: usize = 0;
const ORIGIN: usize = 1;
const SPARE: usize = 2;
/// The process that has the window first, and the one that has it then.
const OLD: usize = PROCESS;
const NEW: usize = 1;
/// A number that no process has: that of the handler's rule before the move, so that one number changes then.
const NO_PROCESS: usize = 0xFFFF;
/// Puts of an epoch.
const PUTS: usize = 4;
/// Epochs before the move, in which handlers run for the first time on some processor, and those that are measured.
const EARLY: usize = 8;
const BEFORE: usize = 4;
/// Epochs after the move: likewise.
const COLD: usize = 8;
const AFTER: usize = 4;
/// The epoch after which the window moves, that in which an origin dies, and that in which another one repeats it.
const MOVE: usize = EARLY + BEFORE + 1;
const DEATH: usize = MOVE + COLD + AFTER;
const AGAIN: usize = DEATH + 1;
/// Buffers that a process posts when it opens the window; the others follow before they are needed.
const POSTED: usize = 2;
/// The window at the target, and that in which an origin is allowed the next epoch.
const WINDOW: u64 = 0x300;
const GO: u64 = 0x301;
/// Bytes of a permission: its number, the epoch, the process.
const PERMISSION: usize = 16;
const QUIET: u64 = 1000;

/// The case.
pub const CASE: Case = Case {
    name: "mpi-rma",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

const BROKEN: &[Broken] = &[
    Broken::new("spin", "epochs of the old process are used", "moved.c", "epoch - first", "epoch"),
    Broken::new("spin", "the move is not seen", "moved.c", "moved ? SPIN_PROCESS_DATA : SPIN_PROCEED", "SPIN_PROCEED"),
    Broken::new("spin", "all packets lie at the beginning", "moved.c", "p->buf_off + p->msg_off", "0"),
];

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let bench = setting.bench(3)?;
    let bytes = point as usize;
    let (spin, rule) = (mode != "exchange", mode == "rule");
    let target = Receiver::new(&bench, spin, rule, bytes)?;
    bench.hosts().iter().try_for_each(Host::listen)?;
    let origin = Origin::new(&bench, ORIGIN, spin, bytes)?;
    epochs(&bench, &target, &origin, 0..EARLY)?;
    // The last epoch before the move has the move in its fence.
    let before = epochs(&bench, &target, &origin, EARLY..MOVE)?;
    let before = &before[..BEFORE];
    let after = epochs(&bench, &target, &origin, MOVE..MOVE + COLD)?;
    if spin {
        malformed(&bench, &target)?;
    }
    let warm = epochs(&bench, &target, &origin, MOVE + COLD..DEATH)?;
    let rewind = death(&bench, &target, &origin)?;
    let spare = Origin::new(&bench, SPARE, spin, bytes)?;
    spare.follow(&origin, AGAIN);
    epochs(&bench, &target, &spare, AGAIN..AGAIN + 1)?;
    let mean = |cycles: &[(u64, u64)], part: fn(&(u64, u64)) -> u64| {
        cycles.iter().map(part).sum::<u64>() as f64 / cycles.len() as f64
    };
    Measured::new(
        &bench,
        [
            ("epoch_ns", setting.ns(mean(before, |epoch| epoch.0))),
            ("fence_cycles", mean(before, |epoch| epoch.1)),
            ("move_cycles", target.moved.get() as f64),
            ("first_epoch_ns", setting.ns(after[0].0 as f64)),
            ("moved_epoch_ns", setting.ns(mean(&warm, |epoch| epoch.0))),
            ("moved_fence_cycles", mean(&warm, |epoch| epoch.1)),
            ("rewind_cycles", rewind as f64),
        ],
    )
}

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    const SIZES: [(u64, &str); 3] = [(256, "256"), (4096, "4k"), (65536, "64k")];
    let mut figures = ratios(rows, "moved_epoch_ns", &SIZES, &[("spin", "exchange", "moved")]);
    figures.extend(ratios(rows, "epoch_ns", &SIZES, &[("spin", "exchange", "before")]));
    for (host, ending) in HOSTS {
        for (bytes, text) in SIZES {
            for (mode, name, what) in [
                ("spin", "fence_cycles", "fence_cycles"),
                ("spin", "move_cycles", "move_cycles"),
                ("rule", "move_cycles", "rule_move_cycles"),
                ("exchange", "move_cycles", "exchange_move_cycles"),
                ("spin", "rewind_cycles", "rewind_cycles"),
            ] {
                let cycles = value(rows, mode, host, bytes, name);
                figures.extend(cycles.map(|cycles| (format!("{what}_{text}{ending}"), cycles)));
            }
        }
    }
    figures
}

/// A process's end of the window.
struct Side {
    process: usize,
    window: Window,
    buffers: Vec<Posted>,
}

impl Side {
    /// Opens the window for a process.
    fn open(host: &Host, process: usize, bytes: usize, posted: &[Posted]) -> Result<Side> {
        let options = WindowOptions {
            address: WINDOW,
            key: KEY,
            threshold: bytes as u32,
            tagged: true,
            ..WindowOptions::default()
        };
        let window = host.nic(|nic| nic.open_window(process, &options))?;
        let mut side = Side { process, window, buffers: Vec::new() };
        side.post(host, posted)?;
        Ok(side)
    }

    fn post(&mut self, host: &Host, posted: &[Posted]) -> Result<()> {
        for posted in posted {
            host.nic(|nic| nic.post(self.window, *posted))?;
        }
        self.buffers.extend(posted);
        Ok(())
    }
}

/// The puts that name the window as that of a process.
fn named(process: usize) -> Result<Rule> {
    Ok(format!("spindle.addr == {WINDOW} && spindle.dst_pid == {process} && spindle.key == {KEY}").parse()?)
}

/// The target's host.
#[derive(Clone)]
struct Receiver {
    host: Host,
    bytes: usize,
    /// Of each epoch.
    posted: Rc<Vec<Posted>>,
    side: Rc<RefCell<Side>>,
    /// Permissions that leave.
    permissions: u64,
    spin: Option<(ContextId, Rc<Handler>)>,
    /// The handler has no packets before the move.
    rule: bool,
    /// Cycles of the move.
    moved: Rc<Cell<u64>>,
}

impl Receiver {
    fn new(bench: &Bench, spin: bool, rule: bool, bytes: usize) -> Result<Receiver> {
        let host = bench.host(TARGET);
        let post = |_| Ok(Posted { buffer: host.alloc(bytes)?, size: bytes as u32, record: host.alloc(64)? });
        let posted = (0..AGAIN + 1).map(post).collect::<Result<Vec<_>>>()?;
        let side = Side::open(&host, OLD, bytes, &posted[..MOVE])?;
        let permissions = host.alloc((AGAIN + 1) * PERMISSION)?;
        let mut installed = None;
        if spin {
            // The handler and its rule are there before the window moves.
            let handler = bench.compile(HANDLERS, "moved.c")?;
            let options = ContextOptions { process: NEW as u8, ..ContextOptions::default() };
            let context = host.nic(|nic| nic.install(&handler.image, &options))?;
            host.set_words(context, &handler, "window", &[WINDOW as u32, (WINDOW >> 32) as u32])?;
            host.set_word(context, &handler, "first", MOVE as u32)?;
            host.set_word(context, &handler, "moved", rule.into())?;
            let of_window = named(if rule { NO_PROCESS } else { OLD })?;
            host.nic(|nic| nic.add_rule(&of_window, Action::ContextPerMessage(context)))?;
            host.nic(|nic| nic.activate(context))?;
            installed = Some((context, Rc::new(handler)));
        }
        let (side, posted) = (Rc::new(RefCell::new(side)), Rc::new(posted));
        Ok(Receiver { host, bytes, posted, side, permissions, spin: installed, rule, moved: Rc::default() })
    }

    /// The fence of MPI at the target: waits for the bytes of the epoch, moves the window after the last epoch of a process, and allows
    /// the origin the next epoch.
    async fn fence(&self, epoch: usize, origin: usize) -> Result<()> {
        self.host.record(&self.posted[epoch]).await?;
        if epoch + 1 == MOVE {
            self.move_window().await?;
        }
        let side = self.side.borrow().process;
        // A window counts the epochs since it was opened.
        let tag = if self.spin.is_none() && side == NEW { epoch + 1 - MOVE } else { epoch + 1 };
        let at = self.permissions + (epoch * PERMISSION) as u64;
        let words = [epoch as u32 + 1, tag as u32, side as u32, 0];
        self.host.write(at, &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())?;
        let to =
            Target { node: origin as u8, process: PROCESS as u16, address: GO, key: KEY, offset: 0, kind: Kind::Bound };
        self.host.put(at, PERMISSION, &to).await
    }

    /// The old process closes the window, and the new one opens it.
    async fn move_window(&self) -> Result<()> {
        let start = self.host.now();
        self.host.overhead().await;
        let old = self.side.borrow().window;
        self.host.nic(|nic| nic.close_window(old))?;
        let side = Side::open(&self.host, NEW, self.bytes, &self.posted[MOVE..MOVE + POSTED])?;
        if let Some((context, handler)) = &self.spin {
            if self.rule {
                let rules = [(named(OLD)?, Action::ContextPerMessage(*context)), ("spindle".parse()?, Action::Mailbox)];
                self.host.nic(|nic| nic.replace_rules(rules.iter().map(|(rule, action)| (rule, *action))))?;
            } else {
                self.host.set_word(*context, handler, "moved", 1)?;
            }
        }
        self.side.replace(side);
        self.moved.set(self.host.now() - start);
        Ok(())
    }

    /// Posts what the window's process has not posted yet.
    fn post_all(&self) -> Result<()> {
        let mut side = self.side.borrow_mut();
        if side.process == NEW && side.buffers.len() == POSTED {
            side.post(&self.host, &self.posted[MOVE + POSTED..])?;
        }
        Ok(())
    }

    fn buffer(&self, epoch: usize) -> Result<Vec<u8>> {
        self.host.read(self.posted[epoch].buffer, self.bytes)
    }
}

/// An origin. Of a window it knows node, process, address and key; its program has no word of the move in mode `spin`.
struct Origin {
    host: Host,
    bytes: usize,
    from: u64,
    permission: u64,
    ring: RefCell<EventRing>,
    /// Epoch, and what it is called in a put.
    epoch: Cell<usize>,
    tag: Cell<u16>,
    process: Cell<u16>,
    /// It believes what a permission says of process and epoch.
    exchanges: bool,
}

impl Origin {
    fn new(bench: &Bench, number: usize, spin: bool, bytes: usize) -> Result<Rc<Origin>> {
        let host = bench.host(number);
        let (from, permission) = (host.alloc(bytes)?, host.alloc(PERMISSION)?);
        host.endless_window(GO, permission, PERMISSION)?;
        let ring = RefCell::new(host.nic(|nic| nic.open_ring(PROCESS, 64))?);
        let (epoch, tag, process) = (Cell::new(0), Cell::new(0), Cell::new(OLD as u16));
        Ok(Rc::new(Origin { host, bytes, from, permission, ring, epoch, tag, process, exchanges: !spin }))
    }

    /// Takes over from another origin.
    fn follow(&self, other: &Origin, epoch: usize) {
        self.epoch.set(epoch);
        self.tag.set(other.tag.get() + 1);
        self.process.set(other.process.get());
    }

    /// Puts of MPI of bytes of the epoch, from a put of it on.
    async fn puts(&self, puts: Range<usize>) -> Result<()> {
        let piece = self.bytes / PUTS;
        let put = |at: usize| {
            let (process, tag) = (self.process.get(), self.tag.get());
            let offset = (at * piece) as u32;
            let to = Target { node: TARGET as u8, process, address: WINDOW, key: KEY, offset, kind: Kind::Tagged(tag) };
            (self.from + u64::from(offset), piece, to)
        };
        self.host.put_all(&puts.map(put).collect::<Vec<_>>()).await
    }

    /// The fence of MPI at an origin: its puts have been acknowledged, and the target has ended the epoch.
    async fn fence(&self) -> Result<()> {
        for _ in 0..PUTS {
            let event = self.host.until(|nic| Ok(nic.poll_event(&mut self.ring.borrow_mut())?)).await?;
            ensure!(matches!(event.kind, EventKind::Put { acknowledged: true, .. }), "a put ended as {event:?}");
        }
        let next = self.epoch.get() + 1;
        let words = self
            .host
            .until(|nic| {
                let mut bytes = [0; PERMISSION];
                spindle::HostMemory::read(&nic.memory, self.permission, &mut bytes)?;
                let words: Vec<u32> =
                    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default())).collect();
                Ok((words[0] == next as u32).then_some(words))
            })
            .await?;
        self.host.overhead().await;
        self.epoch.set(next);
        self.tag.set(self.tag.get() + 1);
        if self.exchanges {
            self.tag.set(words[1] as u16);
            self.process.set(words[2] as u16);
        }
        Ok(())
    }
}

/// Epochs of an origin: cycles of each, and of its fence. Compares all of them.
fn epochs(bench: &Bench, target: &Receiver, origin: &Rc<Origin>, numbers: Range<usize>) -> Result<Vec<(u64, u64)>> {
    target.post_all()?;
    bench.idle(QUIET);
    let cycles = Rc::new(RefCell::new(Vec::new()));
    let (taker, giver, all, times) = (target.clone(), origin.clone(), numbers.clone(), cycles.clone());
    let node = origin.host.number();
    let programs: Vec<Program> = vec![
        Box::pin(async move {
            for epoch in all {
                taker.fence(epoch, node).await?;
            }
            Ok(())
        }),
        Box::pin({
            let numbers = numbers.clone();
            async move {
                for epoch in numbers {
                    giver.host.write(giver.from, &model::epoch(epoch, giver.bytes))?;
                    let start = giver.host.now();
                    giver.puts(0..PUTS).await?;
                    let left = giver.host.now();
                    giver.fence().await?;
                    let end = giver.host.now();
                    times.borrow_mut().push((end - start, end - left));
                }
                Ok(())
            }
        }),
    ];
    bench.run(programs)?;
    bench.idle(QUIET);
    for epoch in numbers {
        bench.expect(&format!("epoch {epoch}"), &target.buffer(epoch)?, &model::epoch(epoch, target.bytes))?;
    }
    Ok(cycles.take())
}

/// Puts that the handler must not place: without an epoch, beyond the window, of an epoch for which there is no buffer.
fn malformed(bench: &Bench, target: &Receiver) -> Result<()> {
    let host = bench.host(SPARE);
    let from = host.alloc(64)?;
    host.write(from, &[0xEE; 64])?;
    let next = (MOVE + COLD) as u16;
    let bytes = target.bytes as u32;
    let bad = [
        (Kind::Bound, 0),
        (Kind::Tagged(next), bytes - 32),
        (Kind::Tagged(next), u32::MAX - 8),
        (Kind::Tagged(1), 0),
        (Kind::Tagged(next + 100), 0),
    ];
    let puts: Vec<_> = bad
        .into_iter()
        .map(|(kind, offset)| {
            let to = Target { node: TARGET as u8, process: OLD as u16, address: WINDOW, key: KEY, offset, kind };
            (from, 64, to)
        })
        .collect();
    bench.run(vec![Box::pin(async move { host.put_all(&puts).await })])?;
    bench.idle(2 * QUIET);
    for epoch in MOVE + COLD..AGAIN + 1 {
        bench.expect("a buffer after puts that are refused", &target.buffer(epoch)?, &vec![0; target.bytes])?;
    }
    Ok(())
}

/// An origin dies when half of its puts of an epoch have arrived: cycles of `MPIX_Rewind` at the target, from the decision to go back until
/// it has the epoch before. Compares that epoch and what has arrived.
fn death(bench: &Bench, target: &Receiver, origin: &Rc<Origin>) -> Result<u64> {
    let (bytes, dying) = (target.bytes, origin.clone());
    dying.host.write(dying.from, &model::epoch(DEATH, bytes))?;
    bench.run(vec![Box::pin(async move { dying.puts(0..PUTS / 2).await })])?;
    bench.idle(2 * QUIET + bytes as u64 / 32);
    let found = Rc::new(Cell::new((0, None)));
    let (host, window, seen) = (target.host.clone(), target.side.borrow().window, found.clone());
    bench.run(vec![Box::pin(async move {
        let start = host.now();
        host.overhead().await;
        // The partial buffer is the last one then.
        host.nic(|nic| nic.inc_epoch(window))?;
        let address = host.nic(|nic| nic.rewind(window, 1))?;
        seen.set((host.now() - start, address));
        Ok(())
    })])?;
    bench.idle(QUIET);
    let (cycles, address) = found.get();
    let record = target.host.nic(|nic| nic.poll(&target.posted[DEATH]))?.context("the partial buffer has no record")?;
    ensure!(
        record.status == status::PARTIAL && record.length as usize == bytes / 2,
        "the partial buffer ended as {record:?}"
    );
    let at = address.context("the NIC remembers no epoch before")?;
    bench.expect("the epoch before", &target.host.read(at, bytes)?, &model::epoch(DEATH - 1, bytes))?;
    bench.expect("what has arrived", &target.buffer(DEATH)?, &model::part(DEATH, bytes / 2, bytes))?;
    Ok(cycles)
}
