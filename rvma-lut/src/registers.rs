//! CSR page `rvma`: completion order and counters.
//!
//! | neighbour | ports |
//! |---|---|
//! | CSR block | `csr`, `csr_answer`: answered in the next cycle, other pages not at all |
//! | all stages | in: one pulse per event |
//! | placement | out `posted` |
//! | regions | out `region`, `region_at`, `region_write` (pulse); out `unchecked` |
//!
//! A counter moves two cycles after its pulse. Counters wrap at 2^32. Writing a read-only register does nothing.

use crate::regions::Region;
use spindle_blocks::desc::{CsrRequest, CsrResponse};
use spindle_contract::registers::{rvma, PAGE};
use spindle_verilog::prelude::*;

/// The register page. See the module text.
#[derive(LogicBlock, Default)]
pub struct Registers {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Request, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Completion order: 0 = WAIT_B, 1 = POSTED.
    pub posted: Signal<Out, Bit>,
    /// Region to set.
    pub region: Signal<Out, Region>,
    /// {process, region}.
    pub region_at: Signal<Out, Bits<9>>,
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
    placed_packets: Reg<Bits<32>>,
    placed_bytes: Reg<Bits<32>>,
    completions: Reg<Bits<32>>,
    refused: Reg<Bits<32>>,
    dma_writes: Reg<Bits<32>>,
    dma_errors: Reg<Bits<32>>,
    mailboxes: Reg<Bits<32>>,
    buffers: Reg<Bits<32>>,
    handler_dma: Reg<Bits<32>>,
    reads: Reg<Bits<32>>,
    read_errors: Reg<Bits<32>>,
    events: Reg<Bits<32>>,
    events_lost: Reg<Bits<32>>,
    puts: Reg<Bits<32>>,
    puts_failed: Reg<Bits<32>>,
    answer: Reg<CsrResponse>,
    /// The pulses, so that no path of another stage ends in a counter.
    pulses: Reg<Bits<14>>,
    bytes: DFF<Bits<16>>,
    lost: Reg<Bits<2>>,
    word: Signal<Local, Bits<32>>,
    known: Signal<Local, Bit>,
}

impl Logic for Registers {
    #[hdl]
    fn update(&mut self) {
        regs!(
            self,
            clock,
            reset,
            order,
            staged,
            commits,
            free,
            placed_packets,
            placed_bytes,
            completions,
            refused,
            dma_writes,
            dma_errors,
            mailboxes,
            buffers,
            handler_dma,
            reads,
            read_errors,
            events,
            events_lost,
            puts,
            puts_failed,
            answer,
            pulses,
            lost
        );
        dffs!(self, clock, bytes, commit);
        self.bytes.d.next = self.packet_bytes.val();
        self.pulses.d.next = (
            self.put_failed.val(),
            self.put_ended.val(),
            self.mailbox_closed.val(),
            self.event_written.val(),
            self.read_error.val(),
            self.read_burst.val(),
            self.dma_ended.val(),
            self.buffer_posted.val(),
            self.mailbox_opened.val(),
            self.answer_error.val(),
            self.burst.val(),
            self.record_written.val(),
            self.packet_refused.val(),
            self.packet_placed.val(),
        )
            .cat::<14>();
        let pulses = self.pulses.q.val();
        if pulses.get_bit(0) {
            self.placed_packets.d.next = self.placed_packets.q.val() + 1;
            self.placed_bytes.d.next = self.placed_bytes.q.val() + bit_cast::<32, 16>(self.bytes.q.val());
        }
        if pulses.get_bit(1) {
            self.refused.d.next = self.refused.q.val() + 1;
        }
        if pulses.get_bit(2) {
            self.completions.d.next = self.completions.q.val() + 1;
        }
        if pulses.get_bit(3) {
            self.dma_writes.d.next = self.dma_writes.q.val() + 1;
        }
        if pulses.get_bit(4) {
            self.dma_errors.d.next = self.dma_errors.q.val() + 1;
        }
        if pulses.get_bit(5) {
            self.mailboxes.d.next = self.mailboxes.q.val() + 1;
        }
        if pulses.get_bit(6) & !pulses.get_bit(2) {
            self.buffers.d.next = self.buffers.q.val() + 1;
        } else if pulses.get_bit(2) & !pulses.get_bit(6) {
            self.buffers.d.next = self.buffers.q.val() - 1;
        }
        if pulses.get_bit(7) {
            self.handler_dma.d.next = self.handler_dma.q.val() + 1;
        }
        if pulses.get_bit(8) {
            self.reads.d.next = self.reads.q.val() + 1;
        }
        if pulses.get_bit(9) {
            self.read_errors.d.next = self.read_errors.q.val() + 1;
        }
        if pulses.get_bit(10) {
            self.events.d.next = self.events.q.val() + 1;
        }
        if pulses.get_bit(11) {
            self.mailboxes.d.next = self.mailboxes.q.val() - 1;
        }
        if pulses.get_bit(12) {
            self.puts.d.next = self.puts.q.val() + 1;
        }
        if pulses.get_bit(13) {
            self.puts_failed.d.next = self.puts_failed.q.val() + 1;
        }
        self.lost.d.next = self.event_lost.val();
        self.events_lost.d.next = self.events_lost.q.val() + bit_cast::<32, 2>(self.lost.q.val());

        let request = self.csr.val();
        let offset = request.addr.get_bits::<12>(0);
        let mine = request.addr.get_bits::<8>(12) == bits::<8>((rvma::BASE / PAGE) as u64);
        let take = request.valid & mine & !self.answer.q.val().ack;
        self.known.next = true;
        self.word.next = bits::<32>(0);
        if offset == bits::<12>(rvma::CONTROL as u64) {
            self.word.next = bit_cast::<32, 1>(repeat::<1>(self.order.q.val()));
        } else if offset == bits::<12>(rvma::REGION_FIRST as u64) {
            self.word.next = self.staged[0].q.val();
        } else if offset == bits::<12>(rvma::REGION_FIRST as u64 + 4) {
            self.word.next = self.staged[1].q.val();
        } else if offset == bits::<12>(rvma::REGION_LAST as u64) {
            self.word.next = self.staged[2].q.val();
        } else if offset == bits::<12>(rvma::REGION_LAST as u64 + 4) {
            self.word.next = self.staged[3].q.val();
        } else if offset == bits::<12>(rvma::REGION_COMMIT as u64) {
            self.word.next = bits::<32>(0);
        } else if offset == bits::<12>(rvma::UNCHECKED as u64) {
            self.word.next = self.free[0].q.val();
        } else if offset == bits::<12>(rvma::UNCHECKED as u64 + 4) {
            self.word.next = self.free[1].q.val();
        } else if offset == bits::<12>(rvma::PLACED_PACKETS as u64) {
            self.word.next = self.placed_packets.q.val();
        } else if offset == bits::<12>(rvma::PLACED_BYTES as u64) {
            self.word.next = self.placed_bytes.q.val();
        } else if offset == bits::<12>(rvma::COMPLETIONS as u64) {
            self.word.next = self.completions.q.val();
        } else if offset == bits::<12>(rvma::REFUSED as u64) {
            self.word.next = self.refused.q.val();
        } else if offset == bits::<12>(rvma::DMA_WRITES as u64) {
            self.word.next = self.dma_writes.q.val();
        } else if offset == bits::<12>(rvma::DMA_ERRORS as u64) {
            self.word.next = self.dma_errors.q.val();
        } else if offset == bits::<12>(rvma::MAILBOXES as u64) {
            self.word.next = self.mailboxes.q.val();
        } else if offset == bits::<12>(rvma::BUFFERS as u64) {
            self.word.next = self.buffers.q.val();
        } else if offset == bits::<12>(rvma::HANDLER_DMA as u64) {
            self.word.next = self.handler_dma.q.val();
        } else if offset == bits::<12>(rvma::DMA_READS as u64) {
            self.word.next = self.reads.q.val();
        } else if offset == bits::<12>(rvma::READ_ERRORS as u64) {
            self.word.next = self.read_errors.q.val();
        } else if offset == bits::<12>(rvma::EVENTS as u64) {
            self.word.next = self.events.q.val();
        } else if offset == bits::<12>(rvma::EVENTS_LOST as u64) {
            self.word.next = self.events_lost.q.val();
        } else if offset == bits::<12>(rvma::HOST_PUTS_DONE as u64) {
            self.word.next = self.puts.q.val();
        } else if offset == bits::<12>(rvma::HOST_PUTS_FAILED as u64) {
            self.word.next = self.puts_failed.q.val();
        } else {
            self.known.next = false;
        }
        if take & request.write & (offset == bits::<12>(rvma::CONTROL as u64)) {
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
        self.commits.d.next = writes & (offset == bits::<12>(rvma::REGION_COMMIT as u64));
        if writes {
            self.commit.d.next = request.wdata;
        }
        let commit = self.commit.q.val();
        self.region_write.next = self.commits.q.val();
        self.region_at.next = commit.get_bits::<9>(0);
        self.region.next = Region {
            readable: commit.get_bit(30),
            writable: commit.get_bit(31),
            first: (self.staged[1].q.val(), self.staged[0].q.val().get_bits::<20>(12)).cat::<52>(),
            last: (self.staged[3].q.val(), self.staged[2].q.val().get_bits::<20>(12)).cat::<52>(),
        };
        self.unchecked.next = (self.free[1].q.val(), self.free[0].q.val()).cat::<64>();
        self.answer.d.next = CsrResponse { ack: take, error: take & !self.known.val(), rdata: bits::<32>(0) };
        if take & self.known.val() & !request.write {
            self.answer.d.next.rdata = self.word.val();
        }
        self.csr_answer.next = self.answer.q.val();
        self.posted.next = self.order.q.val();
    }
}
