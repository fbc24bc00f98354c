//! The delays of `timing.toml`: cells, nets, devices, and the cores by which the nets were calibrated.

use anyhow::{ensure, Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    pub xcup: Family,
    pub xc7: Family,
    /// Ports whose paths do not count.
    #[serde(default)]
    pub false_path: Vec<FalsePath>,
    /// Published results of cores, and the estimates of the same cores.
    #[serde(default)]
    pub calibration: Vec<Calibration>,
    /// What the present cluster is compared with.
    pub base: Base,
}

/// Delays of a device family, in picoseconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// The device and speed grade that the estimate is for.
    pub device: String,
    /// Where the numbers of cells come from.
    pub source: String,
    /// Factor from the numbers of the cells below to this device and speed grade.
    pub scale: f64,
    /// Taken from each period: jitter and skew of the clock.
    pub uncertainty: f64,
    pub net: Net,
    /// Period of the same design on another device of the family, as a multiple.
    #[serde(default)]
    pub device_factor: BTreeMap<String, f64>,
    pub cell: BTreeMap<String, Cell>,
}

/// A net takes `base + fan_out · log2(sinks)`, and `column` more from or to a block RAM, an UltraRAM or a DSP.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Net {
    pub base: f64,
    pub fan_out: f64,
    pub column: f64,
}

/// Delays of a kind of cell.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// All delays that are not given here are those of this kind.
    pub like: Option<String>,
    /// Instead of the family's scale.
    pub scale: Option<f64>,
    /// Pins that no path goes through.
    #[serde(default)]
    pub clock: Vec<String>,
    /// By input pin (`CI`, or `S[3]`) and output: the delay to each bit of the output, negative where there is no path.
    #[serde(default)]
    pub through: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// Asynchronous reads of a memory.
    pub read: Option<Read>,
    /// By output pin; `DO*` is any pin that begins so, and the longest name holds.
    #[serde(default)]
    pub clock_to_out: BTreeMap<String, f64>,
    /// Instead, if the parameter is set: by output pin, the parameter and the delay.
    #[serde(default)]
    pub registered: BTreeMap<String, (String, f64)>,
    /// By input pin, as above.
    #[serde(default)]
    pub setup: BTreeMap<String, f64>,
    pub dsp: Option<Dsp>,
    /// Block RAM, UltraRAM or DSP: few columns in the device.
    #[serde(default)]
    pub column: bool,
}

/// The address pins with the output that each reads, and the delay by address bit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    pub ports: BTreeMap<String, String>,
    pub by_bit: Vec<f64>,
}

/// A DSP: the register stages, which parameters switch on, cut the way from the operands to the sum.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dsp {
    /// Set-up of an operand that its own register takes.
    pub operand_setup: f64,
    /// From an operand to the register after the multiplier, to that of the sum, and through.
    pub to_product: f64,
    pub to_sum: f64,
    pub through: f64,
    /// From the registers of operands, of the product, and of the sum to the output.
    pub from_operand: f64,
    pub from_product: f64,
    pub from_sum: f64,
    /// From the cascade or the addend to the register of the sum, and through.
    pub cascade_to_sum: f64,
    pub cascade_through: f64,
}

/// A port of a block that no path counts from or to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FalsePath {
    pub block: String,
    pub port: String,
    pub reason: String,
}

/// A published result of a core and its estimate by this table.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The name in the report.
    pub key: String,
    pub family: String,
    pub core: String,
    pub device: String,
    pub published_ns: f64,
    pub estimated_ns: f64,
    /// Where the result is published.
    pub source: String,
}

/// The cluster of an earlier commit, by the present delays.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// That commit.
    pub commit: String,
    /// Its estimated period on UltraScale+.
    pub period_ns: f64,
    /// Cycles per instruction of the kernels, by the last part of their keys in the report.
    pub cpi: BTreeMap<String, f64>,
}

impl Base {
    /// The key of [`Base::gain`] in the report.
    pub const GAIN: &str = "hpu.clock_times_ipc_gain";

    /// The figures of the present design that the gain is made of: period, then cycles per instruction.
    pub fn inputs(&self) -> impl Iterator<Item = (String, f64)> + '_ {
        let period = ("timing.xcup.cluster.period_ns".to_string(), self.period_ns);
        std::iter::once(period).chain(self.cpi.iter().map(|(kernel, cpi)| (format!("hpu.cpi.{kernel}"), *cpi)))
    }

    /// Clock times instructions per cycle of a cluster, as a multiple of the base's: the geometric mean over the kernels. `None`
    /// if one of the figures is missing.
    pub fn gain(&self, figure: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let ratios = self.inputs().map(|(key, base)| figure(&key).map(|now| base / now));
        let ratios: Vec<f64> = ratios.collect::<Option<_>>()?;
        let (period, cpi) = ratios.split_first()?;
        let mean = cpi.iter().product::<f64>().powf(1.0 / cpi.len() as f64);
        Some((period * mean * 1000.0).round() / 1000.0)
    }
}

impl Calibration {
    /// The estimate's error in percent of the published period.
    pub fn error_percent(&self) -> f64 {
        ((self.estimated_ns / self.published_ns - 1.0) * 1000.0).round() / 10.0
    }
}

impl Delays {
    /// The project's own.
    pub fn load() -> Result<Delays> {
        Delays::parse(include_str!("../../timing.toml")).context("xtask/timing.toml cannot be read")
    }

    /// Reads a table, and gives cells that are like others their delays.
    pub fn parse(text: &str) -> Result<Delays> {
        let mut delays: Delays = toml::from_str(text)?;
        delays.xcup.complete()?;
        delays.xc7.complete()?;
        Ok(delays)
    }

    pub fn family(&self, name: &str) -> Result<&Family> {
        match name {
            "xcup" => Ok(&self.xcup),
            "xc7" => Ok(&self.xc7),
            other => anyhow::bail!("there is no family `{other}`; there are xcup and xc7"),
        }
    }
}

impl Family {
    fn complete(&mut self) -> Result<()> {
        let given = self.cell.clone();
        for (name, cell) in self.cell.iter_mut() {
            let Some(like) = &cell.like else { continue };
            let base = given.get(like).with_context(|| format!("`{name}` is like `{like}`, which has no delays"))?;
            ensure!(base.like.is_none(), "`{name}` is like `{like}`, which is like another one");
            let own = std::mem::replace(cell, base.clone());
            cell.through.extend(own.through);
            cell.clock_to_out.extend(own.clock_to_out);
            cell.setup.extend(own.setup);
            cell.read = own.read.or(base.read.clone());
        }
        Ok(())
    }

    /// The factor of a device; 1 of the one that the table is for.
    pub fn factor(&self, device: Option<&str>) -> Result<f64> {
        let Some(device) = device else { return Ok(1.0) };
        let known = || self.device_factor.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        self.device_factor.get(device).copied().with_context(|| match self.device_factor.is_empty() {
            true => format!("there is no factor for `{device}`, only the device {}; leave --device out", self.device),
            false => format!("there is no factor for `{device}`; there is one for {}", known()),
        })
    }

    /// Picoseconds that a net takes with so many sinks.
    pub fn net(&self, sinks: f64, column: bool) -> f64 {
        self.net.base + self.net.fan_out * sinks.max(1.0).log2() + if column { self.net.column } else { 0.0 }
    }
}

impl Cell {
    /// Whether the cell ends and begins paths.
    pub fn is_sequential(&self) -> bool {
        !self.clock.is_empty()
    }

    /// The value of a pin: under its name, or under the longest `NAME*` with which it begins.
    pub fn of_pin<'a, T>(values: &'a BTreeMap<String, T>, pin: &str) -> Option<&'a T> {
        let fitting = values.iter().filter(|(name, _)| match name.strip_suffix('*') {
            Some(start) => pin.starts_with(start),
            None => pin == *name,
        });
        fitting.max_by_key(|(name, _)| name.len()).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_table_is_readable_and_names_its_sources() {
        let delays = Delays::load().unwrap();
        for family in [&delays.xcup, &delays.xc7] {
            assert!(family.source.contains("http") && !family.device.is_empty());
            assert!(family.cell.contains_key("LUT6") && family.cell.contains_key("FDRE"));
            let lut = &family.cell["LUT6"];
            assert!((0..6).all(|pin| lut.through[&format!("I{pin}")]["O"][0] > 0.0));
        }
        for row in &delays.calibration {
            assert!(delays.family(&row.family).is_ok() && row.source.starts_with("https://"));
            // The constants of the nets are chosen so that no core is estimated shorter than it is.
            assert!((0.0..40.0).contains(&row.error_percent()), "{} is {} % off", row.key, row.error_percent());
        }
        assert!(delays.false_path.iter().all(|path| !path.reason.is_empty()));
        assert!(delays.family("xc8").unwrap_err().to_string().contains("xcup and xc7"));
    }

    #[test]
    fn a_cell_like_another_has_its_delays_and_its_own() {
        let cell = |text: &str| -> Family {
            let head = "device = \"d\"\nsource = \"s\"\nscale = 1.0\nuncertainty = 0.0\n\
                [net]\nbase = 100.0\nfan_out = 10.0\ncolumn = 5.0\n";
            let mut family: Family = toml::from_str(&format!("{head}{text}")).unwrap();
            family.complete().unwrap();
            family
        };
        let family = cell(
            "[cell.FDRE]\nclock = [\"C\"]\nsetup = { D = 1.0, \"C*\" = 9.0 }\nclock_to_out = { Q = 7.0 }\n\
             [cell.FDSE]\nlike = \"FDRE\"\nsetup = { S = 3.0 }\n",
        );
        let like = &family.cell["FDSE"];
        assert_eq!((Cell::of_pin(&like.setup, "S"), Cell::of_pin(&like.setup, "D")), (Some(&3.0), Some(&1.0)));
        assert_eq!((Cell::of_pin(&like.setup, "CE"), Cell::of_pin(&like.clock_to_out, "Q")), (Some(&9.0), Some(&7.0)));
        assert!(like.is_sequential());
        assert_eq!((family.net(1.0, false), family.net(8.0, true)), (100.0, 135.0));
    }
}
