//! PsPIN handlers: our own sources against its API, compiled with every compiler, and run on the emitted NIC as `cargo xtask compat` runs
//! the examples of a PsPIN checkout.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod common;

use common::compilers;
use common::program::{compat, spindle, words};
use spindle_model::frames::{echo_request, udp, Ends};
use spindle_sim::capture::{self, Captured};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pspin")
}

#[test]
fn every_name_of_the_headers_compiles() {
    let source = folder().join("names.c");
    let image = tempfile::NamedTempFile::new().unwrap();
    for family in ["gcc", "clang"].into_iter().take(compilers().len()) {
        for level in ["-O0", "-O2", "-Os"] {
            let output = image.path().to_str().unwrap();
            let arguments = ["build", "--pspin", source.to_str().unwrap(), "-o", output, "--cc", family, level];
            for more in [&[][..], &["-DLOG", "-DCHECK_ASSERTS"]] {
                let output = spindle(&[&arguments, more].concat());
                assert!(output.status.success(), "{family} {level}: {}", words(&output));
                for handler in ["header_handler", "payload_handler", "completion_handler"] {
                    assert!(words(&output).contains(handler), "{}", words(&output));
                }
            }
        }
    }
}

#[test]
fn a_pspin_handler_is_recognised() {
    // Not /dev/null: a compiler that fails removes its output.
    let image = tempfile::NamedTempFile::new().unwrap();
    let output = spindle(&["build", folder().join("names.c").to_str().unwrap(), "-o", image.path().to_str().unwrap()]);
    assert!(!output.status.success() && words(&output).contains("built with --pspin"), "{}", words(&output));
}

/// Answers, transfers to the host, atomics and locks of all handlers at once, byte by byte.
#[test]
fn handlers_do_what_they_do_on_pspin() {
    let (success, rows) =
        compat("--pspin", &folder(), &["ping_pong", "copy_to_host", "copy_from_host", "host_direct", "reduce"]);
    assert!(success && rows.len() == 5 && rows.iter().all(|(right, _)| *right), "{rows:?}");
}

/// The judge refuses work that is not done, done by half, or ended by a fault.
#[test]
fn wrong_handlers_are_found() {
    let checkout = tempfile::tempdir().unwrap();
    let example = |name: &str, body: &str| {
        let handlers = checkout.path().join("examples").join(name).join("handlers");
        std::fs::create_dir_all(&handlers).unwrap();
        let source = format!(
            "#include <handler.h>\n#include <packets.h>\nvoid ph(handler_args_t *args) {{ {body} }}\n\
             void init_handlers(handler_fn *hh, handler_fn *p, handler_fn *th, void **m) {{ (void)hh; (void)th; (void)m; *p = ph; }}\n"
        );
        std::fs::write(handlers.join("handler.c"), source).unwrap();
    };
    let back = "spin_send_packet(args->task->pkt_mem, ((ip_hdr_t *)args->task->pkt_mem)->length, NULL);";
    example("ping_pong", back);
    example("empty", back);
    example("host_direct", "(void)args; spin_host_write(0xdeadbeef, 0xcafebebf, NULL);");
    example("copy_to_host", "spin_dma_to_host(0x1234, (uint32_t)args->task->pkt_mem, 32, 0, NULL);");
    example("reduce", "nonsense(args)");
    let (success, rows) =
        compat("--pspin", checkout.path(), &["empty", "ping_pong", "copy_to_host", "host_direct", "reduce"]);
    assert!(!success);
    let expected = [
        "got 1 answers instead of 0",
        "an answer to frame 0 differs at byte 29",
        "FAULT_COMMAND",
        "the host region differs at byte 48879",
        "does not compile",
    ];
    assert_eq!(rows.len(), expected.len());
    for ((right, verdict), sentence) in rows.iter().zip(expected) {
        assert!(!right && verdict.contains(sentence), "{verdict}");
    }
}

/// Runs a PsPIN source on frames, one after the other: the lines that each frame's handlers printed, and the answers.
fn run(source: &str, frames: &[Vec<u8>]) -> (Vec<Vec<String>>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let [input, file, json] =
        ["in.pcap", "handler.c", "report.json"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let packets: Vec<_> = frames.iter().map(|frame| Captured { time: Duration::ZERO, bytes: frame.clone() }).collect();
    capture::write(Path::new(&input), &packets).unwrap();
    std::fs::write(&file, source).unwrap();
    let output = spindle(&["run", "--pspin", &file, "--pcap", &input, "--gap", "4000", "--json", &json]);
    assert!(output.status.success(), "{}", words(&output));
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report["faults"].as_array().unwrap().len(), 0, "{report:#}");
    let mut lines = vec![Vec::new(); frames.len()];
    let first = report["prints"][0]["frame"].as_u64().unwrap();
    for line in report["prints"].as_array().unwrap() {
        lines[(line["frame"].as_u64().unwrap() - first) as usize].push(line["text"].as_str().unwrap().to_owned());
    }
    (lines, report["answered"].as_u64().unwrap() as usize)
}

/// UDP and ICMP packets with and without payload.
fn full_and_empty() -> Vec<Vec<u8>> {
    let ends = Ends::default();
    let mut frames = vec![
        udp(&ends, 1, 2, b"some bytes"),
        udp(&ends, 1, 2, &[]),
        echo_request(&ends, 3, 4, &[]),
        echo_request(&ends, 3, 4, b"more"),
        udp(&Ends { vlan: Some(5), ..ends }, 1, 2, &[]),
    ];
    frames.iter_mut().for_each(|frame| frame.resize(frame.len().max(60), 0));
    frames
}

/// Each handler of a packet sees it as it arrived, whatever those before made of it; and each runs for an empty packet too.
#[test]
fn each_handler_sees_the_packet_as_it_arrived() {
    let handler = |name: &str| {
        format!(
            "void {name}(handler_args_t *args) {{ uint8_t *p = args->task->pkt_mem;\n\
             printf(\"{name} %u %u %u\\n\", p[8], p[20], p[9]); p[8] = p[20] = 99; p[9]++; {} }}\n",
            if name == "hh" { "spin_send_packet(p, 28, NULL);" } else { "" }
        )
    };
    let source = format!(
        "#include <handler.h>\n{}{}{}void init_handlers(handler_fn *h, handler_fn *p, handler_fn *t, void **m) {{ \
            *h = hh; *p = ph; *t = th; }}\n",
        handler("hh"),
        handler("ph"),
        handler("th")
    );
    let frames = full_and_empty();
    let (lines, answers) = run(&source, &frames);
    assert_eq!(answers, frames.len(), "{lines:?}");
    for (frame, lines) in frames.iter().zip(&lines) {
        let packet = &frame[if frame[12] == 0x81 { 18 } else { 14 }..];
        let seen = |name: &str| format!("{name} {} {} {}", packet[8], packet[20], packet[9]);
        assert_eq!(lines, &["hh", "ph", "th"].map(seen), "{lines:?}");
    }
}

/// A payload handler of an empty packet without a header handler, and an answer after one that sent: ends are exchanged anew.
#[test]
fn empty_packets_are_answered() {
    let source = "#include <handler.h>\nvoid send(handler_args_t *args) { printf(\"sent\\n\"); \
        spin_send_packet(args->task->pkt_mem, 28, NULL); }\n\
        void init_handlers(handler_fn *h, handler_fn *p, handler_fn *t, void **m) { HEADER *p = send; }\n";
    let frames = full_and_empty();
    for (header, each) in [("", 1), ("*h = send;", 2)] {
        let (lines, answers) = run(&source.replace("HEADER", header), &frames);
        assert_eq!(answers, each * frames.len(), "{header} {lines:?}");
        assert!(lines.iter().all(|lines| lines.len() == each), "{lines:?}");
    }
}

/// Handlers that run at the same time have different numbers, on the two threads of an HPU too.
#[test]
fn an_hpu_number_is_a_handlers_own() {
    let source = "#include <handler.h>\nstatic uint32_t taken[CORE_COUNT];\n\
        void ph(handler_args_t *args) { uint32_t before = amo_swap(&taken[args->hpu_gid], 1); rt_time_wait_cycles(3000);\n\
        if (before) { printf(\"taken\\n\"); } amo_store(&taken[args->hpu_gid], 0); \
        if (args->hpu_id >= NB_CORES) { printf(\"large\\n\"); }\n\
        printf(\"%u\\n\", args->hpu_gid); }\n\
        void init_handlers(handler_fn *h, handler_fn *p, handler_fn *t, void **m) { *p = ph; }\n";
    let folder = tempfile::tempdir().unwrap();
    let [input, file, json] =
        ["in.pcap", "handler.c", "report.json"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let frame = || Captured { time: Duration::ZERO, bytes: udp(&Ends::default(), 1, 2, &[5; 30]) };
    capture::write(Path::new(&input), &(0..40).map(|_| frame()).collect::<Vec<_>>()).unwrap();
    std::fs::write(&file, source).unwrap();
    let output = spindle(&["run", "--pspin", &file, "--pcap", &input, "--gap", "0", "--json", &json]);
    assert!(output.status.success(), "{}", words(&output));
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let texts: Vec<_> =
        report["prints"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    let numbers: BTreeSet<u32> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    assert_eq!((texts.len(), numbers.len()), (40, 16), "{texts:?}");
}

/// The stack of PsPIN handlers has a bound, and builds are without warnings.
#[test]
fn the_stack_of_pspin_handlers_has_a_bound() {
    let image = tempfile::NamedTempFile::new().unwrap();
    for name in ["ping_pong", "reduce", "copy_to_host", "copy_from_host", "host_direct"] {
        let source = folder().join(format!("examples/{name}/handlers/{name}.c"));
        let output =
            spindle(&["build", "--pspin", source.to_str().unwrap(), "-o", image.path().to_str().unwrap(), "-O2"]);
        let words = words(&output);
        assert!(output.status.success() && !words.contains("bound") && !words.contains("warning"), "{name}: {words}");
        // The handlers themselves are counted.
        assert!(words.contains("payload_handler > spindle_pspin_call > "), "{name}: {words}");
    }
}
