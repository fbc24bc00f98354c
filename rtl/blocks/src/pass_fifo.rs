//! FIFO that words pass without a delay while it is empty.

use crate::fifo::LutFifo;
use spindle_verilog::prelude::*;

/// FIFO of `2^A` words in LUT RAM. A word that finds it empty is offered to the sink in the same cycle, and is stored only if
/// the sink does not take it.
///
/// | ports | neighbour |
/// |---|---|
/// | in `write`, `write_valid` / out `write_ready` | source |
/// | out `read`, `read_valid` / in `read_ready` | sink |
///
/// `write_ready` comes from a register: no path leads from the sink to the source. `read` and `read_valid` are combinational from
/// `write` and `write_valid`. Latency 0 cycles while it is empty, one word per cycle; a full FIFO takes a word in the cycle after
/// one was read.
#[block]
pub struct PassFifo<T: Synth, const A: usize> {
    /// Word from the source.
    pub write: Sink<T>,
    /// Oldest word.
    pub read: Source<T>,
    stored: LutFifo<T, A>,
}

#[hdl]
impl<T: Synth, const A: usize> PassFifo<T, A> {
    fn update(&mut self) {
        let holds = self.stored.read.valid.val();
        let passes = !holds & self.read.ready.val();
        self.write.ready.next = self.stored.write.ready.val();
        self.stored.write.offer(self.write.valid.val() & !passes, self.write.val());
        self.stored.read.ready.next = self.read.ready.val();
        self.read.offer(holds | self.write.valid.val(), if holds { self.stored.read.val() } else { self.write.val() });
    }
}
