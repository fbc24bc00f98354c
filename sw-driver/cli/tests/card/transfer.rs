//! `put`, `get` and `window`.

use crate::fake::Fake;
use crate::on;
use spindle_contract::registers::{doorbell, mailbox_mode, node, packet};
use spindle_contract::wire::nack;
use std::time::Duration;

fn file(content: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content).unwrap();
    file
}

fn put(fake: &Fake, content: &[u8], more: &[&str]) -> Result<String, String> {
    let file = file(content);
    let line = ["put", file.path().to_str().unwrap(), "--node", "2", "--address", "0x77", "--as", "1"];
    on(fake, &[&line, more].concat())
}

#[test]
fn a_put_waits_for_its_acknowledgement() {
    let fake = Fake::new();
    let text = put(&fake, &[7; 1000], &[]).unwrap();
    assert_eq!(text, "put 1000 bytes to 0x77 of node 2: acknowledged\n");
    assert_eq!(fake.state().puts, [(1000, 2, 0x77, 0)]);
    // The card has its addresses, sends reliably and receives.
    assert_eq!((fake.peek(node::BASE, node::LOCAL_NID), fake.peek(node::BASE, node::LOCAL_IP)), (1, 0x0a4e_0001));
    let control = node::SendControl(fake.peek(node::BASE, node::SEND_CONTROL));
    assert!(control.sequenced() && packet::Control(fake.peek(packet::BASE, packet::CONTROL)).receive());
    assert!(!fake.state().has_ring(0), "the ring is closed again");
    // A second put does not begin the sequence numbers anew.
    fake.poke(node::BASE, node::SEND_INCARNATION, 55);
    put(&fake, &[1], &[]).unwrap();
    assert_eq!(fake.peek(node::BASE, node::SEND_INCARNATION), 55);
}

#[test]
fn a_file_is_put_in_pieces() {
    let fake = Fake::new();
    put(&fake, &[7; 1000], &["--split", "400", "--managed"]).unwrap();
    let managed = (mailbox_mode::MANAGED, 0x77);
    let lengths: Vec<_> = fake.state().puts.iter().map(|put| (put.0, (put.3, put.2))).collect();
    assert_eq!(lengths, [(400, managed), (400, managed), (200, managed)]);
    put(&fake, &[], &["--stream"]).unwrap();
    assert_eq!(fake.state().puts.last(), Some(&(0, 2, 0x77, mailbox_mode::STREAM)));
    assert!(put(&fake, &[], &["--stream", "--epoch", "3"]).unwrap_err().contains("cannot be used with"));
}

#[test]
fn refusals_and_silence_are_sentences() {
    let fake = Fake::new();
    fake.state().refusal = nack::BAD_KEY;
    let error = put(&fake, &[1], &[]).unwrap_err();
    assert!(error.contains("the node refuses the message: bad_key"), "{error}");
    fake.state().silent = true;
    let error = put(&fake, &[1], &["--timeout", "0.02"]).unwrap_err();
    assert!(error.contains("no acknowledgement within the time"), "{error}");
    assert!(!fake.state().has_ring(0), "the ring is closed after an error as well");
}

#[test]
fn a_card_without_addresses_asks_for_them() {
    let fake = Fake::new();
    let content = file(&[1]);
    let error = on(&fake, &["put", content.path().to_str().unwrap(), "--node", "2", "--address", "1"]).unwrap_err();
    assert!(error.contains("no addresses since its reset") && error.contains("--as 1"), "{error}");
    put(&fake, &[1], &[]).unwrap();
    // Now it has them.
    on(&fake, &["put", content.path().to_str().unwrap(), "--node", "2", "--address", "1"]).unwrap();
}

#[test]
fn a_get_writes_what_comes() {
    let fake = Fake::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("got");
    let line = ["get", "300", "--node", "2", "--address", "5", "--as", "1", "--offset", "3"];
    on(&fake, &[&line[..], &["-o", path.to_str().unwrap()]].concat()).unwrap();
    let expected: Vec<u8> = (0..300u32).map(|i| (i + 3) as u8).collect();
    assert_eq!(std::fs::read(&path).unwrap(), expected);
    assert!(fake.state().windows.is_empty(), "the window of the answer is closed");
    fake.state().refusal = nack::NO_MAILBOX;
    assert!(on(&fake, &line).unwrap_err().contains("refuses the message: no_mailbox"));
    assert!(fake.state().windows.is_empty());
}

/// Opens a window, and has bytes come once it is open.
fn window(fake: &Fake, more: &[&str], pieces: Vec<(u32, Vec<u8>)>) -> Result<Vec<u8>, String> {
    let card = fake.clone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let sender = std::thread::spawn(move || {
        for (offset, bytes) in pieces {
            for _ in 0..10_000 {
                if card.state().arrive(3, 0x1234, offset, &bytes) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let line = ["window", "--address", "0x1234", "--process", "3", "--as", "1", "--peer", "2"];
    let done = on(fake, &[&line[..], &["-o", path.to_str().unwrap()], more].concat());
    sender.join().unwrap();
    done.map(|_| std::fs::read(path).unwrap())
}

#[test]
fn a_window_writes_complete_buffers_in_their_order() {
    let fake = Fake::new();
    let pieces = (1..=5u8).map(|i| (0, vec![i; 100])).collect();
    let got = window(&fake, &["--size", "100", "--buffers", "2", "--count", "5", "--timeout", "20"], pieces).unwrap();
    assert_eq!(got, (1..=5u8).flat_map(|i| vec![i; 100]).collect::<Vec<u8>>());
    assert!(fake.state().windows.is_empty(), "the window is closed");
}

#[test]
fn the_rest_of_a_managed_window_is_written_when_it_closes() {
    let fake = Fake::new();
    let pieces = vec![(0, b"one ".to_vec()), (0, b"two".to_vec())];
    let got = window(&fake, &["--managed", "--timeout", "0.5"], pieces).unwrap();
    assert_eq!(got, b"one two");
    // A buffer with gaps is not written.
    let got = window(&fake, &["--size", "100", "--timeout", "0.5"], vec![(50, vec![1; 10])]).unwrap();
    assert!(got.is_empty(), "{got:?}");
}

#[test]
fn a_window_is_opened_as_it_was_described() {
    let fake = Fake::new();
    let card = fake.clone();
    let seen = std::thread::spawn(move || {
        for _ in 0..10_000 {
            let state = card.state();
            if let Some(window) = state.windows.values().find(|window| window.posted.len() == 3) {
                return Some(window.clone());
            }
            drop(state);
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    });
    let more =
        ["--operations", "--threshold", "9", "--key", "0xabc", "--buffers", "3", "--timeout", "0.5", "--size", "4K"];
    window(&fake, &more, vec![]).unwrap();
    let seen = seen.join().unwrap().expect("the window was open");
    assert_eq!((seen.process, seen.address, seen.key, seen.threshold), (3, 0x1234, 0xABC, 9));
    assert!(doorbell::Mode(seen.mode).ops() && seen.posted.iter().all(|buffer| buffer.1 == 4096));
}
