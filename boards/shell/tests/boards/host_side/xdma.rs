//! The slave port of an XDMA: whole bursts in order, INCR, id and region 0, a limit of bursts; what it shows is checked.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::xdma::XdmaHostSourcePorts;
use std::collections::{HashMap, VecDeque};

/// A burst inside.
#[derive(Debug)]
struct Burst {
    address: u64,
    beats: u64,
    /// Beats that have come, or gone.
    moved: u64,
    /// Cycles until the answer, once all is there.
    due: u64,
}

/// Beats of a write: data and strobes.
pub type Written = Vec<(Vec<u8>, u64)>;

/// The port's other side, of so many bytes.
pub struct Xdma {
    bytes: usize,
    outstanding: usize,
    /// Percent of the cycles in which it takes or gives something, and most cycles that an answer waits.
    pub pace: u32,
    pub slowest: u64,
    writes: VecDeque<Burst>,
    reads: VecDeque<Burst>,
    /// Beats that came before the address of their burst: AXI4 allows it.
    early: VecDeque<(Vec<u8>, u64, bool)>,
    /// Beats that came, by the address of their burst.
    memory: HashMap<u64, Written>,
    /// Most reads and writes that were inside at a time, and bursts that came.
    pub most: [usize; 2],
    pub bursts: u64,
    gives: [bool; 2],
    ready: [bool; 3],
    held: [Option<Vec<u8>>; 3],
}

impl Xdma {
    pub fn new(bytes: usize, outstanding: usize) -> Self {
        Self {
            bytes,
            outstanding,
            pace: 80,
            slowest: 20,
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            early: VecDeque::new(),
            memory: HashMap::new(),
            most: [0; 2],
            bursts: 0,
            gives: [false; 2],
            ready: [false; 3],
            held: [const { None }; 3],
        }
    }

    /// What a read of so many bytes gets.
    pub fn data(address: u64, bytes: usize) -> Vec<u8> {
        (address..address + bytes as u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
    }

    /// The beats of the last write to an address.
    pub fn written(&self, address: u64) -> Option<Written> {
        self.memory.get(&address).cloned()
    }

    pub fn is_idle(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty() && self.early.is_empty()
    }

    /// Inputs of the bridge. Without a link nothing is taken or given, but what was offered stays.
    pub fn drive<const W: usize, const S: usize>(
        &mut self,
        pcie: &XdmaHostSourcePorts<W, S>,
        rng: &mut ChaCha8Rng,
        up: bool,
    ) {
        let pace = self.pace;
        let chance = |rng: &mut ChaCha8Rng| up && rng.random_range(0..100) < pace;
        self.ready = [chance(rng), chance(rng), chance(rng)];
        pcie.awready.set(self.ready[0]);
        pcie.wready.set(self.ready[1]);
        pcie.arready.set(self.ready[2]);
        let answers = self.writes.front().is_some_and(|burst| burst.moved == burst.beats && burst.due == 0);
        let beats = self.reads.front().is_some_and(|burst| burst.due == 0);
        self.gives = [self.gives[0] || (answers && chance(rng)), self.gives[1] || (beats && chance(rng))];
        pcie.bvalid.set(self.gives[0]);
        pcie.bid.set(0);
        pcie.bresp.set(0);
        pcie.rvalid.set(self.gives[1]);
        if let Some(burst) = self.reads.front().filter(|_| self.gives[1]) {
            let step = self.bytes as u64;
            pcie.rid.set(0);
            pcie.rresp.set(0);
            pcie.rdata.set(&Self::data((burst.address & !(step - 1)) + step * burst.moved, self.bytes));
            pcie.rlast.set(burst.moved + 1 == burst.beats);
        }
    }

    /// What moves at the edge to come.
    pub fn sample<const W: usize, const S: usize>(&mut self, pcie: &XdmaHostSourcePorts<W, S>, rng: &mut ChaCha8Rng) {
        let of_address = |address: u64, len: u64| [address.to_le_bytes(), len.to_le_bytes()].concat();
        let word = || [pcie.wdata.bytes(), pcie.wstrb.bytes(), vec![pcie.wlast.is_high().into()]].concat();
        let offers = [
            pcie.awvalid.is_high().then(|| of_address(pcie.awaddr.number(), pcie.awlen.number())),
            pcie.wvalid.is_high().then(word),
            pcie.arvalid.is_high().then(|| of_address(pcie.araddr.number(), pcie.arlen.number())),
        ];
        for (i, offer) in offers.iter().enumerate() {
            assert!(self.held[i].is_none() || self.held[i] == *offer, "channel {i}: an offer was withdrawn or changed");
            self.held[i] = offer.clone().filter(|_| !self.ready[i]);
        }
        for burst in self.reads.iter_mut().chain(&mut self.writes) {
            burst.due = burst.due.saturating_sub(1);
        }
        if self.gives[0] && pcie.bready.is_high() {
            self.gives[0] = false;
            self.writes.pop_front();
        }
        if self.gives[1] && pcie.rready.is_high() {
            self.gives[1] = false;
            let burst = &mut self.reads[0];
            burst.moved += 1;
            if burst.moved == burst.beats {
                self.reads.pop_front();
            }
        }
        let size = u64::from(self.bytes.ilog2());
        if offers[0].is_some() && self.ready[0] {
            let rest = (pcie.awid.number(), pcie.awregion.number(), pcie.awsize.number(), pcie.awburst.number());
            assert_eq!(rest, (0, 0, size, 1));
            let (address, beats) = (pcie.awaddr.number(), pcie.awlen.number() + 1);
            self.writes.push_back(self.burst(address, beats, rng));
            self.memory.insert(address, vec![]);
            self.bursts += 1;
        }
        if offers[1].is_some() && self.ready[1] {
            self.early.push_back((pcie.wdata.bytes(), pcie.wstrb.number(), pcie.wlast.is_high()));
        }
        for burst in self.writes.iter_mut().filter(|burst| burst.moved < burst.beats) {
            let beats = self.memory.get_mut(&burst.address).expect("a burst that began");
            while let Some((data, strobes, last)) = self.early.pop_front() {
                burst.moved += 1;
                assert_eq!(last, burst.moved == burst.beats, "the last beat is the last");
                beats.push((data, strobes));
                if last {
                    break;
                }
            }
            if burst.moved < burst.beats {
                break;
            }
        }
        if offers[2].is_some() && self.ready[2] {
            let rest = (pcie.arid.number(), pcie.arregion.number(), pcie.arsize.number(), pcie.arburst.number());
            assert_eq!(rest, (0, 0, size, 1));
            self.reads.push_back(self.burst(pcie.araddr.number(), pcie.arlen.number() + 1, rng));
            self.bursts += 1;
        }
        self.most = [self.most[0].max(self.reads.len()), self.most[1].max(self.writes.len())];
        assert!(self.most.iter().all(|most| *most <= self.outstanding), "more than {} bursts", self.outstanding);
    }

    fn burst(&self, address: u64, beats: u64, rng: &mut ChaCha8Rng) -> Burst {
        assert!(address >> 48 == 0, "{address:#x} is beyond the window");
        assert!(address / 4096 == (address + self.bytes as u64 * beats - 1) / 4096, "a burst crosses 4 KiB");
        Burst { address, beats, moved: 0, due: rng.random_range(0..=self.slowest) }
    }
}
