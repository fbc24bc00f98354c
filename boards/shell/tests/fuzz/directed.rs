//! What fuzzing has found, one test each.

use spindle_boards::data::{Board, Issues};
use spindle_boards::write::xdc::commands;

/// The issues of a board in whose file a text was replaced.
fn issues(name: &str, change: &[(&str, &str)]) -> Issues {
    let path = format!("{}/../{name}/board.toml", env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(path).unwrap();
    for (from, to) in change {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    Board::parse("board.toml", &text).unwrap_err()
}

fn has(issues: &Issues, words: &str) {
    assert!(issues.0.iter().any(|issue| issue.text.contains(words)), "{issues}");
}

#[test]
fn pcie_without_lanes_is_an_issue() {
    has(&issues("kc705", &[("lanes = 4", "lanes = 0"), ("quads = [116]", "quads = []")]), "0 lanes");
}

#[test]
fn numbers_of_any_size_are_issues() {
    let largest = "9223372036854775807";
    has(&issues("kc705", &[("lanes = 4", &format!("lanes = {largest}"))]), "lanes need");
    has(&issues("kc705", &[("width_bits = 128", &format!("width_bits = {largest}"))]), "bits at");
    has(&issues("kc705", &[("quads = [116]", "quads = [4294967295]")]), "quad 4294967295");
    let lanes = "kind = \"cmac\"\nrate_gbps = 100\nlanes = 4";
    has(
        &issues("u50", &[(lanes, "kind = \"cmac\"\nrate_gbps = 100\nlanes = 18446744073709551615")]),
        "no channel of quad",
    );
}

#[test]
fn what_follows_a_closed_word_is_refused() {
    for text in ["a {b}c", "a \"b\"c", "a [b]c", "a [b {c}d]", "a {b}{c}", "a [b][c]"] {
        let error = commands(text).unwrap_err();
        assert!(error.starts_with("line 1: ") && error.contains("space"), "{text}: {error}");
    }
    assert!(commands("a [b {c}]").is_ok());
}

#[test]
fn a_backslash_in_braces_and_at_the_end_of_a_comment_is_refused() {
    // Tcl takes neither brace for one that closes, and the second line for a part of the comment.
    for text in ["a {b\\}", "a {b\\{c}}", "# note \\\nset_property A b"] {
        assert!(commands(text).unwrap_err().contains("backslash"), "{text}");
    }
}

#[test]
fn deep_brackets_are_an_error() {
    let error = commands(&"[a ".repeat(1_000_000)).unwrap_err();
    assert!(error.contains("deep"), "{error}");
}
