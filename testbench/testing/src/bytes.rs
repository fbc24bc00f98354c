//! Differences of bytes, as rows of sixteen in hexadecimal around the first one.

use crate::difference::{Words, MARGIN};

/// Bytes of a row.
const ROW: usize = 16;
/// Rows from the one of the first difference on.
const ROWS: usize = 3;

/// Where two lists of bytes differ.
pub(crate) fn difference(found: &[u8], expected: &[u8], words: Words) -> Vec<String> {
    let common = found.len().min(expected.len());
    let differs = |at: usize| found.get(at) != expected.get(at);
    let longest = found.len().max(expected.len());
    let first = (0..longest).find(|at| differs(*at)).unwrap_or(longest);
    let wrong = (0..common).filter(|at| differs(*at)).count();
    let lengths = if found.len() == expected.len() {
        format!("{} bytes", found.len())
    } else {
        format!("{} bytes of {}, {} of {}", found.len(), words.found, expected.len(), words.expected)
    };
    let mut lines = vec![format!("{MARGIN}{lengths}; {wrong} differ; the first difference is at {first:#x} ({first})")];
    let row = first / ROW;
    for row in row.saturating_sub(1)..(row + ROWS).min(longest.div_ceil(ROW)) {
        let span = row * ROW..((row + 1) * ROW).min(longest);
        if !span.clone().any(differs) {
            lines.push(format!("{MARGIN}{}", text(found, row)));
            continue;
        }
        lines.push(words.found_line(&text(found, row)));
        lines.push(words.expected_line(&text(expected, row)));
        let marks: String = span.map(|at| if differs(at) { " ^^" } else { "   " }).collect();
        lines.push(format!("{MARGIN}{:7}{}", "", marks.trim_end()));
    }
    lines
}

/// A row with its offset.
fn text(bytes: &[u8], row: usize) -> String {
    let start = (row * ROW).min(bytes.len());
    let part = &bytes[start..(start + ROW).min(bytes.len())];
    let hex: String = part.iter().map(|byte| format!(" {byte:02x}")).collect();
    format!("{:#06x}:{hex}", row * ROW)
}

#[cfg(test)]
mod tests {
    use super::difference;
    use crate::difference::HARDWARE;

    #[test]
    fn one_byte_is_marked_between_its_neighbours() {
        let model: Vec<u8> = (0..70).collect();
        let mut hardware = model.clone();
        hardware[37] ^= 0x80;
        let wanted = "            70 bytes; 1 differ; the first difference is at 0x25 (37)
            0x0010: 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f
  hardware  0x0020: 20 21 22 23 24 a5 26 27 28 29 2a 2b 2c 2d 2e 2f
  model     0x0020: 20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f
                                   ^^
            0x0030: 30 31 32 33 34 35 36 37 38 39 3a 3b 3c 3d 3e 3f
            0x0040: 40 41 42 43 44 45";
        assert_eq!(difference(&hardware, &model, HARDWARE).join("\n"), wanted);
    }

    #[test]
    fn missing_bytes_are_marked() {
        let wanted = "            2 bytes of hardware, 4 of model; 0 differ; the first difference is at 0x2 (2)
  hardware  0x0000: 01 02
  model     0x0000: 01 02 03 04
                          ^^ ^^";
        assert_eq!(difference(&[1, 2], &[1, 2, 3, 4], HARDWARE).join("\n"), wanted);
    }
}
