//! Read answers: from AXI4 read data to the bytes of a client's read.
//!
//! | neighbour | ports |
//! |---|---|
//! | read requests | in `piece` |
//! | host | the AXI4 read data channel of `host` |
//! | read buffers, atomics, command rings | out `data`, `data_last`, `data_error`, `data_valid[client]` (pulses: room was reserved) |
//! | registers | out `answer_error` (pulse) |
//!
//! All bursts have one id, so data arrive in the order of the pieces. A piece passes the aligner's funnel: its first byte
//! becomes byte `to` of its first beat; bytes before it and after its end are undefined. `data_error` comes with the last
//! beat of a piece, `data_last` with the last beat of a transfer. R handshake → `data`: 2 cycles, counted from the second
//! line if the first byte moves to a lower lane.
//!
//! RREADY falls for one cycle only, after a piece whose last line has bytes of two beats.

use crate::host_access::read_requests::{ReadPiece, CLIENTS};
use crate::prelude::*;
use spindle_blocks::aligner::{AlignJob, AlignedBeat, Funnel};

/// Address bits of the FIFOs of pieces under way.
const PIECE_BITS: usize = 6;
/// Address bits of the FIFO of errors; the aligner holds fewer pieces.
const ERROR_BITS: usize = 5;

/// Client of a piece.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Owner {
    client: Bits<2>,
    ends: Bit,
}

/// The data side of the reader. See the module text.
#[block]
pub struct ReadAnswers {
    /// Piece whose addresses are issued.
    pub piece: HeadroomSink<ReadPiece>,
    /// AXI4 read data.
    pub host: AxiReadDataSource,
    /// Beat of a transfer.
    pub data: Signal<Out, Bits<512>>,
    /// Last beat of the transfer.
    pub data_last: Signal<Out, Bit>,
    /// With the last beat of a piece: the host answered with an error.
    pub data_error: Signal<Out, Bit>,
    /// Beat present for this client.
    pub data_valid: [Signal<Out, Bit>; CLIENTS],
    /// An answer was an error.
    pub answer_error: Signal<Out, Bit>,
    funnel: Funnel,
    beat: DFF<AlignedBeat>,
    beat_valid: Reg<Bit>,
    jobs: Fifo<AlignJob, PIECE_BITS>,
    arrivals: Fifo<Bits<5>, PIECE_BITS>,
    owners: Fifo<Owner, PIECE_BITS>,
    errors: Fifo<Bit, ERROR_BITS>,
    line: Reg<Bits<5>>,
    failed: Reg<Bit>,
}

#[hdl]
impl ReadAnswers {
    fn update(&mut self) {
        // A requested piece stays longest in `owners`.
        let piece = self.piece.val();
        self.jobs.write.next =
            AlignJob { src_offset: piece.offset, dst_offset: piece.to, length: bit_cast::<15, 10>(piece.last) + 1 };
        self.jobs.write.valid.next = self.piece.valid.val();
        self.arrivals.write.offer(self.piece.valid.val(), piece.lines);
        self.owners.write.offer(self.piece.valid.val(), Owner { client: piece.client, ends: piece.ends });
        self.piece.headroom.next = self.owners.write.ready.val();

        // Lines from the host.
        let expected = self.arrivals.read.valid.val();
        let last_line = self.line.q.val() == self.arrivals.read.val();
        self.jobs.read.join(&mut self.funnel.job);
        self.funnel.source_data.next = self.host.rdata.val();
        self.funnel.source_data.last.next = last_line;
        self.funnel.source_data.valid.next = self.host.rvalid.val() & expected;
        let ready = self.funnel.source_data.ready.val() & expected;
        self.host.rready.next = ready;
        let takes = self.host.rvalid.val() & ready;
        let error = self.host.rresp.val().get_bit(1);
        self.answer_error.next = takes & error;
        self.arrivals.read.ready.next = takes & last_line;
        self.errors.write.offer(takes & last_line, self.failed.q.val() | error);
        if takes & last_line {
            self.line.d.next = bits::<5>(0);
            self.failed.d.next = false;
        } else if takes {
            self.line.d.next = self.line.q.val() + 1;
            self.failed.d.next = self.failed.q.val() | error;
        }

        // Beats to the clients; the last line was taken at least two cycles ago.
        let owner = self.owners.read.val();
        self.funnel.go.next = true;
        self.beat_valid.d.next = self.funnel.beat.valid.val();
        self.beat.load(self.funnel.beat.valid.val(), self.funnel.beat.val());
        let beat = self.beat.q.val();
        let piece_ends = self.beat_valid.q.val() & beat.last;
        self.owners.read.ready.next = piece_ends;
        self.errors.read.ready.next = piece_ends;
        self.data.next = beat.data;
        self.data_last.next = beat.last & owner.ends;
        self.data_error.next = beat.last & self.errors.read.val();
        for i in 0..CLIENTS {
            self.data_valid[i].next = self.beat_valid.q.val() & (owner.client == bits::<2>(i));
        }
    }
}
