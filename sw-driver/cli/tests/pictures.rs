//! Pictures of runs on the emitted NIC: the timeline's events, the page in a browser, the plot.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod browser;
mod events;

use events::{Events, CLUSTERS, WIRE};
use serde_json::Value;
use spindle_model::frames::{udp, Ends};
use spindle_sim::capture::{self, Captured};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A run with all pictures.
struct Ran {
    report: Value,
    folder: tempfile::TempDir,
}

fn run(handler: &Path, frames: &[Vec<u8>], more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let packets: Vec<_> = frames.iter().map(|bytes| Captured { time: Duration::ZERO, bytes: bytes.clone() }).collect();
    capture::write(&path("in.pcap"), &packets).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
    command.arg("run").arg(handler).arg("--allow-faults").arg("--pcap").arg(path("in.pcap"));
    for (option, name) in
        [("--json", "report.json"), ("--timeline", "run.json"), ("--html", "run.html"), ("--plot", "run.svg")]
    {
        command.arg(option).arg(path(name));
    }
    let output = command.args(more).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{text}");
    let report = std::fs::read_to_string(path("report.json")).unwrap();
    Ran { report: serde_json::from_str(&report).unwrap(), folder }
}

impl Ran {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn number(&self, pointer: &str) -> u64 {
        self.report.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number {pointer}"))
    }

    fn dropped(&self) -> u64 {
        self.report["dropped"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
    }
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers/examples").join(name)
}

/// Datagrams to port 9, every fourth to a port that no rule takes.
fn datagrams(count: u16) -> Vec<Vec<u8>> {
    (0..count)
        .map(|i| {
            udp(
                &Ends::default(),
                1000 + i,
                if i % 4 == 3 { 7 } else { 9 },
                &vec![i as u8; 30 + 37 * usize::from(i % 31)],
            )
        })
        .collect()
}

#[test]
fn a_timeline_agrees_with_the_report() {
    let frames = datagrams(160);
    let ran = run(&example("ping_pong.c"), &frames, &["--match", "udp.dport == 9", "--gap", "1", "--tx-ready", "50"]);
    let events = Events::parse(&std::fs::read_to_string(ran.path("run.json")).unwrap());
    events.assert_stages(&ran.report);
    assert_eq!(events.count(WIRE, "frame in"), ran.number("/frames_in"));
    assert_eq!(events.count(WIRE, "frame out"), ran.number("/answered"));
    assert_eq!((ran.number("/answered"), ran.dropped()), (120, 40));
    assert_eq!(events.flows("reply"), 120);
    let clusters = || events.slices.iter().filter(|((pid, _), _)| *pid >= CLUSTERS);
    let handlers: u64 = clusters().map(|(_, slices)| slices.len() as u64).sum();
    assert_eq!(handlers, ran.number("/tasks"));
    assert!(clusters().flat_map(|(_, slices)| slices).all(|(_, _, name)| name == "header_handler"));
    let tracks = tracks_by_hpu(&events);
    assert_eq!(tracks.len(), 8, "{:?}", events.names);
    // The time in which an HPU runs handlers is the card's counter of busy cycles.
    let busy: u64 =
        ran.report["hpu_busy_cycles"].as_array().unwrap().iter().map(|cycles| cycles.as_u64().unwrap()).sum();
    let mut covered = 0;
    for hpu in tracks.keys() {
        let of_hpu = clusters().filter(|(track, _)| events.names[track].starts_with(hpu.as_str()));
        let mut slices: Vec<_> = of_hpu.flat_map(|(_, slices)| slices).map(|(start, end, _)| (*start, *end)).collect();
        slices.sort_unstable();
        let mut until = 0;
        for (start, end) in slices {
            covered += end.max(until) - start.max(until);
            until = until.max(end);
        }
    }
    let difference = (covered / 4).abs_diff(busy);
    assert!(difference <= 2 * handlers, "slices cover {} cycles, the card counts {busy}", covered / 4);
    // Arguments identify the packet.
    let packet = events.events.iter().find(|event| event["name"] == "packet 5").unwrap();
    assert_eq!(
        (packet["args"]["frame"].as_u64(), packet["args"]["bytes"].as_u64()),
        (Some(5), Some(frames[5].len() as u64))
    );
}

#[test]
fn both_threads_of_an_hpu_have_tracks_and_a_compressed_timeline_is_the_same() {
    let frames = datagrams(100);
    let more = ["--match", "udp.dport == 9", "--seed", "4", "--gap", "2"];
    let ran = run(&example("udp_to_host.c"), &frames, &more);
    let text = std::fs::read_to_string(ran.path("run.json")).unwrap();
    let events = Events::parse(&text);
    events.assert_stages(&ran.report);
    assert_eq!((ran.number("/tasks"), events.flows("handler")), (75, 75));
    // Handlers of this kind wait for the host, and the other thread of the HPU runs meanwhile.
    assert_eq!(tracks_by_hpu(&events).values().max(), Some(&2), "{:?}", events.names);
    let compressed = ran.path("run.json.gz");
    let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
    command.arg("run").arg(example("udp_to_host.c")).arg("--pcap").arg(ran.path("in.pcap"));
    assert!(command.arg("--timeline").arg(&compressed).args(more).output().unwrap().status.success());
    let mut unpacked = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(&compressed).unwrap()).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, text);
}

/// Number of tracks of each HPU that ran handlers.
fn tracks_by_hpu(events: &Events) -> BTreeMap<String, u32> {
    let mut tracks = BTreeMap::new();
    for (track, _) in events.slices.iter().filter(|((pid, _), _)| *pid >= CLUSTERS) {
        *tracks.entry(events.names[track].chars().take("HPU 0.0".len()).collect()).or_default() += 1;
    }
    tracks
}

/// A handler whose name and text try to leave their places in the page, and which faults in an inlined function.
#[test]
fn the_page_shows_the_report_and_runs_nothing_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let handler = folder.path().join("a<img src=x onerror=document.documentElement.dataset.taken=1>{{data}}.c");
    let source = "#include \"spin_printf.h\"\n\
        static inline __attribute__((always_inline)) void spoil(int n) {\n\
        *(volatile int *)(0x20000800 + 4 * n) = 1; /* </script><script>document.documentElement.dataset.taken=2</script> */\n\
        }\n\
        int header_handler(const spin_header_t *h, void *s) {\n\
        (void)s;\n\
        if (h->packet_len < 100) return SPIN_DROP;\n\
        if (h->packet_len > 1000) { printf(\"</script><img src=x onerror=document.documentElement.dataset.taken=3>\\n\"); spoil(3); }\n\
        spin_send_packet(spin_packet(h), h->packet_len);\n\
        return SPIN_PROCESS_DATA;\n\
        }\n";
    std::fs::write(&handler, source).unwrap();
    let ran = run(&handler, &datagrams(64), &["--match", "udp.dport == 9"]);
    let page = browser::load(&ran.path("run.html"), "");
    page.assert_sound();
    assert!(!page.markup.split_once("<head>").unwrap().0.contains("data-taken"));
    assert!(!page.markup.contains("<img"), "markup of the user became an element");
    for (figure, count) in [
        ("frames in", ran.number("/frames_in")),
        ("frames out", ran.number("/answered")),
        ("handled", ran.number("/handled")),
        ("dropped", ran.dropped()),
    ] {
        assert_eq!(page.after(&format!("<dt>{figure}</dt><dd>")), count.to_string(), "{figure}");
    }
    assert!(ran.dropped() > 16 && ran.number("/answered") > 10);
    for (reason, count) in ran.report["dropped"].as_object().unwrap() {
        let mark = format!("dropped: {reason}</button>");
        let (_, row) = page.markup.split_once(&mark).unwrap();
        assert!(row.split_once("<span>").unwrap().1.starts_with(&format!("{count}<")), "{reason}");
    }
    assert_eq!(page.shown(), ran.number("/frames_in"));
    // The line of the inlined function, the line that calls it, and the text of both.
    let faults = ran.report["faults"].as_array().unwrap();
    assert!(!faults.is_empty());
    for fault in faults {
        let source = fault["source"].as_str().unwrap();
        assert!(source.contains(".c:3, inlined at ") && source.ends_with(".c:8"), "{source}");
    }
    let counted: u64 = page
        .markup
        .split("<tr data-count=\"")
        .skip(1)
        .map(|row| row.split_once('"').unwrap().0.parse::<u64>().unwrap())
        .sum();
    assert_eq!(counted, faults.len() as u64);
    assert!(page.markup.contains(".c:3 in spoil\n    *(volatile int *)(0x20000800 + 4 * n) = 1;"));
    assert!(page.markup.contains(".c:8 in header_handler"));
    assert!(page.markup.contains("HPU ") && page.markup.contains(": &lt;/script&gt;&lt;img src=x"));
    // A view of the table is a fragment of the address: the frames of 1000 bytes and more, longest first.
    let sorted = browser::load(&ran.path("run.html"), "sort=bytes&dir=desc");
    sorted.assert_sound();
    assert_eq!(sorted.data("first"), "30");
    assert_eq!(browser::load(&ran.path("run.html"), "fate=dropped").shown(), ran.dropped());
}

#[test]
fn a_plot_has_every_stage_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let handler = folder.path().join("a<b&c.c");
    std::fs::copy(example("ping_pong.c"), &handler).unwrap();
    let ran = run(&handler, &datagrams(40), &["--match", "udp.dport == 9", "--gap", "30"]);
    let text = std::fs::read_to_string(ran.path("run.svg")).unwrap();
    assert!(text.contains("a&lt;b&amp;c: latency by stage"));
    for stage in ran.report["stages"].as_array().unwrap() {
        let cycles = &stage["cycles"];
        let name = stage["stage"].as_str().unwrap();
        let caption = format!("{name}: median {}, p99 {}, max {}", cycles["median"], cycles["p99"], cycles["max"]);
        let (_, after) = text.split_once(&caption).unwrap_or_else(|| panic!("no caption {caption}"));
        assert!(after.contains(&format!("cycles, {} packets", cycles["count"])), "{name}");
    }
    // A browser takes it for a well-formed document.
    let document = browser::load(&ran.path("run.svg"), "");
    assert!(document.markup.contains("<svg") && !document.markup.contains("parsererror"), "{}", document.markup);
}

#[test]
fn bad_outputs_are_refused_with_a_sentence_and_do_not_lose_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let packets = [Captured { time: Duration::ZERO, bytes: datagrams(1)[0].clone() }];
    capture::write(Path::new(&path("in.pcap")), &packets).unwrap();
    let spindle = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
        let output = command.arg("run").arg(example("ping_pong.c")).args(["--pcap", &path("in.pcap")]).args(more);
        let output = output.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = spindle(&["--plot", &path("a.png")]);
    assert!(text.contains("give a name that ends in .svg") && !text.contains("model ready"), "{text}");
    // A device that is always full fails when the page is written; the plot is written after it.
    let text = spindle(&["--html", "/dev/full", "--plot", &path("a.svg")]);
    assert!(text.contains("/dev/full: No space left on device"), "{text}");
    assert!(std::fs::read_to_string(path("a.svg")).unwrap().ends_with("</svg>\n"));
}

/// Code, constants, variables and entry points are the same with and without debug information.
#[test]
fn debug_information_changes_no_byte_of_an_image() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = folder.path().join("riscv64-unknown-elf-gcc");
    std::fs::write(&compiler, "#!/bin/sh\nexec riscv64-unknown-elf-gcc \"$@\" -g0\n").unwrap();
    std::fs::set_permissions(&compiler, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for name in ["ping_pong.c", "aggregate.c", "reduce.c", "faulty/foreign_access.c"] {
        let build = |plain: bool| {
            let output = folder.path().join("image.elf");
            let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
            command.arg("build").arg(example(name)).arg("-o").arg(&output);
            if plain {
                command.env("SPINDLE_CC", &compiler);
            }
            assert!(command.output().unwrap().status.success());
            let elf = std::fs::read(&output).unwrap();
            let debug = elf.windows(11).any(|bytes| bytes == b".debug_line");
            assert_eq!(debug, !plain, "{name}");
            (spindle::Image::parse(&elf).unwrap(), elf)
        };
        let (with, first) = build(false);
        assert_eq!(with, build(true).0, "{name}");
        // The folder of the SDK differs from build to build; the image does not.
        assert_eq!(first, build(false).1, "{name}");
    }
}
