//! Finds modules that differ only in a few sizes, and makes one module with parameters of them.
//!
//! A block with type and size parameters (a FIFO of descriptors) has a shape for each value. The sources of the shapes are compared word by
//! word. Where two sources differ, both must have a number, or literals of equal value and different size. Numbers that differ by the same
//! amount belong to one parameter. The result reproduces each source exactly when its sizes are inserted, so the only part of Verilog's
//! syntax that matters here is the number.

/// Most parameters of a module.
const MOST: usize = 3;

/// One source for several.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Numbers of the texts.
    pub members: Vec<usize>,
    /// Names of the parameters.
    pub names: Vec<String>,
    /// Their values, for each of the texts.
    pub values: Vec<Vec<usize>>,
    /// The source with the parameters.
    pub text: String,
}

/// Groups of sources that one source can replace, each of two members or more.
pub(crate) fn shared(texts: &[&str]) -> Vec<Shared> {
    let words: Vec<Vec<Word>> = texts.iter().map(|text| split(text)).collect();
    let mut left: Vec<usize> = (0..texts.len()).collect();
    let mut groups = vec![];
    while left.len() > 1 {
        let first = left.remove(0);
        // A partner decides which numbers are parameters; others join if they agree.
        let join = |slots: &Slots| -> Vec<usize> {
            left.iter().copied().filter(|&n| slots.values(&words[first], &words[n]).is_some()).collect()
        };
        let ways = left.iter().filter_map(|&other| Slots::between(&words[first], &words[other]));
        let best = ways.map(|slots| (join(&slots), slots)).reduce(|best, way| {
            let better = (way.0.len(), best.1.bases.len()) > (best.0.len(), way.1.bases.len());
            if better {
                way
            } else {
                best
            }
        });
        let Some((others, slots)) = best else { continue };
        let members: Vec<usize> = std::iter::once(first).chain(others).collect();
        let values = members.iter().filter_map(|&n| slots.values(&words[first], &words[n])).collect();
        left.retain(|n| !members.contains(n));
        let names = slots.names(&words[first]);
        groups.push(Shared { members, values, text: slots.text(&words[first], &names), names });
    }
    groups
}

/// A piece of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    /// A number that is not part of a name or of a sized literal.
    Number(usize),
    /// A decimal literal with its size in front: the size and the value.
    Sized(usize, &'a str),
    /// The range of a declaration, with the space after it, by its higher bound: `[7:0] `, or nothing for one bit.
    Range(usize),
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
                let literal = text[digits..end].strip_prefix("'d");
                words.push(match (value, literal) {
                    (Some(size), Some(value)) => Word::Sized(size, value),
                    _ => Word::Other(&text[at..end]),
                });
            } else {
                end = digits;
                words.push(value.map_or(Word::Other(&text[at..end]), Word::Number));
            }
        } else if bytes[at].is_ascii_alphabetic() || bytes[at] == b'_' {
            let name = run(at, &|b| b.is_ascii_alphanumeric() || b == b'_');
            words.push(Word::Other(&text[at..name]));
            let declares = ["logic", "wire"].contains(&&text[at..name]) && bytes.get(name) == Some(&b' ');
            end = if declares {
                let (bound, length) = range(&text[name + 1..]).unwrap_or((0, 0));
                words.extend([Word::Gap(" "), Word::Range(bound)]);
                name + 1 + length
            } else {
                name
            };
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

/// The higher bound of a range at the start of a source, and its length.
fn range(text: &str) -> Option<(usize, usize)> {
    let (bound, _) = text.strip_prefix('[')?.split_once(":0] ")?;
    Some((bound.parse().ok()?, bound.len() + "[:0] ".len()))
}

/// Where the numbers stand that are parameters.
struct Slots {
    slots: Vec<Slot>,
    /// Value of each parameter in the first source.
    bases: Vec<usize>,
}

/// The number at a position is `offset` plus, or minus, a parameter.
struct Slot {
    at: usize,
    parameter: usize,
    falls: bool,
    offset: isize,
}

impl Slot {
    fn number(&self, parameter: usize) -> Option<usize> {
        let parameter = parameter as isize;
        usize::try_from(self.offset + if self.falls { -parameter } else { parameter }).ok()
    }

    fn parameter(&self, number: usize) -> Option<usize> {
        let number = number as isize;
        usize::try_from(if self.falls { self.offset - number } else { number - self.offset }).ok()
    }

    fn text(&self, name: &str) -> String {
        match (self.falls, self.offset) {
            (true, offset) => format!("{offset}-{name}"),
            (false, 0) => name.to_string(),
            (false, offset) => format!("{name}{offset:+}"),
        }
    }
}

impl Slots {
    /// The sizes that turn one source into another, if there are any. The value of a parameter in the first source is its first number
    /// plus 1, as in `[WIDTH-1:0]`, or the value that an instance has.
    fn between(first: &[Word], other: &[Word]) -> Option<Slots> {
        if first.len() != other.len() {
            return None;
        }
        let mut found = Slots { slots: vec![], bases: vec![] };
        let mut differences: Vec<isize> = vec![];
        for (at, pair) in first.iter().zip(other).enumerate() {
            let (a, b, base) = match pair {
                (Word::Number(a), Word::Number(b)) if a != b => (*a, *b, a + pin(first, at).is_none() as usize),
                (Word::Sized(a, value), Word::Sized(b, same)) if a != b && value == same => (*a, *b, *a),
                (Word::Range(a), Word::Range(b)) if a != b => (*a, *b, a + 1),
                (Word::Gap(_), Word::Gap(_)) => continue,
                (a, b) if a == b => continue,
                _ => return None,
            };
            let difference = b as isize - a as isize;
            let parameter = differences.iter().position(|d| d.abs() == difference.abs()).unwrap_or_else(|| {
                differences.push(difference);
                found.bases.push(base);
                differences.len() - 1
            });
            let falls = differences[parameter] != difference;
            let base = found.bases[parameter] as isize;
            let offset = a as isize - if falls { -base } else { base };
            found.slots.push(Slot { at, parameter, falls, offset });
        }
        (1..=MOST).contains(&found.bases.len()).then_some(found)
    }

    /// The parameters that turn the first source into this one.
    fn values(&self, first: &[Word], text: &[Word]) -> Option<Vec<usize>> {
        if first.len() != text.len() {
            return None;
        }
        let mut values = vec![None; self.bases.len()];
        let mut slots = self.slots.iter().peekable();
        for (at, pair) in first.iter().zip(text).enumerate() {
            let slot = slots.next_if(|slot| slot.at == at);
            let number = match (slot, pair) {
                (Some(_), (Word::Number(_), Word::Number(number)) | (Word::Range(_), Word::Range(number))) => *number,
                (Some(_), (Word::Sized(_, value), Word::Sized(number, same))) if value == same => *number,
                (None, (Word::Gap(_), Word::Gap(_))) => continue,
                (None, (a, b)) if a == b => continue,
                _ => return None,
            };
            let slot = slot?;
            let value = *values[slot.parameter].get_or_insert(slot.parameter(number)?);
            if slot.number(value) != Some(number) {
                return None;
            }
        }
        values.into_iter().collect()
    }

    /// Names: that of a parameter it is handed to where there is one.
    fn names(&self, first: &[Word]) -> Vec<String> {
        let mut names: Vec<String> = vec![];
        for parameter in 0..self.bases.len() {
            let handed = self.slots.iter().filter(|s| s.parameter == parameter && !s.falls && s.offset == 0);
            let name = handed.filter_map(|slot| pin(first, slot.at)).find(|name| !names.iter().any(|n| n == name));
            let others = ["WIDTH", "SIZE", "SPAN", "REACH"].into_iter();
            let name = name.or_else(|| others.into_iter().find(|name| !names.iter().any(|n| n == name)));
            names.push(name.unwrap_or_default().to_string());
        }
        names
    }

    fn text(&self, words: &[Word], names: &[String]) -> String {
        let mut slots = self.slots.iter().peekable();
        let mut text = String::new();
        for (at, word) in words.iter().enumerate() {
            let size = slots.next_if(|slot| slot.at == at).map(|slot| slot.text(&names[slot.parameter]));
            match (size, word) {
                (Some(_), Word::Sized(_, "0")) if assigned(words, at) => text.push_str("'0"),
                (Some(size), Word::Sized(_, value)) if names.contains(&size) => {
                    text.push_str(&format!("{size}'({value})"))
                }
                (Some(size), Word::Sized(_, value)) => text.push_str(&format!("({size})'({value})")),
                (Some(size), Word::Range(_)) => text.push_str(&format!("[{size}:0] ")),
                (Some(size), _) => text.push_str(&size),
                (None, Word::Range(0)) => {}
                (None, Word::Range(bound)) => text.push_str(&format!("[{bound}:0] ")),
                (None, Word::Number(value)) => text.push_str(&value.to_string()),
                (None, Word::Sized(size, value)) => text.push_str(&format!("{size}'d{value}")),
                (None, Word::Gap(other) | Word::Other(other)) => text.push_str(other),
            }
        }
        text
    }
}

/// The name of the parameter that a number is given to: `.NAME(number)`.
fn pin<'a>(words: &[Word<'a>], at: usize) -> Option<&'a str> {
    match words.get(at.checked_sub(3)?..at + 2)? {
        [Word::Other("."), Word::Other(name), Word::Other("("), _, Word::Other(")")] => Some(name),
        _ => None,
    }
}

/// Whether the word is all that stands between an `=` and the semicolon, or the comma of a list of declarations.
fn assigned(words: &[Word], at: usize) -> bool {
    let before = words[..at].iter().rev().find(|w| !matches!(w, Word::Gap(_)));
    let after = words.get(at + 1);
    before == Some(&Word::Other("=")) && (after == Some(&Word::Other(";")) || after == Some(&Word::Other(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(width: usize, depth: usize) -> String {
        format!(
            "module \u{1}own\u{1} (\n  input logic [{}:0] write\n);\n  logic [{}:0] head = {width}'d0;\n  \
             wire x = {{3'd1, head[{}]}} == {depth};\n  \u{1}7\u{1} #(.WIDTH({width})) m ();\nendmodule\n",
            width - 1,
            width - 1,
            width - 2,
        )
    }

    #[test]
    fn one_width_is_shared() {
        let texts = [text(114, 4), text(9, 4), text(64, 4)];
        let groups = shared(&texts.each_ref().map(String::as_str));
        assert_eq!(groups.len(), 1, "{groups:?}");
        assert_eq!(
            (&groups[0].members[..], &groups[0].values[..]),
            (&[0, 1, 2][..], &[vec![114], vec![9], vec![64]][..])
        );
        assert_eq!(groups[0].names, ["WIDTH"]);
        for piece in ["[WIDTH-1:0] write", "head = '0;", "head[WIDTH-2]", "#(.WIDTH(WIDTH))", "== 4"] {
            assert!(groups[0].text.contains(piece), "{piece} is not in {}", groups[0].text);
        }
    }

    #[test]
    fn several_sizes_are_shared() {
        let text = |width: usize, address: usize| {
            format!(
                "[{}:0] write; [{}:0] at; at <= at + {address}'d1; level = {{{}'d0, at}}; .ADDRESS({address}), .DEPTH({})",
                width - 1,
                address - 1,
                16 - address,
                1 << address
            )
        };
        // The second differs from the first by the same amount in width and address, and decides nothing.
        let texts = [text(14, 4), text(15, 5), text(112, 5), text(9, 2), text(14, 6)];
        let groups = shared(&texts.each_ref().map(String::as_str));
        assert_eq!(groups.len(), 1, "{groups:?}");
        let group = &groups[0];
        assert_eq!((group.members.len(), &group.names[..]), (5, &["WIDTH", "ADDRESS", "DEPTH"].map(String::from)[..]));
        assert_eq!((&group.values[0][..], &group.values[3][..]), (&[14, 4, 16][..], &[9, 2, 4][..]));
        assert_eq!(
            group.text,
            "[WIDTH-1:0] write; [ADDRESS-1:0] at; at <= at + ADDRESS'(1); level = {(16-ADDRESS)'(0), at}; .ADDRESS(ADDRESS), .DEPTH(DEPTH)"
        );
    }

    #[test]
    fn of_equal_ways_the_first_counts() {
        // The second differs from the first by 1, 1 and 50, the third by 1, 50 and 50: either makes two parameters for two sources.
        let texts = ["[1] [10] [100]", "[2] [11] [150]", "[2] [60] [150]"];
        let groups = shared(&texts);
        assert_eq!(groups.iter().map(|group| &group.members[..]).collect::<Vec<_>>(), [[0, 1]]);
        assert_eq!(groups[0].text, "[WIDTH-1] [WIDTH+8] [SIZE-1]");
        // A way for more sources comes first, and of two for as many that with more parameters.
        let texts = ["[1] [10]", "[3] [90]", "[2] [11]", "[4] [13]"];
        assert_eq!(shared(&texts)[0].members, [0, 1, 2, 3]);
    }

    #[test]
    fn a_size_that_falls_while_another_grows_is_the_same_parameter() {
        let groups = shared(&["a[3] {8'd1, b} c[12]", "a[5] {6'd1, b} c[10]"]);
        assert_eq!(groups[0].text, "a[WIDTH-1] {(12-WIDTH)'(1), b} c[16-WIDTH]");
        assert_eq!(groups[0].values, [[4], [6]]);
    }

    #[test]
    fn a_zero_that_is_all_of_a_value_has_no_size() {
        for (text, wanted) in [
            ("x = 8'd0;", "x = '0;"),
            ("x = 8'd0, y;", "x = '0, y;"),
            ("x = 8'd0 + y;", "x = WIDTH'(0) + y;"),
            ("x <= 8'd1;", "x <= WIDTH'(1);"),
            ("f(8'd0, y)", "f(WIDTH'(0), y)"),
        ] {
            let groups = shared(&[text, &text.replace("8'd", "9'd")]);
            assert_eq!((groups[0].text.as_str(), &groups[0].values[..]), (wanted, &[vec![8], vec![9]][..]), "{text}");
        }
    }

    #[test]
    fn words_are_what_may_differ() {
        assert_eq!(
            split("a1 16 8'd3 4'h2 [7:0] x"),
            [
                Word::Other("a1"),
                Word::Gap(" "),
                Word::Number(16),
                Word::Gap(" "),
                Word::Sized(8, "3"),
                Word::Gap(" "),
                Word::Other("4'h2"),
                Word::Gap(" "),
                Word::Other("["),
                Word::Number(7),
                Word::Other(":"),
                Word::Number(0),
                Word::Other("]"),
                Word::Gap(" "),
                Word::Other("x"),
            ]
        );
        let names = |text: &'static str| split(text)[2..].to_vec();
        // Only a declaration has a range, of which one bit has none.
        assert_eq!(names("logic [7:0] x"), [Word::Range(7), Word::Other("x")]);
        assert_eq!(names("wire x"), [Word::Range(0), Word::Other("x")]);
        assert_eq!(split("logics [7:0]")[2], Word::Other("["));
        assert_eq!(split("\u{1}12\u{1} u"), [Word::Other("\u{1}12\u{1}"), Word::Gap(" "), Word::Other("u")]);
        // A word may end with underscores and digits.
        assert_eq!(split("_a_1_")[..], [Word::Other("_a_1_")]);
        assert_eq!(split("3'b0_1")[..], [Word::Other("3'b0_1")]);
    }

    #[test]
    fn one_bit_is_a_width() {
        let texts = ["input logic [7:0] a, logic b; .WIDTH(8);", "input logic a, logic b; .WIDTH(1);"];
        let groups = shared(&texts);
        assert_eq!(groups[0].values, [[8], [1]]);
        assert_eq!(groups[0].text, "input logic [WIDTH-1:0] a, logic b; .WIDTH(WIDTH);");
    }

    #[test]
    fn other_differences_are_not() {
        assert_eq!(shared(&["a = 4'd1; b", "a = 5'd2; b"]), vec![]);
        assert_eq!(shared(&["\u{1}3\u{1} m ();", "\u{1}4\u{1} m ();"]), vec![]);
        assert_eq!(shared(&["x <= 4'd1;", "x <= 4'd2;"]), vec![]);
        // Five sizes that have nothing to do with one another.
        assert_eq!(shared(&["[1] [2] [3] [4]", "[2] [4] [6] [8]"]), vec![]);
    }
}
