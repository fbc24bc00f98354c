//! A board.

use super::rows::*;
use super::{file, Issue, Issues};
use std::collections::BTreeMap;

/// The boards of the project: name and file.
const FILES: [(&str, &str); 6] = [
    ("u50", include_str!("../../../u50/board.toml")),
    ("u55c", include_str!("../../../u55c/board.toml")),
    ("u280", include_str!("../../../u280/board.toml")),
    ("u250", include_str!("../../../u250/board.toml")),
    ("kcu116", include_str!("../../../kcu116/board.toml")),
    ("kc705", include_str!("../../../kc705/board.toml")),
];

/// A board. See the tables of [`rows`](super) for units.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// Name: that of its folder, of its tops and of the command line.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Part, as Vivado names it.
    pub part: String,
    /// Board definition, as Vivado names it.
    pub board_part: String,
    /// Configuration of the NIC.
    pub configuration: String,
    /// Clock of the core.
    pub core_clock: CoreClock,
    /// Sources of the fields above.
    pub sources: Vec<String>,
    /// What only a reader with Vivado or the board can find out.
    pub open: Vec<String>,
    /// Sources, by the name that rows use.
    pub origins: BTreeMap<String, Origin>,
    /// What the device has.
    pub device: Device,
    /// PCI Express.
    pub pcie: Pcie,
    /// Ports of the network.
    pub macs: Vec<Mac>,
    /// Clocks that come over pins.
    pub clocks: Vec<Clock>,
    /// The clock of initialisation.
    pub free_running: FreeRunning,
    /// What the host block can bear.
    pub limits: Limits,
    /// Supply of the banks, as far as sources state it.
    pub banks: Banks,
    /// Configuration of the device.
    pub bitstream: Bitstream,
    /// Configuration flash.
    pub flash: Flash,
    /// Pins by group: `board`, `pcie`, or the name of a port of the network.
    pub pins: BTreeMap<String, Vec<Pin>>,
    /// File from which the board was read, as given by the caller.
    pub path: String,
    /// Text of that file, in which issues look lines up.
    pub(crate) text: String,
}

impl Board {
    /// Names of the boards of the project.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// The boards of the project.
    pub fn all() -> Result<Vec<Self>, Issues> {
        Self::names().map(Self::named).collect()
    }

    /// The board of that name; an error names the boards that exist.
    pub fn named(name: &str) -> Result<Self, Issues> {
        let Some((_, text)) = FILES.iter().find(|(n, _)| *n == name) else {
            let names: Vec<_> = Self::names().collect();
            return Err(Issue {
                path: format!("boards/{name}/board.toml"),
                line: 0,
                text: format!("there is no board `{name}`; give one of {}", names.join(", ")),
            }
            .into());
        };
        Self::parse(&format!("boards/{name}/board.toml"), text)
    }

    /// The board of a file's text; `path` is for messages. Every rule of the lint is checked.
    pub fn parse(path: &str, text: &str) -> Result<Self, Issues> {
        let board = file::read(path, text)?;
        let issues = crate::lint::lint(&board);
        if issues.is_empty() {
            Ok(board)
        } else {
            Err(Issues(issues))
        }
    }

    /// Configuration of the NIC.
    ///
    /// # Panics
    /// If there is none of that name, which the lint excludes.
    pub fn config(&self) -> Config {
        Config::by_name(&self.configuration).expect("the lint has checked the configuration")
    }

    /// The port of the network that the shell uses.
    ///
    /// # Panics
    /// If none is in use, which the lint excludes.
    pub fn mac(&self) -> &Mac {
        self.macs.iter().find(|m| m.used).expect("the lint has checked that a port is used")
    }

    /// The board with another port of the network in use; an error names the ports.
    pub fn with_mac(mut self, name: &str) -> Result<Self, Issues> {
        if !self.macs.iter().any(|m| m.name == name) {
            let names: Vec<_> = self.macs.iter().map(|m| m.name.as_str()).collect();
            let text = format!("there is no network port `{name}`; give one of {}", names.join(", "));
            return Err(Issue { path: self.path, line: 0, text }.into());
        }
        self.macs.iter_mut().for_each(|m| m.used = m.name == name);
        Ok(self)
    }

    /// Whether the pins of a group are connected: not those of a port of the network that is not in use.
    pub fn group_used(&self, group: &str) -> bool {
        self.macs.iter().all(|m| m.name != group || m.used)
    }

    /// Pins of the top, group by group.
    pub fn used_pins(&self) -> impl Iterator<Item = &Pin> {
        self.pins.iter().filter(|(group, _)| self.group_used(group)).flat_map(|(_, pins)| pins)
    }

    /// Clocks of the top: those whose port is among [`used_pins`](Self::used_pins).
    pub fn used_clocks(&self) -> impl Iterator<Item = &Clock> {
        self.clocks.iter().filter(|c| self.used_pins().any(|p| p.port == c.port))
    }

    /// The clock of that name.
    pub fn clock(&self, name: &str) -> Option<&Clock> {
        self.clocks.iter().find(|c| c.name == name)
    }

    /// The pin of a port, used or not.
    pub fn pin(&self, port: &str) -> Option<&Pin> {
        self.pins.values().flatten().find(|p| p.port == port)
    }

    /// Core clock, MHz.
    pub fn core_mhz(&self) -> u32 {
        self.pcie.user_clock_mhz / self.core_clock.divide() as u32
    }

    /// Whether the device is of the 7 series; the others are UltraScale+.
    pub fn series7(&self) -> bool {
        self.part.starts_with("xc7")
    }

    /// Whether the device has HBM, whose temperature trip the board watches.
    pub fn hbm(&self) -> bool {
        ["xcu280-", "xcu50-", "xcu55c-"].iter().any(|p| self.part.starts_with(p))
    }

    /// Line of a key, from a line on: that of its first `key =`; the line itself if there is none.
    pub(crate) fn line_of(&self, from: usize, key: &str) -> usize {
        let is_key = |l: &str| l.trim_start().strip_prefix(key).is_some_and(|r| r.trim_start().starts_with('='));
        let found = self.text.lines().enumerate().skip(from.saturating_sub(1)).find(|(_, l)| is_key(l));
        found.map_or(from, |(i, _)| i + 1)
    }

    /// An issue of this file.
    pub(crate) fn issue(&self, line: usize, text: impl Into<String>) -> Issue {
        Issue { path: self.path.clone(), line, text: text.into() }
    }
}
