//! `spindle run --fates` and `--konata` on the emitted NIC: one record for each frame, and a file by the grammar of Kanata 0004.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use serde_json::Value;
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader};
use spindle_sim::capture::{self, Captured};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers/examples").join(name)
}

/// A handler per message with all three kinds, each of which waits for context memory.
const THREE: &str = r#"
#include "spindle.h"
static volatile uint32_t words[8];
static void work(void) { for (uint32_t i = 0; i < 12; i++) words[i % 8] += i; }
int header_handler(const spin_header_t *h, void *s) { (void)h; (void)s; work(); return SPIN_PROCESS_DATA; }
int payload_handler(const spin_payload_t *p, void *s) { (void)p; (void)s; work(); return SPIN_SUCCESS; }
int completion_handler(uint32_t d, bool f, void *s) { (void)d; (void)f; (void)s; work(); return SPIN_SUCCESS; }
"#;

/// Runs `spindle run` in a folder with a capture of these frames; the folder gets what the run writes.
fn spindle(folder: &Path, handler: &Path, frames: &[Vec<u8>], more: &[&str]) -> Output {
    let packets: Vec<_> = frames.iter().map(|bytes| Captured { time: Duration::ZERO, bytes: bytes.clone() }).collect();
    capture::write(&folder.join("in.pcap"), &packets).unwrap();
    Command::new(env!("CARGO_BIN_EXE_spindle"))
        .current_dir(folder)
        .arg("run")
        .arg(handler)
        .args(["--pcap", "in.pcap", "--json", "report.json"])
        .args(more)
        .output()
        .unwrap()
}

/// As [`spindle`], of a run that succeeds: its report.
fn run(folder: &Path, handler: &Path, frames: &[Vec<u8>], more: &[&str]) -> Value {
    let output = spindle(folder, handler, frames, more);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&std::fs::read_to_string(folder.join("report.json")).unwrap()).unwrap()
}

/// The lines of a file of fates.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The rows of a CSV file, by column.
fn rows(path: &Path) -> Vec<HashMap<String, String>> {
    csv::Reader::from_path(path).unwrap().deserialize().map(|row| row.unwrap()).collect()
}

/// Frames for the first rule's alternatives, for the second rule, for none, and one with a wrong checksum.
fn mixed() -> (Vec<Vec<u8>>, Vec<Option<u64>>) {
    let datagram = |port: u16, length: usize| udp(&Ends::default(), 4000, port, &vec![port as u8; length]);
    let mut broken = datagram(1, 50);
    broken[60] ^= 1;
    let (mut frames, mut rules) = (vec![], vec![]);
    for i in 0..10 {
        for (port, rule) in [(1, Some(0)), (2, Some(0)), (3, Some(1)), (4, None)] {
            frames.push(datagram(port, 20 + 30 * i));
            rules.push(rule);
        }
        frames.push(broken.clone());
        rules.push(None);
    }
    (frames, rules)
}

#[test]
fn every_frame_has_one_fate() {
    let folder = tempfile::tempdir().unwrap();
    let (frames, rules) = mixed();
    let matches = ["--match", "udp.dport == 1 || udp.dport == 2", "--match", "udp.dport == 3"];
    let mut more = matches.to_vec();
    more.extend(["--fates", "fates.jsonl"]);
    let report = run(folder.path(), &example("ping_pong.c"), &frames, &more);
    let fates = lines(&folder.path().join("fates.jsonl"));
    assert_eq!(fates.len(), frames.len());
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (index, (fate, rule)) in fates.iter().zip(&rules).enumerate() {
        assert_eq!(fate["frame"], index);
        assert_eq!(fate["bytes"], frames[index].len());
        assert_eq!(fate["rule"].as_u64(), *rule, "{fate}");
        assert_eq!(fate["context"].as_u64(), rule.map(|_| 0), "{fate}");
        let disposition = fate["disposition"].as_str().unwrap();
        let key = fate["reason"].as_str().unwrap_or(disposition);
        *counts.entry(key.to_owned()).or_default() += 1;
        if rule.is_some() {
            assert_eq!(disposition, "handled", "{fate}");
            assert_eq!(fate["bytes_sent"], frames[index].len(), "{fate}");
            let tasks = fate["tasks"].as_array().unwrap();
            assert_eq!(tasks.iter().map(|task| task["kind"].as_str().unwrap()).collect::<Vec<_>>(), ["header"]);
            let stage = fate["stages"]["handler"].as_u64().unwrap();
            assert_eq!(stage, tasks[0]["end"].as_u64().unwrap() - tasks[0]["start"].as_u64().unwrap(), "{fate}");
        } else {
            assert_eq!((disposition, &fate["bytes_sent"]), ("dropped", &Value::from(0)), "{fate}");
            assert!(fate["tasks"].as_array().unwrap().is_empty() && fate["message"].is_null(), "{fate}");
        }
        assert!(fate["stages"]["receive and parse"].as_u64().unwrap() > 0, "{fate}");
    }
    let expected = [("bad_udp_checksum", 10), ("handled", 30), ("no_rule", 10)];
    assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)).into());
    assert_eq!(report["handled"], 30);
    assert_eq!((&report["dropped"]["no_rule"], &report["dropped"]["bad_udp_checksum"]), (&10.into(), &10.into()));

    // The same run as CSV: the same values.
    *more.last_mut().unwrap() = "fates.csv";
    run(folder.path(), &example("ping_pong.c"), &frames, &more);
    let rows = rows(&folder.path().join("fates.csv"));
    assert_eq!(rows.len(), fates.len());
    for (row, fate) in rows.iter().zip(&fates) {
        for name in ["frame", "number", "bytes", "arrival", "rule", "context", "message", "mailbox", "bytes_sent"] {
            let value = fate[name].as_u64().map_or_else(String::new, |value| value.to_string());
            assert_eq!(row[name], value, "{name} of {fate}");
        }
        assert_eq!(row["disposition"], fate["disposition"].as_str().unwrap());
        assert_eq!(row["reason"], fate["reason"].as_str().unwrap_or_default());
        for (stage, cycles) in fate["stages"].as_object().unwrap() {
            let column = format!("cycles_{}", stage.to_lowercase().replace([' ', '-'], "_"));
            assert_eq!(row[&column], cycles.to_string(), "{column}");
        }
    }
}

/// A frame that is still inside when the run is given up has a record too.
#[test]
fn a_frame_inside_has_a_fate() {
    let folder = tempfile::tempdir().unwrap();
    let frames = [udp(&Ends::default(), 1, 2, &[0; 40])];
    let handler = example("faulty/never_returns.c");
    let more = ["--fates", "fates.json", "--cycles-limit", "3000", "--watchdog", "1000000"];
    let output = spindle(folder.path(), &handler, &frames, &more);
    assert!(!output.status.success());
    let fates = lines(&folder.path().join("fates.json"));
    assert_eq!(fates.len(), 1);
    assert_eq!(fates[0]["disposition"], "inside");
    assert_eq!((&fates[0]["tasks"][0]["kind"], &fates[0]["tasks"][0]["end"]), (&"header".into(), &Value::Null));
}

#[test]
fn a_file_of_fates_has_a_format() {
    let folder = tempfile::tempdir().unwrap();
    let output = spindle(folder.path(), &example("ping_pong.c"), &[vec![0; 64]], &["--fates", "fates.txt"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(".csv, .json or .jsonl"), "{text}");
    // A file that cannot be written is refused before the NIC is built.
    let output = spindle(folder.path(), &example("ping_pong.c"), &[vec![0; 64]], &["--fates", "nowhere/fates.csv"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("nowhere/fates.csv"), "{text}");
    assert!(!text.contains("emitting"), "{text}");
}

/// A handler that ran, as the instruction trace has it: the first cycle of a retirement, cluster.HPU.thread, and the function.
fn handlers_of(trace: &str) -> Vec<(u64, String, String)> {
    let mut handlers = vec![];
    let mut named: HashMap<String, String> = HashMap::new();
    for line in trace.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0].parse() {
            Ok(cycle) => {
                if let Some(name) = named.remove(words[1]) {
                    handlers.push((cycle, words[1].to_owned(), name));
                }
            }
            Err(_) if words[2].contains("_handler>") => {
                let kind = words[2].trim_start_matches('<').split('_').next().unwrap();
                named.insert(words[0].to_owned(), kind.to_owned());
            }
            Err(_) => {}
        }
    }
    handlers
}

/// Kind, HPU and hardware thread of each handler are those of the instruction trace; frames of a message have one slot.
#[test]
fn handlers_agree_with_the_instruction_trace() {
    let folder = tempfile::tempdir().unwrap();
    let handler = folder.path().join("three.c");
    std::fs::write(&handler, THREE).unwrap();
    let messages: Vec<Vec<Vec<u8>>> = (0..10)
        .map(|id| {
            let header = SpindleHeader { msg_id: id, ..SpindleHeader::default() };
            put_message(&Ends::default(), 4795, &header, &[id as u8; 1200], 400)
        })
        .collect();
    // The frames of all messages take turns.
    let frames: Vec<_> = (0..3).flat_map(|part| messages.iter().map(move |message| message[part].clone())).collect();
    let more = [
        "--match",
        "spindle.opcode == 1",
        "--messages",
        "--gap",
        "0",
        "--fates",
        "f.jsonl",
        "--trace",
        "t.txt",
        "--konata",
        "k.kanata",
    ];
    run(folder.path(), &handler, &frames, &more);
    let fates = lines(&folder.path().join("f.jsonl"));
    let mut slots: HashMap<usize, &Value> = HashMap::new();
    let mut seen: Vec<(u64, String, String)> = vec![];
    for (index, fate) in fates.iter().enumerate() {
        assert!(fate["message"].is_u64(), "{fate}");
        assert_eq!(*slots.entry(index % 10).or_insert(&fate["message"]), &fate["message"], "{fate}");
        let kinds: Vec<_> = fate["tasks"].as_array().unwrap().iter().map(|t| t["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds[0] == "header", index < 10, "the first frame of a message runs the header handler: {fate}");
        for task in fate["tasks"].as_array().unwrap() {
            let [start, hpu, thread] = ["start", "hpu", "thread"].map(|name| task[name].as_u64().unwrap());
            // The configuration `sim` has 2 clusters of 4 HPUs.
            seen.push((start, format!("{}.{}.{thread}", hpu / 4, hpu % 4), task["kind"].as_str().unwrap().to_owned()));
        }
    }
    let count = |kind: &str| seen.iter().filter(|(.., of)| of == kind).count();
    assert_eq!((count("header"), count("payload"), count("completion")), (10, 30, 10));
    let distinct: HashSet<_> = slots.values().map(|slot| slot.as_u64()).collect();
    assert_eq!(distinct.len(), 10, "ten messages are alive at a time");
    let threads: HashSet<_> = seen.iter().map(|(_, hart, _)| hart.ends_with(".1")).collect();
    assert_eq!(threads.len(), 2, "both hardware threads run handlers");

    // The n-th handler of a hardware thread is the same in both; its first instruction retires after its start.
    let traced = handlers_of(&std::fs::read_to_string(folder.path().join("t.txt")).unwrap());
    assert_eq!(traced.len(), seen.len());
    seen.sort();
    let harts: HashSet<&String> = seen.iter().map(|(_, hart, _)| hart).collect();
    for hart in harts {
        let of = |list: &[(u64, String, String)]| {
            list.iter()
                .filter(|(_, of, _)| of == hart)
                .map(|(cycle, _, kind)| (*cycle, kind.clone()))
                .collect::<Vec<_>>()
        };
        let (starts, retired) = (of(&seen), of(&traced));
        assert_eq!(starts.len(), retired.len(), "{hart}");
        for ((start, kind), (first, name)) in starts.iter().zip(&retired) {
            assert_eq!(kind, name, "{hart} at {start}");
            assert!(first > start && first - start < 64, "{hart}: {start}, first retirement at {first}");
        }
    }
    kanata(&folder.path().join("k.kanata"), &std::fs::read_to_string(folder.path().join("t.txt")).unwrap());
}

/// An instruction of a Kanata file.
#[derive(Default)]
struct Instruction {
    thread: usize,
    label: String,
    stages: Vec<(String, u64)>,
    retired: Option<(u64, usize, u32)>,
}

/// Reads a Kanata file by the grammar of version 0004 and compares with the text trace, whose lines come from the same port.
fn kanata(path: &Path, trace: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut commands = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    assert_eq!(commands.next().unwrap(), ["Kanata", "0004"]);
    let mut now = match commands.next().unwrap()[..] {
        ["C=", cycle] => cycle.parse::<u64>().unwrap(),
        ref other => panic!("{other:?} instead of C="),
    };
    let mut all: Vec<Instruction> = vec![];
    for words in commands {
        let id = |word: &str| word.parse::<usize>().unwrap();
        match words[..] {
            ["C", cycles] => {
                let cycles: u64 = cycles.parse().unwrap();
                assert!(cycles > 0);
                now += cycles;
            }
            ["I", number, _, thread] => {
                assert_eq!(id(number), all.len(), "numbers in the file are sequential");
                all.push(Instruction { thread: id(thread), ..Instruction::default() });
            }
            ["L", number, kind, label] => {
                assert!(kind == "0" || kind == "1");
                all[id(number)].label.push_str(label);
                all[id(number)].label.push(' ');
            }
            ["S", number, "0", stage] => {
                let instruction = &mut all[id(number)];
                assert!(instruction.retired.is_none());
                assert!(instruction.stages.last().is_none_or(|(_, since)| *since < now), "a stage takes a cycle");
                instruction.stages.push((stage.to_owned(), now));
            }
            ["E", number, "0", stage] => assert_eq!(all[id(number)].stages.last().unwrap().0, stage),
            ["R", number, retirement, kind] => {
                let retired = &mut all[id(number)].retired;
                assert_eq!(*retired, None);
                *retired = Some((now, id(retirement), kind.parse().unwrap()));
            }
            ref other => panic!("{other:?} is no command of the format"),
        }
    }
    // Every instruction of the text trace, with its cycle, thread and text, in the order of retirement.
    let lines = trace.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let lines: Vec<Vec<&str>> = lines.filter(|words| words[0].parse::<u64>().is_ok()).collect();
    assert_eq!(all.len(), lines.len());
    all.sort_by_key(|instruction| instruction.retired.expect("every instruction ends").1);
    let mut waited = 0;
    for (number, (instruction, words)) in all.iter().zip(&lines).enumerate() {
        let (cycle, retirement, kind) = instruction.retired.unwrap();
        assert_eq!((retirement, kind), (number, 0));
        assert_eq!(cycle - 1, words[0].parse::<u64>().unwrap(), "{words:?}");
        let hart: Vec<usize> = words[1].split('.').map(|part| part.parse().unwrap()).collect();
        assert_eq!(instruction.thread, (hart[0] * 4 + hart[1]) * 2 + hart[2]);
        assert!(instruction.label.starts_with(words[2]) && instruction.label.contains(words[3]), "{words:?}");
        let names: Vec<&str> = instruction.stages.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names == ["D", "X", "M1", "M2", "M3"] || names == ["D", "X", "M1", "M2", "W", "M3"], "{names:?}");
        assert_eq!(instruction.stages.last().unwrap().1, cycle - 1, "{words:?}");
        waited += usize::from(names.contains(&"W"));
        if names.contains(&"W") {
            // Only what waits for context memory or the divider.
            assert!(
                ["lw", "lb", "lh", "amo", "div", "rem", "lr", "sc"].iter().any(|op| words[4].starts_with(op)),
                "{words:?}"
            );
        }
    }
    // Instructions of one hardware thread leave D one after the other.
    let mut last: HashMap<usize, u64> = HashMap::new();
    for instruction in &all {
        let decode = instruction.stages[0].1;
        let before = last.insert(instruction.thread, decode);
        assert!(before.is_none_or(|before| before < decode), "{} at {decode}, after {before:?}", instruction.label);
    }
    assert!(waited > 100, "{waited} instructions waited");
}
