//! FPsPIN handlers: our own sources against its API, compiled with every compiler, run on the emitted NIC as `cargo xtask compat` runs the
//! examples of an FPsPIN checkout, and by `spindle run` beside its program of the host.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod common;

use common::compilers;
use common::program::{compat, spindle, words};
use spindle_model::frames::{udp, Ends};
use spindle_sim::capture::{self, Captured};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fpspin")
}

fn example(name: &str) -> String {
    folder().join(format!("examples/{name}/handlers/{name}.c")).to_str().unwrap().to_owned()
}

/// No warning, and a bound of the stack; Clang takes these headers too.
#[test]
fn handlers_compile_as_they_are() {
    let image = tempfile::NamedTempFile::new().unwrap();
    for family in ["gcc", "clang"].into_iter().take(compilers().len()) {
        let names = folder().join("names.c").to_str().unwrap().to_owned();
        let sources = [("icmp_ping", "-O1"), ("udp_ping", "-O2"), ("slmp", "-O3"), ("slmp", "-Os")];
        let sources = sources.map(|(name, level)| (example(name), level)).into_iter().chain([(names, "-O2")]);
        for (name, level) in sources {
            for host in ["DO_HOST=0", "DO_HOST=true"] {
                let output = image.path().to_str().unwrap();
                let output = spindle(&["build", "--fpspin", &name, "-o", output, "-D", host, "--cc", family, level]);
                let words = words(&output);
                assert!(output.status.success(), "{family} {name}: {words}");
                assert!(!words.contains("warning") && !words.contains("bound"), "{family} {name}: {words}");
            }
        }
    }
}

#[test]
fn an_fpspin_handler_is_recognised() {
    let image = tempfile::NamedTempFile::new().unwrap();
    let image = image.path().to_str().unwrap();
    for more in [&[][..], &["--pspin"]] {
        let output = spindle(&[&["build", &example("slmp"), "-o", image][..], more].concat());
        assert!(!output.status.success() && words(&output).contains("--fpspin"), "{}", words(&output));
    }
    let output = spindle(&["build", "--pspin", "--fpspin", &example("slmp")]);
    assert!(!output.status.success() && words(&output).contains("cannot be used with"), "{}", words(&output));
}

/// Answers, files, acknowledgements and counters, byte by byte.
#[test]
fn handlers_do_what_they_do_on_fpspin() {
    let (success, rows) = compat("--fpspin", &folder(), &[]);
    assert!(success && rows.len() == 5 && rows.iter().all(|(right, _)| *right), "{rows:?}");
}

#[test]
fn wrong_handlers_are_found() {
    let checkout = tempfile::tempdir().unwrap();
    let change = |name: &str, from: &str, to: &str| {
        let source = std::fs::read_to_string(example(name)).unwrap();
        assert!(source.contains(from));
        let folder = checkout.path().join("examples").join(name).join("handlers");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("handler.c"), source.replace(from, to)).unwrap();
    };
    change("icmp_ping", "ping->type = 0;", "ping->type = 8;");
    change("udp_ping", "counters[2]", "counters[3]");
    change("slmp", "htons(MKACK)", "htons(MKACK | MKSYN)");
    let (success, rows) = compat("--fpspin", checkout.path(), &[]);
    assert!(!success && rows.len() == 5);
    let sentences = ["differs at byte 34", "right", "counter 2 counts 0", "counter 2 counts 0", "differs at byte 42"];
    for ((right, verdict), sentence) in rows.iter().zip(sentences) {
        assert!(verdict.contains(sentence) && *right == sentence.eq("right"), "{rows:?}");
    }
    change("slmp", "flags = ntohs(packet->slmp_hdr.flags);\n    if (!EOM", "flags = 0;\n    if (!EOM");
    let (success, rows) = compat("--fpspin", checkout.path(), &["slmp"]);
    assert!(!success && rows[0].1.contains("a message ends with flags 0"), "{rows:?}");
}

/// Two SLMP messages whose packets alternate, played by `spindle run`: a field names them, a test ends them.
#[test]
fn a_field_names_messages_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let [input, source, json] =
        ["in.pcap", "count.c", "report.json"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let packet = |id: u32, flags: u16, offset: u32| {
        let payload = [&flags.to_be_bytes()[..], &id.to_be_bytes(), &offset.to_be_bytes(), &[7; 20]].concat();
        Captured { time: Duration::ZERO, bytes: udp(&Ends::default(), 5000, 9330, &payload) }
    };
    let mut packets = Vec::new();
    for i in 0..4 {
        for id in [0x1234_5678, 0x1234_5679] {
            packets.push(packet(id, if i == 3 { 0x8000 } else { 0 }, 20 * i));
        }
    }
    // The same number again is a new message.
    packets.push(packet(0x1234_5678, 0x8000, 0));
    capture::write(Path::new(&input), &packets).unwrap();
    std::fs::write(
        &source,
        "#include \"spin_printf.h\"\n#include \"spin_atomic.h\"\nstatic uint32_t packets[256];\n\
         int header_handler(const spin_header_t *h, void *s) { packets[h->msg_slot] = 0; return SPIN_PROCESS_DATA; }\n\
         int payload_handler(const spin_payload_t *p, void *s) { spin_amo_add(&packets[p->msg_slot], 1); return SPIN_SUCCESS; }\n\
         int completion_handler(uint32_t d, bool f, void *s) { \
         printf(\"%x: %u\\n\", spin_task()->msg_id, packets[spin_task()->msg_slot]); return SPIN_SUCCESS; }\n",
    )
    .unwrap();
    let run = ["run", &source, "--pcap", &input, "--match", "udp.dport == 9330", "--json", &json];
    let field = ["--message-field", "udp[10:4]"];
    let output = spindle(&[&run[..], &field, &["--message-end", "udp[8:2] >= 0x8000"]].concat());
    assert!(output.status.success(), "{}", words(&output));
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let mut lines: Vec<_> =
        report["prints"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect();
    lines.sort();
    assert_eq!(lines, ["12345678: 1", "12345678: 4", "12345679: 4"]);

    // What cannot be is refused before anything is built.
    for (more, sentence) in [
        (&field[..], "--message-field needs --message-end"),
        (&["--message-end", "udp[8] == 1"][..], "--message-end needs --message-field"),
        (&["--message-field", "udp.dport", "--message-end", "udp[8] == 1"][..], "named by 32 bits"),
        (&["--message-field", "udp[10:4]", "--message-end", "udp || icmp"][..], "one comparison"),
        (
            &["--match", "!udp", "--message-field", "udp[10:4]", "--message-end", "udp[8] == 1"][..],
            "'!udp' takes no frame that has the headers",
        ),
        (&["--messages", "--message-field", "udp[10:4]", "--message-end", "udp[8] == 1"][..], "cannot be used with"),
    ] {
        let output = spindle(&[&run[..], more].concat());
        assert!(!output.status.success() && words(&output).contains(sentence), "{}", words(&output));
        assert!(!words(&output).contains("emitting"), "{}", words(&output));
    }
}

/// The program of the host of `spindle run`, and the counters.
#[test]
fn a_run_has_a_host_for_fpspin() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/captures/kernel.pcap");
    let captures = captures.to_str().unwrap();
    let run = ["run", "--fpspin", &example("udp_ping"), "-D", "DO_HOST=1", "--pcap", captures, "--match", "udp"];
    let output = spindle(&run);
    let words = words(&output);
    assert!(output.status.success(), "{words}");
    let durations = |number: u32| {
        let start = format!("counter {number}: ");
        let line = words.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("{words}"));
        line.split_once(" durations, ").unwrap().0.parse::<u32>().unwrap()
    };
    assert!(durations(0) > 10 && durations(0) == durations(1) && durations(0) == durations(2), "{words}");
    assert!(!words.contains("counter 3"), "{words}");
}
