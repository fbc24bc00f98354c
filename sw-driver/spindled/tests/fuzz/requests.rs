//! Requests in JSON: each line gets one answer, which is that of the request, and only who may change the card changes it.

use crate::card::Table;
use serde_json::{json, Value};
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use spindle_fuzz::Source;
use spindled::control::Connection;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

const WORDS: [&str; 30] = [
    "identify",
    "processes",
    "nodes",
    "stats",
    "set_station",
    "set_node",
    "evict",
    "request",
    "\"",
    "{",
    "}",
    "[",
    ":",
    ",",
    "null",
    "true",
    "-1",
    "0",
    "1e400",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "[[[[[[[[",
    "\\u0000",
    "\\ud800",
    "mac",
    "+2:00:00:00:00:01",
    "10.0.0.256",
    "nid",
    "\n",
];

/// A request, whether it changes the card, and whether it can be carried out.
fn request(source: &mut Source) -> (Value, bool, bool) {
    let mac: [u8; 6] = std::array::from_fn(|_| source.byte());
    let ip: [u8; 4] = std::array::from_fn(|_| source.byte());
    let mac = mac.map(|byte| format!("{byte:02x}")).join(":");
    let ip = std::net::Ipv4Addr::from(ip).to_string();
    match source.below(7) {
        0 => (json!({ "request": "identify" }), false, true),
        1 => (json!({ "request": "processes" }), false, true),
        2 => (json!({ "request": "nodes" }), false, true),
        3 => (json!({ "request": "stats" }), false, true),
        4 => {
            let nid = source.word();
            let request = json!({ "request": "set_station", "nid": nid, "mac": mac, "ip": ip });
            (request, true, (nid as usize) < NODE_TABLE_ENTRIES)
        }
        5 => {
            let number = source.number();
            let mut request = json!({ "request": "set_node", "number": number, "mac": mac, "ip": ip });
            if source.chance(2) {
                request["port"] = (source.word() as u16).into();
            }
            if source.chance(3) {
                request["icrc"] = source.chance(2).into();
            }
            (request, true, number < NODE_TABLE_ENTRIES as u64)
        }
        _ => (json!({ "request": "evict", "process": source.number() }), true, false),
    }
}

#[test]
fn fuzz_request() {
    spindle_fuzz::run("request", 1500, |source| {
        let table = Table::new();
        let mut card = table.open();
        let trusted = source.chance(2);
        let (mut client, theirs) = UnixStream::pair().expect("sockets can be had");
        client.set_nonblocking(true).expect("a socket need not block");
        let mut connection = Connection::new(theirs, trusted).expect("a socket can be served");
        // Each line, whether its outcome is known, and which it is.
        let mut lines: Vec<(Vec<u8>, Option<bool>)> = Vec::new();
        let mut changes = false;
        for _ in 0..1 + source.below(4) {
            let (request, change, works) = request(source);
            let text = request.to_string();
            if source.chance(3) {
                let damaged = source.mutated_text(&text, &WORDS);
                let parts = damaged.split('\n').map(|part| (part.as_bytes().to_vec(), None));
                lines.extend(parts);
                changes = true;
            } else {
                lines.push((text.into_bytes(), Some(works && (trusted || !change))));
                changes |= change && works;
            }
        }
        let before = table.0.lock().unwrap().registers.clone();
        let bytes: Vec<u8> = lines.iter().flat_map(|(line, _)| [&line[..], b"\n"].concat()).collect();
        let mut lives = true;
        let mut answers = Vec::new();
        for part in bytes.chunks(if source.chance(4) { 7 } else { 4096 }) {
            client.write_all(part).expect("a request fits the socket");
            lives = connection.service(&mut card, &mut [], 4096);
            let mut read = [0; 1 << 16];
            while let Ok(length @ 1..) = client.read(&mut read) {
                answers.extend_from_slice(&read[..length]);
            }
            if !lives {
                break;
            }
        }
        if !trusted || !changes {
            let after = table.0.lock().unwrap().registers.clone();
            assert_eq!(before, after, "only root and the user of the daemon change the card");
        }
        let answers: Vec<Value> = answers
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).expect("an answer is JSON"))
            .collect();
        assert!(lives, "no line was too long");
        assert_eq!(answers.len(), lines.len(), "each line has its answer");
        for (answer, (line, works)) in answers.iter().zip(&lines) {
            let answer = answer.as_object().expect("an answer is an object");
            let good = answer.contains_key("ok");
            assert!(answer.len() == 1 && (good || answer["error"].is_string()), "{answer:?}");
            let line = String::from_utf8_lossy(line);
            assert!(works.is_none_or(|works| works == good), "{line}: {answer:?}");
        }
        answers.iter().any(|answer| answer["ok"] != Value::Null)
    });
}
