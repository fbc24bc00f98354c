//! Finds modules that differ in nothing but one width, so that one module with a parameter stands for all of them.
//!
//! A block with a type parameter (a FIFO of descriptors) has a shape for each type. Their texts are compared word by word. Where they differ, each has to
//! have a number, and the numbers of two texts must differ by the same amount everywhere: that amount is the difference of the widths. Whatever comes
//! out gives back each text exactly when its width is put in, so nothing has to be known of the language but what a number is.

/// One text for several.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Numbers of the texts.
    pub members: Vec<usize>,
    /// Width of each of them.
    pub widths: Vec<usize>,
    /// The text with `WIDTH`.
    pub text: String,
}

/// Name of the parameter.
pub(crate) const PARAMETER: &str = "WIDTH";

/// Groups of texts that one text can stand for, each of two members or more.
pub(crate) fn shared(texts: &[&str]) -> Vec<Shared> {
    let words: Vec<Vec<Word>> = texts.iter().map(|text| split(text)).collect();
    let mut left: Vec<usize> = (0..texts.len()).collect();
    let mut groups = vec![];
    while left.len() > 1 {
        let first = left.remove(0);
        // The first partner decides which numbers are widths; others join if they agree.
        let Some(slots) = left.iter().find_map(|&other| slots(&words[first], &words[other])) else { continue };
        let width = |n: usize| displaced(&words[first], &words[n], &slots);
        let members: Vec<usize> =
            std::iter::once(first).chain(left.iter().copied().filter(|&n| width(n).is_some())).collect();
        let widths = members.iter().map(|&n| width(n).expect("it was found before")).collect();
        left.retain(|n| !members.contains(n));
        groups.push(Shared { members, widths, text: join(&words[first], &slots) });
    }
    groups
}

/// A piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    /// A number that is not part of a name or of a sized literal.
    Number(usize),
    /// A zero with its size in front.
    Zero(usize),
    /// Spaces.
    Gap(&'a str),
    /// Anything else.
    Other(&'a str),
}

fn split(text: &str) -> Vec<Word<'_>> {
    let bytes = text.as_bytes();
    let mut words = vec![];
    let mut at = 0;
    while at < bytes.len() {
        let run = |from: usize, belongs: &dyn Fn(u8) -> bool| {
            from + bytes[from..].iter().take_while(|b| belongs(**b)).count()
        };
        let end;
        if bytes[at] == b' ' {
            end = run(at, &|b| b == b' ');
            words.push(Word::Gap(&text[at..end]));
        } else if bytes[at].is_ascii_digit() {
            let digits = run(at, &|b| b.is_ascii_digit());
            let value = text[at..digits].parse().ok();
            if bytes.get(digits) == Some(&b'\'') {
                end = run(digits + 1, &|b| b.is_ascii_alphanumeric() || b == b'_');
                match value {
                    Some(size) if &text[digits..end] == "'d0" => words.push(Word::Zero(size)),
                    _ => words.push(Word::Other(&text[at..end])),
                }
            } else {
                end = digits;
                words.push(value.map_or(Word::Other(&text[at..end]), Word::Number));
            }
        } else if bytes[at].is_ascii_alphabetic() || bytes[at] == b'_' {
            end = run(at, &|b| b.is_ascii_alphanumeric() || b == b'_');
            words.push(Word::Other(&text[at..end]));
        } else if bytes[at] == 1 {
            // The number of a module, between two marks.
            end = at + 2 + text[at + 1..].find('\u{1}').unwrap_or(text.len() - at - 2);
            words.push(Word::Other(&text[at..end]));
        } else {
            end = at + text[at..].chars().next().map_or(1, char::len_utf8);
            words.push(Word::Other(&text[at..end]));
        }
        at = end;
    }
    words
}

/// Where the numbers stand that are widths, with what has to be added to the width; the width of the first text is that of its first such number plus 1,
/// as in `[WIDTH-1:0]`.
fn slots(first: &[Word], other: &[Word]) -> Option<Vec<(usize, isize)>> {
    if first.len() != other.len() {
        return None;
    }
    let mut slots = vec![];
    let mut base = None;
    for (i, pair) in first.iter().zip(other).enumerate() {
        match pair {
            (Word::Number(a), Word::Number(b)) if a != b => {
                let (width, difference) = *base.get_or_insert((a + 1, *b as isize - *a as isize));
                if *b as isize - *a as isize != difference {
                    return None;
                }
                slots.push((i, *a as isize - width as isize));
            }
            // A zero takes any width where a whole value is assigned; elsewhere its size matters.
            (Word::Zero(a), Word::Zero(b)) if a != b => {
                let (width, difference) = base?;
                if *b as isize - *a as isize != difference || *a != width || !assigned(first, i) {
                    return None;
                }
                slots.push((i, 0));
            }
            (Word::Gap(_), Word::Gap(_)) => {}
            (a, b) if a == b => {}
            _ => return None,
        }
    }
    (!slots.is_empty()).then_some(slots)
}

/// Whether the word is all that stands between an `=` and the semicolon, or the comma of a list of declarations.
fn assigned(words: &[Word], at: usize) -> bool {
    let before = words[..at].iter().rev().find(|w| !matches!(w, Word::Gap(_)));
    let after = words.get(at + 1);
    before == Some(&Word::Other("=")) && (after == Some(&Word::Other(";")) || after == Some(&Word::Other(",")))
}

/// The width that turns the first text into this one.
fn displaced(first: &[Word], text: &[Word], slots: &[(usize, isize)]) -> Option<usize> {
    if first.len() != text.len() {
        return None;
    }
    let (at, offset) = slots[0];
    let Word::Number(value) = text[at] else { return None };
    let width = usize::try_from(value as isize - offset).ok()?;
    let mut slots = slots.iter().peekable();
    for (i, pair) in first.iter().zip(text).enumerate() {
        let same = match (slots.next_if(|s| s.0 == i), pair) {
            (Some((_, offset)), (_, Word::Number(value))) => *value as isize == width as isize + offset,
            (Some(_), (_, Word::Zero(size))) => *size == width,
            (Some(_), _) => false,
            (None, (Word::Gap(_), Word::Gap(_))) => true,
            (None, (a, b)) => a == b,
        };
        if !same {
            return None;
        }
    }
    Some(width)
}

fn join(words: &[Word], slots: &[(usize, isize)]) -> String {
    let mut slots = slots.iter().peekable();
    let mut text = String::new();
    for (i, word) in words.iter().enumerate() {
        match (slots.next_if(|s| s.0 == i), word) {
            (Some(_), Word::Zero(_)) => text.push_str("'0"),
            (Some((_, 0)), _) => text.push_str(PARAMETER),
            (Some((_, offset)), _) => text.push_str(&format!("{PARAMETER}{offset:+}")),
            (None, Word::Number(value)) => text.push_str(&value.to_string()),
            (None, Word::Zero(size)) => text.push_str(&format!("{size}'d0")),
            (None, Word::Gap(other) | Word::Other(other)) => text.push_str(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(width: usize, depth: usize) -> String {
        format!(
            "module \u{1}own\u{1} (\n  input  logic [{}:0] {:>pad$}write\n);\n  logic [{}:0] head = {width}'d0;\n  wire x = {{3'd1, head[{}]}} == {depth};\n  \u{1}7\u{1} #(.WIDTH({width})) m ();\nendmodule\n",
            width - 1,
            "",
            width - 1,
            width - 2,
            pad = 3 - (width - 1).to_string().len(),
        )
    }

    #[test]
    fn one_width_is_shared() {
        let texts = [text(114, 4), text(9, 4), text(30, 5), text(64, 4), text(31, 5), text(7, 6)];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let groups = shared(&texts);
        assert_eq!(groups.len(), 2, "{groups:?}");
        assert_eq!((&groups[0].members[..], &groups[0].widths[..]), (&[0, 1, 3][..], &[114, 9, 64][..]));
        assert_eq!((&groups[1].members[..], &groups[1].widths[..]), (&[2, 4][..], &[30, 31][..]));
        for piece in ["[WIDTH-1:0] write", "head = '0;", "head[WIDTH-2]", "#(.WIDTH(WIDTH))", "== 4"] {
            assert!(groups[0].text.contains(piece), "{piece} is not in {}", groups[0].text);
        }
    }

    #[test]
    fn two_widths_are_not() {
        let other = text(9, 4).replace("head[7]", "head[6]");
        assert_eq!(shared(&[&text(114, 4), &other]), vec![]);
        assert_eq!(shared(&[&text(114, 4), &text(9, 4).replace("#(.WIDTH(9))", "#(.WIDTH(10))")]), vec![]);
        assert_eq!(shared(&["a = {9'd0, b};[8:0]", "a = {8'd0, b};[7:0]"]), vec![]);
        assert_eq!(shared(&["logic [8:0] a = {9'd0, b};", "logic [7:0] a = {8'd0, b};"]), vec![]);
        assert_eq!(shared(&["\u{1}3\u{1} m ();", "\u{1}4\u{1} m ();"]), vec![]);
    }
}
