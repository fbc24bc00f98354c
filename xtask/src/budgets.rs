//! The budgets of `budgets.toml` and the comparison with what was measured.

use crate::synth::Row;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Upper bounds of one block; what is absent is not bounded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub lut: Option<u64>,
    pub ff: Option<u64>,
    pub bram36: Option<f64>,
    pub uram: Option<u64>,
    pub dsp: Option<u64>,
    /// Nanoseconds of the estimate of `timing`.
    pub period_ns: Option<f64>,
}

/// All budgets: a default, what differs for a block, and what holds for a block on one device family only.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    default: Budget,
    #[serde(default)]
    block: BTreeMap<String, Budget>,
    #[serde(default)]
    xcup: BTreeMap<String, Budget>,
    #[serde(default)]
    xc7: BTreeMap<String, Budget>,
    /// By family and block: budgets that are missed at present, and the figures that hold until they are met.
    #[serde(default)]
    known: BTreeMap<String, BTreeMap<String, Budget>>,
}

/// A budget that is exceeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Breach {
    pub sentence: String,
    /// It is known, and no worse than known.
    pub known: bool,
}

impl Budgets {
    /// The project's own.
    pub fn load() -> Result<Budgets> {
        toml::from_str(include_str!("../budgets.toml")).context("xtask/budgets.toml cannot be read")
    }

    /// Whether the block's LUTs have a budget on this family.
    pub fn bounds_area(&self, block: &str, family: &str) -> bool {
        let families = [("xcup", &self.xcup), ("xc7", &self.xc7)];
        let own = families.iter().find(|(name, _)| *name == family).and_then(|(_, blocks)| blocks.get(block));
        own.into_iter().chain(self.block.get(block)).any(|budget| budget.lut.is_some())
    }

    /// Each budget that `row` exceeds.
    pub fn breaches(&self, row: &Row) -> Vec<Breach> {
        let area = &row.area;
        let compare = |what: &str, value: f64, of: fn(&Budget) -> Option<f64>| {
            self.breach(&row.block, &row.family, what, value, of)
        };
        let compared = [
            compare("LUT", area.lut as f64, |b| b.lut.map(|n| n as f64)),
            compare("FF", area.ff as f64, |b| b.ff.map(|n| n as f64)),
            compare("BRAM36", area.bram36, |b| b.bram36),
            compare("URAM", area.uram as f64, |b| b.uram.map(|n| n as f64)),
            compare("DSP", area.dsp as f64, |b| b.dsp.map(|n| n as f64)),
        ];
        compared.into_iter().flatten().collect()
    }

    /// The budget of a period, if it is missed.
    pub fn period(&self, block: &str, family: &str, period_ns: f64) -> Option<Breach> {
        self.breach(block, family, "ns", period_ns, |budget| budget.period_ns)
    }

    fn breach(
        &self,
        block: &str,
        family: &str,
        what: &str,
        value: f64,
        of: fn(&Budget) -> Option<f64>,
    ) -> Option<Breach> {
        let own = match family {
            "xcup" => self.xcup.get(block),
            "xc7" => self.xc7.get(block),
            _ => None,
        };
        // The most specific bound holds.
        let layers = own.into_iter().chain(self.block.get(block)).chain(std::iter::once(&self.default));
        let limit = layers.into_iter().find_map(of).filter(|limit| value > *limit)?;
        let known = self.known.get(family).and_then(|blocks| blocks.get(block));
        let bound = known.and_then(of);
        let held = bound.map_or(String::new(), |bound| format!("; known, held to {bound}"));
        Some(Breach {
            sentence: format!("{block} on {family}: {value} {what}, the budget is {limit}{held}"),
            known: bound.is_some_and(|bound| value <= bound),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yosys::Area;

    #[test]
    fn breaches_are_found_and_the_project_file_is_readable() {
        let text =
            "[default]\ndsp = 0\n[block.hpu]\ndsp = 4\n[xcup.hpu]\nlut = 2400\nperiod_ns = 4.0\n[xc7.hpu]\ndsp = 5\n\
            [known.xcup.hpu]\nlut = 3000\nperiod_ns = 4.5\n";
        let budgets: Budgets = toml::from_str(text).unwrap();
        let row = |block: &str, family: &str, lut, dsp| Row {
            block: block.into(),
            family: family.into(),
            config: "alveo".into(),
            area: Area { lut, dsp, ..Area::default() },
            levels: 9,
            orders: 1,
            lut_range: (lut, lut),
        };
        assert!(budgets.bounds_area("hpu", "xcup") && !budgets.bounds_area("hpu", "xc7"));
        assert!(budgets.breaches(&row("hpu", "xcup", 2400, 4)).is_empty());
        let known = |row: &Row| budgets.breaches(row).iter().map(|breach| breach.known).collect::<Vec<_>>();
        assert_eq!(known(&row("hpu", "xcup", 2401, 5)), [true, false]);
        assert_eq!(known(&row("hpu", "xcup", 3001, 4)), [false]);
        assert!(budgets.breaches(&row("hpu", "xc7", 2401, 5)).is_empty());
        let fifo = budgets.breaches(&row("fifo", "xcup", 9999, 1));
        assert_eq!(fifo[0].sentence, "fifo on xcup: 1 DSP, the budget is 0");
        assert_eq!((budgets.period("hpu", "xcup", 4.0), budgets.period("hpu", "xc7", 9.0)), (None, None));
        let missed = budgets.period("hpu", "xcup", 4.2).unwrap();
        assert_eq!(
            (missed.sentence.as_str(), missed.known),
            ("hpu on xcup: 4.2 ns, the budget is 4; known, held to 4.5", true)
        );
        assert!(!budgets.period("hpu", "xcup", 4.6).unwrap().known);
        Budgets::load().unwrap();
    }
}
