//! A receive crossing between a MAC that sends frames and a core that takes them.

use crate::clocks::Clocks;
use crate::frames::Frame;
use crate::stream::{Receiver, Sender};
use crate::{into, out_of};
use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::rx_cross::RxCross;
use spindle_harness::{source_of, Dut, Model, WaveContext};

/// Clock 0 is the MAC's, clock 1 the core's.
pub struct RxBench<const A: usize> {
    /// The crossing.
    pub dut: Dut<RxCross<A>>,
    /// Its clocks.
    pub clocks: Clocks,
    /// All that is random.
    pub rng: ChaCha8Rng,
    /// Sends frames.
    pub mac: Sender<512, 64>,
    /// Takes them.
    pub core: Receiver<512, 64>,
    /// Frames whose last beat the MAC has shown.
    pub shown: Vec<Frame>,
    /// Edges so far.
    pub edges: [u64; 2],
    /// Cycles in which `overflow` was high.
    pub overflows: u64,
    /// The core does not look.
    pub core_reset: bool,
}

impl<const A: usize> RxBench<A> {
    /// For a test, with clocks of these periods, after a reset.
    pub fn new(wave: &WaveContext, period: [u64; 2]) -> Self {
        Self::over(Dut::new(wave, RxCross::default(), &format!("rx_cross_{A}")), wave.rng(), period)
    }

    /// Over a block of its own, after a reset.
    ///
    /// # Errors
    /// The model cannot be built.
    pub fn open(seed: u64, period: [u64; 2]) -> Result<Self> {
        let mut block = RxCross::default();
        let model = Model::build(&source_of(&mut block, &format!("rx_cross_{A}"))?)?.instance();
        Ok(Self::over(Dut::over(model, &block), ChaCha8Rng::seed_from_u64(seed), period))
    }

    fn over(dut: Dut<RxCross<A>>, mut rng: ChaCha8Rng, period: [u64; 2]) -> Self {
        let clocks = Clocks::new(&mut rng, period);
        let (mac, core) = (Sender::new(into!(free dut.mac)), Receiver::new(out_of!(dut.core)));
        let mut bench =
            Self { dut, clocks, rng, mac, core, shown: vec![], edges: [0; 2], overflows: 0, core_reset: false };
        bench.dut.aligned.set(true);
        bench.reset([true, true], 20);
        bench
    }

    /// Holds resets for `edges` of the slower clock, and lets both sides find together.
    pub fn reset(&mut self, sides: [bool; 2], edges: u64) {
        let slow = self.clocks.period[0].max(self.clocks.period[1]);
        for (on, time) in [(true, edges * slow), (false, 30 * slow)] {
            self.dut.mac_reset.set(on && sides[0]);
            self.core_reset = on && sides[1];
            self.dut.core_reset.set(self.core_reset);
            let end = self.clocks.now() + time;
            while self.clocks.now() < end {
                self.step();
            }
        }
    }

    /// One instant at which clocks rise.
    pub fn step(&mut self) -> [bool; 2] {
        let edge = self.clocks.step();
        if edge[0] {
            self.mac.drive(&mut self.rng);
        }
        if edge[1] {
            self.core.drive(&mut self.rng);
        }
        self.dut.eval();
        if edge[0] {
            self.overflows += u64::from(self.dut.overflow.is_high());
            self.shown.extend(self.mac.sample());
        }
        if edge[1] {
            if self.core_reset {
                self.core.restart();
            } else {
                self.core.sample();
            }
        }
        for (i, edge) in edge.into_iter().enumerate() {
            self.edges[i] += u64::from(edge);
        }
        self.rise(edge);
        edge
    }

    fn rise(&self, edge: [bool; 2]) {
        self.dut.mac_clock.set(edge[0]);
        self.dut.core_clock.set(edge[1]);
        self.dut.eval();
        self.dut.mac_clock.set(false);
        self.dut.core_clock.set(false);
        self.dut.eval();
    }

    /// Until nothing comes any more.
    pub fn drain(&mut self) {
        self.core.pace = 100;
        let slow = self.clocks.period[0].max(self.clocks.period[1]);
        let mut end = self.clocks.now() + 100 * slow;
        while self.clocks.now() < end {
            let before = (self.mac.frames.len(), self.core.frames.len(), self.core.inside());
            self.step();
            if before != (self.mac.frames.len(), self.core.frames.len(), self.core.inside()) || before.0 > 0 {
                end = self.clocks.now() + (100 + (1 << A)) * slow;
            }
        }
    }

    /// `[accepted, bad, cut, dropped]`
    pub fn counts(&self) -> [u64; 4] {
        let dut = &self.dut;
        [dut.accepted.number(), dut.bad.number(), dut.cut.number(), dut.dropped.number()]
    }
}
