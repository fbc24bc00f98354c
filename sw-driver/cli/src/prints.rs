//! Lines of text from the pieces that handlers print.

use serde::Serialize;
use spindle::Print;
use std::collections::BTreeMap;
use std::fmt;

/// Who prints: cluster, HPU, context, frame, kind of handler.
type Speaker = (usize, usize, usize, u16, u8);

/// A line that a handler printed.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Line {
    /// Cluster.
    pub cluster: usize,
    /// HPU in the cluster.
    pub hpu: usize,
    /// Context.
    pub context: usize,
    /// Frame that the handler handles.
    pub frame: u16,
    /// The line without its end.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "print: {}.{} context {} frame {}: {}", self.cluster, self.hpu, self.context, self.frame, self.text)
    }
}

/// Puts lines together: handlers print at the same time, each its own.
#[derive(Default)]
pub struct Lines {
    open: BTreeMap<Speaker, Vec<u8>>,
    done: Vec<Line>,
}

impl Lines {
    /// Takes pieces in the order in which they were printed.
    pub fn take(&mut self, pieces: impl IntoIterator<Item = Print>) {
        for piece in pieces {
            let speaker = (piece.cluster, piece.hpu, piece.context.0, piece.frame, piece.kind);
            for byte in piece.text {
                if byte == b'\n' {
                    let text = self.open.remove(&speaker).unwrap_or_default();
                    self.done.push(line(speaker, &text));
                } else {
                    self.open.entry(speaker).or_default().push(byte);
                }
            }
        }
    }

    /// Lines that are complete, once.
    pub fn drain(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.done)
    }

    /// All lines; unfinished ones come last.
    pub fn finish(self) -> Vec<Line> {
        let rest = self.open.into_iter().map(|(speaker, text)| line(speaker, &text));
        self.done.into_iter().chain(rest).collect()
    }
}

/// A terminal must survive whatever a handler prints.
fn line((cluster, hpu, context, frame, _): Speaker, bytes: &[u8]) -> Line {
    let mut text = String::new();
    for c in String::from_utf8_lossy(bytes).chars() {
        if c.is_control() && c != '\t' {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    Line { cluster, hpu, context, frame, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spindle::ContextId;

    #[test]
    fn lines_of_several_handlers_are_kept_apart() {
        let piece = |hpu, frame, text: &str| Print {
            cluster: 1,
            hpu,
            context: ContextId(2),
            kind: 0,
            frame,
            text: text.into(),
        };
        let mut lines = Lines::default();
        lines.take([piece(0, 7, "first li"), piece(3, 8, "other\n"), piece(0, 7, "ne\nrest "), piece(3, 8, "\n\u{7}")]);
        lines.take([piece(0, 9, "new"), piece(0, 7, "of it")]);
        let lines: Vec<_> = lines.finish().iter().map(ToString::to_string).collect();
        let expected = [
            "print: 1.3 context 2 frame 8: other",
            "print: 1.0 context 2 frame 7: first line",
            "print: 1.3 context 2 frame 8: ",
            "print: 1.0 context 2 frame 7: rest of it",
            "print: 1.0 context 2 frame 9: new",
            "print: 1.3 context 2 frame 8: \\u{7}",
        ];
        assert_eq!(lines, expected);
    }
}
