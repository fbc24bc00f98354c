//! Bus-functional model of `xdma` in bridge mode, of 512 or 256 bits: what its user side does, by PG194 and PG195, and checks
//! of what it is given.
//!
//! One access of the host at a time, as a single beat of 32 bits; host memory with whole bursts in order, at most 32 reads and
//! 32 writes, below 2^48; user interrupts by the vector map and the mask, which both begin as zeros; all with random stalls.

mod bar;
mod host;
mod lite;

use super::card::MessageSink;
use crate::pins;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_contract::pci::VECTORS;
use spindle_harness::Model;
use spindle_sim::host_memory::SparseMemory;
use std::collections::VecDeque;

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
    /// Bytes of a beat.
    beat: usize,
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
        let host = Host::of(model);
        Self {
            beat: model.get_bytes(host.wdata).len(),
            system: System::of(model),
            bar: Bar::of(model),
            host,
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
}
