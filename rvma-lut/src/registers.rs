//! The register page `rvma`: completion order, regions and counters.
//!
//! | neighbour | ports |
//! |---|---|
//! | register slave | `csr`, `csr_answer`: answered in the next cycle, a counter within 18 cycles; other pages are not answered |
//! | all stages | in: one pulse per event |
//! | placement | out `posted` |
//! | regions | out `region`, `region_at`, `region_write` (pulse); out `unchecked` |
//! | ring posts | out `senders` |
//!
//! The counters are in one memory; events between two visits of a counter are counted beside the memory. A count that is read
//! contains every pulse up to 5 cycles before. Counters wrap at 2^32. A write to a read-only register has no effect.

use crate::host_access::regions::{Region, TABLE_BITS};
use spindle_blocks::desc::{CsrRequest, CsrResponse};
use spindle_blocks::{CountMemory, RvmaPage};
use spindle_contract::registers::{rvma, PAGE};
use spindle_verilog::prelude::*;

/// Counters: register `PLACED_PACKETS + 4 * number`.
const COUNTERS: usize = 17;
const BYTES: u32 = (rvma::PLACED_BYTES - rvma::PLACED_PACKETS) / 4;
const LOST: u32 = (rvma::EVENTS_LOST - rvma::PLACED_PACKETS) / 4;

/// The register page. See the module text.
#[block(no_default)]
pub struct Registers {
    /// Request, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Completion order: 0 = WAIT_B, 1 = POSTED.
    pub posted: Signal<Out, Bit>,
    /// Region to set.
    pub region: Signal<Out, Region>,
    /// {process, region}.
    pub region_at: Signal<Out, Bits<TABLE_BITS>>,
    /// Set it.
    pub region_write: Signal<Out, Bit>,
    /// Bit p = process p may name everything.
    pub unchecked: Signal<Out, Bits<64>>,
    /// Bit p = process p may send frames.
    pub senders: Signal<Out, Bits<64>>,
    /// A packet was written.
    pub packet_placed: Signal<In, Bit>,
    /// Its payload bytes.
    pub packet_bytes: Signal<In, Bits<16>>,
    /// A packet was refused.
    pub packet_refused: Signal<In, Bit>,
    /// A record was written.
    pub record_written: Signal<In, Bit>,
    /// A burst was issued.
    pub burst: Signal<In, Bit>,
    /// An answer was an error.
    pub answer_error: Signal<In, Bit>,
    /// A mailbox was opened.
    pub mailbox_opened: Signal<In, Bit>,
    /// A mailbox was closed.
    pub mailbox_closed: Signal<In, Bit>,
    /// A buffer was posted.
    pub buffer_posted: Signal<In, Bit>,
    /// A handler's DMA ended.
    pub dma_ended: Signal<In, Bit>,
    /// A read burst was issued.
    pub read_burst: Signal<In, Bit>,
    /// A read answer was an error.
    pub read_error: Signal<In, Bit>,
    /// An event record was made.
    pub event_written: Signal<In, Bit>,
    /// Events that were lost.
    pub event_lost: Signal<In, Bits<2>>,
    /// A put of a process is over.
    pub put_ended: Signal<In, Bit>,
    /// It was not sent as a whole.
    pub put_failed: Signal<In, Bit>,
    /// A frame of a command ring was handed on.
    pub frame_handed: Signal<In, Bit>,
    /// A frame of a command ring was read.
    pub frame_read: Signal<In, Bit>,
    page: RvmaPage,
    commit: DFF<Bits<32>>,
    commits: Reg<Bit>,
    /// What has come since the last visit of each counter, modulo 2^6, and of the two that have more than one in a cycle.
    more: [Reg<Bits<6>>; COUNTERS],
    more_bytes: Reg<Bits<20>>,
    more_lost: Reg<Bits<6>>,
    memory: CountMemory,
    answer: Reg<CsrResponse>,
    /// The pulses, so that no path of another stage ends in a counter.
    ups: Reg<Bits<COUNTERS>>,
    downs: Reg<Bits<COUNTERS>>,
    bytes: DFF<Bits<16>>,
    lost: Reg<Bits<2>>,
}

impl Default for Registers {
    fn default() -> Self {
        Self { memory: CountMemory::new(COUNTERS), ..Self::blank() }
    }
}

#[hdl]
impl Registers {
    fn update(&mut self) {
        // By number, from the last: each counts its pulses until it is visited. Those of mailboxes and buffers also go down.
        self.bytes.d.next = self.packet_bytes.val();
        self.lost.d.next = self.event_lost.val();
        let of_frames = (self.frame_read.val(), self.frame_handed.val()).cat::<2>();
        self.ups.d.next = (
            of_frames,
            self.put_failed.val(),
            self.put_ended.val(),
            false,
            self.event_written.val(),
            self.read_error.val(),
            self.read_burst.val(),
            self.dma_ended.val(),
            self.buffer_posted.val(),
            self.mailbox_opened.val(),
            self.answer_error.val(),
            self.burst.val(),
            self.packet_refused.val(),
            self.record_written.val(),
            false,
            self.packet_placed.val(),
        )
            .cat::<COUNTERS>();
        self.downs.d.next =
            (bits::<9>(0), self.record_written.val(), self.mailbox_closed.val(), bits::<6>(0)).cat::<COUNTERS>();
        let ups = self.ups.q.val();
        let downs = self.downs.q.val();
        let visited = self.memory.visited.val();
        let mut more: Bits<32> = bits::<32>(0);
        for i in 0..COUNTERS {
            let mut base: Bits<6> = self.more[i].q.val();
            if visited == bits::<7>(i) {
                more = more | sext::<32, 6>(base);
                base = bits::<6>(0);
            }
            if ups.get_bit(i) & !downs.get_bit(i) {
                base = base + 1;
            } else if downs.get_bit(i) & !ups.get_bit(i) {
                base = base - 1;
            }
            self.more[i].d.next = base;
        }
        let mut base: Bits<20> = self.more_bytes.q.val();
        if visited == bits::<7>(BYTES) {
            more = more | bit_cast::<32, 20>(base);
            base = bits::<20>(0);
        }
        if ups.get_bit(0) {
            base = base + bit_cast::<20, 16>(self.bytes.q.val());
        }
        self.more_bytes.d.next = base;
        let mut base: Bits<6> = self.more_lost.q.val();
        if visited == bits::<7>(LOST) {
            more = more | bit_cast::<32, 6>(base);
            base = bits::<6>(0);
        }
        self.more_lost.d.next = base + bit_cast::<6, 2>(self.lost.q.val());
        self.memory.last.next = bits::<7>(COUNTERS as u64 - 1);
        self.memory.start.next = bits::<32>(0);
        self.memory.more.next = more;
        self.memory.is_low.next = false;

        // The access.
        let request = self.csr.val();
        let offset = request.addr.get_bits::<12>(0);
        let in_page = request.addr.get_bits::<8>(12) == bits::<8>(rvma::BASE / PAGE);
        let number = offset.get_bits::<5>(2);
        let is_counter =
            (offset.get_bits::<5>(7) == bits::<5>(rvma::PLACED_PACKETS / 128)) & (number < bits::<5>(COUNTERS as u64));
        let reads = is_counter & !request.write;
        let turn = self.memory.at.val() == zext::<7, 5>(number);
        let take = request.valid & in_page & !self.answer.q.val().ack & (!reads | turn);
        let write = take & request.write;
        self.page.address.next = offset;
        self.page.wdata.next = request.wdata;
        self.page.write.next = write;
        self.answer.d.next = CsrResponse { ack: take, error: take & !self.page.known.val(), rdata: bits::<32>(0) };
        if take & self.page.known.val() & !request.write {
            self.answer.d.next.rdata = if reads { self.memory.count.val() } else { self.page.word.val() };
        }
        self.csr_answer.next = self.answer.q.val();

        // Settings.
        let stored = self.page.stored.val();
        self.commits.d.next = write & self.page.select.val().region_commit;
        self.commit.load(write, request.wdata);
        let commit = self.commit.q.val();
        self.region_write.next = self.commits.q.val();
        self.region_at.next = commit.get_bits::<TABLE_BITS>(0);
        self.region.next = Region {
            readable: commit.get_bit(30),
            writable: commit.get_bit(31),
            first: (stored.region_first_1, stored.region_first_0.get_bits::<20>(12)).cat::<52>(),
            last: (stored.region_last_1, stored.region_last_0.get_bits::<20>(12)).cat::<52>(),
        };
        self.unchecked.next = (stored.unchecked_1, stored.unchecked_0).cat::<64>();
        self.senders.next = (stored.senders_1, stored.senders_0).cat::<64>();
        self.posted.next = stored.control_posted;
    }
}
