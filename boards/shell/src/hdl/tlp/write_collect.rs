//! Write collector: AXI4 write bursts, cut into the payloads of packets.
//!
//! | neighbour | ports |
//! |---|---|
//! | NIC | in `host`: AXI4 write address and data |
//! | write sender | out `chunk`; out `store` (pulse), `store_at`; in `freed` (pulse) |
//! | `pcie_7x` | in `short_payload`, `long_payload`: the maximum payload is 128, or at least 512 bytes, else 256 |
//!
//! A chunk is a run of bytes without a gap: the payload of one packet. It ends where the strobes do, at the end of a
//! burst and at multiples of the maximum payload, so no packet crosses 4 KiB. A line without strobes has no part in a
//! chunk. The strobes of a line must be contiguous, because a packet has byte enables in its first and last DW only: a
//! line with a gap is not written, and its burst is answered with an error. Each burst has one chunk with `ends`, which
//! is empty if the burst has nothing (more) to write.
//!
//! Bursts are INCR with beats of 64 bytes and do not cross 4 KiB; address bits 5:0 are ignored, the strobes count. A
//! line takes 2 cycles, from `host.wvalid` to `store` 2 cycles, to `chunk` 3. The store has 32 lines; 16 chunks and 16
//! bursts may wait.

use spindle_blocks::{Fifo, Slice};
use spindle_verilog::prelude::*;

/// Address bits of the store of lines.
pub const STORE_BITS: usize = 5;

/// The payload of a packet.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Chunk {
    /// Address of the first DW.
    pub address: Bits<62>,
    /// DWs: 0 to 128.
    pub words: Bits<8>,
    /// Lines of the store.
    pub lines: Bits<4>,
    /// Byte enables of the first and the last DW.
    pub first: Bits<4>,
    pub last: Bits<4>,
    /// Last chunk of its burst.
    pub ends: Bit,
    /// With `ends`: a line had a gap.
    pub failed: Bit,
    /// Id of the burst.
    pub id: Bits<8>,
}

/// A burst.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Burst {
    line: Bits<58>,
    id: Bits<8>,
}

/// A line and its strobes.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Line {
    data: Bits<512>,
    strobes: Bits<64>,
    last: Bit,
}

/// The collector. See the module text.
#[block]
pub struct WriteCollector {
    /// Write address.
    pub awid: Signal<In, Bits<8>>,
    /// Byte address.
    pub awaddr: Signal<In, Bits<64>>,
    /// Offered.
    pub awvalid: Signal<In, Bit>,
    /// Taken.
    pub awready: Signal<Out, Bit>,
    /// Write data.
    pub wdata: Signal<In, Bits<512>>,
    /// Bytes to write.
    pub wstrb: Signal<In, Bits<64>>,
    /// Last beat of the burst.
    pub wlast: Signal<In, Bit>,
    /// Offered.
    pub wvalid: Signal<In, Bit>,
    /// Taken.
    pub wready: Signal<Out, Bit>,
    /// Chunks, in order.
    pub chunk: Source<Chunk>,
    /// Line to store.
    pub store: Pulse<Bits<512>>,
    /// Its place.
    pub store_at: Signal<Out, Bits<STORE_BITS>>,
    /// Lines that are free again.
    pub freed: PulseSink<Bits<5>>,
    /// The maximum payload is 128 bytes.
    pub short_payload: Signal<In, Bit>,
    /// The maximum payload is 512 bytes.
    pub long_payload: Signal<In, Bit>,
    bursts: Fifo<Burst, 4>,
    chunks: Fifo<Chunk, 4>,
    input: Slice<Line>,
    /// The line was looked at.
    looked: Reg<Bit>,
    any: DFF<Bit>,
    gap: DFF<Bit>,
    from_start: DFF<Bit>,
    to_end: DFF<Bit>,
    start: DFF<Bits<4>>,
    count: DFF<Bits<5>>,
    start_enables: DFF<Bits<4>>,
    end_enables: DFF<Bits<4>>,
    /// Line of the burst.
    offset: Reg<Bits<6>>,
    failed: Reg<Bit>,
    /// The chunk that grows.
    open: Reg<Bit>,
    grown: DFF<Chunk>,
    at: Reg<Bits<STORE_BITS>>,
    used: Reg<Bits<6>>,
}

#[hdl]
impl WriteCollector {
    fn update(&mut self) {
        self.bursts.write.next = Burst { line: self.awaddr.val().get_bits::<58>(6), id: self.awid.val() };
        self.bursts.write.valid.next = self.awvalid.val();
        self.awready.next = self.bursts.write.ready.val();
        self.input.write.next = Line { data: self.wdata.val(), strobes: self.wstrb.val(), last: self.wlast.val() };
        self.input.write.valid.next = self.wvalid.val();
        self.wready.next = self.input.write.ready.val();
        self.look();
        self.place();
    }

    /// First cycle of a line: where its bytes begin and end.
    fn look(&mut self) {
        let strobes = self.input.read.val().strobes;
        let mut words: Bits<16> = bits::<16>(0);
        let mut backwards: Bits<16> = bits::<16>(0);
        for i in 0..16 {
            let any = strobes.get_bits::<4>(4 * i).any();
            words = words.replace_bit(i, any);
            backwards = backwards.replace_bit(15 - i, any);
        }
        // Runs of strobes begin in these DWs, and two of them in these.
        let begins = strobes & !(strobes << 1u64);
        let mut once: Bits<16> = bits::<16>(0);
        let mut twice: Bits<16> = bits::<16>(0);
        for i in 0..16 {
            let here = begins.get_bits::<4>(4 * i);
            once = once.replace_bit(i, here.any());
            twice = twice.replace_bit(i, (here & (here >> 2u64)).any() | (here.get_bit(0) & here.get_bit(3)));
        }
        let start = first_set::<4, 16>(words);
        let stop = !first_set::<4, 16>(backwards);
        self.any.d.next = words.any();
        self.gap.d.next = (once & (once - 1)).any() | twice.any();
        self.from_start.d.next = strobes.get_bit(0);
        self.to_end.d.next = strobes.get_bit(63);
        self.start.d.next = start;
        self.count.d.next = bit_cast::<5, 4>(stop - start) + 1;
        let mut first: Bits<4> = bits::<4>(0);
        let mut last: Bits<4> = bits::<4>(0);
        for i in 0..16 {
            let enables = strobes.get_bits::<4>(4 * i);
            first = first | (enables & repeat::<4>(start == bits::<4>(i as u64)));
            last = last | (enables & repeat::<4>(stop == bits::<4>(i as u64)));
        }
        self.start_enables.d.next = first;
        self.end_enables.d.next = last;
        self.looked.load(!self.looked.q.val(), self.input.read.valid.val());
    }

    /// Second cycle, with a burst and room: the line goes into a chunk.
    fn place(&mut self) {
        let full = self.used.q.val().get_bit(5);
        let goes = self.looked.q.val() & self.bursts.read.valid.val() & self.chunks.write.ready.val() & !full;
        let burst = self.bursts.read.val();
        let last = self.input.read.val().last;
        // A burst does not cross 4 KiB.
        let low = burst.line.get_bits::<6>(0) + self.offset.q.val();
        let line = (burst.line.get_bits::<52>(6), low).cat::<58>();
        let open = self.open.q.val();
        let writes = self.any.q.val() & !self.gap.q.val();
        // A line that does not follow the open chunk waits while that is closed.
        let closes_only = open & writes & !self.from_start.q.val();
        let stores = goes & writes & !closes_only;

        // The last line of its maximum payload.
        let boundary =
            low.get_bit(0) & (low.get_bit(1) | self.short_payload.val()) & (low.get_bit(2) | !self.long_payload.val());
        let full_chunk = !self.to_end.q.val() | boundary;

        let old = self.grown.q.val();
        let fresh = Chunk {
            address: (line, self.start.q.val()).cat::<62>(),
            words: bit_cast::<8, 5>(self.count.q.val()),
            lines: bits::<4>(1),
            first: self.start_enables.q.val(),
            last: self.end_enables.q.val(),
            ends: false,
            failed: false,
            id: burst.id,
        };
        let mut grown = old;
        if writes & !closes_only {
            if open {
                grown.words = old.words + bit_cast::<8, 5>(self.count.q.val());
                grown.lines = old.lines + 1;
                grown.last = self.end_enables.q.val();
            } else {
                grown = fresh;
            }
        } else if !open {
            grown.words = bits::<8>(0);
            grown.lines = bits::<4>(0);
        }
        let failed = self.failed.q.val() | (self.any.q.val() & self.gap.q.val());
        let ends = last & !closes_only;
        grown.id = burst.id;
        grown.ends = ends;
        grown.failed = failed;
        // An open chunk ends with a line without bytes, too.
        let closes = ends | closes_only | (writes & full_chunk) | (open & !writes);
        self.chunks.write.offer(goes & closes, grown);
        self.chunks.read.join(&mut self.chunk);
        if goes {
            self.open.d.next = writes & !closes;
            self.grown.d.next = grown;
            self.failed.load(!closes_only, failed & !last);
            if !closes_only {
                self.offset.d.next = if last { bits::<6>(0) } else { self.offset.q.val() + 1 };
                self.looked.d.next = false;
            }
        }
        self.input.read.ready.next = goes & !closes_only;
        self.bursts.read.ready.next = goes & ends;

        self.store.offer(stores, self.input.read.val().data);
        self.store_at.next = self.at.q.val();
        self.at.load(stores, self.at.q.val() + 1);
        let freed = if self.freed.valid.val() { bit_cast::<6, 5>(self.freed.val()) } else { bits::<6>(0) };
        self.used.d.next = self.used.q.val() + bit_cast::<6, 1>(stores.into()) - freed;
    }
}
