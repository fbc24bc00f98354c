//! What the SDK promises, on the emitted NIC: variables, atomics, locks, printf, by each compiler that is installed.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod common;

use common::compilers;
use serde_json::Value;
use spindle_model::frames::{udp, Ends};
use spindle_sim::capture::{self, Captured};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Frames of a run: more than HPUs and threads, so that all of them work at once.
const FRAMES: u32 = 60;

/// Runs a handler on frames of this payload: its report.
fn run(compiler: &str, handler: &Path, payload: usize, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let [input, json] = ["in.pcap", "report.json"].map(|name| folder.path().join(name));
    let frame = |i: u32| udp(&Ends::default(), 4000, 9, &vec![i as u8; payload]);
    let packets: Vec<_> = (0..FRAMES).map(|i| Captured { time: Duration::ZERO, bytes: frame(i) }).collect();
    capture::write(&input, &packets).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
    command.env("SPINDLE_CC", compiler).arg("run").arg(handler).arg("--pcap").arg(&input).arg("--json").arg(&json);
    let result = command.args(more).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&result.stdout), String::from_utf8_lossy(&result.stderr));
    assert!(result.status.success(), "{compiler}: {text}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("print: ")).collect();
    let printed = report["prints"].as_array().unwrap().len() + usize::from(report["prints_lost"] != 0);
    assert_eq!(lines.len(), printed, "{text}");
    report
}

/// Runs a handler of these declarations and this body.
fn run_source(compiler: &str, before: &str, body: &str, gap: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("handler.c");
    let includes = "#include \"spin_atomic.h\"\n#include \"spin_printf.h\"\n";
    let source = format!(
        "{includes}{before}\nint header_handler(const spin_header_t *h, void *state) {{ (void)h; \
        (void)state; {body} return SPIN_DROP; }}\n"
    );
    std::fs::write(&path, source).unwrap();
    let report = run(compiler, &path, 64, &["--match", "udp", "--gap", gap]);
    assert_eq!(report["dropped"]["handler_drop"], FRAMES, "{report:#}");
    assert_eq!(report["faults"].as_array().unwrap().len(), 0, "{report:#}");
    report
}

fn names() -> Vec<String> {
    compilers().iter().map(|compiler| compiler.command[0].clone()).collect()
}

/// Lines that handlers printed, each a number.
fn numbers(report: &Value) -> Vec<u32> {
    assert_eq!(report["prints_lost"], 0);
    let line = |line: &Value| line["text"].as_str().unwrap().parse().unwrap_or_else(|_| panic!("{line}"));
    report["prints"].as_array().unwrap().iter().map(line).collect()
}

/// Each frame gets a number of its own, from the initial value of a variable on.
fn all_different(report: &Value) {
    let numbers = numbers(report);
    let set: BTreeSet<u32> = numbers.iter().copied().collect();
    assert_eq!((numbers.len(), set), (FRAMES as usize, (5000..5000 + FRAMES).collect()), "{numbers:?}");
}

#[test]
fn atomic_counters_lose_nothing() {
    for compiler in names() {
        all_different(&run_source(
            &compiler,
            "static uint32_t next = 5000;",
            "printf(\"%u\\n\", spin_amo_add(&next, 1));",
            "0",
        ));
        // The same by a reservation, and by a lock: at no gap all HPUs want it at once.
        let swap = "uint32_t old; do { old = *(volatile uint32_t *)&next; } \
            while (spin_compare_swap(&next, old, old + 1) != old); printf(\"%u\\n\", old);";
        all_different(&run_source(&compiler, "static uint32_t next = 5000;", swap, "0"));
        let lock = "spin_lock(&lock); uint32_t old = next; next = old + 1; spin_unlock(&lock); printf(\"%u\\n\", old);";
        all_different(&run_source(
            &compiler,
            "static volatile uint32_t next = 5000; static spin_lock_t lock;",
            lock,
            "0",
        ));
    }
}

/// The table of the SDK's README: cycles of eight accesses in a row by a handler that runs alone, with the few around them.
#[test]
fn accesses_cost_what_the_readme_says() {
    let before = "static volatile uint32_t far; static spin_lock_t far_lock;\n\
        #define COST(what) ({ uint32_t start = spin_cycles(); what; what; what; what; what; what; what; what; \
        printf(\"%u\\n\", spin_cycles() - start); })";
    let body = "volatile uint32_t *near = (volatile uint32_t *)spin_scratch(); \
        spin_lock_t *near_lock = (spin_lock_t *)(spin_scratch() + 64);\
        if (h->frame >= 1) { COST((void)*near); COST(*near = 1); COST(spin_amo_add(near, 1)); \
        COST((spin_lock(near_lock), spin_unlock(near_lock)));\
        COST((void)far); COST(far = 1); COST(spin_amo_add(&far, 1)); \
        COST((spin_lock(&far_lock), spin_unlock(&far_lock))); COST(spin_yield()); }";
    let numbers = numbers(&run_source(&names()[0], before, body, "4000"));
    let expected = [1, 1, 12, 20, 12, 1, 13, 19, 34].repeat(FRAMES as usize - 1);
    assert_eq!(numbers.len(), expected.len());
    for (cycles, each) in numbers.iter().zip(expected) {
        assert!((8 * each..8 * each + 16).contains(cycles), "{cycles} instead of {each} each: {numbers:?}");
    }
}

/// In the scratchpad each cluster counts by itself, from zero.
#[test]
fn scratchpads_are_shared_in_a_cluster() {
    for compiler in names() {
        let body = "volatile uint32_t *count = (volatile uint32_t *)(spin_scratch() + 8); \
            printf(\"%u\\n\", 1000 * h->cluster_id + spin_amo_add(count, 1));";
        let numbers = numbers(&run_source(&compiler, "", body, "0"));
        let set: BTreeSet<u32> = numbers.iter().copied().collect();
        let second = set.range(1000..).count() as u32;
        assert!(second > 0 && second < FRAMES, "{numbers:?}");
        assert_eq!(numbers.len(), FRAMES as usize);
        assert_eq!(set, (0..FRAMES - second).chain(1000..1000 + second).collect());
    }
}

#[test]
fn text_comes_as_it_was_printed() {
    for compiler in names() {
        let body = "printf(\"frame %u of %u bytes, kind %c%s\\n\", h->frame, h->frame_len, 'a' + (int)h->kind, \"\"); \
            printf(\"no end %05d\", -(int)h->frame);";
        let report = run_source(&compiler, "", body, "3000");
        assert_eq!(report["prints_lost"], 0);
        let prints = report["prints"].as_array().unwrap();
        assert_eq!(prints.len(), 2 * FRAMES as usize);
        for line in prints {
            let (frame, text) = (line["frame"].as_u64().unwrap(), line["text"].as_str().unwrap());
            let whole = format!("frame {frame} of 106 bytes, kind a");
            let open = format!("no end {:05}", -(frame as i64));
            assert!(text == whole || text == open, "{line}");
        }
    }
}

/// More than the queue takes, by the command itself: what is lost is counted, and nothing else suffers.
#[test]
fn a_handler_that_prints_much_is_not_held_up() {
    const PIECES: usize = 200;
    let body = format!("for (int i = 0; i < {PIECES}; i++) {{ spin_print(0x64636261, 0x0a676665, 8); }}");
    let report = run_source(&names()[0], "", &body, "0");
    let prints = report["prints"].as_array().unwrap();
    assert!(prints.iter().all(|line| line["text"] == "abcdefg"), "{report:#}");
    let lost = report["prints_lost"].as_u64().unwrap() as usize;
    assert!(lost > 0 && prints.len() > 64, "{} and {lost}", prints.len());
    assert_eq!(prints.len() + lost, PIECES * FRAMES as usize);
    // A command takes four stores: a handler that waited for the host would take far longer.
    let handler = report["stages"].as_array().unwrap().iter().find(|stage| stage["stage"] == "handler").unwrap();
    let cycles = handler["cycles"]["max"].as_u64().unwrap();
    assert!(cycles < 25 * PIECES as u64, "{cycles}");
}

/// The shipped handlers' answers equal their models, whoever compiled them.
#[test]
fn every_compiler_makes_images_that_run() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers/examples");
    for compiler in names() {
        for (name, payload, verdict) in [
            ("ping_pong", 200, "checked: 60 replies"),
            ("udp_to_host", 700, "checked: 60 payloads"),
            ("icmp_echo", 64, "checked: no packet"),
        ] {
            let report =
                run(&compiler, &examples.join(format!("{name}.c")), payload, &["--match", "udp", "--gap", "0"]);
            assert!(report["checked"].as_str().unwrap().starts_with(verdict), "{compiler}: {}", report["checked"]);
        }
    }
}
