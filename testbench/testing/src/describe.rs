//! Values as lines: one for each field, lists of numbers in rows, and names in the place of numeric reasons.

use spindle_contract::reasons::DROP_REASONS;
use std::fmt::Debug;

/// Characters of a list or of a tuple that stays on one line.
const WIDTH: usize = 80;
/// Numbers from which on a list is shown in rows.
const LONG: usize = 16;
/// Numbers of a row that are no bytes.
const ROW: usize = 8;

/// A value of one side.
pub struct Side {
    /// What is shown.
    pub(crate) lines: Vec<String>,
    /// The value, if it is a list of bytes.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Side {
    /// Describes a value by its `Debug`.
    pub fn of<T: Debug + ?Sized>(value: &T) -> Side {
        let (text, name) = (format!("{value:#?}"), std::any::type_name::<T>());
        let bytes = if is_bytes(name) { bytes(&text) } else { None };
        let lines = if is_text(name) && text.contains("\\n") { unescaped(&text) } else { lines(&text) };
        Side { lines, bytes }
    }

    /// The value, if it takes one line.
    pub(crate) fn single(&self) -> Option<&str> {
        match &self.lines[..] {
            [line] => Some(line),
            _ => None,
        }
    }
}

/// Whether a type's name is that of a list of bytes.
fn is_bytes(name: &str) -> bool {
    let name = name.trim_start_matches('&').trim_start_matches("mut ");
    name == "alloc::vec::Vec<u8>" || name == "[u8]" || name.starts_with("[u8; ")
}

/// Whether a type's name is that of a text.
fn is_text(name: &str) -> bool {
    ["str", "alloc::string::String"].contains(&name.trim_start_matches('&'))
}

/// The lines of a text that `Debug` has written.
fn unescaped(text: &str) -> Vec<String> {
    let inner = text.trim_start_matches('"').strip_suffix('"').unwrap_or(text);
    inner.split("\\n").map(|line| line.replace("\\\"", "\"")).collect()
}

/// The bytes of a list that `Debug` has written.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    inner.split(',').map(str::trim).filter(|number| !number.is_empty()).map(|number| number.parse().ok()).collect()
}

/// The lines of a value that `{:#?}` has written.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    for line in text.lines() {
        let closes = line.trim_start().starts_with([')', ']']);
        let depth = indentation(line);
        let opener = if closes { out.iter().rposition(|line| indentation(line) == depth) } else { None };
        match opener {
            Some(opener) if is_flat(&out[opener + 1..], depth) => {
                let inner = out.split_off(opener + 1);
                let head = out.pop().expect("the opener is there");
                out.extend(folded(&head, &inner, line.trim()));
            }
            _ => out.push(line.to_owned()),
        }
    }
    out.iter().map(|line| named(line)).collect()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether lines between an opening and a closing one are values of one line each.
fn is_flat(inner: &[String], depth: usize) -> bool {
    inner.iter().all(|line| {
        indentation(line) == depth + 4 && line.ends_with(',') && !line.trim_start().starts_with([')', ']', '}'])
    })
}

/// A list or tuple on one line, or in rows.
fn folded(head: &str, inner: &[String], tail: &str) -> Vec<String> {
    let values: Vec<&str> = inner.iter().map(|line| line.trim().trim_end_matches(',')).collect();
    let numbers: Option<Vec<i128>> = values.iter().map(|value| value.parse().ok()).collect();
    let is_long = numbers.as_ref().is_some_and(|numbers| numbers.len() >= LONG);
    let line = format!("{head}{}{tail}", values.join(", "));
    if line.trim_start().len() <= WIDTH && !is_long {
        return vec![line];
    }
    let indent = " ".repeat(indentation(head) + 4);
    let rows: Vec<String> = match numbers {
        Some(numbers) if numbers.iter().all(|number| (0..256).contains(number)) => {
            let row = |row: (usize, &[i128])| {
                let bytes: String = row.1.iter().map(|byte| format!(" {byte:02x}")).collect();
                format!("{indent}{:#06x}:{bytes}", LONG * row.0)
            };
            numbers.chunks(LONG).enumerate().map(row).collect()
        }
        Some(_) => {
            let row = |row: (usize, &[&str])| format!("{indent}[{}] {}", ROW * row.0, row.1.join(", "));
            values.chunks(ROW).enumerate().map(row).collect()
        }
        None => inner.to_vec(),
    };
    [vec![head.to_owned()], rows, vec![format!("{}{tail}", " ".repeat(indentation(head)))]].concat()
}

/// The line with the names of reasons: `reason: 9` becomes `reason: no_rule (9)`, and so does `Dropped(9)`.
pub(crate) fn named(line: &str) -> String {
    for key in ["reason: ", "Dropped(", "Refused("] {
        let Some(at) = line.find(key).map(|at| at + key.len()) else { continue };
        let at = at + if line[at..].starts_with("Some(") { 5 } else { 0 };
        let digits = line[at..].bytes().take_while(u8::is_ascii_digit).count();
        let number = line[at..at + digits].parse().ok();
        if let Some((name, _)) = number.and_then(|number: usize| DROP_REASONS.get(number)) {
            return format!("{}{name} ({}){}", &line[..at], &line[at..at + digits], &line[at + digits..]);
        }
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Debug)]
    #[allow(dead_code)]
    struct Frame {
        number: (u16, Option<u8>),
        reason: usize,
        end: End,
        bytes: Vec<u8>,
        words: Vec<u32>,
        parts: Vec<Part>,
        none: [u8; 0],
    }

    #[derive(Debug)]
    #[allow(dead_code)]
    struct Part {
        drop_reason: Option<usize>,
    }

    #[derive(Debug)]
    #[allow(dead_code)]
    enum End {
        Dropped(usize),
    }

    #[test]
    fn a_structure_has_a_line_for_each_field() {
        let frame = Frame {
            number: (7, Some(1)),
            reason: 9,
            end: End::Dropped(23),
            bytes: (0..18).collect(),
            words: (1000..1017).collect(),
            parts: vec![Part { drop_reason: Some(10) }],
            none: [],
        };
        let wanted = "Frame {
    number: (7, Some(1)),
    reason: no_rule (9),
    end: Dropped(duplicate (23)),
    bytes: [
        0x0000: 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f
        0x0010: 10 11
    ],
    words: [
        [0] 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007
        [8] 1008, 1009, 1010, 1011, 1012, 1013, 1014, 1015
        [16] 1016
    ],
    parts: [
        Part {
            drop_reason: Some(rule_drop (10)),
        },
    ],
    none: [],
}";
        assert_eq!(Side::of(&frame).lines.join("\n"), wanted);
        let map = BTreeMap::from([(1, "a")]);
        assert_eq!(Side::of(&map).lines, ["{", "    1: \"a\",", "}"]);
    }

    #[test]
    fn lists_of_bytes_are_known_by_their_type() {
        let owned = vec![1u8, 2];
        assert_eq!(Side::of(&owned).bytes, Some(vec![1, 2]));
        assert_eq!(Side::of(&&owned[..]).bytes, Some(vec![1, 2]));
        assert_eq!(Side::of(&[0u8; 3]).bytes, Some(vec![0; 3]));
        assert_eq!(Side::of(&[0u32; 3]).bytes, None);
        assert_eq!(Side::of(&Vec::<u8>::new()).bytes, Some(vec![]));
    }

    #[test]
    fn a_number_that_is_no_reason_stays() {
        let beyond = format!("    reason: {},", spindle_contract::reasons::DROP_COUNT);
        assert_eq!(named(&beyond), beyond);
        assert_eq!(named("    reason: None,"), "    reason: None,");
        assert_eq!(named("    seasons: 3,"), "    seasons: 3,");
    }
}
