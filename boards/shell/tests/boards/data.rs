//! Board files: the six of the project, and files that break a rule.

use spindle_boards::data::{package, Board, Table};
use spindle_boards::shell::{self, Commit, Options};
use spindle_contract::params::Config;

/// A breach: board, text that is replaced, its replacement, the sentence, and the text in whose line it is reported.
type Breach = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// The text of a board's file.
fn text(name: &str) -> String {
    let path = format!("{}/../{name}/board.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Each breach is reported by its sentence, in its line, and the file without it is right.
fn refused(breaches: &[Breach]) {
    for (name, from, to, sentence, place) in breaches {
        let good = text(name);
        assert!(good.contains(from), "{name} lacks {from}");
        Board::parse("board.toml", &good).unwrap_or_else(|issues| panic!("{issues}"));
        let bad = good.replacen(from, to, 1);
        // Of several lines, the first, unless the last is asked for.
        let mut lines = bad.lines().enumerate().filter(|(_, l)| l.contains(place.trim_start_matches("last: ")));
        let line = if place.starts_with("last: ") { lines.last() } else { lines.next() };
        let line = line.unwrap_or_else(|| panic!("{name} lacks {place}")).0 + 1;
        let issues = Board::parse("board.toml", &bad).expect_err(sentence);
        let wanted = format!("board.toml:{line}: {sentence}");
        assert!(issues.0.iter().any(|i| i.to_string() == wanted), "{name}: wanted\n{wanted}\nbut there is\n{issues}");
    }
}

#[test]
fn all_boards_obey_the_rules() {
    let boards = Board::all().unwrap_or_else(|issues| panic!("{issues}"));
    assert_eq!(boards.len(), 6);
    for board in &boards {
        assert_eq!(board.core_mhz(), board.config().clock_mhz, "{}", board.name);
        // Every pin of the top is of a group that the shell uses, and the other port's are not among them.
        let ports: Vec<_> = board.used_pins().map(|p| p.bus()).collect();
        for mac in &board.macs {
            let receive = format!("{}_rx_p", mac.name);
            assert_eq!(ports.contains(&receive.as_str()), mac.used, "{}: {}", board.name, mac.name);
        }
    }
}

#[test]
fn another_port_can_be_used() {
    let board = Board::named("u280").unwrap().with_mac("qsfp1").unwrap();
    assert_eq!(board.mac().site.as_deref(), Some("CMACE4_X0Y7"));
    assert!(board.used_pins().any(|p| p.port == "qsfp1_tx_p[3]"));
    assert!(board.used_pins().all(|p| !p.port.starts_with("qsfp0")));
    let error = board.with_mac("qsfp2").unwrap_err().to_string();
    assert!(error.ends_with("there is no network port `qsfp2`; give one of qsfp0, qsfp1"), "{error}");
}

/// The file of a board whose port in use has a further key.
fn with_key(name: &str, key: &str) -> String {
    text(name).replacen("used = true\n", &format!("used = true\n{key}\n"), 1)
}

/// Pause frames are off unless the port has the key; then the page says so, and the shell has them.
#[test]
fn pause_frames_are_a_key_of_a_port() {
    for name in ["u50", "kc705", "kcu116"] {
        for (key, wanted) in [("", false), ("pause = false", false), ("pause = true", true)] {
            let board = Board::parse("board.toml", &with_key(name, key)).unwrap_or_else(|issues| panic!("{issues}"));
            let options = Options::of(&board, &Config::SIM, &Commit::unknown()).unwrap();
            assert_eq!((options.pause, options.built.build.pause()), (wanted, wanted), "{name}: {key}");
        }
    }
    let board = Board::parse("board.toml", &with_key("kcu116", "pause = true")).unwrap();
    let has_pauses = |board: &Board| {
        let shell = shell::shell(board, &Config::SIM, &Commit::unknown()).unwrap().expect("the board has a shell");
        shell.modules.iter().any(|module| module.name == "pause_send")
    };
    assert_eq!((has_pauses(&board), has_pauses(&Board::named("kcu116").unwrap())), (true, false));
    let error = Board::parse("board.toml", &with_key("kcu116", "pause = 1")).unwrap_err().to_string();
    let line = 1 + with_key("kcu116", "pause = 1").lines().position(|line| line == "pause = 1").unwrap();
    assert_eq!(error, format!("board.toml:{line}: invalid type: integer `1`, expected a boolean"));
}

#[test]
fn an_unknown_board_is_refused_with_the_names() {
    let error = Board::named("u200").unwrap_err().to_string();
    let wanted = "there is no board `u200`; give one of u50, u55c, u280, u250, kcu116, kc705";
    assert_eq!(error, format!("boards/u200/board.toml: {wanted}"));
}

#[test]
fn unknown_names_are_refused() {
    refused(&[
        ("u50", "xcu50-fsvh2104-2-e", "xcu51-fsvh2104-2-e", "part `xcu51-fsvh2104-2-e` is unknown; the shell knows \
            xcu50-fsvh2104-2-e, xcu55c-fsvh2892-2L-e, xcu280-fsvh2892-2L-e, xcu250-figd2104-2L-e, xcku5p-ffvb676-2-e, \
            xc7k325tffg900-2", "part = \"xcu51"),
        ("u50", "\"alveo\"", "\"alvea\"", "configuration `alvea` is unknown; give one of sim, kintex7, alveo, alveo32", "\"alvea\""),
        ("u50", "\"pcie\"", "\"pcie/2\"", "configuration `alveo` runs at 250 MHz, but the core clock is 125 MHz; change \
            core_clock or the configuration", "core_clock"),
        ("u50", "core_clock = \"pcie\"", "core_clock = \"pcie/3\"",
            "unknown variant `pcie/3`, expected `pcie` or `pcie/2`", "core_clock"),
        ("u50", "title =", "tilte =", "unknown field `tilte`, expected one of `name`, `title`, `part`, `board_part`, \
            `configuration`, `core_clock`, `sources`, `open`, `origin`, `device`, `pcie`, `mac`, `clock`, `free_running`, \
            `limits`, `banks`, `bitstream`, `flash`, `pins`", "tilte"),
        ("u50", "name = \"u50\"", "name = \"u52\"", "there is no pin table of a board `u52`; there are those of u50, u55c, \
            u280, u250, kcu116, kc705", "name = \"u52\""),
        ("u50", "title = \"", "title = \"\\n", "title has a line end or another control character", "title"),
        ("u50", "au50:part0", "au51:part0", "board_part `xilinx.com:au51:part0:1.3` is not xilinx.com:…u50:part0:VERSION",
            "board_part"),
    ]);
}

#[test]
fn a_missing_configuration_is_refused() {
    let bad = text("u50").replacen("configuration = \"alveo\"\n", "", 1);
    let error = Board::parse("board.toml", &bad).unwrap_err().to_string();
    assert_eq!(error, "board.toml:1: missing field `configuration`");
}

#[test]
fn rows_without_sources_are_refused() {
    let names = "board_xml, corundum, ds890, onic, pg194, taxi, xdc";
    let sentence = |s: &str| -> &'static str { format!("{s} {names}").leak() };
    refused(&[
        (
            "u50",
            "const = 0, sources = [\"taxi\", \"board_xml\"]",
            "const = 0, sources = []",
            sentence("pin `hbm_cattrip` has no source; name one of"),
            "hbm_cattrip",
        ),
        (
            "u50",
            "const = 0, sources = [\"taxi\", ",
            "const = 0, sources = [\"taxi\", \"hearsay\", ",
            sentence("pin `hbm_cattrip` names the source `hearsay`, which [origin] lacks; it has"),
            "hbm_cattrip",
        ),
        (
            "u50",
            "const = 0, sources = [\"taxi\", \"board_xml\"]",
            "const = 0, sources = [\"taxi\"]",
            "board_xml states pin J18 as `HBM_CATTRIP`; name board_xml among the sources",
            "hbm_cattrip",
        ),
        (
            "u50",
            "const = 0, sources = [\"taxi\", \"board_xml\"]",
            "const = 0",
            "missing field `sources`",
            "hbm_cattrip",
        ),
    ]);
}

#[test]
fn wrong_pins_are_refused() {
    refused(&[
        (
            "u50",
            "loc = \"E16\"",
            "loc = \"E18\"",
            "pin E18 belongs to `led[0]` already, in line 125; give `led[1]` its own",
            "led[1]",
        ),
        ("u50", "\"led[1]\"", "\"led[0]\"", "port `led[0]` has a pin already, in line 125", "E16"),
        ("u50", "\"led[2]\"", "\"led[3]\"", "bus `led` lacks a bit: its bits are 0 to 2 without a gap", "led[0]"),
        (
            "u50",
            "\"E16\", dir = \"out\"",
            "\"E16\", dir = \"inout\"",
            "bits of bus `led` differ in direction",
            "led[0]",
        ),
        ("u50", "loc = \"E16\"", "loc = \"E15\"", "pin E15 of `led[1]` is not in boards/packages/u50.csv", "led[1]"),
        (
            "u50",
            "loc = \"E16\", dir = \"out\", iostandard = \"LVCMOS18\"",
            "loc = \"E16\", dir = \"out\"",
            "`led[1]` at E16 has no iostandard, and E16 is no pin of a transceiver",
            "led[1]",
        ),
        (
            "u50",
            "loc = \"AL2\", dir",
            "loc = \"AL2\", iostandard = \"LVDS\", dir",
            "`pcie_rx_p[0]` at AL2 has the iostandard LVDS, but is a pin of a transceiver",
            "\"AL2\"",
        ),
        (
            "u50",
            "loc = \"E16\", dir = \"out\", iostandard = \"LVCMOS18\"",
            "loc = \"E16\", dir = \"out\", iostandard = \"LVCMOS15\"",
            "`led[1]` has the iostandard LVCMOS15, but taxi states LVCMOS18",
            "led[1]",
        ),
        (
            "u50",
            "\"LVDS\"",
            "\"LVDX\"",
            "iostandard LVDX of `board_clk_p` is unknown to the lint",
            "board_clk_p\", loc",
        ),
        (
            "u50",
            "pull = \"up\"",
            "const = 1",
            "`pcie_perst_n` is an input and has a const, drive or slew, which only outputs have",
            "pcie_perst_n\", loc",
        ),
        (
            "u50",
            "led[0]\", loc = \"E18\", dir = \"out\"",
            "led[0]\", loc = \"E18\", dqs_bias = true, dir = \"out\"",
            "`led[0]` has dqs_bias, which only the positive input of an LVDS pair has",
            "led[0]",
        ),
        (
            "u50",
            "pull = \"up\"",
            "dqs_bias = true, pull = \"up\"",
            "`pcie_perst_n` has dqs_bias, which only the positive input of an LVDS pair has",
            "pcie_perst_n\", loc",
        ),
        ("u50", "const = 1", "const = 2", "`sc_uart_txd` has a const that is neither 0 nor 1", "sc_uart_txd"),
        ("u50", "board_clk_n", "board_clk_m", "`board_clk_p` lacks its partner `board_clk_n`", "board_clk_p\", loc"),
        (
            "u50",
            "loc = \"G16\", dir = \"in\", iostandard = \"LVDS\"",
            "loc = \"G16\", dir = \"in\", iostandard = \"LVDS_25\"",
            "`board_clk_p` and `board_clk_n` differ in iostandard or direction",
            "board_clk_p\", loc",
        ),
        (
            "u50",
            "loc = \"G16\"",
            "loc = \"BC18\"",
            "pin G17 of `board_clk_p` is not the positive one of a pair with BC18",
            "board_clk_p\", loc",
        ),
    ]);
}

#[test]
fn pins_of_the_kintex_7_must_be_those_of_its_package() {
    let package = package("xc7k325tffg900-2").unwrap();
    assert_eq!(package.len(), 582);
    let board = Board::named("kc705").unwrap();
    let table = Table::of(&board).unwrap();
    for (loc, pin) in table.pins() {
        assert_eq!(package.get(loc), Some(&(pin.bank.unwrap(), pin.function.clone())), "{loc}");
    }
}

#[test]
fn supplies_that_differ_in_a_bank_are_refused() {
    refused(&[
        (
            "kc705",
            "loc = \"AB8\", dir = \"out\", iostandard = \"LVCMOS15\"",
            "loc = \"AB8\", dir = \"out\", iostandard = \"LVCMOS25\"",
            "`led[0]` needs 2.5 V for LVCMOS25, but bank 33 has 1.5 V",
            "led[0]",
        ),
        (
            "kc705",
            "loc = \"AB8\", dir = \"out\", iostandard = \"LVCMOS15\"",
            "loc = \"AB8\", dir = \"out\", iostandard = \"LVCMOS25\"",
            "`led[1]` needs 1.5 V, but `led[0]` of the same bank 33 needs 2.5 V",
            "led[1]",
        ),
        ("kc705", "33 = 1.5", "33 = 1.8", "`led[0]` needs 1.5 V for LVCMOS15, but bank 33 has 1.8 V", "led[0]"),
    ]);
}

#[test]
fn lanes_in_another_order_are_refused() {
    refused(&[
        (
            "u50",
            "loc = \"AL2\"",
            "loc = \"AM4\"",
            "lane order: `pcie_rx_p[0]` needs channel 3 of quad 227, but pin AM4 is MGTYRXP2_227",
            "pcie_rx_p[0]",
        ),
        (
            "u50",
            "loc = \"AL2\"",
            "loc = \"AM4\"",
            "board_xml calls pin AM4 `pcie_rx1_p`, which is another lane than `pcie_rx_p[0]`",
            "pcie_rx_p[0]",
        ),
        (
            "u50",
            "loc = \"AL2\"",
            "loc = \"AL1\"",
            "pin AL1 of `pcie_rx_p[0]` is not the positive one of a pair with AL1",
            "pcie_rx_p[0]",
        ),
        (
            "u280",
            "loc = \"L53\"",
            "loc = \"G53\"",
            "lane order: `qsfp0_rx_p[0]` needs channel 0 of quad 134, but pin G53 is MGTYRXP0_135",
            "qsfp0_rx_p[0]",
        ),
        (
            "u50",
            "[227, 226, 225, 224]",
            "[224, 225, 226, 227]",
            "gt_lane0 is X1Y15, but lane 0 in quad 224 has the channel X1Y3",
            "gt_lane0",
        ),
        ("u50", "[227, 226, 225, 224]", "[227, 226, 225]", "16 lanes need 4 quads, but quads has 3", "quads"),
        (
            "u50",
            "quad = 131",
            "quad = 130",
            "gt_lane0 X0Y28 of `qsfp0` is no channel of quad 130 with room for 4 lanes",
            "X0Y28",
        ),
        (
            "u50",
            "CMACE4_X0Y4",
            "CMACE4_X0Y3",
            "site CMACE4_X0Y3 of `qsfp0` is not the hard MAC of quad 131, which is CMACE4_X0Y4",
            "CMACE4_X0Y3",
        ),
        (
            "u50",
            "site = \"CMACE4_X0Y4\"\n",
            "",
            "site (none) of `qsfp0` is not the hard MAC of quad 131, which is CMACE4_X0Y4",
            "[[mac]]",
        ),
        ("u50", "\"qsfp0_tx_n[3]\"", "\"qsfp0_tx_n[4]\"", "`qsfp0_tx_n[3]` has no pin", "qsfp0 = ["),
    ]);
}

#[test]
fn wrong_clocks_are_refused() {
    let again = "[[clock]]\nname = \"again\"\nport = \"board_clk_p\"\nmhz = 99.0\nkind = \"fabric\"\nsources = \
        [\"taxi\"]\n\n[banks]";
    refused(&[
        (
            "u50",
            "[banks]",
            again,
            "clock `again` is constrained twice, by name or by port `board_clk_p`",
            "last: [[clock]]",
        ),
        (
            "kcu116",
            "port = \"board_clk_p\"\nmhz",
            "port = \"sfp_refclk_p\"\nmhz",
            "`board_clk_p` is a clock without a [[clock]]",
            "board_clk_p\", loc",
        ),
        (
            "u50",
            "port = \"board_clk_p\"\nmhz",
            "port = \"board_clk_n\"\nmhz",
            "`board_clk_p` is a clock without a [[clock]]",
            "board_clk_p\", loc",
        ),
        (
            "u50",
            "mhz = 161.1328125",
            "mhz = 161132.8125",
            "clock `qsfp0_refclk` has 161132.8125 MHz; a clock of a pin has 1 to 1000",
            "161132",
        ),
        (
            "u50",
            "refclk = \"qsfp0_refclk\"",
            "refclk = \"board_clk\"",
            "`qsfp0` has the reference clock `board_clk`, which no [[clock]] of kind transceiver is",
            "refclk = \"board_clk\"",
        ),
        (
            "u280",
            "refclk = \"qsfp0_refclk\"",
            "refclk = \"pcie_refclk\"",
            "reference clock `pcie_refclk` enters at quad 225, more than two from quad 134 of `qsfp0`",
            "last: refclk = \"pcie_refclk\"",
        ),
        (
            "u250",
            "divide = 2",
            "divide = 1",
            "the free-running clock has 156.25 MHz after the divisor 1; it needs 50 to 125, divided by 1 or 2",
            "divide",
        ),
        (
            "u250",
            "clock = \"board_clk\"",
            "clock = \"pcie_refclk\"",
            "the free-running clock `pcie_refclk` is no [[clock]] of kind fabric",
            "clock = \"pcie_refclk\"",
        ),
    ]);
}

#[test]
fn wrong_configuration_is_refused() {
    refused(&[
        (
            "u50",
            "cfgbvs = \"GND\"",
            "cfgbvs = \"VCCO\"",
            "cfgbvs VCCO and config_voltage 1.8 do not fit: UltraScale+ needs GND and 1.8",
            "config_voltage",
        ),
        (
            "kc705",
            "config_voltage = \"2.5\"",
            "config_voltage = \"1.8\"",
            "cfgbvs VCCO and config_voltage 1.8 do not fit: VCCO needs 2.5 or 3.3, GND 1.5 or 1.8",
            "config_voltage",
        ),
        (
            "u50",
            "offset = 0x0100_2000",
            "offset = 0x0100_0000",
            "flash offset 0x01000000 overwrites the maker's image, which ends at 0x01002000",
            "offset",
        ),
        (
            "u50",
            "offset = 0x0100_2000",
            "offset = 0x0800_0000",
            "flash offset 0x08000000 is outside of its 128 MiB",
            "offset",
        ),
        (
            "u50",
            "golden_end = 0x0100_2000",
            "golden_end = 0",
            "an Alveo has the maker's image at the begin of its flash; golden_end must not be 0",
            "golden_end",
        ),
        (
            "u50",
            "interface = \"SPIx4\"",
            "interface = \"SPIx8\"",
            "interface SPIx8, config_mode and SPI_BUSWIDTH do not fit",
            "interface",
        ),
        (
            "u50",
            "\"BITSTREAM.CONFIG.SPI_32BIT_ADDR\" = \"YES\"",
            "\"BITSTREAM.CONFIG.SPI_32BIT_ADDR\" = \"NO\"",
            "a flash of 128 MiB and SPI_32BIT_ADDR do not fit: above 16 MiB an address has 32 bits",
            "size_mib",
        ),
        (
            "u50",
            "\"BITSTREAM.GENERAL.COMPRESS\"",
            "\"COMPRESS\"",
            "option `COMPRESS` is no property BITSTREAM.…",
            "COMPRESS",
        ),
        (
            "u50",
            "\"BITSTREAM.GENERAL.COMPRESS\"",
            "\"BITSTREAM.GENERAL.{}\"",
            "option `BITSTREAM.GENERAL.{}` = `TRUE` has a character that is no letter, digit, `.`, `_` or `-`",
            "{}",
        ),
        (
            "u50",
            "\"63.8\"",
            "\"63.8 [exit]\"",
            "option `BITSTREAM.CONFIG.CONFIGRATE` = `63.8 [exit]` has a character that is no letter, digit, `.`, `_` or `-`",
            "CONFIGRATE",
        ),
        (
            "u50",
            "width_bits = 512",
            "width_bits = 256",
            "generation 3 with 16 lanes brings 128000 Mb/s, but 256 bits at 250 MHz are 64000 Mb/s",
            "width_bits",
        ),
        (
            "u50",
            "ip = \"xdma\"",
            "ip = \"pcie_7x\"",
            "pcie_7x is the block of the 7 series, xdma as a bridge that of UltraScale+",
            "ip = ",
        ),
        ("u50", "pull = \"up\"", "pull = \"down\"", "perst `pcie_perst_n` is no input with pull = \"up\"", "perst = "),
        ("u50", "reads = 32", "reads = 256", "reads is 256; the host blocks take 1 to 32", "reads"),
        (
            "u50",
            "address_bits = 48",
            "address_bits = 64",
            "address_bits is 64; the window of the bridge has 32 to 48",
            "address_bits",
        ),
        ("u50", "used = true", "used = false", "0 network ports are in use; the shell uses one", "used"),
        ("u280", "used = false", "used = true", "2 network ports are in use; the shell uses one", "used"),
    ]);
}

#[test]
fn an_undriven_temperature_trip_is_refused() {
    let sentence = "`hbm_cattrip` must be an output with const = 0 and pull = \"down\", or the card cuts its power";
    for board in ["u50", "u55c", "u280"] {
        refused(&[
            (board, "const = 0, ", "", sentence, "hbm_cattrip"),
            (board, "const = 0, ", "const = 1, ", sentence, "hbm_cattrip"),
            (board, "pull = \"down\"", "pull = \"up\"", sentence, "hbm_cattrip"),
            (
                board,
                "\"hbm_cattrip\"",
                "\"hbm_trip\"",
                "the device has HBM: a pin `hbm_cattrip` with const = 0 is needed, or \
                the card cuts its power",
                "board = [",
            ),
        ]);
    }
}

/// Every pin has two sources at least.
#[test]
fn no_pin_has_one_source() {
    for name in Board::names() {
        let board = Board::named(name).unwrap();
        let one = board.pins.values().flatten().filter(|pin| pin.sources.len() < 2);
        assert_eq!(one.map(|pin| pin.port.as_str()).collect::<Vec<_>>(), [""; 0], "{name}");
    }
}

/// The pins that hold back a laser are inverted on both boards, so 1 lets it shine.
#[test]
fn lasers_are_on() {
    for name in ["kcu116", "kc705"] {
        let board = Board::named(name).unwrap();
        assert_eq!(board.pin("sfp0_tx_disable_n").and_then(|pin| pin.constant), Some(1), "{name}");
    }
}
