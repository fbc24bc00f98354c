//! Pictures of recordings that no small run gives: unreported threads, reported fates, a hundred thousand packets.

#[path = "../../tests/browser/mod.rs"]
mod browser;
#[path = "../../tests/events/mod.rs"]
mod events;

use super::timeline::handler_name;
use super::{Picture, Recording};
use crate::fates::{collect, Disposition, FrameFate, Passage, ReplySpan, TaskSpan};
use crate::play::{play, Pacing};
use crate::session::Session;
use crate::summary::stages;
use events::{Events, MAILBOXES, RVMA};
use serde_json::{json, Value};
use spindle::rule_table::Action;
use spindle::Image;
use spindle_contract::params::Config;
use spindle_contract::reasons;
use spindle_model::frames::{put_message, Ends, SpindleHeader};

/// A frame with one handler and, if `replied`, one reply.
fn fate(frame: usize, task: TaskSpan, replied: bool) -> FrameFate {
    let passage = |point, cycle| Passage { point, cycle, unit: 0 };
    let arrival = task.start - 9;
    let end = task.end.unwrap_or(task.start);
    FrameFate {
        frame,
        number: frame as u16,
        bytes: 60 + frame % 1000,
        arrival,
        rule: Some(frame % 2),
        context: Some(0),
        message: None,
        mailbox: None,
        disposition: Some(if replied { Disposition::Handled } else { Disposition::Dropped }),
        reason: (!replied).then_some("handler_drop"),
        passages: vec![
            passage(reasons::T_FIRST_BEAT, arrival),
            passage(reasons::T_PARSED, arrival + 3),
            passage(reasons::T_MATCHED, arrival + 4),
            passage(reasons::T_BUFFERED, arrival + 5),
            passage(reasons::T_SCHEDULED, arrival + 6),
            passage(reasons::T_LOADED, arrival + 8),
            passage(reasons::T_HANDLER_START, task.start),
            passage(reasons::T_HANDLER_END, end),
        ],
        replies: if replied {
            vec![ReplySpan { reply: frame, first: end + 2, last: end + 2, bytes: 64 }]
        } else {
            vec![]
        },
        tasks: vec![task],
    }
}

fn task(hpu: usize, thread: Option<u8>, start: u64, end: u64) -> TaskSpan {
    TaskSpan { kind: None, hpu, thread, start, end: Some(end), commands: vec![end - 1] }
}

fn draw(picture: Picture, fates: &[FrameFate], report: &Value) -> Vec<u8> {
    let last = fates.iter().flat_map(|fate| &fate.passages).map(|passage| passage.cycle).max().unwrap();
    let image = Image { entries: [Some(0x1000_0000), None, None, None], ..Image::default() };
    let recording = Recording {
        handler: "synthetic",
        image: &image,
        elf: &[],
        config: &Config::SIM,
        rules: &["udp".into(), "icmp".into()],
        report,
        fates,
        unattributed: &[],
        span: (fates[0].arrival, last),
    };
    let mut output = Vec::new();
    recording.draw(picture, &mut output).unwrap();
    output
}

/// Track names of the slices with this name, in the order of the events.
fn tracks(timeline: &[u8], slice: &str) -> Vec<String> {
    let timeline: Value = serde_json::from_slice(timeline).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap();
    let same = |a: &Value, b: &Value| a["pid"] == b["pid"] && a["tid"] == b["tid"];
    let name = |event: &Value| {
        let track = events.iter().find(|other| other["name"] == "thread_name" && same(event, other)).unwrap();
        track["args"]["name"].as_str().unwrap().to_owned()
    };
    events.iter().filter(|event| event["name"] == slice).map(name).collect()
}

#[test]
fn handlers_stay_on_reported_threads_and_others_get_rows_without_overlap() {
    let fates = [
        fate(0, task(0, None, 100, 200), true),
        fate(1, task(0, None, 150, 300), true),
        fate(2, task(0, None, 200, 260), true),
        fate(3, task(5, Some(1), 300, 400), true),
        fate(4, task(5, Some(0), 350, 360), true),
    ];
    let row = |row| format!("HPU 0.0, row {row} (thread not reported)");
    let expected = [row(0), row(1), row(0), "HPU 1.1.1".into(), "HPU 1.1.0".into()];
    assert_eq!(tracks(&draw(Picture::Timeline, &fates, &json!({})), "header_handler"), expected);
}

/// Of an image with several entry points, only the reported kind names the handler.
#[test]
fn handlers_have_the_names_of_their_entry_points() {
    let image = Image { entries: [Some(0), Some(4), Some(8), None], ..Image::default() };
    let name = |kind| handler_name(&image, &TaskSpan { kind, ..task(0, None, 100, 200) });
    let names = [Some("header"), Some("payload"), Some("completion"), None].map(name);
    assert_eq!(names, ["header_handler", "payload_handler", "completion_handler", "handler"]);
    let image = Image { entries: [None, Some(4), None, None], ..Image::default() };
    assert_eq!(handler_name(&image, &task(0, None, 100, 200)), "payload_handler");
}

/// Puts into a mailbox on the emitted NIC: each stage of the RVMA engine has a track, and each packet a flow to its DMA write.
#[test]
fn placements_have_tracks_of_the_rvma_engine() {
    const BYTES: usize = 20_000;
    const KEY: u32 = 5;
    let mut session = Session::open(Config::SIM, Default::default()).unwrap();
    session.device.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
    session.device.set_receive(true).unwrap();
    let mut mailboxes = Vec::new();
    let mut posted = Vec::new();
    let mut messages = Vec::new();
    for (number, addr) in [0x77, 0x88, 0x99].into_iter().enumerate() {
        let window = session.device.init_window(0, addr, KEY, BYTES as u32).unwrap();
        posted.push(session.device.post_buffer(window, BYTES as u32).unwrap());
        mailboxes.push(window.number() as usize);
        let header = SpindleHeader { addr, key: KEY, msg_id: number as u32, ..SpindleHeader::default() };
        messages.push(put_message(&Ends::default(), 4795, &header, &vec![7; BYTES], 1408));
    }
    // The frames of the messages take turns.
    let packets = messages[0].len();
    let frames: Vec<_> =
        (0..packets).flat_map(|part| messages.iter().map(move |message| message[part].clone())).collect();
    let played = play(&mut session, &frames, Pacing { gap: 0, seed: None }, 100_000).unwrap();
    assert!(played.drained, "{:?}", played.stats);
    assert!(posted.iter().all(|posted| session.device.poll(posted).unwrap().is_some()), "{:?}", played.stats);
    let lengths: Vec<usize> = frames.iter().map(Vec::len).collect();
    let fates = collect(&session, &played, &lengths);
    let timeline = draw(Picture::Timeline, &fates, &json!({}));
    let events = Events::parse(std::str::from_utf8(&timeline).unwrap());
    events.assert_stages(&json!({ "stages": stages(&session) }));
    for name in ["look-up", "placement", "DMA write"] {
        assert_eq!(events.count(RVMA, name), frames.len() as u64, "{name}");
    }
    assert_eq!(events.flows("placement"), frames.len() as u64);
    for (frame, fate) in fates.iter().enumerate() {
        assert_eq!(fate.mailbox, Some(mailboxes[frame % mailboxes.len()]), "frame {frame}");
    }
    for mailbox in &mailboxes {
        let name = format!("mailbox {mailbox}");
        let of_mailbox = |track: &(u64, u64)| {
            let title = &events.names[track];
            track.0 == MAILBOXES && (*title == name || title.starts_with(&format!("{name},")))
        };
        let slices: usize = events.slices.iter().filter(|(track, _)| of_mailbox(track)).map(|(_, all)| all.len()).sum();
        assert_eq!(slices, packets, "{name}");
    }
    // A record stands on the engine's track and on that of its mailbox.
    let records = events.events.iter().filter(|event| event["name"] == "record").count();
    assert_eq!(records, 2 * mailboxes.len());
}

/// A report with the counters that the page reads.
fn report(frames: usize, dropped: usize) -> Value {
    json!({
        "frames_in": frames, "answered": frames - dropped, "handled": frames - dropped, "placed": 0,
        "dropped": { "handler_drop": dropped }, "inside": 0, "cycles": 1000, "checked": "unchecked",
        "latency_cycles": null, "hpu_utilisation": 0.5, "faults": [], "faults_lost": 0, "prints": [],
    })
}

/// Sizes stay bounded, and the page filters and sorts a hundred thousand rows.
#[test]
fn pictures_of_a_hundred_thousand_packets_are_usable() {
    const PACKETS: usize = 100_000;
    /// Rows of a page of the table, and of the tables of stages.
    const ROWS: usize = 100 + 7;
    let fates: Vec<FrameFate> = (0..PACKETS)
        .map(|i| {
            let start = 100 + 20 * i as u64;
            fate(i, task(i % 8, Some((i / 8 % 2) as u8), start, start + 150 + i as u64 % 97), i % 10 != 0)
        })
        .collect();
    let report = report(PACKETS, PACKETS / 10);
    // Events are written one by one: a part shows the size of the whole.
    const PART: usize = 10_000;
    let timeline = draw(Picture::Timeline, &fates[..PART], &report);
    let compressed = draw(Picture::CompressedTimeline, &fates[..PART], &report);
    assert!(timeline.len() < 2000 * PART && compressed.len() < 200 * PART);
    let events = Events::parse(std::str::from_utf8(&timeline).unwrap());
    assert_eq!(events.flows("reply") + events.flows("handler"), PART as u64);
    let (plot, page) = (draw(Picture::Plot, &fates, &report), draw(Picture::Html, &fates, &report));
    assert!(page.len() < 100 * PACKETS && plot.len() < 1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    std::fs::write(&path, page).unwrap();
    for (fragment, shown, first) in [
        ("", PACKETS, "0"),
        ("fate=dropped", PACKETS / 10, "0"),
        ("fate=handled&rule=1", PACKETS / 2, "1"),
        ("reason=handler_drop&sort=arrival&dir=desc", PACKETS / 10, "99990"),
        ("text=handler_drop&sort=bytes&page=3", PACKETS / 10, "0"),
    ] {
        let document = browser::load(&path, fragment);
        document.assert_sound();
        assert_eq!((document.shown(), document.data("first")), (shown as u64, first), "{fragment}");
        assert_eq!(document.markup.matches("<tr><td").count(), ROWS, "{fragment}");
    }
}
