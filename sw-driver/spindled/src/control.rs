//! Requests in JSON: one object a line, and one line as the answer. Questions are free for whoever may connect; what changes the card
//! needs root or the user of the daemon.
//!
//! | request | answer |
//! |---|---|
//! | `{"request":"identify"}` | address, transport, numbers of the card, and its station |
//! | `{"request":"processes"}` | clients: process, pid, uid, mailboxes, maps, bytes, window |
//! | `{"request":"nodes"}` | the nodes that processes can put to |
//! | `{"request":"stats"}` | counters of the engines that all processes share |
//! | `{"request":"set_station","nid":1,"mac":"02:…:01","ip":"10.0.0.1"}` | `{}` |
//! | `{"request":"set_node","number":2,"mac":"02:…:02","ip":"10.0.0.2"}` | `{}`; also `port`, `"icrc":true` |
//! | `{"request":"evict","process":3}` | `{}`; the connection of the client ends |
//!
//! An answer is `{"ok":…}` or `{"error":"a sentence"}`. A client gets a process by connecting to `card.sock`, and gives it back by closing
//! the connection; the answer to its VERSION names process and window.

use crate::card::{window, Card, Peer, Station};
use crate::daemon::Slot;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use spindle::Node;
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::registers::rvma;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

/// Longest request.
const LONGEST: usize = 4096;
/// Bytes of answers that a client may leave unread.
const MOST_UNREAD: usize = 1 << 20;
/// Counters of the RVMA engine in `stats`.
const COUNTERS: &[(&str, u32)] = &[
    ("placed_packets", rvma::PLACED_PACKETS),
    ("completions", rvma::COMPLETIONS),
    ("refused", rvma::REFUSED),
    ("dma_errors", rvma::DMA_ERRORS),
    ("read_errors", rvma::READ_ERRORS),
    ("mailboxes", rvma::MAILBOXES),
    ("buffers", rvma::BUFFERS),
    ("events", rvma::EVENTS),
    ("events_lost", rvma::EVENTS_LOST),
    ("host_puts_done", rvma::HOST_PUTS_DONE),
    ("host_puts_failed", rvma::HOST_PUTS_FAILED),
    ("host_frames", rvma::HOST_FRAMES),
    ("host_frames_read", rvma::HOST_FRAMES_READ),
];

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// What the card is.
    Identify,
    /// Who uses it.
    Processes,
    /// Nodes that processes can put to.
    Nodes,
    /// Counters.
    Stats,
    /// Sets who the card is.
    SetStation {
        /// Number of the node.
        nid: u32,
        /// MAC address.
        mac: String,
        /// IPv4 address.
        ip: String,
    },
    /// Enters a node.
    SetNode {
        /// Its number.
        number: usize,
        /// MAC address.
        mac: String,
        /// IPv4 address.
        ip: String,
        /// UDP port of its Spindle transport.
        #[serde(default = "spindle_port")]
        port: u16,
        /// Packets in both directions have the ICRC.
        #[serde(default)]
        icrc: bool,
    },
    /// Ends the connection of a client.
    Evict {
        /// Its process.
        process: usize,
    },
}

fn spindle_port() -> u16 {
    SPINDLE_PORT
}

impl Request {
    fn changes(&self) -> bool {
        matches!(self, Request::SetStation { .. } | Request::SetNode { .. } | Request::Evict { .. })
    }
}

/// A MAC address in the usual form.
pub fn parse_mac(text: &str) -> Result<[u8; 6], String> {
    let byte = |text: &str| {
        // The library's parser takes a sign too.
        let plain = (1..=2).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        plain.then(|| u8::from_str_radix(text, 16).ok()).flatten()
    };
    let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| format!("`{text}` is no MAC address; give one such as 02:00:00:00:00:01"))
}

/// An IPv4 address in the usual form.
pub fn parse_ip(text: &str) -> Result<[u8; 4], String> {
    let address: Result<std::net::Ipv4Addr, _> = text.parse();
    address
        .map(|address| address.octets())
        .map_err(|_| format!("`{text}` is no IPv4 address; give one such as 10.0.0.1"))
}

fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

fn ip_text(ip: [u8; 4]) -> String {
    std::net::Ipv4Addr::from(ip).to_string()
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    trusted: bool,
    received: Vec<u8>,
    answers: Vec<u8>,
}

impl Connection {
    /// The connection of a user.
    pub fn new(stream: UnixStream, trusted: bool) -> std::io::Result<Connection> {
        stream.set_nonblocking(true)?;
        Ok(Connection { stream, trusted, received: Vec::new(), answers: Vec::new() })
    }

    /// Its socket.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Whether answers wait for the socket.
    pub fn congested(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Handles what is there; false: the connection is over.
    pub fn service(&mut self, card: &mut Card, slots: &mut [Slot], round_trip: u64) -> bool {
        let mut part = [0; LONGEST];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return false,
                Ok(bytes) => self.received.extend_from_slice(&part[..bytes]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
            while let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                let answer = self.answer(&line, card, slots, round_trip);
                let answer = answer.map_or_else(|error| json!({ "error": error }), |ok| json!({ "ok": ok }));
                self.answers.extend_from_slice(format!("{answer}\n").as_bytes());
            }
            if self.received.len() > LONGEST || self.answers.len() > MOST_UNREAD {
                return false;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> bool {
        while !self.answers.is_empty() {
            match self.stream.write(&self.answers) {
                Ok(bytes) => drop(self.answers.drain(..bytes)),
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }

    fn answer(&self, line: &[u8], card: &mut Card, slots: &mut [Slot], round_trip: u64) -> Result<Value, String> {
        let request: Request = serde_json::from_slice(line)
            .map_err(|error| format!("this is no request: {error}; send one such as {{\"request\":\"identify\"}}"))?;
        if request.changes() && !self.trusted {
            return Err("only root and the user of the daemon may change the card; become one of them".into());
        }
        match request {
            Request::Identify => Ok(identify(card)),
            Request::Processes => Ok(slots.iter().map(describe).collect()),
            Request::Nodes => {
                let node = |(number, peer): (&usize, &Peer)| {
                    let Peer { node: Node { mac, ip, port }, icrc } = *peer;
                    json!({ "number": number, "mac": mac_text(mac), "ip": ip_text(ip), "port": port, "icrc": icrc })
                };
                Ok(card.nodes.iter().map(node).collect())
            }
            Request::Stats => {
                let mut counts = serde_json::Map::new();
                for (name, register) in COUNTERS {
                    let value = card.card.lock().read32(rvma::BASE + register).map_err(|error| error.to_string())?;
                    counts.insert((*name).into(), value.into());
                }
                Ok(counts.into())
            }
            Request::SetStation { nid, mac, ip } => {
                let station = Station { nid, mac: parse_mac(&mac)?, ip: parse_ip(&ip)? };
                done(card.set_station(station, round_trip))
            }
            Request::SetNode { number, mac, ip, port, icrc } => {
                let node = Node { mac: parse_mac(&mac)?, ip: parse_ip(&ip)?, port };
                done(card.set_node(number, Peer { node, icrc }))
            }
            Request::Evict { process } => {
                let slot = slots.iter_mut().find(|slot| slot.client.process == process);
                let slot =
                    slot.ok_or_else(|| format!("process {process} has no client; `processes` lists those that have"))?;
                slot.evicted = true;
                Ok(json!({}))
            }
        }
    }
}

fn done(result: spindle::Result<()>) -> Result<Value, String> {
    result.map(|()| json!({})).map_err(|error| error.to_string())
}

fn identify(card: &Card) -> Value {
    let identity = card.card.lock().identity();
    let info = card.device.info();
    let station = card
        .station
        .map(|station| json!({ "nid": station.nid, "mac": mac_text(station.mac), "ip": ip_text(station.ip) }));
    json!({
        "address": identity.address,
        "transport": identity.transport,
        "version": spindle_contract::VERSION,
        "clock_mhz": info.clock_mhz,
        "mailboxes": info.mailboxes,
        "posted_buffers": info.posted_buffers,
        "processes": info.processes,
        "station": station,
    })
}

fn describe(slot: &Slot) -> Value {
    let client = &slot.client;
    let (maps, bytes) = client.maps();
    let (window, (pid, uid)) = (window(client.process), client.peer);
    json!({
        "process": client.process,
        "pid": pid,
        "uid": uid,
        "mailboxes": client.mailboxes(),
        "maps": maps,
        "bytes": bytes,
        "window": [window.start, window.end],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_documented() {
        let parse = |text: &str| serde_json::from_str::<Request>(text);
        assert_eq!(parse("{\"request\":\"identify\"}").unwrap(), Request::Identify);
        assert_eq!(parse("{\"request\":\"evict\",\"process\":3}").unwrap(), Request::Evict { process: 3 });
        assert!(parse("{\"request\":\"evict\"}").is_err() && parse("{\"request\":\"format\"}").is_err());
        assert_eq!(parse_mac("02:0a:00:00:00:ff").unwrap(), [2, 10, 0, 0, 0, 255]);
        for mac in ["", "02", "02:00:00:00:00:00:00", "02:00:00:00:00:gg", "256:0:0:0:0:0"] {
            assert!(parse_mac(mac).unwrap_err().contains("02:00:00:00:00:01"));
        }
        assert!(parse_ip("10.0.0").is_err());
        assert_eq!(
            (mac_text([2, 0, 0, 0, 0, 1]), ip_text([10, 0, 0, 1])),
            ("02:00:00:00:00:01".into(), "10.0.0.1".into())
        );
    }
}
