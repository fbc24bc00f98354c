//! Pictures of runs on the emitted NIC: the timeline's events, the page in a browser, the plot.

mod browser;

use serde_json::Value;
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader};
use spindle_sim::capture::{self, Captured};
use std::collections::{BTreeMap, HashMap};
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
    command.arg("run").arg(handler).arg("--pcap").arg(path("in.pcap"));
    for (option, name) in
        [("--json", "report.json"), ("--timeline", "run.json"), ("--html", "run.html"), ("--plot", "run.svg")]
    {
        command.arg(option).arg(path(name));
    }
    let output = command.args(more).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    // Handlers that fault may make the exit code non-zero; the report exists all the same.
    let report = std::fs::read_to_string(path("report.json")).unwrap_or_else(|_| panic!("{text}"));
    Ran { report: serde_json::from_str(&report).unwrap(), folder }
}

impl Ran {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn number(&self, pointer: &str) -> u64 {
        self.report.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number {pointer}"))
    }

    /// Count of each stage in the report.
    fn stages(&self) -> BTreeMap<&str, u64> {
        let stages = self.report["stages"].as_array().unwrap();
        stages.iter().map(|s| (s["stage"].as_str().unwrap(), s["cycles"]["count"].as_u64().unwrap())).collect()
    }

    fn dropped(&self) -> u64 {
        self.report["dropped"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
    }
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hpu-core/handlers/examples").join(name)
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

type Track = (u64, u64);

/// Events of a timeline, after checks that hold for every timeline.
struct Events {
    events: Vec<Value>,
    /// Slices by track: start and end in nanoseconds, name.
    slices: BTreeMap<Track, Vec<(u64, u64, String)>>,
    names: HashMap<Track, String>,
}

fn nanoseconds(value: &Value) -> u64 {
    let exact = value.as_f64().unwrap() * 1000.0;
    assert!((exact - exact.round()).abs() < 1e-3, "{value} is no whole number of nanoseconds");
    exact.round() as u64
}

impl Events {
    fn parse(text: &str) -> Events {
        let timeline: Value = serde_json::from_str(text).unwrap();
        assert_eq!(timeline["displayTimeUnit"], "ns");
        let events = timeline["traceEvents"].as_array().unwrap().clone();
        let track = |event: &Value| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let mut slices: BTreeMap<Track, Vec<_>> = BTreeMap::new();
        let (mut names, mut processes, mut flows) = (HashMap::new(), HashMap::new(), BTreeMap::<u64, Vec<_>>::new());
        for event in &events {
            let name = event["name"].as_str().unwrap().to_owned();
            match event["ph"].as_str().unwrap() {
                "X" => {
                    let start = nanoseconds(&event["ts"]);
                    slices.entry(track(event)).or_default().push((start, start + nanoseconds(&event["dur"]), name));
                }
                "M" => {
                    let text = event["args"]["name"].as_str().unwrap_or_default().to_owned();
                    match name.as_str() {
                        "thread_name" => assert_eq!(names.insert(track(event), text), None),
                        "process_name" => assert_eq!(processes.insert(track(event).0, text), None),
                        _ => {}
                    }
                }
                ph @ ("s" | "t" | "f") => flows.entry(event["id"].as_u64().unwrap()).or_default().push((
                    nanoseconds(&event["ts"]),
                    ph.to_owned(),
                    track(event),
                )),
                other => assert_eq!(other, "i"),
            }
        }
        for (track, slices) in &mut slices {
            assert!(names.contains_key(track) && processes.contains_key(&track.0), "track {track:?} has no name");
            // Longer slices first: a slice is inside every slice that is still open, or starts after its end.
            slices.sort_by_key(|(start, end, _)| (*start, u64::MAX - *end));
            let mut open: Vec<u64> = Vec::new();
            for (start, end, name) in slices {
                open.retain(|until| until > start);
                assert!(
                    open.iter().all(|until| *end <= *until),
                    "{name} at {start} crosses a slice of {}",
                    names[track]
                );
                open.push(*end);
            }
        }
        for (id, steps) in &flows {
            let order: String = steps.iter().map(|(_, ph, _)| ph.as_str()).collect();
            assert!(["sf", "stf"].contains(&order.as_str()), "flow {id} is {order}");
            assert!(steps.is_sorted_by_key(|(time, _, _)| *time), "flow {id} goes back in time");
            for (time, _, track) in steps {
                let bound = slices[track].iter().any(|(start, end, _)| start <= time && time < end);
                assert!(bound, "flow {id} has no slice at {time} on {}", names[track]);
            }
        }
        Events { events, slices, names }
    }

    /// Number of slices with this name on tracks of this process.
    fn count(&self, pid: u64, name: &str) -> u64 {
        let tracks = self.slices.iter().filter(|((process, _), _)| *process == pid);
        tracks.flat_map(|(_, slices)| slices).filter(|(_, _, found)| found == name).count() as u64
    }

    /// Flows of this name.
    fn flows(&self, name: &str) -> u64 {
        self.events.iter().filter(|event| event["ph"] == "s" && event["name"] == name).count() as u64
    }
}

const WIRE: u64 = 1;
const PACKETS: u64 = 2;
const RVMA: u64 = 3;
const CLUSTERS: u64 = 10;

/// Every stage has as many slices as the report counts, and its slowest slice takes as long as the report has it.
fn assert_stages(ran: &Ran, events: &Events) {
    for stage in ran.report["stages"].as_array().unwrap() {
        let name = stage["stage"].as_str().unwrap();
        assert_eq!(events.count(PACKETS, name), stage["cycles"]["count"].as_u64().unwrap(), "{name}");
        let slices = events.slices.iter().filter(|((pid, _), _)| *pid == PACKETS).flat_map(|(_, slices)| slices);
        let longest = slices.filter(|(_, _, found)| found == name).map(|(start, end, _)| end - start).max().unwrap();
        // 250 MHz.
        assert_eq!(longest, 4 * stage["cycles"]["max"].as_u64().unwrap(), "{name}");
    }
}

#[test]
fn a_timeline_agrees_with_the_report() {
    let frames = datagrams(160);
    let ran = run(&example("ping_pong.c"), &frames, &["--match", "udp.dport == 9", "--gap", "1", "--tx-ready", "50"]);
    let events = Events::parse(&std::fs::read_to_string(ran.path("run.json")).unwrap());
    assert_stages(&ran, &events);
    assert_eq!(events.count(WIRE, "frame in"), ran.number("/frames_in"));
    assert_eq!(events.count(WIRE, "frame out"), ran.number("/answered"));
    assert_eq!((ran.number("/answered"), ran.dropped()), (120, 40));
    assert_eq!(events.flows("reply"), 120);
    let clusters = || events.slices.iter().filter(|((pid, _), _)| *pid >= CLUSTERS);
    let handlers: u64 = clusters().map(|(_, slices)| slices.len() as u64).sum();
    assert_eq!(handlers, ran.number("/tasks"));
    assert!(clusters().flat_map(|(_, slices)| slices).all(|(_, _, name)| name == "header_handler"));
    // Under this load both threads of an HPU run: an HPU has two tracks, never more.
    let mut tracks: BTreeMap<String, u32> = BTreeMap::new();
    for (track, _) in clusters() {
        let name = &events.names[track];
        let hpu: String = name.chars().take("HPU 0.0".len()).collect();
        *tracks.entry(hpu).or_default() += 1;
    }
    assert_eq!((tracks.len(), tracks.values().max()), (8, Some(&2)), "{:?}", events.names);
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
fn placements_have_tracks_of_the_rvma_engine_and_a_compressed_timeline_is_the_same() {
    let frames = put_message(&Ends::default(), 9, &SpindleHeader::default(), &vec![7; 20_000], 1408);
    let frames: Vec<Vec<u8>> = frames.into_iter().chain(datagrams(12)).collect();
    let more = ["--match", "udp.dport == 9 || spindle", "--seed", "4", "--gap", "20"];
    let ran = run(&example("udp_to_host.c"), &frames, &more);
    let text = std::fs::read_to_string(ran.path("run.json")).unwrap();
    let events = Events::parse(&text);
    assert_stages(&ran, &events);
    let stages = ran.stages();
    for (track, stage) in [("look-up", "look-up"), ("placement", "placement"), ("DMA write", "DMA")] {
        assert_eq!(events.count(RVMA, track), stages.get(stage).copied().unwrap_or(0), "{track}");
    }
    let compressed = ran.path("run.json.gz");
    let again = run_to(&example("udp_to_host.c"), &ran.path("in.pcap"), &more, &compressed);
    assert!(again, "the second run failed");
    let mut unpacked = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(&compressed).unwrap()).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, text);
}

/// Runs with a timeline only.
fn run_to(handler: &Path, capture: &Path, more: &[&str], timeline: &Path) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spindle"));
    command.arg("run").arg(handler).arg("--pcap").arg(capture).arg("--timeline").arg(timeline).args(more);
    command.output().unwrap().status.success()
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
    // No more frames can be shown as dropped than the card counts; without fates from the trace, the rest is "not reported".
    let dropped = browser::load(&ran.path("run.html"), "fate=dropped").shown();
    let unreported = browser::load(&ran.path("run.html"), "fate=not+reported").shown();
    assert_eq!(dropped, if unreported == 0 { ran.dropped() } else { 0 });
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
    let text = spindle(&["--html", &path("absent/a.html"), "--plot", &path("a.svg")]);
    assert!(text.contains("absent/a.html"), "{text}");
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
