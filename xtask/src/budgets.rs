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
    pub levels: Option<u64>,
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
        let family = match row.family.as_str() {
            "xcup" => self.xcup.get(&row.block),
            "xc7" => self.xc7.get(&row.block),
            _ => None,
        };
        // The most specific bound holds.
        let layers: Vec<&Budget> =
            family.into_iter().chain(self.block.get(&row.block)).chain(std::iter::once(&self.default)).collect();
        let limit = |of: fn(&Budget) -> Option<f64>| layers.iter().find_map(|budget| of(budget));
        let area = &row.area;
        let known = self.known.get(&row.family).and_then(|blocks| blocks.get(&row.block));
        let mut breaches = Vec::new();
        let mut compare = |what: &str, value: f64, of: fn(&Budget) -> Option<f64>| {
            if let Some(limit) = limit(of).filter(|limit| value > *limit) {
                let bound = known.and_then(of);
                let held = bound.map_or(String::new(), |bound| format!("; known, held to {bound}"));
                breaches.push(Breach {
                    sentence: format!("{} on {}: {value} {what}, the budget is {limit}{held}", row.block, row.family),
                    known: bound.is_some_and(|bound| value <= bound),
                });
            }
        };
        compare("LUT", area.lut as f64, |b| b.lut.map(|n| n as f64));
        compare("FF", area.ff as f64, |b| b.ff.map(|n| n as f64));
        compare("BRAM36", area.bram36, |b| b.bram36);
        compare("URAM", area.uram as f64, |b| b.uram.map(|n| n as f64));
        compare("DSP", area.dsp as f64, |b| b.dsp.map(|n| n as f64));
        compare("levels", row.levels as f64, |b| b.levels.map(|n| n as f64));
        breaches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yosys::Area;

    #[test]
    fn breaches_are_found_and_the_project_file_is_readable() {
        let text = "[default]\nlevels = 11\n[block.hpu]\nlevels = 12\n[xcup.hpu]\nlut = 2400\n[xc7.hpu]\nlevels = 13\n\
            [known.xcup.hpu]\nlut = 3000\n";
        let budgets: Budgets = toml::from_str(text).unwrap();
        let row = |block: &str, family: &str, lut, levels| Row {
            block: block.into(),
            family: family.into(),
            config: "alveo".into(),
            area: Area { lut, ..Area::default() },
            levels,
            orders: 1,
            lut_range: (lut, lut),
        };
        assert!(budgets.bounds_area("hpu", "xcup") && !budgets.bounds_area("hpu", "xc7"));
        assert!(budgets.breaches(&row("hpu", "xcup", 2400, 12)).is_empty());
        let known = |row: &Row| budgets.breaches(row).iter().map(|breach| breach.known).collect::<Vec<_>>();
        assert_eq!(known(&row("hpu", "xcup", 2401, 13)), [true, false]);
        assert_eq!(known(&row("hpu", "xcup", 3001, 12)), [false]);
        assert!(budgets.breaches(&row("hpu", "xc7", 2401, 13)).is_empty());
        let fifo = budgets.breaches(&row("fifo", "xcup", 9999, 12));
        assert_eq!(fifo[0].sentence, "fifo on xcup: 12 levels, the budget is 11");
        Budgets::load().unwrap();
    }
}
