//! The shell of the KC705 at the pins of `pcie_7x`, of the PCS and of the clock chip's bus, and the driver above them.

use super::bench::{files_of, Dna, COMMIT, UNITS};
use super::card::{MessageSink, Shell, ShellCard};
use super::cmac::Frame;
use super::driver::{
    answers_pings, driver_of, handler, pings, play, puts_interrupt, resets_in_a_transfer, Driver, LIMIT,
};
use super::latency::{alone, mean, with_the_shell};
use super::pcie7::Pcie7;
use super::xgmii::Xgmii;
use crate::si5324::bus::Bus;
use spindle::{Kind, Target};
use spindle_boards::data::Board;
use spindle_boards::hdl::si5324::{Timing, LOSS_OF_LOCK, LOSS_OF_SIGNAL};
use spindle_boards::shell::kc705::{Kc705Shell, DNA_BITS};
use spindle_boards::shell::{Commit, Options};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_harness::{Library, Model, Port};
use spindle_model::frames::{udp, Ends};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

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
const DNA: u128 = 0x123_4567_89AB_CDEF;

/// The model, emitted and loaded once. The NIC is the small one.
fn library() -> Arc<Library> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    let build = || {
        let board = Board::named("kc705").unwrap();
        let commit = Commit { hash: COMMIT.into(), modified: false };
        let options = Options::of(&board, &Config::SIM, &commit).unwrap();
        let design = spindle_nic::elaborate(|| {
            let mut shell = Kc705Shell::new(&Config::SIM, &options, CHIP);
            spindle_verilog::emit_with(&mut shell, "shell_kc705", &spindle_nic::without_trace())
        });
        Model::build(&files_of(&design.unwrap())).unwrap_or_else(|error| panic!("{error:#}"))
    };
    LIBRARY.get_or_init(build).clone()
}

/// The pins of the bus.
struct Chip {
    pins: [Port; 5],
    bus: Bus,
    calibrated: Option<u64>,
    cycles: u64,
    /// The chip has its crystal.
    crystal: bool,
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
struct Bench {
    model: Model,
    pcie: Pcie7,
    pcs: Xgmii,
    chip: Chip,
    dna: Dna,
    clocks: [Port; 3],
    next: [u64; 3],
    runs: [bool; 3],
    high: [bool; 3],
    edges: [u64; 3],
}

impl Bench {
    /// A shell after power-up and PERST, its clock chip set up.
    fn new(seed: u64) -> Self {
        let mut model = library().instance_zeroed();
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
        self.pcie.reset();
        self.wait(60);
        self.runs[CORE] = false;
        self.wait(nanoseconds);
        self.runs[CORE] = true;
        self.run(20);
        self.pcie.running = true;
        // The DNA is read.
        self.run(1200);
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

    fn read_memory(&self, address: u64, bytes: &mut [u8]) {
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

fn opened(seed: u64) -> (ShellCard<Bench>, Driver<Bench>) {
    let card = ShellCard::new(Bench::new(seed));
    let driver = driver_of(&card);
    (card, driver)
}

#[test]
fn a_handler_is_loaded_and_answers_pings() {
    let (card, mut driver) = opened(1);
    answers_pings(&card, &mut driver, 32);
}

#[test]
fn the_driver_reads_the_page_of_the_shell() {
    let (_card, mut driver) = opened(2);
    let shell = driver.shell().unwrap().expect("a board has a shell");
    assert_eq!(shell.board().map(|board| board.name), Some("kc705"));
    assert_eq!((shell.commit.as_str(), shell.gbps, shell.build.dna_bits()), (COMMIT, 10, 57));
    assert_eq!(shell.dna.as_deref(), Some(format!("{DNA:015x}").as_str()));
    assert!(shell.pcie.up() && shell.pcie.msix() && shell.pcie.ltssm() == 0x16);
    let mac = shell.macs[0].state;
    assert!(mac.up() && mac.aligned() && !mac.local_fault() && !mac.remote_fault());
}

#[test]
fn a_put_reaches_a_mailbox_and_interrupts() {
    let (card, mut driver) = opened(3);
    puts_interrupt(&card, &mut driver, 20_000);
}

#[test]
fn a_reset_in_the_middle_of_a_transfer() {
    let (card, driver) = opened(4);
    let target = Target { node: 0, process: 2, address: 1, key: 2, offset: 0, kind: Kind::Bound };
    resets_in_a_transfer(&card, driver, 3, &target, |_| ());
}

/// A pulled cable, and a clock chip that loses its crystal: frames go nowhere, nothing waits, and all comes back.
#[test]
fn the_link_is_lost_and_comes_back() {
    let (card, mut driver) = opened(5);
    handler(&mut driver, "icmp_echo", "icmp.type == 8");
    handler(&mut driver, "ping_pong", "udp");
    driver.set_receive(true).unwrap();
    let state = |driver: &mut Driver<Bench>| driver.shell().unwrap().unwrap().macs[0];
    for round in 1..=2u32 {
        match round {
            1 => card.bench().pcs.cable = false,
            _ => card.bench().chip.crystal = false,
        }
        card.bench().run(3000);
        let mac = state(&mut driver);
        assert!(!mac.state.up() && !mac.state.aligned() && mac.losses == round, "{mac:?}");
        (card.bench().pcs.cable, card.bench().chip.crystal) = (true, true);
        let up = card.bench().run_while(LIMIT, |bench| bench.pcs.is_locked());
        assert!(up, "no lock");
        card.bench().run(300);
        assert!(state(&mut driver).state.up());
        // After a frame without an end the next one may be taken for its rest.
        play(&card, &[udp(&Ends::default(), 7, 8, &[0; 64])], 0);
        card.bench().run(2000);
        card.bench().sent().clear();
        let (frames, mut wanted) = pings(8);
        let mut got = play(&card, &frames, 8);
        got.sort();
        wanted.sort();
        assert!(got == wanted, "round {round}");
    }
}

/// MAC, widths and crossings, at 156.25 and 125 MHz; from the word with the end of a frame to the word with the start of the
/// answer. A longer frame waits until it is whole, in words of 64 bits on the way in.
#[test]
fn the_shell_adds_to_a_ping() {
    for (length, low, high) in [(64usize, 100.0, 300.0), (1518, 100.0, 600.0)] {
        let frame = udp(&Ends::default(), 7, 8, &vec![7; length - 4 - 42]);
        let (card, mut driver) = opened(6);
        let (nic, shell) = (alone(&frame, 20, 8.0), with_the_shell(&card, &mut driver, &frame, 20));
        let added = mean(&shell) - mean(&nic);
        println!(
            "figure: boards.kc705.ping_{length}: {:.1} ns at the PCS, {:.1} ns at the NIC, {added:.1} ns added",
            mean(&shell),
            mean(&nic)
        );
        assert!((low..high).contains(&added), "{added} ns for {length} bytes: {shell:?} {nic:?}");
    }
}
