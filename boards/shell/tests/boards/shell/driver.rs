//! The driver's end-to-end cases at the pins of the vendor blocks: handlers and pings, puts, interrupts, resets, links.

use super::cases::{self, cases};
use spindle::rule_table::Action;
use spindle::window::WindowOptions;
use spindle::{irq, EventKind, HostMemory, InterruptOptions, Kind, SharedCard, Target};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_contract::wire::status;
use spindle_harness::long_tests_run;
use spindle_model::frames::{echo_request, udp, Ends};
use spindle_model::handlers::{by_name, Circumstances, Outcome};
use spindle_shell_bench::shell::bench::{COMMIT, DNA};
pub use spindle_shell_bench::shell::driver::LIMIT;
use spindle_shell_bench::shell::driver::{install, open};
use spindle_shell_bench::shell::{Bench, Driver, Frame, Shell, ShellCard};
use spindle_sim::serve::exercise::exercise;
use spindle_sim::transport;

pub const PROCESS: usize = 2;
pub const MAILBOX: u64 = 0x77;
pub const KEY: u32 = 0xBEEF;

/// A U50 whose NIC has this configuration, and its driver.
pub fn opened(config: &Config, seed: u64) -> (ShellCard<Bench>, Driver<Bench>) {
    opened_as("u50", config, seed)
}

/// The same with another Alveo card.
fn opened_as(board: &str, config: &Config, seed: u64) -> (ShellCard<Bench>, Driver<Bench>) {
    let card = ShellCard::new(Bench::open(board, config, seed).unwrap());
    let driver = driver_of(&card);
    (card, driver)
}

/// A driver that opens the card.
pub fn driver_of<B: Shell>(card: &ShellCard<B>) -> Driver<B> {
    open(card).unwrap_or_else(|error| panic!("{error:#}"))
}

/// Installs an example handler for the frames of a rule.
pub fn handler<B: Shell>(driver: &mut Driver<B>, name: &str, rule: &str) {
    install(driver, name, rule).unwrap_or_else(|error| panic!("{error:#}"))
}

/// What a handler's model answers, as the wire carries it: at least 60 bytes.
pub fn answer(name: &str, frame: &[u8]) -> Vec<u8> {
    let circumstances = Circumstances { number: 0, host_bytes: 0 };
    let Outcome::Answer(mut answer) = by_name(name).unwrap()(frame, circumstances) else {
        panic!("{name} answers every such frame")
    };
    answer.resize(answer.len().max(60), 0);
    answer
}

/// Plays frames, and waits for so many on the wire; their bytes in the order of the first bytes.
pub fn play<B: Shell>(card: &ShellCard<B>, frames: &[Vec<u8>], wanted: usize) -> Vec<Vec<u8>> {
    let mut bench = card.bench();
    bench.incoming().extend(frames.iter().cloned().map(Frame::good));
    let all = bench.run_while(LIMIT, |bench| bench.sent().len() >= wanted);
    assert!(all, "{} of {wanted} frames were sent", bench.sent().len());
    bench.run(2000);
    std::mem::take(bench.sent())
        .into_iter()
        .map(|frame| {
            assert!(!frame.bad);
            frame.bytes
        })
        .collect()
}

/// Pings and datagrams of all interesting lengths, and what is answered.
pub fn pings(count: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let lengths = [0, 1, 18, 22, 23, 64, 86, 87, 200, 1400, 1472, 5, 300, 900, 22, 150];
    let frames: Vec<Vec<u8>> = (0..count)
        .map(|i| {
            let payload: Vec<u8> = (0..lengths[i % lengths.len()]).map(|at| (at * 7 + i) as u8).collect();
            match i % 2 {
                0 => echo_request(&Ends::default(), 5, i as u16, &payload),
                _ => udp(&Ends::default(), 7, 8, &payload),
            }
        })
        .collect();
    let answers = frames.iter().enumerate().map(|(i, frame)| answer(["icmp_echo", "ping_pong"][i % 2], frame));
    let answers = answers.collect();
    (frames, answers)
}

/// Handlers that answer, and reception.
pub fn answering<B: Shell>(driver: &mut Driver<B>) {
    handler(driver, "icmp_echo", "icmp.type == 8");
    handler(driver, "ping_pong", "udp");
    driver.set_receive(true).unwrap();
}

/// Pings are answered byte for byte.
pub fn answers<B: Shell>(card: &ShellCard<B>, count: usize, when: &str) {
    let (frames, mut wanted) = pings(count);
    let mut got = play(card, &frames, count);
    // Handlers run side by side.
    got.sort();
    wanted.sort();
    assert_eq!(got.len(), wanted.len());
    for (got, wanted) in got.iter().zip(&wanted) {
        assert_eq!(got, wanted, "{when}");
    }
}

/// Loads two handlers, and compares what they answer.
pub fn answers_pings<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>, count: usize) {
    answering(driver);
    answers(card, count, "after the handlers were loaded");
    let stats = driver.stats().unwrap();
    assert_eq!((stats.frames_in, stats.frames_out), (count as u32, count as u32));
}

#[test]
fn a_handler_is_loaded_and_answers_pings() {
    let (card, mut driver) = opened(&Config::SIM, 1);
    answers_pings(&card, &mut driver, 32);
    // The wire takes a beat in every second cycle only.
    card.bench().cmac.pace = 50;
    answers(&card, 16, "over a slow wire");
}

/// The card of the U50's own configuration.
#[test]
fn the_configuration_of_the_board_answers_pings() {
    if !long_tests_run() {
        return;
    }
    let (card, mut driver) = opened(&Config::ALVEO, 2);
    assert_eq!(driver.shell().unwrap().unwrap().configuration(), Some("alveo"));
    answers_pings(&card, &mut driver, 8);
}

/// A U280, with register slices between MAC and NIC: pings, puts, and a wire that takes a beat in one cycle of five.
#[test]
fn the_driver_works_through_register_slices() {
    if !long_tests_run() {
        return;
    }
    let (card, mut driver) = opened_as("u280", &Config::SIM, 9);
    assert_eq!(driver.shell().unwrap().unwrap().board().map(|board| board.name), Some("u280"));
    puts_interrupt(&card, &mut driver, 10_000);
    card.bench().set_loop(false);
    card.bench().cmac.sent.clear();
    // The rule of puts comes before that of datagrams.
    answering(&mut driver);
    answers(&card, 32, "through the slices");
    card.bench().cmac.pace = 20;
    answers(&card, 16, "through the slices, over a slow wire");
}

#[test]
fn the_drivers_program_sees_the_same_as_over_a_simulated_nic() {
    let card = SharedCard::new(ShellCard::new(Bench::open("u50", &Config::SIM, 3).unwrap()));
    let (shell, nic) = (exercise(&card).unwrap(), exercise(&transport::open("sim:sim").unwrap()).unwrap());
    assert_eq!(shell.bytes, nic.bytes);
    assert_ne!(shell.cycles, nic.cycles, "a bridge lies between");
}

#[test]
fn the_driver_reads_the_page_of_the_shell() {
    let (card, mut driver) = opened(&Config::SIM, 4);
    let shell = driver.shell().unwrap().expect("a board has a shell");
    assert_eq!(shell.board().map(|board| board.name), Some("u50"));
    assert_eq!((shell.commit.as_str(), shell.gbps, shell.configuration()), (COMMIT, 100, Some("sim")));
    let build = shell.build;
    assert_eq!((build.macs(), build.divider(), build.rsfec(), build.modified()), (1, 1, true, false));
    assert_eq!(shell.dna.as_deref(), Some(format!("{DNA:024x}").as_str()));
    let pcie = shell.pcie;
    assert_eq!((pcie.up(), pcie.msix(), pcie.vectors_set(), pcie.vectors_failed()), (true, true, true, false));
    assert_eq!(pcie.ltssm(), 0x10);
    let mac = shell.macs[0];
    assert!(mac.state.up() && mac.state.aligned() && !mac.state.local_fault() && !mac.state.remote_fault());
    let bench = card.bench();
    let map: Vec<u8> = (0..VECTORS as u8).collect();
    assert_eq!((bench.xdma.map.to_vec(), bench.xdma.mask), (map, u16::MAX));
    assert_eq!(bench.led() & 3, 3, "the LEDs of both links are lit");
}

/// Opens a window with an event ring and an armed interrupt, puts `data` into it over the cable, and waits for the message;
/// what arrived.
pub fn put<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>, data: &[u8], vector: usize) -> Vec<u8> {
    let mut ring = driver.open_ring(PROCESS, 16).unwrap();
    let length = data.len() as u32;
    let options =
        WindowOptions { address: MAILBOX, key: KEY, threshold: length, event: true, ..WindowOptions::default() };
    let window = driver.open_window(PROCESS, &options).unwrap();
    let posted = driver.post_buffer(window, length).unwrap();
    driver.set_vector(PROCESS, vector).unwrap();
    driver.set_interrupt(PROCESS, Some(InterruptOptions::default())).unwrap();
    driver.arm(&mut ring).unwrap();
    let eventfd = card.eventfd(vector).unwrap();
    assert_eq!(irq::take(&eventfd), 0);
    let before = card.bench().messages();
    let from = driver.memory.alloc(data.len(), 64).unwrap();
    driver.memory.write(from, data).unwrap();
    let target = Target { node: 0, process: PROCESS as u16, address: MAILBOX, key: KEY, offset: 0, kind: Kind::Bound };
    let put = driver.put(PROCESS, from, length, &target).unwrap();
    driver.wait_put(&put, LIMIT).unwrap();
    let came = card.bench().run_while(LIMIT, |bench| bench.messages()[vector] > before[vector]);
    assert!(came, "no message of vector {vector}");
    assert_eq!(irq::take(&eventfd), 1);
    // The message comes after its event.
    let event = driver.poll_event(&mut ring).unwrap().expect("the event is there when its message comes");
    assert!(
        matches!(event.kind, EventKind::Buffer { status: status::DONE, length: l, .. } if l == length),
        "{event:?}"
    );
    let completed = driver.wait(&posted, LIMIT).unwrap();
    assert_eq!((completed.status, completed.length), (status::DONE, length));
    let mut got = vec![0; data.len()];
    driver.memory.read(posted.buffer, &mut got).unwrap();
    driver.close_window(window).unwrap();
    driver.close_ring(ring).unwrap();
    card.bench().run(1000);
    let mut others = card.bench().messages();
    others[vector] = before[vector];
    assert_eq!(others, before, "messages of other vectors");
    got
}

/// Bytes that are another in each round.
pub fn pattern(length: usize, round: u8) -> Vec<u8> {
    (0..length).map(|at| (at * 7) as u8 ^ (at >> 8) as u8 ^ round).collect()
}

/// Puts reach mailboxes.
pub fn with_mailbox<B: Shell>(driver: &mut Driver<B>) {
    driver.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
    driver.set_receive(true).unwrap();
}

/// Puts of one byte to `longest` bytes reach a mailbox, each with its interrupt.
pub fn puts_interrupt<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>, longest: usize) {
    card.bench().set_loop(true);
    with_mailbox(driver);
    for (round, (length, vector)) in [(1, 3), (64, 3), (5000, 12), (longest, 15)].into_iter().enumerate() {
        let data = pattern(length, round as u8);
        assert!(put(card, driver, &data, vector) == data, "{length} bytes");
    }
}

/// Resets the card in the middle of a put, each time later; `holds` checks the bench after each reset.
pub fn resets_in_a_transfer<B: Shell>(
    card: &ShellCard<B>,
    mut driver: Driver<B>,
    rounds: u8,
    target: &Target,
    holds: impl Fn(&B),
) {
    card.bench().set_loop(true);
    for round in 0..rounds {
        with_mailbox(&mut driver);
        let data = pattern(3000, round);
        assert!(put(card, &mut driver, &data, 9) == data);
        let from = driver.memory.alloc(20_000, 64).unwrap();
        driver.put(PROCESS, from, 20_000, target).unwrap();
        card.bench().run(300 + 150 * u64::from(round));
        card.clone().restart().unwrap();
        driver = driver_of(card);
        assert_eq!(driver.stats().unwrap().frames_out, 0);
        assert!(driver.shell().unwrap().unwrap().macs[0].state.up(), "the MAC goes on without the host");
        holds(&card.bench());
    }
}

#[test]
fn a_put_reaches_a_mailbox_and_interrupts() {
    let (card, mut driver) = opened(&Config::SIM, 5);
    puts_interrupt(&card, &mut driver, 40_000);
    let bench = card.bench();
    assert!(bench.xdma.most[0] > 4 && bench.xdma.bursts > 400, "{:?} {}", bench.xdma.most, bench.xdma.bursts);
}

#[test]
fn a_reset_in_the_middle_of_a_transfer() {
    let (card, driver) = opened(&Config::SIM, 6);
    let target = Target { node: 0, process: PROCESS as u16, address: MAILBOX, key: KEY, offset: 0, kind: Kind::Bound };
    resets_in_a_transfer(&card, driver, 4, &target, |bench| {
        assert_eq!(bench.cmac.restarts, 1, "the one of power-up: the transmitter never starves");
    });
}

cases!(opened(&Config::SIM, 8));
