//! Shares the packet buffer's read port among the clusters.

use crate::fast_robin::FastRobin;
use spindle_blocks::desc::ReadRequest;
use spindle_blocks::fifo::LutFifo;
use spindle_blocks::skid::Skid;
use spindle_verilog::prelude::*;

/// Requests go out in the order of a round robin; data comes back in the same order and goes to whoever asked.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in `request[i]`, `request_valid[i]` / out `request_ready[i]`; out `valid[i]` / in `ready[i]`: beats for cluster i |
/// | packet buffer | out `load_request`, `load_request_valid` / in `load_request_ready`; in `load_last`, `load_valid` / out `load_ready` |
///
/// The data bus itself goes to all clusters directly. Up to 4 requests are under way; a request takes 1 cycle, data none.
#[derive(LogicBlock)]
pub struct LoadRouter {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// What a cluster wants.
    pub request: Vec<Signal<In, ReadRequest>>,
    /// It wants something.
    pub request_valid: Vec<Signal<In, Bit>>,
    /// It will get it.
    pub request_ready: Vec<Signal<Out, Bit>>,
    /// Beats are for this cluster.
    pub valid: Vec<Signal<Out, Bit>>,
    /// The cluster takes a beat.
    pub ready: Vec<Signal<In, Bit>>,
    /// Request.
    pub load_request: Signal<Out, ReadRequest>,
    /// There is one.
    pub load_request_valid: Signal<Out, Bit>,
    /// It is taken.
    pub load_request_ready: Signal<In, Bit>,
    /// Last beat of a request.
    pub load_last: Signal<In, Bit>,
    /// A beat is offered.
    pub load_valid: Signal<In, Bit>,
    /// It is taken.
    pub load_ready: Signal<Out, Bit>,
    arbiter: FastRobin,
    output: Skid<ReadRequest>,
    owners: LutFifo<Bits<8>, 2>,
    accepted: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
    _clusters: usize,
}

impl LoadRouter {
    /// For `clusters` clusters.
    pub fn new(clusters: usize) -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            request: (0..clusters).map(|_| Default::default()).collect(),
            request_valid: (0..clusters).map(|_| Default::default()).collect(),
            request_ready: (0..clusters).map(|_| Default::default()).collect(),
            valid: (0..clusters).map(|_| Default::default()).collect(),
            ready: (0..clusters).map(|_| Default::default()).collect(),
            load_request: Default::default(),
            load_request_valid: Default::default(),
            load_request_ready: Default::default(),
            load_last: Default::default(),
            load_valid: Default::default(),
            load_ready: Default::default(),
            arbiter: Default::default(),
            output: Default::default(),
            owners: Default::default(),
            accepted: Default::default(),
            taken: Default::default(),
            _clusters: clusters,
        }
    }
}

impl Logic for LoadRouter {
    #[hdl]
    fn update(&mut self) {
        clocks!(self, clock, reset, arbiter, output, owners);
        let mut asking: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            asking = asking.replace_bit(i, self.request_valid[i].val());
        }
        self.arbiter.request.next = asking;
        let grant = self.arbiter.grant.val();
        let index = self.arbiter.index.val();
        let mut chosen: ReadRequest = self.request[0].val();
        for i in 0..self._clusters {
            if index == bits::<3>(i as u64) {
                chosen = self.request[i].val();
            }
        }
        let room = self.output.write_ready.val() & self.owners.write_ready.val();
        self.accepted.next = room & self.arbiter.any.val();
        self.arbiter.accept.next = room;
        for i in 0..self._clusters {
            self.request_ready[i].next = room & grant.get_bit(i);
        }
        self.output.write.next = chosen;
        self.output.write_valid.next = self.accepted.val();
        self.owners.write.next = grant;
        self.owners.write_valid.next = self.accepted.val();
        self.load_request.next = self.output.read.val();
        self.load_request_valid.next = self.output.read_valid.val();
        self.output.read_ready.next = self.load_request_ready.val();

        let owner = self.owners.read.val();
        let owned = self.owners.read_valid.val();
        let mut taken: Bit = false;
        for i in 0..self._clusters {
            self.valid[i].next = self.load_valid.val() & owned & owner.get_bit(i);
            taken = taken | (owned & owner.get_bit(i) & self.ready[i].val());
        }
        self.taken.next = taken;
        self.load_ready.next = self.taken.val();
        self.owners.read_ready.next = self.load_valid.val() & self.taken.val() & self.load_last.val();
    }
}
