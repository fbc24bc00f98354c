//! Context memory (L2): shared by all clusters and the host.

use crate::types::Access;
use spindle_blocks::arbiter::RoundRobin;
use spindle_blocks::ram::{ByteRam, RamStyle};
use spindle_verilog::prelude::*;

/// Port of the host among the requesters.
const HOST: usize = 8;

/// One memory with byte enables, one access per cycle, round robin over clusters and the host.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in `access[i]`, `valid[i]` held until out `ack[i]`; out `data`, with the ack |
/// | registers | in `host_access`, `host_valid` / out `host_ack` |
///
/// Latency: grant in the cycle of the request when nobody else asks, ack 4 cycles later. Worst case: all other requesters first, one cycle each. Writes are
/// acknowledged like reads. A requester has one access under way.
#[derive(LogicBlock)]
pub struct L2 {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Accesses of the clusters.
    pub access: Vec<Signal<In, Access>>,
    /// They are wanted.
    pub valid: Vec<Signal<In, Bit>>,
    /// They are done.
    pub ack: Vec<Signal<Out, Bit>>,
    /// Access of the host.
    pub host_access: Signal<In, Access>,
    /// It is wanted.
    pub host_valid: Signal<In, Bit>,
    /// It is done.
    pub host_ack: Signal<Out, Bit>,
    /// The word read.
    pub data: Signal<Out, Bits<32>>,
    arbiter: RoundRobin<9>,
    memory: ByteRam<18, 4, 32>,
    chosen: DFF<Access>,
    /// Who was granted 1, 2, 3 cycles ago, and who is answered.
    granted: Reg<Bits<9>>,
    reading: Reg<Bits<9>>,
    read: Reg<Bits<9>>,
    answered: Reg<Bits<9>>,
    word: DFF<Bits<32>>,
    _clusters: usize,
}

impl L2 {
    /// `bytes` of memory for `clusters` clusters.
    pub fn new(bytes: usize, clusters: usize) -> Self {
        assert!((1..=HOST).contains(&clusters), "L2: {clusters} clusters cannot be served; use 1 to 8");
        Self {
            clock: Default::default(),
            reset: Default::default(),
            access: (0..clusters).map(|_| Default::default()).collect(),
            valid: (0..clusters).map(|_| Default::default()).collect(),
            ack: (0..clusters).map(|_| Default::default()).collect(),
            host_access: Default::default(),
            host_valid: Default::default(),
            host_ack: Default::default(),
            data: Default::default(),
            arbiter: Default::default(),
            memory: ByteRam::with_depth(RamStyle::Block, 2, bytes / 4),
            chosen: Default::default(),
            granted: Default::default(),
            reading: Default::default(),
            read: Default::default(),
            answered: Default::default(),
            word: Default::default(),
            _clusters: clusters,
        }
    }
}

impl Logic for L2 {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, granted, reading, read, answered);
        dffs!(self, clock, chosen, word);
        clocks!(self, clock, reset, arbiter);
        self.memory.clock.next = self.clock.val();

        let under_way = self.granted.q.val() | self.reading.q.val() | self.read.q.val() | self.answered.q.val();
        let mut request: Bits<9> = bits::<9>(0);
        for i in 0..self._clusters {
            request = request.replace_bit(i, self.valid[i].val());
        }
        request = request.replace_bit(HOST, self.host_valid.val());
        self.arbiter.request.next = request & !under_way;
        self.arbiter.accept.next = true;
        self.arbiter.lock.next = false;
        let grant = self.arbiter.grant.val();
        self.granted.d.next = grant;
        let mut chosen: Access = Access::default();
        for i in 0..self._clusters {
            if grant.get_bit(i) {
                chosen = self.access[i].val();
            }
        }
        if grant.get_bit(HOST) {
            chosen = self.host_access.val();
        }
        self.chosen.d.next = chosen;

        let access = self.chosen.q.val();
        let busy = self.granted.q.val().any();
        self.memory.write_strobe.next = if busy & access.write { access.strobe } else { bits::<4>(0) };
        self.memory.write_address.next = access.address.get_bits::<18>(2);
        self.memory.write_data.next = access.data;
        self.memory.read_enable.next = busy;
        self.memory.read_address.next = access.address.get_bits::<18>(2);
        self.reading.d.next = self.granted.q.val();
        self.read.d.next = self.reading.q.val();
        self.word.d.next = self.memory.read_data.val();
        self.answered.d.next = self.read.q.val();
        self.data.next = self.word.q.val();
        for i in 0..self._clusters {
            self.ack[i].next = self.answered.q.val().get_bit(i);
        }
        self.host_ack.next = self.answered.q.val().get_bit(HOST);
    }
}
