//! Joins a stream of words from every cluster into one, round robin.

use crate::array::rr_arbiter4::RrArbiter4;
use spindle_blocks::replicate;
use spindle_verilog::prelude::*;

/// One word per cycle out of those of all clusters, round robin: the choice alone, in front of the receiver's register
/// or FIFO.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in `write[i]` |
/// | register or FIFO | out `read` |
#[block]
pub struct RrMux<T: Packed> {
    /// Word of a cluster.
    pub write: Vec<Sink<T>>,
    /// Word of the granted cluster.
    pub read: Source<T>,
    arbiter: RrArbiter4,
    _clusters: usize,
}

impl<T: Packed> RrMux<T> {
    /// For `clusters` clusters.
    pub fn new(clusters: usize) -> Self {
        Self { write: replicate(clusters), _clusters: clusters, ..Self::blank() }
    }
}

#[hdl]
impl<T: Packed> RrMux<T> {
    fn update(&mut self) {
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            request = request.replace_bit(i, self.write[i].valid.val());
        }
        self.arbiter.request.next = request;
        self.arbiter.accept.next = self.read.ready.val();
        for i in 0..self._clusters {
            self.write[i].ready.next = self.read.ready.val() & self.arbiter.grant.val().get_bit(i);
        }
        self.read.offer(self.arbiter.any.val(), select(self.arbiter.index.val(), self.write.vals()));
    }
}
