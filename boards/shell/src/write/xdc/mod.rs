//! Constraints for Vivado: pins, clocks, crossings and configuration of a board.
//!
//! [`text`] writes all, [`pins`], [`timing`] and [`config`] a part each. Pins, clocks of pins and the configuration come
//! from the board file; clocks of vendor blocks and the crossings come from the shell, as [`Timing`]. [`commands`] reads
//! constraints back.
//!
//! There is no `set_clock_groups`: it would silence the bounds of crossings. A pair of clocks without a crossing has no
//! path, and Vivado's report of clock interaction must show none.

mod parse;

pub use parse::{commands, Command, Word};

use crate::data::{Board, ClockKind, Direction, Pin, Pull, Slew};
use std::fmt::Write;

/// A clock that a vendor block or a primitive makes; Vivado finds it by the pin that drives it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellClock {
    /// Name in [`Crossing`]s.
    pub name: String,
    /// Pin that drives the clock, from the top down, such as `xdma/axi_aclk`.
    pub pin: String,
    /// Frequency, MHz.
    pub mhz: f64,
}

/// What a crossing carries, and so what keeps it safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossingKind {
    /// Bits of which one at most changes at a time (Gray code): delay and skew are below the shorter period.
    Gray,
    /// A single bit: the delay is below the shorter period.
    Level,
    /// Bits that stand still when they are taken: the delay is below the period of the receiving clock.
    Held,
    /// Bits that stand still while the receiver works: no bound.
    Static,
}

/// A path from one clock to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// Clock of the sending registers: a clock of the board or of the shell.
    pub from: String,
    /// Clock of the receiving registers.
    pub to: String,
    /// Pattern of the receiving registers' names, over the whole hierarchy, such as `*rx_cross/*head_sync*`.
    pub cells: String,
    /// What is carried. Registers of [`Gray`](CrossingKind::Gray) and [`Level`](CrossingKind::Level) are
    /// synchronisers and receive `ASYNC_REG`.
    pub kind: CrossingKind,
}

/// What the shell of a board adds to its constraints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timing {
    /// Clocks of vendor blocks and primitives.
    pub clocks: Vec<ShellClock>,
    /// Crossings.
    pub crossings: Vec<Crossing>,
}

/// All constraints of a board; an error names a crossing whose clock is unknown, or a clock that has two meanings.
pub fn text(board: &Board, shell: &Timing) -> Result<String, String> {
    Ok(format!("{}\n{}\n{}", config(board), pins(board), timing(board, shell)?))
}

/// Header of a file of constraints.
fn header(board: &Board, what: &str) -> String {
    format!("# {}: {what}. Generated from {}; edit that file instead.\n", board.title, board.path)
}

/// Pins of the top.
pub fn pins(board: &Board) -> String {
    let mut text = header(board, "pins");
    let groups = board.pins.iter().filter(|(group, _)| board.group_used(group));
    for (group, pins) in groups {
        let _ = writeln!(text, "\n# Group {group}.");
        for pin in pins {
            let _ = writeln!(text, "set_property -dict {{{}}} [get_ports {{{}}}]", properties(pin), pin.port);
        }
    }
    text
}

/// Properties of a pin: names and values by turns.
fn properties(pin: &Pin) -> String {
    let mut words = vec![format!("PACKAGE_PIN {}", pin.loc)];
    words.extend(pin.iostandard.iter().map(|s| format!("IOSTANDARD {s}")));
    words.extend(pin.dqs_bias.then(|| "DQS_BIAS TRUE".to_owned()));
    words.extend(pin.drive.iter().map(|ma| format!("DRIVE {ma}")));
    words.extend(pin.slew.iter().map(|slew| match slew {
        Slew::Slow => "SLEW SLOW".to_owned(),
        Slew::Fast => "SLEW FAST".to_owned(),
    }));
    words.extend(pin.pull.iter().map(|pull| match pull {
        Pull::Up => "PULLTYPE PULLUP".to_owned(),
        Pull::Down => "PULLTYPE PULLDOWN".to_owned(),
    }));
    words.join(" ")
}

/// Configuration of the device.
pub fn config(board: &Board) -> String {
    let bitstream = &board.bitstream;
    let mut text = header(board, "configuration");
    let fixed = [
        ("CFGBVS", &bitstream.cfgbvs),
        ("CONFIG_VOLTAGE", &bitstream.config_voltage),
        ("CONFIG_MODE", &bitstream.config_mode),
    ];
    let options = bitstream.options.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in fixed.into_iter().chain(options) {
        let _ = writeln!(text, "set_property {name} {value} [current_design]");
    }
    if let Some(watts) = bitstream.power_budget_w {
        let _ = writeln!(text, "set_operating_conditions -design_power_budget {watts}");
    }
    text
}

/// Period of a frequency as constraints write it, ns: rounded down, so that a rounded clock is not slower.
pub fn period(mhz: f64) -> f64 {
    (1e6 / mhz).floor() / 1000.0
}

/// Clocks, asynchronous pins, and crossings; an error as of [`text`].
pub fn timing(board: &Board, shell: &Timing) -> Result<String, String> {
    let mut text = header(board, "clocks and crossings");
    text.push_str("\n# Clocks of pins. Those of vendor blocks are made by the constraints of the blocks.\n");
    for clock in board.used_clocks() {
        let (name, port) = (&clock.name, &clock.port);
        let _ = writeln!(text, "create_clock -name {name} -period {:.3} [get_ports {{{port}}}]", period(clock.mhz));
    }
    text.push_str("\n# Pins without a clock.\n");
    for pin in board.used_pins().filter(|p| p.iostandard.is_some()) {
        let clock = board.clocks.iter().any(|c| c.kind == ClockKind::Fabric && pin.bus().starts_with(&c.name));
        if clock {
            continue;
        }
        if pin.dir != Direction::In {
            let _ = writeln!(text, "set_false_path -to [get_ports {{{}}}]", pin.port);
        }
        if pin.dir != Direction::Out {
            let _ = writeln!(text, "set_false_path -from [get_ports {{{}}}]", pin.port);
        }
    }
    if let Some(twice) = shell.clocks.iter().find(|c| board.clock(&c.name).is_some()) {
        return Err(format!(
            "clock `{}` is one of the board and one of the shell; rename that of the shell",
            twice.name
        ));
    }
    if !shell.crossings.is_empty() {
        text.push_str("\n# Crossings.\n");
    }
    for crossing in &shell.crossings {
        text.push_str(&crossing_text(board, shell, crossing)?);
    }
    Ok(text)
}

/// A clock of the board or of the shell: how constraints find it, and its frequency.
fn clock(board: &Board, shell: &Timing, name: &str) -> Result<(String, f64), String> {
    if let Some(clock) = board.used_clocks().find(|c| c.name == name) {
        return Ok((format!("[get_clocks {{{name}}}]"), clock.mhz));
    }
    let known = shell.clocks.iter().find(|c| c.name == name);
    known.map(|c| (format!("[get_clocks -of_objects [get_pins {{{}}}]]", c.pin), c.mhz)).ok_or_else(|| {
        let mut names: Vec<_> = board.used_clocks().map(|c| c.name.as_str()).collect();
        names.extend(shell.clocks.iter().map(|c| c.name.as_str()));
        format!("a crossing of `{}` has the clock `{name}`, which is none of {}", board.name, names.join(", "))
    })
}

fn crossing_text(board: &Board, shell: &Timing, crossing: &Crossing) -> Result<String, String> {
    let (from, from_mhz) = clock(board, shell, &crossing.from)?;
    let (_, to_mhz) = clock(board, shell, &crossing.to)?;
    let cells = format!("[get_cells -hierarchical -filter {{NAME =~ {}}}]", crossing.cells);
    let bound = match crossing.kind {
        CrossingKind::Held => period(to_mhz),
        _ => period(from_mhz.max(to_mhz)),
    };
    let mut text = format!("# {} to {}\n", crossing.from, crossing.to);
    if matches!(crossing.kind, CrossingKind::Gray | CrossingKind::Level) {
        let _ = writeln!(text, "set_property ASYNC_REG TRUE {cells}");
    }
    match crossing.kind {
        CrossingKind::Static => {
            let _ = writeln!(text, "set_false_path -from {from} -to {cells}");
        }
        _ => {
            let _ = writeln!(text, "set_max_delay -datapath_only -from {from} -to {cells} {bound:.3}");
        }
    }
    if crossing.kind == CrossingKind::Gray {
        let _ = writeln!(text, "set_bus_skew -from {from} -to {cells} {bound:.3}");
    }
    Ok(text)
}
