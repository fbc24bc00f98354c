//! From text to disjunctive normal form.

use super::syntax::{tokens, SyntaxError, Token};
use super::{Conjunction, Literal, Source, Term};
use spindle_contract::descriptors::{MatchField, MatchPlace, MATCH_FIELDS};
use spindle_contract::params::MATCH_BYTES;
use spindle_contract::wire::{ETH_BYTES, IPV4_BYTES, UDP_BYTES, VLAN_BYTES};
use std::net::Ipv4Addr;

/// Most alternatives of one rule: no card has more rule slots.
const MAX_ALTERNATIVES: usize = 64;
/// Deepest nesting of brackets and negations.
const MAX_DEPTH: usize = 64;

/// Fields of two words: name, high part, low part, bits.
const WIDE_FIELDS: [(&str, &str, &str, u32); 3] = [
    ("eth.dst", "eth.dst_hi", "eth.dst_lo", 48),
    ("eth.src", "eth.src_hi", "eth.src_lo", 48),
    ("spindle.addr", "spindle.addr_hi", "spindle.addr_lo", 64),
];

/// Headers that bytes can be taken from: name, first byte in a frame without tag, a tag moves it.
const HEADERS: [(&str, usize, bool); 5] = [
    ("eth", 0, false),
    ("ip", ETH_BYTES, true),
    ("udp", ETH_BYTES + IPV4_BYTES, true),
    ("icmp", ETH_BYTES + IPV4_BYTES, true),
    ("spindle", ETH_BYTES + IPV4_BYTES + UDP_BYTES, true),
];

/// A number in a frame, as tests see it.
#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    at: MatchPlace,
    bits: usize,
}

/// Parses a rule.
pub(super) fn parse(text: &str) -> Result<Vec<Conjunction>, SyntaxError> {
    let tokens = tokens(text)?;
    if tokens.len() == 1 {
        return Err(SyntaxError::new(text, 0, "the rule is empty; name a field, such as `udp`"));
    }
    let mut parser = Parser { text, tokens, next: 0, depth: 0 };
    let tree = parser.or()?;
    match parser.peek() {
        (_, Token::End) => normal_form(&tree, false).ok_or_else(|| {
            SyntaxError::new(
                text,
                0,
                format!("the rule has more than {MAX_ALTERNATIVES} alternatives; split it or write it with fewer `||`"),
            )
        }),
        (at, _) => Err(parser.error(at, "the rule should end here; join tests with `&&` or `||`")),
    }
}

/// Parses a place of four bytes, such as `udp[10:4]` or `ip.src`: the word, and the flag of its header.
pub(super) fn word(text: &str) -> Result<(Source, Vec<Literal>), SyntaxError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens, next: 0, depth: 0 };
    let place = match parser.take() {
        (at, Token::Word(name)) => parser.place(at, name)?,
        (at, _) => return Err(parser.error(at, "name four bytes of the frame, such as `udp[10:4]` or `ip.src`")),
    };
    if let (at, Token::Sign(_) | Token::Word(_)) = parser.peek() {
        return Err(parser.error(at, "the place should end here; a message is named by four bytes, not by a test"));
    }
    match place.at {
        MatchPlace::Word { offset, behind_tag, .. } if place.bits == 32 => {
            let flag = header_flag(place.name).map(|flag| field(flag).at);
            let flags = flag.into_iter().filter_map(|at| match at {
                MatchPlace::Flag(number) => Some(Literal::Flag(number)),
                _ => None,
            });
            Ok((Source::Frame { offset, behind_tag }, flags.collect()))
        }
        _ => Err(parser.error(
            0,
            format!(
                "a message is named by 32 bits, `{text}` has {}; write four bytes, such as `udp[10:4]`",
                place.bits
            ),
        )),
    }
}

/// A rule as it is written.
enum Tree {
    Literal(Literal),
    Not(Box<Tree>),
    All(Vec<Tree>),
    Any(Vec<Tree>),
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token<'a>)>,
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn error(&self, at: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.text, at, message)
    }

    fn peek(&self) -> (usize, Token<'a>) {
        self.tokens[self.next]
    }

    fn take(&mut self) -> (usize, Token<'a>) {
        let token = self.peek();
        // The end stays where it is.
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek().1, Token::Sign(s) if s == sign);
        if found {
            self.take();
        }
        found
    }

    fn or(&mut self) -> Result<Tree, SyntaxError> {
        let mut parts = vec![self.and()?];
        while self.eat("||") {
            parts.push(self.and()?);
        }
        Ok(Tree::Any(parts))
    }

    fn and(&mut self) -> Result<Tree, SyntaxError> {
        let mut parts = vec![self.unary()?];
        while self.eat("&&") {
            parts.push(self.unary()?);
        }
        Ok(Tree::All(parts))
    }

    fn unary(&mut self) -> Result<Tree, SyntaxError> {
        let (at, token) = self.take();
        if self.depth > MAX_DEPTH {
            return Err(self.error(
                at,
                format!("brackets and negations are nested deeper than {MAX_DEPTH}; write the rule flatter"),
            ));
        }
        self.depth += 1;
        let tree = match token {
            Token::Sign("!") => Tree::Not(Box::new(self.unary()?)),
            Token::Sign("(") => {
                let tree = self.or()?;
                if !self.eat(")") {
                    return Err(self.error(self.peek().0, "a `)` is missing here"));
                }
                tree
            }
            Token::Word(name) => self.test(at, name)?,
            _ => return Err(self.error(at, "a field is missing here; name one, such as `udp` or `ip.src`")),
        };
        self.depth -= 1;
        Ok(tree)
    }

    fn test(&mut self, at: usize, name: &'a str) -> Result<Tree, SyntaxError> {
        if let Some((_, high, low, bits)) = WIDE_FIELDS.iter().find(|wide| wide.0 == name) {
            return self.wide_test(name, [field(high), field(low)], *bits);
        }
        let field = self.place(at, name)?;
        let most = mask(field.bits);
        let (operator_at, operator) = self.peek();
        let (low, high, negate) = match operator {
            Token::Sign("==")
            | Token::Sign("!=")
            | Token::Sign("<")
            | Token::Sign("<=")
            | Token::Sign(">")
            | Token::Sign(">=") => {
                self.take();
                let value_at = self.peek().0;
                let value = self.value(field.name, field.bits as u32)? as u32;
                match operator {
                    Token::Sign("==") => (value, value, false),
                    Token::Sign("!=") => (value, value, true),
                    Token::Sign("<=") => (0, value, false),
                    Token::Sign(">=") => (value, most, false),
                    Token::Sign("<") if value > 0 => (0, value - 1, false),
                    Token::Sign(">") if value < most => (value + 1, most, false),
                    _ => {
                        return Err(
                            self.error(value_at, format!("no value of `{name}` can be there; the test is never true"))
                        )
                    }
                }
            }
            Token::Word("in") => {
                self.take();
                let (low, high) = self.range(field)?;
                (low, high, false)
            }
            _ if matches!(field.at, MatchPlace::Flag(_)) => (1, 1, false),
            Token::Sign("=") => return Err(self.error(operator_at, "write `==` to compare")),
            _ => {
                return Err(self.error(
                    at,
                    format!("`{name}` is a number; compare it with `==`, `!=`, `<`, `<=`, `>`, `>=` or `in`"),
                ))
            }
        };
        let tree = negated(test(field, low, high), negate);
        Ok(if matches!(field.at, MatchPlace::Flag(_)) { tree } else { with_header(name, tree) })
    }

    /// A field, or bytes of a header.
    fn place(&mut self, at: usize, name: &'a str) -> Result<Place<'a>, SyntaxError> {
        if self.eat("[") {
            return self.bytes(at, name);
        }
        match MATCH_FIELDS.iter().find(|field| field.name == name) {
            Some(field) => Ok(place(field)),
            None => Err(self.error(at, format!("there is no field `{name}`{}", suggestion(name)))),
        }
    }

    /// `offset [":" bytes] "]"` of a header.
    fn bytes(&mut self, header_at: usize, name: &'a str) -> Result<Place<'a>, SyntaxError> {
        let Some((_, base, behind_tag)) = HEADERS.iter().find(|header| header.0 == name) else {
            let names = HEADERS.map(|header| header.0).join(", ");
            return Err(self.error(header_at, format!("bytes can be taken from {names}, not from `{name}`")));
        };
        let (at, token) = self.take();
        let numbers = match token {
            Token::Word(word) => {
                let (offset, count) = word.split_once(':').unwrap_or((word, "1"));
                offset.parse::<usize>().ok().zip(count.parse::<usize>().ok())
            }
            _ => None,
        };
        let Some((offset, count)) = numbers else {
            return Err(self.error(at, "an offset is missing here; write `[offset]` or `[offset:bytes]`"));
        };
        if !matches!(count, 1 | 2 | 4) {
            return Err(self.error(at, "a number is 1, 2 or 4 bytes long"));
        }
        let reach = MATCH_BYTES - if *behind_tag { VLAN_BYTES } else { 0 };
        let first = base.saturating_add(offset);
        if first.saturating_add(count) > reach {
            return Err(self.error(at, format!("a rule sees only the first {reach} bytes of a frame here")));
        }
        // The word that fields of IP headers use, if there is a choice.
        let fits = |word: &usize| *word <= first && first + count <= word + 4 && word + 4 <= reach;
        let even = first & !1;
        let word = [even, even.saturating_sub(2)].into_iter().filter(fits).max_by_key(|word| word % 4);
        let Some(word) = word else {
            return Err(self.error(at, "four bytes start at an even place of the frame"));
        };
        if !self.eat("]") {
            return Err(self.error(self.peek().0, "a `]` is missing here"));
        }
        let shift = 8 * (word + 4 - first - count);
        Ok(Place { name, at: MatchPlace::Word { offset: word, behind_tag: *behind_tag, shift }, bits: 8 * count })
    }

    fn wide_test(&mut self, name: &str, [high, low]: [Place; 2], bits: u32) -> Result<Tree, SyntaxError> {
        let negate = match self.take() {
            (_, Token::Sign("==")) => false,
            (_, Token::Sign("!=")) => true,
            (at, _) => {
                return Err(
                    self.error(at, format!("`{name}` takes two words and can only be compared with `==` or `!=`"))
                )
            }
        };
        let value = self.value(name, bits)?;
        let (upper, lower) = ((value >> 32) as u32, value as u32);
        let both = Tree::All(vec![test(high, upper, upper), test(low, lower, lower)]);
        Ok(with_header(name, negated(both, negate)))
    }

    fn range(&mut self, field: Place) -> Result<(u32, u32), SyntaxError> {
        let bits = field.bits as u32;
        let at = self.peek().0;
        let low = self.value(field.name, bits)? as u32;
        if self.eat("..") {
            let high = self.value(field.name, bits)? as u32;
            if high < low {
                return Err(self.error(at, "the lower end of a range comes first"));
            }
            return Ok((low, high));
        }
        if !self.eat("/") {
            return Err(self.error(self.peek().0, "a range is `low..high` or `address/bits`"));
        }
        let (prefix_at, token) = self.take();
        let prefix = match token {
            Token::Word(digits) => digits.parse::<u32>().ok().filter(|prefix| *prefix <= bits),
            _ => None,
        };
        let Some(prefix) = prefix else {
            return Err(self.error(prefix_at, format!("a prefix has 0 to {bits} bits")));
        };
        let host = mask((bits - prefix) as usize);
        if low & host != 0 {
            let network = Ipv4Addr::from(low & !host);
            return Err(self.error(at, format!("the address has bits after the prefix; write {network}/{prefix}")));
        }
        Ok((low, low | host))
    }

    fn value(&mut self, name: &str, bits: u32) -> Result<u64, SyntaxError> {
        let (at, token) = self.take();
        let Token::Word(word) = token else {
            return Err(
                self.error(at, "a value is missing here; write a decimal or 0x number, an IPv4 or a MAC address")
            );
        };
        let (value, kind) = if word.contains(':') {
            (mac(word), "a MAC address is six bytes such as 02:00:00:00:00:01")
        } else if word.contains('.') {
            (word.parse::<Ipv4Addr>().ok().map(|ip| u32::from(ip).into()), "an IPv4 address is four numbers up to 255")
        } else if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            (u64::from_str_radix(digits, 16).ok(), "a hexadecimal number has up to 16 digits after 0x")
        } else {
            (word.parse().ok(), "a value is a decimal or 0x number, an IPv4 or a MAC address")
        };
        let value = value.ok_or_else(|| self.error(at, format!("`{word}` is not understood; {kind}")))?;
        // A plain number fits a field of any kind.
        if (word.contains(':') && bits != 48) || (word.contains('.') && bits != 32) {
            let wanted = if bits == 48 { "a MAC address".to_owned() } else { format!("a number of {bits} bits") };
            return Err(self.error(at, format!("`{name}` is {wanted}, `{word}` is not")));
        }
        if bits < 64 && value >> bits != 0 {
            return Err(self.error(at, format!("`{word}` does not fit `{name}`, which has {bits} bits")));
        }
        Ok(value)
    }
}

fn negated(tree: Tree, negate: bool) -> Tree {
    if negate {
        Tree::Not(Box::new(tree))
    } else {
        tree
    }
}

/// A test is false where its header is absent.
fn with_header(name: &str, tree: Tree) -> Tree {
    match header_flag(name) {
        Some(flag) => Tree::All(vec![test(field(flag), 1, 1), tree]),
        None => tree,
    }
}

/// Name of the flag that the header of this field or header is there.
fn header_flag(name: &str) -> Option<&str> {
    let header = name.split_once('.').map_or(name, |(header, _)| header);
    match header {
        "ip" => Some("ipv4"),
        "vlan" | "udp" | "icmp" | "spindle" => Some(header),
        _ => None,
    }
}

fn field(name: &str) -> Place<'static> {
    place(MATCH_FIELDS.iter().find(|field| field.name == name).expect("the contract has the field"))
}

fn place(field: &'static MatchField) -> Place<'static> {
    Place { name: field.name, at: field.place, bits: field.bits }
}

fn mask(bits: usize) -> u32 {
    if bits == 0 {
        0
    } else {
        u32::MAX >> (32 - bits)
    }
}

/// The number lies in `low..=high`; of a flag, it is set or, with 0, clear.
fn test(place: Place, low: u32, high: u32) -> Tree {
    let (source, shift) = match place.at {
        MatchPlace::Flag(number) => {
            let set = Tree::Literal(Literal::Flag(number));
            return match (low, high) {
                (0, 0) => negated(set, true),
                (0, _) => Tree::All(vec![]),
                _ => set,
            };
        }
        MatchPlace::Word { offset, behind_tag, shift } => (Source::Frame { offset, behind_tag }, shift),
        MatchPlace::Length => (Source::Length, 0),
    };
    Tree::Literal(Literal::Term(Term {
        source,
        mask: mask(place.bits) << shift,
        low: low << shift,
        high: high << shift,
    }))
}

fn mac(word: &str) -> Option<u64> {
    let bytes: Vec<u64> = word
        .split(':')
        .map(|part| (1..=2).contains(&part.len()).then(|| u64::from_str_radix(part, 16).ok()).flatten())
        .collect::<Option<_>>()?;
    (bytes.len() == 6).then(|| bytes.iter().fold(0, |value, byte| value << 8 | byte))
}

/// The known name nearest to a wrong one.
fn suggestion(name: &str) -> String {
    let names = MATCH_FIELDS.iter().map(|field| field.name).chain(WIDE_FIELDS.iter().map(|wide| wide.0));
    match names.map(|known| (distance(name, known), known)).min() {
        Some((distance, known)) if distance <= 2 => format!("; did you mean `{known}`?"),
        _ => "; `spindle info` lists the fields".to_owned(),
    }
}

/// Edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Disjunctive normal form of the tree or of its negation; `None` if it is too large.
fn normal_form(tree: &Tree, negate: bool) -> Option<Vec<Conjunction>> {
    match (tree, negate) {
        (Tree::Literal(literal), false) => Some(vec![Conjunction { positive: vec![*literal], negative: vec![] }]),
        (Tree::Literal(literal), true) => Some(vec![Conjunction { positive: vec![], negative: vec![*literal] }]),
        (Tree::Not(inner), _) => normal_form(inner, !negate),
        (Tree::Any(parts), false) | (Tree::All(parts), true) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(normal_form(part, negate)?);
                if all.len() > MAX_ALTERNATIVES {
                    return None;
                }
            }
            Some(all)
        }
        (Tree::All(parts), false) | (Tree::Any(parts), true) => {
            let mut product = vec![Conjunction::default()];
            for part in parts {
                let factors = normal_form(part, negate)?;
                let pairs = product.iter().flat_map(|left| factors.iter().map(move |right| join(left, right)));
                product = pairs.flatten().collect();
                product.dedup();
                if product.len() > MAX_ALTERNATIVES {
                    return None;
                }
            }
            Some(product)
        }
    }
}

/// Both; `None` if they contradict each other.
pub(super) fn join(left: &Conjunction, right: &Conjunction) -> Option<Conjunction> {
    let union = |a: &[Literal], b: &[Literal]| {
        let mut both = [a, b].concat();
        both.sort();
        both.dedup();
        both
    };
    let joined = Conjunction {
        positive: union(&left.positive, &right.positive),
        negative: union(&left.negative, &right.negative),
    };
    (!joined.positive.iter().any(|literal| joined.negative.contains(literal))).then_some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Headers, Rule};

    /// Every number of the language: its name, the name of its header's flag, its bits.
    fn numbers() -> Vec<(String, Option<&'static str>, usize)> {
        let flags = || MATCH_FIELDS.iter().filter(|field| matches!(field.place, MatchPlace::Flag(_)));
        let flag = |name: &str| {
            let header = name.split(['.', '[']).next().expect("a name");
            let header = if header == "ip" { "ipv4" } else { header };
            let flag = flags().find(|flag| flag.name == header).map(|flag| flag.name);
            // These are parts of every frame.
            assert!(flag.is_some() != ["eth", "frame"].contains(&header), "a header without a flag: `{name}`");
            flag
        };
        let fields = MATCH_FIELDS.iter().filter(|field| !matches!(field.place, MatchPlace::Flag(_)));
        let fields = fields.map(|field| (field.name.to_owned(), field.bits));
        let wide = WIDE_FIELDS.iter().map(|wide| (wide.0.to_owned(), wide.3 as usize));
        let bytes = HEADERS.iter().flat_map(|header| {
            [(String::new(), 1), (":2".to_owned(), 2), (":4".to_owned(), 4)]
                .map(|(count, bytes)| (format!("{}[2{count}]", header.0), 8 * bytes))
        });
        let all: Vec<_> = fields.chain(wide).chain(bytes).map(|(name, bits)| (flag(&name), name, bits)).collect();
        for header in flags() {
            assert!(all.iter().any(|number| number.0 == Some(header.name)), "no number of `{}`", header.name);
        }
        all.into_iter().map(|(flag, name, bits)| (name, flag, bits)).collect()
    }

    /// A test of a number is false on a frame without its header, whatever lies in the number's place, and its negation is
    /// true; on other frames both say what they mean.
    #[test]
    fn a_test_is_false_without_its_header_and_its_negation_true() {
        for ((name, header, bits), fill) in
            numbers().into_iter().flat_map(|number| [(number.clone(), 0), (number, 0xFF)])
        {
            let flag = header.map(|header| match field(header).at {
                MatchPlace::Flag(number) => 1 << number,
                _ => unreachable!("a flag"),
            });
            let frame = vec![fill; 128];
            let most = u64::MAX >> (64 - bits);
            let number = match name.as_str() {
                "frame.len" => frame.len() as u64,
                _ => u64::from(fill & 1) * most,
            };
            for value in [0, 1, most - 1, most, number] {
                let mut tests = vec![
                    (format!("{name} == {value}"), number == value),
                    (format!("{name} != {value}"), number != value),
                ];
                if bits <= 32 {
                    tests.push((format!("{name} in {value}..{value}"), number == value));
                    tests.push((format!("{name} in 0..{value}"), number <= value));
                    tests.push((format!("{name} <= {value}"), number <= value));
                    tests.push((format!("{name} >= {value}"), number >= value));
                }
                if bits <= 32 && value > 0 {
                    tests.push((format!("{name} < {value}"), number < value));
                }
                if bits <= 32 && value < most {
                    tests.push((format!("{name} > {value}"), number > value));
                }
                for (text, holds) in tests {
                    let [rule, negation, twice] = [text.clone(), format!("!({text})"), format!("!!{text}")]
                        .map(|text| text.parse::<Rule>().unwrap_or_else(|error| panic!("{error}")));
                    for flags in 0..1 << 5 {
                        let headers = Headers { frame: &frame, flags };
                        let holds = holds && flag.is_none_or(|flag| flags & flag != 0);
                        let found = [&rule, &negation, &twice].map(|rule| rule.matches(&headers));
                        assert_eq!(
                            found,
                            [holds, !holds, holds],
                            "`{text}` on a frame of {fill:#x} with flags {flags:#b}"
                        );
                    }
                }
            }
        }
    }

    /// The sentence of a rule that is refused, without its place.
    fn refused(text: &str) -> String {
        let error = text.parse::<Rule>().expect_err(text).to_string();
        error.lines().next().expect("a sentence").to_owned()
    }

    fn alternatives(text: &str) -> usize {
        text.parse::<Rule>().unwrap_or_else(|error| panic!("{error}")).alternatives().len()
    }

    #[test]
    fn a_rule_has_sixty_four_alternatives_and_no_more() {
        let any = |count: usize, first: usize| {
            let tests: Vec<String> = (first..first + count).map(|i| format!("udp.dport == {i}")).collect();
            tests.join(" || ")
        };
        let more = "the rule has more than 64 alternatives; split it or write it with fewer `||`";
        assert_eq!(alternatives(&any(64, 0)), 64);
        assert_eq!(refused(&any(65, 0)), more);
        // Products: 8 by 8, and 5 by 13.
        assert_eq!(alternatives(&format!("({}) && ({})", any(8, 0), any(8, 100))), 64);
        assert_eq!(refused(&format!("({}) && ({})", any(5, 0), any(13, 100))), more);
        // The same of negations; each test of `frame.len` is one literal.
        let lengths = |count: usize| {
            let tests: Vec<String> = (0..count).map(|i| format!("frame.len == {i}")).collect();
            format!("!({})", tests.join(" && "))
        };
        assert_eq!(alternatives(&lengths(64)), 64);
        assert_eq!(refused(&lengths(65)), more);
        assert_eq!(alternatives("udp && !udp"), 0, "no frame matches");
        assert_eq!(alternatives("(udp || icmp) && !udp"), 1);
    }

    #[test]
    fn a_rule_is_nested_sixty_four_deep_and_no_deeper() {
        let brackets = |depth: usize| format!("{}udp{}", "(".repeat(depth), ")".repeat(depth));
        let deeper = "brackets and negations are nested deeper than 64; write the rule flatter";
        assert_eq!(alternatives(&brackets(64)), 1);
        assert_eq!(refused(&brackets(65)), deeper);
        assert_eq!(alternatives(&format!("{}udp", "!".repeat(64))), 1);
        assert_eq!(refused(&format!("{}udp", "!".repeat(65))), deeper);
        assert_eq!(alternatives(&["(udp)"; 200].join(" && ")), 1, "one after another is not deep");
    }

    #[test]
    fn bytes_lie_in_what_the_card_sees() {
        for (text, reach) in [
            ("eth[127]", 128),
            ("eth[126:2]", 128),
            ("eth[124:4]", 128),
            ("ip[109]", 124),
            ("udp[89]", 124),
            ("udp[88:2]", 124),
            ("udp[86:4]", 124),
            ("icmp[89]", 124),
            ("spindle[81]", 124),
        ] {
            assert_eq!(alternatives(&format!("{text} == 1")), 1);
            let (name, rest) = text.split_once('[').expect("a bracket");
            let digits = rest.split([':', ']']).next().expect("a number");
            let offset: usize = digits.parse().expect("a number");
            // The next even place, so that nothing else is wrong.
            let next = text.replace(&format!("{name}[{digits}"), &format!("{name}[{}", offset + 2));
            let sentence = format!("a rule sees only the first {reach} bytes of a frame here");
            assert_eq!(refused(&format!("{next} == 1")), sentence);
        }
        assert_eq!(refused("eth[18446744073709551615:4] == 1"), "a rule sees only the first 128 bytes of a frame here");
        for count in [0, 3, 5, 8] {
            assert_eq!(refused(&format!("udp[8:{count}] == 1")), "a number is 1, 2 or 4 bytes long");
        }
        let bytes = |text: &str| match text.parse::<Rule>().expect("a rule").alternatives()[0].positive[0] {
            Literal::Term(term) => (term.source, term.mask),
            other => panic!("{other:?}"),
        };
        let word = |offset: usize| Source::Frame { offset, behind_tag: false };
        for (text, offset, mask) in [
            ("eth[0] == 0", 0, 0xFF00_0000),
            ("eth[1] == 0", 0, 0x00FF_0000),
            ("eth[2] == 0", 2, 0xFF00_0000),
            ("eth[3] == 0", 2, 0x00FF_0000),
            ("eth[4] == 0", 2, 0x0000_FF00),
            ("eth[5] == 0", 2, 0x0000_00FF),
            ("eth[6] == 0", 6, 0xFF00_0000),
            ("eth[1:2] == 0", 0, 0x00FF_FF00),
            ("eth[3:2] == 0", 2, 0x00FF_FF00),
            ("eth[5:2] == 0", 4, 0x00FF_FF00),
            ("eth[4:4] == 0", 4, u32::MAX),
            ("eth[126] == 0", 124, 0x0000_FF00),
            ("eth[127] == 0", 124, 0x0000_00FF),
        ] {
            assert_eq!(bytes(text), (word(offset), mask), "{text}");
        }
    }

    #[test]
    fn values_fit_the_number_that_they_are_compared_with() {
        for text in [
            "udp.dport == 65535",
            "udp.dport == 0xFFFF",
            "udp.dport == 0XffFF",
            "vlan.id == 4095",
            "frame.len == 16383",
            "ip.src == 4294967295",
            "ip.src == 255.255.255.255",
            "ip.proto == 255",
            "eth.dst == 281474976710655",
            "eth.dst == ff:ff:ff:ff:ff:ff",
            "spindle.addr == 18446744073709551615",
            "spindle.addr == 0xffffffffffffffff",
            "udp == 1",
            "udp == 0",
            "udp <= 1",
            "udp in 0..1",
        ] {
            assert_eq!(alternatives(text), 1, "{text}");
        }
        for (text, sentence) in [
            ("udp.dport == 65536", "`65536` does not fit `udp.dport`, which has 16 bits"),
            ("vlan.id == 4096", "`4096` does not fit `vlan.id`, which has 12 bits"),
            ("frame.len == 16384", "`16384` does not fit `frame.len`, which has 14 bits"),
            ("ip.src == 4294967296", "`4294967296` does not fit `ip.src`, which has 32 bits"),
            ("eth.dst == 281474976710656", "`281474976710656` does not fit `eth.dst`, which has 48 bits"),
            ("udp == 2", "`2` does not fit `udp`, which has 1 bits"),
            (
                "spindle.addr == 18446744073709551616",
                "`18446744073709551616` is not understood; a value is a decimal or 0x number, an IPv4 or a MAC address",
            ),
            ("udp.dport == 0x", "`0x` is not understood; a hexadecimal number has up to 16 digits after 0x"),
            ("udp.dport == 0x1g", "`0x1g` is not understood; a hexadecimal number has up to 16 digits after 0x"),
            ("udp.dport == 9x", "`9x` is not understood; a value is a decimal or 0x number, an IPv4 or a MAC address"),
            ("ip.src == 1.2.3", "`1.2.3` is not understood; an IPv4 address is four numbers up to 255"),
            (
                "eth.dst == 1:2:3:4:5",
                "`1:2:3:4:5` is not understood; a MAC address is six bytes such as 02:00:00:00:00:01",
            ),
            ("udp.dport == 1.2.3.4", "`udp.dport` is a number of 16 bits, `1.2.3.4` is not"),
            ("ip.src == 1:2:3:4:5:6", "`ip.src` is a number of 32 bits, `1:2:3:4:5:6` is not"),
            ("eth.dst == 1.2.3.4", "`eth.dst` is a MAC address, `1.2.3.4` is not"),
            ("spindle.addr == 1.2.3.4", "`spindle.addr` is a number of 64 bits, `1.2.3.4` is not"),
            ("udp.dport < 0", "no value of `udp.dport` can be there; the test is never true"),
            ("udp.dport > 65535", "no value of `udp.dport` can be there; the test is never true"),
            ("udp > 1", "no value of `udp` can be there; the test is never true"),
            ("udp.dport in 5", "a range is `low..high` or `address/bits`"),
            ("udp.dport in 5..4", "the lower end of a range comes first"),
            ("udp.dport in 0/17", "a prefix has 0 to 16 bits"),
            ("ip.src in 0.0.0.0/33", "a prefix has 0 to 32 bits"),
            ("ip.src in 0.0.0.0/x", "a prefix has 0 to 32 bits"),
            ("ip.src in 0.0.0.0/&&", "a prefix has 0 to 32 bits"),
            ("ip.src in 10.0.0.1/31", "the address has bits after the prefix; write 10.0.0.0/31"),
            ("eth.dst < 1", "`eth.dst` takes two words and can only be compared with `==` or `!=`"),
        ] {
            assert_eq!(refused(text), sentence, "{text}");
        }
        for text in ["ip.src in 10.0.0.1/32", "ip.src in 10.0.0.2/31", "udp.dport in 0/0", "udp.dport in 5..5"] {
            assert_eq!(alternatives(text), 1, "{text}");
        }
    }

    #[test]
    fn addresses_have_six_bytes_of_one_or_two_digits() {
        assert_eq!(mac("01:23:45:67:89:ab"), Some(0x0123_4567_89AB));
        assert_eq!(mac("1:2:3:4:5:F"), Some(0x0102_0304_050F));
        for bad in ["1:2:3:4:5", "1:2:3:4:5:6:7", "001:2:3:4:5:6", ":2:3:4:5:6", "1:2:3:4:5:", "g:2:3:4:5:6", ""] {
            assert_eq!(mac(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_wrong_name_is_near_to_a_right_one_or_to_none() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "ac", 1),
            ("ac", "abc", 1),
            ("flaw", "lawn", 2),
            ("kitten", "sitting", 3),
            ("sitting", "kitten", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
        assert_eq!(distance(&"a".repeat(1000), ""), 64, "a long name is as far as its beginning");
        for (name, hint) in [
            ("udp.dpor", "; did you mean `udp.dport`?"),
            ("udp.dpo", "; did you mean `udp.dport`?"),
            ("udp.dp", "; `spindle info` lists the fields"),
            ("spindle.adr", "; did you mean `spindle.addr`?"),
            ("eth.dest", "; did you mean `eth.dst`?"),
            ("nonsense", "; `spindle info` lists the fields"),
        ] {
            assert_eq!(suggestion(name), hint, "{name}");
        }
    }

    #[test]
    fn a_mask_has_so_many_bits() {
        assert_eq!([0, 1, 8, 31, 32].map(mask), [0, 1, 0xFF, 0x7FFF_FFFF, u32::MAX]);
    }
}
