//! Writes the constraints of every board, `constraints/<board>.xdc`; with `--check` compares instead.
//!
//! `cargo run -p spindle-boards --bin boards -- --check|--write [--root DIR]`
//!
//! With `--blocks DIR` it writes the SystemVerilog of blocks of the shell, each to a folder of its own, for
//! `cargo xtask synth --from DIR`.

use spindle_boards::data::Board;
use spindle_boards::shell::timing;
use spindle_boards::write::{blocks, xdc};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Generated files: path in the repository, and text.
fn outputs() -> Result<Vec<(String, String)>, String> {
    let boards = Board::all().map_err(|issues| issues.to_string())?;
    let file = |board: &Board| Ok((format!("constraints/{}.xdc", board.name), xdc::text(board, &timing::of(board))?));
    boards.iter().map(file).collect()
}

/// A difference or a failure, as a sentence.
fn deliver(path: &Path, text: &str, check: bool) -> Result<(), String> {
    if !check {
        return std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()));
    }
    match std::fs::read_to_string(path) {
        Ok(found) if found == text => Ok(()),
        _ => Err(format!("{} is out of date; run cargo run -p spindle-boards --bin boards -- --write", path.display())),
    }
}

fn run(check: bool, root: &Path) -> Result<usize, String> {
    let outputs = outputs()?;
    let failures: Vec<_> =
        outputs.iter().filter_map(|(path, text)| deliver(&root.join(path), text, check).err()).collect();
    if failures.is_empty() {
        Ok(outputs.len())
    } else {
        Err(failures.join("\n"))
    }
}

fn write_blocks(out: &Path) -> ExitCode {
    match blocks::write(out) {
        Ok(folders) => {
            println!("boards: {} blocks written to {}", folders.len(), out.display());
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            eprintln!("boards: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let (check, root) = match arguments[..] {
        ["--blocks", out] => return write_blocks(Path::new(out)),
        ["--check"] => (true, None),
        ["--write"] => (false, None),
        ["--check", "--root", root] => (true, Some(root)),
        ["--write", "--root", root] => (false, Some(root)),
        _ => {
            eprintln!("boards: usage: boards --check|--write [--root DIR] or boards --blocks DIR");
            return ExitCode::from(2);
        }
    };
    let root = root.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../.."), PathBuf::from);
    match run(check, &root) {
        Ok(files) => {
            println!("boards: {files} files {}", if check { "are up to date" } else { "written" });
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            eprintln!("boards: {sentence}");
            ExitCode::FAILURE
        }
    }
}
