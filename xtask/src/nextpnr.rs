//! Nextpnr: reading the report it writes.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One run of the router.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub fmax_mhz: f64,
    pub comb: u64,
    pub ff: u64,
    pub ebr: u64,
    pub mult: u64,
    pub critical: Critical,
}

/// The path between registers that bounds the clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Critical {
    /// Nanoseconds in cells and in wires.
    pub logic_ns: f64,
    pub routing_ns: f64,
    /// Cells passed between the registers, carry cells too.
    pub cells: usize,
    /// Where it begins, each net on the way with its delay, and where it ends.
    pub path: Vec<String>,
}

impl Run {
    /// Reads the report's JSON.
    pub fn read(report: &str) -> Result<Run> {
        let report: Value = serde_json::from_str(report).context("nextpnr wrote a report that is no JSON")?;
        let clocks = report["fmax"].as_object().context("nextpnr reported no clock")?;
        let fmax = clocks.values().filter_map(|clock| clock["achieved"].as_f64()).reduce(f64::min);
        let used = |cell: &str| report["utilization"][cell]["used"].as_u64().context("nextpnr reported no utilisation");
        Ok(Run {
            fmax_mhz: tenths(fmax.context("nextpnr reported no clock")?),
            comb: used("TRELLIS_COMB")?,
            ff: used("TRELLIS_FF")?,
            ebr: used("DP16KD")?,
            mult: used("MULT18X18D")?,
            critical: Critical::read(&report)?,
        })
    }
}

impl Critical {
    fn read(report: &Value) -> Result<Critical> {
        let paths = report["critical_paths"].as_array().context("nextpnr reported no paths")?;
        // Paths to and from pins belong to the wrapper and have no clock at one end.
        let within =
            |path: &&Value| ["from", "to"].iter().all(|end| path[end].as_str().is_some_and(|e| e != "<async>"));
        let steps = paths.iter().find(within).context("nextpnr reported no path between registers")?["path"]
            .as_array()
            .context("nextpnr reported an empty path")?;
        let end = |step: &Value, end: &str| {
            let word = |key: &str| step[end][key].as_str().unwrap_or("?").to_string();
            format!("{}.{}", word("cell"), word("port"))
        };
        let mut critical = Critical::default();
        for step in steps {
            let delay = step["delay"].as_f64().context("nextpnr reported a step without a delay")?;
            match step["type"].as_str() {
                Some("routing") => {
                    critical.routing_ns += delay;
                    critical.path.push(format!("{delay:.2} ns {}", step["net"].as_str().unwrap_or("?")));
                }
                kind => {
                    critical.logic_ns += delay;
                    critical.cells += usize::from(kind == Some("logic"));
                }
            }
        }
        if let (Some(first), Some(last)) = (steps.first(), steps.last()) {
            critical.path.insert(0, format!("from {}", end(first, "from")));
            critical.path.push(format!("to {}", end(last, "to")));
        }
        (critical.logic_ns, critical.routing_ns) = (tenths(critical.logic_ns), tenths(critical.routing_ns));
        Ok(critical)
    }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_area_and_critical_path_are_read() {
        let report = r#"{
            "fmax": { "clk": { "achieved": 88.26904, "constraint": 100 } },
            "utilization": { "TRELLIS_COMB": { "used": 10 }, "TRELLIS_FF": { "used": 20 }, "DP16KD": { "used": 1 },
                             "MULT18X18D": { "used": 4 } },
            "critical_paths": [
                { "from": "<async>", "to": "posedge clk", "path": [] },
                { "from": "posedge clk", "to": "posedge clk", "path": [
                    { "type": "clk-to-q", "delay": 0.5, "from": { "cell": "a", "port": "Q" }, "to": { "cell": "a", "port": "Q" } },
                    { "type": "routing", "delay": 1.0, "net": "n",
                      "from": { "cell": "a", "port": "Q" }, "to": { "cell": "l", "port": "B" } },
                    { "type": "logic", "delay": 0.25, "from": { "cell": "l", "port": "B" }, "to": { "cell": "l", "port": "F" } },
                    { "type": "setup", "delay": 0.0, "from": { "cell": "d", "port": "DI" }, "to": { "cell": "d", "port": "DI" } } ] } ] }"#;
        let run = Run::read(report).unwrap();
        assert_eq!((run.fmax_mhz, run.comb, run.ff, run.ebr, run.mult), (88.3, 10, 20, 1, 4));
        let path = ["from a.Q", "1.00 ns n", "to d.DI"].map(String::from).to_vec();
        assert_eq!(run.critical, Critical { logic_ns: 0.8, routing_ns: 1.0, cells: 1, path });
        assert!(Run::read("{}").is_err());
    }
}
