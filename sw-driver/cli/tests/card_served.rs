//! Commands as an operator gives them: each a process of its own, on two served NICs that a cable joins.
#![cfg(feature = "sim")]

#[macro_use(assert_eq)]
extern crate spindle_testing;

use serde_json::Value;
use spindle::resident::{Effect, ResidentRule};
use spindle::{ContextOptions, SharedCard};
use spindle_cli::card::live::{Live, Stop};
use spindle_cli::card::trace;
use spindle_sdk::Sources;
use spindle_sim::serve::{End, NicServer, ServeOptions};
use spindle_sim::WireFrame;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A served NIC; its thread ends with it.
struct Served {
    address: String,
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn start(folder: &Path, name: &str, cable: &Path) -> Served {
        let socket = folder.join(name);
        let end = End::Link(cable.into());
        let options = ServeOptions { end, keep: true, ..ServeOptions::at(&socket) };
        let (stop, stopped) = UnixStream::pair().unwrap();
        let (ready, serves) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut server = NicServer::open(&options).expect("the NIC is served");
            ready.send(()).unwrap();
            server.run(stopped.as_fd()).expect("the server ends in order");
        });
        serves.recv().expect("the NIC is served");
        Served { address: format!("unix:{}", socket.display()), stop: Some(stop), thread: Some(thread) }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
        command.arg("--card").arg(&self.address).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Standard output of a command that succeeds.
    fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {} {errors}", output.status);
        String::from_utf8(output.stdout).expect("text")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(arguments)).expect("JSON")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

/// Starts a command and waits until a line of its standard error has these words; later lines are passed on.
fn started(mut command: Command, words: &str) -> Child {
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let found = lines.by_ref().map_while(Result::ok).any(|line| line.contains(words));
    assert!(found, "the command ended without `{words}`: {:?}", child.wait());
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
    child
}

/// How often the first thread of a command has gone to sleep.
fn sleeps(command: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", command.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.expect("Linux counts switches").trim().parse().unwrap()
}

fn example(name: &str) -> String {
    format!("{}/../../handlers/examples/{name}.c", env!("CARGO_MANIFEST_DIR"))
}

/// A file with bytes that repeat nowhere near.
fn file(folder: &Path, name: &str, bytes: u32) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, (0..bytes).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect::<Vec<_>>()).unwrap();
    path
}

#[test]
fn an_operator_uses_two_served_cards() {
    let folder = tempfile::tempdir().unwrap();
    let cable = folder.path().join("cable");
    let first = Served::start(folder.path(), "nic0.sock", &cable);
    let second = Served::start(folder.path(), "nic1.sock", &cable);

    // What one process loads, the next one finds.
    let info = first.json(&["info", "--json"]);
    assert_eq!((&info["transport"], &info["clusters"]), (&"vfio-user".into(), &2.into()));
    assert_eq!(info["contexts"], serde_json::json!([]));
    let loaded = first.text(&["load", &example("ping_pong"), "--match", "udp.dport == 9"]);
    assert_eq!(loaded, "context 0: ping_pong, 1 rule, process 0\n");
    let loaded = first.text(&["load", &example("icmp_echo"), "--process", "1"]);
    assert_eq!(loaded, "context 1: icmp_echo, 1 rule, process 1\n");
    let stats = first.json(&["stats", "--json"]);
    assert_eq!((&stats["contexts"][0]["name"], &stats["contexts"][1]["process"]), (&"ping_pong".into(), &1.into()));
    assert_eq!(first.text(&["unload", "0"]), "context 0: ping_pong is unloaded\n");
    let rules = first.json(&["info", "--json"])["rules"].clone();
    assert_eq!(rules[0]["rule"], "icmp.type == 8");
    assert_eq!(rules.as_array().unwrap().len(), 1);

    // A file goes from card to card.
    let sent = file(folder.path(), "sent", 20_000);
    let got = folder.path().join("got");
    let window = ["window", "--address", "0x77", "--key", "5", "--size", "20000", "--count", "1", "--timeout", "60"];
    let network = ["--as", "1", "--peer", "0", "-o", got.to_str().unwrap()];
    let mut receiver = started(second.command(&[&window[..], &network[..]].concat()), "is open");
    let target = ["--node", "1", "--address", "0x77", "--key", "5", "--as", "0", "--timeout", "60"];
    let put = first.text(&[&["put", sent.to_str().unwrap()], &target[..]].concat());
    assert_eq!(put, "put 20000 bytes to 0x77 of node 1: acknowledged\n");
    assert!(receiver.wait().unwrap().success());
    assert!(std::fs::read(&sent).unwrap() == std::fs::read(&got).unwrap(), "the bytes differ");
    let placed = &second.json(&["stats", "--json"])["counters"]["rvma"];
    assert_eq!((&placed["placed_bytes"], &placed["mailboxes"]), (&20_000.into(), &0.into()));

    // A command that waits sleeps until the card's interrupt; with looks of its own it would wake a thousand times a second.
    let arguments = ["window", "--address", "0x78", "--size", "64", "--count", "1", "--timeout", "60", "-o"];
    let mut receiver = started(second.command(&[&arguments[..], &[got.to_str().unwrap()]].concat()), "is open");
    let before = sleeps(&receiver);
    std::thread::sleep(Duration::from_secs(2));
    let slept = sleeps(&receiver) - before;
    println!("{slept} sleeps in 2 s");
    assert!(slept < 200, "the command slept {slept} times in 2 s");
    let small = file(folder.path(), "small", 64);
    first.text(&["put", small.to_str().unwrap(), "--node", "1", "--address", "0x78", "--timeout", "60"]);
    assert!(receiver.wait().unwrap().success());
    assert!(std::fs::read(&small).unwrap() == std::fs::read(&got).unwrap(), "the bytes differ");

    // The window is closed, and the other node says so.
    let refused = first.run(&[&["put", sent.to_str().unwrap()], &target[..]].concat());
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && errors.contains("refuses the message: no_mailbox"), "{errors}");

    // After a reset the card is as new.
    assert!(first.text(&["reset"]).contains("was reset"));
    assert_eq!(first.json(&["info", "--json"])["rules"], serde_json::json!([]));
    let stats = first.json(&["stats", "--json"]);
    assert_eq!(stats["counters"]["packet"]["frames_out"], 0);
}

/// A frame of UDP with this payload.
fn udp(payload: &[u8]) -> Vec<u8> {
    let builder = etherparse::PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 20).udp(7, 9);
    let mut frame = Vec::new();
    builder.write(&mut frame, payload).unwrap();
    frame
}

#[test]
fn packets_of_the_simulated_nic_are_traced() {
    let local = spindle_sim::transport::open_card("sim:sim").unwrap();
    let node = local.node().clone();
    let mut live = Live::attach(SharedCard::new(local)).unwrap();
    let handler = spindle_sdk::load(&Sources::one(Path::new(&example("ping_pong")))).unwrap();
    let rule = |context| vec![ResidentRule { rule: "udp".into(), effect: Effect::Packets(context) }];
    live.device.load_resident("ping_pong", &handler.image, &ContextOptions::default(), rule).unwrap();
    live.device.set_receive(true).unwrap();

    // The next one ends the trace of a packet, so the last of four is not seen whole.
    for length in [20, 200, 600, 20] {
        node.card().sim().inject(WireFrame { bytes: udp(&vec![7; length]), gap: 3000, bad: false });
    }
    let follow = trace::Arguments { every: 1, packets: 3, timeout: 60.0, json: true };
    let mut out = Vec::new();
    trace::run(&follow, &mut live, &mut out, &Stop::default()).unwrap();
    let text = String::from_utf8(out).unwrap();
    let packets: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(packets.len(), 3, "{text}");
    for packet in &packets {
        let stages = packet["stages"].as_array().unwrap();
        let names: Vec<&str> = stages.iter().map(|stage| stage["stage"].as_str().unwrap()).collect();
        assert_eq!(names.first(), Some(&"first_beat"), "{names:?}");
        for stage in ["matched", "handler_start", "handler_end", "egress_last"] {
            assert!(names.contains(&stage), "{stage}: {names:?}");
        }
        let cycles: Vec<u64> = stages.iter().map(|stage| stage["cycle"].as_u64().unwrap()).collect();
        assert!(cycles.is_sorted() && *cycles.last().unwrap() < 3000, "{cycles:?}");
    }
}
