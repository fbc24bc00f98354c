//! `spindle run` on the emitted NIC: variables, host memory, load, pacing, faults, order, captures.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use serde_json::Value;
use spindle_model::frames::{udp, Ends};
use spindle_sim::capture::{self, Captured};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// Drops packets to some ports, counts them, and answers all others.
const FIREWALL: &str = r#"
#include "spindle.h"
#include "spin_atomic.h"
uint32_t blocked = 7;
uint32_t dropped;
uint8_t table[64];
static volatile uint16_t ports[5];
int header_handler(const spin_header_t *h, void *s) {
    (void)s;
    if (h->dst_pid == blocked || table[h->dst_pid & 63] || h->dst_pid == ports[1]) {
        spin_amo_add(&dropped, 1);
        return SPIN_DROP;
    }
    spin_swap_macs(spin_packet(h));
    spin_send_packet(spin_packet(h), h->packet_len);
    return SPIN_PROCESS_DATA;
}
"#;

/// A folder with a handler and a capture.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new(handler: &str, packets: &[Captured]) -> Bench {
        let bench = Bench(tempfile::tempdir().unwrap());
        std::fs::write(bench.path("handler.c"), handler).unwrap();
        capture::write(&bench.path("in.pcap"), packets).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command in the folder, reading `in.pcap` unless the arguments name another capture, with the report in `report.json`.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
        command.current_dir(self.0.path()).args(["run", "handler.c", "--json", "report.json"]);
        if !arguments.contains(&"--pcap") {
            command.args(["--pcap", "in.pcap"]);
        }
        command.args(arguments).output().unwrap()
    }

    /// Runs with success: the report, and the text on both streams.
    fn report(&self, arguments: &[&str]) -> (Value, String) {
        let output = self.run(arguments);
        let text = text(&output);
        assert!(output.status.success(), "{text}");
        (self.json(), text)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.path("report.json")).unwrap()).unwrap()
    }

    /// Runs and expects a refusal with these words before the NIC is built.
    fn refused(&self, arguments: &[&str], words: &[&str]) {
        let output = self.run(arguments);
        let text = text(&output);
        assert!(!output.status.success() && !text.contains("emitting the NIC"), "{arguments:?}: {text}");
        for word in words {
            assert!(text.contains(word), "{arguments:?} should mention `{word}`: {text}");
        }
    }
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Packets to these ports, captured at these nanoseconds.
fn packets(ports: &[u16], nanoseconds: impl Fn(usize) -> u64) -> Vec<Captured> {
    let packet = |(i, port): (usize, &u16)| Captured {
        time: Duration::from_secs(1_700_000_000) + Duration::from_nanos(nanoseconds(i)),
        bytes: udp(&Ends::default(), 4000 + i as u16, *port, &[i as u8; 100]),
    };
    ports.iter().enumerate().map(packet).collect()
}

#[test]
fn variables_are_set_and_shown() {
    let bench = Bench::new(FIREWALL, &packets(&[7, 9, 10, 11, 12, 13, 9, 7], |_| 0));
    std::fs::write(bench.path("table.bin"), [[0; 9], [1; 9]].concat()).unwrap();
    let show = ["--show", "dropped", "--show", "table:u8", "--show", "ports:u16[1]", "--show", "blocked"];
    let run = |set: &[&str]| bench.report(&[&show[..], set].concat());
    let values = |report: &Value, i: usize| report["variables"][i]["values"].clone();

    let (report, text) = run(&[]);
    assert_eq!((values(&report, 0), values(&report, 3)), (serde_json::json!([2]), serde_json::json!([7])), "{text}");
    assert_eq!((&report["answered"], report["variables"][1]["bits"].as_u64()), (&6.into(), Some(8)));

    let (report, text) = run(&["--set", "blocked=0x9", "--set", "table:u8[10]=1", "--set", "ports:u16[1]=13"]);
    assert_eq!(values(&report, 0), serde_json::json!([4]), "{text}");
    assert_eq!((values(&report, 1)[10].clone(), values(&report, 1)[11].clone()), (1.into(), 0.into()));
    assert_eq!((values(&report, 2), values(&report, 3)), (serde_json::json!([13]), serde_json::json!([9])));
    assert!(text.contains("variable: dropped = 4 (0x4)") && text.contains("(48 more, 64 in all)"), "{text}");

    // Ports 9 to 13 by the file, of which --set takes one back.
    let (report, text) = run(&["--set", "table:u8[12]=0", "--set-file", "table=table.bin"]);
    assert_eq!((values(&report, 0), &report["answered"]), (serde_json::json!([7]), &1.into()), "{text}");

    for (arguments, words) in [
        (["--set", "nothing=1"], &["no variable `nothing`", "it has blocked, dropped, ports, table"][..]),
        (["--set", "blocked"], &["--set blocked", "NAME=VALUE"]),
        (["--set", "blocked=4294967296"], &["does not fit 32 bits"]),
        (["--set", "table=1"], &["table[INDEX]"]),
        (["--set", "table:u8[64]=1"], &["the last is table[63]"]),
        (["--set", "table[15]=1,2"], &["2 values", "16 elements"]),
        (["--set", "ports[1]=1"], &["10 bytes", "ports:u8"]),
        (["--set", "table:i7[1]=1"], &["u8, u16, u32 or u64"]),
        (["--set", "header_handler=1"], &["constant or a function"]),
        (["--set-file", "blocked=table.bin"], &["18 bytes", "room for 4"]),
        (["--set-file", "table=none.bin"], &["cannot read none.bin"]),
        (["--show", "nothing"], &["--show nothing", "no variable"]),
    ] {
        bench.refused(&arguments, words);
    }
}

/// The card reads what --host-file put there, and --host-out has what the card wrote.
#[test]
fn host_memory_is_filled_and_written() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers/examples");
    let source = |name: &str| std::fs::read_to_string(examples.join(name)).unwrap();
    let memory: Vec<u8> = (0..70_000u32).map(|i| (i * 7 + i / 251) as u8).collect();
    let request = |offset: u32| {
        let payload = [&offset.to_be_bytes()[..], &[0; 96]].concat();
        Captured { time: Duration::ZERO, bytes: udp(&Ends::default(), 4000, 9, &payload) }
    };
    let bench = Bench::new(&source("copy_from_host.c"), &[request(0), request(69_900)]);
    std::fs::write(bench.path("memory"), &memory).unwrap();
    bench.report(&["--host-file", "memory", "--out", "out.pcap", "--host-out", "after"]);
    let answers = capture::read(&bench.path("out.pcap")).unwrap();
    assert_eq!(answers[0].bytes[42..142], memory[..100]);
    assert_eq!(answers[1].bytes[42..142], memory[69_900..]);
    let after = std::fs::read(bench.path("after")).unwrap();
    assert_eq!((after.len(), &after[..70_000], after[70_000]), (1 << 20, &memory[..], 0));

    std::fs::write(bench.path("handler.c"), source("udp_to_host.c")).unwrap();
    bench.report(&["--host-out", "after"]);
    let after = std::fs::read(bench.path("after")).unwrap();
    assert!(after.windows(100).any(|bytes| bytes[..4] == 69_900u32.to_be_bytes()), "a payload is in host memory");
    std::fs::write(bench.path("large"), vec![0; (1 << 20) + 1]).unwrap();
    bench.refused(&["--host-file", "large"], &["1048577 bytes", "has 1048576"]);
}

#[test]
fn the_offered_load_is_what_was_asked_for() {
    let bench = Bench::new(FIREWALL, &packets(&[9; 101], |_| 0));
    let load = |rate: &str| {
        let (report, text) = bench.report(&["--rate", rate]);
        assert!(text.contains("| offered  |") && text.contains("| achieved |"), "{text}");
        assert_eq!(report["run"]["pacing"]["by"], "rate");
        report["load"].clone()
    };
    let within = |share: f64, value: &Value, wanted: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / wanted - 1.0).abs() < share, "{value} instead of {wanted}");
    };
    let near = |value: &Value, wanted: f64| within(0.005, value, wanted);
    // 142 bytes, 166 on the wire.
    let bits = load("8Gbit/s");
    near(&bits["offered"]["wire_gbit_s"], 8.0);
    near(&bits["offered"]["frame_gbit_s"], 8.0 * 142.0 / 166.0);
    // The first answer comes late, since the handler's code is not in its cluster yet.
    within(0.05, &bits["sent"]["packets_per_second"], 8e9 / (166.0 * 8.0));
    assert_eq!(bits["achieved"]["frames"], 101);
    near(&load("2Mpps")["offered"]["packets_per_second"], 2e6);
    // Three beats every 30 cycles of 4 ns.
    near(&load("10%")["offered"]["packets_per_second"], 250e6 / 30.0);
    bench.refused(&["--rate", "fast"], &["40Gbit/s, 5Mpps or 80%"]);
    bench.refused(&["--rate", "1Gbit/s", "--gap", "3"], &["cannot be used with"]);
}

#[test]
fn packets_enter_at_the_times_of_the_capture() {
    let bench = Bench::new(FIREWALL, &packets(&[9; 4], |i| [0, 40_000, 50_000, 100_000][i]));
    let (report, text) = bench.report(&["--timestamps", "--out", "out.pcap"]);
    // 100 us are 25,000 cycles of 4 ns.
    assert_eq!(report["load"]["offered"]["cycles"], 25_000, "{text}");
    assert!(text.contains("the packets enter over 25003 cycles"), "{text}");
    let times: Vec<Duration> = capture::read(&bench.path("out.pcap")).unwrap().iter().map(|p| p.time).collect();
    let since: Vec<u128> = times.iter().map(|time| (*time - times[0]).as_nanos()).collect();
    // The first answer waits until the handler's code is in the instruction memory of its cluster.
    assert!(since.iter().zip([0, 40_000, 50_000, 100_000]).all(|(a, b)| a.abs_diff(b) < 1000), "{since:?}");
    let (report, _) = bench.report(&["--timestamps", "--time-scale", "0.5"]);
    assert_eq!(
        (&report["load"]["offered"]["cycles"], &report["run"]["pacing"]["scale"]),
        (&12_500.into(), &0.5.into())
    );
    bench.refused(&["--time-scale", "2"], &["--timestamps"]);
    capture::write(&bench.path("long.pcap"), &packets(&[9; 2], |i| i as u64 * 100_000_000_000)).unwrap();
    bench.refused(&["--pcap", "long.pcap", "--timestamps"], &["138 hours", "--time-scale", "--allow-long-run"]);
}

/// Sixty faults, of two kinds, where the card's queue holds sixteen: all are counted, few are listed, and the exit status reports them.
#[test]
fn no_fault_is_lost() {
    let handler = r#"
        #include "spindle.h"
        static void wild(void) { *(volatile uint32_t *)0x90000000 = 1; }
        int header_handler(const spin_header_t *h, void *s) {
            (void)s;
            if (h->dst_pid == 1) wild();
            if (h->dst_pid == 2) *(volatile uint32_t *)0x10000000 = 1;
            return SPIN_DROP;
        }"#;
    let ports: Vec<u16> = (0..80).map(|i| [1, 1, 2, 3][i % 4]).collect();
    let bench = Bench::new(handler, &packets(&ports, |_| 0));
    let output = bench.run(&["-O", "0"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("60 handlers faulted") && text(&output).contains("--allow-faults"));
    let (report, text) = bench.report(&["-O", "0", "--allow-faults", "--fault-lines", "2"]);
    assert_eq!((&report["faults_total"], &report["faults_lost"]), (&60.into(), &0.into()), "{text}");
    let counts = report["fault_counts"].as_array().unwrap();
    let count = |i: usize| (counts[i]["function"].as_str(), counts[i]["cause"].as_str(), counts[i]["count"].as_u64());
    assert_eq!(counts.len(), 2, "{text}");
    assert_eq!(count(0), (Some("wild"), Some("FAULT_STORE"), Some(40)));
    assert_eq!(count(1), (Some("header_handler"), Some("FAULT_STORE"), Some(20)));
    assert_eq!(report["faults"].as_array().unwrap().len(), 4);
    assert!(text.contains("faults: 40 of FAULT_STORE in wild"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("fault: ")).count(), 4);
}

/// Faults that come faster than registers can be read: the event ring takes all of them, and what handlers print.
#[test]
fn the_event_ring_loses_no_fault() {
    let handler = r#"
        #include "spin_printf.h"
        int header_handler(const spin_header_t *h, void *s) {
            (void)s;
            if (h->src_pid == 4000) printf("first\n");
            *(volatile uint32_t *)0x90000000 = 1;
            return SPIN_DROP;
        }"#;
    let bench = Bench::new(handler, &packets(&[9; 300], |_| 0));
    let run = |more: &[&str]| bench.report(&[&["--gap", "12", "--allow-faults"], more].concat());
    let (report, text) = run(&[]);
    assert!(report["faults_lost"].as_u64().unwrap() > 0 && text.contains("(--event-ring has more room)"), "{text}");
    let (report, text) = run(&["--event-ring"]);
    assert_eq!((&report["faults_total"], &report["faults_lost"]), (&300.into(), &0.into()), "{text}");
    assert_eq!((&report["fault_counts"][0]["count"], &report["events_lost"]), (&300.into(), &0.into()), "{text}");
    assert_eq!(report["prints"][0]["text"], "first", "{text}");
}

/// Slow answers are overtaken: two among all, one in its own flow.
#[test]
fn replies_out_of_order_are_counted() {
    let handler = r#"
        #include "spindle.h"
        int header_handler(const spin_header_t *h, void *s) {
            (void)s;
            for (volatile uint32_t i = 0; i < 100u * spin_payload(h)[0]; i++) {}
            spin_send_packet(spin_packet(h), h->packet_len);
            return SPIN_PROCESS_DATA;
        }"#;
    let frame = |(port, delay): (u16, u8)| Captured {
        time: Duration::ZERO,
        bytes: udp(&Ends::default(), port, 9, &[delay; 60]),
    };
    let bench = Bench::new(handler, &[(1, 9), (2, 0), (1, 0), (3, 9), (4, 0)].map(frame));
    let (report, text) = bench.report(&["--gap", "1000"]);
    let order = &report["out_of_order"];
    assert_eq!(
        (&order["replies"], &order["within_flows"], &order["flows"]),
        (&2.into(), &1.into(), &4.into()),
        "{text}"
    );
    assert!(text.contains("2 replies left after the reply to a later packet, 1 of them within 4 flows"), "{text}");
    let (report, text) = bench.report(&["--gap", "20000"]);
    assert_eq!(report["out_of_order"]["replies"], 0);
    assert!(!text.contains("later packet"), "{text}");
}

/// The same packets as pcapng give the same answers; answers in pcapng name request, latency and rule for any reader.
#[test]
fn pcapng_goes_in_and_comes_out() {
    let all = packets(&[9, 7, 10], |i| i as u64);
    let bench = Bench::new(FIREWALL, &all);
    capture::write(&bench.path("in.pcapng"), &all).unwrap();
    bench.report(&["--out", "out.pcap", "--match", "udp"]);
    let (report, _) = bench.report(&["--pcap", "in.pcapng", "--out", "out.pcapng", "--match", "udp"]);
    let [old, new] = ["out.pcap", "out.pcapng"].map(|name| capture::read(&bench.path(name)).unwrap());
    assert_eq!((old.len(), old), (2, new));
    let capture = &report["run"]["capture"];
    assert_eq!(
        (&capture["format"], &capture["packets"], &capture["bytes"]),
        (&"pcapng".into(), &3.into(), &426.into())
    );
    let tshark = Command::new("tshark")
        .args(["-r"])
        .arg(bench.path("out.pcapng"))
        .args(["-T", "fields", "-e", "frame.comment"])
        .output()
        .expect("tshark is installed: cargo xtask setup");
    let comments = String::from_utf8_lossy(&tshark.stdout).into_owned();
    let latency = report["latency_cycles"]["min"].as_u64().unwrap();
    let lines: Vec<&str> = comments.lines().collect();
    assert_eq!(lines.len(), 2, "{comments}");
    assert!(
        lines[0].starts_with("reply to packet 1 of the input: ") && lines[0].ends_with("; rule 0: udp"),
        "{comments}"
    );
    assert!(lines[1].starts_with("reply to packet 3 of the input: "), "{comments}");
    let shortest = format!(" {latency} cycles = {} ns;", latency * 4);
    assert!(comments.contains(&shortest), "`{shortest}` is missing: {comments}");
}

#[test]
fn packets_captured_in_part_are_refused_or_skipped() {
    let all = packets(&[9, 9, 9], |_| 0);
    let bench = Bench::new(FIREWALL, &all);
    let mut file = std::fs::read(bench.path("in.pcap")).unwrap();
    // The second packet was longer on the wire.
    let second = 24 + 16 + all[0].bytes.len();
    file[second + 12..second + 16].copy_from_slice(&1500u32.to_le_bytes());
    std::fs::write(bench.path("cut.pcap"), file).unwrap();
    bench.refused(&["--pcap", "cut.pcap"], &["packet 2 was captured in part (142 of 1500 bytes", "--truncated skip"]);
    let (report, text) = bench.report(&["--pcap", "cut.pcap", "--truncated", "skip"]);
    let capture = &report["run"]["capture"];
    assert_eq!((&capture["truncated"], &capture["packets"], &report["answered"]), (&1.into(), &2.into(), &2.into()));
    assert!(text.contains("1 packets are left out"), "{text}");
}

/// The report has what is needed to repeat the run.
#[test]
fn the_report_names_its_run() {
    let bench = Bench::new(FIREWALL, &packets(&[9; 3], |i| i as u64 * 500_000_000));
    let arguments =
        ["--match", "udp.dport == 9", "--match", "udp", "--seed", "5", "--gap", "90", "--host-out", "after"];
    let (report, _) = bench.report(&arguments);
    let run = &report["run"];
    let command: Vec<&str> = run["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert!(command.ends_with(&arguments) && command[1..3] == ["run", "handler.c"], "{command:?}");
    assert_eq!(run["versions"]["spindle"], env!("CARGO_PKG_VERSION"));
    assert_eq!(run["versions"]["contract"], spindle_contract::VERSION);
    assert!(run["versions"]["compiler"].as_str().unwrap().contains("rv32im"), "{run}");
    assert!(run["versions"]["verilator"].is_string(), "{run}");
    assert_eq!((&run["rules"], &run["seed"]), (&serde_json::json!(["udp.dport == 9", "udp"]), &5.into()));
    assert_eq!(run["pacing"], serde_json::json!({"by": "gap", "cycles": 90, "random": true}));
    assert_eq!(run["files"], serde_json::json!({"--host-out": "after", "--json": "report.json"}));
    assert_eq!((&run["capture"]["file"], &run["capture"]["seconds"]), (&"in.pcap".into(), &1.0.into()));
    let sum = Command::new("sha256sum").arg(bench.path("in.pcap")).output().unwrap().stdout;
    assert!(String::from_utf8(sum).unwrap().starts_with(run["capture"]["sha256"].as_str().unwrap()));
}

/// Every option of the command, and every field of its report, is on some page of the documentation.
#[test]
fn options_and_fields_are_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages: String = pages.filter_map(|page| std::fs::read_to_string(page).ok()).collect();
    let help = Command::new(env!("CARGO_BIN_EXE_spindle")).args(["run", "--help"]).output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let options = help.lines().filter_map(|line| line.trim_start().strip_prefix("--")).map(|line| {
        let end = line.find(|c: char| c != '-' && !c.is_ascii_alphanumeric()).unwrap_or(line.len());
        format!("--{}", &line[..end])
    });
    let bench = Bench::new(FIREWALL, &packets(&[9; 3], |_| 0));
    let (report, _) = bench.report(&[]);
    let fields = report.as_object().unwrap().keys().filter(|field| *field != "run").cloned();
    let run = report["run"].as_object().unwrap().keys().map(|field| format!("run.{field}"));
    let missing: Vec<String> =
        options.chain(fields).chain(run).filter(|name| !pages.contains(&format!("`{name}"))).collect();
    assert!(missing.is_empty(), "describe these in docs/run.md: {missing:?}");
    assert!(help.contains("--fault-lines") && report.get("load").is_some());
}

/// A bar with an estimate on a terminal, nothing of that kind elsewhere.
#[test]
fn progress_is_shown_on_a_terminal_only() {
    let bench = Bench::new(FIREWALL, &packets(&[9; 100], |_| 0));
    let words = ["run", "handler.c", "--pcap", "in.pcap", "--gap", "600"];
    let line = format!("'{}' {}", env!("CARGO_BIN_EXE_spindle"), words.join(" "));
    let terminal = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(bench.0.path())
        .env("TERM", "xterm")
        .output()
        .expect("script is installed: it is part of Debian's bsdutils");
    let shown = text(&terminal);
    assert!(terminal.status.success() && shown.contains("ETA") && shown.contains("of 100,"), "{shown}");
    let (_, plain) = bench.report(&["--gap", "1000"]);
    assert!(!plain.contains("ETA"), "{plain}");
}
