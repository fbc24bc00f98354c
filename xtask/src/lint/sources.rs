//! Files of the project, their lines split into code and comment.

use crate::process::quiet;
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// What a file is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Markdown,
    /// `//` and `/* */`.
    Slashes,
    /// `//` and `/* */` with raw strings and lifetimes.
    Rust,
    /// `#`.
    Hashes,
}

/// A line of a file.
pub struct Line {
    /// The whole line.
    pub text: String,
    /// What a compiler sees of the line; empty in Markdown, but for fenced code.
    pub code: String,
    /// What a reader sees: the comment, or the line of Markdown outside fenced code.
    pub prose: String,
}

/// A file that git knows.
pub struct Source {
    pub path: PathBuf,
    pub kind: Kind,
    /// Written by `generate`.
    pub generated: bool,
    pub lines: Vec<Line>,
}

/// Reads every text file of the project but those in `skip`.
pub fn read(skip: &[String]) -> Result<Vec<Source>> {
    let listed = quiet(Command::new("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
    let mut sources = vec![];
    for path in listed.split('\0').map(PathBuf::from) {
        let Some(kind) = path.extension().and_then(|end| kind(&end.to_string_lossy())) else { continue };
        if skip.iter().any(|skipped| path.starts_with(skipped)) {
            continue;
        }
        // A file that was removed and not yet committed is still listed; one that is not UTF-8 is no text.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let generated = path.components().any(|part| part.as_os_str() == "generated");
        sources.push(Source { path, kind, generated, lines: split(kind, &text) });
    }
    Ok(sources)
}

fn kind(extension: &str) -> Option<Kind> {
    match extension {
        "md" => Some(Kind::Markdown),
        "rs" => Some(Kind::Rust),
        "c" | "h" | "cpp" | "js" | "css" | "html" | "ld" | "sv" | "v" => Some(Kind::Slashes),
        "toml" | "py" | "sh" | "tcl" | "xdc" | "yml" => Some(Kind::Hashes),
        _ => None,
    }
}

fn split(kind: Kind, text: &str) -> Vec<Line> {
    match kind {
        Kind::Markdown => split_markdown(text),
        Kind::Hashes => text.lines().map(split_hash).collect(),
        Kind::Slashes | Kind::Rust => split_slashes(text, kind == Kind::Rust),
    }
}

fn split_markdown(text: &str) -> Vec<Line> {
    let mut fenced = false;
    let line = |line: &str| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let (code, prose) = if fenced || fence { (line, "") } else { ("", line) };
        Line { text: line.into(), code: code.into(), prose: prose.into() }
    };
    text.lines().map(line).collect()
}

fn split_hash(line: &str) -> Line {
    let mut quote = None;
    let start = line.char_indices().find(|(_, c)| {
        match quote {
            Some(open) if open == *c => quote = None,
            None if ['"', '\''].contains(c) => quote = Some(*c),
            _ => {}
        }
        quote.is_none() && *c == '#'
    });
    let (code, prose) = line.split_at(start.map_or(line.len(), |(at, _)| at));
    Line { text: line.into(), code: code.into(), prose: prose.into() }
}

/// Where the scanner of [`split_slashes`] is.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    /// In a block comment.
    Block,
    /// In a string that ends with this character.
    Quoted(char),
    /// In a raw string that ends with a quote and this many `#`.
    Raw(usize),
}

fn split_slashes(text: &str, rust: bool) -> Vec<Line> {
    let mut state = State::Code;
    text.lines()
        .map(|line| {
            let (mut code, mut prose) = (String::new(), String::new());
            let mut rest = line;
            while let Some(c) = rest.chars().next() {
                let mut taken = c.len_utf8();
                let in_comment = state == State::Block;
                match state {
                    State::Code if rest.starts_with("//") => {
                        prose.push_str(rest);
                        break;
                    }
                    State::Code if rest.starts_with("/*") => state = State::Block,
                    State::Code if rust && raw_string(rest, &code).is_some() => {
                        let hashes = raw_string(rest, &code).expect("just seen");
                        taken = hashes + 2;
                        state = State::Raw(hashes);
                    }
                    State::Code if c == '"' || c == '`' && !rust => state = State::Quoted(c),
                    // In Rust, a character and no lifetime.
                    State::Code if c == '\'' && (!rust || is_character(rest)) => state = State::Quoted(c),
                    State::Block if rest.starts_with("*/") => {
                        taken = 2;
                        state = State::Code;
                    }
                    State::Quoted(_) if c == '\\' => taken += rest[1..].chars().next().map_or(0, char::len_utf8),
                    State::Quoted(end) if c == end => state = State::Code,
                    State::Raw(hashes) if c == '"' && rest[1..].starts_with(&"#".repeat(hashes)) => {
                        taken += hashes;
                        state = State::Code;
                    }
                    _ => {}
                }
                let part = &rest[..taken.min(rest.len())];
                if in_comment || state == State::Block { &mut prose } else { &mut code }.push_str(part);
                rest = &rest[part.len()..];
            }
            // A character that does not end in its line was an apostrophe.
            if state == State::Quoted('\'') {
                state = State::Code;
            }
            Line { text: line.into(), code, prose }
        })
        .collect()
}

/// How many `#` a raw string has that begins here.
fn raw_string(rest: &str, before: &str) -> Option<usize> {
    let body = rest.strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let name = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    (body[hashes..].starts_with('"') && !name).then_some(hashes)
}

fn is_character(rest: &str) -> bool {
    let mut chars = rest[1..].chars();
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

#[cfg(test)]
pub fn source(path: &str, text: &str) -> Source {
    let kind = kind(path.rsplit('.').next().unwrap()).unwrap();
    Source { path: path.into(), kind, generated: false, lines: split(kind, text) }
}

#[cfg(test)]
mod tests {
    use super::source;

    fn prose(path: &str, text: &str) -> Vec<String> {
        source(path, text).lines.into_iter().map(|line| line.prose.trim().to_owned()).collect()
    }

    #[test]
    fn comments_are_told_from_strings_and_lifetimes() {
        let rust = "let url = \"http://x\"; // why\nfn f<'a>(c: char) -> bool { c == '\"' } // quote\n\
                    let raw = r#\"// \"no\" \"#; /* yes */ let b = 1;\n/* two\nlines */ let s = \"a\\\"//b\";\n";
        assert_eq!(prose("a.rs", rust), ["// why", "// quote", "/* yes */", "/* two", "lines */"]);
        assert_eq!(prose("a.toml", "a = \"#1\" # why\n"), ["# why"]);
        assert_eq!(prose("a.c", "char c = '\"'; // it's\nint x; /* b */\n"), ["// it's", "/* b */"]);
    }

    #[test]
    fn fenced_code_is_no_prose() {
        assert_eq!(prose("a.md", "one\n```sh\ncargo\n```\ntwo\n"), ["one", "", "", "", "two"]);
    }
}
