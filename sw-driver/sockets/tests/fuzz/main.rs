//! Fuzzing of the messages that a node of the network sends. See `docs/trust.md`.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use spindle_sockets::message::{Head, Kind, HEAD};

/// A head is its bytes, and nothing else is a head.
#[test]
fn fuzz_socket_message() {
    spindle_fuzz::run("socket_message", 4000, |source| {
        let kind = *source.pick(&[Kind::Open, Kind::Accept, Kind::Data, Kind::End, Kind::Credit]);
        let head = Head {
            kind,
            node: source.byte(),
            port: source.word() as u16,
            consumed: source.word(),
            window: source.number(),
        };
        let bytes = [&head.bytes()[..], &source.bytes(20)].concat();
        assert_eq!(Head::parse(&bytes), Some(head));
        let damaged = source.mutated(&bytes);
        match Head::parse(&damaged) {
            Some(head) => {
                assert_eq!(damaged[..HEAD], head.bytes());
                true
            }
            None => {
                assert!(damaged.len() < HEAD || !(1..=5).contains(&damaged[0]), "{damaged:x?}");
                false
            }
        }
    });
}
