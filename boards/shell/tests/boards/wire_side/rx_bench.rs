//! A receive crossing between a MAC that sends frames and a core that takes them.

use super::bench::{into, out_of, Clocks, Frame, Receiver, Sender};
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::rx_cross::RxCross;
use spindle_harness::{Dut, WaveContext};

/// Clock 0 is the MAC's, clock 1 the core's.
pub struct Bench<const A: usize> {
    pub dut: Dut<RxCross<A>>,
    pub clocks: Clocks,
    pub rng: ChaCha8Rng,
    pub mac: Sender<512, 64>,
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

impl<const A: usize> Bench<A> {
    pub fn new(wave: &WaveContext, period: [u64; 2]) -> Self {
        let dut = Dut::new(wave, RxCross::<A>::default(), &format!("rx_cross_{A}"));
        let mut rng = wave.rng();
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

    pub fn rise(&self, edge: [bool; 2]) {
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
