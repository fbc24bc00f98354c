//! The tracks of a timeline: wire, packets, handlers, RVMA engine, and the arrows between their slices.

use super::spans::{end_of, stage_spans, Nests, Rows};
use super::timeline::{arguments, handler_name, Step, Timeline, CLUSTERS, MAILBOXES, PACKETS, RVMA, WIRE};
use crate::fates::FrameFate;
use crate::summary::STAGES;
use anyhow::Result;
use serde_json::{json, Value};
use spindle_contract::params::BEAT_BYTES;
use spindle_contract::reasons::{T_DMA_DONE, T_DMA_FIRST, T_LOOKED_UP, T_PLACEMENT, T_RECORD};
use std::collections::BTreeMap;
use std::io::Write;

/// Threads of the wire.
const WIRE_IN: usize = 1;
const WIRE_OUT: usize = 2;
/// Hardware threads of an HPU.
const THREADS: usize = 2;
/// Rows of a mailbox: more than packets that the RVMA engine has under way.
const MAILBOX_ROWS: usize = 4096;
/// Stages of the RVMA engine that have tracks: name, start, end.
const TRANSFERS: [(&str, usize, usize); 3] = [
    ("look-up", T_PLACEMENT, T_LOOKED_UP),
    ("placement", T_LOOKED_UP, T_DMA_FIRST),
    ("DMA write", T_DMA_FIRST, T_DMA_DONE),
];

impl<W: Write> Timeline<'_, W> {
    /// Frames on the wire. RX accepts a beat in each cycle of a frame.
    pub fn wire(&mut self) -> Result<()> {
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
    pub fn packets(&mut self) -> Result<()> {
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
    pub fn handlers(&mut self) -> Result<Vec<Vec<Step>>> {
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
    pub fn transfers(&mut self) -> Result<Vec<Option<Step>>> {
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

    /// Packets of each mailbox, from the look-up to the last answer of host memory, and its completion records.
    pub fn mailboxes(&mut self) -> Result<()> {
        let recording = self.recording;
        let mut rows: BTreeMap<usize, Rows> = BTreeMap::new();
        let mut spans = Vec::new();
        for fate in recording.fates {
            let Some(mailbox) = fate.mailbox else { continue };
            let start = fate.first(T_LOOKED_UP).unwrap_or(fate.arrival);
            let end = fate.first(T_DMA_DONE).unwrap_or(recording.span.1).max(start + 1);
            spans.push((start, end, mailbox, fate));
        }
        spans.sort_unstable_by_key(|(start, end, ..)| (*start, *end));
        for (start, end, mailbox, fate) in spans {
            let row = rows.entry(mailbox).or_default().place(start, end);
            let track = (MAILBOXES, 1 + mailbox * MAILBOX_ROWS + row.min(MAILBOX_ROWS - 1));
            self.tracks.entry(track).or_insert_with(|| match row {
                0 => format!("mailbox {mailbox}"),
                _ => format!("mailbox {mailbox}, row {row}"),
            });
            self.slice(track, (start, end), "packet", "mailbox", arguments(fate))?;
            for passage in fate.passages.iter().filter(|passage| passage.point == T_RECORD) {
                self.instant(track, passage.cycle, "record", json!({ "frame": fate.frame }))?;
            }
        }
        Ok(())
    }

    /// Flows: packet to handler to reply, packet to handler without a reply, packet to DMA write.
    pub fn arrows(&mut self, handlers: &[Vec<Step>], transfers: &[Option<Step>]) -> Result<()> {
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
}

/// The task that sent a reply, if only one task of the frame had issued commands before the reply.
fn sender(fate: &FrameFate, first: u64) -> Option<usize> {
    let mut candidates =
        (0..fate.tasks.len()).filter(|task| fate.tasks[*task].commands.iter().any(|cycle| *cycle <= first));
    candidates.next().filter(|_| candidates.next().is_none())
}
