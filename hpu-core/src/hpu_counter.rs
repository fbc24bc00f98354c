//! The two counters that each HPU has for itself.

use spindle_verilog::prelude::*;

/// Cycles in a handler and tasks ended of one HPU, modulo 2^32, one cycle late.
#[derive(LogicBlock, Default)]
pub struct HpuCounter {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// A handler runs.
    pub busy: Signal<In, Bit>,
    /// A task has ended.
    pub ended: Signal<In, Bit>,
    /// Cycles in a handler.
    pub busy_cycles: Signal<Out, Bits<32>>,
    /// Tasks ended.
    pub tasks: Signal<Out, Bits<32>>,
    busy_count: Reg<Bits<32>>,
    task_count: Reg<Bits<32>>,
}

impl Logic for HpuCounter {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, busy_count, task_count);
        if self.busy.val() {
            self.busy_count.d.next = self.busy_count.q.val() + 1;
        }
        if self.ended.val() {
            self.task_count.d.next = self.task_count.q.val() + 1;
        }
        self.busy_cycles.next = self.busy_count.q.val();
        self.tasks.next = self.task_count.q.val();
    }
}
