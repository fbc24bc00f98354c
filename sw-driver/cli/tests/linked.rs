//! The program with a linked model runs handlers where neither Verilator nor a C++ compiler can be found.
#![cfg(feature = "linked")]

#[macro_use(assert_eq)]
extern crate spindle_testing;

use spindle_model::frames::{udp, Ends};
use spindle_sim::capture::{self, Captured};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

const GCC: &str = "riscv64-unknown-elf-gcc";
const ECHO: &str = "#include \"spindle.h\"\nint header_handler(const spin_header_t *h, void *s) { (void)s; \
                    spin_send_packet(spin_packet(h), h->packet_len); return SPIN_PROCESS_DATA; }\n";

/// The program in `folder` with an environment that names a search path and nothing else.
fn spindle(folder: &Path, path: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
    command.current_dir(folder).env_clear().env("PATH", path).args(arguments);
    command.output().expect("the program starts")
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_handler_runs_without_verilator_and_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let gcc = std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(|folder| folder.join(GCC));
    let gcc = gcc.into_iter().find(|path| path.is_file());
    let Some(gcc) = gcc else { return spindle_harness::skip("riscv64-unknown-elf-gcc is not installed") };
    std::os::unix::fs::symlink(gcc, tools.join(GCC)).unwrap();
    std::fs::write(folder.path().join("echo.c"), ECHO).unwrap();
    let packet = |i| Captured { time: Duration::ZERO, bytes: udp(&Ends::default(), 4000, 9, &[i as u8; 60]) };
    let frames: Vec<Captured> = (0..5).map(packet).collect();
    capture::write(&folder.path().join("in.pcap"), &frames).unwrap();

    // From the source with the compiler for RISC-V, and from an image with no program at all on the path.
    let built = spindle(folder.path(), &tools, &["build", "echo.c"]);
    assert!(built.status.success(), "{}", words(&built));
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    for (path, handler, wave) in [(&tools, "echo.c", false), (&empty, "echo.elf", false), (&empty, "echo.elf", true)] {
        let mut arguments = vec!["run", handler, "--pcap", "in.pcap", "--out", "out.pcap", "--json", "report.json"];
        if wave {
            arguments.extend(["--vcd", "wave.vcd"]);
        }
        let output = spindle(folder.path(), path, &arguments);
        assert!(output.status.success(), "{}", words(&output));
        let sent = capture::read(&folder.path().join("out.pcap")).unwrap();
        let bytes = |packets: &[Captured]| packets.iter().map(|packet| packet.bytes.clone()).collect::<Vec<_>>();
        assert_eq!(bytes(&sent), bytes(&frames));
        let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert!(
            report["versions"]["verilator"].is_string() || report["run"]["versions"]["verilator"].is_string(),
            "{report}"
        );
        std::fs::remove_file(folder.path().join("out.pcap")).unwrap();
    }
    assert!(folder.path().join("wave.vcd").metadata().unwrap().len() > 1000);
}

/// A configuration that is not linked needs the tools, and the sentence says so.
#[test]
fn another_configuration_needs_the_tools() {
    let folder = tempfile::tempdir().unwrap();
    let packet = Captured { time: Duration::ZERO, bytes: udp(&Ends::default(), 4000, 9, &[1; 60]) };
    capture::write(&folder.path().join("in.pcap"), &[packet]).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_spindle"))
        .current_dir(folder.path())
        .env("SPINDLE_CACHE", folder.path().join("cache"))
        .env("VERILATOR", "no-such-verilator")
        .args(["run", "icmp_echo", "--pcap", "in.pcap", "--config", "kintex7"])
        .output()
        .unwrap();
    assert!(
        !output.status.success() && words(&output).contains("`no-such-verilator` is not installed"),
        "{}",
        words(&output)
    );
}
