//! `boards`: what can be checked of boards without Vivado.
//!
//! Board files, constraints and scripts are checked by the crate `spindle-boards` and its tests; clock crossings and names of
//! constraints by its program `check` on netlists of yosys. Here: no latch, no loop, no undriven wire in a top, and what a
//! shell without and with its NIC takes of the device. The NIC is a black box in these runs; its own figures are those of the
//! last `cargo xtask synth`.

use crate::blocks::{self, Block, WHOLE};
use crate::cache::{cached, Key};
use crate::process::{cargo_command, program, target_folder, two_at_a_time, visible};
use crate::synth::{self, Row, Yosys};
use crate::yosys::{self, Area};
use anyhow::{bail, Context, Result};
use clap::Args;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The boards.
pub const BOARDS: [&str; 6] = ["u50", "u55c", "u280", "u250", "kcu116", "kc705"];
/// The one that `test` checks.
const QUICK: &str = "u50";

/// Figures of a board in the report.
pub const FIGURES: [&str; 14] = [
    "shell_lut",
    "shell_ff",
    "shell_bram",
    "total_lut",
    "total_ff",
    "total_bram",
    "total_uram",
    "total_dsp",
    "device_lut",
    "device_bram",
    "device_uram",
    "device_share",
    "clock_pairs",
    "crossings",
];

/// What is checked.
#[derive(Args, Default)]
pub struct Options {
    /// Only these boards.
    #[arg(long)]
    board: Vec<String>,
    /// Write the lists of crossings, boards/crossings, instead of comparing them.
    #[arg(long)]
    write: bool,
    /// Leave the tests of the crate out, which `test` runs anyway.
    #[arg(long)]
    no_tests: bool,
}

impl Options {
    /// What `test` runs: one board, and all with `--full`.
    pub fn of_tests(full: bool) -> Options {
        let board = if full { vec![] } else { vec![QUICK.into()] };
        Options { board, write: false, no_tests: true }
    }
}

/// A top with what the program `check` says of it.
struct Top {
    board: String,
    family: String,
    boxes: Vec<String>,
    block: Block,
}

/// Checks the boards, prints a table, writes `target/boards/boards.json`. `false` if anything is wrong.
pub fn run(options: &Options) -> Result<bool> {
    if let Some(unknown) = options.board.iter().find(|name| !BOARDS.contains(&name.as_str())) {
        bail!("there is no board `{unknown}`; give some of {}", BOARDS.join(", "));
    }
    let boards: Vec<&str> = BOARDS.into_iter().filter(|name| options.wants(name)).collect();
    let yosys = Yosys::find()?;
    let mut files = program("spindle-boards", "boards");
    let mut clean = passes("board files and constraints", files.arg("--check"))?;
    if !options.no_tests {
        let tests = [
            "test",
            "--quiet",
            "-p",
            "spindle-boards",
            "--test",
            "boards",
            "--",
            "data::",
            "xdc::",
            "project::",
            "check::",
        ];
        clean &= passes("board files, scripts and fixtures", cargo_command().args(tests))?;
    }
    let out = std::path::absolute(target_folder().join("boards"))?;
    let checks = netlists(options, &boards, &yosys, &out)?;
    let tops = boards.iter().filter(|board| checks[**board]["boxes"].is_array());
    let tops = tops.map(|board| top(board, &checks[*board], &out)).collect::<Result<Vec<Top>>>()?;
    let jobs: Vec<(&Top, bool)> = tops.iter().flat_map(|top| [(top, true), (top, false)]).collect();
    let outcomes =
        two_at_a_time(
            &jobs,
            |(top, maps)| if *maps { top.map(&yosys).map(Some) } else { top.inspect(&yosys).map(|()| None) },
        );
    let mut areas = BTreeMap::new();
    let mut failures: BTreeMap<&str, String> = BTreeMap::new();
    for ((top, _), outcome) in jobs.iter().zip(outcomes) {
        match outcome {
            Ok(Some(area)) => drop(areas.insert(top.board.as_str(), area)),
            Ok(None) => {}
            Err(error) => {
                println!("{}: {error:#}", top.board);
                failures.insert(&top.board, format!("{error:#}"));
            }
        }
    }
    let mut results = Map::new();
    for board in &boards {
        let check = &checks[*board];
        let mut result = figures(check, areas.get(board), nic(check)?.as_ref());
        if let Some(failure) = failures.get(board) {
            result["failure"] = failure.clone().into();
        }
        let findings = check["findings"].as_array().map_or(0, Vec::len);
        clean &= findings == 0 && !failures.contains_key(board);
        println!("{}", row(board, &result, findings));
        results.insert((*board).into(), result);
    }
    let path = out.join("boards.json");
    std::fs::write(&path, serde_json::to_string_pretty(&results)? + "\n")?;
    println!("boards: {} of {} have a top; {}", tops.len(), boards.len(), path.display());
    Ok(clean)
}

impl Options {
    fn wants(&self, board: &str) -> bool {
        self.board.is_empty() || self.board.iter().any(|name| name == board)
    }
}

/// Runs a command, and says whether it passed.
fn passes(what: &str, command: &mut Command) -> Result<bool> {
    let passed = command.status()?.success();
    println!("boards: {what}: {}", if passed { "passed" } else { "FAILED" });
    Ok(passed)
}

/// What the program `check` finds: by board. It prints its findings itself.
fn netlists(options: &Options, boards: &[&str], yosys: &Yosys, out: &Path) -> Result<Value> {
    let mut command = program("spindle-boards", "check");
    command.arg("--yosys").arg(yosys.program());
    command.arg("--out").arg(out).args(options.write.then_some("--write")).args(boards);
    let path = out.join("checks.json");
    let _ = std::fs::remove_file(&path);
    let outcome = visible(&mut command);
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display())),
        Err(_) => Err(outcome.err().unwrap_or_else(|| anyhow::anyhow!("`check` wrote no {}", path.display()))),
    }
}

fn top(board: &str, check: &Value, out: &Path) -> Result<Top> {
    let block = blocks::find(out, &[board.to_string()])?.remove(0);
    let boxes = check["boxes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let family = check["family"].as_str().context("`check` names no family")?;
    Ok(Top { board: board.into(), family: family.into(), boxes: boxes.map(String::from).collect(), block })
}

impl Top {
    fn key(&self, yosys: &Yosys, script: &str) -> Result<Key> {
        Key::new(&[&yosys.version, &self.board, script]).files(&self.block.folder, &self.block.files)
    }

    /// No latch, no combinational loop, no undriven wire.
    fn inspect(&self, yosys: &Yosys) -> Result<()> {
        let script = yosys::check_script(&self.block.files, &self.block.top, &[WHOLE]);
        let run = || yosys.run(&self.block, &script).map(drop);
        cached(&self.key(yosys, &script)?, run).context("latches, combinational loops or undriven wires")?;
        Ok(())
    }

    /// Area of the shell without its NIC.
    fn map(&self, yosys: &Yosys) -> Result<Area> {
        let shell = format!("shell_{}", self.board);
        let script = yosys::map_script(&self.block.files, &shell, &self.family, &[WHOLE], "shell");
        let run = || {
            yosys.run(&self.block, &script)?;
            yosys::area(&std::fs::read_to_string(self.block.folder.join("shell-stat.json"))?, &shell)
        };
        let (mut area, _) = cached(&self.key(yosys, &script)?, run).context("the shell cannot be mapped")?;
        area.unknown.retain(|cell, _| cell != WHOLE && !self.boxes.contains(cell));
        if !area.unknown.is_empty() {
            bail!("the shell has cells of no known kind: {:?}", area.unknown);
        }
        Ok(area)
    }
}

/// The whole NIC in the last synthesis of the board's family and configuration.
fn nic(check: &Value) -> Result<Option<Row>> {
    let (Some(family), Some(config)) = (check["family"].as_str(), check["config"].as_str()) else {
        return Ok(None);
    };
    let path = synth::rows_path(family, config);
    let Ok(text) = std::fs::read_to_string(&path) else {
        return Ok(None);
    };
    let rows: Vec<Row> =
        serde_json::from_str(&text).with_context(|| format!("{} is no list of blocks", path.display()))?;
    Ok(rows.into_iter().find(|row| row.block == WHOLE))
}

/// The figures of a board; null for one that is not known, and the reason in `missing`.
fn figures(check: &Value, area: Option<&Area>, nic: Option<&Row>) -> Value {
    let mut result = json!({});
    let mut missing = Map::new();
    let mut enter = |figure: &str, value: Value, why: &str| {
        if value.is_null() {
            missing.insert(figure.into(), why.into());
        }
        result[figure] = value;
    };
    let why = if check.is_null() { "the board has no shell yet" } else { "`cargo xtask boards` failed for this board" };
    enter("shell_lut", area.map(|area| area.lut).into(), why);
    enter("shell_ff", area.map(|area| area.ff).into(), why);
    enter("shell_bram", area.map(|area| area.bram36).into(), why);
    let text = |name: &str| check[name].as_str().unwrap_or_default();
    let synthesis = format!(
        "the NIC was not synthesised: cargo xtask synth --family {} --config {}",
        text("family"),
        text("config")
    );
    let why_total = if area.is_some() { synthesis.as_str() } else { why };
    let both = area.zip(nic.map(|row| &row.area));
    let total = both.map(|(shell, nic)| shell.lut + nic.lut);
    enter("total_lut", total.into(), why_total);
    enter("total_ff", both.map(|(shell, nic)| shell.ff + nic.ff).into(), why_total);
    enter("total_bram", both.map(|(shell, nic)| shell.bram36 + nic.bram36).into(), why_total);
    enter("total_uram", both.map(|(shell, nic)| shell.uram + nic.uram).into(), why_total);
    enter("total_dsp", both.map(|(shell, nic)| shell.dsp + nic.dsp).into(), why_total);
    let share =
        total.zip(check["device"]["lut"].as_f64()).map(|(lut, all)| (lut as f64 / all * 1000.0).round() / 1000.0);
    enter("device_share", share.into(), why_total);
    for (figure, key) in [("device_lut", "lut"), ("device_bram", "bram36"), ("device_uram", "uram")] {
        enter(figure, check["device"][key].clone(), why);
    }
    enter("clock_pairs", check["clock_pairs"].clone(), why);
    enter("crossings", check["crossings"].clone(), why);
    result["missing"] = missing.into();
    result
}

fn row(board: &str, result: &Value, findings: usize) -> String {
    let text = |figure: &str| match &result[figure] {
        Value::Null => "-".to_string(),
        value => value.to_string(),
    };
    let shown = FIGURES.iter().filter(|figure| !figure.starts_with("device_") || **figure == "device_share");
    let cells: Vec<String> = shown.map(|figure| format!("{figure} {}", text(figure))).collect();
    format!("boards: {board:<7} {findings} findings; {}", cells.join(", "))
}

/// Enters `boards.<board>.<figure>` of the last `cargo xtask boards`: `null` for what is not known, and the reason in `missing`.
pub fn add_figures(report: &mut Map<String, Value>, results: &Value) {
    let mut missing = Map::new();
    // The laboratory has figures of boards too.
    let boards = report.entry("boards").or_insert_with(|| json!({}));
    for board in BOARDS {
        for figure in FIGURES {
            let value = results[board][figure].clone();
            if value.is_null() {
                let why = results[board]["missing"][figure].as_str().unwrap_or("`cargo xtask boards` was not run");
                missing.insert(format!("boards.{board}.{figure}"), why.into());
            }
            boards[board][figure] = value;
        }
    }
    if let Some(reasons) = report.entry("missing").or_insert_with(|| json!({})).as_object_mut() {
        reasons.append(&mut missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_are_not_known_have_a_reason() {
        let device = json!({"lut": 1000, "bram36": 60, "uram": 8});
        let check = json!({"clock_pairs": 2, "crossings": 23, "device": device, "family": "xc7", "config": "kintex7"});
        let area = Area { lut: 100, ff: 200, bram36: 15.5, ..Area::default() };
        let nic = Row {
            block: WHOLE.into(),
            family: "xc7".into(),
            config: "kintex7".into(),
            area: Area { lut: 400, ff: 300, bram36: 20.0, uram: 4, dsp: 3, ..Area::default() },
            levels: 9,
            orders: 1,
            lut_range: (400, 400),
        };
        let known = figures(&check, Some(&area), Some(&nic));
        let wanted = json!({"shell_lut": 100, "shell_ff": 200, "shell_bram": 15.5, "total_lut": 500, "total_ff": 500,
            "total_bram": 35.5, "total_uram": 4, "total_dsp": 3, "device_lut": 1000, "device_bram": 60, "device_uram": 8,
            "device_share": 0.5, "clock_pairs": 2, "crossings": 23, "missing": {}});
        assert_eq!(known, wanted);
        let without = figures(&check, Some(&area), None);
        assert_eq!((&without["total_lut"], &without["shell_lut"]), (&Value::Null, &json!(100)));
        let why = without["missing"]["device_share"].as_str().unwrap();
        assert!(why.contains("cargo xtask synth --family xc7 --config kintex7"), "{why}");
        let mut report = json!({"boards": {"u280": {"line_rate_64": 7}}}).as_object().unwrap().clone();
        add_figures(&mut report, &json!({"u50": known, "kc705": figures(&Value::Null, None, Some(&nic))}));
        assert_eq!(
            (&report["boards"]["u50"]["crossings"], &report["boards"]["u280"]["line_rate_64"]),
            (&json!(23), &json!(7))
        );
        assert_eq!(report["missing"]["boards.kc705.crossings"], "the board has no shell yet");
        assert_eq!(report["missing"]["boards.u280.shell_lut"], "`cargo xtask boards` was not run");
    }

    #[test]
    fn a_board_that_was_not_checked_has_no_nic() {
        assert_eq!(nic(&Value::Null).unwrap(), None);
        assert_eq!(nic(&json!({"family": "xcup", "config": "none"})).unwrap(), None);
    }

    #[test]
    fn the_boards_are_those_of_the_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../boards");
        let folders = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<String> = folders
            .filter(|folder| folder.join("board.toml").exists())
            .map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        found.sort_unstable();
        let mut known = BOARDS.map(String::from);
        known.sort_unstable();
        assert_eq!(found, known);
    }
}
