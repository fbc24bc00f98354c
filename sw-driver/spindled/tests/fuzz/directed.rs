//! What fuzzing has found, one test each.

use crate::card::Table;
use spindled::arguments::{node, station};
use spindled::control::{parse_mac, Connection};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// The answer of a daemon to its own user.
fn answer(request: &str) -> String {
    let (mut client, theirs) = UnixStream::pair().unwrap();
    let mut card = Table::new().open();
    client.write_all(format!("{request}\n").as_bytes()).unwrap();
    assert!(Connection::new(theirs, true).unwrap().service(&mut card, &mut [], u64::MAX));
    let mut answer = [0; 4096];
    let length = client.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

/// The sender's incarnation is the number and 1, which was a sum that did not fit.
#[test]
fn a_station_has_a_number_of_the_node_table() {
    let request =
        |nid: u32| format!(r#"{{"request":"set_station","nid":{nid},"mac":"02:00:00:00:00:01","ip":"10.0.0.1"}}"#);
    assert!(answer(&request(u32::MAX)).contains("node table"));
    assert!(answer(&request(256)).contains("node table"));
    assert!(answer(&request(255)).contains("ok"), "also with a round trip that no card has");
}

#[test]
fn a_sign_is_no_digit() {
    assert!(parse_mac("+2:00:00:00:00:01").is_err() && parse_mac("002:0:0:0:0:1").is_err());
    assert!(node("+1,02:00:00:00:00:01,10.0.0.1").is_err());
    assert!(node("1,02:00:00:00:00:01,10.0.0.1,+5").is_err());
    assert!(station("+1,02:00:00:00:00:01,10.0.0.1").unwrap_err().contains("give"));
}
