//! Writes that the engine makes itself, one after the other: completion records first, then atomics, then events.
//!
//! | neighbour | ports |
//! |---|---|
//! | completion, atomics, event rings (0, 1, 2) | in `own`, `own_valid`; out `own_ready` |
//! | DMA writer | out `write`, `write_valid`; in `record_ready`, `write_ready` |
//!
//! Only events use the upper half of the data. Combinational. A completion record needs `record_ready` only; the others `write_ready`.

use crate::types::OwnWrite;
use spindle_verilog::prelude::*;

/// Writers.
const WRITERS: usize = 3;

/// The choice. See the module text.
#[derive(LogicBlock, Default)]
pub struct OwnWrites {
    /// A write.
    pub own: [Signal<In, OwnWrite>; WRITERS],
    /// There is one.
    pub own_valid: [Signal<In, Bit>; WRITERS],
    /// It is taken.
    pub own_ready: [Signal<Out, Bit>; WRITERS],
    /// The chosen write.
    pub write: Signal<Out, OwnWrite>,
    /// There is one.
    pub write_valid: Signal<Out, Bit>,
    /// It is taken if it is a completion record.
    pub record_ready: Signal<In, Bit>,
    /// It is taken if it is none.
    pub write_ready: Signal<In, Bit>,
}

impl Logic for OwnWrites {
    #[hdl]
    fn update(&mut self) {
        let record = self.own_valid[0].val();
        let atomic = self.own_valid[1].val();
        self.write.next = self.own[2].val();
        let upper = self.own[2].val().data.get_bits::<128>(128);
        if record {
            self.write.next.transfer = self.own[0].val().transfer;
            self.write.next.data = (upper, self.own[0].val().data.get_bits::<128>(0)).cat::<256>();
        } else if atomic {
            self.write.next.transfer = self.own[1].val().transfer;
            self.write.next.data = (upper, self.own[1].val().data.get_bits::<128>(0)).cat::<256>();
        }
        self.write_valid.next = record | atomic | self.own_valid[2].val();
        self.own_ready[0].next = self.record_ready.val();
        self.own_ready[1].next = self.write_ready.val() & !record;
        self.own_ready[2].next = self.write_ready.val() & !record & !atomic;
    }
}
