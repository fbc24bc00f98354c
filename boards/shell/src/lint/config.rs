//! Configuration: voltages, flash, limits of the host block, and the temperature trip of HBM.

use crate::data::{Board, Direction, HostIp, Issue, Pull};

pub(super) fn check(board: &Board) -> Vec<Issue> {
    let mut issues = Vec::new();
    voltage(board, &mut issues);
    flash(board, &mut issues);
    host(board, &mut issues);
    cattrip(board, &mut issues);
    let used = board.macs.iter().filter(|m| m.used).count();
    if used != 1 {
        let line = board.macs.first().map_or(0, |m| board.line_of(m.line, "used"));
        issues.push(board.issue(line, format!("{used} network ports are in use; the shell uses one")));
    }
    let board_part: Vec<_> = board.board_part.split(':').collect();
    if board_part.len() != 4 || board_part[0] != "xilinx.com" || !board_part[1].ends_with(&board.name) {
        let text = format!("board_part `{}` is not xilinx.com:…{}:part0:VERSION", board.board_part, board.name);
        issues.push(board.issue(board.line_of(1, "board_part"), text));
    }
    issues
}

/// CFGBVS says which of two ranges the configuration banks have: VCCO is 2.5 or 3.3 V, GND is 1.5 or 1.8 V.
fn voltage(board: &Board, issues: &mut Vec<Issue>) {
    let bitstream = &board.bitstream;
    let allowed: &[&str] = match (bitstream.cfgbvs.as_str(), board.series7()) {
        ("VCCO", true) => &["2.5", "3.3"],
        ("GND", true) => &["1.5", "1.8"],
        ("GND", false) => &["1.8"],
        _ => &[],
    };
    if !allowed.contains(&bitstream.config_voltage.as_str()) {
        let text = format!(
            "cfgbvs {} and config_voltage {} do not fit: {}",
            bitstream.cfgbvs,
            bitstream.config_voltage,
            if board.series7() { "VCCO needs 2.5 or 3.3, GND 1.5 or 1.8" } else { "UltraScale+ needs GND and 1.8" }
        );
        issues.push(board.issue(board.line_of(bitstream.line, "config_voltage"), text));
    }
    // A name and its value stand bare in Tcl.
    let word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    for (name, value) in &bitstream.options {
        let text = if !name.starts_with("BITSTREAM.") {
            format!("option `{name}` is no property BITSTREAM.…")
        } else if !word(name) || !word(value) {
            format!("option `{name}` = `{value}` has a character that is no letter, digit, `.`, `_` or `-`")
        } else {
            continue;
        };
        issues.push(board.issue(board.line_of(bitstream.line, &format!("\"{name}\"")), text));
    }
}

fn flash(board: &Board, issues: &mut Vec<Issue>) {
    let flash = &board.flash;
    let offset = board.line_of(flash.line, "offset");
    let bytes = u64::from(flash.size_mib) << 20;
    if flash.offset < flash.golden_end {
        let text = format!(
            "flash offset {:#010x} overwrites the maker's image, which ends at {:#010x}",
            flash.offset, flash.golden_end
        );
        issues.push(board.issue(offset, text));
    }
    if u64::from(flash.offset) >= bytes {
        issues.push(
            board
                .issue(offset, format!("flash offset {:#010x} is outside of its {} MiB", flash.offset, flash.size_mib)),
        );
    }
    if board.configuration == "alveo" && flash.golden_end == 0 {
        let text = "an Alveo has the maker's image at the begin of its flash; golden_end must not be 0";
        issues.push(board.issue(board.line_of(flash.line, "golden_end"), text));
    }
    let option = |name: &str| board.bitstream.options.get(&format!("BITSTREAM.CONFIG.{name}")).map(String::as_str);
    let width = flash.interface.strip_prefix("SPIx");
    if option("SPI_BUSWIDTH") != width || flash.interface != board.bitstream.config_mode {
        let text = format!("interface {}, config_mode and SPI_BUSWIDTH do not fit", flash.interface);
        issues.push(board.issue(board.line_of(flash.line, "interface"), text));
    }
    if (flash.size_mib > 16) != (option("SPI_32BIT_ADDR") == Some("YES")) {
        let text = format!(
            "a flash of {} MiB and SPI_32BIT_ADDR do not fit: above 16 MiB an address has 32 bits",
            flash.size_mib
        );
        issues.push(board.issue(board.line_of(flash.line, "size_mib"), text));
    }
}

fn host(board: &Board, issues: &mut Vec<Issue>) {
    let (pcie, limits) = (&board.pcie, &board.limits);
    // Payload bits per nanosecond of a lane: 5 GT/s with 8b/10b, 8 GT/s with 128b/130b.
    let lane: u128 = match pcie.gen {
        1 => 2,
        2 => 4,
        3 => 8,
        _ => 0,
    };
    // A file may have any numbers; products of three of them fit 128 bits.
    let wire = lane * pcie.lanes as u128 * 1000;
    let user = pcie.width_bits as u128 * u128::from(pcie.user_clock_mhz);
    if wire != user {
        let text = format!(
            "generation {} with {} lanes brings {} Mb/s, but {} bits at {} MHz are {user} Mb/s",
            pcie.gen, pcie.lanes, wire, pcie.width_bits, pcie.user_clock_mhz
        );
        issues.push(board.issue(board.line_of(pcie.line, "width_bits"), text));
    }
    if (pcie.ip == HostIp::Pcie7x) != board.series7() {
        let text = "pcie_7x is the block of the 7 series, xdma as a bridge that of UltraScale+";
        issues.push(board.issue(board.line_of(pcie.line, "ip"), text));
    }
    let perst = board.pin(&pcie.perst);
    if perst.is_none_or(|p| p.dir != Direction::In || p.pull != Some(Pull::Up)) {
        let text = format!("perst `{}` is no input with pull = \"up\"", pcie.perst);
        issues.push(board.issue(board.line_of(pcie.line, "perst"), text));
    }
    for (name, value) in [("reads", limits.reads), ("writes", limits.writes)] {
        if !(1..=32).contains(&value) {
            let text = format!("{name} is {value}; the host blocks take 1 to 32");
            issues.push(board.issue(board.line_of(limits.line, name), text));
        }
    }
    if !(32..=48).contains(&limits.address_bits) {
        let text = format!("address_bits is {}; the window of the bridge has 32 to 48", limits.address_bits);
        issues.push(board.issue(board.line_of(limits.line, "address_bits"), text));
    }
}

/// A card with HBM cuts its power when HBM_CATTRIP is high, and an undriven pin is high.
fn cattrip(board: &Board, issues: &mut Vec<Issue>) {
    if !board.hbm() {
        return;
    }
    let Some(pin) = board.pin("hbm_cattrip") else {
        let text = "the device has HBM: a pin `hbm_cattrip` with const = 0 is needed, or the card cuts its power";
        issues.push(board.issue(board.line_of(1, "pins").max(board.line_of(1, "board")), text));
        return;
    };
    if pin.dir != Direction::Out || pin.constant != Some(0) || pin.pull != Some(Pull::Down) {
        let text = "`hbm_cattrip` must be an output with const = 0 and pull = \"down\", or the card cuts its power";
        issues.push(board.issue(pin.line, text));
    }
}
