//! Values of the daemon's arguments.

use crate::card::{Peer, Station};
use crate::control::{parse_ip, parse_mac};
use spindle::Node;
use spindle_contract::params::SPINDLE_PORT;
use std::str::FromStr;

/// Number, MAC and IPv4 address of the card: `1,02:00:00:00:00:01,10.0.0.1`.
///
/// # Errors
/// The text is none, in a sentence.
pub fn station(text: &str) -> Result<Station, String> {
    let parts: Vec<&str> = text.split(',').collect();
    let [nid, mac, ip] = parts[..] else {
        return Err("give number, MAC and IPv4 address, such as 1,02:00:00:00:00:01,10.0.0.1".into());
    };
    Ok(Station { nid: digits(nid, "number of a node")?, mac: parse_mac(mac)?, ip: parse_ip(ip)? })
}

/// A node, likewise; its UDP port may follow, and at the end `icrc`.
///
/// # Errors
/// The text is none, in a sentence.
pub fn node(text: &str) -> Result<(usize, Peer), String> {
    let (addresses, icrc) = match text.strip_suffix(",icrc") {
        Some(addresses) => (addresses, true),
        None => (text, false),
    };
    let parts: Vec<&str> = addresses.split(',').collect();
    let ([number, mac, ip], port) = match parts[..] {
        [number, mac, ip] => ([number, mac, ip], SPINDLE_PORT),
        [number, mac, ip, port] => ([number, mac, ip], digits(port, "UDP port")?),
        _ => return Err("give number, MAC and IPv4 address, such as 2,02:00:00:00:00:02,10.0.0.2".into()),
    };
    let node = Node { mac: parse_mac(mac)?, ip: parse_ip(ip)?, port };
    Ok((digits(number, "number of a node")?, Peer { node, icrc }))
}

/// A number of digits alone; the library's parsers take a sign too.
fn digits<T: FromStr>(text: &str, what: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|_| text.bytes().all(|digit| digit.is_ascii_digit()));
    number.ok_or_else(|| format!("`{text}` is no {what}; give one such as 5"))
}
