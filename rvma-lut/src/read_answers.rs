//! Read answers: from AXI4 read data to the bytes that a client asked for.
//!
//! | neighbour | ports |
//! |---|---|
//! | read requests | in `piece`, `piece_valid`; out `piece_room` |
//! | host | the AXI4 read data channel `host_r*` |
//! | read buffers, atomics, command rings | out `data`, `data_last`, `data_error`, `data_valid[client]` (pulses: there is room) |
//! | registers | out `answer_error` (pulse) |
//!
//! All bursts have one id, so data come in the order of the pieces. A piece goes through the aligner's funnel: byte 0 of the piece becomes
//! byte 0 of its first beat, bytes behind its end hold anything. `data_error` comes with the last beat of a piece, `data_last` with
//! the last of a transfer. R handshake → `data_valid`: 2 cycles, counted from the second line if the piece does not start a line.
//!
//! RREADY falls only for one cycle, behind a piece whose bytes lie in fewer beats than steps (its end shares a line with its start).

use crate::read_requests::{ReadPiece, CLIENTS};
use spindle_blocks::aligner::{AlignJob, AlignedBeat, Funnel};
use spindle_blocks::Fifo;
use spindle_verilog::prelude::*;

/// Address bits of the FIFOs of pieces: so many can be under way.
const PIECE_BITS: usize = 6;
/// Address bits of the FIFO of errors; the aligner holds fewer pieces.
const ERROR_BITS: usize = 5;

/// Whose the beats of a piece are.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Owner {
    client: Bits<2>,
    ends: Bit,
}

/// The data side of the reader. See the module text.
#[derive(LogicBlock, Default)]
pub struct ReadAnswers {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Piece that was asked for.
    pub piece: Signal<In, ReadPiece>,
    /// There is one.
    pub piece_valid: Signal<In, Bit>,
    /// There is room for it.
    pub piece_room: Signal<Out, Bit>,
    /// AXI4 read data.
    pub host_rdata: Signal<In, Bits<512>>,
    /// Bit 1: error.
    pub host_rresp: Signal<In, Bits<2>>,
    /// Data valid.
    pub host_rvalid: Signal<In, Bit>,
    /// Data taken.
    pub host_rready: Signal<Out, Bit>,
    /// Beat of a transfer.
    pub data: Signal<Out, Bits<512>>,
    /// Its last.
    pub data_last: Signal<Out, Bit>,
    /// With the last beat of a piece: the host answered with an error.
    pub data_error: Signal<Out, Bit>,
    /// There is a beat, for this client.
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

impl Logic for ReadAnswers {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, funnel, jobs, arrivals, owners, errors);
        regs!(self, clock, reset, line, failed, beat_valid);
        dffs!(self, clock, beat);

        // A piece that was asked for: it stays longest in `owners`.
        let piece = self.piece.val();
        self.jobs.write.next =
            AlignJob { src_offset: piece.offset, dst_offset: bits::<6>(0), length: bit_cast::<15, 10>(piece.last) + 1 };
        self.jobs.write_valid.next = self.piece_valid.val();
        self.arrivals.write.next = piece.lines;
        self.arrivals.write_valid.next = self.piece_valid.val();
        self.owners.write.next = Owner { client: piece.client, ends: piece.ends };
        self.owners.write_valid.next = self.piece_valid.val();
        self.piece_room.next = self.owners.write_ready.val();

        // Lines from the host.
        let expected = self.arrivals.read_valid.val();
        let last_line = self.line.q.val() == self.arrivals.read.val();
        self.funnel.job.next = self.jobs.read.val();
        self.funnel.job_valid.next = self.jobs.read_valid.val();
        self.jobs.read_ready.next = self.funnel.job_ready.val();
        self.funnel.source_data.next = self.host_rdata.val();
        self.funnel.source_last.next = last_line;
        self.funnel.source_valid.next = self.host_rvalid.val() & expected;
        let ready = self.funnel.source_ready.val() & expected;
        self.host_rready.next = ready;
        let takes = self.host_rvalid.val() & ready;
        let error = self.host_rresp.val().get_bit(1);
        self.answer_error.next = takes & error;
        self.arrivals.read_ready.next = takes & last_line;
        self.errors.write.next = self.failed.q.val() | error;
        self.errors.write_valid.next = takes & last_line;
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
        self.beat_valid.d.next = self.funnel.beat_valid.val();
        if self.funnel.beat_valid.val() {
            self.beat.d.next = self.funnel.beat.val();
        }
        let beat = self.beat.q.val();
        let piece_ends = self.beat_valid.q.val() & beat.last;
        self.owners.read_ready.next = piece_ends;
        self.errors.read_ready.next = piece_ends;
        self.data.next = beat.data;
        self.data_last.next = beat.last & owner.ends;
        self.data_error.next = beat.last & self.errors.read.val();
        for i in 0..CLIENTS {
            self.data_valid[i].next = self.beat_valid.q.val() & (owner.client == bits::<2>(i as u64));
        }
    }
}
