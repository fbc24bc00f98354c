//! Printer: collects what the HPUs of a cluster print, and never holds anybody up.
//!
//! | neighbour | ports |
//! |---|---|
//! | command ports | in `piece[h]`, `valid[h]` / out `ready[h]` |
//! | array | out `print`, `print_valid` / in `print_ready`; out `print_lost`, a pulse per HPU |
//!
//! Round robin, one piece per cycle: a port waits at most for the other HPUs, one cycle each. Four pieces wait for the array; one that finds no room is
//! taken and lost. Latency 1 cycle.

use crate::types::PrintPiece;
use spindle_blocks::fifo::LutFifo;
use spindle_blocks::RoundRobin;
use spindle_verilog::prelude::*;

/// The printer. See the module text.
#[derive(LogicBlock, Default)]
pub struct Printer {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Characters of each HPU.
    pub piece: Vec<Signal<In, PrintPiece>>,
    /// There are some.
    pub valid: Vec<Signal<In, Bit>>,
    /// They are taken.
    pub ready: Vec<Signal<Out, Bit>>,
    /// Characters.
    pub print: Signal<Out, PrintPiece>,
    /// There are some.
    pub print_valid: Signal<Out, Bit>,
    /// They are taken.
    pub print_ready: Signal<In, Bit>,
    /// HPUs whose characters are lost.
    pub print_lost: Signal<Out, Bits<8>>,
    arbiter: RoundRobin<8>,
    /// The one that is granted, by a tree over the bits of the HPU's number.
    offered: [Signal<Local, PrintPiece>; 8],
    pairs: [Signal<Local, PrintPiece>; 4],
    quads: [Signal<Local, PrintPiece>; 2],
    chosen: Signal<Local, PrintPiece>,
    pieces: LutFifo<PrintPiece, 2>,
    lost: Reg<Bits<8>>,
    _hpus: usize,
}

impl Printer {
    /// For `hpus` HPUs, 1 to 8.
    pub fn new(hpus: usize) -> Self {
        assert!((1..=8).contains(&hpus), "Printer: {hpus} HPUs cannot be served; choose 1 to 8");
        Self {
            piece: (0..hpus).map(|_| Default::default()).collect(),
            valid: (0..hpus).map(|_| Default::default()).collect(),
            ready: (0..hpus).map(|_| Default::default()).collect(),
            _hpus: hpus,
            ..Default::default()
        }
    }
}

impl Logic for Printer {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, lost);
        clocks!(self, clock, reset, arbiter, pieces);
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._hpus {
            request = request.replace_bit(i, self.valid[i].val());
        }
        self.arbiter.request.next = request;
        self.arbiter.accept.next = true;
        self.arbiter.lock.next = false;
        let grant = self.arbiter.grant.val();
        let index = self.arbiter.index.val().get_bits::<3>(0);
        for i in 0..self._hpus {
            self.ready[i].next = grant.get_bit(i);
        }
        for i in 0..8 {
            self.offered[i].next = PrintPiece::default();
            if i < self._hpus {
                self.offered[i].next = self.piece[i].val();
            }
        }
        for i in 0..4 {
            self.pairs[i].next =
                if index.get_bit(0) { self.offered[2 * i + 1].val() } else { self.offered[2 * i].val() };
        }
        for i in 0..2 {
            self.quads[i].next = if index.get_bit(1) { self.pairs[2 * i + 1].val() } else { self.pairs[2 * i].val() };
        }
        self.chosen.next = if index.get_bit(2) { self.quads[1].val() } else { self.quads[0].val() };
        self.pieces.write.next = self.chosen.val();
        self.pieces.write_valid.next = self.arbiter.any.val();
        self.lost.d.next = if self.pieces.write_ready.val() { bits::<8>(0) } else { grant };
        self.print_lost.next = self.lost.q.val();
        self.print.next = self.pieces.read.val();
        self.print_valid.next = self.pieces.read_valid.val();
        self.pieces.read_ready.next = self.print_ready.val();
    }
}
