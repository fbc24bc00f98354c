//! Joins the host-memory writes of all clusters: a descriptor and its data at a time.

use crate::array::rr_arbiter4::RrArbiter4;
use spindle_blocks::{replicate, BeatSink, BeatSource, DmaDesc, Slice};
use spindle_verilog::prelude::*;

/// A beat towards host memory.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct DmaBeat {
    /// Bytes of the transfer.
    pub data: Bits<512>,
    /// Last beat of the transfer.
    pub last: Bit,
}

/// Takes one transfer from a cluster: its descriptor, then its beats up to `last`; then the next cluster in turn.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in `desc[i]`; in `data[i]` |
/// | RVMA engine | out `dma`; out `dma_data` |
///
/// One cycle between transfers. Outputs are registers; `data[i].ready` follows `dma_data.ready` in the same cycle.
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
    /// Cluster whose beats pass, if one does.
    owner: DFF<Bits<3>>,
    owned: Reg<Bit>,
    chosen: Signal<Local, DmaBeat>,
    offered: Signal<Local, Bit>,
    _clusters: usize,
}

impl DmaRouter {
    /// For `clusters` clusters.
    pub fn new(clusters: usize) -> Self {
        Self { desc: replicate(clusters), data: replicate(clusters), _clusters: clusters, ..Self::blank() }
    }
}

#[hdl]
impl DmaRouter {
    fn update(&mut self) {
        let owned = self.owned.q.val();
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            request = request.replace_bit(i, self.desc[i].valid.val());
        }
        let room = !owned & self.descs.write.ready.val();
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
            let passes = self.owner.q.val() == bits::<3>(i);
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
        if room & self.arbiter.any.val() {
            self.owner.d.next = self.arbiter.index.val();
            self.owned.d.next = true;
        } else if self.offered.val() & self.beats.write.ready.val() & self.chosen.val().last {
            self.owned.d.next = false;
        }
        self.descs.read.join(&mut self.dma);
        self.dma_data.next = self.beats.read.val().data;
        self.dma_data.last.next = self.beats.read.val().last;
        self.dma_data.valid.next = self.beats.read.valid.val();
        self.beats.read.ready.next = self.dma_data.ready.val();
    }
}
