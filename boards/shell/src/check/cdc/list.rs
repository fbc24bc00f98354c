//! The list of crossings as text.

use super::{Kind, Report};
use std::collections::BTreeMap;
use std::fmt::Write;

/// All crossings by pair of clocks, with what makes each safe; then the pairs that timing bounds.
pub fn list(report: &Report) -> String {
    let mut pairs: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for crossing in &report.crossings {
        let (from, to) = (&crossing.from, &crossing.to);
        let line = match &crossing.kind {
            Kind::Level => format!("level        {from} -> {to}"),
            Kind::Gray => format!("gray         {from} -> {to}"),
            Kind::Independent(reason) => format!("independent  {from} -> {to}: {reason}"),
            Kind::Held(guard, reason) => format!("held         {from} -> {to}, guarded by {guard}: {reason}"),
            Kind::Constant(reason) => format!("constant     {from} -> {to}: {reason}"),
        };
        pairs.entry((&crossing.from_clock, &crossing.to_clock)).or_default().push(line);
    }
    let mut text = String::new();
    for ((from, to), lines) in pairs {
        let _ = writeln!(text, "{from} -> {to}");
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
    }
    for ((from, to), bits) in &report.timed {
        let _ = writeln!(text, "{from} -> {to}\n  timed        {bits} bits: common edges");
    }
    text
}
