//! Numbers, sizes, times and nodes: every spelling of a value is read as this value, and nothing else is read.

use spindle::Node;
use spindle_cli::card::network::Numbered;
use spindle_cli::card::values::{bytes, number, seconds, word};
use spindle_fuzz::Source;
use std::net::Ipv4Addr;

const WORDS: [&str; 24] = [
    "0x",
    "0X",
    "0b",
    "_",
    "-",
    "+",
    "K",
    "m",
    "G",
    ".",
    "e",
    "inf",
    "NaN",
    "0",
    "1",
    "ff",
    "FF",
    "9999999999",
    "é",
    " ",
    ":",
    ",",
    "=",
    "256",
];

/// Digits with underscores between some of them.
fn spaced(digits: &str, source: &mut Source) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && source.chance(8) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

/// A number of 64 bits in one of its spellings.
fn spelled(value: u64, source: &mut Source) -> String {
    match source.below(3) {
        0 => format!("0x{}", spaced(&format!("{value:x}"), source)),
        1 => format!("0X{}", spaced(&format!("{value:X}"), source)),
        _ => spaced(&value.to_string(), source),
    }
}

/// What a number is by a plain reading of its text.
fn plain(text: &str) -> Option<u64> {
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        _ => (text, 10),
    };
    let mut value = None;
    for digit in digits.chars().filter(|digit| *digit != '_') {
        let digit = digit.to_digit(radix)?;
        value = Some(value.unwrap_or(0u64).checked_mul(radix.into())?.checked_add(digit.into())?);
    }
    value
}

#[test]
fn fuzz_number() {
    spindle_fuzz::run("number", 5000, |source| {
        let value = source.number();
        let text = spelled(value, source);
        assert_eq!(number(&text), Ok(value));
        assert_eq!(word(&text).ok(), u32::try_from(value).ok());
        let damaged = if source.chance(3) { source.text(&WORDS) } else { source.mutated_text(&text, &WORDS) };
        let read = number(&damaged);
        assert_eq!(read.as_ref().ok().copied(), plain(&damaged), "{damaged:?}");
        if let Err(error) = &read {
            assert!(error.contains("give"), "{error}");
        }
        read.is_ok()
    });
}

#[test]
fn fuzz_size() {
    spindle_fuzz::run("size", 5000, |source| {
        let units = [("", 0), ("K", 10), ("k", 10), ("M", 20), ("m", 20), ("G", 30), ("g", 30)];
        let (unit, shift) = *source.pick(&units);
        let value =
            if source.chance(3) { source.number() >> (8 * source.below(8)) } else { 1 + source.below(4095) as u64 };
        let text = format!("{}{unit}", spaced(&value.to_string(), source));
        let wanted =
            value.checked_mul(1 << shift).and_then(|bytes| u32::try_from(bytes).ok()).filter(|bytes| *bytes > 0);
        assert_eq!(bytes(&text).ok(), wanted, "{text}");
        let damaged = source.mutated_text(&text, &WORDS);
        match bytes(&damaged) {
            Ok(bytes) => {
                let unit = units.iter().skip(1).find(|(unit, _)| damaged.ends_with(unit) && !damaged.starts_with("0x"));
                let (digits, shift) =
                    unit.map_or((&damaged[..], 0), |(unit, shift)| (&damaged[..damaged.len() - unit.len()], *shift));
                assert_eq!(plain(digits).map(|value| value << shift), Some(bytes.into()), "{damaged:?}");
                true
            }
            Err(error) => {
                assert!(error.contains("give"), "{error}");
                false
            }
        }
    });
}

#[test]
fn fuzz_seconds() {
    spindle_fuzz::run("seconds", 5000, |source| {
        let value = source.number() as f64 / f64::from(1 + source.word() % 1_000_000);
        let text = value.to_string();
        assert_eq!(seconds(&text).ok(), (value > 0.0 && value <= 1e9).then_some(value), "{text}");
        let damaged = source.mutated_text(&text, &WORDS);
        match seconds(&damaged) {
            Ok(seconds) => {
                // What a time becomes in the program: a wait of that length.
                assert!(std::time::Duration::try_from_secs_f64(seconds).is_ok(), "{damaged:?}");
                true
            }
            Err(error) => {
                assert!(error.contains("give seconds"), "{error}");
                false
            }
        }
    });
}

#[test]
fn fuzz_node() {
    spindle_fuzz::run("node", 5000, |source| {
        let number = source.byte();
        let mac: [u8; 6] = std::array::from_fn(|_| source.byte());
        let ip: [u8; 4] = std::array::from_fn(|_| source.byte());
        let numbered = Node::numbered(number);
        let port = if source.chance(2) { source.word() as u16 } else { numbered.port };
        let mac_text = mac.map(|byte| format!("{byte:02x}")).join(":");
        let short = source.chance(4);
        let (node, text) = if short {
            (numbered, number.to_string())
        } else {
            let port_text = if port == numbered.port { String::new() } else { format!(":{port}") };
            (Node { mac, ip, port }, format!("{number}={mac_text},{}{port_text}", Ipv4Addr::from(ip)))
        };
        assert_eq!(text.parse(), Ok(Numbered { number, node }), "{text}");
        let damaged = source.mutated_text(&text, &WORDS);
        match damaged.parse::<Numbered>() {
            Ok(Numbered { number, node }) => {
                // All of it can be written again, but for capitals and zeros in front.
                assert!(damaged.bytes().all(|byte| byte.is_ascii_hexdigit() || b"=:,.".contains(&byte)), "{damaged:?}");
                let mac = node.mac.map(|byte| format!("{byte:02X}")).join(":");
                assert!(damaged.to_uppercase().contains(&mac) || node == Node::numbered(number), "{damaged:?}");
                true
            }
            Err(error) => {
                assert!(error.contains("is no node; give"), "{error}");
                false
            }
        }
    });
}
