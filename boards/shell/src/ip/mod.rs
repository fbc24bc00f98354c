//! Vendor blocks: one table each.
//!
//! A table is written once, with `vendor_block!`: the ports with direction, width, clock and use. From the table come the
//! structure that a shell instantiates, the declaration for Verilator and yosys ([`crate::write::stub`]), the list of ports
//! that bus-functional models attach to, and the list that `build.tcl` compares with the generated IP. The settings of an IP
//! have names with allowed values ([`Setting`]); from them comes the `create_ip` text ([`crate::write::tcl`]).
//!
//! | module | block |
//! |---|---|
//! | [`xdma`] | PCIe with AXI4 on both sides, UltraScale+ |
//! | [`cmac`] | 100G Ethernet, UltraScale+ |
//! | [`gty`] | one transceiver with the 64b/66b gearbox, UltraScale+ |
//! | [`pcie7`] | PCIe with TLPs, 7 series |
//! | [`pcs_pma`] | 10G PCS and transceiver, 7 series |
//! | [`primitives`] | buffers and the like, which need no IP |
//! | [`rules`] | what Vivado accepts and what still makes a card fail |

#[macro_use]
mod table;

mod board;
pub mod cmac;
pub mod gty;
pub mod pcie7;
pub mod pcs_pma;
#[allow(non_snake_case)]
pub mod primitives;
pub mod rules;
mod setting;
pub mod xdma;

pub use board::{instances, subsystem};
pub use setting::{Allowed, Setting};
pub use table::{Direction, Port, Use};

/// An IP of Vivado's catalogue.
#[derive(Debug, PartialEq, Eq)]
pub struct Ip {
    /// Name in the catalogue, as `create_ip -name` takes it.
    pub name: &'static str,
    /// Versions whose names and ports the table is taken from.
    pub versions: &'static [&'static str],
    /// What the licence is, if the IP needs one that does not come with Vivado.
    pub licence: Option<&'static str>,
    /// Names and allowed values of the settings.
    pub settings: &'static [Setting],
    /// Where names and ports are from.
    pub source: &'static str,
}

/// An IP with the settings of one board: a module of the design.
#[derive(Debug, Clone)]
pub struct Instance {
    /// Name of the generated module; also the prefix of its signals at the ports of the shell.
    pub module: String,
    /// The IP.
    pub ip: &'static Ip,
    /// Name and value of each setting, in the order in which they are set.
    pub settings: Vec<(&'static str, String)>,
    /// Ports of the generated module.
    pub ports: Vec<Port>,
}

impl Instance {
    /// Checks names and values against the table, and the rules of [`rules`].
    ///
    /// # Errors
    /// All breaches, a sentence each.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mut breaches = vec![];
        for (at, (name, value)) in self.settings.iter().enumerate() {
            match self.ip.settings.iter().find(|setting| setting.name == *name) {
                None => breaches
                    .push(format!("{}: `{}` has no setting `{name}`; correct the name", self.module, self.ip.name)),
                Some(setting) if !setting.allowed.takes(value) => {
                    let allowed = &setting.allowed;
                    breaches.push(format!("{}: `{name}` cannot be `{value}`; give {allowed}", self.module));
                }
                Some(_) => {}
            }
            if self.settings[..at].iter().any(|(other, _)| other == name) {
                breaches.push(format!("{}: `{name}` is set twice; keep one", self.module));
            }
        }
        breaches.extend(rules::breaches(self));
        match breaches.is_empty() {
            true => Ok(()),
            false => Err(breaches),
        }
    }

    /// The value of a setting.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The ports that the shell has too, under their names there: the module's name, `_`, the port's name.
    pub fn shell_ports(&self) -> impl Iterator<Item = (String, &Port)> {
        let own = self.ports.iter().filter(|port| port.used == Use::Shell);
        own.map(|port| (format!("{}_{}", self.module, port.name), port))
    }
}
