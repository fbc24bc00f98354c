//! Write sender: chunks, as memory write packets.
//!
//! | neighbour | ports |
//! |---|---|
//! | write collector | in `chunk`, `store` (pulse), `store_at`; out `freed` (pulse) |
//! | NIC | out `bid`, `bresp`, `bvalid` |
//! | transmitter | out `packet` |
//! | `pcie_7x` | in `open`: the link is up and the function is bus master; in `up`: the link is up; in `id` |
//!
//! A burst is answered when the transmitter has taken the last beat of its last packet: everything that is sent later,
//! also a read, a completion or a message, follows it on the link. While `open` is low a chunk is dropped, and its
//! burst is answered with SLVERR. If the link goes down inside a packet, the packet is given up and the burst answered
//! with SLVERR too.
//!
//! Header: 3 DWs below 4 GiB, else 4. The payload is moved from its place in the line to its place after the header: a
//! beat is made of two successive quarters of lines. Lines lie in LUT RAM, 32 × 512 bits; so they are read at once.
//!
//! `chunk` → `packet`: 1 cycle. A beat per cycle, no gap between packets. Last beat taken → `bvalid`: 1 cycle. Chunk
//! dropped → `bvalid`: 2 cycles. 32 answers may wait; then the sender does, before the next packet.

use super::header::memory_request;
use super::ports::PacketSource;
use super::write_collect::{Chunk, STORE_BITS};
use spindle_blocks::{Fifo, LutMemory};
use spindle_verilog::prelude::*;

/// AXI response: not written.
const SLVERR: u64 = 2;

/// Answer to a burst.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Answer {
    id: Bits<8>,
    failed: Bit,
}

/// The sender. See the module text.
#[block]
pub struct WriteSender {
    /// Chunks.
    pub chunk: Sink<Chunk>,
    /// Line to store.
    pub store: PulseSink<Bits<512>>,
    /// Its place.
    pub store_at: Signal<In, Bits<STORE_BITS>>,
    /// Lines that are free again.
    pub freed: Pulse<Bits<5>>,
    /// Id of a burst.
    pub bid: Signal<Out, Bits<8>>,
    /// Its answer.
    pub bresp: Signal<Out, Bits<2>>,
    /// Offered.
    pub bvalid: Signal<Out, Bit>,
    /// Taken.
    pub bready: Signal<In, Bit>,
    /// Packets.
    pub packet: PacketSource,
    /// The link is up and the function is bus master.
    pub open: Signal<In, Bit>,
    /// The link is up.
    pub up: Signal<In, Bit>,
    /// The function.
    pub id: Signal<In, Bits<16>>,
    lines: LutMemory<Bits<512>, STORE_BITS>,
    answers: Fifo<Answer, 5>,
    busy: Reg<Bit>,
    now: DFF<Chunk>,
    wide: DFF<Bit>,
    /// How far DWs move down: place in the quarter, and 1 more for a short header.
    shift: DFF<Bits<3>>,
    header: DFF<Bits<128>>,
    on_header: DFF<Bit>,
    /// DWs of the packet that are left.
    left: DFF<Bits<8>>,
    quarter: DFF<Bits<128>>,
    older: DFF<Bits<128>>,
    /// Next quarter; first line of the next chunk.
    next_line: DFF<Bits<STORE_BITS>>,
    next_quarter: DFF<Bits<2>>,
    base: Reg<Bits<STORE_BITS>>,
    /// A part of the burst was dropped.
    failed: Reg<Bit>,
    answer: DFF<Answer>,
    answer_valid: Reg<Bit>,
}

#[hdl]
impl WriteSender {
    fn update(&mut self) {
        self.lines.write(self.store.valid.val(), self.store_at.val(), self.store.val());
        let head = self.chunk.val();
        // Answers that are on their way have room.
        let room = self.answers.level.val() < bits::<16>(30);
        let empty = !head.words.any();
        let sends = self.open.val() & !empty;

        let busy = self.busy.q.val();
        let moves = busy & self.packet.ready.val();
        let last = self.left.q.val() <= bits::<8>(4);
        let lost = busy & !self.up.val();
        let finishes = (moves & last) | lost;
        let takes = self.chunk.valid.val() & room & (!busy | finishes) & !lost;
        let starts = takes & sends;
        let drops = takes & !sends;

        // The chunk under way, and the next one.
        let wide = head.address.get_bits::<32>(30).any();
        let from = head.address.get_bits::<2>(0);
        if starts {
            self.now.d.next = head;
            self.wide.d.next = wide;
            self.shift.d.next = bit_cast::<3, 2>(from) + bit_cast::<3, 1>((!wide).into());
            let last_enables = if head.words == bits::<8>(1) { bits::<4>(0) } else { head.last };
            self.header.d.next = memory_request(
                true,
                self.id.val(),
                bits::<8>(0),
                head.address,
                bit_cast::<10, 8>(head.words),
                (last_enables, head.first).cat::<8>(),
            );
            self.on_header.d.next = true;
            self.left.d.next = head.words + if wide { bits::<8>(4) } else { bits::<8>(3) };
        } else if moves {
            self.on_header.d.next = false;
            self.left.d.next = self.left.q.val() - 4;
        }
        self.busy.load(starts | finishes, starts);
        self.base.load(takes, self.base.q.val() + bit_cast::<STORE_BITS, 4>(head.lines));
        self.chunk.ready.next = takes;

        // Quarters: the next one is fetched while this one is sent.
        let line = if starts { self.base.q.val() } else { self.next_line.q.val() };
        let quarter = if starts { head.address.get_bits::<2>(2) } else { self.next_quarter.q.val() };
        self.lines.read_address.next = line;
        let stored = self.lines.read_data.val();
        let fetched = select(
            quarter,
            [
                stored.get_bits::<128>(0),
                stored.get_bits::<128>(128),
                stored.get_bits::<128>(256),
                stored.get_bits::<128>(384),
            ],
        );
        if starts | moves {
            self.quarter.d.next = fetched;
            self.older.d.next = self.quarter.q.val();
            self.next_quarter.d.next = quarter + 1;
            self.next_line.d.next = if quarter.all() { line + 1 } else { line };
        }
        self.send();

        // Answers and room.
        let ends_now = finishes & self.now.q.val().ends;
        let ends_head = drops & head.ends;
        // A chunk is dropped in the cycle in which another one finishes: its burst is answered one cycle later.
        let failed_now = self.failed.q.val() | lost | self.now.q.val().failed;
        self.answer_valid.d.next = ends_head;
        self.answer.d.next = Answer {
            id: head.id,
            failed: (self.failed.q.val() & !ends_now) | (!empty & !self.open.val()) | head.failed | (lost & !ends_now),
        };
        let late = self.answer_valid.q.val();
        self.answers.write.next =
            if late { self.answer.q.val() } else { Answer { id: self.now.q.val().id, failed: failed_now } };
        self.answers.write.valid.next = late | ends_now;
        if ends_head {
            self.failed.d.next = false;
        } else if drops & !empty {
            self.failed.d.next = true;
        } else if ends_now {
            self.failed.d.next = false;
        } else if lost {
            self.failed.d.next = true;
        }
        let freed_now = if finishes { self.now.q.val().lines } else { bits::<4>(0) };
        let freed_head = if drops { head.lines } else { bits::<4>(0) };
        self.freed.offer(finishes | drops, bit_cast::<5, 4>(freed_now) + bit_cast::<5, 4>(freed_head));
        self.answers.read.ready.next = self.bready.val();
        self.bvalid.next = self.answers.read.valid.val();
        self.bid.next = self.answers.read.val().id;
        self.bresp.next = if self.answers.read.val().failed { bits::<2>(SLVERR) } else { bits::<2>(0) };
    }

    /// The beat.
    fn send(&mut self) {
        let older = self.older.q.val();
        let quarter = self.quarter.q.val();
        let both = (quarter, older).cat::<256>();
        let mut moved: Bits<128> = quarter;
        for i in 0..4 {
            if self.shift.q.val() == bits::<3>(i as u64) {
                moved = both.get_bits::<128>(32 * i);
            }
        }
        let mut out: Bits<128> = bits::<128>(0);
        for i in 0..4 {
            out = out | (bit_cast::<128, 32>(byte_swap(moved.get_bits::<32>(32 * i))) << (32 * i as u64));
        }
        if self.on_header.q.val() {
            let header = self.header.q.val();
            out = if self.wide.q.val() {
                header
            } else {
                (out.get_bits::<32>(96), header.get_bits::<96>(0)).cat::<128>()
            };
        }
        let left = self.left.q.val();
        let last = left <= bits::<8>(4);
        self.packet.data.next = out;
        self.packet.last.next = last;
        self.packet.top.next = if last { left.get_bits::<2>(0) - 1 } else { bits::<2>(3) };
        self.packet.valid.next = self.busy.q.val();
    }
}
