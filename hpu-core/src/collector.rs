//! Joins a stream of messages from every cluster into one, round robin.

use crate::fast_robin::FastRobin;
use spindle_blocks::fifo::LutFifo;
use spindle_verilog::prelude::*;

/// One message per cycle through a FIFO of `2^A`.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in `write[i]`, `write_valid[i]` / out `write_ready[i]` |
/// | receiver | out `read`, `read_valid` / in `read_ready`; out `level` |
#[derive(LogicBlock)]
pub struct Collector<T: Synth, const A: usize> {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Message of a cluster.
    pub write: Vec<Signal<In, T>>,
    /// There is one.
    pub write_valid: Vec<Signal<In, Bit>>,
    /// It is taken.
    pub write_ready: Vec<Signal<Out, Bit>>,
    /// Oldest message.
    pub read: Signal<Out, T>,
    /// There is one.
    pub read_valid: Signal<Out, Bit>,
    /// It is taken.
    pub read_ready: Signal<In, Bit>,
    /// Messages held.
    pub level: Signal<Out, Bits<16>>,
    arbiter: FastRobin,
    queue: LutFifo<T, A>,
    _clusters: usize,
}

impl<T: Synth, const A: usize> Collector<T, A> {
    /// For `clusters` clusters.
    pub fn new(clusters: usize) -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            write: (0..clusters).map(|_| Default::default()).collect(),
            write_valid: (0..clusters).map(|_| Default::default()).collect(),
            write_ready: (0..clusters).map(|_| Default::default()).collect(),
            read: Default::default(),
            read_valid: Default::default(),
            read_ready: Default::default(),
            level: Default::default(),
            arbiter: Default::default(),
            queue: Default::default(),
            _clusters: clusters,
        }
    }
}

impl<T: Synth, const A: usize> Logic for Collector<T, A> {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, arbiter, queue);
        let mut asking: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            asking = asking.replace_bit(i, self.write_valid[i].val());
        }
        self.arbiter.request.next = asking;
        let room = self.queue.write_ready.val();
        self.arbiter.accept.next = room;
        let grant = self.arbiter.grant.val();
        let index = self.arbiter.index.val();
        let mut chosen: T = self.write[0].val();
        for i in 0..self._clusters {
            self.write_ready[i].next = room & grant.get_bit(i);
            // By number: four sources and two bits are one LUT.
            if index == bits::<3>(i as u64) {
                chosen = self.write[i].val();
            }
        }
        self.queue.write.next = chosen;
        self.queue.write_valid.next = self.arbiter.any.val();
        self.read.next = self.queue.read.val();
        self.read_valid.next = self.queue.read_valid.val();
        self.queue.read_ready.next = self.read_ready.val();
        self.level.next = self.queue.level.val();
    }
}
