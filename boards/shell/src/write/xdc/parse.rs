//! Constraints read back: the words of each command.
//!
//! The language is the part of Tcl that constraints use: one command per line, words in braces or quotes, and commands
//! in brackets. A `$variable`, a continued line or a command of control is refused, so that nothing is read as other
//! than Vivado would. So are brackets that are deeper than any constraint needs.

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Text; braces and quotes around it are gone.
    Text(String),
    /// A command in brackets.
    Query(Command),
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Line, from 1.
    pub line: usize,
    /// Words; the first is the command's name.
    pub words: Vec<Word>,
}

impl Command {
    /// The command's name.
    pub fn name(&self) -> &str {
        self.text(0).unwrap_or_default()
    }

    /// The text of a word; none if there is no such word, or a query.
    pub fn text(&self, word: usize) -> Option<&str> {
        match self.words.get(word) {
            Some(Word::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The word after an option; none if the option is absent.
    pub fn option(&self, option: &str) -> Option<&Word> {
        let at = self.words.iter().position(|w| *w == Word::Text(option.into()))?;
        self.words.get(at + 1)
    }

    /// The last word, if it is a query.
    pub fn object(&self) -> Option<&Command> {
        match self.words.last() {
            Some(Word::Query(query)) => Some(query),
            _ => None,
        }
    }

    /// Queries in the command, inner ones too.
    pub fn queries(&self) -> Vec<&Command> {
        let own = self.words.iter().filter_map(|w| match w {
            Word::Query(query) => Some(query),
            Word::Text(_) => None,
        });
        own.flat_map(|query| std::iter::once(query).chain(query.queries())).collect()
    }
}

/// Depth of brackets.
const DEEPEST: usize = 32;

/// The commands of a text; an error is a sentence with the line.
pub fn commands(text: &str) -> Result<Vec<Command>, String> {
    let mut all = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line_number = i + 1;
        let line = line.trim();
        let mut reader = Reader { rest: line, line: line_number };
        if line.is_empty() || line.starts_with('#') {
            if line.ends_with('\\') {
                return reader
                    .error("the comment ends in a backslash, which makes the next line a comment too; remove it");
            }
            continue;
        }
        let words = reader.words(0)?;
        all.push(Command { line: line_number, words });
    }
    Ok(all)
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl Reader<'_> {
    fn error<T>(&self, what: &str) -> Result<T, String> {
        Err(format!("line {}: {what}", self.line))
    }

    /// Words up to the end of the line or, inside brackets, up to the one that closes.
    fn words(&mut self, depth: usize) -> Result<Vec<Word>, String> {
        if depth > DEEPEST {
            return self.error(&format!("brackets are more than {DEEPEST} deep; write a command for each"));
        }
        let inner = depth > 0;
        let mut words = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            let Some(first) = self.rest.chars().next() else {
                return if inner { self.error("a bracket is not closed") } else { Ok(words) };
            };
            match first {
                ']' if inner => {
                    self.rest = &self.rest[1..];
                    return Ok(words);
                }
                '[' => {
                    self.rest = &self.rest[1..];
                    let words_inside = self.words(depth + 1)?;
                    words.push(Word::Query(Command { line: self.line, words: words_inside }));
                }
                '{' => words.push(Word::Text(self.braces()?)),
                '"' => words.push(Word::Text(self.quotes()?)),
                _ => words.push(Word::Text(self.bare(inner)?)),
            }
            self.word_ends(inner)?;
        }
    }

    /// After a word comes white space or an end. Tcl takes what follows a bracket for the same word, and refuses what follows
    /// a brace or a quote.
    fn word_ends(&self, inner: bool) -> Result<(), String> {
        match self.rest.chars().next() {
            Some(next) if !(next.is_whitespace() || inner && next == ']') => {
                self.error(&format!("`{next}` follows a closed word; put a space before it"))
            }
            _ => Ok(()),
        }
    }

    fn braces(&mut self) -> Result<String, String> {
        let mut depth = 0;
        for (at, c) in self.rest.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let text = self.rest[1..at].to_owned();
                self.rest = &self.rest[at + 1..];
                if text.contains('\\') {
                    return self.error("a backslash in braces changes which brace closes them; remove it");
                }
                return Ok(text);
            }
        }
        self.error("a brace is not closed")
    }

    fn quotes(&mut self) -> Result<String, String> {
        let Some(end) = self.rest[1..].find('"') else { return self.error("a quote is not closed") };
        let text = self.rest[1..=end].to_owned();
        self.rest = &self.rest[end + 2..];
        self.plain(text)
    }

    fn bare(&mut self, inner: bool) -> Result<String, String> {
        let end = self.rest.find(|c: char| c.is_whitespace() || (inner && c == ']')).unwrap_or(self.rest.len());
        let text = self.rest[..end].to_owned();
        self.rest = &self.rest[end..];
        self.plain(text)
    }

    /// The text, if Tcl takes it as it stands.
    fn plain(&self, text: String) -> Result<String, String> {
        if text.contains(['$', '\\', ';', '[', ']']) {
            return self.error(&format!("`{text}` is substituted by Tcl; put it into braces"));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let text = "# note\n\nset_property -dict {PACKAGE_PIN A1 DRIVE 8} [get_ports {led[0]}]\n";
        let all = commands(text).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].line, all[0].name()), (3, "set_property"));
        assert_eq!(all[0].option("-dict"), Some(&Word::Text("PACKAGE_PIN A1 DRIVE 8".into())));
        assert_eq!(all[0].object().unwrap().text(1), Some("led[0]"));
        let nested = commands("set_false_path -to [get_clocks -of_objects [get_pins {xdma/axi_aclk}]]").unwrap();
        let names: Vec<_> = nested[0].queries().iter().map(|q| q.name()).collect();
        assert_eq!(names, ["get_clocks", "get_pins"]);
    }

    #[test]
    fn what_tcl_would_change_is_refused() {
        for (text, sentence) in [
            ("set_property A $b [current_design]", "line 1: `$b` is substituted by Tcl; put it into braces"),
            ("a\nset_false_path -to [get_ports led", "line 2: a bracket is not closed"),
            ("set_false_path -to [get_ports {led]", "line 1: a brace is not closed"),
            ("puts \"open", "line 1: a quote is not closed"),
            ("a led[0]", "line 1: `led[0]` is substituted by Tcl; put it into braces"),
            ("a b;c", "line 1: `b;c` is substituted by Tcl; put it into braces"),
        ] {
            assert_eq!(commands(text).unwrap_err(), sentence);
        }
    }
}
