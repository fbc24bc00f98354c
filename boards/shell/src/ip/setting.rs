//! Settings of an IP: `CONFIG` names with the values that we allow.

use std::fmt;

/// A setting of an IP.
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name after `CONFIG.`.
    pub name: &'static str,
    /// What the value may be.
    pub allowed: Allowed,
}

/// Values of a setting.
#[derive(Debug, PartialEq, Eq)]
pub enum Allowed {
    /// One of these words.
    Word(&'static [&'static str]),
    /// A decimal number between the two, both included.
    Number(u64, u64),
    /// A hexadecimal number of so many digits at most, with `0x` or without, as the IP writes it.
    Hex(usize),
    /// An address: `0x` and 16 hexadecimal digits at most. The IP reads digits without `0x` as another number.
    Address,
    /// A frequency in MHz, as a decimal number.
    MegaHertz,
    /// A place on the device: a prefix, `X`, a number, `Y`, a number.
    Place(&'static str),
    /// Places from the first to the last, `~` between them.
    Places,
    /// A bank of transceivers: the word, and a number after it.
    Quad(&'static str),
    /// Names of ports.
    Names,
}

impl Allowed {
    /// Whether a value is allowed.
    pub fn takes(&self, value: &str) -> bool {
        match self {
            Self::Word(words) => words.contains(&value),
            Self::Number(low, high) => value.parse().is_ok_and(|number: u64| (*low..=*high).contains(&number)),
            Self::Hex(digits) => is_hex(value.strip_prefix("0x").unwrap_or(value), *digits),
            Self::Address => value.strip_prefix("0x").is_some_and(|value| is_hex(value, 16)),
            Self::MegaHertz => value.parse().is_ok_and(|number: f64| (1.0..2000.0).contains(&number)),
            Self::Place(prefix) => value.strip_prefix(prefix).is_some_and(is_place),
            Self::Places => value.split_once('~').is_some_and(|(first, last)| is_place(first) && is_place(last)),
            Self::Quad(word) => value.strip_prefix(word).is_some_and(|number| number.parse::<u16>().is_ok()),
            Self::Names => {
                let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                !value.is_empty() && value.split(' ').all(|name| !name.is_empty() && name.bytes().all(letters))
            }
        }
    }
}

fn is_hex(text: &str, digits: usize) -> bool {
    (1..=digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `X0Y12`.
fn is_place(text: &str) -> bool {
    let numbers = text.strip_prefix('X').and_then(|rest| rest.split_once('Y'));
    numbers.is_some_and(|(x, y)| x.parse::<u16>().is_ok() && y.parse::<u16>().is_ok())
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(words) => write!(f, "one of {}", words.join(", ")),
            Self::Number(low, high) => write!(f, "a number from {low} to {high}"),
            Self::Hex(digits) => write!(f, "at most {digits} hexadecimal digits"),
            Self::Address => write!(f, "0x and at most 16 hexadecimal digits"),
            Self::MegaHertz => write!(f, "a frequency in MHz such as 156.25"),
            Self::Place(prefix) => write!(f, "a place such as {prefix}X0Y4"),
            Self::Places => write!(f, "places such as X0Y28~X0Y31"),
            Self::Quad(word) => write!(f, "a quad such as {word}225"),
            Self::Names => write!(f, "names of ports with a space between them"),
        }
    }
}
