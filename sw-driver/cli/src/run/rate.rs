//! Rates of `--rate`.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::BEAT_BYTES;
use spindle_sim::capture::Captured;
use std::str::FromStr;

/// Bytes that a frame takes on an Ethernet wire beyond its own: preamble and start delimiter 8, FCS 4, least gap 12.
const ETHERNET_OVERHEAD: u64 = 24;
/// Bytes without FCS to which a wire pads a shorter frame.
const ETHERNET_LEAST: u64 = 60;
/// Cycles between two frames at most; random numbers need a finite range.
const LONGEST_INTERVAL: f64 = 1e15;

/// An offered load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Bits per second on the wire, Ethernet overhead included.
    WireBits(f64),
    /// Packets per second.
    Packets(f64),
    /// Share of the cycles in which the stream carries a beat.
    Share(f64),
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let refused = || format!("`{text}` is no rate; give one such as 40Gbit/s, 5Mpps or 80%");
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(refused)?;
        let (number, unit) = text.split_at(end);
        let number: f64 = number.parse().map_err(|_| refused())?;
        if number <= 0.0 {
            return Err(format!("a rate of {text} sends no packet; give more than 0"));
        }
        let unit = unit.trim();
        if unit == "%" {
            return if number <= 100.0 {
                Ok(Rate::Share(number / 100.0))
            } else {
                Err("a share is at most 100%".into())
            };
        }
        let (factor, unit) = match unit.split_at_checked(1) {
            Some(("k" | "K", unit)) => (1e3, unit),
            Some(("M", unit)) => (1e6, unit),
            Some(("G", unit)) => (1e9, unit),
            Some(("T", unit)) => (1e12, unit),
            _ => (1.0, unit),
        };
        match unit {
            "bit/s" | "bps" | "b/s" => Ok(Rate::WireBits(number * factor)),
            "pps" | "packets/s" => Ok(Rate::Packets(number * factor)),
            _ => Err(refused()),
        }
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rate::WireBits(bits) => write!(f, "{bits} bit/s"),
            Rate::Packets(packets) => write!(f, "{packets} packets/s"),
            Rate::Share(share) => write!(f, "{} %", share * 100.0),
        }
    }
}

/// Bytes for which a frame occupies an Ethernet wire.
pub fn wire_bytes(bytes: usize) -> u64 {
    (bytes as u64).max(ETHERNET_LEAST) + ETHERNET_OVERHEAD
}

/// Cycles in which the stream carries a frame.
pub fn beats(bytes: usize) -> u64 {
    bytes.div_ceil(BEAT_BYTES) as u64
}

/// Cycles in which frames start at a rate; with a seed, idle times are random from 0 to twice the even ones.
pub fn starts<'a>(
    rate: Rate,
    frames: &'a [Captured],
    hertz: f64,
    seed: Option<u64>,
) -> impl Iterator<Item = f64> + use<'a> {
    let mut random = ChaCha8Rng::seed_from_u64(seed.unwrap_or(0));
    let mut next = 0.0;
    frames.iter().map(move |frame| {
        let (start, taken) = (next, beats(frame.bytes.len()) as f64);
        let interval = match rate {
            Rate::WireBits(bits) => wire_bytes(frame.bytes.len()) as f64 * 8.0 / bits * hertz,
            Rate::Packets(packets) => hertz / packets,
            Rate::Share(share) => taken / share,
        };
        let interval = interval.min(LONGEST_INTERVAL);
        let idle = interval - taken;
        next += match seed {
            Some(_) if idle > 0.0 => taken + random.random_range(0.0..=2.0 * idle),
            _ => interval,
        };
        start
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        for (text, rate) in [
            ("40Gbit/s", Rate::WireBits(40e9)),
            ("800Mbps", Rate::WireBits(800e6)),
            ("5Mpps", Rate::Packets(5e6)),
            ("0.5kpps", Rate::Packets(500.0)),
            ("12.5%", Rate::Share(0.125)),
        ] {
            assert_eq!(text.parse(), Ok(rate));
        }
        for text in ["", "40", "Gbit/s", "40Gbyte/s", "1.2.3pps", "0pps", "101%", "40Xbit/s", "4%%", "5é"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
