//! The shell of the KC705 on the bench: its model, those of the vendor blocks, and their clocks.

use crate::shell::adverse::Adverse;
use crate::shell::pcie7::Pcie7;
use crate::shell::xgmii::Xgmii;
use crate::si5324::bus::Bus;
use anyhow::Result;
use spindle_boards::data::Board;
use spindle_boards::hdl::si5324::{Timing, LOSS_OF_LOCK, LOSS_OF_SIGNAL};
use spindle_boards::shell::kc705::{Kc705Shell, DNA_BITS};
use spindle_boards::shell::{Commit, Options};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_harness::{Model, Port, Source};
use spindle_shell_bench::shell::bench::{files_of, library, Dna, COMMIT, UNITS};
use spindle_shell_bench::shell::{Frame, MessageSink, Shell};
use std::collections::VecDeque;

/// Periods of `user_clk_out` (125 MHz), of the PCS (156.25 MHz) and of `init_clk` (100 MHz), in units of 1/330 ns.
const PERIODS: [u64; 3] = [2640, 2112, 3300];
const CORE: usize = 0;
const MAC: usize = 1;
const INIT: usize = 2;
/// Cycles of the core in which the host expects an answer of a register.
const PATIENCE: u64 = 20_000;
/// The clock chip, quicker than a real one by far.
const CHIP: Timing = Timing { quarter: 6, patience: 400, reset: 50, settle: 100, poll: 300, lock: 20_000 };
/// The device's number.
pub const DNA: u128 = 0x123_4567_89AB_CDEF;

/// The text around a NIC of a configuration.
fn source(config: &Config) -> Result<Source> {
    let board = Board::named("kc705")?;
    let commit = Commit { hash: COMMIT.into(), modified: false };
    let options = Options::of(&board, config, &commit)?;
    let design = spindle_nic::elaborate(|| {
        let mut shell = Kc705Shell::new(config, &options, CHIP);
        spindle_verilog::emit_with(&mut shell, "shell_kc705", &spindle_nic::without_trace())
    });
    Ok(files_of(&design?))
}

/// The pins of the bus.
pub struct Chip {
    pins: [Port; 5],
    bus: Bus,
    calibrated: Option<u64>,
    cycles: u64,
    /// The chip has its crystal.
    pub crystal: bool,
}

impl Chip {
    fn step(&mut self, model: &mut Model) {
        let [scl_t, sda_t, reset_n, scl, sda] = self.pins;
        self.cycles += 1;
        if !model.is_set(reset_n) {
            self.bus.reset();
            self.calibrated = None;
        }
        // The calibration begins with the bit, which clears itself.
        if self.bus.registers.get(&136) == Some(&0x40) {
            self.bus.registers.insert(136, 0);
            self.calibrated = Some(self.cycles);
        }
        let locked = self.calibrated.is_some_and(|since| self.cycles - since > 500);
        self.bus.registers.insert(LOSS_OF_LOCK as u8, 0x10 | u8::from(!locked));
        self.bus.registers.insert(LOSS_OF_SIGNAL as u8, 0x02 | u8::from(!self.crystal));
        let low = (!model.is_set(scl_t), !model.is_set(sda_t));
        self.bus.step(low.0, low.1);
        let lines = self.bus.lines(low.0, low.1);
        model.set(scl, lines.0.into());
        model.set(sda, lines.1.into());
    }
}

/// The bench.
pub struct Bench {
    model: Model,
    pcie: Pcie7,
    pub pcs: Xgmii,
    pub chip: Chip,
    dna: Dna,
    clocks: [Port; 3],
    next: [u64; 3],
    runs: [bool; 3],
    high: [bool; 3],
    edges: [u64; 3],
}

impl Bench {
    /// A shell after power-up and PERST, its clock chip set up, around a NIC of a configuration.
    pub fn new(config: &Config, seed: u64) -> Self {
        let library = library(&format!("kc705 {}", config.name), || source(config));
        let mut model = library.unwrap_or_else(|error| panic!("{error:#}")).instance_zeroed();
        let port = |name: &str| model.port(name).unwrap_or_else(|error| panic!("{error:#}"));
        let clocks = ["pcie7_user_clk_out", "pcs0_coreclk_out", "init_clk"].map(port);
        let pins = ["i2c_scl_t", "i2c_sda_t", "i2c_reset_n", "i2c_scl", "i2c_sda"].map(port);
        let chip = Chip { pins, bus: Bus::new(), calibrated: None, cycles: 0, crystal: true };
        let (pcie, pcs) = (Pcie7::new(&model, seed), Xgmii::new(&model, seed + 1));
        let dna = Dna::new(&model, DNA, DNA_BITS as u32);
        pins[3..].iter().for_each(|line| model.set(*line, 1));
        let (runs, high, edges) = ([true; 3], [false; 3], [0; 3]);
        let next = [5 + seed % 1000, 300, 100];
        let mut bench = Self { model, pcie, pcs, chip, dna, clocks, next, runs, high, edges };
        bench.perst(1000);
        let up = bench.run_while(200_000, |bench| bench.pcs.is_locked());
        assert!(up, "the clock chip was not set up");
        bench.run(200);
        bench
    }

    fn now(&self) -> u64 {
        self.next.into_iter().min().expect("three clocks")
    }

    /// One instant at which clocks rise.
    fn step(&mut self) {
        let now = self.now();
        let mut rises = [false; 3];
        for (clock, rises) in rises.iter_mut().enumerate() {
            if self.next[clock] == now {
                self.next[clock] += PERIODS[clock];
                *rises = self.runs[clock];
            }
            if std::mem::take(&mut self.high[clock]) {
                self.model.set(self.clocks[clock], 0);
            }
        }
        if rises[CORE] {
            self.pcie.drive(&mut self.model);
        }
        if rises[MAC] {
            self.pcs.drive(&mut self.model, now);
        }
        if rises[INIT] {
            self.chip.step(&mut self.model);
        }
        self.model.eval();
        if rises[CORE] {
            self.pcie.sample(&mut self.model);
            self.dna.step(&mut self.model);
        }
        if rises[MAC] {
            self.pcs.sample(&self.model, now);
        }
        for (clock, rises) in rises.into_iter().enumerate() {
            if rises {
                self.model.set(self.clocks[clock], 1);
                self.high[clock] = true;
                self.edges[clock] += 1;
            }
        }
        self.model.eval();
    }

    fn wait(&mut self, nanoseconds: u64) {
        let end = self.now() + nanoseconds * UNITS;
        while self.now() < end {
            self.step();
        }
    }

    /// PERST for so many nanoseconds; the core's clock stops meanwhile.
    fn perst(&mut self, nanoseconds: u64) {
        self.perst_after(60, nanoseconds);
    }
}

impl Shell for Bench {
    fn read_register(&mut self, address: u64) -> Option<u32> {
        self.pcie.read(address);
        let end = self.now() + PATIENCE * PERIODS[CORE];
        while self.now() < end {
            self.step();
            if let Some(word) = self.pcie.take_answer() {
                return Some(word);
            }
        }
        None
    }

    /// A write is posted: it has left when its packet has.
    fn write_register(&mut self, address: u64, value: u32) -> Option<()> {
        self.pcie.write(address, value);
        self.run_while(PATIENCE, |bench| bench.pcie.pending() == 0).then_some(())
    }

    fn run(&mut self, cycles: u64) {
        let end = self.edges[CORE] + cycles;
        while self.edges[CORE] < end {
            self.step();
        }
    }

    fn reset(&mut self) {
        self.perst(2000);
        self.enable_messages();
    }

    fn enable_messages(&mut self) {
        self.pcie.msix = true;
        (0..VECTORS).for_each(|vector| self.pcie.set_vector(vector));
        assert!(self.run_while(PATIENCE, |bench| bench.pcie.pending() == 0));
        self.run(200);
    }

    fn set_messages(&mut self, sink: MessageSink) {
        self.pcie.messages = Some(sink);
    }

    fn messages(&self) -> [u64; VECTORS] {
        self.pcie.sent
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.pcie.root.memory.read(address, bytes.len()));
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) {
        (address..).zip(bytes).for_each(|(at, byte)| self.pcie.root.memory.write(at, *byte));
    }

    fn incoming(&mut self) -> &mut VecDeque<Frame> {
        &mut self.pcs.wire.incoming
    }

    fn arrived(&mut self) -> &mut Vec<Frame> {
        &mut self.pcs.wire.arrived
    }

    fn sent(&mut self) -> &mut Vec<Frame> {
        &mut self.pcs.wire.sent
    }

    fn set_loop(&mut self, looped: bool) {
        self.pcs.wire.looped = looped;
    }
}

impl Adverse for Bench {
    fn perst_after(&mut self, grace: u64, nanoseconds: u64) {
        self.pcie.reset();
        self.wait(grace);
        self.runs[CORE] = false;
        self.wait(nanoseconds);
        self.runs[CORE] = true;
        self.run(20);
        self.pcie.running = true;
        // The DNA is read.
        self.run(1200);
    }

    fn set_link(&mut self, up: bool) {
        self.pcie.set_link(up);
        if up {
            self.run(20);
            self.enable_messages();
        }
    }

    fn host_is_idle(&self) -> bool {
        self.pcie.root.under_way() == 0
    }

    fn set_cable(&mut self, there: bool) {
        self.pcs.cable = there;
    }

    fn wire_is_up(&self) -> bool {
        self.pcs.is_locked()
    }

    fn is_sending(&self) -> bool {
        self.pcs.wire.is_sending()
    }

    fn wire_is_idle(&self) -> bool {
        self.pcs.wire.is_idle()
    }
}
