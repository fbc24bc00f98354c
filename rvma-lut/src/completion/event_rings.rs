//! Event rings: a ring of 32-byte records in host memory for each process (contract, `events`).
//!
//! | neighbour | ports |
//! |---|---|
//! | packet engine, HPU array (sources 0, 1) | in `event`, `news_valid`; out `news_ready`; out `rings_open` |
//! | command unit | in `ring`, `ring_valid` (held); out `ring_done` (pulse) |
//! | doorbell | in `head`, `head_pid`, `head_write` (pulse) |
//! | DMA writer | out `write`, `write_valid`; in `write_ready`; in `finished` (pulse: the host answered a record) |
//! | registers | out `event_written`, `event_lost` (pulses) |
//!
//! The ring is the queue: an event whose ring has room is written at once, one whose ring is full is counted, and counted events
//! are told by a LOST record as soon as the host has read something, before the next event of the ring is written. So no ring ever
//! holds up another, and records stand in the order in which events came. An event for a closed ring is dropped and counted as it comes, one per cycle.
//!
//! All rings are looked at by one pipeline: choose, read, act; a visit takes two cycles, so there is an event per two cycles. The
//! sources have a register each and take turns. While any ring lacks its LOST record, every other visit looks
//! for one, ring after ring. Event taken → `write_valid` 4 cycles.
//!
//! Opening or closing is done (`ring_done`) when all records taken before it have been answered by the host, so that the memory of
//! a closed ring may be used for something else; other events wait meanwhile.

use crate::types::{HostWrite, InternalWrite, RingCommand, WriteOrigin, EVENT};
use spindle_blocks::desc::EventDesc;
use spindle_blocks::ram::LutMemory;
use spindle_contract::events::{BYTES, LOST};
use spindle_verilog::prelude::*;

/// Sources of events.
const SOURCES: usize = 2;
/// [`EventRings::visit`]: a ring that may lack its LOST record.
const SCAN: u64 = 2;
/// [`EventRings::visit`]: a command.
const COMMAND: u64 = 3;

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
    /// Event.
    pub event: [Sink<EventDesc>; SOURCES],
    /// Bit p = process p has a ring.
    pub rings_open: Signal<Out, Bits<64>>,
    /// Ring to open or close.
    pub ring: PulseSink<RingCommand>,
    /// It is done.
    pub ring_done: Signal<Out, Bit>,
    /// Records that the host has read.
    pub head: Signal<In, Bits<16>>,
    /// From the ring of this process.
    pub head_pid: Signal<In, Bits<6>>,
    /// It has been told so.
    pub head_write: Signal<In, Bit>,
    /// Record to write.
    pub write: Source<InternalWrite>,
    /// A record was answered.
    pub finished: Signal<In, Bit>,
    /// A record was made.
    pub event_written: Signal<Out, Bit>,
    /// Events that were lost.
    pub event_lost: Signal<Out, Bits<2>>,
    entries: LutMemory<RingEntry, 6>,
    heads: LutMemory<Bits<16>, 6>,
    events: [DFF<EventDesc>; SOURCES],
    /// An event is here and was not chosen yet.
    waiting: [Reg<Bit>; SOURCES],
    /// The event of this visit.
    current: DFF<EventDesc>,
    second_next: Reg<Bit>,
    scan_next: Reg<Bit>,
    scan: Reg<Bits<6>>,
    clearing: Reg<Bit>,
    /// Rings that lack a LOST record.
    lacking: Reg<Bits<7>>,
    /// What this visit is for: a source, SCAN or COMMAND.
    visit: DFF<Bits<2>>,
    pid: DFF<Bits<6>>,
    reading: Reg<Bit>,
    acting: Reg<Bit>,
    entry: DFF<RingEntry>,
    /// Records that the host has not read.
    used: DFF<Bits<16>>,
    any_lost: DFF<Bit>,
    settling: Reg<Bit>,
    flying: Reg<Bits<10>>,
    address: DFF<Bits<59>>,
    record: DFF<Bits<256>>,
    record_valid: Reg<Bit>,
    record_made: Reg<Bit>,
    lacks_one: Reg<Bit>,
    lacks_one_less: Reg<Bit>,
    lost: Reg<Bits<2>>,
    open: Reg<Bits<64>>,
    chosen: Signal<Local, Bits<2>>,
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
        // A source's register takes the next event when the one in it was chosen; what has no ring goes no further.
        let mut dropped: Bits<2> = bits::<2>(0);
        for i in 0..SOURCES {
            let offered = self.event[i].val();
            let has_ring = (self.open.q.val() >> offered.pid).get_bit(0);
            self.event[i].ready.next = !self.waiting[i].q.val();
            if !self.waiting[i].q.val() {
                self.waiting[i].d.next = self.event[i].valid.val() & has_ring;
                self.events[i].d.next = offered;
                dropped = dropped.replace_bit(i, self.event[i].valid.val() & !has_ring);
            }
        }

        // Act: the entry as it was read one cycle ago. A record may have to wait for the one before it.
        let acts = self.acting.q.val() & !self.record_valid.q.val();
        let entry = self.entry.q.val();
        let visit = self.visit.q.val();
        let any_lost = self.any_lost.q.val();
        let is_event = !visit.get_bit(1);
        let is_scan = visit == SCAN;
        let is_command = visit == COMMAND;
        let full = (self.used.q.val() & (bits::<1>(1), !entry.last).cat::<16>()).any();
        let makes = acts & entry.open & !full & (is_event | (is_scan & any_lost));
        // An event waits until those lost before it have been told.
        let revisits = makes & is_event & any_lost;
        let loses = acts & is_event & (full | !entry.open);
        self.entries.write_enable.next = acts;
        self.entries.write_address.next = self.pid.q.val();
        self.entries.write_data.next = entry;
        let number = entry.tail + 1;
        if makes {
            self.entries.write_data.next.tail = number;
            self.entries.write_data.next.lost = bits::<32>(0);
        } else if loses & entry.open {
            self.entries.write_data.next.lost = entry.lost + 1;
        }
        self.lacks_one.d.next = loses & entry.open & !any_lost;
        self.lacks_one_less.d.next = any_lost & (makes | (is_command & acts));
        if self.lacks_one.q.val() {
            self.lacking.d.next = self.lacking.q.val() + 1;
        } else if self.lacks_one_less.q.val() {
            self.lacking.d.next = self.lacking.q.val() - 1;
        }
        self.next_open.next = self.open.q.val();
        if is_command {
            let command = self.ring.val();
            self.entries.write_data.next = RingEntry {
                open: command.open,
                base: command.base,
                last: command.last,
                tail: bits::<32>(0),
                lost: bits::<32>(0),
            };
            if acts {
                let own = bits::<64>(1) << self.pid.q.val();
                self.next_open.next = if command.open { self.open.q.val() | own } else { self.open.q.val() & !own };
                self.settling.d.next = true;
            }
        }
        self.open.d.next = self.next_open.val();
        self.rings_open.next = self.open.q.val();
        if self.clearing.q.val() {
            self.entries.write_enable.next = true;
            self.entries.write_address.next = self.scan.q.val();
            self.entries.write_data.next = RingEntry::default();
            self.clearing.d.next = !self.scan.q.val().all();
        }

        // The record.
        let source = if is_scan | any_lost {
            EventDesc { kind: bits::<4>(LOST), length: entry.lost, ..Default::default() }
        } else {
            self.current.q.val()
        };
        if acts {
            let index = bit_cast::<59, 15>(entry.tail.get_bits::<15>(0) & entry.last);
            self.address.d.next = entry.base | index;
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

        // Records that the host has not answered.
        let record_made = self.record_made.q.val();
        if record_made & !self.finished.val() {
            self.flying.d.next = self.flying.q.val() + 1;
        } else if self.finished.val() & !record_made {
            self.flying.d.next = self.flying.q.val() - 1;
        }
        let settled = self.settling.q.val() & !record_made & !self.flying.q.val().any();
        if settled {
            self.settling.d.next = false;
        }
        self.ring_done.next = settled;

        // Read. The subtraction is made here: which visit comes next hangs on the ring being full.
        self.entries.read_address.next = self.pid.q.val();
        self.heads.read_address.next = self.pid.q.val();
        self.heads.write_enable.next = self.head_write.val();
        self.heads.write_address.next = self.head_pid.val();
        self.heads.write_data.next = self.head.val();
        if self.reading.q.val() {
            let read = self.entries.read_data.val();
            self.entry.d.next = read;
            self.used.d.next = read.tail.get_bits::<16>(0) - self.heads.read_data.val();
            self.any_lost.d.next = read.lost.any();
            self.acting.d.next = true;
        }

        // Choose.
        let first = self.waiting[0].q.val();
        let second = self.waiting[1].q.val();
        let scans = self.lacking.q.val().any() & (self.scan_next.q.val() | !(first | second));
        self.chosen_any.next = true;
        self.chosen.next = bits::<2>(0);
        self.chosen_pid.next = self.events[0].q.val().pid;
        if self.ring.valid.val() {
            self.chosen.next = bits::<2>(COMMAND);
            self.chosen_pid.next = self.ring.val().pid;
        } else if scans {
            self.chosen.next = bits::<2>(SCAN);
            self.chosen_pid.next = self.scan.q.val();
        } else if second & (self.second_next.q.val() | !first) {
            self.chosen.next = bits::<2>(1);
            self.chosen_pid.next = self.events[1].q.val().pid;
        } else {
            self.chosen_any.next = first;
        }
        // After a command nothing is looked at until the records before it have been answered; the visit of an event that comes
        // behind lost ones may have to be made again.
        let last_visit = !self.acting.q.val() | !(is_command | (is_event & any_lost));
        let free = !self.reading.q.val() & (!self.acting.q.val() | acts);
        let starts = free & last_visit & !self.settling.q.val() & !self.clearing.q.val() & self.chosen_any.val();
        self.reading.d.next = starts | revisits;
        if self.clearing.q.val() | (starts & scans & !self.ring.valid.val()) {
            self.scan.d.next = self.scan.q.val() + 1;
        }
        if starts {
            self.visit.d.next = self.chosen.val();
            self.pid.d.next = self.chosen_pid.val();
            self.scan_next.d.next = !self.chosen.val().get_bit(1);
            for i in 0..SOURCES {
                if self.chosen.val() == bits::<2>(i) {
                    self.waiting[i].d.next = false;
                    self.current.d.next = self.events[i].q.val();
                }
            }
            if !self.chosen.val().get_bit(1) {
                self.second_next.d.next = !self.chosen.val().get_bit(0);
            }
        }

        self.write.valid.next = self.record_valid.q.val();
        self.write.next = InternalWrite {
            host_write: HostWrite {
                address: (self.address.q.val(), bits::<5>(0)).cat::<64>(),
                last_line: bits::<11>(0),
                offset: bits::<6>(0),
                origin: WriteOrigin {
                    kind: bits::<3>(EVENT),
                    posted: false,
                    slot: bits::<14>(0),
                    frame: bits::<16>(0),
                    tag: bits::<10>(0),
                    has_slot: false,
                    msg_slot: bits::<8>(0),
                    fence_phase: false,
                    length: bits::<16>(BYTES),
                },
            },
            data: self.record.q.val(),
        };
    }
}
