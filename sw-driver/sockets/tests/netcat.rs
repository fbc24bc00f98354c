//! Unmodified `nc` over the network: two processes, each with a served card; a cable joins the cards.

#[macro_use(assert_eq)]
extern crate spindle_testing;

#[path = "../../rvma/tests/served_card/mod.rs"]
mod served_card;

use served_card::{serve, Process};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time of the copy.
const LIMIT: Duration = Duration::from_secs(300);

/// `nc` with the library, on a card.
fn nc(socket: &Path, node: u8) -> Command {
    let library = std::env::current_exe().unwrap().parent().unwrap().join("libspindle_sockets.so");
    let mut command = Command::new("nc");
    command.env("LD_PRELOAD", library).env("RVMA_CARD", format!("unix:{}", socket.display()));
    command.env("RVMA_NODE", node.to_string()).stderr(Stdio::piped());
    command
}

#[test]
fn nc_copies_a_mebibyte_each_way() {
    if Command::new("nc").arg("-h").output().is_err() {
        return spindle_harness::skip("nc is missing; install netcat-openbsd");
    }
    let folder = tempfile::tempdir().unwrap();
    let cable = folder.path().join("cable");
    let sockets = ["a", "b"].map(|name| folder.path().join(name));
    let _servers = sockets.each_ref().map(|socket| serve(socket, &cable));
    let bytes =
        |seed: u32| (0..1u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 13 ^ seed) as u8).collect::<Vec<u8>>();
    let sent = [bytes(1), bytes(2)];
    let files = ["from_a", "from_b", "at_a", "at_b"].map(|name| folder.path().join(name));
    std::fs::write(&files[0], &sent[0]).unwrap();
    std::fs::write(&files[1], &sent[1]).unwrap();

    // Node 0 listens, and both send their file and end.
    let mut listens = nc(&sockets[0], 0);
    listens.args(["-v", "-n", "-N", "-l", "10.78.0.0", "9000"]).stdin(File::open(&files[0]).unwrap());
    let mut listens = Process(listens.stdout(File::create(&files[2]).unwrap()).spawn().unwrap(), None);
    let mut errors = BufReader::new(listens.0.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert!(line.contains("Listening on"), "{line}");
    let start = Instant::now();
    let mut connects = nc(&sockets[1], 1);
    connects.args(["-n", "-N", "10.78.0.0", "9000"]).stdin(File::open(&files[1]).unwrap());
    let mut connects = Process(connects.stdout(File::create(&files[3]).unwrap()).spawn().unwrap(), None);
    let ends = [connects.end(start, LIMIT), listens.end(start, LIMIT)];
    let mut more = String::new();
    std::io::Read::read_to_string(&mut errors, &mut more).unwrap();
    assert_eq!(ends.each_ref().map(|end| end.0), [Some(true); 2], "{ends:?}\n{more}");
    assert!(more.contains("Connection received on 10.78.0.1"), "{more}");
    for (sent, file) in [(&sent[0], &files[3]), (&sent[1], &files[2])] {
        let received = std::fs::read(file).unwrap();
        assert_eq!((Sha256::digest(sent), sent.len()), (Sha256::digest(&received), received.len()));
    }
    println!("copied after {:.1} s", start.elapsed().as_secs_f64());
}
