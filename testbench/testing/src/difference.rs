//! Two values side by side: what is equal once, what differs twice, with the side's name before the line.

use crate::bytes;
use crate::describe::{named, Side};
use similar::{capture_diff_slices, Algorithm, DiffTag};

/// Before a line of both sides.
pub(crate) const MARGIN: &str = "            ";
/// Equal lines that are shown before and after a difference.
const CONTEXT: usize = 2;
/// Lines of a difference, at most.
const MOST: usize = 80;

/// What the two sides are called.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    pub found: &'static str,
    pub expected: &'static str,
}

/// Where a model of hardware runs.
pub(crate) const HARDWARE: Words = Words { found: "hardware", expected: "model" };
/// Elsewhere.
pub(crate) const SOFTWARE: Words = Words { found: "found", expected: "expected" };

impl Words {
    pub fn found_line(self, line: &str) -> String {
        format!("  {:8}  {line}", self.found)
    }

    pub fn expected_line(self, line: &str) -> String {
        format!("  {:8}  {line}", self.expected)
    }
}

/// Where two values differ; `name` is a part's.
pub(crate) fn difference(name: Option<&str>, found: &Side, expected: &Side, words: Words) -> Vec<String> {
    if let (Some(found), Some(expected)) = (found.single(), expected.single()) {
        let sides = match name {
            // A reason gets its name, another number its hexadecimal form.
            Some(name) => [found, expected].map(|side| {
                let plain = format!("{name}: {side}");
                let named = named(&plain);
                if named == plain {
                    format!("{name}: {}", with_hex(side))
                } else {
                    named
                }
            }),
            None => [found, expected].map(with_hex),
        };
        return vec![words.found_line(&sides[0]), words.expected_line(&sides[1])];
    }
    let mut lines: Vec<String> = name.iter().map(|name| format!("{MARGIN}{name}:")).collect();
    lines.extend(match (&found.bytes, &expected.bytes) {
        (Some(found), Some(expected)) => bytes::difference(found, expected, words),
        _ => of_lines(&found.lines, &expected.lines, words),
    });
    lines
}

/// A number of several digits, in hexadecimal as well.
fn with_hex(side: &str) -> String {
    match side.parse::<u128>() {
        Ok(number) if number > 9 => format!("{number} ({number:#x})"),
        _ => side.into(),
    }
}

/// A part that is equal on both sides.
pub(crate) fn equal(name: &str, side: &Side) -> String {
    let value = side.single().unwrap_or("equal");
    format!("{MARGIN}{}", named(&format!("{name}: {value}")))
}

/// Lines that differ, with those around them and the heads of the structures that they are in.
fn of_lines(found: &[String], expected: &[String], words: Words) -> Vec<String> {
    // Each line with what is printed and whether it is of one side only.
    let mut all: Vec<(&str, String, bool)> = vec![];
    for op in capture_diff_slices(Algorithm::Patience, found, expected) {
        let (tag, old, new) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            all.extend(found[old].iter().map(|line| (line.as_str(), format!("{MARGIN}{line}"), false)));
        } else {
            // Fields that changed stand in pairs.
            let (old, new) = (&found[old], &expected[new]);
            let pairs = if old.len() == new.len() { old.len() } else { 0 };
            for (old, new) in old.iter().zip(new).take(pairs) {
                all.push((old, words.found_line(old), true));
                all.push((new, words.expected_line(new), true));
            }
            all.extend(old[pairs..].iter().map(|line| (line.as_str(), words.found_line(line), true)));
            all.extend(new[pairs..].iter().map(|line| (line.as_str(), words.expected_line(line), true)));
        }
    }
    let depth = |index: usize| all[index].0.len() - all[index].0.trim_start().len();
    let mut shown = vec![false; all.len()];
    for index in (0..all.len()).filter(|index| all[*index].2) {
        let end = (index + CONTEXT + 1).min(all.len());
        shown[index.saturating_sub(CONTEXT)..end].fill(true);
        let mut inner = depth(index);
        for outer in (0..index).rev() {
            if depth(outer) < inner {
                (shown[outer], inner) = (true, depth(outer));
            }
        }
    }
    let mut lines = vec![];
    for (index, shown) in shown.iter().enumerate() {
        match shown {
            true if lines.len() == MOST => {
                let more = all[index..].iter().filter(|line| line.2).count();
                lines.push(format!("{MARGIN}... and {more} more lines that differ"));
                break;
            }
            true => lines.push(all[index].1.clone()),
            false if index == 0 || shown_before(&lines) => lines.push(format!("{MARGIN}...")),
            false => {}
        }
    }
    lines
}

/// Whether the last line is one of a value.
fn shown_before(lines: &[String]) -> bool {
    lines.last().is_some_and(|line| line.trim() != "...")
}
