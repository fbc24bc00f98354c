//! Standard programs against handlers: a served NIC whose wire is a TAP interface, and a client in the network namespace of that interface.
//!
//! The namespace belongs to one thread and the programs that the thread starts. It has no name, so nothing is left of it when they have
//! ended, however they end. The simulated NIC runs at a fixed pace, so what a client measures by the machine's clock is simulated time
//! times a known factor.

mod bench;
mod clients;
mod figure;
mod plot;
mod samples;

pub use bench::{run, Options, Outcome, Reply, Server};
pub use clients::ALL;
pub use figure::{page, table, Measurement, Results, PLOT};
pub use plot::draw;
pub use samples::{quantities, Values};

use anyhow::{Context, Result};
use std::path::Path;

/// Address of the NIC.
pub const NIC: &str = "10.78.0.2";

/// A program of Debian and the handler that it talks to.
pub struct Client {
    /// Its name, which is that of its program but where a package has several.
    pub name: &'static str,
    /// What it does here.
    pub about: &'static str,
    /// The program.
    pub program: &'static str,
    /// Debian's package of it.
    pub package: &'static str,
    /// The handler: name and source.
    pub handler: (&'static str, &'static str),
    /// Frames that the handler gets.
    pub rule: &'static str,
    /// The host region of the handler, if it has one.
    pub host: fn() -> Vec<u8>,
    /// A variable of the handler that the host sets: its name and bytes, none if there is none.
    pub variable: (&'static str, fn() -> Vec<u8>),
    /// Writes the client's files to this folder.
    pub prepare: fn(&Path) -> Result<()>,
    /// Arguments. `{folder}` is the folder of its files.
    pub arguments: &'static [&'static str],
    /// Port, and datagrams that are no good requests. They are sent before the client runs, and must cause no fault.
    pub malformed: (u16, &'static [&'static [u8]]),
    /// Whether the output is as it must be; what the client measured.
    pub check: fn(&Reply) -> Result<Values>,
    /// A change of the handler's source that the check must notice: text that occurs once, and what stands there instead.
    pub broken: (&'static str, &'static str),
}

/// The client of this name.
///
/// # Errors
/// There is none.
pub fn by_name(name: &str) -> Result<&'static Client> {
    let names = || ALL.iter().map(|client| client.name).collect::<Vec<_>>().join(", ");
    let found = ALL.iter().find(|client| client.name == name);
    found.with_context(|| format!("there is no client `{name}` over TAP; there are {}", names()))
}
