//! Board files: comments and empty lines change nothing, a damaged file is a board that obeys all rules, or sentences with
//! their lines.

use spindle_boards::data::{Board, Issues};
use spindle_boards::write::xdc;
use spindle_fuzz::Source;

/// Values and keys that come into a file.
const WORDS: [&str; 36] = [
    "0",
    "1",
    "-1",
    "3",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "1e308",
    "nan",
    "inf",
    "true",
    "\"\"",
    "\"é\"",
    "[]",
    "[0]",
    "[224, 225, 226, 227]",
    "{}",
    "=",
    "[",
    "]",
    "[[mac]]",
    "[[clock]]",
    "[pins]",
    "lanes",
    "quads",
    "quad",
    "width_bits",
    "user_clock_mhz",
    "mhz",
    "divide",
    "gen",
    "size_mib",
    "used",
    "\"alveo\"",
    "\"pcie/2\"",
];

fn text_of(name: &str) -> String {
    let path = format!("{}/../{name}/board.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fields of a board without the lines in which they stand.
fn without_lines(board: &Board) -> String {
    let text = format!("{board:?}");
    let fields = text.split(", path: ").next().unwrap_or_default();
    let mut parts = fields.split("line: ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.trim_start_matches(|digit: char| digit.is_ascii_digit()))
}

/// A number of a file changed: the key, its value, and another one.
fn change_number(text: &str, source: &mut Source) -> String {
    let numbers: Vec<usize> = text
        .match_indices(" = ")
        .map(|(at, _)| at + 3)
        .filter(|at| text[*at..].starts_with(char::is_numeric))
        .collect();
    let at = *source.pick(&numbers);
    let end = at + text[at..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').unwrap_or(0);
    format!("{}{}{}", &text[..at], source.number(), &text[end..])
}

fn check_issues(text: &str, issues: &Issues) {
    assert!(!issues.0.is_empty(), "an error has a sentence");
    for issue in &issues.0 {
        assert_eq!(issue.path, "boards/x/board.toml");
        assert!(!issue.text.is_empty() && issue.line <= text.lines().count() + 1, "{issue}");
    }
}

#[test]
fn fuzz_board_file() {
    let boards: Vec<(String, String)> = Board::names()
        .map(|name| {
            let text = text_of(name);
            let board = Board::parse("boards/x/board.toml", &text).unwrap_or_else(|issues| panic!("{issues}"));
            (text, without_lines(&board))
        })
        .collect();
    spindle_fuzz::run("board_file", 300, |source| {
        let (text, wanted) = source.pick(&boards);
        let mut damaged = match source.below(3) {
            // No file has a text of several lines.
            0 => {
                let padding = *source.pick(&["  # a comment\n", "\n\n", "\r\n", " # \"[é]\n"]);
                let every = 1 + source.below(9);
                let lines = text.lines().enumerate();
                lines.map(|(at, line)| format!("{line}{}", if at % every == 0 { padding } else { "\n" })).collect()
            }
            1 => change_number(text, source),
            _ => text.clone(),
        };
        let only_padded = damaged.contains('\r') || damaged.contains("# a comment") || damaged.contains("[é]");
        if only_padded {
            let board = Board::parse("boards/x/board.toml", &damaged).unwrap_or_else(|issues| panic!("{issues}"));
            assert_eq!(without_lines(&board), *wanted);
        }
        if source.chance(2) {
            damaged = source.mutated_text(&damaged, &WORDS);
        }
        match Board::parse("boards/x/board.toml", &damaged) {
            Ok(board) => {
                // Whatever is built from a board relies on the rules.
                assert!(board.config().clock_mhz == board.core_mhz() && board.mac().used);
                for text in [xdc::pins(&board), xdc::config(&board)] {
                    let commands = xdc::commands(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
                    assert!(!commands.is_empty());
                }
                true
            }
            Err(issues) => {
                check_issues(&damaged, &issues);
                false
            }
        }
    });
}
