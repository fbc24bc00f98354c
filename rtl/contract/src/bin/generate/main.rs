//! Writes every file that is derived from the contract; with `--check` compares instead.
//!
//! `cargo run -p spindle-contract --bin generate [-- --check] [-- --root DIR]`. The output depends on nothing but the tables of
//! this crate: no dates, no paths, no versions of tools.

mod c_header;
mod pages;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A generated file: its path in the repository and its text.
type Output = (&'static str, String);

/// All generated files.
fn outputs() -> Vec<Output> {
    vec![
        ("handlers/include/generated/spindle_contract.h", c_header::handlers()),
        ("handlers/generated/memory.ld", c_header::linker_symbols()),
        ("sw-driver/include/generated/spindle_registers.h", c_header::registers()),
        ("docs/generated/registers.md", pages::registers()),
        ("docs/generated/descriptors.md", pages::descriptors()),
        ("docs/generated/memory-map.md", pages::memory_map()),
        ("docs/generated/wire.md", pages::wire()),
        ("docs/generated/reasons.md", pages::reasons()),
    ]
}

/// The options of the command line.
#[derive(Debug, PartialEq)]
struct Options {
    /// Compares, and writes nothing.
    check: bool,
    /// The folder below which the outputs lie.
    root: PathBuf,
}

/// Reads the command line after the program's name.
fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { check: false, root: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..") };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--check" => options.check = true,
            "--root" => options.root = arguments.next().ok_or("--root needs a folder; give --root DIR")?.into(),
            _ => return Err(format!("`{argument}` is not understood; usage: generate [--root DIR] [--check]")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let Options { check, root } = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(sentence) => {
            eprintln!("generate: {sentence}");
            return ExitCode::from(2);
        }
    };
    let mut failed = false;
    for (path, text) in outputs() {
        let result = if check { compare(&root.join(path), &text) } else { write(&root.join(path), &text) };
        if let Err(sentence) = result {
            eprintln!("generate: {path}: {sentence}");
            failed = true;
        }
    }
    if failed {
        return ExitCode::FAILURE;
    }
    println!("generate: {} files {}", outputs().len(), if check { "are up to date" } else { "written" });
    ExitCode::SUCCESS
}

/// Says where the file on disk first differs from what the contract gives.
fn compare(path: &Path, text: &str) -> Result<(), String> {
    const CURE: &str = "run `cargo run -p spindle-contract --bin generate` and commit the result";
    let old = std::fs::read_to_string(path).map_err(|error| format!("cannot be read ({error}); {CURE}"))?;
    if old == text {
        return Ok(());
    }
    let difference = old.lines().zip(text.lines()).position(|(a, b)| a != b);
    let line = difference.unwrap_or_else(|| old.lines().count().min(text.lines().count()));
    let shown = |source: &str| source.lines().nth(line).unwrap_or("(end of file)").to_owned();
    Err(format!(
        "differs from the contract at line {}; {CURE}\n  file:     {}\n  contract: {}",
        line + 1,
        shown(&old),
        shown(text)
    ))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    // An unchanged file keeps its time stamp, so that nothing that depends on it is rebuilt.
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let folder = path.parent().expect("every output has a folder");
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| format!("cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The repository's root.
    fn root() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn options_come_in_any_order() {
        let read = |line: &str| options(line.split_whitespace().map(String::from));
        let all = |check, root: &Path| Ok(Options { check, root: root.into() });
        assert_eq!(read(""), all(false, &root()));
        assert_eq!(read("--check"), all(true, &root()));
        assert_eq!(read("--root a/b"), all(false, Path::new("a/b")));
        assert_eq!(read("--root a/b --check"), all(true, Path::new("a/b")));
        assert_eq!(read("--check --root a/b"), all(true, Path::new("a/b")));
        assert_eq!(read("--check --root").unwrap_err(), "--root needs a folder; give --root DIR");
        assert_eq!(read("check").unwrap_err(), "`check` is not understood; usage: generate [--root DIR] [--check]");
    }

    #[test]
    fn the_output_is_the_same_twice() {
        assert_eq!(outputs(), outputs());
    }

    #[test]
    fn the_files_of_the_repository_are_up_to_date() {
        let outputs = outputs();
        assert_eq!(outputs.len(), 8);
        for (path, text) in outputs {
            assert!(text.lines().count() > 5, "{path} is short");
            assert_eq!(compare(&root().join(path), &text), Ok(()), "{path}");
        }
    }

    #[test]
    fn a_file_is_written_into_new_folders_and_left_alone_if_it_is_the_same() {
        let folder = std::env::temp_dir().join(format!("spindle-generate-folder-{}", std::process::id()));
        let path = folder.join("a/b.md");
        write(&path, "one").unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH;
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        write(&path, "one").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), old, "it is the same");
        write(&path, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_changed_line_is_found() {
        let path = std::env::temp_dir().join(format!("spindle-generate-{}", std::process::id()));
        std::fs::write(&path, "a\nb\nc\n").unwrap();
        assert_eq!(compare(&path, "a\nb\nc\n"), Ok(()));
        let sentence = compare(&path, "a\nB\nc\n").unwrap_err();
        assert!(sentence.contains("at line 2"), "{sentence}");
        assert!(compare(&path, "a\nb\nc\nd\n").unwrap_err().contains("at line 4"));
        std::fs::remove_file(&path).unwrap();
        assert!(compare(&path, "").unwrap_err().contains("cannot be read"));
    }
}
