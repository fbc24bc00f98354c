//! `--timeline`: the run in the Trace Event format, which Perfetto and chrome://tracing read.
//!
//! Every track is a thread of a process, so that slices on a track nest: the wire, the packets, each hardware thread of each HPU, the RVMA
//! engine. Events are written one by one, because a long run has millions.

use super::Recording;
use crate::fates::{FrameFate, TaskSpan};
use anyhow::Result;
use serde::Serialize;
use serde_json::{json, Value};
use spindle::image::ENTRY_SYMBOLS;
use spindle::Image;
use std::collections::BTreeMap;
use std::io::Write;

/// Process of the wire, of the packets, of the RVMA engine, of its mailboxes, and of cluster 0.
pub const WIRE: usize = 1;
pub const PACKETS: usize = 2;
pub const RVMA: usize = 3;
pub const MAILBOXES: usize = 4;
pub const CLUSTERS: usize = 10;
/// A track: process and thread.
pub type Track = (usize, usize);

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
pub struct Timeline<'a, W: Write> {
    pub recording: &'a Recording<'a>,
    output: W,
    /// Name of each track.
    pub tracks: BTreeMap<Track, String>,
    events: u64,
    flows: u64,
}

/// A point of a flow: track and cycle.
pub type Step = (Track, u64);

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

    /// A slice of a track.
    pub fn slice(&mut self, track: Track, span: (u64, u64), name: &str, cat: &str, args: Value) -> Result<()> {
        let nanoseconds = self.recording.nanoseconds(span.1) - self.recording.nanoseconds(span.0);
        let event = self.event("X", track, span.0, name, cat);
        self.emit(&Event { dur: Some(nanoseconds as f64 / 1000.0), args, ..event })
    }

    /// A moment on a track.
    pub fn instant(&mut self, track: Track, cycle: u64, name: &str, args: Value) -> Result<()> {
        let event = self.event("i", track, cycle, name, "instant");
        self.emit(&Event { s: Some("t"), args, ..event })
    }

    /// An arrow through the slices that enclose these points.
    pub fn flow(&mut self, name: &str, steps: &[Step]) -> Result<()> {
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
    timeline.mailboxes()?;
    timeline.arrows(&handlers, &transfers)?;
    timeline.names()?;
    timeline.output.write_all(b"\n]}\n")?;
    Ok(())
}

/// Known facts about a frame; facts that the trace does not report are absent.
pub fn arguments(fate: &FrameFate) -> Value {
    let mut args = json!({ "frame": fate.frame, "number": fate.number, "bytes": fate.bytes });
    let optional = [
        ("rule", json!(fate.rule)),
        ("context", json!(fate.context)),
        ("message", json!(fate.message)),
        ("mailbox", json!(fate.mailbox)),
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
                    MAILBOXES => "mailboxes".to_owned(),
                    cluster => format!("cluster {}", cluster - CLUSTERS),
                };
                // The engine's tracks are shown below the clusters'.
                let order = if [RVMA, MAILBOXES].contains(pid) { 1000 + *pid } else { *pid };
                self.metadata("process_name", (*pid, 0), json!({ "name": name }))?;
                self.metadata("process_sort_index", (*pid, 0), json!({ "sort_index": order }))?;
            }
            self.metadata("thread_name", (*pid, *tid), json!({ "name": name }))?;
            self.metadata("thread_sort_index", (*pid, *tid), json!({ "sort_index": tid }))?;
        }
        Ok(())
    }
}
