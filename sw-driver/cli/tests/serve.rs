//! `spindle serve`: a driver in another process than the card.
#![cfg(feature = "sim")]

#[macro_use(assert_eq)]
extern crate spindle_testing;

#[path = "common/served.rs"]
mod served;

use served::{open, opened, put, receives, Served, LIMIT, PROCESS};
use spindle::rule_table::Action;
use spindle::{irq, Bar, ContextOptions, Device, Error, HostMemory, Kind, Rule, SharedCard, Target};
use spindle_contract::registers::{global, MAGIC};
use spindle_model::frames::{udp, Ends};
use spindle_sdk::Sources;
use spindle_sim::capture::{self, Captured};
use spindle_sim::serve::exercise::exercise;
use spindle_sim::transport;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A path of a test that is run as another process by this one.
fn child(test: &str, socket: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env("SPINDLE_TEST_SOCKET", socket).stdout(Stdio::null());
    command
}

/// The socket of a test that runs as another process; `None`: it does not.
fn parent() -> Option<SharedCard> {
    std::env::var_os("SPINDLE_TEST_SOCKET").map(|socket| open(Path::new(&socket)))
}

/// With time by steps, a served card is the card in process: the same cycles, the same bytes. So it is after a reset.
#[test]
fn a_served_card_takes_the_cycles_of_one_in_process() {
    let served = Served::start(&["--time", "step"]);
    let card = open(&served.socket);
    let own = transport::open("sim:sim").unwrap();
    assert!(card.lock().time_moves_by_calls());
    for round in 0..2 {
        let (other, here) = (exercise(&card).unwrap(), exercise(&own).unwrap());
        assert_eq!(other, here, "round {round}");
        assert!(here.bytes[here.bytes.len() - 4..] == [0; 4], "a put has failed");
        card.lock().reset().unwrap();
        own.lock().reset().unwrap();
    }
}

/// A handler that faults by a frame of the capture interrupts the host; a good one answers; reset; clients that misbehave.
#[test]
fn a_driver_of_another_process_has_registers_memory_interrupts_and_reset() {
    let folder = tempfile::tempdir().unwrap();
    let frames: Vec<_> = [0, 9, 0].iter().map(|port| udp(&Ends::default(), 1, *port, &[3; 90])).collect();
    let (input, output) = (folder.path().join("in.pcap"), folder.path().join("out.pcap"));
    let packets: Vec<_> = frames.iter().map(|bytes| Captured { time: Duration::ZERO, bytes: bytes.clone() }).collect();
    capture::write(&input, &packets).unwrap();
    let served = Served::start(&["--pcap", &format!("{},{}", input.display(), output.display())]);
    let mut card = open(&served.socket);
    assert!(!card.lock().time_moves_by_calls());
    assert_eq!(card.read32(global::BASE + global::MAGIC).unwrap(), MAGIC);
    assert!(matches!(card.read32(0x000F_FFFC), Err(Error::Bar { .. })), "no register is there");

    let mut device = Device::open(card.clone(), card.clone()).unwrap();
    let event = card.lock().interrupt(0).unwrap();
    for (name, port) in [("faulty/foreign_access", 0), ("ping_pong", 9)] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../handlers/examples/{name}.c"));
        let image = spindle_sdk::load(&Sources::one(&source)).unwrap().image;
        let context = device.install(&image, &ContextOptions::default()).unwrap();
        let rule: Rule = format!("udp.dport == {port}").parse().unwrap();
        device.add_rule(&rule, Action::Context(context)).unwrap();
        device.activate(context).unwrap();
    }
    assert_eq!(irq::take(&event), 0);
    device.set_receive(true).unwrap();
    assert!(irq::wait(event.as_fd(), Duration::from_secs(20)).unwrap() > 0, "the fault interrupts");
    assert!(device.pop_fault().unwrap().is_some());
    let end = Instant::now() + Duration::from_secs(20);
    while device.stats().unwrap().frames_out < 1 {
        assert!(Instant::now() < end, "the good handler does not answer");
    }
    card.lock().reset().unwrap();
    assert_eq!(device.stats().unwrap().tasks_faulted, 0, "the reset has cleared the counters");
    drop((device, card));
    assert_eq!(capture::read(&output).unwrap().len(), 1);

    // A client that talks nonsense, and one that says nothing: the next one is served.
    let mut nonsense = UnixStream::connect(&served.socket).unwrap();
    nonsense.write_all(&[0xA5; 64]).unwrap();
    nonsense.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let _ = nonsense.read_to_end(&mut Vec::new());
    drop(UnixStream::connect(&served.socket).unwrap());
    drop(open(&served.socket));

    // A driver that is killed while the card reads its memory: the next one finds a card after reset.
    let mut victim = child("puts_until_it_is_killed", &served.socket).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(victim.try_wait().unwrap().is_none(), "the victim still puts");
    victim.kill().unwrap();
    victim.wait().unwrap();
    let card = open(&served.socket);
    let mut device = opened(&card, 0);
    assert_eq!(device.puts().unwrap().0, 0, "the card was reset");
    let (memory, target) = (device.memory.alloc(64, 64).unwrap(), Target { node: 1, ..victims_target() });
    let put = device.put(PROCESS, memory, 64, &target).unwrap();
    device.wait_put(&put, LIMIT).unwrap();

    let second = Served::command(&served.socket, &[]).output().unwrap();
    let words = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && words.contains("in use by another server"), "{words}");
    let socket = served.socket.clone();
    assert!(served.stop(), "the server ends in order");
    assert!(!socket.exists() && !spindle_sim::serve::control::path_of(&socket).exists());
    assert!(matches!(card.clone().read32(0), Err(Error::Gone { .. })));
}

fn victims_target() -> Target {
    Target { node: 1, process: 0, address: 1, key: 2, offset: 0, kind: Kind::Bound }
}

/// Runs as another process of the test above.
#[test]
fn puts_until_it_is_killed() {
    let Some(card) = parent() else { return };
    let mut device = opened(&card, 0);
    let memory = device.memory.alloc(8192, 64).unwrap();
    loop {
        let put = device.put(PROCESS, memory, 8192, &victims_target()).unwrap();
        device.wait_put(&put, LIMIT).unwrap();
    }
}

const MESSAGE: usize = 20_000;

/// Two served cards on a cable, each with a driver of its own process. A server that is started again gets its end of the cable back.
#[test]
fn two_served_cards_exchange_a_put_over_a_cable() {
    let folder = tempfile::tempdir().unwrap();
    let link = format!("unix:{}", folder.path().join("cable").display());
    let receiver = Served::start(&["--link", &link]);
    for round in 0..2 {
        // The socket that is left of the first sender's server is replaced.
        let sender = Served::start_at(&folder.path().join("sender.sock"), &["--link", &link]);
        let card = open(&receiver.socket);
        let mut device = opened(&card, 1);
        let window = receives(&mut device, MESSAGE);
        let status = child("sends_a_message", &sender.socket).status().unwrap();
        assert!(status.success(), "the sender fails in round {round}");
        let got = window.wait(&mut device);
        assert!(got.iter().enumerate().all(|(i, byte)| *byte == (i * 7) as u8) && got.len() == MESSAGE);
        sender.kill();
    }
}

/// Runs as another process of the test above.
#[test]
fn sends_a_message() {
    let Some(card) = parent() else { return };
    let mut device = opened(&card, 0);
    let data: Vec<u8> = (0..MESSAGE).map(|i| (i * 7) as u8).collect();
    put(&mut device, &data);
}

/// A wave of a served card, while its driver works.
#[test]
fn a_wave_is_recorded_on_demand() {
    let served = Served::start(&["--waves"]);
    let file = served.socket.with_extension("fst");
    let address = format!("unix:{}", served.socket.display());
    let mut card = open(&served.socket);
    let wave = ["--card", &address, "wave", "--cycles", "500", "--out", file.to_str().unwrap()];
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_spindle")).args(wave).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let status = loop {
        card.read32(0).unwrap();
        if let Some(status) = recorder.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < end, "the wave does not end");
    };
    assert!(status.success());
    let wave = wellen::simple::read(&file).unwrap();
    let times = wave.time_table();
    // The first entry is time 0, the values before the window.
    let cycles = (times.last().unwrap() - times[1]) / 4000;
    assert!((400..=501).contains(&cycles), "{cycles}");
    drop(served);
    // Without a server, and of a card that is none.
    let output = Command::new(env!("CARGO_BIN_EXE_spindle")).args(wave_of(&address)).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("spindle serve --waves"));
    let output = Command::new(env!("CARGO_BIN_EXE_spindle")).args(wave_of("0000:65:00.0")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("only a served card"));
}

fn wave_of(card: &str) -> [&str; 5] {
    ["--card", card, "wave", "--out", "/dev/null"]
}
