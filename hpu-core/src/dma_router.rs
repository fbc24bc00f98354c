//! Joins the host-memory writes of all clusters: a descriptor and its data at a time.

use crate::fast_robin::FastRobin;
use spindle_blocks::desc::DmaDesc;
use spindle_blocks::skid::Slice;
use spindle_verilog::prelude::*;

/// A beat towards host memory.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct DmaBeat {
    /// Bytes.
    pub data: Bits<512>,
    /// Last beat of the transfer.
    pub last: Bit,
}

/// Takes a transfer from one cluster: first its descriptor, then its beats up to `last`; then the next cluster in turn.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in `desc[i]`, `desc_valid[i]` / out `desc_ready[i]`; in `data[i]`, `last[i]`, `valid[i]` / out `ready[i]` |
/// | RVMA engine | out `dma`, `dma_valid` / in `dma_ready`; out `dma_data`, `dma_last`, `dma_data_valid` / in `dma_data_ready` |
///
/// One cycle between transfers; outputs are registers, `ready[i]` follows `dma_data_ready` in the same cycle.
#[derive(LogicBlock)]
pub struct DmaRouter {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Transfer of a cluster.
    pub desc: Vec<Signal<In, DmaDesc>>,
    /// There is one.
    pub desc_valid: Vec<Signal<In, Bit>>,
    /// It is taken.
    pub desc_ready: Vec<Signal<Out, Bit>>,
    /// Its bytes.
    pub data: Vec<Signal<In, Bits<512>>>,
    /// Last beat.
    pub last: Vec<Signal<In, Bit>>,
    /// A beat is offered.
    pub valid: Vec<Signal<In, Bit>>,
    /// It is taken.
    pub ready: Vec<Signal<Out, Bit>>,
    /// Transfer.
    pub dma: Signal<Out, DmaDesc>,
    /// There is one.
    pub dma_valid: Signal<Out, Bit>,
    /// It is taken.
    pub dma_ready: Signal<In, Bit>,
    /// Its bytes.
    pub dma_data: Signal<Out, Bits<512>>,
    /// Last beat.
    pub dma_last: Signal<Out, Bit>,
    /// A beat is offered.
    pub dma_data_valid: Signal<Out, Bit>,
    /// It is taken.
    pub dma_data_ready: Signal<In, Bit>,
    arbiter: FastRobin,
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
        Self {
            clock: Default::default(),
            reset: Default::default(),
            desc: (0..clusters).map(|_| Default::default()).collect(),
            desc_valid: (0..clusters).map(|_| Default::default()).collect(),
            desc_ready: (0..clusters).map(|_| Default::default()).collect(),
            data: (0..clusters).map(|_| Default::default()).collect(),
            last: (0..clusters).map(|_| Default::default()).collect(),
            valid: (0..clusters).map(|_| Default::default()).collect(),
            ready: (0..clusters).map(|_| Default::default()).collect(),
            dma: Default::default(),
            dma_valid: Default::default(),
            dma_ready: Default::default(),
            dma_data: Default::default(),
            dma_last: Default::default(),
            dma_data_valid: Default::default(),
            dma_data_ready: Default::default(),
            arbiter: Default::default(),
            descs: Default::default(),
            beats: Default::default(),
            owner: Default::default(),
            owned: Default::default(),
            chosen: Default::default(),
            offered: Default::default(),
            _clusters: clusters,
        }
    }
}

impl Logic for DmaRouter {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, owned);
        dffs!(self, clock, owner);
        clocks!(self, clock, reset, arbiter, descs, beats);
        let owner = self.owner.q.val();
        let owned = self.owned.q.val();
        let mut asking: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            asking = asking.replace_bit(i, self.desc_valid[i].val());
        }
        let room = !owned & self.descs.write_ready.val();
        self.arbiter.request.next = asking;
        self.arbiter.accept.next = room;
        let grant = self.arbiter.grant.val();
        let index = self.arbiter.index.val();
        // By number: four sources and two bits are one LUT.
        let mut desc: DmaDesc = self.desc[0].val();
        let mut chosen: DmaBeat = DmaBeat { data: self.data[0].val(), last: self.last[0].val() };
        let mut offered: Bit = self.valid[0].val();
        for i in 0..self._clusters {
            self.desc_ready[i].next = room & grant.get_bit(i);
            if index == bits::<3>(i as u64) {
                desc = self.desc[i].val();
            }
            let passes = owner == bits::<3>(i as u64);
            if passes {
                chosen = DmaBeat { data: self.data[i].val(), last: self.last[i].val() };
                offered = self.valid[i].val();
            }
            self.ready[i].next = owned & passes & self.beats.write_ready.val();
        }
        self.chosen.next = chosen;
        self.offered.next = owned & offered;
        self.descs.write.next = desc;
        self.descs.write_valid.next = room & self.arbiter.any.val();
        self.beats.write.next = self.chosen.val();
        self.beats.write_valid.next = self.offered.val();
        if room & self.arbiter.any.val() {
            self.owner.d.next = index;
            self.owned.d.next = true;
        } else if self.offered.val() & self.beats.write_ready.val() & self.chosen.val().last {
            self.owned.d.next = false;
        }
        self.dma.next = self.descs.read.val();
        self.dma_valid.next = self.descs.read_valid.val();
        self.descs.read_ready.next = self.dma_ready.val();
        self.dma_data.next = self.beats.read.val().data;
        self.dma_last.next = self.beats.read.val().last;
        self.dma_data_valid.next = self.beats.read_valid.val();
        self.beats.read_ready.next = self.dma_data_ready.val();
    }
}
