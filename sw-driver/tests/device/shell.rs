//! The shell of a board: every field, and cards that have none.

use crate::card::{refused, Handle};
use spindle::shell::{Mac, Shell};
use spindle::Error;
use spindle_contract::params::Config;
use spindle_contract::registers::shell::{self, Build, Pcie};
use spindle_contract::registers::{global, SHELL_REVISION};

const SHELL: u32 = global::BASE + global::SHELL;

/// A card with a shell whose registers have these values.
fn with(build: Build, pcie: Pcie) -> Handle {
    let handle = Handle::new(&Config::SIM);
    handle.poke(SHELL, shell::BASE);
    for (register, value) in [
        (shell::REVISION, SHELL_REVISION),
        (shell::BOARD, 0xFFFF_0250),
        (shell::BUILD, build.0),
        (shell::MAC_RATE, 0xABCD_0064),
        (shell::PCIE, pcie.0),
        (shell::IRQ_PENDING, 21),
        (shell::HOST_REFUSED, 22),
        (shell::HOST_ABANDONED, 23),
        (shell::BAR_SILENT, 24),
        (shell::LINK_LOSSES, 25),
        (shell::DNA, 0x89AB_CDEF),
        (shell::DNA + 4, 0x0123_4567),
        (shell::DNA + 8, 0x0000_0002),
    ] {
        handle.poke(shell::BASE + register, value);
    }
    for word in 0..5 {
        handle.poke(shell::BASE + shell::GIT + 4 * word, 0x0A0B_0C00 + word);
    }
    let macs = [shell::MAC, shell::MAC_LOSSES, shell::RX_OVERFLOW, shell::RX_BAD, shell::TX_FAILED];
    for (value, register) in (100..).step_by(10).zip(macs) {
        handle.poke(shell::BASE + register, value);
        handle.poke(shell::BASE + register + 4, value + 1);
    }
    handle
}

#[test]
fn a_shell_is_read_field_by_field() {
    let build = Build::ZERO.with_configuration(Build::CONFIGURATION_ALVEO).with_macs(2).with_dna_bits(96);
    let pcie = Pcie::ZERO.with_up(true).with_dna_valid(true).with_ltssm(5);
    let mut device = with(build, pcie).open().unwrap();
    let mac = |number: u32| Mac {
        state: shell::Mac(100 + number),
        losses: 110 + number,
        rx_overflow: 120 + number,
        rx_bad: 130 + number,
        tx_failed: 140 + number,
    };
    let expected = Shell {
        number: 0x0250,
        commit: "0a0b0c000a0b0c010a0b0c020a0b0c030a0b0c04".into(),
        build,
        gbps: 100,
        dna: Some("000000020123456789abcdef".into()),
        pcie,
        irq_pending: 21,
        host_refused: 22,
        host_abandoned: 23,
        bar_silent: 24,
        link_losses: 25,
        macs: vec![mac(0), mac(1)],
    };
    let shell = device.shell().unwrap().unwrap();
    assert_eq!(shell, expected);
    assert_eq!(shell.board().map(|board| board.name), Some("u250"));
    assert_eq!(Shell { number: 0x0251, ..shell }.board(), None);
}

#[test]
fn a_dna_has_the_digits_of_its_bits() {
    for (bits, digits) in [(66, 17), (65, 17), (64, 17), (68, 17), (72, 18), (96, 24), (0, 17)] {
        let build = Build::ZERO.with_dna_bits(bits);
        let mut device = with(build, Pcie::ZERO.with_dna_valid(true)).open().unwrap();
        let dna = device.shell().unwrap().unwrap().dna.unwrap();
        assert_eq!(dna, format!("{:0digits$x}", 0x2_0123_4567_89AB_CDEFu128), "{bits} bits");
    }
    let mut device = with(Build::ZERO.with_dna_bits(96), Pcie::ZERO).open().unwrap();
    assert_eq!(device.shell().unwrap().unwrap().dna, None, "it was not read yet");
}

#[test]
fn configurations_have_names_and_macs_have_room() {
    for (configuration, name) in
        [(0, None), (1, Some("sim")), (2, Some("kintex7")), (3, Some("alveo")), (4, Some("alveo32")), (5, None)]
    {
        let build = Build::ZERO.with_configuration(configuration);
        let shell = with(build, Pcie::ZERO).open().unwrap().shell().unwrap().unwrap();
        assert_eq!(shell.configuration(), name);
    }
    for (macs, read) in [(0, 0), (1, 1), (2, 2), (3, 2), (15, 2)] {
        let shell = with(Build::ZERO.with_macs(macs), Pcie::ZERO).open().unwrap().shell().unwrap().unwrap();
        assert_eq!(shell.macs.len(), read);
    }
}

#[test]
fn a_card_without_a_shell_is_not_asked_for_its_page() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    assert_eq!(device.shell().unwrap(), None);
    assert!(!device.identify_board(true).unwrap());
    assert_eq!(handle.0.borrow().reads, vec![SHELL; 2]);
    assert_eq!(handle.steps(), vec![]);
    handle.poke(SHELL, shell::BASE + 0x1000);
    assert!(matches!(device.shell(), Err(Error::NoBlock("shell"))));
}

#[test]
fn a_shell_of_another_version_is_refused() {
    let handle = with(Build::ZERO, Pcie::ZERO);
    let mut device = handle.open().unwrap();
    handle.poke(shell::BASE + shell::REVISION, SHELL_REVISION + 1);
    let sentence = refused(device.shell());
    assert!(sentence.contains("shell has version 2, this library knows 1"), "{sentence}");
    handle.steps();
    assert_eq!(refused(device.identify_board(true)), sentence);
    assert_eq!(handle.steps(), vec![], "its LEDs are not touched");
}

#[test]
fn the_leds_of_a_board_blink_and_stop() {
    let handle = with(Build::ZERO, Pcie::ZERO);
    let mut device = handle.open().unwrap();
    handle.steps();
    for blink in [true, false] {
        assert!(device.identify_board(blink).unwrap());
        assert_eq!(handle.writes(), vec![(shell::BASE + shell::IDENTIFY, blink.into())]);
    }
}
