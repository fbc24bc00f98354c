//! Event rings: a ring of 32-byte records in host memory for each process (contract, `events`).
//!
//! | neighbour | ports |
//! |---|---|
//! | packet engine, HPU array (sources 0, 1), frame events (source 2) | in `event`; out `rings_open` |
//! | frame places | out `reader`, `ring`, `given`; in `owed`: places reserved in the ring of `reader` |
//! | command unit | in `ring` (held); out `ring_done` (pulse) |
//! | doorbell | in `head` (pulse) |
//! | DMA writer | out `write`; in `finished` (pulse: the host answered a record) |
//! | moderation | `rings_open`, `ring`, `ring_done` as well |
//! | registers | out `event_written`, `event_lost` (pulses) |
//!
//! The ring is the queue: an event is written at once if its ring has room, and counted as lost if its ring is full. As
//! soon as the host has read a record, a LOST record reports the count, before the next event of the ring is written.
//! So no ring stalls another one, and records stand in the order of the events. An event for a closed ring is dropped
//! and counted on arrival, one per cycle.
//!
//! Source 2 has a place reserved for each event: the other sources and LOST records find the ring full when only reserved places are
//! left, so that an event of source 2 may come before the LOST record of losses before it. An event of source 2 for a closed ring
//! gives its place back.
//!
//! All rings share one pipeline: choose, read, act. A visit takes two cycles, so the rate is one event per two cycles. The
//! sources have a register each and take turns. While any ring lacks its LOST record, every other visit searches for
//! such a ring, one ring after another. Event taken → `write`: 4 cycles.
//!
//! A ring is opened or closed (`ring_done`) when the host has answered all records taken before, so that the process
//! may reuse the memory of a closed ring; other events wait meanwhile.

use crate::completion::frame_places::{RingState, OWED_BITS};
use crate::prelude::*;
use spindle_contract::events::{BYTES, LOST};

/// Sources of events.
const SOURCES: usize = 3;
/// The source whose events have a reserved place.
const RESERVED: usize = 2;
/// [`EventRings::visit`]: a ring that may lack its LOST record.
const SCAN: u64 = 4;
/// [`EventRings::visit`]: a command.
const COMMAND: u64 = 5;

/// What is known of a ring.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RingEntry {
    /// It is open.
    pub open: Bit,
    /// Its host address, without its five zero bits.
    pub base: Bits<59>,
    /// Records less one, all ones.
    pub last: Bits<15>,
    /// Records ever written.
    pub tail: Bits<32>,
    /// Events lost since the last record.
    pub lost: Bits<32>,
}

/// The event rings. See the module text.
#[block]
pub struct EventRings {
    /// Event of each source.
    pub event: [Sink<EventDesc>; SOURCES],
    /// Bit p = process p has a ring.
    pub rings_open: Signal<Out, Bits<64>>,
    /// Ring to open or close; held until `ring_done`.
    pub ring: PulseSink<RingCommand>,
    /// Ring opened or closed.
    pub ring_done: Signal<Out, Bit>,
    /// Records that the host has read.
    pub head: RingPointerSink,
    /// Process whose ring is visited.
    pub reader: Signal<Out, Bits<6>>,
    /// Its ring, when it changes.
    pub ring_state: Pulse<RingState>,
    /// An event that had a reserved place is written or lost.
    pub given: Signal<Out, Bit>,
    /// Places reserved in the ring of `reader`.
    pub owed: Signal<In, Bits<OWED_BITS>>,
    /// Record to write.
    pub write: Source<InternalWrite>,
    /// The host answered a record.
    pub finished: Signal<In, Bit>,
    /// A record was made.
    pub event_written: Signal<Out, Bit>,
    /// Events lost in this cycle.
    pub event_lost: Signal<Out, Bits<2>>,
    entries: LutMemory<RingEntry, 6>,
    heads: LutMemory<Bits<16>, 6>,
    events: [DFF<EventDesc>; SOURCES],
    /// `events` holds an event that was not chosen yet.
    waiting: [Reg<Bit>; SOURCES],
    /// The event of this visit.
    current: DFF<EventDesc>,
    /// The source that comes first at the next choice.
    first_next: Reg<Bits<2>>,
    scan_next: Reg<Bit>,
    scan: Reg<Bits<6>>,
    clearing: Reg<Bit>,
    /// Rings that lack a LOST record.
    lacking: Reg<Bits<7>>,
    /// Purpose of this visit: a source, SCAN or COMMAND.
    visit: DFF<Bits<3>>,
    pid: DFF<Bits<6>>,
    reading: Reg<Bit>,
    acting: Reg<Bit>,
    entry: DFF<RingEntry>,
    /// Records that the host has not read.
    used: DFF<Bits<16>>,
    /// Places reserved for events of source 2.
    reserved: DFF<Bits<OWED_BITS>>,
    any_lost: DFF<Bit>,
    settling: Reg<Bit>,
    flying: Reg<Bits<10>>,
    address: DFF<Bits<59>>,
    record_pid: DFF<Bits<6>>,
    record: DFF<Bits<256>>,
    record_valid: Reg<Bit>,
    record_made: Reg<Bit>,
    lacks_one: Reg<Bit>,
    lacks_one_less: Reg<Bit>,
    lost: Reg<Bits<2>>,
    open: Reg<Bits<64>>,
    chosen: Signal<Local, Bits<3>>,
    chosen_pid: Signal<Local, Bits<6>>,
    chosen_any: Signal<Local, Bit>,
    next_open: Signal<Local, Bits<64>>,
}

impl EventRings {
    /// The rings.
    pub fn new() -> Self {
        Self { clearing: Reg::new(true), ..Self::blank() }
    }
}

#[hdl]
impl EventRings {
    fn update(&mut self) {
        let dropped = self.take_events();
        self.act(dropped);
        self.count_answers();
        self.read();
    }

    /// A source's register takes the next event after its event was chosen; an event without a ring is dropped.
    fn take_events(&mut self) -> Bits<2> {
        let mut dropped: Bits<2> = bits::<2>(0);
        for i in 0..SOURCES {
            let offered = self.event[i].val();
            let has_ring = (self.open.q.val() >> offered.pid).get_bit(0);
            self.event[i].ready.next = !self.waiting[i].q.val();
            if !self.waiting[i].q.val() {
                // An event with a reserved place gives the place back in a visit.
                let dropped_here = self.event[i].valid.val() & !has_ring & (i != RESERVED);
                self.waiting[i].d.next = self.event[i].valid.val() & !dropped_here;
                self.events[i].d.next = offered;
                if i != RESERVED {
                    dropped = dropped.replace_bit(i, dropped_here);
                }
            }
        }
        dropped
    }

    /// Act, and choice of the next visit. The entry was read one cycle ago. A record may wait for the previous one.
    fn act(&mut self, dropped: Bits<2>) {
        let acts = self.acting.q.val() & !self.record_valid.q.val();
        let entry = self.entry.q.val();
        let visit = self.visit.q.val();
        let any_lost = self.any_lost.q.val();
        let is_event = !visit.get_bit(2);
        let is_scan = visit == SCAN;
        let is_command = visit == COMMAND;
        let is_reserved = visit == bits::<3>(RESERVED);
        let beyond = (bits::<1>(1), !entry.last).cat::<16>();
        let occupied = self.used.q.val() + zext::<16, OWED_BITS>(self.reserved.q.val());
        let crowded = (occupied & beyond).any();
        let full = if is_reserved { (self.used.q.val() & beyond).any() } else { crowded };
        // An event waits until the LOST record of the events before it is made, one with a reserved place if there is room for both.
        let reports = any_lost & !(is_reserved & crowded);
        let makes = acts & entry.open & !full & (is_event | (is_scan & any_lost));
        let revisits = makes & is_event & reports;
        let loses = acts & is_event & (full | !entry.open);
        self.given.next = acts & is_reserved & !revisits;
        self.reader.next = self.pid.q.val();
        let number = entry.tail + 1;
        let mut changed: RingEntry = entry;
        if makes {
            changed.tail = number;
            if reports {
                changed.lost = bits::<32>(0);
            }
        } else if loses & entry.open {
            changed.lost = entry.lost + 1;
        }
        self.lacks_one.d.next = loses & entry.open & !any_lost;
        self.lacks_one_less.d.next = any_lost & ((makes & reports) | (is_command & acts));
        if self.lacks_one.q.val() {
            self.lacking.d.next = self.lacking.q.val() + 1;
        } else if self.lacks_one_less.q.val() {
            self.lacking.d.next = self.lacking.q.val() - 1;
        }
        self.next_open.next = self.open.q.val();
        if is_command {
            let command = self.ring.val();
            changed = RingEntry { open: command.open, base: command.base, last: command.last, ..RingEntry::default() };
            if acts {
                let own = bits::<64>(1) << self.pid.q.val();
                self.next_open.next = if command.open { self.open.q.val() | own } else { self.open.q.val() & !own };
                self.settling.d.next = true;
            }
        }
        self.open.d.next = self.next_open.val();
        self.rings_open.next = self.open.q.val();
        self.entries.write(acts, self.pid.q.val(), changed);
        let tail = changed.tail.get_bits::<16>(0);
        self.ring_state.offer(acts, RingState { open: changed.open, last: changed.last, tail });
        if self.clearing.q.val() {
            self.entries.write(true, self.scan.q.val(), RingEntry::default());
            self.clearing.d.next = !self.scan.q.val().all();
        }

        // The record of the event, or a LOST record.
        let source = if is_scan | reports {
            EventDesc { kind: bits::<4>(LOST), length: entry.lost, ..EventDesc::default() }
        } else {
            self.current.q.val()
        };
        if acts {
            let index = bit_cast::<59, 15>(entry.tail.get_bits::<15>(0) & entry.last);
            self.address.d.next = entry.base | index;
            self.record_pid.d.next = self.pid.q.val();
            self.record.d.next = (
                number,
                source.user,
                source.source,
                source.extra,
                source.length,
                source.id,
                (source.flags, source.code, bits::<4>(0), source.context, bits::<4>(0), source.kind).cat::<32>(),
            )
                .cat::<256>();
            self.acting.d.next = false;
        }
        self.record_valid.d.next = makes | (self.record_valid.q.val() & !self.write.ready.val());
        self.record_made.d.next = makes;
        let first_dropped = bit_cast::<2, 1>(dropped.get_bits::<1>(0));
        let second_dropped = bit_cast::<2, 1>(dropped.get_bits::<1>(1));
        let found_full: Bits<1> = loses.into();
        self.lost.d.next = first_dropped + second_dropped + bit_cast::<2, 1>(found_full);
        self.event_written.next = self.record_made.q.val();
        self.event_lost.next = self.lost.q.val();

        // The next visit.
        let scans = self.choose();
        // After a command no ring is visited until all records before the command have been answered; the visit of an
        // event after lost events may have to be repeated.
        let last_visit = !self.acting.q.val() | !(is_command | (is_event & any_lost));
        let free = !self.reading.q.val() & (!self.acting.q.val() | acts);
        let starts = free & last_visit & !self.settling.q.val() & !self.clearing.q.val() & self.chosen_any.val();
        self.reading.d.next = starts | revisits;
        self.scan.load(self.clearing.q.val() | (starts & scans & !self.ring.valid.val()), self.scan.q.val() + 1);
        if starts {
            self.visit.d.next = self.chosen.val();
            self.pid.d.next = self.chosen_pid.val();
            self.scan_next.d.next = !self.chosen.val().get_bit(2);
            for i in 0..SOURCES {
                if self.chosen.val() == bits::<3>(i) {
                    self.waiting[i].d.next = false;
                    self.current.d.next = self.events[i].q.val();
                }
            }
            if !self.chosen.val().get_bit(2) {
                let chosen = self.chosen.val().get_bits::<2>(0);
                self.first_next.d.next = if chosen == 2 { bits::<2>(0) } else { chosen + 1 };
            }
        }
    }

    /// Chooses the next visit; returns whether a search for a ring that lacks its LOST record has its turn.
    fn choose(&mut self) -> Bit {
        let waits = (self.waiting[2].q.val(), self.waiting[1].q.val(), self.waiting[0].q.val()).cat::<3>();
        let scans = self.lacking.q.val().any() & (self.scan_next.q.val() | !waits.any());
        // The first that waits, from the one whose turn it is.
        let ahead = match self.first_next.q.val().index() {
            1 => waits & bits::<3>(6),
            2 => waits & bits::<3>(4),
            _ => waits,
        };
        let turn = if ahead.any() { ahead } else { waits };
        let source = first_set::<2, 3>(turn);
        self.chosen_any.next = true;
        self.chosen.next = zext::<3, 2>(source);
        self.chosen_pid.next = match source.index() {
            0 => self.events[0].q.val().pid,
            1 => self.events[1].q.val().pid,
            _ => self.events[2].q.val().pid,
        };
        if self.ring.valid.val() {
            self.chosen.next = bits::<3>(COMMAND);
            self.chosen_pid.next = self.ring.val().pid;
        } else if scans {
            self.chosen.next = bits::<3>(SCAN);
            self.chosen_pid.next = self.scan.q.val();
        } else {
            self.chosen_any.next = waits.any();
        }
        scans
    }

    /// Offers the record; counts the records that the host has not answered.
    fn count_answers(&mut self) {
        self.write.valid.next = self.record_valid.q.val();
        self.write.next = InternalWrite {
            host_write: HostWrite {
                address: (self.address.q.val(), bits::<5>(0)).cat::<64>(),
                origin: WriteOrigin {
                    kind: bits::<3>(EVENT),
                    slot: bit_cast::<14, 6>(self.record_pid.q.val()),
                    length: bits::<16>(BYTES),
                    ..WriteOrigin::default()
                },
                ..HostWrite::default()
            },
            data: self.record.q.val(),
        };
        let record_made = self.record_made.q.val();
        if record_made & !self.finished.val() {
            self.flying.d.next = self.flying.q.val() + 1;
        } else if self.finished.val() & !record_made {
            self.flying.d.next = self.flying.q.val() - 1;
        }
        let settled = self.settling.q.val() & !record_made & !self.flying.q.val().any();
        self.settling.load(settled, false);
        self.ring_done.next = settled;
    }

    /// Read. The subtraction is done here, because the choice of the next visit depends on whether the ring is full.
    fn read(&mut self) {
        self.entries.read_address.next = self.pid.q.val();
        self.heads.read_address.next = self.pid.q.val();
        self.heads.write(self.head.valid.val(), self.head.pid.val(), self.head.val());
        if self.reading.q.val() {
            let read = self.entries.read_data.val();
            self.entry.d.next = read;
            self.used.d.next = read.tail.get_bits::<16>(0) - self.heads.read_data.val();
            self.any_lost.d.next = read.lost.any();
            self.reserved.d.next = self.owed.val();
            self.acting.d.next = true;
        }
    }
}
