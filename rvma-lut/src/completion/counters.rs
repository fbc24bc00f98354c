//! Counters: bytes acknowledged per buffer, and when a buffer is complete.
//!
//! | neighbour | ports |
//! |---|---|
//! | holds | in `buffer_event` (with headroom), `hold_end` |
//! | buffer queue | in `posted` (pulse), `posted_record` |
//! | report | in `bytes_acked` |
//! | completion | out `completion` (with headroom) |
//!
//! A buffer is complete when it is closed (the messages bound to it reach the threshold) and every byte of those
//! messages has been acknowledged. In WAIT_B, bytes are acknowledged by the last answer to their write, so this one
//! count stands for both conditions of a completion: enough bytes, and no write outstanding. A message is never split:
//! bytes that overshoot the threshold are waited for as well. If a write failed, the record says PARTIAL and gives the
//! bytes that did arrive.
//!
//! A buffer that is cut is complete at once, with the bytes placed: the buffer reclaim has waited for all writes. A
//! buffer that was complete before stays as it was.
//!
//! The entry of an open buffer counts the bytes acknowledged; that of a closed one counts the bytes still missing down.
//!
//! A hold of a pending message counts as a byte that is missing, and its end as the answer to that byte. So a buffer
//! is complete when no message holds it, too.
//!
//! One event, end of a hold or acknowledged packet per two cycles, also for one buffer:
//!
//! | cycle | step |
//! |---|---|
//! | 0 | operation taken; the buffer's entry is read |
//! | 1 | the entry, or the result of the operation just before, goes into a register |
//! | 2 | sums and comparisons |
//! | 3 | written back; `completion` |

use crate::prelude::*;
use spindle_contract::wire::status;

/// Address bits of the FIFO of buffer events.
const EVENT_BITS: usize = 5;
/// Level of that FIFO from which there is no headroom: each of the packets on their way may hold its buffer and close it.
const EVENT_STOP: u64 = 16;

/// Counts of a buffer.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CountEntry {
    /// Open: bytes acknowledged, less the holds, modulo 2^33; closed: bytes missing and holds.
    pub count: Bits<33>,
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
    /// The buffer is held, or a hold is over.
    pub holds: Bit,
    /// With `cut`: its mailbox is closed.
    pub cancelled: Bit,
    /// The host took the bytes.
    pub ok: Bit,
    /// Buffer closed: bytes bound; bytes acknowledged: bytes of the packet; a hold: -1; a hold is over: 1.
    pub amount: Bits<33>,
    /// Buffer slot.
    pub slot: Bits<14>,
    /// Frame sequence number.
    pub frame: Bits<16>,
    /// Cycle of the answer.
    pub stamp: Bits<32>,
}

/// The counters. See the module text.
#[block]
pub struct Counters {
    /// Buffer posted, closed, cut or held.
    pub buffer_event: HeadroomSink<BufferEvent>,
    /// Slot of a buffer that is posted.
    pub posted: PulseSink<Bits<14>>,
    /// With `posted`: fields of its record.
    pub posted_record: Signal<In, RecordEntry>,
    /// Bytes of a packet whose write ended.
    pub bytes_acked: Sink<BytesAcked>,
    /// A hold is over.
    pub hold_end: Sink<HoldEnd>,
    /// Buffer that is complete.
    pub completion: HeadroomSource<Completion>,
    events: Fifo<BufferEvent, EVENT_BITS>,
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
    up: DFF<Bits<33>>,
    down: DFF<Bits<33>>,
    missing: DFF<Bits<33>>,
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
            // An answer is taken in the cycle after its arrival.
            cycle: Reg::new(Bits::<32>::mask()),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Counters {
    fn update(&mut self) {
        self.cycle.d.next = self.cycle.q.val() + 1;

        self.write_back();
        self.take();
        self.check();
    }

    /// Cycle 3: writes the entry back, reports a completion.
    fn write_back(&mut self) {
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
            self.entry_written.next = CountEntry { closed: false, ..CountEntry::default() };
        } else if ended.cut {
            self.entry_written.next = CountEntry { closed: true, ..CountEntry::default() };
        }
        self.counts.write(self.checked.q.val(), ended.slot, self.entry_written.val());
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
            event: record.event,
            spare: bits::<9>(0),
        };
    }

    /// Cycle 0: events go first, they are rare. Not in the cycle of a write back, so the RAM never reads what it
    /// writes.
    fn take(&mut self) {
        self.events.write.offer(self.buffer_event.valid.val(), self.buffer_event.val());
        self.buffer_event.headroom.next = self.events.level.val() < EVENT_STOP;
        let buffer_event = self.events.read.val();
        let bytes_acked = self.bytes_acked.val();
        let go = !self.taken.q.val() & !self.checked.q.val() & self.completion.headroom.val();
        self.events.read.ready.next = go;
        let hold_end = self.hold_end.val();
        self.hold_end.ready.next = go & !self.events.read.valid.val();
        self.bytes_acked.ready.next = go & !self.events.read.valid.val() & !self.hold_end.valid.val();
        self.op.next = CountOp {
            ok: bytes_acked.ok,
            amount: bit_cast::<33, 16>(bytes_acked.length),
            slot: bytes_acked.slot,
            frame: bytes_acked.frame,
            stamp: self.cycle.q.val(),
            ..CountOp::default()
        };
        if self.events.read.valid.val() {
            self.op.next.open = buffer_event.open;
            self.op.next.close = !buffer_event.open & !buffer_event.cut & !buffer_event.hold;
            self.op.next.cut = buffer_event.cut;
            self.op.next.cancelled = buffer_event.cancelled;
            self.op.next.holds = buffer_event.hold;
            self.op.next.amount = bit_cast::<33, 32>(buffer_event.total) | repeat::<33>(buffer_event.hold);
            self.op.next.slot = buffer_event.slot;
            self.op.next.frame = buffer_event.frame;
        } else if self.hold_end.valid.val() {
            self.op.next.holds = true;
            self.op.next.amount = bits::<33>(1);
            self.op.next.slot = hold_end.slot;
            self.op.next.frame = hold_end.frame;
        }
        let op = self.op.val();
        let take = go & (self.events.read.valid.val() | self.hold_end.valid.val() | self.bytes_acked.valid.val());
        self.taken.d.next = take;
        self.op_1.d.next = op;
        self.counts.read(take, op.slot);
        self.records.read(take, op.slot);
        self.records.write(self.posted.valid.val(), self.posted.val(), self.posted_record.val());
    }

    /// Cycle 1: loads the entry. Cycle 2: all sums and comparisons in parallel.
    fn check(&mut self) {
        self.loaded.d.next = self.taken.q.val();
        self.op_2.load(self.taken.q.val(), self.op_1.q.val());
        self.record_2.d.next = self.records.read_data.val();
        self.entry.d.next = self.counts.read_data.val();
        if self.checked.q.val() & (self.op_3.q.val().slot == self.op_1.q.val().slot) {
            self.entry.d.next = self.entry_written.val();
        }

        let entry = self.entry.q.val();
        let op = self.op_2.q.val();
        let equal = entry.count == op.amount;
        self.checked.d.next = self.loaded.q.val();
        self.op_3.load(self.loaded.q.val(), op);
        self.record_3.d.next = self.record_2.q.val();
        self.up.d.next = entry.count + op.amount;
        self.down.d.next = entry.count - op.amount;
        self.missing.d.next = op.amount - entry.count;
        self.placed.d.next = entry.placed;
        self.closed.d.next = entry.closed;
        self.failed.d.next = entry.failed;
        self.complete.d.next = equal & (op.close | entry.closed) & !op.open;
        self.complete.load(op.cut, !entry.closed | entry.count.any());
        if !op.open & !op.close & !op.cut & !op.holds {
            self.failed.d.next = entry.failed | !op.ok;
            self.placed.load(op.ok, entry.placed + op.amount.get_bits::<32>(0));
        }
    }
}
