//! The bridge between a core with a root complex, and a NIC of host memory and registers.

use super::link::{Link, LinkPace};
use super::master::Master;
use super::packet::{Completion, Packet};
use super::registers::Registers;
use super::root::Root;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::tlp::ports::TlpEvents;
use spindle_boards::hdl::tlp::TlpBridge;
use spindle_harness::{Dut, WaveContext};
use std::collections::VecDeque;

/// Patience of the bridge under test with registers.
pub const PATIENCE: u64 = 100;
/// Period of its reads, by log2: with a slow link, and where reads are to fail.
const LONG: usize = 18;
pub const SHORT: usize = 11;

/// The bench.
pub struct Bench {
    pub dut: Dut<TlpBridge>,
    pub link: Link,
    pub root: Root,
    pub master: Master,
    pub registers: Registers,
    /// Completions that the card sent.
    pub completions: VecDeque<Completion>,
    pub completion_cycles: VecDeque<u64>,
    /// Interrupt requests, and acknowledgements.
    pub irq: u16,
    pub acknowledged: Vec<u16>,
    /// Events, in the order of the fields.
    pub events: [u64; 6],
    /// Most completions that wait in the link.
    pub queue: usize,
    pub up: bool,
}

impl Bench {
    pub fn new(wave: &WaveContext, pace: LinkPace) -> Self {
        Self::with_period(wave, pace, LONG)
    }

    pub fn with_period(wave: &WaveContext, pace: LinkPace, period: usize) -> Self {
        let dut = Dut::new(wave, TlpBridge::with_times(PATIENCE, period), "tlp_bridge");
        // Channels 0 and 1 are those of the core, which forgets what was offered when the link goes down. While the
        // link is up, `Link` watches.
        dut.ignore(0);
        dut.ignore(1);
        let mut rng = wave.rng();
        let mut part = || ChaCha8Rng::seed_from_u64(rng.random());
        let bench = Self {
            dut,
            link: Link::new(pace, part()),
            root: Root::new(part()),
            master: Master::new(part()),
            registers: Registers::new(part()),
            completions: VecDeque::new(),
            completion_cycles: VecDeque::new(),
            irq: 0,
            acknowledged: vec![],
            events: [0; 6],
            queue: 4,
            up: true,
        };
        bench.configure(true);
        bench
    }

    /// The function's configuration, by the root's numbers.
    pub fn configure(&self, master: bool) {
        let code = |bytes: usize| bytes.trailing_zeros() - 7;
        self.dut.cfg.command.set(if master { 4 } else { 0 });
        self.dut.cfg.dcommand.set(code(self.root.max_payload) << 5 | code(self.root.max_read) << 12 | 0x10);
        self.dut.cfg.bus_number.set(self.root.id >> 8);
        self.dut.cfg.device_number.set(self.root.id >> 3 & 31);
        self.dut.cfg.function_number.set(self.root.id & 7);
        self.dut.cfg.interrupt_msixenable.set(true);
        self.dut.tx_buf_av.set(32);
        self.dut.fc_nph.set(32);
        self.dut.user_lnk_up.set(self.up);
    }

    pub fn step(&mut self) {
        let cycle = self.dut.cycle();
        if self.up && self.link.pending() < self.queue {
            if let Some(dws) = self.root.completion(cycle) {
                self.link.send(Packet { dws, bars: 0, cut: false });
            }
        }
        self.dut.irq_request.set(self.irq);
        self.link.drive(&mut &self.dut);
        if !self.up {
            self.dut.s_axis_tx.tready.set(false);
            self.dut.m_axis_rx.tvalid.set(false);
        }
        self.master.drive(&self.dut);
        self.registers.drive(&self.dut);
        self.dut.eval();
        if self.up {
            self.link.sample(&mut &self.dut);
        }
        self.master.sample(&self.dut, &mut self.root);
        self.registers.sample(&self.dut);
        let acknowledged = self.dut.irq_acknowledge.number() as u16;
        if acknowledged != 0 {
            assert_eq!(acknowledged & !self.irq, 0, "an acknowledgement without a request");
            self.irq &= !acknowledged;
            self.acknowledged.push(acknowledged);
        }
        let TlpEvents { malformed, unsupported, poisoned, unexpected, timeout, bar_error } = self.dut.events.get();
        for (count, event) in
            self.events.iter_mut().zip([malformed, unsupported, poisoned, unexpected, timeout, bar_error])
        {
            *count += event as u64;
        }
        while let Some(dws) = self.link.receive() {
            if dws[0] >> 24 & 0x1F == 0x0A || dws[0] >> 24 & 0x1F == 0x0B {
                self.completions.push_back(Completion::parse(&dws));
                self.completion_cycles.push_back(self.link.ended);
            } else {
                self.root.take(&dws, cycle);
            }
        }
        self.dut.tick();
    }

    pub fn steps(&mut self, count: u64) {
        (0..count).for_each(|_| self.step());
    }

    /// Until everything is answered.
    #[track_caller]
    pub fn settle(&mut self, most: u64) {
        let end = self.dut.cycle() + most;
        while self.master.pending() + self.link.pending() + self.root.under_way() > 0 {
            assert!(self.dut.cycle() < end, "{} bursts are not answered", self.master.pending());
            self.step();
        }
        self.steps(20);
    }

    /// Until the card has sent a completion.
    #[track_caller]
    pub fn completion(&mut self, most: u64) -> Completion {
        let end = self.dut.cycle() + most;
        while self.completions.is_empty() {
            assert!(self.dut.cycle() < end, "no completion");
            self.step();
        }
        self.completions.pop_front().expect("there is a completion")
    }

    /// The link goes down for some cycles, with everything on it.
    pub fn drop_link(&mut self, cycles: u64) {
        self.up = false;
        self.configure(true);
        self.link.reset();
        self.root.reset();
        self.completions.clear();
        self.steps(cycles);
        self.link.reset();
        self.up = true;
        self.configure(true);
    }
}
