//! The rule language: which frames a context or a mailbox wants.
//!
//! ```text
//! rule       = and { "||" and }
//! and        = unary { "&&" unary }
//! unary      = "!" unary | "(" rule ")" | test
//! test       = field [ ("==" | "!=" | "<" | "<=" | ">" | ">=") value | "in" range ]
//! range      = value ".." value        both ends belong to it
//!            | IPv4 "/" bits
//! value      = decimal | 0x hexadecimal | IPv4 | MAC
//! ```
//!
//! Fields are those of the contract's `MATCH_FIELDS`, and `eth.dst`, `eth.src`, `spindle.addr`, which take two words and know only
//! `==` and `!=`. A one-bit field stands by itself: `udp`. A test of a field whose header is absent is false, `!=` included:
//! `udp.dport != 53` wants UDP packets.
//!
//! [`Rule`] is the disjunctive normal form: each alternative takes one rule slot of the card, each distinct [`Term`] one term slot.

mod parse;
mod syntax;

pub use syntax::SyntaxError;

use spindle_contract::params::MATCH_WORDS;
use std::str::FromStr;

/// A comparison as the hardware does it: `low <= (word & mask) <= high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term {
    /// Match word.
    pub word: usize,
    /// Bits that count.
    pub mask: u32,
    /// Lowest value that matches, in place.
    pub low: u32,
    /// Highest value that matches, in place.
    pub high: u32,
}

impl Term {
    /// What the hardware says for these match words.
    pub fn matches(&self, words: &[u32; MATCH_WORDS]) -> bool {
        (self.low..=self.high).contains(&(words[self.word] & self.mask))
    }
}

/// Terms that must match and terms that must not: one rule slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conjunction {
    /// Must match.
    pub positive: Vec<Term>,
    /// Must not match.
    pub negative: Vec<Term>,
}

impl Conjunction {
    /// What the hardware says for these match words.
    pub fn matches(&self, words: &[u32; MATCH_WORDS]) -> bool {
        self.positive.iter().all(|term| term.matches(words)) && !self.negative.iter().any(|term| term.matches(words))
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

    /// What the hardware says for these match words.
    pub fn matches(&self, words: &[u32; MATCH_WORDS]) -> bool {
        self.alternatives.iter().any(|alternative| alternative.matches(words))
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

    fn words(set: &[(usize, u32)]) -> [u32; MATCH_WORDS] {
        let mut words = [0; MATCH_WORDS];
        for (word, bits) in set {
            words[*word] |= bits;
        }
        words
    }

    fn udp(sport: u32, dport: u32, src: u32) -> [u32; MATCH_WORDS] {
        words(&[(0, 0x0800 | 1 << 17 | 1 << 18), (1, src), (3, sport << 16 | dport), (4, 17)])
    }

    fn rule(text: &str) -> Rule {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn tests_of_each_form() {
        let frame = udp(1234, 9999, 0x0a01_0203);
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
        ] {
            assert!(!rule(text).matches(&frame), "{text}");
        }
    }

    #[test]
    fn a_test_of_an_absent_header_is_false() {
        let arp = words(&[(0, 0x0806)]);
        assert!(!rule("icmp.type == 0").matches(&arp));
        assert!(!rule("udp.dport != 53").matches(&arp));
        assert!(rule("!(udp.dport == 53)").matches(&arp));
    }

    #[test]
    fn two_word_fields() {
        let frame = words(&[
            (6, 0x3344_5566),
            (7, 0x1122 | 0x0a0b << 16),
            (8, 0x0c0d_0e0f),
            (0, 1 << 20),
            (10, 7),
            (11, 0xdead_beef),
        ]);
        assert!(rule("eth.dst == 11:22:33:44:55:66 && eth.src == 0a:0b:0c:0d:0e:0f").matches(&frame));
        assert!(!rule("eth.dst == 11:22:33:44:55:67").matches(&frame));
        assert!(rule("eth.dst != 11:22:33:44:55:67").matches(&frame));
        assert!(!rule("eth.dst != 11:22:33:44:55:66").matches(&frame));
        assert!(rule("spindle.addr == 0xdeadbeef00000007").matches(&frame));
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
                let frame = words(&[(0, u32::from(v) << 16 | u32::from(u) << 18 | u32::from(i) << 19)]);
                assert_eq!(rule(text).matches(&frame), meaning(v, u, i), "{text} {v} {u} {i}");
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
}
