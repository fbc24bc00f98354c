//! Queries of a zone in context memory.

use crate::tap::samples::{named, number_after, numbers_after};
use crate::tap::{quantities, Client, Reply, Values, NIC};
use anyhow::{ensure, Context, Result};
use std::path::Path;

/// Names of the zone. Each has an IPv4 and an IPv6 address.
const NAMES: u8 = 20;
/// A name that the zone has not.
const ABSENT: &str = "absent.spindle.example";
const FILE: &str = "queries";

/// `dig`.
pub const DIG: Client = Client {
    name: "dig",
    about: "queries for A and AAAA records of 20 names and for a name that is not there, one after the other",
    program: "dig",
    package: "bind9-dnsutils",
    handler: ("zone.c", include_str!("../../../tap/handlers/zone.c")),
    rule: "udp.dport == 53",
    host: Vec::new,
    variable: ("zone", zone),
    prepare: |folder| {
        let line = |query: &str| format!("@{NIC} +tries=1 +time=5 -u {query}\n");
        let absent = line(&format!("{ABSENT} A"));
        queries(folder, &(present().map(|query| line(&query)).collect::<String>() + &absent))
    },
    arguments: &["-f", "{folder}/queries"],
    // Less than a header; no question; a name that does not end; a label that is longer than the query; a pointer; another class.
    malformed: (
        53,
        &[
            b"short",
            b"\x12\x34\x01\0\0\0\0\0\0\0\0\0",
            b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www",
            b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x3fwww\0\0\x01\0\x01",
            b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\xc0\x0c\0\x01\0\x01",
            b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\0\0\x01\0\x03",
        ],
    ),
    check: answers,
    broken: ("type == A ? entry->a : entry->aaaa", "type == A ? entry->a : entry->aaaa + 1"),
};

/// `dnsperf`.
pub const DNSPERF: Client = Client {
    name: "dnsperf",
    about: "queries of one socket, at most 8 under way",
    program: "dnsperf",
    package: "dnsperf",
    prepare: |folder| queries(folder, &present().map(|query| query + "\n").collect::<String>()),
    arguments: &["-s", NIC, "-d", "{folder}/queries", "-c", "1", "-T", "1", "-q", "8", "-l", "10", "-t", "5", "-v"],
    check: rate,
    broken: ("entry ? 0 : NXDOMAIN", "NXDOMAIN"),
    ..DIG
};

fn name(number: u8) -> String {
    format!("host{number}.spindle.example")
}

fn queries(folder: &Path, text: &str) -> Result<()> {
    std::fs::write(folder.join(FILE), text).context("cannot write the queries")
}

/// Queries that have an answer. Names do not depend on the case of letters.
fn present() -> impl Iterator<Item = String> {
    (0..NAMES).flat_map(|number| [name(number) + " A", name(number).to_uppercase() + " AAAA"])
}

/// The table of `zone.c`, hashed as there.
fn zone() -> Vec<u8> {
    const ENTRIES: usize = 64;
    const NAME: usize = 36;
    let mut entries = vec![Vec::new(); ENTRIES];
    for number in 0..NAMES {
        let mut wire: Vec<u8> =
            name(number).split('.').flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
        wire.push(0);
        wire.resize(wire.len().next_multiple_of(4), 0);
        let mut hash = 0_u32;
        for word in wire.chunks_exact(4) {
            hash = (hash ^ u32::from_le_bytes([word[0], word[1], word[2], word[3]])).wrapping_mul(0x9e37_79b1);
            hash ^= hash >> 15;
        }
        hash |= 1;
        wire.resize(NAME, 0);
        let mut at = hash as usize / 2 % ENTRIES;
        while !entries[at].is_empty() {
            at = (at + 1) % ENTRIES;
        }
        let words = [hash, 1, 1].map(u32::to_le_bytes).concat();
        let (v4, v6) = (std::net::Ipv4Addr::new(10, 78, 1, number), v6(number));
        entries[at] = [&words[..], &v4.octets(), &v6.octets(), &wire].concat();
    }
    entries.iter_mut().for_each(|entry| entry.resize(4 * 3 + 4 + 16 + NAME, 0));
    entries.concat()
}

fn v6(number: u8) -> std::net::Ipv6Addr {
    [0xfd78, 0, 0, 0, 0x0123, 0x4567, 0x89ab, number.into()].into()
}

/// Every name has its addresses, and no other.
fn answers(reply: &Reply) -> Result<Values> {
    let text = &reply.output;
    let right = |name: &str, kind: &str, data: &str| {
        let count = text.lines().filter(|line| line.split_whitespace().eq([name, "60", "IN", kind, data])).count();
        ensure!(count == 1, "{count} answers have {data} for {name}");
        Ok(())
    };
    for number in 0..NAMES {
        let name = name(number) + ".";
        right(&name, "A", &format!("10.78.1.{number}"))?;
        right(&name.to_uppercase(), "AAAA", &v6(number).to_string())?;
    }
    let (found, absent) = (text.matches("status: NOERROR").count(), text.matches("status: NXDOMAIN").count());
    ensure!((found, absent) == (2 * usize::from(NAMES), 1), "{found} queries found a name, {absent} did not");
    quantities(numbers_after(text, ";; Query time:").into_iter().map(|micros| reply.ns(micros * 1e-6)).collect())
}

/// No query is lost. The times of all queries are in lines such as `> NOERROR host0.spindle.example A 0.000452`.
fn rate(reply: &Reply) -> Result<Values> {
    let text = &reply.output;
    let (sent, completed) = (number_after(text, "Queries sent:")?, number_after(text, "Queries completed:")?);
    ensure!(sent == completed && completed > 50.0, "{completed} of {sent} queries are answered");
    let times = text.lines().filter(|line| line.starts_with("> NOERROR"));
    let times: Vec<f64> = times.filter_map(|line| Some(reply.ns(line.rsplit(' ').next()?.parse().ok()?))).collect();
    ensure!(times.len() as f64 == completed, "{} of {completed} queries found a name", times.len());
    let mut values = quantities(times)?;
    values.extend(named(&[("per_second", number_after(text, "Queries per second:")? / reply.ns(1.0) * 1e9)]));
    Ok(values)
}
