//! What a use case is, and the list of all.

use crate::bench::{Bench, Change, Setting};
use anyhow::{bail, ensure, Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a point of a case gave, by name: times in nanoseconds, rates in Gb/s or per second, shares.
pub type Values = BTreeMap<String, f64>;

/// A way in which a case runs: the NIC's, or a baseline.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// Name on command lines and in figures.
    pub name: &'static str,
    /// Who does what, in a sentence.
    pub about: &'static str,
}

/// A broken handler that the model must catch.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// Mode that uses the handler.
    pub mode: &'static str,
    /// What is wrong, for the report of the test.
    pub what: &'static str,
    /// How the handler is broken.
    pub change: Change,
}

impl Broken {
    /// The handler `file` of a mode with `to` in the place of `from`, which occurs there exactly once.
    pub const fn new(
        mode: &'static str,
        what: &'static str,
        file: &'static str,
        from: &'static str,
        to: &'static str,
    ) -> Broken {
        Broken { mode, what, change: Change { file, from, to } }
    }
}

/// A use case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name: that of its folder.
    pub name: &'static str,
    /// Its `figure.toml`.
    pub figure: &'static str,
    /// Its handlers: file and source.
    pub handlers: &'static [(&'static str, &'static str)],
    /// Its own source, which results depend on.
    pub source: &'static str,
    /// The ways in which it runs.
    pub modes: &'static [Mode],
    /// Measures a point of a mode, and compares every byte with the model by [`Bench::expect`].
    ///
    /// # Errors
    /// The model disagrees, a NIC refuses, or a program does not end.
    pub run: fn(&Setting, mode: &str, point: u64) -> Result<Measured>,
    /// The figures by which the case is judged, from all rows of a measurement: key after `use_cases.NAME.` and value. A figure whose
    /// rows are absent is left out.
    pub summary: fn(&[Row]) -> Vec<(String, f64)>,
    /// Handlers that the model must catch.
    pub broken: &'static [Broken],
}

/// Values on which the model agrees.
#[derive(Debug)]
pub struct Measured {
    values: Values,
}

impl Measured {
    /// Values of a bench whose results the model has seen.
    ///
    /// # Errors
    /// Nothing was compared, or a host's NIC broke the bus protocol.
    pub fn new(bench: &Bench, values: impl IntoIterator<Item = (&'static str, f64)>) -> Result<Measured> {
        ensure!(bench.agreed() > 0, "the case has compared nothing with its model");
        bench.check_buses()?;
        Ok(Measured { values: values.into_iter().map(|(name, value)| (name.to_string(), rounded(value))).collect() })
    }

    /// The values.
    pub fn values(self) -> Values {
        self.values
    }
}

/// A value with four decimals: what is printed is what is kept, and is read again as the same number.
pub fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// A measured point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Mode.
    pub mode: String,
    /// Host.
    pub host: String,
    /// Place on the x axis.
    pub point: u64,
    /// What was measured there.
    pub values: Values,
}

/// The hosts, each with the ending of its keys in a summary.
pub const HOSTS: [(&str, &str); 3] = [("pcie", ""), ("integrated", "_integrated"), ("free", "_free")];

/// The value of a row, if that row is there.
pub fn value(rows: &[Row], mode: &str, host: &str, point: u64, name: &str) -> Option<f64> {
    let row = rows.iter().find(|row| row.mode == mode && row.host == host && row.point == point)?;
    row.values.get(name).copied()
}

/// The value `name` of a mode over that of another mode, for each host, each point and each pair `(over, under, what)` of modes whose rows
/// are there. The key is `what`, the text of the point, and the host's ending.
pub fn ratios(rows: &[Row], name: &str, points: &[(u64, &str)], pairs: &[(&str, &str, &str)]) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for (host, ending) in HOSTS {
        for (point, text) in points {
            let get = |mode| value(rows, mode, host, *point, name);
            for (over, under, what) in pairs {
                if let (Some(over), Some(under)) = (get(over), get(under)) {
                    figures.push((format!("{what}_{text}{ending}"), over / under));
                }
            }
        }
    }
    figures
}

/// All cases, in the order of the gallery.
pub const ALL: &[Case] = &[
    crate::ping_pong::CASE,
    crate::broadcast::CASE,
    crate::datatypes::CASE,
    crate::raid::CASE,
    crate::storage::CASE,
    crate::invocation::CASE,
    crate::halo3d::CASE,
    crate::sweep3d::CASE,
    crate::tenants::CASE,
    crate::rewind::CASE,
    crate::consensus::CASE,
    crate::allreduce::CASE,
    crate::ft_broadcast::CASE,
    crate::ddt_apps::CASE,
    crate::kv::CASE,
    crate::conditional_read::CASE,
    crate::graph::CASE,
    crate::accumulate::CASE,
    crate::pspin::CASE,
    crate::nevermore::CASE,
    crate::matching::CASE,
    crate::transactions::CASE,
    crate::erasure::CASE,
    crate::slmp::CASE,
    crate::mpi_rma::CASE,
    crate::sparse_allreduce::CASE,
    crate::sdr::CASE,
    crate::rvma_latency::CASE,
];

/// The case of this name.
///
/// # Errors
/// There is none.
pub fn by_name(name: &str) -> Result<&'static Case> {
    match ALL.iter().find(|case| case.name == name) {
        Some(case) => Ok(case),
        None => {
            let names: Vec<_> = ALL.iter().map(|case| case.name).collect();
            bail!("there is no use case `{name}`; there are {}", names.join(", "))
        }
    }
}

/// Measures a point.
///
/// # Errors
/// The case has no such mode, or [`Case::run`] fails.
pub fn measure(case: &Case, setting: &Setting, mode: &str, point: u64) -> Result<Row> {
    if !case.modes.iter().any(|known| known.name == mode) {
        let names: Vec<_> = case.modes.iter().map(|mode| mode.name).collect();
        bail!("{} has no mode `{mode}`; there are {}", case.name, names.join(", "));
    }
    let measured = (case.run)(setting, mode, point)
        .with_context(|| format!("{} in mode {mode} at {point}, host {}", case.name, setting.host.name()))?;
    Ok(Row { mode: mode.into(), host: setting.host.name().into(), point, values: measured.values() })
}
