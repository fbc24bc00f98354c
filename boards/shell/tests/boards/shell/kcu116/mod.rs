//! The shell of the KCU116 at the pins of `xdma` with 256 bits and of the GTY, and the driver above them.

mod bench;

use super::adverse::{cable_pulled, link_lost, perst_in_traffic};
use super::cases::{self, cases};
use super::driver::{
    answering, answers, answers_pings, driver_of, handler, play, puts_interrupt, resets_in_a_transfer, LIMIT,
};
use super::latency::{alone, mean, with_the_shell};
use bench::Bench;
use spindle::{Kind, Target};
use spindle_boards::data::Board;
use spindle_boards::ip;
use spindle_boards::shell::timing::{self, RX_CLOCK};
use spindle_boards::shell::{self, Commit};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_harness::long_tests_run;
use spindle_model::frames::{udp, Ends};
use spindle_shell_bench::shell::bench::{COMMIT, DNA};
use spindle_shell_bench::shell::{Driver, Frame, Shell, ShellCard};

fn opened(config: &Config, gbps: u32, seed: u64) -> (ShellCard<Bench>, Driver<Bench>) {
    let card = ShellCard::new(Bench::new(config, gbps, seed));
    let driver = driver_of(&card);
    (card, driver)
}

#[test]
fn a_handler_is_loaded_and_answers_pings() {
    let (card, mut driver) = opened(&Config::SIM, 10, 1);
    answers_pings(&card, &mut driver, 32);
    assert_eq!(card.bench().gty.resets, 0, "the receiver had lock before the watch lost its patience");
}

/// The card of the board's own configuration.
#[test]
fn the_configuration_of_the_board_answers_pings() {
    if !long_tests_run() {
        return;
    }
    let (card, mut driver) = opened(&Config::KINTEX7, 10, 12);
    assert_eq!(driver.shell().unwrap().unwrap().configuration(), Some("kintex7"));
    answers_pings(&card, &mut driver, 8);
}

/// A line of 25 Gb/s: the page says so, pings are answered, puts arrive, a pulled cable comes back.
#[test]
fn a_line_of_25_gigabits_carries_pings_and_puts() {
    if !long_tests_run() {
        return;
    }
    let (card, mut driver) = opened(&Config::SIM, 25, 13);
    assert_eq!(driver.shell().unwrap().unwrap().gbps, 25);
    cable_pulled(&card, &mut driver, |_, _| (), |_| ());
    card.bench().set_loop(false);
    card.bench().sent().clear();
    // The rule of puts comes before that of datagrams.
    answering(&mut driver);
    answers(&card, 16, "at 25 Gb/s");
}

#[test]
fn the_driver_reads_the_page_of_the_shell() {
    let (card, mut driver) = opened(&Config::SIM, 10, 2);
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
    let (card, mut driver) = opened(&Config::SIM, 10, 3);
    puts_interrupt(&card, &mut driver, 20_000);
    let bench = card.bench();
    assert!(bench.xdma.most[0] > 4 && bench.xdma.bursts > 200, "{:?} {}", bench.xdma.most, bench.xdma.bursts);
}

#[test]
fn a_reset_in_the_middle_of_a_transfer() {
    if !long_tests_run() {
        return;
    }
    let (card, driver) = opened(&Config::SIM, 10, 4);
    let target = Target { node: 0, process: 2, address: 1, key: 2, offset: 0, kind: Kind::Bound };
    resets_in_a_transfer(&card, driver, 3, &target, |_| ());
}

#[test]
fn perst_and_a_stopped_clock_in_traffic() {
    if !long_tests_run() {
        return;
    }
    let (card, driver) = opened(&Config::SIM, 10, 9);
    perst_in_traffic(&card, driver, 9);
}

#[test]
fn the_link_of_pcie_is_lost_and_comes_back() {
    if !long_tests_run() {
        return;
    }
    let (card, mut driver) = opened(&Config::SIM, 10, 10);
    let target = Target { node: 0, process: 3, address: 5, key: 6, offset: 0, kind: Kind::Bound };
    link_lost(&card, &mut driver, &target, |page, round| {
        assert!(page.host_abandoned >= round, "{} bursts ended", page.host_abandoned);
    });
}

#[test]
fn a_cable_is_pulled_and_put_back() {
    let (card, mut driver) = opened(&Config::SIM, 10, 11);
    cable_pulled(&card, &mut driver, |_, _| (), |_| ());
}

/// A pulled cable: frames go nowhere, nothing waits, and the receiver finds the line again by a reset.
#[test]
fn the_link_is_lost_and_comes_back() {
    let (card, mut driver) = opened(&Config::SIM, 10, 5);
    answering(&mut driver);
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
        answers(&card, 8, "after the cable was put back");
    }
}

/// Frames that bit errors have changed do not reach a handler, and are counted.
#[test]
fn bad_frames_are_counted() {
    let (card, mut driver) = opened(&Config::SIM, 10, 6);
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
    let board = bench::board(25).unwrap_or_else(|issues| panic!("{issues}"));
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
        let (card, mut driver) = opened(&Config::SIM, 10, 7);
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

cases!(opened(&Config::SIM, 10, 8), long_tests_run);
