//! Commands on a card that `spindled` owns: the administrator's card, and shares.
#![cfg(feature = "sim")]

#[macro_use(assert_eq)]
extern crate spindle_testing;

#[path = "common/served.rs"]
mod served;

use served::{open, Served};
use spindle::Device;
use spindled::{Daemon, Options, Quota};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bound of each wait.
const LIMIT: Duration = Duration::from_secs(60);

/// A daemon in a thread of the test.
struct Owner(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Owner {
    fn start(nic: &Path, sockets: PathBuf) -> Owner {
        let options = Options { sockets, station: None, nodes: vec![], round_trip: 16_000, quota: Quota::default() };
        let mut daemon = Daemon::new(open(nic), options).unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let end = ends.clone();
        Owner(ends, Some(std::thread::spawn(move || daemon.run(|| end.load(Ordering::Relaxed)).unwrap())))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let ended = self.1.take().is_none_or(|thread| thread.join().is_ok());
        assert!(ended || std::thread::panicking(), "the daemon has panicked");
    }
}

fn spindle(card: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
    command.arg("--card").arg(format!("unix:{}", card.display())).args(arguments);
    command
}

/// Ends a command that has not ended.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn words(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// A datagram to port 9.
fn datagram() -> Vec<u8> {
    let builder = etherparse::PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 20).udp(7, 9);
    let mut frame = Vec::new();
    builder.write(&mut frame, b"text").unwrap();
    frame
}

#[test]
fn events_of_a_process_come_through_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    let cable = folder.path().join("cable");
    let link = ["--link", &format!("unix:{}", cable.display())];
    let sockets = ["nic0.sock", "nic1.sock"].map(|name| folder.path().join(name));
    let _servers = sockets.each_ref().map(|socket| Served::start_at(socket, &link));
    let shares = folder.path().join("daemon");
    std::fs::create_dir(&shares).unwrap();
    let _owner = Owner::start(&sockets[0], shares.clone());
    let admin = shares.join("admin.sock");

    // A handler whose messages end as events of process 3.
    let example = format!("{}/../../handlers/examples/ping_pong.c", env!("CARGO_MANIFEST_DIR"));
    let load = ["load", &example, "--match", "udp.dport == 9", "--process", "3"];
    let loaded = spindle(&admin, &load).output().unwrap();
    assert!(loaded.status.success(), "{}", words(&loaded));

    // The administrator has process 0 alone, and says so.
    let refused = spindle(&admin, &["events", "--process", "3", "--timeout", "5"]).output().unwrap();
    let said = words(&refused);
    assert!(!refused.status.success() && said.contains(shares.join("process3.sock").to_str().unwrap()), "{said}");
    let share = shares.join("process3.sock");
    let refused = spindle(&share, &["events", "--process", "4", "--timeout", "5"]).output().unwrap();
    assert!(!refused.status.success() && words(&refused).contains("is the share of process 3"), "{}", words(&refused));

    let follow = ["events", "--json", "--count", "1", "--timeout", "60"];
    let mut events = Ended(spindle(&share, &follow).stdout(Stdio::piped()).spawn().unwrap());
    let card = open(&sockets[1]);
    let mut other = Device::open(card.clone(), card).unwrap();
    let mut frames = other.open_frames(1, 1, 64 << 10).unwrap();
    let begin = Instant::now();
    // Until the command follows the ring, what comes is lost.
    while events.0.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < LIMIT, "no event of process 3");
        other.send_frame(&mut frames, &datagram(), None).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        while other.receive_frame(&mut frames).unwrap().is_some() {}
    }
    let mut line = String::new();
    std::io::Read::read_to_string(&mut events.0.stdout.take().unwrap(), &mut line).unwrap();
    let event: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!((&event["kind"], &event["context"]), (&"message".into(), &0.into()), "{event}");
}
