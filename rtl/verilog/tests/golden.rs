//! The texts that the back end writes, against those that are committed in `tests/golden`: one file for each design of the
//! corpus, with all its modules. The comparison of behaviour does not see names, layout, sharing of modules and wires that
//! are left out; a change of those is visible here, and reviewed as a change of these files.
//!
//! `SPINDLE_GOLDEN=write cargo test -p spindle-verilog --test all` writes the files anew.

use spindle_harness::Source;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command that writes the texts anew.
const WRITE: &str = "SPINDLE_GOLDEN=write cargo test -p spindle-verilog --test all";

/// Bytes of the longest text that is kept. A longer one is the same form for wider values, which no one reads.
const LONGEST: usize = 24_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Compares a design with its committed text, or writes the text with `SPINDLE_GOLDEN=write`.
pub fn check(source: &Source) {
    source.files.iter().for_each(|(file, text)| check_name(file, text));
    let now = text(source);
    let path = folder().join(format!("{}.sv", source.top));
    let name = format!("rtl/verilog/tests/golden/{}.sv", source.top);
    if now.len() > LONGEST {
        assert!(!path.exists(), "{name} is kept, though its design has {} bytes; remove the file", now.len());
        return;
    }
    if std::env::var("SPINDLE_GOLDEN").is_ok_and(|value| value == "write") {
        // Tests run at the same time: what is as it was is left alone.
        if fs::read_to_string(&path).ok().as_ref() != Some(&now) {
            fs::write(&path, now).unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
        }
        return;
    }
    let before = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{name} cannot be read: {error}; to write the text: {WRITE}"));
    if let Some((line, before, now)) = difference(&before, &now) {
        panic!("{name}:{line} differs\n  before: {before}\n  now:    {now}\nif the change is meant: {WRITE}");
    }
}

/// A file has the name of the module or package in it.
fn check_name(file: &str, text: &str) {
    let name = file.strip_suffix(".sv").unwrap_or_else(|| panic!("{file} has another ending than .sv"));
    let (module, package) = (format!("module {name} "), format!("package {name};"));
    assert!(
        text.lines().any(|line| line.starts_with(&module) || line == package),
        "{file} declares another name:\n{text}"
    );
}

/// All modules of a design, without the lines in which blocks stand: a test file that gets a line changes no text.
fn text(source: &Source) -> String {
    let texts: Vec<&str> = source.files.iter().map(|(_, text)| text.as_str()).collect();
    texts.join("\n").split_inclusive('\n').map(without_place).collect()
}

/// `// all::Pair (tests/pair.rs:12)` without the 12.
fn without_place(line: &str) -> String {
    let place = line.starts_with("// ").then(|| line.trim_end().strip_suffix(')')?.rsplit_once(".rs:")).flatten();
    match place {
        Some((comment, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("{comment}.rs)\n"),
        _ => line.to_string(),
    }
}

/// The first line that differs: its number, what stood there and what stands there now.
fn difference<'a>(before: &'a str, now: &'a str) -> Option<(usize, &'a str, &'a str)> {
    const END: &str = "(end of the text)";
    let (mut old, mut new) = (before.split_inclusive('\n'), now.split_inclusive('\n'));
    for number in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => return Some((number, a.map_or(END, str::trim_end), b.map_or(END, str::trim_end))),
        }
    }
    None
}

/// The designs that the tests of this program may emit: each has the name of its test after `corpus_`.
fn designs() -> BTreeSet<String> {
    let program = std::env::current_exe().expect("a test program has a path");
    let listed =
        Command::new(program).args(["--list", "--format", "terse"]).output().expect("a test program lists its tests");
    let listed = String::from_utf8(listed.stdout).expect("names of tests are text");
    let tests = listed.lines().filter_map(|line| line.strip_suffix(": test")?.rsplit("::").next());
    tests.map(|test| format!("corpus_{test}")).collect()
}

#[test]
fn every_golden_text_has_a_test() {
    let designs = designs();
    assert!(designs.len() > 10, "{designs:?}");
    for file in fs::read_dir(folder()).expect("tests/golden is a folder") {
        let name = file.expect("a folder has entries").file_name().to_string_lossy().into_owned();
        let design =
            name.strip_suffix(".sv").unwrap_or_else(|| panic!("{name} in tests/golden is no text of a design"));
        assert!(designs.contains(design), "tests/golden/{name} belongs to no test; remove the file");
    }
}

#[test]
fn the_first_line_that_differs_is_named() {
    assert!(difference("a\nb\n", "a\nb\n").is_none());
    assert_eq!(difference("a\nb\nc\n", "a\nB\nC\n"), Some((2, "b", "B")));
    assert_eq!(difference("a\n", "a\nb\n"), Some((2, "(end of the text)", "b")));
    assert_eq!(difference("a\nb\n", "a\n"), Some((2, "b", "(end of the text)")));
    assert!(difference("a\n", "a").is_some(), "a line end counts");
}

#[test]
fn only_the_places_of_blocks_are_left_out() {
    assert_eq!(without_place("// all::Pair<8> (tests/pair.rs:12)\n"), "// all::Pair<8> (tests/pair.rs)\n");
    for line in ["// see (pair.rs:x)\n", "\tassign a = b;\n", "// all::Pair\n", "x (pair.rs:12)\n", "\n"] {
        assert_eq!(without_place(line), line);
    }
}
