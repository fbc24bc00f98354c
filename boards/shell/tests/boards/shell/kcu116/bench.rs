//! The shell of the KCU116 on the bench: its model, those of the vendor blocks, and their clocks.

use crate::shell::adverse::Adverse;
use crate::shell::gty::Gty;
use anyhow::Result;
use spindle_boards::data::Board;
use spindle_boards::hdl::pcs::Rate;
use spindle_boards::shell::kcu116::Kcu116Shell;
use spindle_boards::shell::{Commit, Options};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_harness::{Model, Port, Source};
use spindle_shell_bench::shell::bench::{files_of, library, Dna, COMMIT, DNA, UNITS};
use spindle_shell_bench::shell::{Frame, MessageSink, Shell, Xdma};
use std::collections::VecDeque;

const CLOCKS: usize = 5;
/// Periods in units of 1/330 ns: `axi_aclk` (250 MHz), the core's clock, transmitter (156.25 MHz), receiver (473 millionths
/// slower, more than a line may be) and `init_clk` (125 MHz).
const PERIODS: [u64; CLOCKS] = [1320, 2640, 2112, 2113, 2640];
/// The same with a line of 25 Gb/s, as near as the unit allows: 390.5 MHz instead of 390.625.
const PERIODS_25: [u64; CLOCKS] = [1320, 2640, 845, 846, 2640];
const PCIE: usize = 0;
const CORE: usize = 1;
const TX: usize = 2;
const RX: usize = 3;
const INIT: usize = 4;
/// Cycles of the core in which the host expects an answer of a register.
const PATIENCE: u64 = 20_000;
/// Cycles of `init_clk` after which the receiver is reset: fewer than on a board, and more than all slips take.
const WATCH: u64 = 8_000;

/// The board with a line of so many gigabits: a number in its file.
pub fn board(gbps: u32) -> Result<Board> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../kcu116/board.toml");
    let text = std::fs::read_to_string(path)?.replacen("rate_gbps = 10", &format!("rate_gbps = {gbps}"), 1);
    Ok(Board::parse("boards/kcu116/board.toml", &text)?)
}

/// The text around a NIC of a configuration.
fn source(config: &Config, gbps: u32) -> Result<Source> {
    let commit = Commit { hash: COMMIT.into(), modified: false };
    let options = Options::of(&board(gbps)?, config, &commit)?;
    let rate = Rate::of_gigabits(gbps).expect("10 or 25");
    let design = spindle_nic::elaborate(|| {
        let mut shell = Kcu116Shell::new(config, &options, rate, WATCH);
        spindle_verilog::emit_with(&mut shell, "shell_kcu116", &spindle_nic::without_trace())
    });
    Ok(files_of(&design?))
}

/// The bench.
pub struct Bench {
    model: Model,
    pub xdma: Xdma,
    pub gty: Gty,
    dna: Dna,
    clocks: [Port; CLOCKS],
    periods: [u64; CLOCKS],
    next: [u64; CLOCKS],
    runs: [bool; CLOCKS],
    high: [bool; CLOCKS],
    edges: [u64; CLOCKS],
}

impl Bench {
    /// A shell after power-up and PERST, its receiver locked, around a NIC of a configuration, on a line of 10 or 25 Gb/s.
    pub fn new(config: &Config, gbps: u32, seed: u64) -> Self {
        let library = library(&format!("kcu116 {} {gbps}", config.name), || source(config, gbps));
        let model = library.unwrap_or_else(|error| panic!("{error:#}")).instance_zeroed();
        let port = |name: &str| model.port(name).unwrap_or_else(|error| panic!("{error:#}"));
        let clocks = [
            "xdma_axi_aclk",
            "core_clk",
            "gty0_gtwiz_userclk_tx_usrclk2_out",
            "gty0_gtwiz_userclk_rx_usrclk2_out",
            "init_clk",
        ]
        .map(port);
        let (xdma, gty) = (Xdma::new(&model, seed), Gty::new(&model, seed + 1));
        let dna = Dna::new(&model, DNA, 96);
        // Edges of the core's clock are edges of the bridge's.
        let first = 7 + seed % 1000;
        let next = [first, first, 300, 700, 100];
        let (runs, high, edges) = ([true; CLOCKS], [false; CLOCKS], [0; CLOCKS]);
        let periods = if gbps == 25 { PERIODS_25 } else { PERIODS };
        let mut bench = Self { model, xdma, gty, dna, clocks, periods, next, runs, high, edges };
        bench.perst(1000);
        let up = bench.run_while(100_000, |bench| bench.gty.is_up());
        assert!(up, "the receiver has no lock");
        bench.run(200);
        bench
    }

    fn now(&self) -> u64 {
        self.next.into_iter().min().expect("there are clocks")
    }

    /// One instant at which clocks rise.
    fn step(&mut self) {
        let now = self.now();
        let mut rises = [false; CLOCKS];
        for (clock, rises) in rises.iter_mut().enumerate() {
            if self.next[clock] == now {
                self.next[clock] += self.periods[clock];
                *rises = self.runs[clock];
            }
            if std::mem::take(&mut self.high[clock]) {
                self.model.set(self.clocks[clock], 0);
            }
        }
        if rises[INIT] {
            self.gty.reset(&mut self.model);
            self.runs[RX] = self.gty.receiver_runs();
        }
        if rises[PCIE] {
            self.xdma.drive(&mut self.model);
        }
        if rises[RX] {
            self.gty.drive(&mut self.model, now);
        }
        self.model.eval();
        if rises[PCIE] {
            self.xdma.sample(&self.model);
        }
        if rises[CORE] {
            self.dna.step(&mut self.model);
        }
        if rises[RX] {
            self.gty.sample(&self.model);
        }
        if rises[TX] {
            self.gty.take(&self.model, now);
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

    /// PERST for so many nanoseconds; the clocks of bridge and core stop meanwhile.
    fn perst(&mut self, nanoseconds: u64) {
        self.perst_after(8, nanoseconds);
    }

    fn answer(&mut self) -> Option<(u64, u32)> {
        let end = self.now() + PATIENCE * self.periods[CORE];
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
        self.xdma.read(address);
        self.answer().map(|(response, word)| if response == 0 { word } else { u32::MAX })
    }

    fn write_register(&mut self, address: u64, value: u32) -> Option<()> {
        self.xdma.write(address, value);
        self.answer().map(|_| ())
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
        &mut self.gty.wire.incoming
    }

    fn arrived(&mut self) -> &mut Vec<Frame> {
        &mut self.gty.wire.arrived
    }

    fn sent(&mut self) -> &mut Vec<Frame> {
        &mut self.gty.wire.sent
    }

    fn set_loop(&mut self, looped: bool) {
        self.gty.wire.looped = looped;
    }
}

impl Adverse for Bench {
    fn perst_after(&mut self, grace: u64, nanoseconds: u64) {
        self.xdma.reset();
        self.wait(grace);
        (self.runs[PCIE], self.runs[CORE]) = (false, false);
        self.wait(nanoseconds);
        (self.runs[PCIE], self.runs[CORE]) = (true, true);
        self.run(20);
        (self.xdma.running, self.xdma.link) = (true, true);
        // The vector map is written, the DNA is read.
        self.run(2000);
    }

    fn set_link(&mut self, up: bool) {
        self.xdma.link = up;
    }

    fn host_is_idle(&self) -> bool {
        self.xdma.is_idle()
    }

    fn set_cable(&mut self, there: bool) {
        self.gty.cable = there;
    }

    fn wire_is_up(&self) -> bool {
        self.gty.is_up()
    }

    fn is_sending(&self) -> bool {
        self.gty.wire.is_sending()
    }

    fn wire_is_idle(&self) -> bool {
        self.gty.wire.is_idle()
    }
}
