//! Joins the host-memory writes of all clusters into one stream of descriptors and one of data, in the same order.

use crate::array::rr_arbiter4::RrArbiter4;
use spindle_blocks::{replicate, BeatSink, BeatSource, DmaDesc, LutFifo, Slice};
use spindle_verilog::prelude::*;

/// A beat towards host memory.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct DmaBeat {
    /// Bytes of the transfer.
    pub data: Bits<512>,
    /// Last beat of the transfer.
    pub last: Bit,
}

/// Takes descriptors from the clusters in turn, at most eight ahead of the data; then the beats of each transfer up to
/// `last`, in the order of the descriptors.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in `desc[i]`; in `data[i]` |
/// | RVMA engine | out `dma`; out `dma_data` |
///
/// A descriptor and a beat per cycle, no bubble between transfers. From a descriptor to `dma`: 1 cycle; its first beat
/// passes from the cycle after the descriptor on. Outputs are registers.
#[block]
pub struct DmaRouter {
    /// Transfer of a cluster.
    pub desc: Vec<Sink<DmaDesc>>,
    /// Its bytes.
    pub data: Vec<BeatSink>,
    /// Transfer.
    pub dma: Source<DmaDesc>,
    /// Its bytes.
    pub dma_data: BeatSource,
    arbiter: RrArbiter4,
    descs: Slice<DmaDesc>,
    beats: Slice<DmaBeat>,
    /// Clusters of the transfers whose beats have not passed, the oldest first.
    owners: LutFifo<Bits<3>, 3>,
    chosen: Signal<Local, DmaBeat>,
    offered: Signal<Local, Bit>,
    _clusters: usize,
    /// The highest number that a cluster may have: two bits choose among four beats in one LUT per bit, three in two.
    _highest: u64,
}

impl DmaRouter {
    /// For `clusters` clusters.
    pub fn new(clusters: usize) -> Self {
        Self {
            desc: replicate(clusters),
            data: replicate(clusters),
            _clusters: clusters,
            _highest: clusters.next_power_of_two() as u64 - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl DmaRouter {
    fn update(&mut self) {
        let owned = self.owners.read.valid.val();
        let owner = self.owners.read.val() & self._highest;
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            request = request.replace_bit(i, self.desc[i].valid.val());
        }
        let room = self.owners.write.ready.val() & self.descs.write.ready.val();
        self.arbiter.request.next = request;
        self.arbiter.accept.next = room;
        let mut desc: DmaDesc = self.desc[0].val();
        let mut chosen: DmaBeat = DmaBeat { data: self.data[0].val(), last: self.data[0].last.val() };
        let mut offered: Bit = self.data[0].valid.val();
        for i in 0..self._clusters {
            self.desc[i].ready.next = room & self.arbiter.grant.val().get_bit(i);
            if self.arbiter.index.val() == bits::<3>(i) {
                desc = self.desc[i].val();
            }
            let passes = owner == bits::<3>(i);
            if passes {
                chosen = DmaBeat { data: self.data[i].val(), last: self.data[i].last.val() };
                offered = self.data[i].valid.val();
            }
            self.data[i].ready.next = owned & passes & self.beats.write.ready.val();
        }
        self.chosen.next = chosen;
        self.offered.next = owned & offered;
        self.descs.write.offer(room & self.arbiter.any.val(), desc);
        self.beats.write.offer(self.offered.val(), self.chosen.val());
        self.owners.write.offer(room & self.arbiter.any.val(), self.arbiter.index.val());
        self.owners.read.ready.next = self.offered.val() & self.beats.write.ready.val() & self.chosen.val().last;
        self.descs.read.join(&mut self.dma);
        self.dma_data.next = self.beats.read.val().data;
        self.dma_data.last.next = self.beats.read.val().last;
        self.dma_data.valid.next = self.beats.read.valid.val();
        self.beats.read.ready.next = self.dma_data.ready.val();
    }
}
