//! `spindle run --vcd` on the emitted NIC: sizes, time, window, scope, FST and the save file.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use spindle_model::frames::{udp, Ends};
use spindle_sim::capture::{self, Captured};
use spindle_sim::waves::GROUPS;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use wellen::simple::Waveform;

/// Most bytes of a VCD of five packets in the default scope.
const MOST_BYTES: u64 = 2_000_000;

/// Plays five packets of 60 to 460 bytes and records `wave`; what the program wrote to standard error.
fn run(folder: &Path, wave: &Path, more: &[&str]) -> (bool, String) {
    let capture = folder.join("five.pcap");
    let frame = |i: u16| udp(&Ends::default(), 4000 + i, 9, &vec![i as u8; 18 + 100 * usize::from(i)]);
    let packets: Vec<_> = (0..5).map(|i| Captured { time: Duration::ZERO, bytes: frame(i) }).collect();
    capture::write(&capture, &packets).unwrap();
    let handler = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers/examples/ping_pong.c");
    let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
    command.arg("run").arg(handler).arg("--pcap").arg(&capture).arg("--vcd").arg(wave).args(more);
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn recorded(folder: &Path, name: &str, more: &[&str]) -> (PathBuf, Waveform, String) {
    let wave = folder.join(name);
    let (good, words) = run(folder, &wave, more);
    assert!(good, "{words}");
    let read = wellen::simple::read(&wave).unwrap();
    (wave, read, words)
}

fn names(wave: &Waveform) -> BTreeSet<String> {
    let hierarchy = wave.hierarchy();
    hierarchy.all_vars().map(|at| hierarchy[at].full_name(hierarchy)).collect()
}

/// Times at which a signal gets the value, in picoseconds.
fn times(wave: &mut Waveform, name: &str, value: &str) -> Vec<u64> {
    let hierarchy = wave.hierarchy();
    let variable = hierarchy.all_vars().find(|at| hierarchy[*at].full_name(hierarchy) == name);
    let signal = hierarchy[variable.unwrap_or_else(|| panic!("there is no {name}"))].signal_ref();
    wave.load_signals(&[signal]);
    let changes = wave.get_signal(signal).unwrap().iter_changes().filter(|(_, found)| found.to_string() == value);
    changes.map(|(at, _)| wave.time_table()[at as usize]).collect()
}

/// One test, since all of it needs the same model, which takes minutes to build.
#[test]
fn waves_are_small_timed_and_readable() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();

    // The default: small, in the time of 250 MHz, with all interfaces.
    let (path, mut wave, words) = recorded(folder, "wave.vcd", &[]);
    let bytes = std::fs::metadata(&path).unwrap().len();
    println!("five packets, default scope: {bytes} bytes of VCD");
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
    let scale = wave.hierarchy().timescale().unwrap();
    assert_eq!((scale.factor, scale.unit), (1, wellen::TimescaleUnit::PicoSeconds));
    let rises = times(&mut wave, "nic.clock", "1");
    assert!(rises.windows(2).all(|pair| pair[1] - pair[0] == 4000) && rises.len() > 1500, "{} rises", rises.len());
    // Five packets of 1 to 8 beats come in back to back at most, and each begins a handler.
    let packets = times(&mut wave, "nic.rx_last", "1");
    assert!(!packets.is_empty() && packets.len() <= 5, "{packets:?}");
    let all = names(&wave);
    assert!(all.contains("nic.hpu_array.clusters[0].unit.events_begun") && all.contains("nic.tx_data"), "{all:?}");
    let (first, last) = (rises[0] / 4000, rises[rises.len() - 1] / 4000);
    assert!(words.contains(&format!("wave of cycles {first} to {}", last + 1)), "{words}");

    // The save file: every group, and only signals that are there.
    let save = std::fs::read_to_string(path.with_extension("gtkw")).unwrap();
    let rows: BTreeSet<String> =
        save.lines().filter(|line| line.starts_with("nic.")).map(|row| strip_range(row).to_string()).collect();
    assert_eq!(rows, all, "the save file lists what the wave holds");
    for (group, _) in GROUPS {
        assert!(save.contains(&format!("@800200\n-{group}\n")), "no group {group}");
    }

    // Each path of the groups names something in this NIC: as paths of the user, those without a signal are refused.
    // A window, and FST.
    let paths = GROUPS.iter().flat_map(|group| group.1).copied().collect::<Vec<_>>().join(",");
    let window = format!("{}..{}", first + 100, first + 150);
    let (path, mut wave, words) = recorded(folder, "wave.fst", &["--vcd-scope", &paths, "--vcd-window", &window]);
    assert_eq!(names(&wave), all);
    // The first run has built the model.
    assert!(!words.contains("building the model"), "{words}");
    let rises = times(&mut wave, "nic.clock", "1");
    assert_eq!((rises.len(), rises[0]), (50, (first + 100) * 4000 + 2000), "{words}");
    println!("its cycles {window} as FST: {} bytes", std::fs::metadata(path).unwrap().len());

    // An instance alone.
    let (_, wave, _) =
        recorded(folder, "parser.vcd", &["--vcd-scope", "nic.packet_engine.parser", "--vcd-window", &window]);
    let inside = names(&wave);
    assert!(inside.len() > 20 && inside.iter().all(|name| name.starts_with("nic.packet_engine.parser.")), "{inside:?}");

    // What is not there, and what cannot be written.
    let (good, words) = run(folder, &folder.join("x.vcd"), &["--vcd-scope", "nic.packet_engine.no_such"]);
    assert!(
        !good && words.contains("nothing at `nic.packet_engine.no_such`") && words.contains("instances"),
        "{words}"
    );
    let (good, words) = run(folder, &folder.join("no/x.vcd"), &[]);
    assert!(!good && words.contains("cannot write --vcd") && words.contains("create it first"), "{words}");
}

/// A row of the save file without its range of bits. Names of instances may have an index.
fn strip_range(row: &str) -> &str {
    match row.rsplit_once('[') {
        Some((name, range)) if range.contains(':') => name,
        _ => row,
    }
}

#[test]
fn arguments_of_waves_belong_together() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_spindle"))
            .args(["run", "a.c", "--pcap", "a.pcap"])
            .args(arguments)
            .output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(run(&["--vcd-window", "1..2"]).contains("--vcd <WAVE>"));
    assert!(run(&["--vcd-scope", "all"]).contains("--vcd <WAVE>"));
    assert!(run(&["--vcd", "w.vcd", "--vcd-window", "9..2"]).contains("larger than FROM"));
}
