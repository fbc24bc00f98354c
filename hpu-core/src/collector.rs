//! Joins a stream of messages from every cluster into one, round robin.

use crate::fast_robin::FastRobin;
use spindle_verilog::prelude::*;

/// One message per cycle; the choice alone, in front of the receiver's register or FIFO.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in `write[i]`, `write_valid[i]` / out `write_ready[i]` |
/// | register or FIFO | out `read`, `read_valid` / in `read_ready` |
#[derive(LogicBlock)]
pub struct Collector<T: Synth> {
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
    /// The message whose turn it is.
    pub read: Signal<Out, T>,
    /// There is one.
    pub read_valid: Signal<Out, Bit>,
    /// It is taken.
    pub read_ready: Signal<In, Bit>,
    arbiter: FastRobin,
    _clusters: usize,
}

impl<T: Synth> Collector<T> {
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
            arbiter: Default::default(),
            _clusters: clusters,
        }
    }
}

impl<T: Synth> Logic for Collector<T> {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, arbiter);
        let mut asking: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            asking = asking.replace_bit(i, self.write_valid[i].val());
        }
        self.arbiter.request.next = asking;
        let room = self.read_ready.val();
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
        self.read.next = chosen;
        self.read_valid.next = self.arbiter.any.val();
    }
}
