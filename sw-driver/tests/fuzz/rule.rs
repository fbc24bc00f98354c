//! Rules: a rule means what a plain reading of its text says, on any frame; what is refused says where and why; and a rule
//! that was read is read again from its own text.

use spindle::rule::{Headers, Literal, MessageRule, Rule, Source as Word};
use spindle_contract::descriptors::{MatchPlace, MATCH_FIELDS};
use spindle_fuzz::Source;

/// A test, and how it is joined with others.
enum Tree {
    Test(String, Box<dyn Fn(&Headers) -> bool>),
    Not(Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
}

impl Tree {
    fn holds(&self, frame: &Headers) -> bool {
        match self {
            Tree::Test(_, holds) => holds(frame),
            Tree::Not(tree) => !tree.holds(frame),
            Tree::And(a, b) => a.holds(frame) && b.holds(frame),
            Tree::Or(a, b) => a.holds(frame) || b.holds(frame),
        }
    }

    /// The text, with brackets where they are needed or, by `more`, where they are not.
    fn text(&self, more: bool) -> String {
        let bracketed = |tree: &Tree, needed: bool| {
            let text = tree.text(more);
            if needed || more {
                format!("({text})")
            } else {
                text
            }
        };
        match self {
            Tree::Test(text, _) => text.clone(),
            Tree::Not(tree) => format!("!{}", bracketed(tree, !matches!(**tree, Tree::Test(..) | Tree::Not(_)))),
            Tree::And(a, b) => {
                let part = |tree: &Tree| bracketed(tree, matches!(tree, Tree::Or(..)));
                format!("{} && {}", part(a), part(b))
            }
            Tree::Or(a, b) => format!("{} || {}", bracketed(a, false), bracketed(b, false)),
        }
    }
}

/// The flag of the header that a name begins with.
fn flag_of(name: &str) -> Option<usize> {
    ["vlan", "ip", "udp", "icmp", "spindle"].iter().position(|header| name.split('.').next() == Some(header))
}

fn has(frame: &Headers, flag: Option<usize>) -> bool {
    flag.is_none_or(|flag| frame.flags >> flag & 1 == 1)
}

/// `bytes` bytes at this place of a frame without tag; a tag moves it.
fn bytes_at(frame: &Headers, offset: usize, moves: bool, bytes: usize) -> u64 {
    let start = offset + if moves && frame.flags & 1 == 1 { 4 } else { 0 };
    (start..start + bytes).fold(0, |number, at| number << 8 | u64::from(frame.frame.get(at).copied().unwrap_or(0)))
}

/// Whether a number compares so with another.
type Compare = fn(u64, u64) -> bool;
type Read = Box<dyn Fn(&Headers) -> u64>;

/// A place with a number: its name, its flag, its bits, how it is read.
fn place(source: &mut Source) -> (String, Option<usize>, usize, Read) {
    if source.chance(3) {
        let (header, start, moves) = *source.pick(&[
            ("eth", 0, false),
            ("ip", 14, true),
            ("udp", 34, true),
            ("icmp", 34, true),
            ("spindle", 42, true),
        ]);
        let bytes = *source.pick(&[1, 2, 4]);
        let reach = (if moves { 124 } else { 128 }) - start - bytes;
        let mut offset = source.below(reach + 1);
        if bytes == 4 {
            offset &= !1;
        }
        let text = if bytes == 1 { format!("{header}[{offset}]") } else { format!("{header}[{offset}:{bytes}]") };
        let read = Box::new(move |frame: &Headers| bytes_at(frame, start + offset, moves, bytes));
        return (text, flag_of(header), 8 * bytes, read);
    }
    let wide: [(&str, usize, bool, usize); 3] =
        [("eth.dst", 0, false, 6), ("eth.src", 6, false, 6), ("spindle.addr", 58, true, 8)];
    let at = source.below(MATCH_FIELDS.len() + wide.len());
    if let Some((name, offset, moves, bytes)) = wide.get(at.wrapping_sub(MATCH_FIELDS.len())).copied() {
        let read = Box::new(move |frame: &Headers| bytes_at(frame, offset, moves, bytes));
        return (name.into(), flag_of(name), 8 * bytes, read);
    }
    let field = &MATCH_FIELDS[at];
    let bits = field.bits;
    let (flag, read): (_, Read) = match field.place {
        MatchPlace::Flag(number) => (None, Box::new(move |frame: &Headers| u64::from(frame.flags >> number & 1))),
        MatchPlace::Length => (None, Box::new(|frame: &Headers| frame.frame.len() as u64)),
        MatchPlace::Word { offset, behind_tag, shift } => {
            let read = move |frame: &Headers| bytes_at(frame, offset, behind_tag, 4) >> shift & ((1 << bits) - 1);
            (flag_of(field.name), Box::new(read))
        }
    };
    (field.name.into(), flag, bits, read)
}

/// A number of so many bits, and one of its spellings.
fn value(source: &mut Source, bits: usize) -> (u64, String) {
    let value = source.number() & (u64::MAX >> (64 - bits));
    let text = match (source.below(3), bits) {
        (0, _) => format!("{value:#x}"),
        (1, 32) => std::net::Ipv4Addr::from(value as u32).to_string(),
        (1, 48) => {
            let [.., a, b, c, d, e, f] = value.to_be_bytes();
            format!("{a:02x}:{b:x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
        }
        _ => value.to_string(),
    };
    (value, text)
}

fn test(source: &mut Source) -> Tree {
    let (name, flag, bits, read) = place(source);
    let (wanted, text) = value(source, bits);
    let most = u64::MAX >> (64 - bits);
    let equal: Compare = |number, wanted| number == wanted;
    let compare: [(&str, Compare); 6] = [
        ("==", equal),
        ("!=", |number, wanted| number != wanted),
        ("<=", |number, wanted| number <= wanted),
        (">=", |number, wanted| number >= wanted),
        ("<", |number, wanted| number < wanted),
        (">", |number, wanted| number > wanted),
    ];
    let wide = bits > 32;
    match source.below(4) {
        0 if bits == 1 => Tree::Test(name, Box::new(move |frame| read(frame) == 1)),
        1 if !wide => {
            let (other, other_text) = value(source, bits);
            let (low, high) = (wanted.min(other), wanted.max(other));
            let (low_text, high_text) = if wanted <= other { (text, other_text) } else { (other_text, text) };
            let holds = move |frame: &Headers| has(frame, flag) && (low..=high).contains(&read(frame));
            Tree::Test(format!("{name} in {low_text}..{high_text}"), Box::new(holds))
        }
        2 if !wide => {
            let prefix = source.below(bits + 1);
            let host = most.checked_shr(prefix as u32).unwrap_or(0);
            let network = wanted & !host;
            let text =
                if bits == 32 { std::net::Ipv4Addr::from(network as u32).to_string() } else { network.to_string() };
            let holds = move |frame: &Headers| has(frame, flag) && read(frame) & !host == network;
            Tree::Test(format!("{name} in {text}/{prefix}"), Box::new(holds))
        }
        _ => {
            // Wide places know two operators; tests that are never true are refused.
            let count = if wide {
                2
            } else if wanted == 0 || wanted == most {
                4
            } else {
                6
            };
            let (operator, compare) = compare[source.below(count)];
            let holds = move |frame: &Headers| has(frame, flag) && compare(read(frame), wanted);
            Tree::Test(format!("{name} {operator} {text}"), Box::new(holds))
        }
    }
}

fn tree(source: &mut Source, depth: usize) -> Tree {
    let below = |source: &mut Source| Box::new(tree(source, depth + 1));
    match if depth > 3 { 0 } else { source.below(6) } {
        3 => Tree::Not(below(source)),
        4 => Tree::And(below(source), below(source)),
        5 => Tree::Or(below(source), below(source)),
        _ => test(source),
    }
}

const WORDS: [&str; 40] = [
    "udp",
    "ip",
    "icmp",
    "eth",
    "vlan",
    "ipv4",
    "spindle",
    "udp.dport",
    "ip.src",
    "eth.dst",
    "spindle.addr",
    "frame.len",
    "ip.tos",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "..",
    "/",
    "&&",
    "||",
    "!",
    "(",
    ")",
    "[",
    "]",
    ":",
    "=",
    "10.0.0.0",
    "0x1F",
    "65535",
    "4294967296",
    "02:00:00:00:00:01",
    "[8:4]",
    "[10:4]",
    "((((",
    "!!!!",
];

/// What every error keeps to.
fn check_error(error: &spindle::rule::SyntaxError, text: &str) {
    assert!(error.column() <= text.chars().count() + 1, "column {} of {text:?}", error.column());
    assert!(error.to_string().ends_with('^'), "{error}");
}

#[test]
fn fuzz_rule() {
    let seeds = include_str!("rules.txt");
    let seeds: Vec<&str> = seeds.lines().collect();
    spindle_fuzz::run("rule", 3000, |source| {
        let wanted = tree(source, 0);
        let text = wanted.text(source.chance(4));
        match text.parse::<Rule>() {
            Ok(rule) => {
                for _ in 0..4 {
                    let length = *source.pick(&[14, 60, 61, 100, 128, 200]);
                    let frame: Vec<u8> = (0..length).map(|_| *source.pick(&[0, 1, 8, 10, 255, 4])).collect();
                    let headers = Headers { frame: &frame, flags: source.word() & 0x1F };
                    assert_eq!(rule.matches(&headers), wanted.holds(&headers), "{text} of {headers:x?}");
                }
            }
            Err(error) => assert!(error.to_string().contains("alternatives"), "{error}"),
        }
        let damaged = match source.below(3) {
            0 => source.text(&WORDS),
            1 => source.mutated_text(&text, &WORDS),
            _ => {
                let seed = *source.pick(&seeds);
                source.mutated_text(seed, &WORDS)
            }
        };
        match damaged.parse::<Rule>() {
            Ok(rule) => {
                assert_eq!(rule.text().parse().as_ref(), Ok(&rule), "{damaged:?}");
                assert!(rule.alternatives().len() <= 64);
                true
            }
            Err(error) => {
                check_error(&error, &damaged);
                false
            }
        }
    });
}

#[test]
fn fuzz_message_rule() {
    let places = ["udp[10:4]", "ip.src", "spindle.psn", "eth[8:4]", "udp.dport", "udp[8:2]", "frame.len", "udp"];
    let ends =
        ["udp[8:2] >= 0x8000", "ip.tos == 7", "frame.len < 100", "udp", "udp[8] == 1 && udp[9] == 2", "eth.type != 3"];
    spindle_fuzz::run("message_rule", 2000, |source| {
        let (field, end) = (*source.pick(&places), *source.pick(&ends));
        // One of them at most is damaged.
        let (field, end) = match source.below(3) {
            0 => (source.mutated_text(field, &WORDS), end.to_owned()),
            1 => (field.to_owned(), source.mutated_text(end, &WORDS)),
            _ => (field.to_owned(), end.to_owned()),
        };
        match MessageRule::parse(&field, &end) {
            Ok(message) => {
                let (rule, delivery) = message.of(&Rule::any(), spindle::ContextId(3));
                assert!(delivery.end.is_some() && rule.alternatives().len() <= 1, "{field:?} {end:?}");
                let spindle::rule_table::Message::Field(word) = delivery.message else {
                    panic!("{field:?} names no word")
                };
                assert!(matches!(word, Word::Frame { offset, .. } if offset + 4 <= 128), "{field:?}: {word:?}");
                // Its frames are those that have the headers of both.
                let any: Rule = format!("{field} == 0 || {field} != 0").parse().expect("a place can be compared");
                let whole: Rule = end.parse().expect("an end is a rule");
                let [alternative] = whole.alternatives() else { panic!("{end:?} is no single comparison") };
                let flags = alternative.positive.iter().filter(|literal| matches!(literal, Literal::Flag(_)));
                let headers = Headers { frame: &[0; 128], flags: source.word() & 0x1F };
                let wanted = any.matches(&headers) && flags.into_iter().all(|flag| flag.matches(&headers));
                assert_eq!(rule.matches(&headers), wanted, "{field:?} {end:?} {headers:x?}");
                true
            }
            Err(error) => {
                let longest = field.chars().count().max(end.chars().count());
                assert!(error.column() <= longest + 1 && error.to_string().ends_with('^'), "{error}");
                false
            }
        }
    });
}
