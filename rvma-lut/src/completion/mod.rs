//! Completion: writes the record of a complete buffer to host memory, and retires the buffer.
//!
//! | neighbour | ports |
//! |---|---|
//! | counters | in `completion` (with headroom) |
//! | DMA writer | out `record` |
//! | epochs | out `retired` |
//! | binding | in `bound` (observed, never stalled; not in two successive cycles) |
//! | buffer queue | in `posted` (pulse): no packet of that buffer is under way then |
//! | event rings | out `buffer_report` |
//!
//! A buffer that was not filled is reported by an event first (contract, `events::BUFFER`), with its high-water mark:
//! the greatest end of a packet that was placed in the buffer. A packet counts when it is bound, 3 cycles after
//! `bound`, so the mark is final when no write to the buffer is under way, as when its record leaves. A complete buffer
//! of a mailbox with mode EVENT is reported after its record, 1 cycle after the record has been taken. It waits
//! only while an event before it waits, so other completions are not slower.
//!
//! `completion` → `record`: 1 cycle; with an event 4, or more while packets are bound: these read their marks first. A
//! record is 16 bytes in one write of its own (contract, `wire::RECORD_*`): length u32, status u8, 0, epoch u16, buffer
//! pointer u64, little-endian. Its address leaves only after the counters have seen the last byte, so the record never
//! overtakes data.

pub mod buffer_reclaim;
pub mod counters;
pub mod epochs;
pub mod event_rings;
pub mod frame_events;
pub mod frame_places;
pub mod moderation;
pub mod receive_maps;
pub mod report;

use crate::prelude::*;
use spindle_contract::events::BUFFER;
use spindle_contract::wire::{status, RECORD_BYTES};

/// The completion unit. See the module text.
#[block]
pub struct CompletionUnit {
    /// Complete buffer.
    pub completion: HeadroomSink<Completion>,
    /// Record of the buffer.
    pub record: Source<InternalWrite>,
    /// The buffer, when its record has been handed on.
    pub retired: Source<Retired>,
    /// Packet to write.
    pub bound: PulseSink<BoundPacket>,
    /// Slot of a buffer that is posted.
    pub posted: PulseSink<Bits<14>>,
    /// Event of a buffer that was not filled, or that is complete.
    pub buffer_report: Source<EventDesc>,
    waiting: Fifo<Completion, QUEUE_BITS>,
    /// The mark has been read; the mark is present; the event has left.
    fetched: Reg<Bit>,
    marked: Reg<Bit>,
    event_sent: Reg<Bit>,
    /// Event of a complete buffer whose record has been handed on.
    complete_report: DFF<EventDesc>,
    complete_waits: Reg<Bit>,
    high: DFF<Bits<32>>,
    marks: SdpRam<14, 32>,
    counting: Reg<Bit>,
    higher: Reg<Bit>,
    /// A mark was written in the previous cycle.
    wrote: Reg<Bit>,
    slot: DFF<Bits<14>>,
    reach: DFF<Bits<32>>,
    /// Slot and end of the packet that was counted last.
    held_slot: DFF<Bits<14>>,
    held: DFF<Bits<32>>,
}

impl CompletionUnit {
    /// A completion unit for `posted_buffers` slots.
    pub fn new(posted_buffers: usize) -> Self {
        let style = if posted_buffers > 8192 { RamStyle::Ultra } else { RamStyle::Block };
        Self { marks: SdpRam::with_depth(style, 1, posted_buffers), ..Self::blank() }
    }
}

#[hdl]
impl CompletionUnit {
    fn update(&mut self) {
        self.waiting.write.offer(self.completion.valid.val(), self.completion.val());
        self.completion.headroom.next = self.waiting.level.val() < QUEUE_STOP;

        let done = self.waiting.read.val();
        // The event of a buffer that was not filled goes first, once.
        let complete = done.status == bits(status::DONE);
        let event_over = complete | self.event_sent.q.val();
        let needs_event = self.waiting.read.valid.val() & !event_over;
        let packet_comes = self.bound.valid.val();
        let complete_waits = self.complete_waits.q.val();
        let reads_mark = needs_event & !self.fetched.q.val() & !self.marked.q.val() & !packet_comes & !complete_waits;
        self.fetched.d.next = reads_mark;
        if self.fetched.q.val() {
            self.high.d.next = self.marks.read_data.val();
            self.marked.d.next = true;
        }
        let report = EventDesc {
            pid: done.pid,
            kind: bits::<4>(BUFFER),
            context: bits::<4>(0),
            code: done.status,
            flags: bits::<8>(0),
            id: bit_cast::<32, 12>(done.mailbox),
            length: done.length,
            extra: if complete { done.length } else { self.high.q.val() },
            source: bit_cast::<32, 16>(done.epoch),
            user: done.address,
        };
        // Never both: no mark is read while the event of a complete buffer waits.
        self.buffer_report.offer(
            self.marked.q.val() | complete_waits,
            if complete_waits { self.complete_report.q.val() } else { report },
        );
        if self.marked.q.val() & self.buffer_report.ready.val() {
            self.marked.d.next = false;
            self.event_sent.d.next = true;
        }
        self.complete_waits.load(self.buffer_report.ready.val(), false);

        // The marks. The RAM returns the old mark if the previous packet wrote in the cycle of the read.
        let bound = self.bound.val();
        self.marks.read(packet_comes | reads_mark, done.buffer);
        if packet_comes {
            self.marks.read_address.next = bound.slot;
            self.slot.d.next = bound.slot;
            self.reach.d.next = bound.start + bit_cast::<32, 16>(bound.payload_len);
        }
        let known = self.wrote.q.val() & (self.held_slot.q.val() == self.slot.q.val());
        let mark = if known { self.held.q.val() } else { self.marks.read_data.val() };
        self.wrote.d.next = self.higher.q.val();
        self.counting.d.next = packet_comes;
        self.higher.d.next = self.counting.q.val() & (self.reach.q.val() > mark);
        if self.counting.q.val() {
            self.held_slot.d.next = self.slot.q.val();
            self.held.d.next = self.reach.q.val();
        }
        self.marks.write(self.higher.q.val() | self.posted.valid.val(), self.held_slot.q.val(), self.held.q.val());
        if self.posted.valid.val() {
            self.marks.write_address.next = self.posted.val();
            self.marks.write_data.next = bits::<32>(0);
        }

        let reports = complete & done.event;
        let may_report = !reports | !complete_waits;
        let valid = self.waiting.read.valid.val() & event_over & self.retired.ready.val() & may_report;
        self.record.valid.next = valid;
        self.record.next = InternalWrite {
            host_write: HostWrite {
                address: done.record,
                origin: WriteOrigin {
                    kind: bits::<3>(RECORD),
                    slot: done.buffer,
                    frame: done.frame,
                    length: bits::<16>(RECORD_BYTES),
                    ..WriteOrigin::default()
                },
                ..HostWrite::default()
            },
            data: bit_cast::<256, 128>((done.address, done.epoch, bits::<8>(0), done.status, done.length).cat::<128>()),
        };
        self.waiting.read.ready.next = self.record.ready.val() & event_over & self.retired.ready.val() & may_report;
        if valid & self.record.ready.val() & reports {
            self.complete_report.d.next = report;
            self.complete_waits.d.next = true;
        }
        self.event_sent.load(valid & self.record.ready.val(), false);
        self.retired.next =
            Retired { mailbox: done.mailbox, slot: done.buffer, base: done.address, length: done.length };
        self.retired.valid.next = valid & self.record.ready.val();
    }
}
