//! The rule language: selects the frames of a context or a mailbox.
//!
//! ```text
//! rule       = and { "||" and }
//! and        = unary { "&&" unary }
//! unary      = "!" unary | "(" rule ")" | test
//! test       = place [ ("==" | "!=" | "<" | "<=" | ">" | ">=") value | "in" range ]
//! place      = field | header "[" offset [ ":" bytes ] "]"
//! header     = "eth" | "ip" | "udp" | "icmp" | "spindle"
//! range      = value ".." value        both ends belong to it
//!            | IPv4 "/" bits
//! value      = decimal | 0x hexadecimal | IPv4 | MAC
//! ```
//!
//! Fields are those of the contract's `MATCH_FIELDS`, and `eth.dst`, `eth.src`, `spindle.addr`, which take two words and know only
//! `==` and `!=`. A one-bit field is a test: `udp`. A test of a field whose header is absent is false, `!=` included:
//! `udp.dport != 53` matches UDP packets only.
//!
//! `udp[8:4]` is the number in 1, 2 or 4 bytes (default 1), the first at that offset from the start of the header: here the first
//! four of the payload. `eth` counts from the start of the frame, a VLAN tag included; the other headers move with the tag. Four
//! bytes start at an even place of the frame. All must lie in the first 128 bytes; of a header that moves, in the first 124 of a
//! frame without tag. Bytes after the end of the frame read 0.
//!
//! # Messages
//!
//! [`MessageRule`] is the other thing that a rule can carry: four bytes of the frame that name the message, and a test that ends it.
//!
//! # What fits the card
//!
//! [`Rule`] is the disjunctive normal form: each alternative takes one of the card's rule slots (64, on Kintex 32). Tests of flags
//! (`vlan`, `ipv4`, `udp`, `icmp`, `spindle`, and every test that a header is there) take nothing else. All other tests are
//! [`Term`]s on a 32-bit word of the frame; equal ones are shared by all rules. The card extracts 16 words, each with five terms:
//! n different terms on one word take n / 5 of the 16, rounded up. So 16 words with up to 5 terms each always fit, as do 80 terms
//! on one word. `udp.sport` and `udp.dport` are one word, `eth.type` and `ip.tos`, `icmp.type` and `icmp.code` too. A set of rules
//! that does not fit is refused as a whole, with the words and how many terms are on each.

mod message;
mod parse;
mod syntax;

pub use message::MessageRule;
pub use syntax::SyntaxError;

use spindle_contract::descriptors::{MatchPlace, MATCH_FIELDS};
use spindle_contract::wire::{ETH_BYTES, VLAN_BYTES};
use std::fmt;
use std::str::FromStr;

/// What a term looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The big-endian word at this byte of a frame without VLAN tag.
    Frame {
        /// Even.
        offset: usize,
        /// A tag moves it by 4 bytes.
        behind_tag: bool,
    },
    /// The length of the frame.
    Length,
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let here = |place: MatchPlace| match (place, *self) {
            (MatchPlace::Word { offset, behind_tag, .. }, Source::Frame { offset: o, behind_tag: b }) => {
                (offset, behind_tag) == (o, b)
            }
            (place, source) => place == MatchPlace::Length && source == Source::Length,
        };
        let names: Vec<&str> = MATCH_FIELDS.iter().filter(|field| here(field.place)).map(|field| field.name).collect();
        match *self {
            _ if !names.is_empty() => write!(out, "`{}`", names.join("`, `")),
            Source::Frame { offset, behind_tag: true } if offset >= ETH_BYTES => {
                write!(out, "`ip[{}:4]`", offset - ETH_BYTES)
            }
            Source::Frame { offset, .. } => write!(out, "`eth[{offset}:4]`"),
            Source::Length => write!(out, "the length"),
        }
    }
}

/// A frame, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    /// Its bytes.
    pub frame: &'a [u8],
    /// Flags of `MATCH_FIELDS`, flag 0 lowest.
    pub flags: u32,
}

impl Headers<'_> {
    fn word(&self, source: Source) -> u32 {
        match source {
            Source::Length => self.frame.len() as u32,
            Source::Frame { offset, behind_tag } => {
                let start = offset + if behind_tag && self.flags & 1 == 1 { VLAN_BYTES } else { 0 };
                let byte = |at: usize| u32::from(self.frame.get(at).copied().unwrap_or(0));
                (start..start + 4).fold(0, |word, at| word << 8 | byte(at))
            }
        }
    }
}

/// A comparison as the hardware does it: `low <= (word & mask) <= high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term {
    /// The word.
    pub source: Source,
    /// Bits that count.
    pub mask: u32,
    /// Lowest value that matches, in place.
    pub low: u32,
    /// Highest value that matches, in place.
    pub high: u32,
}

/// A literal of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Literal {
    /// The flag of this number is set.
    Flag(usize),
    /// The term holds.
    Term(Term),
}

impl Literal {
    /// Whether these headers match, as the hardware decides.
    pub fn matches(&self, headers: &Headers) -> bool {
        match self {
            Literal::Flag(number) => headers.flags >> number & 1 == 1,
            Literal::Term(term) => (term.low..=term.high).contains(&(headers.word(term.source) & term.mask)),
        }
    }
}

/// What must match and what must not: one rule slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conjunction {
    /// Must match.
    pub positive: Vec<Literal>,
    /// Must not match.
    pub negative: Vec<Literal>,
}

impl Conjunction {
    /// Whether these headers match, as the hardware decides.
    pub fn matches(&self, headers: &Headers) -> bool {
        self.positive.iter().all(|literal| literal.matches(headers))
            && !self.negative.iter().any(|literal| literal.matches(headers))
    }
}

/// A rule, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    text: String,
    alternatives: Vec<Conjunction>,
}

impl Rule {
    /// The rule that every frame matches.
    pub fn any() -> Rule {
        Rule { text: "(any frame)".into(), alternatives: vec![Conjunction::default()] }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The alternatives, one rule slot each.
    pub fn alternatives(&self) -> &[Conjunction] {
        &self.alternatives
    }

    /// The rule, of frames for which these literals hold as well. Alternatives that contradict them are left out.
    pub fn with(&self, literals: &[Literal]) -> Rule {
        let all = Conjunction { positive: literals.to_vec(), negative: vec![] };
        let alternatives = self.alternatives.iter().filter_map(|one| parse::join(one, &all)).collect();
        Rule { text: self.text.clone(), alternatives }
    }

    /// Whether these headers match, as the hardware decides.
    pub fn matches(&self, headers: &Headers) -> bool {
        self.alternatives.iter().any(|alternative| alternative.matches(headers))
    }
}

impl FromStr for Rule {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Rule, SyntaxError> {
        Ok(Rule { text: text.trim().to_owned(), alternatives: parse::parse(text)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VLAN: u32 = 1;
    const IPV4: u32 = 2;
    const UDP: u32 = 4;
    const ICMP: u32 = 8;
    const SPINDLE: u32 = 16;

    /// A frame with these bytes, the rest 0.
    fn frame(length: usize, set: &[(usize, &[u8])]) -> Vec<u8> {
        let mut frame = vec![0; length];
        for (at, bytes) in set {
            frame[*at..*at + bytes.len()].copy_from_slice(bytes);
        }
        frame
    }

    fn udp(sport: u16, dport: u16, src: u32) -> Vec<u8> {
        let (sport, dport, src) = (sport.to_be_bytes(), dport.to_be_bytes(), src.to_be_bytes());
        frame(
            60,
            &[(12, &[8, 0, 0x45, 7]), (23, &[17]), (26, &src), (34, &sport), (36, &dport), (42, &[1, 2, 3, 4, 5])],
        )
    }

    fn seen(frame: &[u8], flags: u32) -> Headers<'_> {
        Headers { frame, flags }
    }

    fn rule(text: &str) -> Rule {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn tests_of_each_form() {
        let bytes = udp(1234, 9999, 0x0a01_0203);
        let frame = seen(&bytes, IPV4 | UDP);
        for text in [
            "udp",
            "udp.dport == 9999",
            "udp.dport == 0x270f && ip.src in 10.0.0.0/8",
            "ip.src == 10.1.2.3",
            "ip.src in 10.1.2.3..10.1.2.9",
            "udp.sport in 1000..1234",
            "udp.sport >= 1234 && udp.sport <= 1234 && udp.sport < 1235 && udp.sport > 1233",
            "udp.dport != 53",
            "!icmp",
            "!(udp.dport == 53 || icmp)",
            "icmp || udp",
            "eth.type == 0x800 && ip.proto == 17",
            "ip.src in 0.0.0.0/0",
            "frame.len == 60 && ip.tos == 7",
            "udp[8:4] == 0x01020304 && udp[9] == 2 && udp[9:2] == 0x203 && udp[10:2] in 0x303..0x305",
            "udp[2:2] == 9999 && ip[9] == 17 && eth[36:2] == 9999 && eth[23] == 17 && eth[26:4] == 10.1.2.3",
            "eth[60:4] == 0 && eth[124:4] == 0",
            "!icmp[0] == 0",
        ] {
            assert!(rule(text).matches(&frame), "{text}");
        }
        for text in [
            "icmp",
            "udp.dport == 9998",
            "ip.src in 11.0.0.0/8",
            "udp.sport in 1235..2000",
            "!udp",
            "udp && icmp",
            "!(udp || icmp)",
            "udp.dport != 9999",
            "vlan.id == 0",
            "spindle[0] == 1",
            "icmp[0] == 4",
        ] {
            assert!(!rule(text).matches(&frame), "{text}");
        }
    }

    #[test]
    fn a_test_of_an_absent_header_is_false() {
        let bytes = frame(60, &[(12, &[8, 6])]);
        let arp = seen(&bytes, 0);
        assert!(!rule("icmp.type == 0").matches(&arp));
        assert!(!rule("udp.dport != 53").matches(&arp));
        assert!(!rule("udp[8] != 53").matches(&arp));
        assert!(rule("!(udp.dport == 53)").matches(&arp));
    }

    #[test]
    fn a_tag_moves_what_is_behind_it() {
        let plain = udp(1, 2, 3);
        let mut bytes = plain[..12].to_vec();
        bytes.extend([0x81, 0, 0x60, 5]);
        bytes.extend(&plain[12..]);
        let tagged = seen(&bytes, VLAN | IPV4 | UDP);
        for text in
            ["vlan.id == 5 && udp.dport == 2", "udp[8:4] == 0x01020304", "eth[46:4] == 0x01020304", "ip.tos == 7"]
        {
            assert!(rule(text).matches(&tagged), "{text}");
        }
        assert!(!rule("eth[42:4] == 0x01020304").matches(&tagged));
        assert!(!rule("vlan").matches(&seen(&plain, IPV4 | UDP)));
    }

    #[test]
    fn two_word_fields() {
        let bytes = frame(
            90,
            &[
                (0, &[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 10, 11, 12, 13, 14, 15]),
                (58, &[0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 7]),
            ],
        );
        let frame = seen(&bytes, IPV4 | UDP | SPINDLE);
        assert!(rule("eth.dst == 11:22:33:44:55:66 && eth.src == 0a:0b:0c:0d:0e:0f").matches(&frame));
        assert!(!rule("eth.dst == 11:22:33:44:55:67").matches(&frame));
        assert!(rule("eth.dst != 11:22:33:44:55:67").matches(&frame));
        assert!(!rule("eth.dst != 11:22:33:44:55:66").matches(&frame));
        assert!(rule("spindle.addr == 0xdeadbeef00000007").matches(&frame));
    }

    /// Portals-style source filter and match bits with ignore bits, and the terms that they take.
    #[test]
    fn words_are_shared_by_fields() {
        let source = |text: &str| match rule(text).alternatives()[0].positive[..] {
            [Literal::Flag(_), Literal::Term(term)] => term.source,
            ref other => panic!("{text}: {other:?}"),
        };
        assert_eq!(source("udp.sport == 1"), source("udp.dport == 1"));
        assert_eq!(source("udp[2:2] == 1"), source("udp.dport == 1"));
        assert_eq!(source("udp.sport == 1").to_string(), "`udp.sport`, `udp.dport`, `icmp.type`, `icmp.code`");
        assert_eq!(source("udp[16:4] == 1").to_string(), "`spindle.src_nid`");
        assert_eq!(source("udp[14:4] == 1").to_string(), "`ip[34:4]`");
    }

    /// The bounded enumeration of all rules over three flags, against Rust's own logic.
    #[test]
    fn normal_form_keeps_the_meaning() {
        type Meaning = fn(bool, bool, bool) -> bool;
        let texts: [(&str, Meaning); 6] = [
            ("vlan && (udp || !icmp)", |v, u, i| v && (u || !i)),
            ("!(vlan && udp) || icmp", |v, u, i| !(v && u) || i),
            ("!(!vlan || !(udp && !icmp))", |v, u, i| v && u && !i),
            ("!!vlan", |v, _, _| v),
            ("(vlan || udp) && (udp || icmp) && (icmp || vlan)", |v, u, i| u8::from(v) + u8::from(u) + u8::from(i) > 1),
            ("vlan || udp && icmp", |v, u, i| v || (u && i)),
        ];
        for (text, meaning) in texts {
            for bits in 0..8u32 {
                let (v, u, i) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
                let flags = (u32::from(v) * VLAN) | (u32::from(u) * UDP) | (u32::from(i) * ICMP);
                assert_eq!(rule(text).matches(&seen(&[], flags)), meaning(v, u, i), "{text} {v} {u} {i}");
            }
        }
    }

    #[test]
    fn errors_point_at_the_column() {
        for (text, column, words) in [
            ("udp.dport = 9", 11, "=="),
            ("udp.dprt == 9", 1, "udp.dport"),
            ("udp.dport == 99999", 14, "16 bits"),
            ("udp.dport ==", 13, "value"),
            ("udp && ", 8, "field"),
            ("udp icmp", 5, "&&"),
            ("ip.src in 10.0.0.0/33", 20, "32"),
            ("ip.src in 10.0.0.1/8", 11, "10.0.0.0/8"),
            ("ip.src == 10.0.0.256", 11, "IPv4"),
            ("udp.dport in 9..3", 14, "lower"),
            ("udp.dport", 1, "compare"),
            ("(udp", 5, ")"),
            ("udp @", 5, "@"),
            ("eth.dst in 1..2", 9, "=="),
            ("eth.dst == 1.2.3.4", 12, "MAC"),
            ("", 1, "empty"),
            ("udp[8:3] == 1", 5, "1, 2 or 4"),
            ("udp[9:4] == 1", 5, "even"),
            ("eth[125:4] == 1", 5, "128"),
            ("udp[88:4] == 1", 5, "124"),
            ("udp[8:2 == 1", 9, "]"),
            ("udp[x] == 1", 5, "offset"),
            ("udp[8:2]", 1, "compare"),
            ("udp[8:2] == 65536", 13, "16 bits"),
            ("tcp[8] == 1", 1, "eth, ip"),
        ] {
            let error = text.parse::<Rule>().unwrap_err();
            assert_eq!(error.column(), column, "{text}: {error}");
            assert!(error.to_string().contains(words), "{text}: {error}");
            assert!(error.to_string().ends_with('^'), "{error}");
        }
        let error = "udp && ipp".parse::<Rule>().unwrap_err().to_string();
        assert_eq!(error.lines().last(), Some("         ^"), "{error}");
    }

    #[test]
    fn a_rule_that_explodes_is_refused() {
        let text: Vec<String> = (0..12).map(|i| format!("(udp.sport == {i} || udp.dport == {i})")).collect();
        let text = text.join(" && ");
        assert!(text.parse::<Rule>().unwrap_err().to_string().contains("alternatives"));
        let deep = "(".repeat(100_000);
        assert!(deep.parse::<Rule>().unwrap_err().to_string().contains("nested"));
    }

    #[test]
    fn words_have_the_names_of_their_fields_or_their_place() {
        let word = |offset: usize, behind_tag: bool| Source::Frame { offset, behind_tag };
        for (source, text) in [
            (Source::Length, "`frame.len`"),
            (word(0, false), "`eth.dst_hi`"),
            (word(12, false), "`vlan.id`"),
            (word(12, true), "`eth.type`, `ip.tos`"),
            (word(10, true), "`eth[10:4]`"),
            (word(14, true), "`ip[0:4]`"),
            (word(16, true), "`ip[2:4]`"),
            (word(26, true), "`ip.src`"),
            (word(26, false), "`eth[26:4]`"),
            (word(60, false), "`eth[60:4]`"),
        ] {
            assert_eq!(source.to_string(), text, "{source:?}");
        }
    }

    #[test]
    fn a_rule_with_literals_keeps_its_text_and_loses_what_contradicts_them() {
        let one = rule("  udp && !vlan || icmp ");
        assert_eq!(one.text(), "udp && !vlan || icmp");
        let with = one.with(&[Literal::Flag(0), Literal::Flag(1)]);
        assert_eq!(with.text(), one.text());
        let icmp = Conjunction { positive: [0, 1, 3].map(Literal::Flag).to_vec(), negative: vec![] };
        assert_eq!(with.alternatives(), [icmp]);
        assert_eq!(one.with(&[]), one);
        let any = Rule::any();
        assert_eq!((any.text(), any.alternatives()), ("(any frame)", &[Conjunction::default()][..]));
        assert!(any.matches(&seen(&[], 0)));
        assert!(!any.with(&[Literal::Flag(2)]).matches(&seen(&[], 3)));
        assert!(any.with(&[Literal::Flag(2)]).matches(&seen(&[], 4)));
    }

    #[test]
    fn bytes_after_the_end_of_a_frame_read_zero() {
        let bytes = [0xFF; 14];
        let frame = seen(&bytes, 0);
        for text in ["eth[12:4] == 0xFFFF0000", "eth[13] == 255", "eth[14:4] == 0", "frame.len == 14"] {
            assert!(rule(text).matches(&frame), "{text}");
        }
    }
}
