//! Shares the packet buffer's read port among the clusters.

use spindle_blocks::{replicate, LutFifo, ReadRequest, Skid};
use spindle_verilog::prelude::*;

/// A request whose beats have not all come.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Owner {
    /// Its cluster, a bit each.
    cluster: Bits<8>,
    /// Bytes of its last beat; 0 = all.
    tail: Bits<6>,
}

/// Shares the packet buffer's read port: data comes back in the order of the requests and goes to the cluster of each.
///
/// | neighbour | ports |
/// |---|---|
/// | dispatcher | in `request`, `cluster`: a packet, and the cluster that gets it |
/// | clusters | out `valid[i]` / in `ready[i]`: beats for cluster i |
/// | packet buffer | out `load_request`; in `load_last`, `load_valid` / out `load_ready` |
/// | bus to the clusters | out `keep`: bytes of the beat that belong to the packet; the bus zeroes the others |
///
/// The data bus itself goes to all clusters directly. Up to 4 requests are in flight; a request takes 1 cycle, data
/// none.
#[block]
pub struct LoadRouter {
    /// Packet that is loaded.
    pub request: Sink<ReadRequest>,
    /// Cluster that gets it, one-hot.
    pub cluster: Signal<In, Bits<8>>,
    /// The beat is for this cluster.
    pub valid: Vec<Signal<Out, Bit>>,
    /// The cluster takes a beat.
    pub ready: Vec<Signal<In, Bit>>,
    /// Request for the packet buffer.
    pub load_request: Source<ReadRequest>,
    /// Last beat of a request.
    pub load_last: Signal<In, Bit>,
    /// A beat is offered.
    pub load_valid: Signal<In, Bit>,
    /// The beat is taken.
    pub load_ready: Signal<Out, Bit>,
    /// Bytes of the beat that belong to the packet.
    pub keep: Signal<Out, Bits<64>>,
    output: Skid<ReadRequest>,
    owners: LutFifo<Owner, 2>,
    taken: Signal<Local, Bit>,
    _clusters: usize,
}

impl LoadRouter {
    /// For `clusters` clusters.
    pub fn new(clusters: usize) -> Self {
        Self { valid: replicate(clusters), ready: replicate(clusters), _clusters: clusters, ..Self::blank() }
    }
}

#[hdl]
impl LoadRouter {
    fn update(&mut self) {
        let request = self.request.val();
        let room = self.output.write.ready.val() & self.owners.write.ready.val();
        self.request.ready.next = room;
        self.output.write.offer(self.request.valid.val() & room, request);
        let tail = request.length.get_bits::<6>(0);
        self.owners.write.offer(self.request.valid.val() & room, Owner { cluster: self.cluster.val(), tail });
        self.output.read.join(&mut self.load_request);

        let owned = self.owners.read.valid.val();
        let owner = self.owners.read.val();
        let mut taken: Bit = false;
        for i in 0..self._clusters {
            self.valid[i].next = self.load_valid.val() & owned & owner.cluster.get_bit(i);
            taken = taken | (owned & owner.cluster.get_bit(i) & self.ready[i].val());
        }
        let whole = !self.load_last.val() | !owner.tail.any();
        self.keep.next = !(repeat::<64>(true) << owner.tail) | repeat::<64>(whole);
        self.taken.next = taken;
        self.load_ready.next = self.taken.val();
        self.owners.read.ready.next = self.load_valid.val() & self.taken.val() & self.load_last.val();
    }
}
