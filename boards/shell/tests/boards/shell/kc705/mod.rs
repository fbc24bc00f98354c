//! The shell of the KC705 at the pins of `pcie_7x`, of the PCS and of the clock chip's bus, and the driver above them.

mod bench;

use super::adverse::{cable_pulled, link_lost, perst_in_traffic};
use super::cases::{self, cases};
use super::driver::{answering, answers, answers_pings, driver_of, play, puts_interrupt, resets_in_a_transfer, LIMIT};
use super::latency::{alone, mean, with_the_shell};
use bench::{Bench, DNA};
use spindle::{Kind, Target};
use spindle_contract::params::Config;
use spindle_harness::long_tests_run;
use spindle_model::frames::{udp, Ends};
use spindle_shell_bench::shell::bench::COMMIT;
use spindle_shell_bench::shell::{Driver, Shell, ShellCard};

fn opened(config: &Config, seed: u64) -> (ShellCard<Bench>, Driver<Bench>) {
    let card = ShellCard::new(Bench::new(config, seed));
    let driver = driver_of(&card);
    (card, driver)
}

#[test]
fn a_handler_is_loaded_and_answers_pings() {
    let (card, mut driver) = opened(&Config::SIM, 1);
    answers_pings(&card, &mut driver, 32);
}

/// The card of the board's own configuration.
#[test]
fn the_configuration_of_the_board_answers_pings() {
    if !long_tests_run() {
        return;
    }
    let (card, mut driver) = opened(&Config::KINTEX7, 11);
    assert_eq!(driver.shell().unwrap().unwrap().configuration(), Some("kintex7"));
    answers_pings(&card, &mut driver, 8);
}

#[test]
fn the_driver_reads_the_page_of_the_shell() {
    let (_card, mut driver) = opened(&Config::SIM, 2);
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
    let (card, mut driver) = opened(&Config::SIM, 3);
    puts_interrupt(&card, &mut driver, 20_000);
}

#[test]
fn a_reset_in_the_middle_of_a_transfer() {
    if !long_tests_run() {
        return;
    }
    let (card, driver) = opened(&Config::SIM, 4);
    let target = Target { node: 0, process: 2, address: 1, key: 2, offset: 0, kind: Kind::Bound };
    resets_in_a_transfer(&card, driver, 3, &target, |_| ());
}

#[test]
fn perst_and_a_stopped_clock_in_traffic() {
    if !long_tests_run() {
        return;
    }
    let (card, driver) = opened(&Config::SIM, 7);
    perst_in_traffic(&card, driver, 7);
}

/// What was under way ends with an error, and the link comes back with another configuration of MSI-X.
#[test]
fn the_link_of_pcie_is_lost_and_comes_back() {
    if !long_tests_run() {
        return;
    }
    let (card, mut driver) = opened(&Config::SIM, 8);
    let target = Target { node: 0, process: 3, address: 5, key: 6, offset: 0, kind: Kind::Bound };
    link_lost(&card, &mut driver, &target, |_, _| ());
}

#[test]
fn a_cable_is_pulled_and_put_back() {
    let (card, mut driver) = opened(&Config::SIM, 9);
    cable_pulled(&card, &mut driver, |_, _| (), |_| ());
}

/// A clock chip that loses its crystal: frames go nowhere, nothing waits, and all comes back.
#[test]
fn the_crystal_is_lost_and_comes_back() {
    let (card, mut driver) = opened(&Config::SIM, 5);
    answering(&mut driver);
    let state = |driver: &mut Driver<Bench>| driver.shell().unwrap().unwrap().macs[0];
    for round in 1..=2u32 {
        card.bench().chip.crystal = false;
        card.bench().run(6000);
        let mac = state(&mut driver);
        assert!(!mac.state.up() && !mac.state.aligned() && mac.losses == round, "{mac:?}");
        card.bench().chip.crystal = true;
        let up = card.bench().run_while(LIMIT, |bench| bench.pcs.is_locked());
        assert!(up, "no lock");
        card.bench().run(300);
        assert!(state(&mut driver).state.up());
        // After a frame without an end the next one may be taken for its rest.
        play(&card, &[udp(&Ends::default(), 7, 8, &[0; 64])], 0);
        card.bench().run(2000);
        card.bench().sent().clear();
        answers(&card, 8, "after the crystal came back");
    }
}

/// MAC, widths and crossings, at 156.25 and 125 MHz; from the word with the end of a frame to the word with the start of the
/// answer. A longer frame waits until it is whole, in words of 64 bits on the way in.
#[test]
fn the_shell_adds_to_a_ping() {
    for (length, low, high) in [(64usize, 100.0, 300.0), (1518, 100.0, 600.0)] {
        let frame = udp(&Ends::default(), 7, 8, &vec![7; length - 4 - 42]);
        let (card, mut driver) = opened(&Config::SIM, 6);
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

cases!(opened(&Config::SIM, 10), long_tests_run);
