//! Words of the rule language, and the error that points at one.

/// A rule that is not understood. Its text shows the rule with a caret below the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}\n  {line}\n  {caret:>width$}", line = .line, caret = "^", width = .column)]
pub struct SyntaxError {
    message: String,
    line: String,
    column: usize,
}

impl SyntaxError {
    pub(super) fn new(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let clean = |part: &str| part.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        SyntaxError { message: message.into(), line: clean(text), column: text[..offset].chars().count() + 1 }
    }

    /// Column of the place, from 1.
    pub fn column(&self) -> usize {
        self.column
    }
}

/// A word of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Name, number or address.
    Word(&'a str),
    /// Operator or bracket.
    Sign(&'static str),
    /// End of the rule.
    End,
}

const SIGNS: [&str; 16] = ["&&", "||", "==", "!=", "<=", ">=", "..", "<", ">", "!", "(", ")", "[", "]", "/", "="];

/// Splits a rule into words with their byte offsets.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, SyntaxError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if first.is_ascii_alphanumeric() {
            let word = word(&text[at..]);
            tokens.push((at, Token::Word(word)));
            at += word.len();
        } else if let Some(sign) = SIGNS.iter().find(|sign| text[at..].starts_with(**sign)) {
            tokens.push((at, Token::Sign(sign)));
            at += sign.len();
        } else {
            return Err(SyntaxError::new(text, at, format!("`{first}` has no meaning in a rule; take it out")));
        }
    }
    tokens.push((text.len(), Token::End));
    Ok(tokens)
}

/// The longest word at the start: letters, digits, `_`, `:` and single dots (two dots are a range).
fn word(text: &str) -> &str {
    let bytes = text.as_bytes();
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        let dot = *byte == b'.' && bytes.get(end + 1) != Some(&b'.');
        if !(byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b':' || dot) {
            break;
        }
        end += 1;
    }
    &text[..end]
}
