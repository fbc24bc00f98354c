//! PsPIN handlers: our own sources against its API, compiled with every compiler, and run on the emitted NIC as `cargo xtask compat` runs
//! the examples of a PsPIN checkout.

mod common;

use common::compilers;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pspin")
}

fn spindle(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spindle")).args(arguments).output().expect("the program starts")
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The JSON report of `spindle compat` on a checkout: for each example whether it was right, and the verdict.
fn compat(checkout: &Path, only: &[&str]) -> (bool, Vec<(bool, String)>) {
    let report = tempfile::NamedTempFile::new().unwrap();
    let json = report.path().to_str().unwrap();
    let mut arguments = vec!["compat", "--pspin", checkout.to_str().unwrap(), "--json", json];
    arguments.extend(only.iter().flat_map(|name| ["--only", name]));
    let output = spindle(&arguments);
    let text = std::fs::read_to_string(json).unwrap();
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{}", words(&output)));
    let rows = rows.as_array().unwrap().iter();
    let verdict =
        |row: &serde_json::Value| (row["right"].as_bool().unwrap(), row["verdict"].as_str().unwrap().to_owned());
    (output.status.success(), rows.map(verdict).collect())
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
    let output = spindle(&["build", folder().join("names.c").to_str().unwrap(), "-o", "/dev/null"]);
    assert!(!output.status.success() && words(&output).contains("built with --pspin"), "{}", words(&output));
}

/// Answers, transfers to the host, atomics and locks of all handlers at once, byte by byte.
#[test]
fn handlers_do_what_they_do_on_pspin() {
    let (success, rows) = compat(&folder(), &["ping_pong", "copy_to_host", "copy_from_host", "host_direct", "reduce"]);
    assert!(success && rows.len() == 5 && rows.iter().all(|(right, _)| *right), "{rows:?}");
}

/// The judge is no rubber stamp: what is not done, or done by half, or ends in a fault, is told.
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
    let (success, rows) = compat(checkout.path(), &["empty", "ping_pong", "copy_to_host", "host_direct", "reduce"]);
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
