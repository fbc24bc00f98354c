//! The outputs of `spindle run`: opened before the run, whole or absent after it, written when the run is interrupted.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use serde_json::Value;
use spindle_model::frames::{udp, Ends};
use spindle_sim::capture::{self, Captured};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const ECHO: &str = "#include \"spindle.h\"\nint header_handler(const spin_header_t *h, void *s) { (void)s; \
    spin_send_packet(spin_packet(h), h->packet_len); return SPIN_PROCESS_DATA; }\n";
const ENDLESS: &str = "#include \"spindle.h\"\nint header_handler(const spin_header_t *h, void *s) { (void)h; \
    (void)s; for (;;) { __asm__ volatile(\"\"); } }\n";

struct Bench(tempfile::TempDir);

impl Bench {
    fn new(handler: &str, frames: usize) -> Bench {
        let bench = Bench(tempfile::tempdir().unwrap());
        std::fs::write(bench.path("handler.c"), handler).unwrap();
        let packet = |i| Captured { time: Duration::ZERO, bytes: udp(&Ends::default(), 4000, 9, &[i as u8; 60]) };
        capture::write(&bench.path("in.pcap"), &(0..frames).map(packet).collect::<Vec<_>>()).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
        command.current_dir(self.0.path()).args(["run", "handler.c", "--pcap", "in.pcap"]).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }

    /// Names in the folder beyond what was there at the start.
    fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.retain(|name| name != "handler.c" && name != "in.pcap");
        names.sort();
        names
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn outputs_that_cannot_be_written_stop_the_run_before_it_starts() {
    let bench = Bench::new(ECHO, 3);
    std::fs::write(bench.path("older.json"), "older").unwrap();
    std::fs::hard_link(bench.path("in.pcap"), bench.path("link.pcap")).unwrap();
    for (arguments, words) in [
        (["--json", "older.json", "--out", "no/out.pcap"], ["--out no/out.pcap", "create it first"]),
        (["--json", "older.json", "--host-out", "."], ["--host-out .", "is a folder"]),
        (["--json", "older.json", "--out", "in.pcap"], ["--pcap in.pcap", "same file"]),
        (["--json", "older.json", "--out", "./link.pcap"], ["--pcap in.pcap", "same file"]),
        (["--json", "older.json", "--out", "older.json"], ["cannot write --json older.json", "--out older.json"]),
        (["--json", "new.json", "--trace", "./new.json"], ["--json new.json", "same file"]),
        (["--json", "older.json", "--vcd", "in.pcap"], ["--vcd in.pcap", "same file"]),
        (["--json", "older.json", "--vcd", "no/wave.vcd"], ["--vcd no/wave.vcd", "create it first"]),
        (["--json", "older.json", "--out", "handler.c"], ["the handler handler.c", "same file"]),
        (["--json", "-", "--out", "-"], ["--out -", "same file"]),
    ] {
        let output = bench.run(&arguments);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(!error.contains("emitting the NIC"), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{arguments:?}: {error}");
    }
    assert_eq!(bench.files(), ["link.pcap", "older.json"]);
    assert_eq!(std::fs::read_to_string(bench.path("older.json")).unwrap(), "older");
}

/// A full device takes nothing; the others are written, and the exit status and the sentence name the one that failed.
#[test]
fn a_failing_output_loses_no_other() {
    let bench = Bench::new(ECHO, 3);
    let output = bench.run(&["--out", "/dev/full", "--json", "report.json", "--host-out", "after"]);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("1 output was not written: --out /dev/full: No space left"), "{error}");
    assert_eq!(bench.json("report.json")["answered"], 3);
    assert_eq!(std::fs::metadata(bench.path("after")).unwrap().len(), 1 << 20);
    let output = bench.run(&["--out", "out.pcap", "--json", "/dev/full", "--host-out", "/dev/full"]);
    let error = stderr(&output);
    assert!(error.contains("2 outputs were not written") && error.contains("--json /dev/full"), "{error}");
    assert_eq!(capture::read(&bench.path("out.pcap")).unwrap().len(), 3);
}

#[test]
fn json_goes_to_standard_output() {
    let bench = Bench::new(ECHO, 3);
    let output = bench.run(&["--json", "-"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("standard output is JSON and nothing else");
    assert_eq!((&report["answered"], &report["run"]["files"]["--json"]), (&3.into(), &"-".into()));
    assert!(stderr(&output).contains("answered (frames out)"), "{}", stderr(&output));
    // A capture may go there as well.
    let output = bench.run(&["--out", "-"]);
    assert_eq!(capture::parse(&output.stdout, capture::Truncated::Refuse).unwrap().packets.len(), 3);
}

/// A command that was started, read up to the line with these words, and then a while longer.
fn start_until(bench: &Bench, arguments: &[&str], words: &str) -> (Child, std::thread::JoinHandle<String>) {
    let mut child = bench.command(arguments).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut seen = String::new();
    while !seen.contains(words) {
        assert!(lines.read_line(&mut seen).unwrap() > 0, "`{words}` never came: {seen}");
    }
    let rest = std::thread::spawn(move || {
        let mut line = seen;
        while lines.read_line(&mut line).unwrap_or(0) > 0 {}
        line
    });
    (child, rest)
}

fn signal(child: &Child, name: &str) {
    // The shell has `kill` built in.
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().unwrap();
    assert!(status.success());
}

/// The run would take an hour; the first signal ends it with everything so far, and the exit status of the signal.
#[test]
fn an_interrupt_writes_what_is_there() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let bench = Bench::new(ECHO, 40_000);
        let arguments = ["--gap", "2000", "--out", "out.pcapng", "--json", "report.json"];
        let (child, rest) = start_until(&bench, &arguments, "model ready");
        std::thread::sleep(Duration::from_secs(2));
        signal(&child, name);
        let started = Instant::now();
        let output = child.wait_with_output().unwrap();
        let error = rest.join().unwrap();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
        assert!(error.contains("the run was interrupted"), "{error}");
        let text = String::from_utf8_lossy(&output.stdout);
        let report = bench.json("report.json");
        let entered = report["frames_in"].as_u64().unwrap();
        assert!(0 < entered && entered < 40_000, "{text}");
        assert_eq!((&report["interrupted"], &report["answered"]), (&true.into(), &entered.into()), "{text}");
        assert!(text.contains(&format!("INTERRUPTED: {entered} of 40000 packets entered")), "{text}");
        let answers = capture::read(&bench.path("out.pcapng")).unwrap();
        assert_eq!(answers.len() as u64, entered);
        let file = std::fs::read(bench.path("out.pcapng")).unwrap();
        let mark = b"the run was interrupted";
        assert!(file.windows(mark.len()).any(|bytes| bytes == mark), "the capture is marked");
        assert_eq!(bench.files(), ["out.pcapng", "report.json"]);
    }
}

/// Handlers that never return keep the NIC from coming to its end; a second signal does not wait for it, and leaves no file.
#[test]
fn a_second_interrupt_ends_the_program() {
    let bench = Bench::new(ENDLESS, 20_000);
    let arguments = ["--gap", "2000", "--watchdog", "16000000", "--json", "report.json", "--out", "out.pcap"];
    let (child, rest) = start_until(&bench, &arguments, "model ready");
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(50));
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    let error = rest.join().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0), "{error}");
    assert!(error.contains("a second interrupt ends the program"), "{error}");
    assert!(bench.files().is_empty(), "{:?}", bench.files());
}

/// Before the NIC runs, one signal ends the program; nothing is left beside the outputs.
#[test]
fn an_interrupt_before_the_run_leaves_nothing() {
    let bench = Bench::new(ECHO, 3);
    std::fs::write(bench.path("out.pcap"), "older").unwrap();
    let (child, rest) = start_until(&bench, &["--out", "out.pcap", "--json", "new.json"], "emitting the NIC");
    signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", rest.join().unwrap());
    assert_eq!(bench.files(), ["out.pcap"]);
    assert_eq!(std::fs::read_to_string(bench.path("out.pcap")).unwrap(), "older");
}
