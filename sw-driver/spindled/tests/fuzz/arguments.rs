//! `--station` and `--node`.

use spindle::Node;
use spindle_contract::params::SPINDLE_PORT;
use spindled::arguments::{node, station};
use spindled::card::{Peer, Station};
use std::net::Ipv4Addr;

const WORDS: [&str; 17] =
    [",", ":", ".", "+", "-", " ", "0", "1", "256", "65536", "4294967296", "0x1", "é", "::1", "ff", "_", ",icrc"];

#[test]
fn fuzz_daemon_argument() {
    spindle_fuzz::run("daemon_argument", 4000, |source| {
        let mac: [u8; 6] = std::array::from_fn(|_| source.byte());
        let ip: [u8; 4] = std::array::from_fn(|_| source.byte());
        let mac_text = mac.map(|byte| format!("{byte:02x}")).join(":");
        let number = source.byte();
        let mut text = format!("{number},{mac_text},{}", Ipv4Addr::from(ip));
        assert_eq!(station(&text), Ok(Station { nid: number.into(), mac, ip }));
        let port = if source.chance(2) { source.word() as u16 } else { SPINDLE_PORT };
        if port != SPINDLE_PORT {
            text += &format!(",{port}");
        }
        let icrc = source.chance(2);
        if icrc {
            text += ",icrc";
        }
        assert_eq!(node(&text), Ok((number.into(), Peer { node: Node { mac, ip, port }, icrc })));
        let damaged = source.mutated_text(&text, &WORDS);
        let read = node(&damaged);
        match &read {
            Ok((number, Peer { node: Node { mac, ip, .. }, icrc })) => {
                // All of it stands in the text, but for capitals and zeros in front.
                let addresses = damaged.strip_suffix(",icrc");
                assert_eq!(*icrc, addresses.is_some());
                let plain = addresses
                    .unwrap_or(&damaged)
                    .bytes()
                    .all(|byte| byte.is_ascii_hexdigit() || b":,.".contains(&byte));
                assert!(plain, "{damaged:?}");
                let bytes = damaged.split(',').nth(1).unwrap_or_default().split(':');
                let bytes: Vec<_> = bytes.map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
                assert_eq!(bytes, mac.map(Some), "{damaged:?}");
                assert!(damaged.contains(&Ipv4Addr::from(*ip).to_string()) && damaged.contains(&number.to_string()));
            }
            Err(error) => assert!(
                error.contains("give") && station(&damaged).is_err_and(|error| error.contains("give"))
                    || station(&damaged).is_ok(),
                "{error}"
            ),
        }
        read.is_ok()
    });
}
