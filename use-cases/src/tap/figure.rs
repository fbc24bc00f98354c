//! `docs/figures/tap.json`: what the clients measured, and `tap.svg`, drawn from it.

use super::{draw, Values, ALL};
use anyhow::{Context, Result};
use comfy_table::{presets, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// Name of the file in the folder of figures.
const FILE: &str = "tap.json";
/// Name of the plot there.
pub const PLOT: &str = "tap.svg";

/// What one client measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The client.
    pub client: String,
    /// Debian's package and its version.
    pub package: String,
    /// How it was called.
    pub command: String,
    /// Configuration of the NIC.
    pub config: String,
    /// Cycles of the NIC per second of the machine.
    pub pace: u64,
    /// Commit of the checkout; empty in what is not kept.
    pub commit: String,
    /// Its numbers.
    pub values: Values,
}

/// What all clients measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Client by client.
    pub clients: Vec<Measurement>,
}

impl Results {
    /// Puts a measurement in the place of the client's last one, in the order of [`ALL`].
    pub fn replace(&mut self, measured: Measurement) {
        match self.clients.iter_mut().find(|one| one.client == measured.client) {
            Some(place) => *place = measured,
            None => self.clients.push(measured),
        }
        self.clients.sort_by_key(|one| ALL.iter().position(|client| client.name == one.client));
    }

    /// Configurations and paces of the measurements.
    pub fn settings(&self) -> String {
        let setting = |one: &Measurement| format!("configuration {} at {} cycles per second", one.config, one.pace);
        self.clients.iter().map(setting).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
    }

    /// Writes the file and the plot.
    ///
    /// # Errors
    /// The folder cannot be written, or there is nothing to draw.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        let path = folder.join(PLOT);
        std::fs::write(&path, draw(self)?).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads the file; nothing if there is none.
    ///
    /// # Errors
    /// It is none of these.
    pub fn load(folder: &Path) -> Result<Results> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(Results::default());
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is no result of clients", path.display()))
    }
}

/// Columns of the table: value, heading.
const COLUMNS: &[(&str, &str)] = &[
    ("answers", "answers"),
    ("min_ns", "min, ns"),
    ("p50_ns", "median, ns"),
    ("mean_ns", "mean, ns"),
    ("p99_ns", "99 %, ns"),
    ("max_ns", "max, ns"),
    ("per_second", "answers/s"),
];

/// What clients measured, in simulated time.
pub fn table(measured: &[Measurement]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED);
    table.set_header(["client"].into_iter().chain(COLUMNS.iter().map(|(_, heading)| *heading)));
    for one in measured {
        let values = COLUMNS.iter().map(|(name, _)| cell(one, name).unwrap_or_default());
        table.add_row([one.client.clone()].into_iter().chain(values));
    }
    table
}

/// Marks around the table in [`GALLERY`](crate::figure::GALLERY).
const BEGIN: &str = "<!-- clients -->\n";
const END: &str = "<!-- end of clients -->";

/// The page with the table of these results.
///
/// # Errors
/// The page has no marks for the table.
pub fn page(text: &str, results: &Results) -> Result<String> {
    let (before, rest) = text.split_once(BEGIN).context("the page has no mark where the table of clients begins")?;
    let (_, after) = rest.split_once(END).context("the page has no mark where the table of clients ends")?;
    let headings: Vec<&str> = COLUMNS.iter().map(|(_, heading)| *heading).collect();
    let mut rows =
        format!("\n| client | command | {} | commit |\n|{}\n", headings.join(" | "), "---|".repeat(COLUMNS.len() + 3));
    for one in &results.clients {
        let values: Vec<String> =
            COLUMNS.iter().map(|(name, _)| cell(one, name).unwrap_or_else(|| "–".into())).collect();
        let command = one.command.replace('\n', " ");
        rows += &format!("| {} | `{command}` | {} | {} |\n", one.client, values.join(" | "), one.commit);
    }
    let settings = results.settings();
    let last = format!("\nSimulated time; {settings}. `spindle use-case NAME --tap` runs a row.\n\n");
    Ok(format!("{before}{BEGIN}{rows}{last}{END}{after}"))
}

/// A value, whole.
fn cell(measured: &Measurement, name: &str) -> Option<String> {
    measured.values.get(name).map(|value| format!("{value:.0}"))
}
