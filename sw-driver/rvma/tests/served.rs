//! The C examples in two processes, each with a served card; a cable joins the cards.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod served_card;

use served_card::{serve, Process};
use spindle::{Bar, Device, Node};
use spindled::card::Peer;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time of the two programs.
const LIMIT: Duration = Duration::from_secs(240);

/// The compiled example of this name.
fn example(folder: &Path, name: &str) -> PathBuf {
    let (here, output) = (Path::new(env!("CARGO_MANIFEST_DIR")), folder.join(name));
    let library = library();
    let mut command = Command::new("cc");
    command.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(here.join("include"));
    command.arg(here.join("examples").join(name).with_extension("c")).arg("-L").arg(&library).arg("-lspindle_rvma");
    assert!(command.arg("-o").arg(&output).status().unwrap().success());
    output
}

fn library() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

#[test]
fn two_processes_exchange_a_mebibyte() {
    on_two_cards("exchange", "1048576 bytes sent, 1048576 bytes received");
}

#[test]
fn two_processes_use_every_protocol() {
    on_two_cards("protocols", "12 eager messages, 2 of 200000 bytes, 12 in the ring, 12 calls");
}

/// Runs an example on two cards of its own; each process prints its node and these words.
fn on_two_cards(name: &str, words: &str) {
    let folder = tempfile::tempdir().unwrap();
    let cable = folder.path().join("cable");
    let sockets = ["a", "b"].map(|name| folder.path().join(name));
    let servers = sockets.each_ref().map(|socket| serve(socket, &cable));
    run(folder.path(), name, sockets.map(|socket| format!("unix:{}", socket.display())), words);
    drop(servers);
}

/// Runs an example on two cards.
fn run(folder: &Path, name: &str, addresses: [String; 2], wanted: &str) {
    let program = example(folder, name);
    let start = Instant::now();
    let mut programs = [0, 1].map(|node: usize| {
        let mut command = Command::new(&program);
        command.arg(&addresses[node]).arg(node.to_string());
        command.env("LD_LIBRARY_PATH", library()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Process(command.spawn().unwrap(), None)
    });
    for (node, program) in programs.iter_mut().enumerate() {
        let (good, words, errors) = program.end(start, LIMIT);
        assert_eq!(good, Some(true), "node {node}\n{words}{errors}");
        assert_eq!(words, format!("node {node}: {wanted}\n"));
    }
    println!("{name} ended after {:.1} s", start.elapsed().as_secs_f64());
}

/// A daemon that owns a card, in a thread of the test, until `ends`.
fn own(nic: &Path, folder: &Path, number: u8, ends: &Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let node = Node::numbered(number);
    let options = spindled::Options {
        sockets: folder.into(),
        station: Some(spindled::card::Station { nid: number.into(), mac: node.mac, ip: node.ip }),
        nodes: (0..2).map(|number| (number, Peer { node: Node::numbered(number as u8), icrc: false })).collect(),
        round_trip: 16_000,
        quota: spindled::Quota { mailboxes: 8, ..Default::default() },
    };
    let card = spindle::open(&format!("unix:{}", nic.display())).unwrap();
    let mut daemon = spindled::Daemon::new(card, options).unwrap();
    let ends = ends.clone();
    std::thread::spawn(move || daemon.run(|| ends.load(Ordering::Relaxed)).unwrap())
}

/// A client that rings others' pages, takes all mailboxes that it gets, posts memory that is not its own, and goes; again and again.
fn be_hostile(folder: &Path, ends: &AtomicBool) -> usize {
    use spindle_contract::registers::{doorbell, PAGE};
    let mut lives = 0;
    while !ends.load(Ordering::Relaxed) {
        let card = spindle::open(&format!("unix:{}", folder.join("card.sock").display())).unwrap();
        let process = card.lock().process().unwrap();
        let mut driver = Device::share(card.clone(), card).unwrap();
        for register in [doorbell::COMMAND, doorbell::MAILBOX, doorbell::RING_TAIL, doorbell::KICK] {
            driver.bar.write32(doorbell::BASE + 4 * PAGE + register, 3).unwrap();
        }
        let windows: Vec<_> = (0..20).map_while(|address| driver.init_window(process, address, 0, 64).ok()).collect();
        assert_eq!(windows.len(), 8);
        let posted = driver.post_buffer(windows[0], 64).unwrap();
        let buffer = spindled::card::window(4).start;
        assert!(driver.post(windows[0], spindle::rvma::Posted { buffer, ..posted }).is_err());
        lives += 1;
    }
    lives
}

#[test]
fn clients_of_daemons_exchange_a_mebibyte_beside_a_hostile_one() {
    let folder = tempfile::tempdir().unwrap();
    let cable = folder.path().join("cable");
    let ends = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let cards = [0, 1].map(|number| {
        let (socket, sockets) = (folder.path().join(format!("nic{number}")), folder.path().join(format!("d{number}")));
        std::fs::create_dir(&sockets).unwrap();
        let server = serve(&socket, &cable);
        (own(&socket, &sockets, number, &ends[1]), sockets, server)
    });
    let (hostile, stops) = (cards[1].1.clone(), ends[0].clone());
    let hostile = std::thread::spawn(move || be_hostile(&hostile, &stops));
    // The example is process 4 of both nodes.
    run(
        folder.path(),
        "exchange",
        [0, 1].map(|card: usize| format!("unix:{}", cards[card].1.join("process4.sock").display())),
        "1048576 bytes sent, 1048576 bytes received",
    );
    ends[0].store(true, Ordering::Relaxed);
    let lives = hostile.join().unwrap();
    println!("the hostile client came {lives} times");
    assert!(lives > 0);
    ends[1].store(true, Ordering::Relaxed);
    for (daemon, _, server) in cards {
        daemon.join().unwrap();
        drop(server);
    }
}
