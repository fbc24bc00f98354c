//! `--timeline`: the run in the Trace Event format, which Perfetto and chrome://tracing read.
//!
//! Every track is a thread of a process, so that slices on a track nest: the wire, the packets, each hardware thread of each HPU, the RVMA
//! engine. Events are written one by one, because a long run has millions.

use super::spans::{end_of, stage_spans, Nests, Rows};
use super::Recording;
use crate::fates::{FrameFate, TaskSpan};
use crate::summary::STAGES;
use anyhow::Result;
use serde::Serialize;
use serde_json::{json, Value};
use spindle::image::ENTRY_SYMBOLS;
use spindle::Image;
use spindle_contract::params::BEAT_BYTES;
use spindle_contract::reasons::{T_DMA_DONE, T_DMA_FIRST, T_LOOKED_UP, T_PLACEMENT, T_RECORD};
use std::collections::BTreeMap;
use std::io::Write;

/// Process of the wire, of the packets, of the RVMA engine, and of cluster 0.
const WIRE: usize = 1;
const PACKETS: usize = 2;
const RVMA: usize = 3;
const CLUSTERS: usize = 10;
/// Threads of the wire.
const WIRE_IN: usize = 1;
const WIRE_OUT: usize = 2;
/// Hardware threads of an HPU.
const THREADS: usize = 2;
/// Stages of the RVMA engine that have tracks: name, start, end.
const TRANSFERS: [(&str, usize, usize); 3] = [
    ("look-up", T_PLACEMENT, T_LOOKED_UP),
    ("placement", T_LOOKED_UP, T_DMA_FIRST),
    ("DMA write", T_DMA_FIRST, T_DMA_DONE),
];

/// A track: process and thread.
type Track = (usize, usize);

/// Events in the notation of the format.
#[derive(Serialize)]
struct Event<'a> {
    ph: &'a str,
    pid: usize,
    tid: usize,
    /// Microseconds since reset.
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    name: &'a str,
    cat: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// Binding of a flow's end: the slice that encloses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    /// Scope of an instant: its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'a str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

/// Writes the events and remembers the tracks that have some.
struct Timeline<'a, W: Write> {
    recording: &'a Recording<'a>,
    output: W,
    /// Name of each track.
    tracks: BTreeMap<Track, String>,
    events: u64,
    flows: u64,
}

/// A point of a flow: track and cycle.
type Step = (Track, u64);

impl<W: Write> Timeline<'_, W> {
    fn emit(&mut self, event: &impl Serialize) -> Result<()> {
        self.output.write_all(if self.events == 0 { b"\n" } else { b",\n" })?;
        self.events += 1;
        Ok(serde_json::to_writer(&mut self.output, event)?)
    }

    fn microseconds(&self, cycle: u64) -> f64 {
        self.recording.nanoseconds(cycle) as f64 / 1000.0
    }

    fn event<'e>(&self, ph: &'e str, track: Track, cycle: u64, name: &'e str, cat: &'e str) -> Event<'e> {
        let ts = self.microseconds(cycle);
        let (pid, tid) = track;
        Event { ph, pid, tid, ts, dur: None, name, cat, id: None, bp: None, s: None, args: Value::Null }
    }

    fn slice(&mut self, track: Track, span: (u64, u64), name: &str, cat: &str, args: Value) -> Result<()> {
        let nanoseconds = self.recording.nanoseconds(span.1) - self.recording.nanoseconds(span.0);
        let event = self.event("X", track, span.0, name, cat);
        self.emit(&Event { dur: Some(nanoseconds as f64 / 1000.0), args, ..event })
    }

    fn instant(&mut self, track: Track, cycle: u64, name: &str, args: Value) -> Result<()> {
        let event = self.event("i", track, cycle, name, "instant");
        self.emit(&Event { s: Some("t"), args, ..event })
    }

    /// An arrow through the slices that enclose these points.
    fn flow(&mut self, name: &str, steps: &[Step]) -> Result<()> {
        self.flows += 1;
        for (index, (track, cycle)) in steps.iter().enumerate() {
            let (ph, bp) = match index {
                0 => ("s", None),
                _ if index + 1 == steps.len() => ("f", Some("e")),
                _ => ("t", None),
            };
            let event = self.event(ph, *track, *cycle, name, "flow");
            self.emit(&Event { id: Some(self.flows), bp, ..event })?;
        }
        Ok(())
    }

    fn metadata(&mut self, name: &str, (pid, tid): Track, args: Value) -> Result<()> {
        self.emit(&json!({ "ph": "M", "pid": pid, "tid": tid, "name": name, "args": args }))
    }
}

/// Writes the timeline of a run.
///
/// # Errors
/// The output cannot be written.
pub fn write(recording: &Recording, output: impl Write) -> Result<()> {
    let mut timeline = Timeline { recording, output, tracks: BTreeMap::new(), events: 0, flows: 0 };
    timeline.output.write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
    let other = json!({
        "program": concat!("spindle ", env!("CARGO_PKG_VERSION")),
        "handler": recording.handler,
        "config": recording.config.name,
        "clock_mhz": recording.config.clock_mhz,
        "rules": recording.rules,
    });
    serde_json::to_writer(&mut timeline.output, &other)?;
    timeline.output.write_all(b",\"traceEvents\":[")?;
    timeline.wire()?;
    timeline.packets()?;
    let handlers = timeline.handlers()?;
    let transfers = timeline.transfers()?;
    timeline.arrows(&handlers, &transfers)?;
    timeline.names()?;
    timeline.output.write_all(b"\n]}\n")?;
    Ok(())
}

/// What is known of a frame; what the trace does not report is absent.
fn arguments(fate: &FrameFate) -> Value {
    let mut args = json!({ "frame": fate.frame, "number": fate.number, "bytes": fate.bytes });
    let optional = [
        ("rule", json!(fate.rule)),
        ("context", json!(fate.context)),
        ("message", json!(fate.message)),
        ("disposition", json!(fate.disposition)),
        ("reason", json!(fate.reason)),
    ];
    for (name, value) in optional.into_iter().filter(|(_, value)| !value.is_null()) {
        args[name] = value;
    }
    args
}

/// Name of a task's handler: by its kind, or the image's only handler.
pub fn handler_name(image: &Image, task: &TaskSpan) -> &'static str {
    let present: Vec<&'static str> =
        ENTRY_SYMBOLS.into_iter().zip(image.entries).filter_map(|(name, entry)| entry.map(|_| name)).collect();
    let by_kind = task.kind.and_then(|kind| ENTRY_SYMBOLS.into_iter().find(|name| name.starts_with(kind)));
    match (by_kind, present.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only,
        _ => "handler",
    }
}

impl<W: Write> Timeline<'_, W> {
    /// Frames on the wire. RX accepts a beat in each cycle of a frame.
    fn wire(&mut self) -> Result<()> {
        self.tracks.insert((WIRE, WIRE_IN), "in".into());
        self.tracks.insert((WIRE, WIRE_OUT), "out".into());
        let fates = self.recording.fates;
        for (index, fate) in fates.iter().enumerate() {
            let next = fates.get(index + 1).map_or(u64::MAX, |next| next.arrival);
            let end = (fate.arrival + fate.bytes.div_ceil(BEAT_BYTES).max(1) as u64).min(next);
            let args = json!({ "frame": fate.frame, "bytes": fate.bytes });
            self.slice((WIRE, WIRE_IN), (fate.arrival, end), "frame in", "wire", args)?;
        }
        let recording = self.recording;
        for (cause, reply) in recording.replies() {
            let args = json!({ "frame": cause.map(|fate| fate.frame), "reply": reply.reply, "bytes": reply.bytes });
            self.slice((WIRE, WIRE_OUT), (reply.first, reply.last + 1), "frame out", "wire", args)?;
        }
        Ok(())
    }

    /// Packets with their stages. A lane holds one packet at a time; stages that overlap others get rows of their own below.
    fn packets(&mut self) -> Result<()> {
        let recording = self.recording;
        let mut lanes = Rows::default();
        // Rows of a lane: as many as any packet's stages may need.
        let rows = 1 + STAGES.len() * 4;
        for fate in recording.fates {
            let span = (fate.arrival, end_of(fate, recording.span.1));
            let lane = lanes.place(span.0, span.1.max(span.0 + 1));
            let mut nests = Nests::default();
            nests.place(span.0, span.1);
            let track = |row: usize| (PACKETS, 1 + lane * rows + row.min(rows - 1));
            self.tracks.entry(track(0)).or_insert_with(|| format!("packets {lane}"));
            let mut args = arguments(fate);
            args["arrival_cycle"] = json!(fate.arrival);
            self.slice(track(0), span, &format!("packet {}", fate.frame), "packet", args)?;
            let mut spans = stage_spans(fate);
            // The measure over several stages comes last: the stages themselves share the packet's row.
            spans.sort_by_key(|span| (STAGES[span.stage].0.contains(" to "), span.start));
            for span in spans {
                let row = nests.place(span.start, span.end);
                if row > 0 {
                    self.tracks.entry(track(row)).or_insert_with(|| format!("packets {lane}, overlap {row}"));
                }
                self.slice(track(row), (span.start, span.end), STAGES[span.stage].0, "stage", Value::Null)?;
            }
        }
        Ok(())
    }

    /// Handlers on the hardware threads of their HPUs; returns the first step of a flow for each task of each frame.
    fn handlers(&mut self) -> Result<Vec<Vec<Step>>> {
        let recording = self.recording;
        let mut tasks: Vec<(&FrameFate, usize)> =
            recording.fates.iter().flat_map(|fate| (0..fate.tasks.len()).map(move |task| (fate, task))).collect();
        tasks.sort_by_key(|(fate, task)| fate.tasks[*task].start);
        let hpus = recording.config.hpus;
        let mut steps: Vec<Vec<Step>> =
            recording.fates.iter().map(|fate| vec![((0, 0), 0); fate.tasks.len()]).collect();
        // By HPU and, where the trace reports one, by thread.
        let mut rows: BTreeMap<(usize, Option<u8>), Rows> = BTreeMap::new();
        for (fate, index) in tasks {
            let task = &fate.tasks[index];
            let end = task.end.unwrap_or_else(|| recording.span.1.max(task.start)).max(task.start + 1);
            let row = rows.entry((task.hpu, task.thread)).or_default().place(task.start, end);
            let (cluster, hpu) = (task.hpu / hpus, task.hpu % hpus);
            // Threads by report come first, threads by overlap after them.
            let (name, number) = match (task.thread, row) {
                (Some(thread), 0) => (format!("HPU {cluster}.{hpu}.{thread}"), usize::from(thread)),
                (Some(thread), _) => {
                    (format!("HPU {cluster}.{hpu}.{thread}, overlap {row}"), THREADS * (1 + row) + usize::from(thread))
                }
                (None, _) => (format!("HPU {cluster}.{hpu}, row {row} (thread not reported)"), 64 + row),
            };
            let track = (CLUSTERS + cluster, 1 + hpu * 128 + number.min(127));
            self.tracks.entry(track).or_insert(name);
            let mut args = arguments(fate);
            args["commands"] = json!(task.commands.len());
            if task.end.is_none() {
                args["unfinished"] = json!(true);
            }
            self.slice(track, (task.start, end), handler_name(recording.image, task), "handler", args)?;
            for command in &task.commands {
                self.instant(track, *command, "command", json!({ "frame": fate.frame }))?;
            }
            steps[fate.frame][index] = (track, task.start);
        }
        Ok(steps)
    }

    /// Transfers of the RVMA engine; returns the first step of a flow for each frame with a DMA write.
    fn transfers(&mut self) -> Result<Vec<Option<Step>>> {
        let recording = self.recording;
        let mut steps = vec![None; recording.fates.len()];
        for (kind, (name, from, to)) in TRANSFERS.into_iter().enumerate() {
            let mut spans = Vec::new();
            for fate in recording.fates {
                let mut since = None;
                for passage in &fate.passages {
                    if passage.point == to {
                        spans.extend(since.take().map(|start| (start, passage.cycle, fate.frame)));
                    }
                    if passage.point == from {
                        since = Some(passage.cycle);
                    }
                }
            }
            spans.sort_unstable();
            let mut rows = Rows::default();
            for (start, end, frame) in spans {
                let row = rows.place(start, end.max(start + 1));
                let track = (RVMA, 1 + kind * 4096 + row);
                self.tracks.entry(track).or_insert_with(|| format!("{name} {row}"));
                self.slice(track, (start, end.max(start + 1)), name, "rvma", json!({ "frame": frame }))?;
                if to == T_DMA_DONE {
                    steps[frame].get_or_insert((track, start));
                }
            }
        }
        let track = (RVMA, 1 + TRANSFERS.len() * 4096);
        for fate in recording.fates {
            for passage in fate.passages.iter().filter(|passage| passage.point == T_RECORD) {
                self.tracks.entry(track).or_insert_with(|| "completion records".into());
                self.instant(track, passage.cycle, "record", json!({ "frame": fate.frame }))?;
            }
        }
        Ok(steps)
    }

    /// Flows: packet to handler to reply, packet to handler without a reply, packet to DMA write.
    fn arrows(&mut self, handlers: &[Vec<Step>], transfers: &[Option<Step>]) -> Result<()> {
        let recording = self.recording;
        for fate in recording.fates {
            let arrival = ((WIRE, WIRE_IN), fate.arrival);
            let mut replied = vec![false; fate.tasks.len()];
            for reply in &fate.replies {
                let out = ((WIRE, WIRE_OUT), reply.first);
                match sender(fate, reply.first) {
                    Some(task) => {
                        replied[task] = true;
                        self.flow("reply", &[arrival, handlers[fate.frame][task], out])?;
                    }
                    None => self.flow("reply", &[arrival, out])?,
                }
            }
            for (step, _) in handlers[fate.frame].iter().zip(replied).filter(|(_, replied)| !replied) {
                self.flow("handler", &[arrival, *step])?;
            }
            if let Some(step) = transfers[fate.frame] {
                self.flow("placement", &[arrival, step])?;
            }
        }
        Ok(())
    }

    /// Names and order of processes and threads.
    fn names(&mut self) -> Result<()> {
        let tracks = std::mem::take(&mut self.tracks);
        let mut process = 0;
        for ((pid, tid), name) in &tracks {
            if *pid != process {
                process = *pid;
                let name = match *pid {
                    WIRE => "wire".to_owned(),
                    PACKETS => "packets".to_owned(),
                    RVMA => "RVMA engine".to_owned(),
                    cluster => format!("cluster {}", cluster - CLUSTERS),
                };
                // The engine's tracks are shown below the clusters'.
                let order = if *pid == RVMA { 1000 } else { *pid };
                self.metadata("process_name", (*pid, 0), json!({ "name": name }))?;
                self.metadata("process_sort_index", (*pid, 0), json!({ "sort_index": order }))?;
            }
            self.metadata("thread_name", (*pid, *tid), json!({ "name": name }))?;
            self.metadata("thread_sort_index", (*pid, *tid), json!({ "sort_index": tid }))?;
        }
        Ok(())
    }
}

/// The task that sent a reply, if only one task of the frame had issued commands before the reply.
fn sender(fate: &FrameFate, first: u64) -> Option<usize> {
    let mut candidates =
        (0..fate.tasks.len()).filter(|task| fate.tasks[*task].commands.iter().any(|cycle| *cycle <= first));
    candidates.next().filter(|_| candidates.next().is_none())
}
