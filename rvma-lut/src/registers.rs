//! CSR page `rvma`: completion order and counters.
//!
//! | neighbour | ports |
//! |---|---|
//! | CSR block | `csr`, `csr_answer`: answered in the next cycle, the read of a counter when its turn comes, within 16; other pages not at all |
//! | all stages | in: one pulse per event |
//! | placement | out `posted` |
//! | regions | out `region`, `region_at`, `region_write` (pulse); out `unchecked` |
//!
//! The counters are in one memory; what comes between two visits of one is counted beside it. A count has every pulse up to 5 cycles before it is told.
//! Counters wrap at 2^32. Writing a read-only register does nothing.

use crate::host_access::regions::{Region, TABLE_BITS};
use spindle_blocks::desc::{CsrRequest, CsrResponse};
use spindle_blocks::CountMemory;
use spindle_contract::registers::{rvma, PAGE};
use spindle_verilog::prelude::*;

/// Counters: register `PLACED_PACKETS + 4 * number`.
const COUNTERS: usize = 15;
const BYTES: u64 = ((rvma::PLACED_BYTES - rvma::PLACED_PACKETS) / 4) as u64;
const LOST: u64 = ((rvma::EVENTS_LOST - rvma::PLACED_PACKETS) / 4) as u64;

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
    order: Reg<Bit>,
    /// First page, last page: low and high halves.
    staged: [Reg<Bits<32>>; 4],
    commit: DFF<Bits<32>>,
    commits: Reg<Bit>,
    free: [Reg<Bits<32>>; 2],
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
    word: Signal<Local, Bits<32>>,
    known: Signal<Local, Bit>,
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
        self.ups.d.next = (
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
            (bits::<7>(0), self.record_written.val(), self.mailbox_closed.val(), bits::<6>(0)).cat::<COUNTERS>();
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

        let request = self.csr.val();
        let offset = request.addr.get_bits::<12>(0);
        let mine = request.addr.get_bits::<8>(12) == bits::<8>((rvma::BASE / PAGE) as u64);
        let number = offset.get_bits::<4>(2);
        let is_counter = (offset.get_bits::<6>(6) == bits::<6>(rvma::PLACED_PACKETS as u64 / 64)) & !number.all();
        let reads = is_counter & !request.write;
        let turn = self.memory.at.val() == bit_cast::<7, 4>(number);
        let take = request.valid & mine & !self.answer.q.val().ack & (!reads | turn);
        self.known.next = true;
        self.word.next = bits::<32>(0);
        if offset == bits::<12>(rvma::CONTROL) {
            self.word.next = bit_cast::<32, 1>(repeat::<1>(self.order.q.val()));
        } else if offset == bits::<12>(rvma::REGION_FIRST) {
            self.word.next = self.staged[0].q.val();
        } else if offset == bits::<12>(rvma::REGION_FIRST as u64 + 4) {
            self.word.next = self.staged[1].q.val();
        } else if offset == bits::<12>(rvma::REGION_LAST) {
            self.word.next = self.staged[2].q.val();
        } else if offset == bits::<12>(rvma::REGION_LAST as u64 + 4) {
            self.word.next = self.staged[3].q.val();
        } else if offset == bits::<12>(rvma::REGION_COMMIT) {
            self.word.next = bits::<32>(0);
        } else if offset == bits::<12>(rvma::UNCHECKED) {
            self.word.next = self.free[0].q.val();
        } else if offset == bits::<12>(rvma::UNCHECKED as u64 + 4) {
            self.word.next = self.free[1].q.val();
        } else {
            self.known.next = is_counter;
        }
        if take & request.write & (offset == bits::<12>(rvma::CONTROL)) {
            self.order.d.next = request.wdata.get_bit(0);
        }
        let writes = take & request.write;
        for i in 0..4 {
            if writes & (offset == bits::<12>(rvma::REGION_FIRST as u64 + 4 * i as u64)) {
                self.staged[i].d.next = request.wdata;
            }
        }
        for i in 0..2 {
            if writes & (offset == bits::<12>(rvma::UNCHECKED as u64 + 4 * i as u64)) {
                self.free[i].d.next = request.wdata;
            }
        }
        self.commits.d.next = writes & (offset == bits::<12>(rvma::REGION_COMMIT));
        if writes {
            self.commit.d.next = request.wdata;
        }
        let commit = self.commit.q.val();
        self.region_write.next = self.commits.q.val();
        self.region_at.next = commit.get_bits::<TABLE_BITS>(0);
        self.region.next = Region {
            readable: commit.get_bit(30),
            writable: commit.get_bit(31),
            first: (self.staged[1].q.val(), self.staged[0].q.val().get_bits::<20>(12)).cat::<52>(),
            last: (self.staged[3].q.val(), self.staged[2].q.val().get_bits::<20>(12)).cat::<52>(),
        };
        self.unchecked.next = (self.free[1].q.val(), self.free[0].q.val()).cat::<64>();
        self.answer.d.next = CsrResponse { ack: take, error: take & !self.known.val(), rdata: bits::<32>(0) };
        if take & self.known.val() & !request.write {
            self.answer.d.next.rdata = if reads { self.memory.count.val() } else { self.word.val() };
        }
        self.csr_answer.next = self.answer.q.val();
        self.posted.next = self.order.q.val();
    }
}
