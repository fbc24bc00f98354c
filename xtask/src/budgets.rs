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

/// All budgets: a default, and per block what differs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    default: Budget,
    #[serde(default)]
    block: BTreeMap<String, Budget>,
}

impl Budgets {
    /// The project's own.
    pub fn load() -> Result<Budgets> {
        toml::from_str(include_str!("../budgets.toml")).context("xtask/budgets.toml cannot be read")
    }

    /// One sentence for each budget that `row` exceeds.
    pub fn breaches(&self, row: &Row) -> Vec<String> {
        let own = self.block.get(&row.block).cloned().unwrap_or_default();
        let base = &self.default;
        let area = &row.area;
        let mut breaches = Vec::new();
        let mut compare = |what: &str, value: f64, limit: Option<f64>| {
            if let Some(limit) = limit.filter(|limit| value > *limit) {
                breaches.push(format!("{} on {}: {value} {what}, the budget is {limit}", row.block, row.family));
            }
        };
        let whole = |own: Option<u64>, base: Option<u64>| own.or(base).map(|n| n as f64);
        compare("LUT", area.lut as f64, whole(own.lut, base.lut));
        compare("FF", area.ff as f64, whole(own.ff, base.ff));
        compare("BRAM36", area.bram36, own.bram36.or(base.bram36));
        compare("URAM", area.uram as f64, whole(own.uram, base.uram));
        compare("DSP", area.dsp as f64, whole(own.dsp, base.dsp));
        if let Some(levels) = row.levels {
            compare("levels", levels as f64, whole(own.levels, base.levels));
        }
        for (cell, count) in &area.unknown {
            breaches.push(format!("{} on {}: {count} cells `{cell}` of no known kind", row.block, row.family));
        }
        breaches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yosys::Area;

    #[test]
    fn breaches_are_found_and_the_project_file_is_readable() {
        let text = "[default]\nlevels = 11\n[block.hpu]\nlut = 2400\nlevels = 12\n";
        let budgets: Budgets = toml::from_str(text).unwrap();
        let row = |block: &str, lut, levels| Row {
            block: block.into(),
            family: "xcup".into(),
            area: Area { lut, ..Area::default() },
            levels: Some(levels),
        };
        assert!(budgets.breaches(&row("hpu", 2400, 12)).is_empty());
        assert_eq!(budgets.breaches(&row("hpu", 2401, 13)).len(), 2);
        assert_eq!(budgets.breaches(&row("fifo", 9999, 12)), ["fifo on xcup: 12 levels, the budget is 11"]);
        Budgets::load().unwrap();
    }
}
