//! A transmit crossing between a core that sends frames and a MAC that takes them.

use crate::clocks::Clocks;
use crate::frames::Frame;
use crate::stream::{Receiver, Sender};
use crate::{into, out_of};
use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::tx_cross::TxCross;
use spindle_harness::{source_of, Dut, Model, WaveContext};

/// Name of the module.
const NAME: &str = "tx_cross_8";

/// Clock 0 is the core's, clock 1 the MAC's.
pub struct TxBench {
    /// The crossing.
    pub dut: Dut<TxCross<8>>,
    /// Its clocks.
    pub clocks: Clocks,
    /// All that is random.
    pub rng: ChaCha8Rng,
    /// Sends frames.
    pub core: Sender<512, 64>,
    /// Takes them.
    pub mac: Receiver<512, 64>,
    /// Frames whose last beat the core has sent.
    pub taken: Vec<Frame>,
    /// Edges so far.
    pub edges: [u64; 2],
    /// Edges at which the last beat of a frame was taken.
    pub taken_at: [u64; 2],
    /// Of the core and of the MAC.
    pub resets: [bool; 2],
}

impl TxBench {
    /// For a test, with clocks of these periods, after a reset.
    pub fn new(wave: &WaveContext, period: [u64; 2]) -> Self {
        Self::over(Dut::new(wave, TxCross::default(), NAME), wave.rng(), period)
    }

    /// Over a block of its own, after a reset.
    ///
    /// # Errors
    /// The model cannot be built.
    pub fn open(seed: u64, period: [u64; 2]) -> Result<Self> {
        let mut block = TxCross::default();
        let model = Model::build(&source_of(&mut block, NAME)?)?.instance();
        Ok(Self::over(Dut::over(model, &block), ChaCha8Rng::seed_from_u64(seed), period))
    }

    fn over(dut: Dut<TxCross<8>>, mut rng: ChaCha8Rng, period: [u64; 2]) -> Self {
        let clocks = Clocks::new(&mut rng, period);
        let (core, mut mac) = (Sender::new(into!(dut.core)), Receiver::new(out_of!(dut.mac)));
        mac.mac = true;
        dut.link.set(true);
        dut.hold.set(false);
        let edges = [0; 2];
        let mut bench = Self { dut, clocks, rng, core, mac, taken: vec![], edges, taken_at: edges, resets: [true; 2] };
        bench.set_resets([true, true]);
        bench.run(20);
        bench.set_resets([false, false]);
        bench.run(40);
        bench
    }

    /// Resets of the core and of the MAC from now on.
    pub fn set_resets(&mut self, resets: [bool; 2]) {
        self.resets = resets;
        self.dut.core_reset.set(resets[0]);
        self.dut.mac_reset.set(resets[1]);
    }

    /// So many cycles of the slower clock.
    pub fn run(&mut self, cycles: u64) {
        let end = self.clocks.now() + cycles * self.clocks.period[0].max(self.clocks.period[1]);
        while self.clocks.now() < end {
            self.step();
        }
    }

    /// One instant at which clocks rise, and which of them.
    pub fn step(&mut self) -> [bool; 2] {
        let edge = self.clocks.step();
        if edge[0] && self.resets[0] {
            self.dut.core.valid.set(false);
        } else if edge[0] {
            self.core.drive(&mut self.rng);
        }
        if edge[1] {
            self.mac.drive(&mut self.rng);
        }
        self.dut.eval();
        for (i, edge) in edge.into_iter().enumerate() {
            self.edges[i] += u64::from(edge);
        }
        if edge[0] && !self.resets[0] {
            let ended = self.core.sample();
            if ended.is_some() {
                self.taken_at = self.edges;
            }
            self.taken.extend(ended);
        }
        if edge[1] {
            if self.resets[1] {
                self.mac.restart();
            } else {
                self.mac.sample();
            }
        }
        self.dut.core_clock.set(edge[0]);
        self.dut.mac_clock.set(edge[1]);
        self.dut.eval();
        self.dut.core_clock.set(false);
        self.dut.mac_clock.set(false);
        self.dut.eval();
        edge
    }

    /// Until all that was sent has come out.
    pub fn drain(&mut self) {
        self.mac.pace = 100;
        let end = self.clocks.now() + 200_000 * self.clocks.period[0].max(self.clocks.period[1]);
        while !self.core.frames.is_empty() {
            self.step();
            assert!(self.clocks.now() < end, "the core is blocked");
        }
        self.run(300);
    }
}
