//! Constraints: read back, compared with the board, and with what rust-hdl-fpga-support writes.

use rust_hdl_core::prelude::*;
use rust_hdl_fpga_support::toolchains::vivado::generate_xdc;
use spindle_boards::data::Board;
use spindle_boards::shell::timing;
use spindle_boards::write::xdc::{self, commands, Command, Crossing, CrossingKind, ShellClock, Word};
use std::collections::{BTreeMap, BTreeSet};

fn boards() -> Vec<Board> {
    Board::all().unwrap_or_else(|issues| panic!("{issues}"))
}

/// Properties of each port in a text of constraints, and period of each clock by port, in picoseconds.
#[derive(Debug, Default, PartialEq)]
struct Constraints {
    properties: BTreeMap<(String, String), String>,
    clocks: BTreeMap<String, (String, u64)>,
}

fn port(command: &Command) -> Option<String> {
    let query = command.object().filter(|q| q.name() == "get_ports")?;
    Some(query.text(1)?.trim().to_owned())
}

fn picoseconds(word: Option<&Word>) -> u64 {
    let Some(Word::Text(ns)) = word else { panic!("a clock without a period") };
    (ns.parse::<f64>().unwrap() * 1000.0).round() as u64
}

fn constraints(text: &str) -> Constraints {
    let mut all = Constraints::default();
    for command in commands(text).unwrap() {
        let Some(port) = port(&command) else { continue };
        match command.name() {
            "set_property" => {
                let dict = match command.option("-dict") {
                    Some(Word::Text(dict)) => dict.clone(),
                    _ => format!("{} {}", command.text(1).unwrap(), command.text(2).unwrap()),
                };
                let words: Vec<_> = dict.split_whitespace().collect();
                for pair in words.chunks(2) {
                    let old = all.properties.insert((port.clone(), pair[0].into()), pair[1].into());
                    assert_eq!(old, None, "{port} has {} twice", pair[0]);
                }
            }
            "create_clock" => {
                let Some(Word::Text(name)) = command.option("-name") else { panic!("a clock without a name") };
                let old = all.clocks.insert(port, (name.clone(), picoseconds(command.option("-period"))));
                assert_eq!(old, None, "{name} is constrained twice");
            }
            "set_false_path" => {}
            other => panic!("line {}: {other} is not expected", command.line),
        }
    }
    all
}

#[test]
fn constraints_of_the_repository_are_up_to_date() {
    for board in boards() {
        let path = format!("{}/../../constraints/{}.xdc", env!("CARGO_MANIFEST_DIR"), board.name);
        let found = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let wanted = xdc::text(&board, &timing::of(&board)).unwrap();
        assert!(found == wanted, "{path} is out of date; run cargo run -p spindle-boards --bin boards -- --write");
    }
}

#[test]
fn what_is_read_back_is_the_board() {
    for board in boards() {
        let found = constraints(&xdc::text(&board, &xdc::Timing::default()).unwrap());
        let ports: BTreeSet<_> = found.properties.keys().map(|(port, _)| port.as_str()).collect();
        assert_eq!(ports, board.used_pins().map(|p| p.port.as_str()).collect(), "{}", board.name);
        for pin in board.used_pins() {
            let property = |name: &str| found.properties.get(&(pin.port.clone(), name.to_owned())).cloned();
            assert_eq!(property("PACKAGE_PIN"), Some(pin.loc.clone()));
            assert_eq!(property("IOSTANDARD"), pin.iostandard);
            assert_eq!(property("DRIVE"), pin.drive.map(|d| d.to_string()));
            assert_eq!(property("PULLTYPE").is_some(), pin.pull.is_some());
            assert_eq!(property("DQS_BIAS"), pin.dqs_bias.then(|| "TRUE".to_owned()));
        }
        for clock in board.used_clocks() {
            let (name, picoseconds) = &found.clocks[&clock.port];
            assert_eq!(name, &clock.name);
            // At most a picosecond shorter than the clock, never longer.
            let exact = clock.period_ns() * 1000.0;
            assert!((0.0..1.0).contains(&(exact - *picoseconds as f64)), "{name}: {exact} is {picoseconds}");
        }
        assert_eq!(found.clocks.len(), board.used_clocks().count());
    }
}

/// AMD's constraints give the receiver of the U50's clock a bias, and that of no other board's.
#[test]
fn the_clock_of_the_u50_has_a_bias() {
    for board in boards() {
        let with: Vec<_> = board.used_pins().filter(|pin| pin.dqs_bias).map(|pin| pin.port.as_str()).collect();
        let wanted: &[&str] = if board.name == "u50" { &["board_clk_p"] } else { &[] };
        assert_eq!(with, wanted, "{}", board.name);
    }
}

/// Every pin without a clock is excepted, in each direction that it has, and no clock is.
#[test]
fn asynchronous_pins_are_excepted() {
    let board = Board::named("kc705").unwrap();
    let text = xdc::timing(&board, &xdc::Timing::default()).unwrap();
    let paths: Vec<_> = commands(&text).unwrap().into_iter().filter(|c| c.name() == "set_false_path").collect();
    let excepted = |direction: &str| -> BTreeSet<String> {
        paths.iter().filter(|c| c.text(1) == Some(direction)).map(|c| port(c).unwrap()).collect()
    };
    let inputs = ["pcie_perst_n", "sfp0_los", "i2c_scl", "i2c_sda"];
    assert_eq!(excepted("-from"), inputs.map(str::to_owned).into());
    assert!(excepted("-to").contains("i2c_sda") && excepted("-to").contains("led[7]"));
    assert_eq!(excepted("-to").len(), 8 + 2 + 2 + 1);
}

#[test]
fn configuration_is_that_of_the_board() {
    for board in boards() {
        let all = commands(&xdc::config(&board)).unwrap();
        let value =
            |name: &str| all.iter().find(|c| c.text(1) == Some(name)).and_then(|c| c.text(2)).map(str::to_owned);
        let (cfgbvs, volts) = if board.series7() { ("VCCO", "2.5") } else { ("GND", "1.8") };
        assert_eq!(value("CFGBVS").as_deref(), Some(cfgbvs), "{}", board.name);
        assert_eq!(value("CONFIG_VOLTAGE").as_deref(), Some(volts), "{}", board.name);
        for (option, wanted) in &board.bitstream.options {
            assert_eq!(value(option).as_ref(), Some(wanted), "{}: {option}", board.name);
        }
        let budget = all.iter().any(|c| c.name() == "set_operating_conditions");
        assert_eq!(budget, board.configuration == "alveo", "{}", board.name);
    }
}

fn shell() -> xdc::Timing {
    let crossing = |from: &str, to: &str, cells: &str, kind| Crossing {
        from: from.into(),
        to: to.into(),
        cells: cells.into(),
        kind,
    };
    xdc::Timing {
        clocks: vec![
            ShellClock { name: "pcie_user_clk".into(), pin: "xdma/axi_aclk".into(), mhz: 250.0 },
            ShellClock { name: "mac_clk".into(), pin: "cmac0/gt_txusrclk2".into(), mhz: 322.265625 },
        ],
        crossings: vec![
            crossing("mac_clk", "pcie_user_clk", "*rx/*head*", CrossingKind::Gray),
            crossing("mac_clk", "pcie_user_clk", "*aligned*", CrossingKind::Level),
            crossing("mac_clk", "pcie_user_clk", "*word*", CrossingKind::Held),
            crossing("pcie_user_clk", "board_clk", "*option*", CrossingKind::Static),
        ],
    }
}

#[test]
fn crossings_are_bounded() {
    let board = Board::named("u50").unwrap();
    let text = xdc::timing(&board, &shell()).unwrap();
    let (_, crossings) = text.split_once("# Crossings.\n").unwrap();
    let mac = "[get_clocks -of_objects [get_pins {cmac0/gt_txusrclk2}]]";
    let cells = |pattern: &str| format!("[get_cells -hierarchical -filter {{NAME =~ {pattern}}}]");
    let (head, aligned, word, option) = (cells("*rx/*head*"), cells("*aligned*"), cells("*word*"), cells("*option*"));
    let wanted = [
        "# mac_clk to pcie_user_clk".to_owned(),
        format!("set_property ASYNC_REG TRUE {head}"),
        format!("set_max_delay -datapath_only -from {mac} -to {head} 3.103"),
        format!("set_bus_skew -from {mac} -to {head} 3.103"),
        "# mac_clk to pcie_user_clk".to_owned(),
        format!("set_property ASYNC_REG TRUE {aligned}"),
        format!("set_max_delay -datapath_only -from {mac} -to {aligned} 3.103"),
        "# mac_clk to pcie_user_clk".to_owned(),
        format!("set_max_delay -datapath_only -from {mac} -to {word} 4.000"),
        "# pcie_user_clk to board_clk".to_owned(),
        format!("set_false_path -from [get_clocks -of_objects [get_pins {{xdma/axi_aclk}}]] -to {option}"),
    ];
    assert_eq!(crossings.lines().collect::<Vec<_>>(), wanted);
    assert_eq!(commands(crossings).unwrap().len(), 7);
}

#[test]
fn crossings_of_unknown_clocks_are_refused() {
    let board = Board::named("u50").unwrap();
    let mut timing = shell();
    timing.crossings[0].to = "core_clk".into();
    let known = "pcie_refclk, board_clk, qsfp0_refclk, pcie_user_clk, mac_clk";
    assert_eq!(
        xdc::timing(&board, &timing).unwrap_err(),
        format!("a crossing of `u50` has the clock `core_clk`, which is none of {known}")
    );
    let mut timing = shell();
    timing.clocks[0].name = "board_clk".into();
    let sentence = "clock `board_clk` is one of the board and one of the shell; rename that of the shell";
    assert_eq!(xdc::timing(&board, &timing).unwrap_err(), sentence);
}

/// Pads of a board as signals of rust-hdl.
struct Pads(Vec<(String, Box<dyn Atom>)>);

impl Pads {
    fn new(board: &Board) -> Self {
        let mut widths: BTreeMap<&str, usize> = BTreeMap::new();
        board.used_pins().for_each(|p| *widths.entry(p.bus()).or_default() += 1);
        Self(widths.into_iter().map(|(bus, width)| (bus.to_owned(), atom(board, bus, width))).collect())
    }
}

fn atom(board: &Board, bus: &str, width: usize) -> Box<dyn Atom> {
    fn constrained<T: Synth + 'static>(board: &Board, bus: &str) -> Box<dyn Atom> {
        let mut signal = Signal::<Out, T>::default();
        board.constrain(bus, &mut signal).unwrap();
        Box::new(signal)
    }
    match width {
        1 => constrained::<Bit>(board, bus),
        3 => constrained::<Bits<3>>(board, bus),
        4 => constrained::<Bits<4>>(board, bus),
        8 => constrained::<Bits<8>>(board, bus),
        16 => constrained::<Bits<16>>(board, bus),
        _ => panic!("{bus} has {width} bits; add the width here"),
    }
}

impl Logic for Pads {
    fn update(&mut self) {}
}

impl Block for Pads {
    fn connect_all(&mut self) {}
    fn update_all(&mut self) {}
    fn has_changed(&self) -> bool {
        false
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        self.0.iter().for_each(|(name, atom)| probe.visit_atom(name, &**atom));
        probe.visit_end_scope(name, self);
    }
}

/// Locations, I/O standards and clocks of our writer are those of rust-hdl-fpga-support for the same pads. That package
/// knows no drive, pull or slow edge, and appends a configuration that fits none of the boards.
#[test]
fn rust_hdl_fpga_support_writes_the_same_pins_and_clocks() {
    for board in boards() {
        let theirs = constraints(&generate_xdc(&Pads::new(&board)));
        let mut ours = constraints(&xdc::text(&board, &xdc::Timing::default()).unwrap());
        ours.properties.retain(|(_, name), _| ["PACKAGE_PIN", "IOSTANDARD"].contains(&name.as_str()));
        assert!(!ours.clocks.is_empty() && ours.properties.len() > 40, "{}", board.name);
        assert_eq!(ours, theirs, "{}", board.name);
    }
}

#[test]
fn a_port_without_a_pin_is_refused() {
    let board = Board::named("u280").unwrap();
    let mut leds = Signal::<Out, Bits<3>>::default();
    assert_eq!(board.constrain("led", &mut leds).unwrap_err(), "board `u280` has no pin for `led[0]`");
}
