//! `spindle run` on the emitted NIC: generated traffic, every length, random gaps and back-pressure; faults; the same run twice.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use rand::{Rng, RngCore};
use serde_json::Value;
use spindle_model::frames::{echo_request, put_message, udp, udp_without_checksum, Ends, SpindleHeader};
use spindle_sim::capture::{self, Captured};
use spindle_testing::seeded_rng;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A run: its report and the folder with what it wrote.
struct Ran {
    report: Value,
    text: String,
    folder: tempfile::TempDir,
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers/examples").join(name)
}

fn run(handler: &Path, frames: &[Vec<u8>], more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let [input, output, json] = ["in.pcap", "out.pcap", "report.json"].map(|name| folder.path().join(name));
    let packets: Vec<_> = frames.iter().map(|bytes| Captured { time: Duration::ZERO, bytes: bytes.clone() }).collect();
    capture::write(&input, &packets).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
    command
        .arg("run")
        .arg(handler)
        .arg("--pcap")
        .arg(&input)
        .arg("--out")
        .arg(&output)
        .arg("--json")
        .arg(&json)
        .args(more);
    let result = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&result.stdout), String::from_utf8_lossy(&result.stderr));
    assert!(result.status.success(), "{text}");
    Ran { report: serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap(), text, folder }
}

impl Ran {
    fn number(&self, pointer: &str) -> u64 {
        self.report
            .pointer(pointer)
            .and_then(Value::as_u64)
            .unwrap_or_else(|| panic!("no number {pointer} in {}", self.text))
    }

    fn checked(&self) -> &str {
        self.report["checked"].as_str().unwrap()
    }
}

/// Frames of 64 to 1514 bytes, tagged or not, made by `build` from ends and payload.
fn lengths(set: u64, step: usize, build: impl Fn(&Ends, &[u8]) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut random = seeded_rng(&format!("cli_lengths_{set}"));
    let mut frames: Vec<Vec<u8>> = (64..=1514)
        .step_by(step)
        .chain([1510, 1511, 1512, 1513, 1514, 64, 65, 127, 128, 129])
        .map(|length| {
            let ends = Ends { vlan: (length % 5 == 0).then_some(77), ..Ends::default() };
            let mut payload = vec![0; length - if ends.vlan.is_some() { 46 } else { 42 }];
            random.fill_bytes(&mut payload);
            build(&ends, &payload)
        })
        .collect();
    // No order of lengths that a block could rely on.
    (1..frames.len()).rev().for_each(|i| frames.swap(i, random.random_range(0..=i)));
    frames
}

#[test]
fn ping_pong_answers_every_length() {
    let mut frames = lengths(1, 9, |ends, payload| udp(ends, 4000, 9, payload));
    frames.extend(lengths(2, 97, |ends, payload| udp_without_checksum(ends, 4000, 10, payload)));
    let ran = run(&example("ping_pong.c"), &frames, &["--seed", "3", "--tx-ready", "60", "--gap", "150"]);
    assert_eq!(ran.number("/answered"), frames.len() as u64);
    assert!(ran.checked().starts_with(&format!("checked: {} replies", frames.len())), "{}", ran.text);
    assert_eq!(capture::read(&ran.folder.path().join("out.pcap")).unwrap().len(), frames.len());
}

#[test]
fn icmp_echo_answers_every_length() {
    let mut frames = lengths(4, 13, |ends, payload| echo_request(ends, 7, payload.len() as u16, payload));
    frames.push(echo_request(&Ends::default(), 0, 0, &[0; 56]));
    frames.push(echo_request(&Ends::default(), 0xf7ff, 0, &[0; 56]));
    let ran = run(&example("icmp_echo.c"), &frames, &["--seed", "5", "--tx-ready", "30", "--gap", "200"]);
    assert_eq!(ran.number("/answered"), frames.len() as u64);
}

/// Sources in and beside the prefixes, one and two tags, fragments, options, other protocols, frames that do not fit the slot.
#[test]
fn the_firewall_drops_by_source_whatever_the_frame_is() {
    let mut frames = vec![];
    for (src_ip, passes) in
        [([192, 0, 2, 9], false), ([10, 9, 0, 1], false), ([203, 0, 113, 200], false), ([203, 0, 113, 100], true)]
    {
        let ends = |vlan| Ends { vlan, src_ip, ..Ends::default() };
        for length in [0, 18, 300, 1400] {
            frames.push((passes, udp(&ends(None), 4000, 9, &vec![3; length])));
            frames.push((passes, echo_request(&ends(Some(5)), 1, 2, &vec![4; length])));
            let mut tagged = udp(&ends(Some(5)), 4000, 9, &vec![3; length]);
            tagged.splice(12..12, [0x88, 0xa8, 0, 3]);
            frames.push((passes, tagged));
        }
        frames.push((passes, fragment(&ends(None))));
        frames.push((false, udp(&ends(None), 4000, 9, &[5; 2049 - 42])));
        frames.push((passes, udp(&ends(None), 4000, 9, &[5; 2048 - 42])));
        // The address stands in an ARP frame, too, where it does not count.
        frames.push((true, [&[0xff; 12][..], &[8, 6], &src_ip.repeat(12)].concat()));
    }
    let passed: Vec<Vec<u8>> = frames.iter().filter(|(passes, _)| *passes).map(|(_, frame)| frame.clone()).collect();
    let all: Vec<Vec<u8>> = frames.into_iter().map(|(_, frame)| frame).collect();
    let ran = run(&example("firewall.c"), &all, &["--gap", "300"]);
    let sent: Vec<Vec<u8>> =
        capture::read(&ran.folder.path().join("out.pcap")).unwrap().into_iter().map(|p| p.bytes).collect();
    assert_eq!(sent, passed, "{}", ran.text);
    assert!(ran.checked().starts_with(&format!("checked: {} replies", passed.len())), "{}", ran.text);
}

/// A later fragment, whose bytes are no UDP header.
fn fragment(ends: &Ends) -> Vec<u8> {
    let mut frame = udp(ends, 4000, 9, &[6; 200]);
    let before = u32::from(frame[20]) << 8 | u32::from(frame[21]);
    frame[20..22].copy_from_slice(&[0, 185]);
    // The checksum follows: RFC 1624.
    let old = u32::from(frame[24]) << 8 | u32::from(frame[25]);
    let mut sum = (!old & 0xffff) + (!before & 0xffff) + 185;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    frame[24..26].copy_from_slice(&(!sum as u16).to_be_bytes());
    frame
}

#[test]
fn payloads_reach_host_memory() {
    let frames = lengths(6, 23, |ends, payload| udp(ends, 4000, 9, payload));
    let ran = run(&example("udp_to_host.c"), &frames, &["--seed", "7", "--gap", "400"]);
    assert!(ran.checked().contains(&format!("{} payloads in host memory", frames.len())), "{}", ran.text);
    assert_eq!(ran.number("/handled"), frames.len() as u64);
}

#[test]
fn the_same_run_twice_takes_the_same_cycles() {
    let frames = lengths(8, 101, |ends, payload| udp(ends, 4000, 9, payload));
    let [mut a, mut b] = [0, 1].map(|_| run(&example("ping_pong.c"), &frames, &["--seed", "9", "--tx-ready", "70"]));
    // The command line and the names of files are of the run alone.
    for ran in [&mut a, &mut b] {
        ran.report["run"].take();
    }
    assert_eq!(a.report, b.report);
    let packets = |ran: &Ran| capture::read(&ran.folder.path().join("out.pcap")).unwrap();
    assert_eq!(packets(&a), packets(&b));
}

/// Malformed frames of each kind; the run compares every counter of drops with the parser's model.
#[test]
fn malformed_frames_are_counted_by_reason() {
    let ends = Ends::default();
    let good = udp(&ends, 1, 9, &[5; 100]);
    let with = |at: usize, value: u8| {
        let mut frame = good.clone();
        frame[at] = value;
        frame
    };
    let mut ping = echo_request(&ends, 1, 1, &[1; 50]);
    ping[50] ^= 1;
    let mut cut = good.clone();
    cut.truncate(40);
    let frames = vec![
        good.clone(),
        good[..13].to_vec(),
        vec![0; 9217],
        cut,
        with(24, 1),
        with(39, 9),
        with(41, 0),
        ping,
        good.clone(),
    ];
    let ran = run(&example("ping_pong.c"), &frames, &[]);
    for reason in [
        "runt",
        "too_long",
        "bad_ip_length",
        "bad_ip_checksum",
        "bad_udp_length",
        "bad_udp_checksum",
        "bad_icmp_checksum",
    ] {
        assert_eq!(ran.number(&format!("/dropped/{reason}")), 1, "{reason}: {}", ran.text);
    }
    assert_eq!(ran.number("/answered"), 2);
}

#[test]
fn faults_are_reported_with_context_pc_and_cause() {
    let frames = lengths(10, 200, |ends, payload| udp(ends, 1, 2, payload));
    for (name, cause) in [("never_returns", "FAULT_WATCHDOG"), ("foreign_access", "FAULT_STORE")] {
        let ran = run(
            &example(&format!("faulty/{name}.c")),
            &frames,
            &["--watchdog", "2000", "--allow-faults", "--fault-lines", "100"],
        );
        assert_eq!(ran.checked(), "unchecked");
        assert_eq!(ran.number("/dropped/handler_fail"), frames.len() as u64);
        assert_eq!(ran.number("/answered"), 0);
        let faults = ran.report["faults"].as_array().unwrap();
        assert_eq!(faults.len() as u64 + ran.number("/faults_lost"), frames.len() as u64);
        for fault in faults {
            assert_eq!((fault["cause"].as_str(), fault["context"].as_u64()), (Some(cause), Some(0)), "{}", ran.text);
            assert!(fault["symbol"].as_str().unwrap().starts_with("header_handler+"), "{}", ran.text);
        }
        if name == "foreign_access" {
            assert_eq!(faults[0]["address"], "0x20000800");
            assert_eq!(faults[0]["source"], "foreign_access.c:7");
            assert!(ran.text.contains(", foreign_access.c:7), address 0x20000800"), "{}", ran.text);
        }
    }
}

/// A foreign handler: per message, with all three handlers and state. No pass is ever printed for it.
#[test]
fn a_foreign_handler_runs_unchecked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tally.c");
    // Answers with a frame of its own when the message is complete: the sum of all payload bytes and the number of packets.
    std::fs::write(
        &path,
        "#include \"spindle.h\"\n\
         static volatile uint32_t bytes[8][16];\n\
         int payload_handler(const spin_payload_t *p, void *s) { (void)s; \
         bytes[p->cluster_id][p->hpu_id] += p->payload_len; return SPIN_SUCCESS; }\n\
         int completion_handler(uint32_t d, bool f, void *s) {\n\
             (void)f; (void)s;\n\
             uint32_t sum = d;\n\
             for (int c = 0; c < 8; c++) for (int h = 0; h < 16; h++) sum += bytes[c][h];\n\
             uint8_t *frame = spin_scratch();\n\
             for (int i = 0; i < 64; i++) frame[i] = 0;\n\
             spin_put32(frame + 14, sum);\n\
             spin_send_packet(frame, 64);\n\
             spin_wait();\n\
             return SPIN_SUCCESS;\n\
         }\n",
    )
    .unwrap();
    let data = vec![3; 10_000];
    let mut frames = put_message(&Ends::default(), 4795, &SpindleHeader::default(), &data, 1408);
    frames.reverse();
    let ran = run(&path, &frames, &["--match", "spindle.opcode == 1", "--messages"]);
    assert_eq!(ran.checked(), "unchecked");
    assert!(!ran.text.contains("checked:"), "{}", ran.text);
    let out = capture::read(&ran.folder.path().join("out.pcap")).unwrap();
    assert_eq!(out.len(), 1, "{}", ran.text);
    assert_eq!(out[0].bytes[14..18], 10_000u32.to_be_bytes());
}

/// The project's capture answered, every answer judged by tshark, and a shuffled put that completes once.
#[test]
fn the_demonstration_passes() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let result = Command::new(env!("CARGO_BIN_EXE_spindle"))
        .args(["demo", "--no-wave", "--seed", "11", "--out"])
        .arg(folder.path())
        .current_dir(root)
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&result.stdout), String::from_utf8_lossy(&result.stderr));
    assert!(result.status.success(), "{text}");
    assert!(text.contains("completed once") && text.contains("tshark:"), "{text}");
    assert!(folder.path().join("out.pcap").exists() && !folder.path().join("wave.vcd").exists());
}

/// The trace has every instruction that the card counts, each with its disassembly, and agrees with the answers.
#[test]
fn a_trace_has_every_instruction() {
    let frames: Vec<_> = (0..6u8).map(|i| udp(&Ends::default(), 4000, 9, &[i; 100])).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.txt");
    let ran = run(&example("ping_pong.c"), &frames, &["--trace", path.to_str().unwrap()]);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    // A line of an instruction starts with the cycle, the name of a function stands on a line of its own.
    let (instructions, names): (Vec<_>, Vec<_>) = lines.iter().partition(|words| words[0].parse::<u64>().is_ok());
    let counted = ran.report["instructions_per_handler"].as_f64().unwrap() * frames.len() as f64;
    assert_eq!(instructions.len(), counted.round() as usize);
    assert_eq!(names.iter().filter(|words| words[2] == "<header_handler>:").count(), frames.len());
    assert!(instructions.iter().all(|words| words[4] != "?"), "every word is disassembled");
    assert_eq!(instructions.iter().filter(|words| words.last() == Some(&"end")).count(), frames.len());
    let cycles: Vec<u64> = instructions.iter().map(|words| words[0].parse().unwrap()).collect();
    assert!(cycles.is_sorted());
    // The handler stores the port number 9 of the request as the source port of the answer.
    assert!(instructions
        .iter()
        .any(|words| words.iter().any(|word| word.starts_with("[200000") && word.contains("<-"))));
}
