//! Counters: bytes settled per buffer, and when a buffer is complete.
//!
//! | neighbour | ports |
//! |---|---|
//! | buffer queue | in `buffer_event`, `news_valid` (no ready); out `buffer_event_headroom`; in `record_entry`, `record_slot`, `record_write` |
//! | report | in `bytes_acked`, `bytes_acked_valid`; out `bytes_acked_ready` |
//! | completion | out `completion`, `completion_valid` (no ready); in `completion_headroom` |
//!
//! A buffer is complete when it is closed (the messages bound to it reach the threshold) and every byte of those messages has
//! been settled. Bytes are settled with the last answer to their write, so in WAIT_B this one count stands for both
//! conditions of a completion: enough bytes, and no write outstanding. A message is never split: bytes that overshoot the
//! threshold are waited for as well. If a write failed, the record says PARTIAL and gives the bytes that did arrive.
//!
//! A buffer that is cut is complete at once, with what was placed: whoever cuts it has seen to it that no bytes are under way. One
//! that was complete before stays as it was.
//!
//! Until a buffer is closed its entry counts up the bytes settled; from then on it counts down those still missing.
//!
//! One event or settled packet per two cycles, also for one buffer:
//!
//! | cycle | what |
//! |---|---|
//! | 0 | taken; the buffer's entry is read |
//! | 1 | the entry, or what the operation just before made of it, goes into a register |
//! | 2 | sums and comparisons |
//! | 3 | written back; `completion_valid` |

use crate::types::{BufferEvent, BytesAcked, RecordEntry, QUEUE_BITS, QUEUE_STOP};
use spindle_blocks::desc::Completion;
use spindle_blocks::ram::{RamStyle, SdpMemory};
use spindle_blocks::Fifo;
use spindle_contract::wire::status;
use spindle_verilog::prelude::*;

/// Counts of a buffer.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CountEntry {
    /// Open: bytes settled; closed: bytes missing.
    pub count: Bits<32>,
    /// Bytes that the host took.
    pub placed: Bits<32>,
    /// No further message will be bound.
    pub closed: Bit,
    /// A write failed.
    pub failed: Bit,
}

/// An operation on a buffer's counts.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CountOp {
    /// The buffer was posted.
    pub open: Bit,
    /// The buffer was closed.
    pub close: Bit,
    /// The buffer was cut.
    pub cut: Bit,
    /// Because its mailbox is closed.
    pub cancelled: Bit,
    /// The bytes arrived.
    pub ok: Bit,
    /// Closed: bytes bound; settled: bytes of the packet.
    pub amount: Bits<32>,
    /// Buffer.
    pub slot: Bits<14>,
    /// Frame.
    pub frame: Bits<16>,
    /// Cycle of the answer.
    pub stamp: Bits<32>,
}

/// The counters. See the module text.
#[block]
pub struct Counters {
    /// News of a buffer.
    pub buffer_event: PulseSink<BufferEvent>,
    /// There is room for four.
    pub buffer_event_headroom: Signal<Out, Bit>,
    /// What the record of a posted buffer needs.
    pub record_entry: Signal<In, RecordEntry>,
    /// Its slot.
    pub record_slot: Signal<In, Bits<14>>,
    /// Keep it.
    pub record_write: Signal<In, Bit>,
    /// Bytes settled.
    pub bytes_acked: Sink<BytesAcked>,
    /// Buffer that is complete.
    pub completion: Pulse<Completion>,
    /// There is room for four.
    pub completion_headroom: Signal<In, Bit>,
    events: Fifo<BufferEvent, QUEUE_BITS>,
    counts: SdpMemory<CountEntry, 14>,
    records: SdpMemory<RecordEntry, 14>,
    cycle: Reg<Bits<32>>,
    taken: Reg<Bit>,
    loaded: Reg<Bit>,
    checked: Reg<Bit>,
    op_1: DFF<CountOp>,
    op_2: DFF<CountOp>,
    op_3: DFF<CountOp>,
    entry: DFF<CountEntry>,
    record_2: DFF<RecordEntry>,
    record_3: DFF<RecordEntry>,
    up: DFF<Bits<32>>,
    down: DFF<Bits<32>>,
    missing: DFF<Bits<32>>,
    placed: DFF<Bits<32>>,
    closed: DFF<Bit>,
    failed: DFF<Bit>,
    complete: DFF<Bit>,
    op: Signal<Local, CountOp>,
    entry_written: Signal<Local, CountEntry>,
}

impl Counters {
    /// Counters of `posted_buffers` slots, a power of two from 64 to 16384.
    pub fn new(posted_buffers: usize) -> Self {
        let style = if posted_buffers > 8192 { RamStyle::Ultra } else { RamStyle::Block };
        Self {
            counts: SdpMemory::with_depth(style, 1, posted_buffers),
            records: SdpMemory::with_depth(style, 1, posted_buffers),
            // An answer is taken in the cycle after it came.
            cycle: Reg::new(Bits::<32>::mask()),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Counters {
    fn update(&mut self) {
        self.cycle.d.next = self.cycle.q.val() + 1;

        // Cycle 3: write back, report completion.
        let ended = self.op_3.q.val();
        self.entry_written.next = CountEntry {
            count: if ended.close {
                self.missing.q.val()
            } else if self.closed.q.val() {
                self.down.q.val()
            } else {
                self.up.q.val()
            },
            placed: self.placed.q.val(),
            closed: self.closed.q.val() | ended.close,
            failed: self.failed.q.val(),
        };
        if ended.open {
            self.entry_written.next = CountEntry { closed: false, ..Default::default() };
        } else if ended.cut {
            self.entry_written.next = CountEntry { closed: true, ..Default::default() };
        }
        self.counts.write_enable.next = self.checked.q.val();
        self.counts.write_address.next = ended.slot;
        self.counts.write_data.next = self.entry_written.val();
        let record = self.record_3.q.val();
        self.completion.valid.next = self.checked.q.val() & self.complete.q.val();
        self.completion.next = Completion {
            version: bits::<4>(spindle_contract::VERSION),
            frame: ended.frame,
            mailbox: record.mailbox,
            buffer: ended.slot,
            record: (record.record, bits::<4>(0)).cat::<64>(),
            length: self.placed.q.val(),
            status: if ended.cancelled {
                bits::<8>(status::CANCELLED)
            } else if self.failed.q.val() | ended.cut {
                bits::<8>(status::PARTIAL)
            } else {
                bits::<8>(status::DONE)
            },
            epoch: record.epoch,
            address: record.base,
            stamp: ended.stamp,
            pid: record.pid,
            spare: bits::<10>(0),
        };

        // Cycle 0: events first, they are rare. Not in the cycle of a write back, so the RAM never reads what it writes.
        self.events.write.next = self.buffer_event.val();
        self.events.write.valid.next = self.buffer_event.valid.val();
        self.buffer_event_headroom.next = self.events.level.val() < QUEUE_STOP;
        let buffer_event = self.events.read.val();
        let bytes_acked = self.bytes_acked.val();
        let go = !self.taken.q.val() & !self.checked.q.val() & self.completion_headroom.val();
        self.events.read.ready.next = go;
        self.bytes_acked.ready.next = go & !self.events.read.valid.val();
        self.op.next = CountOp {
            open: false,
            close: false,
            cut: false,
            cancelled: false,
            ok: bytes_acked.ok,
            amount: bit_cast::<32, 16>(bytes_acked.length),
            slot: bytes_acked.slot,
            frame: bytes_acked.frame,
            stamp: self.cycle.q.val(),
        };
        if self.events.read.valid.val() {
            self.op.next.open = buffer_event.open;
            self.op.next.close = !buffer_event.open & !buffer_event.cut;
            self.op.next.cut = buffer_event.cut;
            self.op.next.cancelled = buffer_event.cancelled;
            self.op.next.amount = buffer_event.total;
            self.op.next.slot = buffer_event.slot;
            self.op.next.frame = buffer_event.frame;
        }
        let op = self.op.val();
        let take = go & (self.events.read.valid.val() | self.bytes_acked.valid.val());
        self.taken.d.next = take;
        self.op_1.d.next = op;
        self.counts.read_enable.next = take;
        self.counts.read_address.next = op.slot;
        self.records.read_enable.next = take;
        self.records.read_address.next = op.slot;
        self.records.write_enable.next = self.record_write.val();
        self.records.write_address.next = self.record_slot.val();
        self.records.write_data.next = self.record_entry.val();

        // Cycle 1: load.
        self.loaded.d.next = self.taken.q.val();
        if self.taken.q.val() {
            self.op_2.d.next = self.op_1.q.val();
        }
        self.record_2.d.next = self.records.read_data.val();
        self.entry.d.next = self.counts.read_data.val();
        if self.checked.q.val() & (ended.slot == self.op_1.q.val().slot) {
            self.entry.d.next = self.entry_written.val();
        }

        // Cycle 2: all sums and comparisons beside each other.
        let entry = self.entry.q.val();
        let cycle = self.op_2.q.val();
        let equal = entry.count == cycle.amount;
        self.checked.d.next = self.loaded.q.val();
        if self.loaded.q.val() {
            self.op_3.d.next = cycle;
        }
        self.record_3.d.next = self.record_2.q.val();
        self.up.d.next = entry.count + cycle.amount;
        self.down.d.next = entry.count - cycle.amount;
        self.missing.d.next = cycle.amount - entry.count;
        self.placed.d.next = entry.placed;
        self.closed.d.next = entry.closed;
        self.failed.d.next = entry.failed;
        self.complete.d.next = equal & (cycle.close | entry.closed) & !cycle.open;
        if cycle.cut {
            self.complete.d.next = !entry.closed | entry.count.any();
        }
        if !cycle.open & !cycle.close & !cycle.cut {
            self.failed.d.next = entry.failed | !cycle.ok;
            if cycle.ok {
                self.placed.d.next = entry.placed + cycle.amount;
            }
        }
    }
}
