//! `spindle netdev`: a served card as an interface of the system. A host in one network namespace talks through the card to a host in
//! another one, where the card's wire ends, while a handler of the card answers UDP on one port.
#![cfg(feature = "sim")]

#[macro_use(assert_eq)]
extern crate spindle_testing;

#[path = "common/served.rs"]
mod served;

use rustix::process::{kill_process, Pid, Signal};
use served::{open, Served};
use spindle::resident::{Effect, ResidentRule};
use spindle::{ContextOptions, Device, Image};
use spindle_sdk::Shipped;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Bound of the whole exchange.
const LIMIT: Duration = Duration::from_secs(100);
const BYTES: usize = 64 << 10;

/// Echo requests of the host on the wire: prints how many were answered.
const PING: &str = r#"
import socket, struct, sys, time
def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total >> 16) + (total & 0xffff)
    return ~(total + (total >> 16)) & 0xffff
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.settimeout(20)
answers = 0
for number in range(3):
    body = bytes(range(56))
    head = struct.pack("!BBHHH", 8, 0, 0, 77, number)
    head = struct.pack("!BBHHH", 8, 0, checksum(head + body), 77, number)
    s.sendto(head + body, (sys.argv[1], 0))
    while True:
        answer = s.recv(2000)
        if answer[20] == 0 and struct.unpack("!HH", answer[24:28]) == (77, number):
            answers += answer[28:] == body
            break
print(answers)
"#;

/// Datagrams of the host on the wire to a port: prints how many came back as they were.
const UDP: &str = r#"
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)
answers = 0
for number in range(5):
    text = b"datagram %d" % number
    s.sendto(text, (sys.argv[1], int(sys.argv[2])))
    answers += s.recv(2000) == text
print(answers)
"#;

/// A program of the host: answers datagrams to port 7, once it has said so.
const ECHO: &str = r#"
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.9.0.1", 7))
print("answers", file=sys.stderr, flush=True)
while True:
    s.sendto(*s.recvfrom(2000))
"#;

/// A network namespace. It is removed when dropped.
struct Namespace(String);

impl Namespace {
    fn new(name: &str) -> Option<Namespace> {
        let name = format!("spindle-{name}-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).stderr(Stdio::null()).status();
        made.is_ok_and(|status| status.success()).then_some(Namespace(name))
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0, program]).args(arguments);
        command
    }

    fn output(&self, program: &str, arguments: &[&str]) -> Output {
        self.command(program, arguments).output().unwrap()
    }

    /// Output of a program that asks the host at the other end.
    fn answers(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.output("python3", &[&["-c", program, "10.9.0.1"], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().into()
    }

    /// Brings the interface up with this address.
    fn up(&self, interface: &str, address: &str) {
        // Without IPv6, neither side sends frames on its own.
        let quiet = format!("net.ipv6.conf.{interface}.disable_ipv6=1");
        self.output("sysctl", &["-q", "-w", &quiet]);
        for arguments in [&["addr", "add", address, "dev", interface][..], &["link", "set", interface, "up"]] {
            let done = self.output("ip", arguments);
            assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

/// A program that ends with the test.
struct Running(Child);

impl Running {
    /// Starts a program and waits for a line of its standard error.
    fn start(mut command: Command, words: &str) -> Running {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut before = String::new();
        let found = lines.by_ref().map_while(Result::ok).any(|line| {
            before += &line;
            line.contains(words)
        });
        // What it writes later must find a reader.
        std::thread::spawn(move || lines.for_each(drop));
        assert!(found, "the program ends without `{words}`: {before}");
        Running(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("network namespaces need root".into());
    }
    if !std::path::Path::new("/dev/net/tun").exists() {
        return Some("there is no /dev/net/tun".into());
    }
    let lacks =
        |tool: &&str| Command::new(tool).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err();
    ["ip", "curl", "python3"].iter().find(|tool| lacks(tool)).map(|tool| format!("`{tool}` is not installed"))
}

#[test]
fn two_hosts_talk_through_a_card_while_a_handler_answers() {
    if let Some(reason) = missing() {
        return spindle_harness::skip(&reason);
    }
    let (Some(host), Some(far)) = (Namespace::new("host"), Namespace::new("far")) else {
        return spindle_harness::skip("network namespaces cannot be made");
    };
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nic.sock");
    let mut command = far.command(env!("CARGO_BIN_EXE_spindle"), &["serve", "--tap", "wire0", "--keep", "--socket"]);
    command.arg(&socket);
    let served = Served::run(command, &socket);
    {
        let card = open(&socket);
        let mut device = Device::attach(card.clone(), card.clone()).unwrap();
        let handler = Shipped::by_name("ping_pong").unwrap().load().unwrap();
        answers_udp(&mut device, &handler.image, "udp.dport == 9999");
    }
    let address = format!("unix:{}", socket.display());
    let mut command = host.command(env!("CARGO_BIN_EXE_spindle"), &["--card", &address, "netdev"]);
    command.stdout(Stdio::null());
    let _netdev = Running::start(command, "is the interface spindle0");
    far.up("wire0", "10.9.0.2/24");
    host.up("spindle0", "10.9.0.1/24");
    let begin = Instant::now();

    assert_eq!(far.answers(PING, &[]), "3");

    let data: Vec<u8> = (0..BYTES as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(folder.path().join("data"), &data).unwrap();
    let at = folder.path().to_str().unwrap();
    let server = host.command("python3", &["-u", "-m", "http.server", "8000", "--bind", "10.9.0.1", "--directory", at]);
    let _server = Running(quiet(server).spawn().unwrap());
    let got = folder.path().join("got");
    let limit = LIMIT.as_secs().to_string();
    let transfer = ["-s", "--retry", "5", "--retry-connrefused", "--max-time", &limit, "-o", got.to_str().unwrap()];
    let mut curl = quiet(far.command("curl", &transfer)).arg("http://10.9.0.1:8000/data").spawn().unwrap();
    // The handler answers while the file is on its way.
    assert_eq!(far.answers(UDP, &["9999"]), "5");
    assert!(curl.wait().unwrap().success(), "curl fails after {:?}", begin.elapsed());
    assert!(std::fs::read(&got).unwrap() == data, "the file is another one");
    assert!(begin.elapsed() < LIMIT);
    drop(served);
}

fn quiet(mut command: Command) -> Command {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Loads a handler that outlives this driver, for frames of this rule.
fn answers_udp(device: &mut served::Nic, image: &Image, rule: &str) {
    let rule = |context| vec![ResidentRule { rule: rule.into(), effect: Effect::Packets(context) }];
    device.load_resident("ping_pong", image, &ContextOptions::default(), rule).unwrap();
}

/// Rules of the interface come before those of a handler, and go with it; those that a killed program leaves can be taken out.
#[test]
fn rules_send_frames_to_the_interface() {
    if let Some(reason) = missing() {
        return spindle_harness::skip(&reason);
    }
    let (Some(host), Some(far)) = (Namespace::new("rules"), Namespace::new("asks")) else {
        return spindle_harness::skip("network namespaces cannot be made");
    };
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nic.sock");
    let program = env!("CARGO_BIN_EXE_spindle");
    let mut command = far.command(program, &["serve", "--tap", "wire0", "--keep", "--socket"]);
    command.arg(&socket);
    let served = Served::run(command, &socket);
    {
        let card = open(&socket);
        let mut device = Device::attach(card.clone(), card.clone()).unwrap();
        let handler = Shipped::by_name("ping_pong").unwrap().load().unwrap();
        answers_udp(&mut device, &handler.image, "udp");
    }
    let address = format!("unix:{}", socket.display());
    let rules = ["--by-rule", "--rule", "eth.type == 0x0806 || icmp", "--rule", "udp.dport == 7"];
    let netdev = || {
        let mut command = host.command(program, &[&["--card", &address, "netdev"], &rules[..]].concat());
        command.stdout(Stdio::null());
        Running::start(command, "is the interface spindle0")
    };
    let listed = || {
        let card = open(&socket);
        let device = Device::attach(card.clone(), card).unwrap();
        device.resident_rules().iter().map(|rule| format!("{} -> {}", rule.rule, rule.effect)).collect::<Vec<_>>()
    };
    let handler = "udp -> context 0, per packet";
    // A program that ends in order takes its rules with it.
    let mut interface = netdev();
    kill_process(Pid::from_child(&interface.0), Signal::TERM).unwrap();
    assert!(interface.0.wait().unwrap().success());
    assert_eq!(listed(), [handler]);

    let interface = netdev();
    far.up("wire0", "10.9.0.2/24");
    host.up("spindle0", "10.9.0.1/24");
    let _echo = Running::start(host.command("python3", &["-c", ECHO]), "answers");
    assert_eq!(far.answers(PING, &[]), "3");
    // The system's program has port 7, the handler all others.
    assert_eq!(far.answers(UDP, &["7"]), "5");
    assert_eq!(far.answers(UDP, &["9999"]), "5");
    drop(interface);

    // The program was killed.
    assert_eq!(listed(), ["eth.type == 0x0806 || icmp -> host", "udp.dport == 7 -> host", handler]);
    let unload = |arguments: &[&str]| {
        let output = Command::new(program).args(["--card", &address, "unload"]).args(arguments).output().unwrap();
        (output.status.success(), [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat())
    };
    let (done, words) = unload(&["--rule", "2"]);
    assert!(!done && words.contains("rule 2 belongs to context 0; unload the context: `spindle unload 0`"), "{words}");
    let (done, words) = unload(&["--rule", "3"]);
    assert!(!done && words.contains("the card has no rule 3"), "{words}");
    assert_eq!(unload(&["--rule", "0"]), (true, "rule `eth.type == 0x0806 || icmp` to host is gone\n".into()));
    assert_eq!(listed(), ["udp.dport == 7 -> host", handler]);
    drop(served);
}
