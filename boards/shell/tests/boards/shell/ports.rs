//! The shell's ports are those of the vendor blocks, and the top connects all of them.

use spindle_boards::data::Board;
use spindle_boards::ip::{self, Direction};
use spindle_boards::shell::{self, top, Commit};
use spindle_boards::write::export;
use spindle_contract::params::Config;
use spindle_harness::{lint, Source};
use spindle_shell_bench::shell::bench::source;
use std::collections::BTreeMap;

/// The boards that have the shell of the Alveo cards.
const ALVEOS: [&str; 4] = ["u50", "u55c", "u280", "u250"];

/// Ports of a module's text: name, direction and width.
fn ports(text: &str, module: &str) -> BTreeMap<String, (Direction, usize)> {
    let head = text.split_once(&format!("module {module}")).expect("the module is there").1;
    let head = head.split_once('(').unwrap().1.split_once(");").unwrap().0;
    let mut ports = BTreeMap::new();
    for line in head.lines().map(|line| line.trim().trim_end_matches(',')) {
        let direction = match line.split_whitespace().next() {
            Some("input") => Direction::In,
            Some("output") => Direction::Out,
            Some("inout") => Direction::InOut,
            _ => continue,
        };
        let width = line.split_once('[').map_or(1, |(_, rest)| {
            let high: usize = rest.split_once(':').expect("a range").0.trim().parse().expect("a number");
            high + 1
        });
        let name = line.split_whitespace().next_back().expect("a name");
        ports.insert(name.to_string(), (direction, width));
    }
    ports
}

#[test]
fn the_shell_has_the_ports_of_the_vendor_blocks() {
    let dna = ["dna_clk", "dna_din", "dna_dout", "dna_read", "dna_shift"];
    vendor_ports("u50", &[&dna[..], &["init_clk", "led"]].concat());
    let chip = ["i2c_reset_n", "i2c_scl", "i2c_scl_t", "i2c_sda", "i2c_sda_t"];
    vendor_ports("kc705", &[&dna[..], &chip, &["init_clk", "led", "sfp_los"]].concat());
    vendor_ports("kcu116", &[&["core_clk"], &dna[..], &["init_clk", "led"]].concat());
}

/// The ports of a board's shell are those of its vendor blocks, and these.
fn vendor_ports(name: &str, others: &[&str]) {
    let source = source(name, &Config::SIM).unwrap();
    let text = &source.files.last().unwrap().1;
    let mut ports = ports(text, &format!("shell_{name}"));
    for instance in ip::instances(&Board::named(name).unwrap()).unwrap() {
        for (name, port) in instance.shell_ports() {
            // The shell drives what goes into the block.
            let opposite = if port.direction == Direction::In { Direction::Out } else { Direction::In };
            assert_eq!(ports.remove(&name), Some((opposite, port.width)), "{name}");
        }
    }
    let rest: Vec<_> = ports.keys().map(String::as_str).collect();
    assert_eq!(rest, others);
}

#[test]
fn tops_connect_every_port() {
    let commit = Commit::unknown();
    for name in ALVEOS.into_iter().chain(["kcu116", "kc705"]) {
        let board = Board::named(name).unwrap();
        let shell = shell::shell(&board, &Config::SIM, &commit).unwrap().expect("the board has a shell");
        let design = top::design(&board, shell).unwrap();
        assert_eq!(design.top, format!("top_{name}"));
        let text = &design.modules.last().unwrap().text;
        // Its ports are the pins of the board file.
        let pins: BTreeMap<&str, usize> = board.used_pins().fold(BTreeMap::new(), |mut pins, pin| {
            let width = pins.entry(pin.bus()).or_insert(0);
            *width = (*width).max(pin.index().map_or(1, |index| index + 1));
            pins
        });
        let ports = ports(text, &design.top);
        let ports: BTreeMap<&str, usize> = ports.iter().map(|(name, (_, width))| (name.as_str(), *width)).collect();
        assert_eq!(ports, pins, "{name}");
        assert_eq!(text.contains("hbm_cattrip_pad (\n\t\t.I(1'b0),\n\t\t.O(hbm_cattrip)"), board.hbm(), "{name}");
        let files = design.modules.iter().map(|module| (format!("{}.sv", module.name), module.text.clone()));
        let warnings = lint(&Source::new(design.top.clone(), files.collect())).unwrap();
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
    }
}

/// The project of a board has its top, its shell and its NIC, and leaves the vendor blocks to Vivado.
#[test]
fn a_project_has_the_top() {
    for (name, own, vendors) in [
        ("kc705", ["nic", "mac64"], ["pcie7", "pcs0", "IOBUF", "MMCME2_BASE"]),
        ("kcu116", ["nic", "pcs_rx"], ["xdma", "gty0", "IBUFDS_GTE4", "BUFGCE_DIV"]),
    ] {
        let board = Board::named(name).unwrap();
        let design = shell::design(&board).unwrap().expect("the board has a shell");
        let files = export::project(&board, Some(&design)).unwrap();
        let has = |name: &str| files.iter().any(|(path, _)| path == &format!("rtl/{name}.sv"));
        assert!(has(&format!("top_{name}")) && has(&format!("shell_{name}")) && own.into_iter().all(has), "{name}");
        assert!(!vendors.into_iter().any(has), "{name}");
    }
}
