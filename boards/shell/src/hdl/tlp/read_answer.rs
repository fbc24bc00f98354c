//! Read answers: slots that have ended, as AXI4 read data.
//!
//! | neighbour | ports |
//! |---|---|
//! | read slots | in `head`, `head_piece`, `head_valid`, `head_failed`; out `head_done` |
//! | read returns | in `store` (pulse), `store_at` |
//! | NIC | out `rid`, `rdata`, `rresp`, `rlast`, `rvalid` |
//!
//! Answers come in the order of the bursts, whatever their ids. All beats of a slot that failed have SLVERR and data 0,
//! so nothing of an older read is seen.
//!
//! `head_valid` → `rvalid`: 1 cycle. A beat per cycle within a slot, 2 cycles from slot to slot; so at most 4 beats in
//! 6 cycles. The lines lie in block RAM: 4 × 128 × 128 bits, one read port and one write port each, read latency 1.

use super::read_issue::{Piece, SLOT_BITS};
use spindle_blocks::SdpMemory;
use spindle_verilog::prelude::*;

/// AXI response: not read.
const SLVERR: u64 = 2;

/// The answers. See the module text.
#[block]
pub struct ReadAnswer {
    /// The oldest slot.
    pub head: Signal<In, Bits<SLOT_BITS>>,
    /// What it is for.
    pub head_piece: Signal<In, Piece>,
    /// It has ended.
    pub head_valid: Signal<In, Bit>,
    /// It has failed.
    pub head_failed: Signal<In, Bit>,
    /// It is answered.
    pub head_done: Signal<Out, Bit>,
    /// Quarter of a line.
    pub store: PulseSink<Bits<128>>,
    /// Its place: slot, line, quarter.
    pub store_at: Signal<In, Bits<9>>,
    /// Id of the burst.
    pub rid: Signal<Out, Bits<8>>,
    /// Read data.
    pub rdata: Signal<Out, Bits<512>>,
    /// Answer.
    pub rresp: Signal<Out, Bits<2>>,
    /// Last beat of the burst.
    pub rlast: Signal<Out, Bit>,
    /// Offered.
    pub rvalid: Signal<Out, Bit>,
    /// Taken.
    pub rready: Signal<In, Bit>,
    banks: [SdpMemory<Bits<128>, 7>; 4],
    giving: Reg<Bit>,
    line: Reg<Bits<2>>,
    rest: DFF<Bits<3>>,
    failed: DFF<Bit>,
}

#[hdl]
impl ReadAnswer {
    fn update(&mut self) {
        let piece = self.head_piece.val();
        let giving = self.giving.q.val();
        let begins = self.head_valid.val() & !giving;
        let gives = giving & self.rready.val();
        let last = self.rest.q.val() == bits::<3>(1);
        self.head_done.next = (begins & piece.skipped) | (gives & last);
        let next = if giving { self.line.q.val() + 1 } else { bits::<2>(0) };
        if begins & !piece.skipped {
            self.giving.d.next = true;
            self.line.d.next = bits::<2>(0);
            self.rest.d.next = piece.lines;
            self.failed.d.next = self.head_failed.val();
        } else if gives {
            self.giving.d.next = !last;
            self.line.d.next = next;
            self.rest.d.next = self.rest.q.val() - 1;
        }
        let place = self.store_at.val();
        for i in 0..4 {
            let here = self.store.valid.val() & (place.get_bits::<2>(0) == bits::<2>(i as u64));
            self.banks[i].write(here, place.get_bits::<7>(2), self.store.val());
            self.banks[i].read(begins | gives, (self.head.val(), next).cat::<7>());
        }
        let line = (
            self.banks[3].read_data.val(),
            self.banks[2].read_data.val(),
            self.banks[1].read_data.val(),
            self.banks[0].read_data.val(),
        )
            .cat::<512>();
        let failed = self.failed.q.val();
        self.rid.next = piece.id;
        self.rdata.next = line & repeat::<512>(!failed);
        self.rresp.next = if failed { bits::<2>(SLVERR) } else { bits::<2>(0) };
        self.rlast.next = last & piece.ends;
        self.rvalid.next = giving;
    }
}
