//! Bus-functional model of `xdma` in bridge mode: what its user side does, by PG194 and PG195, and checks of what it is given.
//!
//! One access of the host at a time, as a single beat of 32 bits; host memory with whole bursts in order, at most 32 reads and
//! 32 writes, below 2^48; user interrupts by the vector map and the mask, which both begin as zeros; all with random stalls.

use super::card::MessageSink;
use super::pins::pins;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_contract::pci::{xdma, VECTORS};
use spindle_harness::Model;
use spindle_sim::host_memory::SparseMemory;
use std::collections::VecDeque;

/// Bytes of a beat of host memory.
const BEAT: usize = 64;

pins! { System "xdma_" axi_aresetn user_lnk_up cfg_ltssm_state usr_irq_req usr_irq_ack msix_enable }
pins! { Bar "xdma_m_axib_"
    awid awaddr awlen awsize awburst awvalid awready wdata wstrb wlast wvalid wready bid bresp bvalid
    bready arid araddr arlen arsize arburst arvalid arready rid rdata rresp rlast rvalid rready
}
pins! { Host "xdma_s_axib_"
    awid awaddr awregion awlen awsize awburst awvalid awready wdata wstrb wlast wvalid wready bid bresp bvalid bready
    arid araddr arregion arlen arsize arburst arvalid arready rid rdata rresp rlast rvalid rready
}
pins! { Lite "xdma_s_axil_"
    awaddr awvalid awready wdata wstrb wvalid wready bresp bvalid bready
    araddr arvalid arready rdata rresp rvalid rready
}

/// What the host does to a BAR, and how far that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read { address: u64 },
    Write { address: u64, value: u32 },
}

/// A burst of the card.
#[derive(Debug)]
struct Burst {
    address: u64,
    beats: usize,
    /// Beats that came, or went.
    moved: usize,
    /// Cycles until the answer.
    due: u64,
    /// All of the memory can be reached.
    good: bool,
}

/// A beat of a write.
struct Word {
    data: Vec<u8>,
    strobes: u64,
    last: bool,
}

/// The model. One call of [`drive`](Self::drive) and one of [`sample`](Self::sample) for each edge of `axi_aclk`.
pub struct Xdma {
    system: System,
    bar: Bar,
    host: Host,
    lite: Lite,
    rng: ChaCha8Rng,
    /// Host memory.
    pub memory: SparseMemory,
    /// Percent of the cycles in which the model is ready or goes on.
    pub pace: u32,
    /// Least and most cycles until host memory answers.
    pub latency: (u64, u64),
    /// The core is out of reset.
    pub running: bool,
    /// The link is up. Without it nothing is taken or given.
    pub link: bool,
    /// The host has enabled MSI-X.
    pub msix: bool,
    /// Gets the messages.
    pub messages: Option<MessageSink>,
    /// Messages so far, by vector.
    pub sent: [u64; VECTORS],
    /// Most reads and writes under way at a time, and bursts.
    pub most: [usize; 2],
    pub bursts: u64,
    /// Lowest and highest address of a burst.
    pub reached: (u64, u64),
    access: Option<Access>,
    /// Its channels: address and data not yet taken.
    asks: bool,
    gives: bool,
    answer: Option<(u64, u32)>,
    writes: VecDeque<Burst>,
    reads: VecDeque<Burst>,
    words: VecDeque<Word>,
    /// What the model offers: B, R.
    offers: [bool; 2],
    /// What it took as ready: AW, W, AR.
    ready: [bool; 3],
    /// What the shell offered and the model did not take.
    held: [Option<Vec<u8>>; 3],
    /// Vector of each user interrupt, and the mask.
    pub map: [u8; VECTORS],
    pub mask: u16,
    /// Cycles until a request is acknowledged.
    irq_due: [Option<u64>; VECTORS],
    acks: u16,
    lite_write: Option<u64>,
    lite_read: Option<u64>,
    lite_answer: [Option<u32>; 2],
    lite_ready: bool,
}

impl Xdma {
    pub fn new(model: &Model, seed: u64) -> Self {
        Self {
            system: System::of(model),
            bar: Bar::of(model),
            host: Host::of(model),
            lite: Lite::of(model),
            rng: ChaCha8Rng::seed_from_u64(seed),
            memory: SparseMemory::default(),
            pace: 80,
            latency: (60, 180),
            running: false,
            link: false,
            msix: false,
            messages: None,
            sent: [0; VECTORS],
            most: [0; 2],
            bursts: 0,
            reached: (u64::MAX, 0),
            access: None,
            asks: false,
            gives: false,
            answer: None,
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            words: VecDeque::new(),
            offers: [false; 2],
            ready: [false; 3],
            held: [const { None }; 3],
            map: [0; VECTORS],
            mask: 0,
            irq_due: [None; VECTORS],
            acks: 0,
            lite_write: None,
            lite_read: None,
            lite_answer: [None; 2],
            lite_ready: false,
        }
    }

    /// PERST: all that is under way is gone, and the registers of the bridge have their first values.
    pub fn reset(&mut self) {
        (self.running, self.link, self.msix) = (false, false, false);
        (self.access, self.answer, self.asks, self.gives) = (None, None, false, false);
        self.writes.clear();
        self.reads.clear();
        self.words.clear();
        (self.offers, self.ready, self.held) = ([false; 2], [false; 3], [const { None }; 3]);
        (self.map, self.mask, self.irq_due, self.acks) = ([0; VECTORS], 0, [None; VECTORS], 0);
        (self.lite_write, self.lite_read, self.lite_answer) = (None, None, [None; 2]);
    }

    /// Begins a read of a register.
    pub fn read(&mut self, address: u64) {
        self.begin(Access::Read { address });
    }

    /// Begins a write of a register.
    pub fn write(&mut self, address: u64, value: u32) {
        self.begin(Access::Write { address, value });
    }

    fn begin(&mut self, access: Access) {
        assert!(self.access.is_none(), "one access at a time");
        (self.access, self.asks, self.gives, self.answer) = (Some(access), true, true, None);
    }

    /// Response and word of the access, once.
    pub fn take_answer(&mut self) -> Option<(u64, u32)> {
        let answer = self.answer.take()?;
        self.access = None;
        Some(answer)
    }

    /// Gives the access up, as a host does after its completion timeout.
    pub fn give_up(&mut self) {
        self.access = None;
    }

    /// Nothing of the card is under way.
    pub fn is_idle(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty() && self.words.is_empty()
    }

    fn chance(&mut self) -> bool {
        self.rng.random_range(0..100) < self.pace
    }

    /// Inputs of the shell for the next edge.
    pub fn drive(&mut self, model: &mut Model) {
        model.set(self.system.axi_aresetn, self.running.into());
        model.set(self.system.user_lnk_up, self.link.into());
        model.set(self.system.cfg_ltssm_state, if self.link { 0x10 } else { 0 });
        model.set(self.system.msix_enable, self.msix.into());
        self.drive_bar(model);
        self.drive_host(model);
        self.drive_lite(model);
        self.acks = 0;
        for (vector, due) in self.irq_due.iter_mut().enumerate() {
            match due {
                Some(0) => {
                    self.acks |= 1 << vector;
                    *due = None;
                }
                Some(cycles) => *cycles -= 1,
                None => {}
            }
        }
        model.set(self.system.usr_irq_ack, self.acks.into());
    }

    /// What moves at the edge to come; the model has settled.
    pub fn sample(&mut self, model: &Model) {
        if !self.running {
            return;
        }
        self.sample_bar(model);
        self.sample_host(model);
        self.sample_lite(model);
        let asked = model.get(self.system.usr_irq_req);
        for vector in 0..VECTORS {
            let asks = asked >> vector & 1 == 1;
            assert!(!asks || self.msix, "interrupt {vector} is requested while MSI-X is off");
            if self.acks >> vector & 1 == 1 && asks {
                self.message(vector);
            } else if asks && self.irq_due[vector].is_none() {
                self.irq_due[vector] = Some(self.rng.random_range(4..40));
            } else if !asks {
                self.irq_due[vector] = None;
            }
        }
    }

    fn message(&mut self, interrupt: usize) {
        if self.mask >> interrupt & 1 == 0 {
            return;
        }
        let vector = usize::from(self.map[interrupt]);
        self.sent[vector] += 1;
        if let Some(sink) = &mut self.messages {
            sink(vector);
        }
    }

    fn drive_bar(&mut self, model: &mut Model) {
        let bar = self.bar;
        let (asks, gives) = (self.asks && self.link, self.gives && self.link);
        let id = 5;
        let valid = match self.access {
            Some(Access::Write { address, value }) if asks || gives => {
                model.set(bar.awid, id);
                model.set(bar.awaddr, address);
                model.set(bar.awlen, 0);
                model.set(bar.awsize, 2);
                model.set(bar.awburst, 1);
                let lane = (address as usize % BEAT) & !3;
                let mut data = [0xEE; BEAT];
                data[lane..lane + 4].copy_from_slice(&value.to_le_bytes());
                model.set_bytes(bar.wdata, &data);
                model.set(bar.wstrb, 0xF << lane);
                model.set(bar.wlast, 1);
                (asks, gives, false)
            }
            Some(Access::Read { address }) if asks => {
                model.set(bar.arid, id);
                model.set(bar.araddr, address);
                model.set(bar.arlen, 0);
                model.set(bar.arsize, 2);
                model.set(bar.arburst, 1);
                (false, false, true)
            }
            _ => (false, false, false),
        };
        model.set(bar.awvalid, valid.0.into());
        model.set(bar.wvalid, valid.1.into());
        model.set(bar.arvalid, valid.2.into());
        model.set(bar.bready, self.link.into());
        model.set(bar.rready, self.link.into());
    }

    fn sample_bar(&mut self, model: &Model) {
        let bar = self.bar;
        let moves = |valid, ready| model.is_set(valid) && model.is_set(ready);
        if moves(bar.awvalid, bar.awready) || moves(bar.arvalid, bar.arready) {
            self.asks = false;
        }
        if moves(bar.wvalid, bar.wready) {
            self.gives = false;
        }
        if moves(bar.bvalid, bar.bready) {
            assert!(!self.asks && !self.gives, "an answer before the access was taken");
            assert_eq!(model.get(bar.bid), 5);
            self.answer = Some((model.get(bar.bresp), 0));
        }
        if moves(bar.rvalid, bar.rready) {
            assert_eq!((model.get(bar.rid), model.is_set(bar.rlast), self.asks), (5, true, false));
            let Some(Access::Read { address }) = self.access else { panic!("data without a read") };
            let lane = (address as usize % BEAT) & !3;
            let word: [u8; 4] = model.get_bytes(bar.rdata)[lane..lane + 4].try_into().expect("four bytes");
            self.answer = Some((model.get(bar.rresp), u32::from_le_bytes(word)));
        }
    }

    fn drive_host(&mut self, model: &mut Model) {
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
            let at = (burst.address & !(BEAT as u64 - 1)) + (BEAT * burst.moved) as u64;
            model.set_bytes(host.rdata, &self.memory.bytes(at, BEAT));
            model.set(host.rresp, if burst.good { 0 } else { 2 });
            model.set(host.rlast, (burst.moved + 1 == burst.beats).into());
        }
    }

    fn sample_host(&mut self, model: &Model) {
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
            assert_eq!(rest, [0, 0, 6, 1], "id, region, size, burst of a write");
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
            assert_eq!(rest, [0, 0, 6, 1], "id, region, size, burst of a read");
            let mut burst = self.burst(model.get(host.araddr), model.get(host.arlen));
            let mut scratch = vec![0; BEAT * burst.beats];
            burst.good = self.memory.try_read(burst.address & !(BEAT as u64 - 1), &mut scratch).is_ok();
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
        for burst in self.writes.iter_mut().filter(|burst| burst.moved < burst.beats) {
            while let Some(word) = self.words.pop_front() {
                let at = (burst.address & !(BEAT as u64 - 1)) + (BEAT * burst.moved) as u64;
                burst.moved += 1;
                assert_eq!(word.last, burst.moved == burst.beats, "the last beat is the last");
                let first = word.strobes.trailing_zeros() as usize;
                if first < BEAT {
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

    fn burst(&mut self, address: u64, len: u64) -> Burst {
        let beats = len as usize + 1;
        assert!(address >> xdma::ADDRESS_BITS == 0, "{address:#x} is beyond the window");
        let end = (address & !(BEAT as u64 - 1)) + (BEAT * beats) as u64;
        assert!(address / 4096 == (end - 1) / 4096, "a burst from {address:#x} crosses 4 KiB");
        self.bursts += 1;
        self.reached = (self.reached.0.min(address), self.reached.1.max(address));
        let due = self.rng.random_range(self.latency.0..=self.latency.1);
        Burst { address, beats, moved: 0, due, good: true }
    }

    fn drive_lite(&mut self, model: &mut Model) {
        self.lite_ready = self.chance();
        let lite = self.lite;
        let free = |answer: Option<u32>| self.lite_ready && answer.is_none();
        // Address and data of a write are taken together.
        let writes = free(self.lite_answer[0]) && model.is_set(lite.awvalid) && model.is_set(lite.wvalid);
        model.set(lite.awready, writes.into());
        model.set(lite.wready, writes.into());
        model.set(lite.arready, free(self.lite_answer[1]).into());
        model.set(lite.bvalid, self.lite_answer[0].is_some().into());
        model.set(lite.bresp, self.lite_answer[0].unwrap_or(0).into());
        model.set(lite.rvalid, self.lite_answer[1].is_some().into());
        model.set(lite.rdata, self.lite_answer[1].unwrap_or(0).into());
        model.set(lite.rresp, 0);
    }

    fn sample_lite(&mut self, model: &Model) {
        let lite = self.lite;
        let moves = |valid, ready| model.is_set(valid) && model.is_set(ready);
        if moves(lite.bvalid, lite.bready) {
            self.lite_answer[0] = None;
        }
        if moves(lite.rvalid, lite.rready) {
            self.lite_answer[1] = None;
        }
        if moves(lite.awvalid, lite.awready) && moves(lite.wvalid, lite.wready) {
            let (address, word) = (model.get(lite.awaddr) as u32, model.get(lite.wdata) as u32);
            assert_eq!(model.get(lite.wstrb), 0xF, "the registers of the bridge are written as words");
            match address.wrapping_sub(xdma::IRQ_BLOCK) {
                xdma::IRQ_MASK => self.mask = word as u16,
                at if (xdma::IRQ_VECTORS..xdma::IRQ_VECTORS + VECTORS as u32).contains(&at) => {
                    let first = (at - xdma::IRQ_VECTORS) as usize;
                    for (i, byte) in word.to_le_bytes().into_iter().enumerate() {
                        self.map[first + i] = byte & 0x1F;
                    }
                }
                _ => panic!("a write of {address:#x}, which is no register of interrupts"),
            }
            self.lite_answer[0] = Some(0);
        }
        if moves(lite.arvalid, lite.arready) {
            let address = model.get(lite.araddr) as u32;
            let word = match address.wrapping_sub(xdma::IRQ_BLOCK) {
                xdma::IRQ_MASK => self.mask.into(),
                at if (xdma::IRQ_VECTORS..xdma::IRQ_VECTORS + VECTORS as u32).contains(&at) => {
                    let first = (at - xdma::IRQ_VECTORS) as usize;
                    u32::from_le_bytes(self.map[first..first + 4].try_into().expect("four vectors"))
                }
                _ => panic!("a read of {address:#x}, which is no register of interrupts"),
            };
            self.lite_answer[1] = Some(word);
        }
    }
}
