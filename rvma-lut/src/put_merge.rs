//! Put merge: puts and gets of handlers and of the host on their way to the initiator, in turn.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPU array, command unit | in `put[0]`, `put[1]`, `put_valid`; out `put_ready` |
//! | packet engine | out `host_put`, `host_put_valid`; in `host_put_ready` |
//!
//! One cycle; one descriptor per cycle.

use spindle_blocks::desc::PutDesc;
use spindle_verilog::prelude::*;

/// The merge. See the module text.
#[derive(LogicBlock, Default)]
pub struct PutMerge {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Put or get.
    pub put: [Signal<In, PutDesc>; 2],
    /// There is one.
    pub put_valid: [Signal<In, Bit>; 2],
    /// It is taken.
    pub put_ready: [Signal<Out, Bit>; 2],
    /// The one whose turn it is.
    pub host_put: Signal<Out, PutDesc>,
    /// There is one.
    pub host_put_valid: Signal<Out, Bit>,
    /// It is taken.
    pub host_put_ready: Signal<In, Bit>,
    held: DFF<PutDesc>,
    held_valid: Reg<Bit>,
    last_second: Reg<Bit>,
}

impl Logic for PutMerge {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, held_valid, last_second);
        dffs!(self, clock, held);
        let open = !self.held_valid.q.val() | self.host_put_ready.val();
        let second = self.put_valid[1].val() & (!self.put_valid[0].val() | !self.last_second.q.val());
        self.put_ready[0].next = open & !second;
        self.put_ready[1].next = open & second;
        if open {
            self.held_valid.d.next = self.put_valid[0].val() | self.put_valid[1].val();
            if self.put_valid[0].val() | self.put_valid[1].val() {
                self.held.d.next = if second { self.put[1].val() } else { self.put[0].val() };
                self.last_second.d.next = second;
            }
        }
        self.host_put.next = self.held.q.val();
        self.host_put_valid.next = self.held_valid.q.val();
    }
}
