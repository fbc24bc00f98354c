//! The shell of the KCU116 at the pins of `xdma` with 256 bits and of the GTY, and the driver above them.

use super::bench::{files_of, Dna, COMMIT, DNA, UNITS};
use super::card::{MessageSink, Shell, ShellCard};
use super::cmac::Frame;
use super::driver::{
    answers_pings, driver_of, handler, pings, play, puts_interrupt, resets_in_a_transfer, Driver, LIMIT,
};
use super::gty::Gty;
use super::latency::{alone, mean, with_the_shell};
use super::xdma::Xdma;
use spindle::{Kind, Target};
use spindle_boards::data::Board;
use spindle_boards::hdl::pcs::Rate;
use spindle_boards::ip;
use spindle_boards::shell::kcu116::Kcu116Shell;
use spindle_boards::shell::timing::{self, RX_CLOCK};
use spindle_boards::shell::{self, Commit, Options};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_harness::{Library, Model, Port};
use spindle_model::frames::{udp, Ends};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

const CLOCKS: usize = 5;
/// Periods in units of 1/330 ns: `axi_aclk` (250 MHz), the core's clock, transmitter (156.25 MHz), receiver (473 millionths
/// slower, more than a line may be) and `init_clk` (125 MHz).
const PERIODS: [u64; CLOCKS] = [1320, 2640, 2112, 2113, 2640];
const PCIE: usize = 0;
const CORE: usize = 1;
const TX: usize = 2;
const RX: usize = 3;
const INIT: usize = 4;
/// Cycles of the core in which the host expects an answer of a register.
const PATIENCE: u64 = 20_000;
/// Cycles of `init_clk` after which the receiver is reset: fewer than on a board, and more than all slips take.
const WATCH: u64 = 8_000;

/// The model, emitted and loaded once. The NIC is the small one.
fn library() -> Arc<Library> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    let build = || {
        let board = Board::named("kcu116").unwrap();
        let commit = Commit { hash: COMMIT.into(), modified: false };
        let options = Options::of(&board, &Config::SIM, &commit).unwrap();
        let design = spindle_nic::elaborate(|| {
            let mut shell = Kcu116Shell::new(&Config::SIM, &options, Rate::Ten, WATCH);
            spindle_verilog::emit_with(&mut shell, "shell_kcu116", &spindle_nic::without_trace())
        });
        Model::build(&files_of(&design.unwrap())).unwrap_or_else(|error| panic!("{error:#}"))
    };
    LIBRARY.get_or_init(build).clone()
}

/// The bench.
struct Bench {
    model: Model,
    xdma: Xdma,
    gty: Gty,
    dna: Dna,
    clocks: [Port; CLOCKS],
    next: [u64; CLOCKS],
    runs: [bool; CLOCKS],
    high: [bool; CLOCKS],
    edges: [u64; CLOCKS],
}

impl Bench {
    /// A shell after power-up and PERST, its receiver locked.
    fn new(seed: u64) -> Self {
        let model = library().instance_zeroed();
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
        let mut bench = Self { model, xdma, gty, dna, clocks, next, runs, high, edges };
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
                self.next[clock] += PERIODS[clock];
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
        self.xdma.reset();
        self.wait(8);
        (self.runs[PCIE], self.runs[CORE]) = (false, false);
        self.wait(nanoseconds);
        (self.runs[PCIE], self.runs[CORE]) = (true, true);
        self.run(20);
        (self.xdma.running, self.xdma.link) = (true, true);
        // The vector map is written, the DNA is read.
        self.run(2000);
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

    fn read_memory(&self, address: u64, bytes: &mut [u8]) {
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

fn opened(seed: u64) -> (ShellCard<Bench>, Driver<Bench>) {
    let card = ShellCard::new(Bench::new(seed));
    let driver = driver_of(&card);
    (card, driver)
}

#[test]
fn a_handler_is_loaded_and_answers_pings() {
    let (card, mut driver) = opened(1);
    answers_pings(&card, &mut driver, 32);
    assert_eq!(card.bench().gty.resets, 0, "the receiver had lock before the watch lost its patience");
}

#[test]
fn the_driver_reads_the_page_of_the_shell() {
    let (card, mut driver) = opened(2);
    let shell = driver.shell().unwrap().expect("a board has a shell");
    assert_eq!(shell.board().map(|board| board.name), Some("kcu116"));
    assert_eq!((shell.commit.as_str(), shell.gbps, shell.build.divider()), (COMMIT, 10, 2));
    assert_eq!(shell.dna.as_deref(), Some(format!("{DNA:024x}").as_str()));
    let pcie = shell.pcie;
    assert_eq!((pcie.up(), pcie.msix(), pcie.vectors_set(), pcie.vectors_failed()), (true, true, true, false));
    let mac = shell.macs[0];
    assert!(mac.state.up() && mac.state.aligned() && !mac.state.local_fault() && !mac.state.remote_fault());
    assert_eq!((mac.losses, mac.tx_failed), (0, 0));
    let map: Vec<u8> = (0..VECTORS as u8).collect();
    let bench = card.bench();
    assert_eq!((bench.xdma.map.to_vec(), bench.xdma.mask), (map, u16::MAX));
}

#[test]
fn a_put_reaches_a_mailbox_and_interrupts() {
    let (card, mut driver) = opened(3);
    puts_interrupt(&card, &mut driver, 20_000);
    let bench = card.bench();
    assert!(bench.xdma.most[0] > 4 && bench.xdma.bursts > 200, "{:?} {}", bench.xdma.most, bench.xdma.bursts);
}

#[test]
fn a_reset_in_the_middle_of_a_transfer() {
    let (card, driver) = opened(4);
    let target = Target { node: 0, process: 2, address: 1, key: 2, offset: 0, kind: Kind::Bound };
    resets_in_a_transfer(&card, driver, 3, &target, |_| ());
}

/// A pulled cable: frames go nowhere, nothing waits, and the receiver finds the line again by a reset.
#[test]
fn the_link_is_lost_and_comes_back() {
    let (card, mut driver) = opened(5);
    handler(&mut driver, "icmp_echo", "icmp.type == 8");
    handler(&mut driver, "ping_pong", "udp");
    driver.set_receive(true).unwrap();
    let state = |driver: &mut Driver<Bench>| driver.shell().unwrap().unwrap().macs[0];
    for round in 1..=2u32 {
        card.bench().gty.cable = false;
        // A long time without a cable: several resets, in each of which the receiver's clock stands.
        card.bench().run(if round == 1 { 3000 } else { 20_000 });
        let mac = state(&mut driver);
        assert!(!mac.state.up() && !mac.state.aligned() && mac.losses == round, "{mac:?}");
        let resets = card.bench().gty.resets;
        card.bench().gty.cable = true;
        let up = card.bench().run_while(LIMIT, |bench| bench.gty.is_up());
        assert!(up, "no lock");
        assert!(card.bench().gty.resets > resets, "only a reset ends the lock to noise");
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

/// Frames that bit errors have changed do not reach a handler, and are counted.
#[test]
fn bad_frames_are_counted() {
    let (card, mut driver) = opened(6);
    handler(&mut driver, "ping_pong", "udp");
    driver.set_receive(true).unwrap();
    let frame = udp(&Ends::default(), 7, 8, &[1; 200]);
    for bad in [true, false, true] {
        card.bench().incoming().push_back(Frame { bytes: frame.clone(), bad, at: 0 });
    }
    let answered = card.bench().run_while(LIMIT, |bench| !bench.sent().is_empty());
    assert!(answered, "the good frame is answered");
    card.bench().run(2000);
    assert_eq!(card.bench().sent().len(), 1);
    assert_eq!(driver.shell().unwrap().unwrap().macs[0].rx_bad, 2);
}

/// A line of 25 Gb/s is a number in the board file: another clock, another setting, another window of errors.
#[test]
fn a_line_of_25_gigabits_is_a_number_in_the_board_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../kcu116/board.toml");
    let text = std::fs::read_to_string(path).unwrap().replacen("rate_gbps = 10", "rate_gbps = 25", 1);
    let board = Board::parse("boards/kcu116/board.toml", &text).unwrap_or_else(|issues| panic!("{issues}"));
    let gty = &ip::instances(&board).unwrap()[1];
    assert_eq!((gty.value("TX_LINE_RATE"), gty.value("RX_LINE_RATE")), (Some("25.78125"), Some("25.78125")));
    let clocks = timing::of(&board).clocks;
    assert_eq!(clocks.iter().find(|clock| clock.name == RX_CLOCK).map(|clock| clock.mhz), Some(390.625));
    let window = |board: &Board| {
        let shell = shell::shell(board, &Config::SIM, &Commit::unknown()).unwrap().expect("the board has a shell");
        let errors = shell.modules.into_iter().find(|module| module.name.starts_with("bit_errors"));
        errors.expect("the PCS counts bad headers").text
    };
    assert_ne!(window(&board), window(&Board::named("kcu116").unwrap()));
}

/// MAC, PCS, widths and crossings, at 156.25 and 125 MHz; from the word with the end of a frame on the line to the word with
/// the start of the answer.
#[test]
fn the_shell_adds_to_a_ping() {
    for (length, low, high) in [(64usize, 100.0, 500.0), (1518, 100.0, 800.0)] {
        let frame = udp(&Ends::default(), 7, 8, &vec![7; length - 4 - 42]);
        let (card, mut driver) = opened(7);
        let (nic, shell) = (alone(&frame, 20, 8.0), with_the_shell(&card, &mut driver, &frame, 20));
        let added = mean(&shell) - mean(&nic);
        println!(
            "figure: boards.kcu116.ping_{length}: {:.1} ns at the transceiver, {:.1} ns at the NIC, {added:.1} ns added",
            mean(&shell),
            mean(&nic)
        );
        assert!((low..high).contains(&added), "{added} ns for {length} bytes: {shell:?} {nic:?}");
    }
}
