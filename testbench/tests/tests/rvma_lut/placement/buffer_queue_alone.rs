//! The buffer queue alone, against a list of buffers for each mailbox: any mode, any order of commands, reservations, freed slots
//! and window moves; every head, every answer and every event in its cycle.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::placement::buffer_queue::BufferQueue;
use rvma_lut::placement::queue_types::{MessageSpan, Tag};
use rvma_lut::types::{BufferEntry, QueueCommand, RecordEntry, QUEUE_CUT, QUEUE_END, QUEUE_INIT, QUEUE_POST};
use spindle_blocks::RamStyle;
use spindle_contract::params::STREAM_BITS;
use spindle_harness::{near, random_bits, random_value, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const MAILBOXES: usize = 4096;
const SLOTS: usize = 16384;
const WINDOWS: usize = MAILBOXES / 8;
/// Buffers of a window.
const WINDOW: usize = 4;
const ORDINALS: u64 = 1 << STREAM_BITS;

/// Cycles from the start of a command or a move to its end; of another head, and of an emptied window, that many more.
const COMMAND: u64 = 4;
const NEXT_HEAD: u64 = 3;
const EMPTY: u64 = 4;
/// Cycles from the start of a command to the pulse `posted`.
const POSTED: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    TaggedBytes,
    Stream,
    Operations,
    Managed,
    TaggedOperations,
    Bytes,
}

const MODES: [Mode; 6] =
    [Mode::TaggedBytes, Mode::Stream, Mode::Operations, Mode::Managed, Mode::TaggedOperations, Mode::Bytes];

/// A buffer that is not free.
#[derive(Clone, Debug)]
struct Buffer {
    slot: u64,
    base: u64,
    size: u32,
    /// Bytes of its messages, modulo 2^32.
    reserved: u32,
    /// Bytes or operations of its messages.
    counted: u64,
    /// It takes messages.
    open: bool,
}

#[derive(Clone, Debug, Default)]
struct Mailbox {
    open: bool,
    /// Managed: bytes that must be left, less one.
    threshold: u32,
    ops: bool,
    managed: bool,
    tagged: bool,
    ordered: bool,
    event: bool,
    window: u64,
    /// A stream: ordinal of the next message.
    next: u64,
    posted: u16,
    buffers: VecDeque<Buffer>,
}

/// A message that is to be bound.
#[derive(Clone, Copy, Debug)]
struct Message {
    mailbox: u64,
    epoch: u64,
    span: MessageSpan,
    frame: u64,
}

/// What a message finds: the buffer by its place in the list.
#[derive(Debug)]
struct Found {
    buffer: Option<usize>,
    stale: bool,
    epoch: u16,
    credit: u16,
}

impl Mailbox {
    fn messages_find(&self, epoch: u64) -> Found {
        if self.tagged {
            // The window: the oldest buffers that are not done.
            let oldest = self.posted.wrapping_sub(self.buffers.len() as u16);
            let ahead = (epoch as u16).wrapping_sub(oldest);
            let buffer = usize::from(ahead);
            let there = buffer < WINDOW.min(self.buffers.len());
            let open = there && self.buffers[buffer].open;
            return Found {
                buffer: open.then_some(buffer),
                stale: (ahead as i16) < 0 || (there && !open),
                epoch: oldest,
                credit: self.buffers.len() as u16,
            };
        }
        let credit = self.waiting();
        let ahead = epoch.wrapping_sub(self.next) % ORDINALS;
        let turn = !self.ordered || ahead == 0;
        Found {
            buffer: self.buffers.iter().position(|buffer| buffer.open).filter(|_| turn),
            stale: self.ordered && ahead >= ORDINALS / 2,
            epoch: self.posted.wrapping_sub(credit),
            credit,
        }
    }

    /// Buffers that take messages, or will.
    fn waiting(&self) -> u16 {
        self.buffers.iter().filter(|buffer| buffer.open).count() as u16
    }

    /// Bytes that a message may reach into the buffer.
    fn room(&self, buffer: &Buffer) -> u32 {
        if self.managed {
            buffer.size - buffer.reserved
        } else {
            buffer.size
        }
    }

    /// Binds a message. Returns whether its buffer takes no more.
    fn bind(&mut self, buffer: usize, length: u32) -> bool {
        let (managed, ops, threshold) = (self.managed, self.ops, u64::from(self.threshold));
        let buffer = &mut self.buffers[buffer];
        buffer.reserved = buffer.reserved.wrapping_add(length);
        buffer.counted += if ops { 1 } else { u64::from(length) };
        let closes =
            if managed { u64::from(buffer.size) - buffer.counted <= threshold } else { buffer.counted >= threshold };
        buffer.open = !closes;
        if self.ordered {
            self.next = (self.next + 1) % ORDINALS;
        }
        closes
    }

    /// A buffer of this size is refused.
    fn is_small(&self, size: u32) -> bool {
        !self.ops && if self.managed { size <= self.threshold } else { size < self.threshold }
    }
}

/// The sequencer is not in state `Run`.
#[derive(Clone, Copy, Debug)]
struct Busy {
    /// Cycle of its last state.
    last: u64,
    /// `done`, with `ok` and `small` where they count.
    done: Option<(Option<bool>, Option<bool>)>,
    /// The freed slot is taken then.
    moves: bool,
}

/// An event of a buffer: what counts of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Posted(u64),
    Closed(u64, u32, u64),
    Cut(u64, bool),
}

#[derive(Debug, Default)]
struct Counts {
    bound: [usize; 5],
    closed: usize,
    advanced: usize,
    again: usize,
    stale: usize,
    early: usize,
    beyond: usize,
    small: usize,
    moves: usize,
    entered: usize,
    cut_head: usize,
    cut_last: usize,
    cut_tagged: usize,
    cut_nothing: usize,
    ended: usize,
    closings: usize,
    peeked: usize,
    successive: usize,
    full: usize,
}

/// What the neighbours allow and want in a cycle.
struct Inputs {
    fetch: Option<Message>,
    loads: bool,
    commits: bool,
    event_room: bool,
    update_room: bool,
}

const ROOM: Inputs = Inputs { fetch: None, loads: true, commits: true, event_room: true, update_room: true };

struct Bench {
    dut: Dut<BufferQueue>,
    rng: ChaCha8Rng,
    counts: Counts,
    mailboxes: BTreeMap<u64, Mailbox>,
    /// Mailboxes that were opened so far.
    opened: usize,
    /// Windows that have a mailbox.
    windows: BTreeMap<u64, u64>,
    /// Free slots, the one that goes out next last; slots never used.
    free: Vec<u64>,
    fresh: u64,
    /// Buffers as posted, by slot.
    contents: BTreeMap<u64, (u64, u32)>,
    command: Option<QueueCommand>,
    freed: Option<(u64, u64)>,
    peek: Option<u64>,
    /// The buffer that `peek` gets in this cycle.
    peeked: Option<(u64, u32)>,
    /// Messages in cycles 1, 2 and 3.
    fetched: Option<Message>,
    loaded: Option<Message>,
    checked: Option<Message>,
    busy: Option<Busy>,
    /// Outputs of coming cycles.
    posts: VecDeque<(u64, u64, RecordEntry)>,
    events: VecDeque<(u64, Event)>,
    updates: VecDeque<(u64, bool, bool, u64, u64, u64)>,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let bench = Self {
            dut: Dut::new(wave, BufferQueue::new(MAILBOXES, SLOTS, RamStyle::Block), "buffer_queue"),
            rng: wave.rng(),
            counts: Counts::default(),
            mailboxes: BTreeMap::new(),
            opened: 0,
            windows: BTreeMap::new(),
            free: vec![],
            fresh: 0,
            contents: BTreeMap::new(),
            command: None,
            freed: None,
            peek: None,
            peeked: None,
            fetched: None,
            loaded: None,
            checked: None,
            busy: None,
            posts: VecDeque::new(),
            events: VecDeque::new(),
            updates: VecDeque::new(),
        };
        let dut = &bench.dut;
        for signal in [&dut.reservation.fetch, &dut.command.valid, &dut.peek.valid, &dut.freed.valid] {
            signal.set(false);
        }
        dut.reset();
        bench
    }

    /// One cycle, compared with the model.
    fn cycle(&mut self, inputs: Inputs) {
        let cycle = self.dut.cycle();
        self.drive(&inputs);
        self.dut.eval();
        let closes = self.check_head(cycle, &inputs);
        self.dut.eval();
        let (starts, moves) = self.check_flow(cycle, &inputs, closes);
        let (fetches, loads) = self.reserve(&inputs, closes);
        self.dut.eval();
        self.check_outputs(cycle);
        self.check_commands(cycle);
        self.check_freed(cycle, starts);

        // The next cycle.
        self.checked = self.loaded.take();
        self.loaded = self.fetched.take().filter(|_| loads);
        self.fetched = fetches;
        if closes == Some(true) {
            self.busy = Some(Busy { last: cycle + NEXT_HEAD, done: None, moves: false });
        } else if starts && moves {
            self.start_move(cycle);
        } else if starts {
            self.start_command(cycle);
        }
        self.dut.tick();
    }

    fn running(&self) -> bool {
        self.busy.is_none()
    }

    fn drive(&mut self, inputs: &Inputs) {
        let (dut, rng) = (&self.dut, &mut self.rng);
        dut.command.payload.set(self.command.unwrap_or_else(|| random_bits(rng)));
        dut.command.valid.set(self.command.is_some());
        dut.buffer_event.headroom.set(inputs.event_room);
        dut.epoch_update.headroom.set(inputs.update_room);
        dut.freed.valid.set(self.freed.is_some());
        let (slot, mailbox) =
            self.freed.unwrap_or_else(|| (rng.random_range(0..SLOTS as u64), rng.random_range(0..4096)));
        dut.freed.slot.set(slot);
        dut.freed.mailbox.set(mailbox);
        dut.freed.tagged.set(if self.freed.is_some() { self.mailboxes[&mailbox].tagged } else { rng.random_bool(0.5) });
        dut.peek.valid.set(self.peek.is_some());
        dut.peek.slot.set(self.peek.unwrap_or_else(|| rng.random_range(0..SLOTS as u64)));
        // What does not count in this cycle is anything.
        dut.reservation.fetch.set(false);
        dut.reservation.load.set(rng.random_bool(0.5));
        dut.reservation.commit.set(rng.random_bool(0.5));
        dut.reservation.mailbox.set(rng.random_range(0..1u64 << 12));
        dut.reservation.tag.set(random_bits::<Tag>(rng));
        dut.reservation.message.set(random_bits::<MessageSpan>(rng));
        dut.reservation.frame.set(rng.random_range(0..1u64 << 16));
    }

    /// Cycle 3 of a message: the head, and the reservation. `Some` if the buffer takes no more: whether another head comes.
    fn check_head(&mut self, cycle: u64, inputs: &Inputs) -> Option<bool> {
        let message = self.checked?;
        let head = self.dut.reservation.head.get();
        let mailbox = self.mailboxes.get_mut(&message.mailbox).unwrap();
        if !mailbox.open {
            assert!(!head.active, "cycle {cycle}: a head of the closed mailbox {}", message.mailbox);
            self.dut.reservation.commit.set(false);
            return None;
        }
        let found = mailbox.messages_find(message.epoch);
        assert_eq!(
            (head.active, head.stale, head.epoch.to_u64() as u16, head.credit.to_u64() as u16),
            (found.buffer.is_some(), found.stale, found.epoch, found.credit),
            "cycle {cycle}: {message:x?} of {mailbox:x?}"
        );
        let mut commits = false;
        if let Some(number) = found.buffer {
            let buffer = &mailbox.buffers[number];
            let MessageSpan { msg_len, start, end } = message.span;
            let fits = end.to_u64() <= u64::from(mailbox.room(buffer));
            let offset = if mailbox.managed { buffer.reserved } else { 0 };
            let size = if mailbox.managed { msg_len.to_u64() } else { u64::from(buffer.size) };
            assert_eq!(
                (head.fits, head.slot.to_u64(), head.offset.to_u64(), head.start.to_u64(), head.buffer),
                (
                    fits,
                    buffer.slot,
                    u64::from(offset),
                    u64::from(offset.wrapping_add(start.to_u64() as u32)),
                    BufferEntry { base: bits(buffer.base), size: bits(size) }
                ),
                "cycle {cycle}: {message:x?} of {mailbox:x?}"
            );
            commits = fits && inputs.commits;
            self.counts.beyond += usize::from(!fits);
        } else {
            self.counts.stale += usize::from(found.stale);
            self.counts.early += usize::from(!found.stale && mailbox.ordered);
        }
        self.dut.reservation.commit.set(commits);
        if !commits {
            return None;
        }
        let number = found.buffer.unwrap();
        let kind = if mailbox.ordered {
            4
        } else if mailbox.managed {
            3
        } else {
            usize::from(mailbox.tagged) * 2 + usize::from(mailbox.ops)
        };
        self.counts.bound[kind] += 1;
        if !mailbox.bind(number, message.span.msg_len.to_u64() as u32) {
            return None;
        }
        let buffer = &mailbox.buffers[number];
        self.events.push_back((cycle + 1, Event::Closed(buffer.slot, buffer.reserved, message.frame)));
        let advances = !mailbox.tagged && mailbox.waiting() > 0;
        self.counts.closed += 1;
        self.counts.advanced += usize::from(advances);
        Some(advances)
    }

    /// What may start. Returns whether a command or a move starts, and whether it is a move.
    fn check_flow(&mut self, cycle: u64, inputs: &Inputs, closes: Option<bool>) -> (bool, bool) {
        let reservation = &self.dut.reservation;
        let moves = self.freed.is_some_and(|(_, mailbox)| self.mailboxes[&mailbox].tagged);
        let ready = self.running() && self.command.is_none() && !moves && inputs.event_room;
        assert_eq!(reservation.fetch_ready.is_high(), ready, "cycle {cycle}");
        let retry = !self.running() || closes == Some(true);
        assert_eq!(reservation.retry.is_high(), retry, "cycle {cycle}");
        let idle = self.running() && self.fetched.is_none() && self.loaded.is_none() && self.checked.is_none();
        let commands = self.command.is_some() && inputs.event_room && inputs.update_room;
        (idle && (moves || commands), moves)
    }

    /// Cycles 0 and 1 of messages. No message begins in cycle 1 or 3 of another one.
    fn reserve(&mut self, inputs: &Inputs, closes: Option<bool>) -> (Option<Message>, bool) {
        let reservation = &self.dut.reservation;
        let tag = |bench: &Self, message: &Message| {
            let mailbox = &bench.mailboxes[&message.mailbox];
            Tag { tagged: mailbox.tagged, window: bits(mailbox.window), epoch: bits(message.epoch) }
        };
        if let Some(message) = self.fetched {
            let again = !self.running() || closes == Some(true);
            let loads = inputs.loads && !again;
            reservation.mailbox.set(message.mailbox);
            reservation.tag.set(tag(self, &message));
            reservation.message.set(message.span);
            reservation.frame.set(message.frame);
            reservation.load.set(loads);
            self.counts.again += usize::from(again);
            return (None, loads);
        }
        let fetches = inputs.fetch.filter(|_| self.checked.is_none() && reservation.fetch_ready.is_high());
        if let Some(message) = fetches {
            reservation.fetch.set(true);
            reservation.mailbox.set(message.mailbox);
            reservation.tag.set(tag(self, &message));
            self.counts.successive += usize::from(self.loaded.is_some_and(|other| other.mailbox == message.mailbox));
        }
        (fetches, false)
    }

    /// Buffers that are posted, events, updates, and the answer to `peek`.
    fn check_outputs(&mut self, cycle: u64) {
        let dut = &self.dut;
        let post = self.posts.pop_front_if(|post| post.0 == cycle);
        assert_eq!(dut.posted.offered().map(|slot| slot.to_u64()), post.map(|post| post.1), "cycle {cycle}");
        if let Some((_, _, record)) = post {
            assert_eq!(dut.posted_record.get(), record, "cycle {cycle}");
        }
        let event = self.events.pop_front_if(|event| event.0 == cycle).map(|event| event.1);
        let found = dut.buffer_event.valid.is_high().then(|| {
            let event = dut.buffer_event.payload.get();
            let slot = event.slot.to_u64();
            if event.open {
                Event::Posted(slot)
            } else if event.cut {
                Event::Cut(slot, event.cancelled)
            } else {
                Event::Closed(slot, event.total.to_u64() as u32, event.frame.to_u64())
            }
        });
        assert_eq!(found, event, "cycle {cycle}");
        let update = self.updates.pop_front_if(|update| update.0 == cycle);
        assert_eq!(dut.epoch_update.valid.is_high(), update.is_some(), "cycle {cycle}");
        if let Some((_, opens, tagged, mailbox, slot, base)) = update {
            let found = dut.epoch_update.payload.get();
            assert_eq!((found.opens, found.mailbox.to_u64()), (opens, mailbox), "cycle {cycle}");
            if opens {
                assert_eq!(found.tagged, tagged, "cycle {cycle}");
            } else {
                assert_eq!((found.slot.to_u64(), found.base.to_u64()), (slot, base), "cycle {cycle}");
            }
        }
        assert_eq!(dut.peek.done.is_high(), self.peeked.is_some(), "cycle {cycle}");
        if let Some((base, size)) = self.peeked.take() {
            let found = dut.peek.buffer.get();
            assert_eq!((found.base.to_u64(), found.size.to_u64()), (base, u64::from(size)), "cycle {cycle}");
            self.peek = None;
            self.counts.peeked += 1;
        } else if let Some(slot) = self.peek.filter(|_| self.running()) {
            self.peeked = Some(self.contents[&slot]);
        }
    }

    /// The answer to a command.
    fn check_commands(&mut self, cycle: u64) {
        let last = self.busy.filter(|busy| busy.last == cycle);
        let done = last.and_then(|busy| busy.done);
        assert_eq!(self.dut.command.done.is_high(), done.is_some(), "cycle {cycle}");
        let Some((ok, small)) = done else { return };
        if let Some(ok) = ok {
            assert_eq!(self.dut.command.ok.is_high(), ok, "cycle {cycle}: {:x?}", self.command);
        }
        if let Some(small) = small {
            assert_eq!(self.dut.command.small.is_high(), small, "cycle {cycle}: {:x?}", self.command);
        }
        let command = self.command.take().unwrap();
        if command.op.to_u64() == QUEUE_INIT && command.tagged && command.opens && ok == Some(true) {
            let window = self.dut.new_window.number();
            let mailbox = command.mailbox.to_u64();
            assert!(window < WINDOWS as u64, "cycle {cycle}: window {window}");
            let other = self.windows.insert(window, mailbox);
            assert!(other.is_none(), "cycle {cycle}: window {window} has two mailboxes, {other:?} and {mailbox}");
            self.mailboxes.get_mut(&mailbox).unwrap().window = window;
        }
        self.busy = None;
    }

    /// A freed slot.
    fn check_freed(&mut self, cycle: u64, starts: bool) {
        let last = self.busy.filter(|busy| busy.last == cycle);
        let moves = self.freed.is_some_and(|(_, mailbox)| self.mailboxes[&mailbox].tagged);
        let moved = last.is_some_and(|busy| busy.moves);
        // `done` has ended a command in this very cycle.
        let running = self.running() && !self.dut.command.done.is_high();
        let ready = if moves { moved } else { running && !starts };
        if let Some((slot, mailbox)) = self.freed {
            assert_eq!(self.dut.freed.ready.is_high(), ready, "cycle {cycle}: slot {slot:x} of {mailbox:x}");
            if ready {
                let oldest = self.mailboxes.get_mut(&mailbox).unwrap().buffers.pop_front().unwrap();
                assert!(oldest.slot == slot && !oldest.open);
                self.free.push(slot);
                self.freed = None;
            }
        }
        if last.is_some() {
            self.busy = None;
        }
    }

    /// The window moves: a buffer enters it if five have waited.
    fn start_move(&mut self, cycle: u64) {
        let (_, mailbox) = self.freed.unwrap();
        let mailbox = &self.mailboxes[&mailbox];
        let enters = mailbox.open && mailbox.buffers.len() > WINDOW;
        self.counts.moves += 1;
        self.counts.entered += usize::from(enters);
        let last = cycle + COMMAND + u64::from(enters) * NEXT_HEAD;
        self.busy = Some(Busy { last, done: None, moves: true });
    }

    fn start_command(&mut self, cycle: u64) {
        let command = self.command.unwrap();
        let number = command.mailbox.to_u64();
        let slot = command.slot.to_u64();
        let mailbox = self.mailboxes.entry(number).or_default();
        let mut last = cycle + COMMAND;
        let (mut ok, mut small) = (None, None);
        match command.op.to_u64() {
            QUEUE_POST => {
                let (base, size) = (command.buffer.base.to_u64(), command.buffer.size.to_u64() as u32);
                let any = !self.free.is_empty() || self.fresh < SLOTS as u64;
                (ok, small) = (Some(any), Some(mailbox.is_small(size)));
                self.counts.small += usize::from(mailbox.is_small(size));
                self.counts.full += usize::from(!any);
                if any && !mailbox.is_small(size) {
                    let slot = self.free.pop().unwrap_or_else(|| {
                        self.fresh += 1;
                        self.fresh - 1
                    });
                    let record = RecordEntry {
                        base: command.buffer.base,
                        record: command.record,
                        epoch: bits(u64::from(mailbox.posted)),
                        mailbox: command.mailbox,
                        pid: command.pid,
                        event: mailbox.event,
                    };
                    mailbox.posted = mailbox.posted.wrapping_add(1);
                    mailbox.buffers.push_back(Buffer { slot, base, size, reserved: 0, counted: 0, open: true });
                    self.contents.insert(slot, (base, size));
                    self.posts.push_back((cycle + POSTED, slot, record));
                    self.events.push_back((last, Event::Posted(slot)));
                    self.updates.push_back((last, false, false, number, slot, base));
                }
            }
            QUEUE_INIT if command.opens => {
                let any = !command.tagged || self.windows.len() < WINDOWS;
                ok = Some(any);
                self.counts.full += usize::from(!any);
                if any {
                    *mailbox = Mailbox {
                        open: true,
                        threshold: command.threshold.to_u64() as u32,
                        ops: command.ops,
                        managed: command.managed,
                        tagged: command.tagged,
                        ordered: command.ordered,
                        event: command.event,
                        ..Mailbox::default()
                    };
                    last += u64::from(command.tagged) * EMPTY;
                    self.updates.push_back((cycle + COMMAND, true, command.tagged, number, 0, 0));
                }
            }
            QUEUE_INIT => {
                if mailbox.tagged {
                    self.windows.remove(&mailbox.window);
                }
                mailbox.open = false;
                mailbox.buffers.iter_mut().for_each(|buffer| buffer.open = false);
                self.counts.closings += 1;
            }
            QUEUE_CUT => {
                let head = mailbox.buffers.iter().position(|buffer| buffer.open && buffer.slot == slot);
                // Of a bound mailbox only the head takes messages.
                let first = mailbox.buffers.iter().position(|buffer| buffer.open);
                if mailbox.tagged {
                    mailbox.buffers[0].open = false;
                    self.counts.cut_tagged += 1;
                } else if let Some(head) = head.filter(|_| head == first) {
                    mailbox.buffers[head].open = false;
                    if mailbox.waiting() > 0 {
                        last += NEXT_HEAD;
                        self.counts.cut_head += 1;
                    } else {
                        self.counts.cut_last += 1;
                    }
                } else {
                    self.counts.cut_nothing += 1;
                }
            }
            QUEUE_END => {
                self.events.push_back((last, Event::Cut(slot, command.cancelled)));
                self.counts.ended += 1;
            }
            op => unreachable!("command {op}"),
        }
        self.busy = Some(Busy { last, done: Some((ok, small)), moves: false });
    }

    fn post(&mut self, number: u64) -> QueueCommand {
        let rng = &mut self.rng;
        let mailbox = &self.mailboxes[&number];
        let threshold = mailbox.threshold;
        let size: u32 = match rng.random_range(0..8) {
            0 => threshold.wrapping_sub(1),
            1 | 2 => threshold,
            3 => threshold.saturating_add(1),
            4 => u32::MAX,
            5 => random_value::<Bits<32>>(rng).to_u64() as u32,
            _ => threshold.saturating_add(rng.random_range(0..3000)),
        };
        let size = near(rng, size.into(), 32, 16);
        let base = random_value::<Bits<64>>(rng);
        QueueCommand {
            op: bits(QUEUE_POST),
            mailbox: bits(number),
            buffer: BufferEntry { base, size: bits(size) },
            ..random_bits(rng)
        }
    }

    /// Opens a mailbox, the modes in turn.
    fn open(&mut self, number: u64) -> QueueCommand {
        let mode = MODES[self.opened % MODES.len()];
        self.opened += 1;
        self.open_as(number, mode)
    }

    fn open_as(&mut self, number: u64, mode: Mode) -> QueueCommand {
        let rng = &mut self.rng;
        let ops = matches!(mode, Mode::Operations | Mode::TaggedOperations);
        let tagged = matches!(mode, Mode::TaggedBytes | Mode::TaggedOperations);
        let managed = matches!(mode, Mode::Managed | Mode::Stream);
        let threshold = match rng.random_range(0..8) {
            0 => 0,
            1 if !ops => random_value::<Bits<32>>(rng).to_u64(),
            _ if ops => rng.random_range(1..6),
            _ => rng.random_range(1..2000),
        };
        QueueCommand {
            op: bits(QUEUE_INIT),
            opens: true,
            mailbox: bits(number),
            threshold: bits(threshold),
            ops,
            managed,
            tagged,
            ordered: mode == Mode::Stream,
            ..random_bits(rng)
        }
    }

    /// A message whose length and place are at the limits of the buffer that it will find, or elsewhere.
    fn message(&mut self, number: u64) -> Message {
        let rng = &mut self.rng;
        let mailbox = &self.mailboxes[&number];
        let epoch = if mailbox.tagged {
            let oldest = mailbox.posted.wrapping_sub(mailbox.buffers.len() as u16);
            oldest.wrapping_add(rng.random_range(0..6)).wrapping_sub(rng.random_range(0..2))
        } else if mailbox.ordered {
            // Two messages may be on their way.
            (mailbox.next + [0, 0, 1, 1, 2, ORDINALS - 1][rng.random_range(0..6)]) as u16
        } else {
            rng.random()
        };
        let epoch = near(rng, epoch.into(), 16, 10);
        let buffer = mailbox.messages_find(epoch).buffer.map(|at| &mailbox.buffers[at]);
        let room = buffer.map_or(3000, |buffer| mailbox.room(buffer));
        let left = buffer.map_or(500, |buffer| {
            let counted = (buffer.counted as u32).min(room);
            if mailbox.managed {
                room - mailbox.threshold
            } else {
                mailbox.threshold.saturating_sub(counted)
            }
        });
        let beside = |rng: &mut ChaCha8Rng, value: u32| value.wrapping_add(rng.random_range(0..3)).wrapping_sub(1);
        let length = match rng.random_range(0..10) {
            0 => 0,
            1 | 2 => beside(rng, left),
            3 => beside(rng, room),
            4 => random_value::<Bits<32>>(rng).to_u64() as u32,
            _ => rng.random_range(0..=room / 4),
        };
        let end = match rng.random_range(0..4) {
            _ if mailbox.managed => length,
            0 => beside(rng, room),
            1 => random_value::<Bits<32>>(rng).to_u64() as u32,
            _ => length.saturating_add(rng.random_range(0..=room / 4)),
        };
        let end = near(rng, end.into(), 32, 16).max(length.into());
        let end = if mailbox.managed { length.into() } else { end };
        let span = MessageSpan { msg_len: bits(length), start: random_value(rng), end: bits(end) };
        Message { mailbox: number, epoch, span, frame: rng.random_range(0..1 << 16) }
    }

    /// A command for one of these mailboxes; `posts` of ten post a buffer.
    fn random_command(&mut self, numbers: &[u64], posts: u32) -> Option<QueueCommand> {
        let number = *numbers.choose(&mut self.rng).unwrap();
        let Some(mailbox) = self.mailboxes.get(&number).filter(|mailbox| mailbox.open || !mailbox.buffers.is_empty())
        else {
            return Some(self.open(number));
        };
        let oldest = mailbox.buffers.front().map(|buffer| buffer.slot);
        let slots: Vec<u64> = mailbox.buffers.iter().map(|buffer| buffer.slot).collect();
        let open = mailbox.open;
        if open && self.rng.random_range(0..10) < posts {
            return Some(self.post(number));
        }
        let rng = &mut self.rng;
        let (op, slot) = match rng.random_range(0..12) {
            0 if open => (QUEUE_INIT, None),
            1..8 if open && oldest.is_some() => (QUEUE_CUT, oldest),
            _ => (QUEUE_END, Some(*slots.choose(rng)?)),
        };
        // A bound buffer that waits after the head is not cut, but one that drains is.
        let slot = slot.unwrap_or_else(|| rng.random_range(0..SLOTS as u64));
        let mailbox = bits(number);
        Some(QueueCommand { op: bits(op), mailbox, slot: bits(slot), opens: false, ..random_bits(rng) })
    }

    /// A slot that can be freed: all buffers before it are done, and it takes no messages.
    fn random_freed(&mut self, numbers: &[u64]) -> Option<(u64, u64)> {
        let number = *numbers.choose(&mut self.rng).unwrap();
        let buffer = self.mailboxes.get(&number)?.buffers.front().filter(|buffer| !buffer.open)?;
        Some((buffer.slot, number))
    }
}

#[test]
fn random_buffers_are_the_models() {
    run_with_wave_on_failure("buffer_queue_alone_random", |wave| {
        let mut bench = Bench::new(wave);
        // Mailboxes that differ in one bit.
        let number = bench.rng.random_range(0..MAILBOXES as u64);
        let numbers: Vec<u64> = [number].into_iter().chain((0..12).map(|bit| number ^ 1 << bit)).collect();
        for cycle in 0..share(150_000) {
            // Phases of commands, of messages, of both with everything else, of few buffers, and without room.
            let (commands, messages, frees, posts, room) = match cycle / 500 % 5 {
                0 => (0.8, 0.2, 0.1, 9, 0.95),
                1 => (0.01, 1.0, 0.02, 9, 1.0),
                2 => (0.1, 0.6, 0.5, 7, 0.9),
                3 => (0.5, 0.1, 0.6, 2, 1.0),
                _ => (0.1, 0.8, 0.1, 8, 0.3),
            };
            let pool = if cycle / 100 % 2 == 0 { &numbers[..] } else { &numbers[..3] };
            if bench.command.is_none() && bench.rng.random_bool(commands) {
                // A mailbox is not closed while a slot of it waits, and no buffer is cut that becomes free.
                let busy = bench.freed.map(|freed| freed.1);
                let command = bench.random_command(pool, posts);
                bench.command = command.filter(|command| Some(command.mailbox.to_u64()) != busy);
            }
            if bench.freed.is_none() && bench.rng.random_bool(frees) {
                let busy = bench.command.map(|command| command.mailbox.to_u64());
                bench.freed = bench.random_freed(&numbers).filter(|freed| Some(freed.1) != busy);
            }
            if bench.peek.is_none() && bench.fresh > 0 && bench.rng.random_range(0..8) == 0 {
                bench.peek = Some(bench.rng.random_range(0..bench.fresh));
            }
            let number = *pool.choose(&mut bench.rng).unwrap();
            let wants = bench.mailboxes.contains_key(&number) && bench.rng.random_bool(messages);
            let fetch = wants.then(|| bench.message(number));
            let inputs = Inputs {
                fetch,
                loads: bench.rng.random_bool(0.95),
                commits: bench.rng.random_bool(0.9),
                event_room: bench.rng.random_bool(room),
                update_room: bench.rng.random_bool(room),
            };
            bench.cycle(inputs);
        }
        let counts = &bench.counts;
        let seen = [counts.closed, counts.advanced, counts.again, counts.stale, counts.early, counts.beyond];
        assert!(
            counts.bound.iter().chain(&seen).all(|count| *count > 30),
            "{counts:?}: messages of each mode, full buffers, other heads, repeated, stale, early, too long"
        );
        let seen = [counts.moves, counts.entered, counts.cut_head, counts.cut_last, counts.cut_tagged];
        let others =
            [counts.small, counts.cut_nothing, counts.ended, counts.closings, counts.peeked, counts.successive];
        assert!(seen.iter().chain(&others).all(|count| *count > 20), "{counts:?}");
    });
}

/// Every slot, then none; a freed one is the next.
#[test]
fn all_slots() {
    run_with_wave_on_failure("buffer_queue_alone_all_slots", |wave| {
        let mut bench = Bench::new(wave);
        let carry_out = |bench: &mut Bench, command: QueueCommand| {
            bench.command = Some(command);
            while bench.command.is_some() {
                bench.cycle(ROOM);
            }
        };
        let open = QueueCommand {
            op: bits(QUEUE_INIT),
            mailbox: bits(0xABC),
            opens: true,
            threshold: bits(1),
            ops: true,
            ..QueueCommand::default()
        };
        carry_out(&mut bench, open);
        for _ in 0..SLOTS {
            let post = bench.post(0xABC);
            carry_out(&mut bench, post);
        }
        assert_eq!(bench.fresh, SLOTS as u64);
        for round in 0..3 {
            let post = bench.post(0xABC);
            carry_out(&mut bench, post);
            assert_eq!(bench.counts.full, round + 1);
            // Some messages, each of which closes a buffer; their slots are used again.
            for _ in 0..20 {
                let span = MessageSpan { msg_len: bits(1), start: bits(0), end: bits(0) };
                let fetch = Some(Message { mailbox: 0xABC, epoch: 0, span, frame: 77 });
                bench.cycle(Inputs { fetch, ..ROOM });
                (0..8).for_each(|_| bench.cycle(ROOM));
            }
            for _ in 0..20 {
                bench.freed = bench.random_freed(&[0xABC]);
                while bench.freed.is_some() {
                    bench.cycle(ROOM);
                }
            }
            for _ in 0..20 {
                let post = bench.post(0xABC);
                carry_out(&mut bench, post);
            }
        }
        assert_eq!(bench.mailboxes[&0xABC].buffers.len(), SLOTS);
    });
}

/// Every window, then none; one that was given back is the next. A stream counts its messages beyond the last ordinal.
#[test]
fn all_windows_and_ordinals() {
    run_with_wave_on_failure("buffer_queue_alone_all_windows", |wave| {
        let mut bench = Bench::new(wave);
        let carry_out = |bench: &mut Bench, command: QueueCommand| {
            bench.command = Some(command);
            while bench.command.is_some() {
                bench.cycle(ROOM);
            }
        };
        for number in 0..=WINDOWS as u64 {
            let open = bench.open_as(number, Mode::TaggedBytes);
            carry_out(&mut bench, open);
        }
        assert_eq!((bench.windows.len(), bench.counts.full), (WINDOWS, 1));
        for number in [7, 300] {
            let close = QueueCommand { op: bits(QUEUE_INIT), mailbox: bits(number), ..random_bits(&mut bench.rng) };
            carry_out(&mut bench, QueueCommand { opens: false, ..close });
        }
        for number in [600, 7, 300] {
            let open = bench.open_as(number, Mode::TaggedBytes);
            carry_out(&mut bench, open);
        }
        assert_eq!((bench.windows.len(), bench.counts.full), (WINDOWS, 2));

        let open = bench.open_as(4095, Mode::Stream);
        carry_out(&mut bench, QueueCommand { threshold: bits(0), ..open });
        let post = bench.post(4095);
        carry_out(&mut bench, QueueCommand { buffer: BufferEntry { size: bits(1u64 << 31), ..post.buffer }, ..post });
        let mut messages = 0;
        while messages < ORDINALS + 100 {
            let span = MessageSpan { msg_len: bits(3), start: bits(0), end: bits(3) };
            let epoch = (messages % ORDINALS) + (bench.rng.random_range(0..8) << STREAM_BITS);
            bench.cycle(Inputs { fetch: Some(Message { mailbox: 4095, epoch, span, frame: 5 }), ..ROOM });
            messages += u64::from(bench.fetched.is_some());
        }
        for _ in 0..4 {
            bench.cycle(ROOM);
        }
        assert_eq!(bench.mailboxes[&4095].next, 100);
        assert_eq!(bench.counts.bound[4] as u64, ORDINALS + 100);
    });
}
