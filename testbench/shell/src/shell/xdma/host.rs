//! Host memory: whole bursts in order, within the limits of the IP.

use super::{Burst, Word, Xdma};
use rand::Rng;
use spindle_contract::pci::xdma;
use spindle_harness::Model;

impl Xdma {
    pub(super) fn drive_host(&mut self, model: &mut Model) {
        self.ready = [(); 3].map(|()| self.link && self.chance());
        // The limits of the IP: it takes no more.
        self.ready[0] &= self.writes.len() < xdma::OUTSTANDING;
        self.ready[2] &= self.reads.len() < xdma::OUTSTANDING;
        let (go_b, go_r) = (self.link && self.chance(), self.link && self.chance());
        let answered = self.writes.front().is_some_and(|burst| burst.moved == burst.beats && burst.due == 0);
        self.offers[0] |= answered && go_b;
        self.offers[1] |= self.reads.front().is_some_and(|burst| burst.due == 0) && go_r;
        let host = self.host;
        model.set(host.awready, self.ready[0].into());
        model.set(host.wready, self.ready[1].into());
        model.set(host.arready, self.ready[2].into());
        model.set(host.bvalid, self.offers[0].into());
        model.set(host.bid, 0);
        model.set(host.bresp, 0);
        model.set(host.rvalid, self.offers[1].into());
        model.set(host.rid, 0);
        if let (true, Some(burst)) = (self.offers[1], self.reads.front()) {
            let at = (burst.address & !(self.beat as u64 - 1)) + (self.beat * burst.moved) as u64;
            model.set_bytes(host.rdata, &self.memory.bytes(at, self.beat));
            model.set(host.rresp, if burst.good { 0 } else { 2 });
            model.set(host.rlast, (burst.moved + 1 == burst.beats).into());
        }
    }

    pub(super) fn sample_host(&mut self, model: &Model) {
        self.check_offers(model);
        for burst in self.writes.iter_mut().chain(&mut self.reads) {
            burst.due = burst.due.saturating_sub(1);
        }
        let host = self.host;
        if self.offers[0] && model.is_set(host.bready) {
            self.offers[0] = false;
            self.writes.pop_front();
        }
        if self.offers[1] && model.is_set(host.rready) {
            self.offers[1] = false;
            let burst = &mut self.reads[0];
            burst.moved += 1;
            if burst.moved == burst.beats {
                self.reads.pop_front();
            }
        }
        if self.ready[0] && model.is_set(host.awvalid) {
            let rest = [host.awid, host.awregion, host.awsize, host.awburst].map(|port| model.get(port));
            assert_eq!(rest, [0, 0, self.size(), 1], "id, region, size, burst of a write");
            let burst = self.burst(model.get(host.awaddr), model.get(host.awlen));
            self.writes.push_back(burst);
        }
        if self.ready[1] && model.is_set(host.wvalid) {
            let data = model.get_bytes(host.wdata).to_vec();
            let (strobes, last) = (model.get(host.wstrb), model.is_set(host.wlast));
            let run = strobes >> strobes.trailing_zeros().min(63);
            assert!(run & run.wrapping_add(1) == 0, "strobes {strobes:#x} are not contiguous");
            self.words.push_back(Word { data, strobes, last });
        }
        self.write_memory();
        if self.ready[2] && model.is_set(host.arvalid) {
            let rest = [host.arid, host.arregion, host.arsize, host.arburst].map(|port| model.get(port));
            assert_eq!(rest, [0, 0, self.size(), 1], "id, region, size, burst of a read");
            let mut burst = self.burst(model.get(host.araddr), model.get(host.arlen));
            let mut scratch = vec![0; self.beat * burst.beats];
            burst.good = self.memory.try_read(burst.address & !(self.beat as u64 - 1), &mut scratch).is_ok();
            self.reads.push_back(burst);
        }
        self.most = [self.most[0].max(self.reads.len()), self.most[1].max(self.writes.len())];
    }

    /// An offer stands until it is taken.
    fn check_offers(&mut self, model: &Model) {
        let host = self.host;
        let both = |a, b| [model.get(a).to_le_bytes(), model.get(b).to_le_bytes()].concat();
        let word = || [model.get_bytes(host.wdata).to_vec(), both(host.wstrb, host.wlast)].concat();
        let offers = [
            model.is_set(host.awvalid).then(|| both(host.awaddr, host.awlen)),
            model.is_set(host.wvalid).then(word),
            model.is_set(host.arvalid).then(|| both(host.araddr, host.arlen)),
        ];
        for (i, offer) in offers.into_iter().enumerate() {
            assert!(self.held[i].is_none() || self.held[i] == offer, "s_axib, channel {i}: an offer was withdrawn");
            self.held[i] = offer.filter(|_| !self.ready[i]);
        }
    }

    /// Beats of the oldest burst that is not whole reach the memory: writes are posted.
    fn write_memory(&mut self) {
        let beat = self.beat;
        for burst in self.writes.iter_mut().filter(|burst| burst.moved < burst.beats) {
            while let Some(word) = self.words.pop_front() {
                let at = (burst.address & !(beat as u64 - 1)) + (beat * burst.moved) as u64;
                burst.moved += 1;
                assert_eq!(word.last, burst.moved == burst.beats, "the last beat is the last");
                let first = word.strobes.trailing_zeros() as usize;
                if first < beat {
                    let count = word.strobes.count_ones() as usize;
                    // A host drops a posted write that it cannot place.
                    self.memory.write(at + first as u64, &word.data[first..first + count]);
                }
                if word.last {
                    break;
                }
            }
            if burst.moved < burst.beats {
                break;
            }
        }
    }

    /// Logarithm of the bytes of a beat.
    fn size(&self) -> u64 {
        self.beat.trailing_zeros().into()
    }

    fn burst(&mut self, address: u64, len: u64) -> Burst {
        let beats = len as usize + 1;
        assert!(address >> xdma::ADDRESS_BITS == 0, "{address:#x} is beyond the window");
        let end = (address & !(self.beat as u64 - 1)) + (self.beat * beats) as u64;
        assert!(address / 4096 == (end - 1) / 4096, "a burst from {address:#x} crosses 4 KiB");
        self.bursts += 1;
        self.reached = (self.reached.0.min(address), self.reached.1.max(address));
        let due = self.rng.random_range(self.latency.0..=self.latency.1);
        Burst { address, beats, moved: 0, due, good: true }
    }
}
