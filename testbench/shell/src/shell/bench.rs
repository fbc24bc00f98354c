//! A shell on the bench: the model of `shell_<board>`, the models of its vendor blocks at its ports, and their clocks.

use super::card::{MessageSink, Shell};
use super::cmac::{Cmac, Frame};
use super::xdma::Xdma;
use anyhow::{anyhow, Context, Result};
use spindle_boards::data::Board;
use spindle_boards::shell::{self, Commit};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_harness::{Library, Model, Port, Source};
use spindle_verilog::Design;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Periods of `axi_aclk` (250 MHz), of the MAC (322.265625 MHz) and of `init_clk` (100 MHz), in units of 1/330 ns.
pub const PERIODS: [u64; 3] = [1320, 1024, 3300];
/// Units in a nanosecond.
pub const UNITS: u64 = 330;
/// The clocks by name.
const CORE: usize = 0;
const MAC: usize = 1;
const INIT: usize = 2;
/// Cycles of the core in which the host expects an answer of a register.
const PATIENCE: u64 = 20_000;
/// The DNA that the primitive has.
pub const DNA: u128 = 0x4002_0000_0123_4567_89AB_CDEF;
/// The commit of which the shell says that it was built.
pub const COMMIT: &str = "0123456789abcdef00112233445566778899aabb";

/// The text of a board's shell, around a NIC of a configuration.
///
/// # Errors
/// A board without a file or without a shell, or a NIC that cannot be built.
pub fn source(board: &str, config: &Config) -> Result<Source> {
    let board = Board::named(board).map_err(|issues| anyhow!("{issues}"))?;
    let commit = Commit { hash: COMMIT.into(), modified: false };
    let design = shell::shell(&board, config, &commit).map_err(|issues| anyhow!("{issues}"))?;
    Ok(files_of(&design.with_context(|| format!("the board {} has no shell", board.name))?))
}

/// The text of a design for Verilator.
pub fn files_of(design: &Design) -> Source {
    let files = design.modules.iter().map(|module| (format!("{}.sv", module.name), module.text.clone())).collect();
    Source::new(&*design.top, files)
}

/// The model of a text, emitted, built and loaded once in a process; `key` names the text.
///
/// # Errors
/// Those of `source`, and a model that cannot be built.
pub fn library(key: &str, source: impl FnOnce() -> Result<Source>) -> Result<Arc<Library>> {
    static LIBRARIES: Mutex<Option<HashMap<String, Arc<Library>>>> = Mutex::new(None);
    let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
    let libraries = libraries.get_or_insert_default();
    if !libraries.contains_key(key) {
        libraries.insert(key.into(), Model::build(&source()?).with_context(|| key.to_string())?);
    }
    Ok(libraries[key].clone())
}

/// The primitive that has the device's number.
pub struct Dna {
    clk: Port,
    read: Port,
    shift: Port,
    dout: Port,
    high: bool,
    bits: u128,
    number: u128,
    /// The highest bit, which comes first.
    top: u32,
}

impl Dna {
    /// A number of so many bits.
    pub fn new(model: &Model, number: u128, bits: u32) -> Self {
        let port = |name: &str| model.port(name).unwrap_or_else(|error| panic!("{error:#}"));
        let [clk, read, shift, dout] = ["dna_clk", "dna_read", "dna_shift", "dna_dout"].map(port);
        Self { clk, read, shift, dout, high: false, bits: 0, number, top: bits - 1 }
    }

    /// After an edge of the core's clock.
    pub fn step(&mut self, model: &mut Model) {
        let high = model.is_set(self.clk);
        if high && !self.high {
            if model.is_set(self.read) {
                self.bits = self.number;
            } else if model.is_set(self.shift) {
                self.bits <<= 1;
            }
            model.set(self.dout, (self.bits >> self.top & 1) as u64);
        }
        self.high = high;
    }
}

/// The bench.
pub struct Bench {
    model: Model,
    /// The host.
    pub xdma: Xdma,
    /// The wire.
    pub cmac: Cmac,
    dna: Dna,
    clocks: [Port; 3],
    next: [u64; 3],
    /// Clocks that have edges.
    pub runs: [bool; 3],
    high: [bool; 3],
    led: Port,
    /// Edges of each clock.
    pub edges: [u64; 3],
}

impl Bench {
    /// A shell after power-up and PERST, its link up, its MAC not yet aligned.
    ///
    /// # Errors
    /// As of [`source`] and [`library`].
    pub fn open(board: &str, config: &Config, seed: u64) -> Result<Self> {
        let model = library(&format!("{board} {}", config.name), || source(board, config))?.instance_zeroed();
        let port = |name: &str| model.port(name).unwrap_or_else(|error| panic!("{error:#}"));
        let clocks = ["xdma_axi_aclk", "cmac0_gt_txusrclk2", "init_clk"].map(port);
        let (led, dna) = (port("led"), Dna::new(&model, DNA, 96));
        let (xdma, cmac) = (Xdma::new(&model, seed), Cmac::new(&model, seed + 1));
        let next = [7 + seed % 1000, 300, 100];
        let (runs, high) = ([true; 3], [false; 3]);
        let mut bench = Self { model, xdma, cmac, dna, clocks, next, runs, high, led, edges: [0; 3] };
        bench.perst(1000);
        Ok(bench)
    }

    /// Time in units of 1/330 ns.
    pub fn now(&self) -> u64 {
        self.next[CORE].min(self.next[MAC]).min(self.next[INIT])
    }

    /// Cycles of the core's clock.
    pub fn cycle(&self) -> u64 {
        self.edges[CORE]
    }

    /// What the LEDs show.
    pub fn led(&self) -> u64 {
        self.model.get(self.led)
    }

    /// One instant at which clocks rise.
    pub fn step(&mut self) {
        let now = self.now();
        let due = [0, 1, 2].map(|clock| self.next[clock] == now);
        let rises = [0, 1, 2].map(|clock| due[clock] && self.runs[clock]);
        for clock in 0..3 {
            self.next[clock] += if due[clock] { PERIODS[clock] } else { 0 };
            if std::mem::take(&mut self.high[clock]) {
                self.model.set(self.clocks[clock], 0);
            }
        }
        if rises[CORE] {
            self.xdma.drive(&mut self.model);
        }
        if rises[MAC] {
            self.cmac.drive(&mut self.model, now);
        }
        self.model.eval();
        if rises[CORE] {
            self.xdma.sample(&self.model);
            self.dna.step(&mut self.model);
        }
        if rises[MAC] {
            self.cmac.sample(&self.model, now);
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

    /// Lets so many nanoseconds pass.
    pub fn wait(&mut self, nanoseconds: u64) {
        let end = self.now() + nanoseconds * UNITS;
        while self.now() < end {
            self.step();
        }
    }

    /// Lets so many cycles of the core pass.
    pub fn run(&mut self, cycles: u64) {
        let end = self.cycle() + cycles;
        while self.cycle() < end {
            self.step();
        }
    }

    /// Moves on until `done`, or for so many cycles of the core; whether it was done.
    pub fn run_until(&mut self, cycles: u64, mut done: impl FnMut(&Self) -> bool) -> bool {
        let end = self.cycle() + cycles;
        while self.cycle() < end {
            if done(self) {
                return true;
            }
            self.step();
        }
        done(self)
    }

    /// PERST for so many nanoseconds: the core's clock stops in the midst of whatever happens. Then clock, reset and link
    /// come back, in this order.
    pub fn perst(&mut self, nanoseconds: u64) {
        self.perst_after(8, nanoseconds);
    }

    /// The same, with the clock running on for `grace` nanoseconds of the reset.
    pub fn perst_after(&mut self, grace: u64, nanoseconds: u64) {
        self.xdma.reset();
        self.wait(grace);
        self.runs[CORE] = false;
        self.wait(nanoseconds);
        self.runs[CORE] = true;
        self.run(20);
        self.xdma.running = true;
        self.xdma.link = true;
        // The vector map is written, the DNA is read.
        self.run(2000);
    }

    /// The host reads a register: response and word. Nothing after the host's patience.
    pub fn read(&mut self, address: u64) -> Option<(u64, u32)> {
        self.xdma.read(address);
        self.answer()
    }

    /// The host writes a register: response.
    pub fn write(&mut self, address: u64, value: u32) -> Option<u64> {
        self.xdma.write(address, value);
        self.answer().map(|(response, _)| response)
    }

    fn answer(&mut self) -> Option<(u64, u32)> {
        let end = self.now() + PATIENCE * PERIODS[CORE];
        while self.now() < end {
            self.step();
            if let Some(answer) = self.xdma.take_answer() {
                return Some(answer);
            }
        }
        self.xdma.give_up();
        None
    }
}

impl Shell for Bench {
    fn read_register(&mut self, address: u64) -> Option<u32> {
        self.read(address).map(|(response, word)| if response == 0 { word } else { u32::MAX })
    }

    fn write_register(&mut self, address: u64, value: u32) -> Option<()> {
        self.write(address, value).map(|_| ())
    }

    fn run(&mut self, cycles: u64) {
        Bench::run(self, cycles);
    }

    fn reset(&mut self) {
        self.perst(2000);
        self.enable_messages();
    }

    fn enable_messages(&mut self) {
        self.xdma.msix = true;
    }

    fn set_messages(&mut self, sink: MessageSink) {
        self.xdma.messages = Some(sink);
    }

    fn messages(&self) -> [u64; VECTORS] {
        self.xdma.sent
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) {
        self.xdma.memory.read(address, bytes);
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) {
        self.xdma.memory.write(address, bytes);
    }

    fn incoming(&mut self) -> &mut VecDeque<Frame> {
        &mut self.cmac.incoming
    }

    fn arrived(&mut self) -> &mut Vec<Frame> {
        &mut self.cmac.arrived
    }

    fn sent(&mut self) -> &mut Vec<Frame> {
        &mut self.cmac.sent
    }

    fn set_loop(&mut self, looped: bool) {
        self.cmac.looped = looped;
    }
}
