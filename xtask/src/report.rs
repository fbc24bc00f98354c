//! `report`: what `spindle report` measures in simulation, joined with the areas of synthesis. It fails if a bound or a budget is missed.

use crate::process::{cargo, target_folder};
use crate::{boards, fuzz, mutants, pnr, rust_mutants, setup, studies, synth, timing};
use anyhow::{bail, Context, Result};
use clap::Args;
use serde_json::{json, Map, Value};

/// What goes into the report.
#[derive(Args)]
pub struct Options {
    /// Use the results of the last `synth`, `timing` and `pnr` instead of running them again.
    #[arg(long)]
    reuse_synth: bool,
    /// Leave place and route out.
    #[arg(long)]
    no_pnr: bool,
    /// Arguments for `spindle report`.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Writes `target/report/report.json`.
pub fn run(options: &Options) -> Result<bool> {
    setup::run(&setup::Options { no_network: true, ..Default::default() })?;
    let folder = target_folder().join("report");
    std::fs::create_dir_all(&folder)?;
    let measured = folder.join("simulated.json");
    let mut arguments = vec!["--json".to_string(), measured.to_string_lossy().into_owned()];
    arguments.extend(options.arguments.iter().cloned());
    // A missed bound is an error of the laboratory; the report is written all the same, and fails at its end.
    let _ = std::fs::remove_file(&measured);
    let simulated = cargo(["run", "--quiet", "--package", "spindle-lab", "--", "report"], &arguments);
    if !measured.exists() {
        simulated?;
        bail!("`spindle report` wrote no figures to {}", measured.display());
    }
    let mut report: Value = read(&measured)?;

    let results = target_folder().join("synth/synth.json");
    let mut within = true;
    if !(options.reuse_synth && results.exists()) {
        within = synth::run(&synth::Options::default())?;
    }
    let object = report.as_object_mut().context("`spindle report` wrote no JSON object")?;
    let synthesis = read(&results)?;
    add_areas(object, &synthesis);
    object.insert("synthesis".into(), synthesis);

    let results = timing::results_path();
    if !(options.reuse_synth && results.exists()) {
        within &= timing::run(&timing::Options::of_report())?;
    }
    timing::add_figures(object, &read(&results)?);
    timing::add_gain(object)?;

    let results = target_folder().join("synth/pnr.json");
    if !(options.no_pnr || options.reuse_synth && results.exists()) {
        // As above; if the router cannot be had, the report says so where the figures would stand, not the last ones.
        let _ = std::fs::remove_file(&results);
        if let Err(error) = pnr::run(&pnr::Options::default()) {
            println!("report: no routed clock rates: {error:#}");
        }
    }
    let routed = if options.no_pnr || !results.exists() { Value::Null } else { read(&results)? };
    add_routed(object, &routed);
    object.insert("place_and_route".into(), routed);
    if !options.reuse_synth {
        within &= boards::run(&boards::Options::of_tests(true))?;
    }
    let results = target_folder().join("boards/boards.json");
    boards::add_figures(object, &if results.exists() { read(&results)? } else { Value::Null });
    let results = target_folder().join("vm/vm.json");
    add_machine(object, &if results.exists() { read(&results)? } else { Value::Null });
    // Results of mutants, of fuzzing and of studies are kept in the repository; no report runs them again.
    let mut trust = mutants::figures()?;
    trust.as_object_mut().context("figures of mutants are an object")?.extend(fuzz::Results::load()?.figures());
    trust["rust"] = rust_mutants::figures()?;
    object.insert("trust".into(), trust);
    let scale = object.entry("scale").or_insert_with(|| json!({}));
    if let (Some(scale), Value::Object(figures)) = (scale.as_object_mut(), studies::figures()?) {
        scale.extend(figures);
    }
    let path = folder.join("report.json");
    std::fs::write(&path, serde_json::to_string_pretty(&report)? + "\n")?;
    println!("report: {}; `cargo xtask figures --from {0}` takes it into README and docs", path.display());
    Ok(simulated.is_ok() && within)
}

/// Blocks whose figures the report names, and their names in the synthesis.
const AREAS: [(&str, &str); 5] =
    [("nic", "nic"), ("hpu", "hpu"), ("cluster", "cluster"), ("packet_engine", "packet_engine"), ("rvma", "rvma_lut")];

/// Figures of a block: the report's name and the synthesis's.
const FIGURES: [(&str, &str); 6] =
    [("lut", "lut"), ("ff", "ff"), ("bram", "bram36"), ("uram", "uram"), ("dsp", "dsp"), ("levels", "levels")];

/// Enters `area.<family>.config` and `area.<family>.<block>.<figure>`: `null` for a figure that was not synthesised, and the
/// reason in `missing`.
fn add_areas(report: &mut Map<String, Value>, synthesis: &Value) {
    let mut missing = Map::new();
    let of = |list: &str, block: &str, family: &str| {
        let rows = synthesis[list].as_array().into_iter().flatten();
        rows.into_iter().find(|row| row["block"] == block && row["family"] == family)
    };
    let area = report.entry("area").or_insert_with(|| json!({}));
    for family in ["xc7", "xcup"] {
        area[family]["config"] = synthesis["configs"][family].clone();
        for (name, block) in AREAS {
            let row = of("rows", block, family);
            let why = match (row, of("failures", block, family)) {
                (_, Some(failure)) => format!("synthesis failed: {}", failure["error"].as_str().unwrap_or_default()),
                (_, None) => "the last synthesis left it out".into(),
            };
            for (figure, field) in FIGURES {
                let value = row.map_or(Value::Null, |row| row[field].clone());
                if value.is_null() {
                    missing.insert(format!("area.{family}.{name}.{figure}"), why.clone().into());
                }
                area[family][name][figure] = value;
            }
        }
    }
    if let Some(reasons) = report.entry("missing").or_insert_with(|| json!({})).as_object_mut() {
        reasons.append(&mut missing);
    }
}

/// Enters `pnr.ecp5_85k_<grade>.<block>.<figure>`: `null` for what was not routed, and the reason in `missing`.
fn add_routed(report: &mut Map<String, Value>, routed: &Value) {
    let mut missing = Map::new();
    let mut grades = json!({});
    for grade in pnr::GRADES {
        let device = format!("ecp5_85k_{grade}");
        for block in ["hpu", "cluster"] {
            let of = |list: &str| {
                let rows = routed[list].as_array().into_iter().flatten();
                rows.into_iter().find(|row| row["block"] == block && row["grade"] == *grade)
            };
            let why = of("failures").and_then(|failure| failure["error"].as_str()).unwrap_or("not placed and routed");
            for figure in ["fmax_mhz", "comb", "ff"] {
                let value = of("rows").map_or(Value::Null, |row| row[figure].clone());
                if value.is_null() {
                    missing.insert(format!("pnr.{device}.{block}.{figure}"), why.into());
                }
                grades[&device][block][figure] = value;
            }
        }
    }
    report.insert("pnr".into(), grades);
    if let Some(reasons) = report.entry("missing").or_insert_with(|| json!({})).as_object_mut() {
        reasons.append(&mut missing);
    }
}

/// Enters `host.vm_seconds` of the last `cargo xtask vm`, which is opt-in: `null` without one, or if a check failed.
fn add_machine(report: &mut Map<String, Value>, machine: &Value) {
    let seconds = machine["host"]["vm_seconds"].clone();
    if seconds.is_null() {
        let why = if machine.is_null() { "`cargo xtask vm` was not run" } else { "a check of `cargo xtask vm` failed" };
        let missing = report.entry("missing").or_insert_with(|| json!({}));
        missing["host.vm_seconds"] = why.into();
    }
    report.entry("host").or_insert_with(|| json!({}))["vm_seconds"] = seconds;
}

fn read(path: &std::path::Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_found_by_family_and_block() {
        let row = json!({"block": "rvma_lut", "family": "xcup", "lut": 5, "ff": 6, "bram36": 1.5, "uram": 0, "dsp": 0, "levels": 9});
        let whole = json!({"block": "nic", "family": "xc7", "lut": 7, "ff": 8, "bram36": 2.0, "uram": 0, "dsp": 0, "levels": 11});
        let mut report = json!({"area": {"verilog_modules": 3}, "missing": {"a": "b"}});
        let failure = json!({"block": "hpu", "family": "xc7", "error": "no valid mapping"});
        let synthesis =
            json!({"configs": {"xc7": "kintex7", "xcup": "alveo"}, "rows": [row, whole], "failures": [failure]});
        add_areas(report.as_object_mut().unwrap(), &synthesis);
        assert_eq!(
            (&report["area"]["xcup"]["rvma"]["bram"], &report["area"]["xc7"]["nic"]["lut"]),
            (&json!(1.5), &json!(7))
        );
        assert_eq!(
            (&report["area"]["xc7"]["rvma"]["lut"], &report["area"]["verilog_modules"]),
            (&Value::Null, &json!(3))
        );
        assert_eq!(report["area"]["xc7"]["config"], "kintex7");
        assert!(report["missing"]["area.xc7.hpu.dsp"].as_str().unwrap().contains("no valid mapping"));
        assert!(report["missing"]["area.xc7.rvma.lut"].as_str().unwrap().contains("left it out"));
        assert_eq!((report["missing"].get("area.xcup.rvma.levels"), &report["missing"]["a"]), (None, &json!("b")));
    }

    #[test]
    fn the_time_of_the_machine_is_that_of_its_last_run() {
        let mut report = json!({"host": {"ring_put_cycles": 8}}).as_object().unwrap().clone();
        add_machine(&mut report, &Value::Null);
        assert_eq!((&report["host"]["vm_seconds"], &report["host"]["ring_put_cycles"]), (&Value::Null, &json!(8)));
        assert_eq!(report["missing"]["host.vm_seconds"], "`cargo xtask vm` was not run");
        let mut report = Map::new();
        add_machine(&mut report, &json!({"host": {"vm_seconds": 7.5}}));
        assert_eq!((&report["host"]["vm_seconds"], report.get("missing")), (&json!(7.5), None));
        add_machine(&mut report, &json!({"host": {"vm_checks": 19}}));
        assert_eq!(report["missing"]["host.vm_seconds"], "a check of `cargo xtask vm` failed");
    }

    #[test]
    fn routed_clock_rates_are_found_by_grade_and_block() {
        let row = json!({"block": "hpu", "grade": 6, "fmax_mhz": 88.3, "comb": 5, "ff": 6});
        let failure = json!({"block": "cluster", "grade": 6, "error": "no result within 5 s"});
        let mut report = Map::new();
        add_routed(&mut report, &json!({"rows": [row], "failures": [failure]}));
        let missing = &report["missing"];
        assert_eq!(report["pnr"]["ecp5_85k_6"]["hpu"], json!({"fmax_mhz": 88.3, "comb": 5, "ff": 6}));
        assert_eq!(missing["pnr.ecp5_85k_6.cluster.comb"], "no result within 5 s");
        assert_eq!(missing["pnr.ecp5_85k_8.hpu.fmax_mhz"], "not placed and routed");
        assert_eq!(missing.get("pnr.ecp5_85k_6.hpu.ff"), None);
    }
}
