//! `--trace`: what happened on all NICs of a point, as CSV.

use anyhow::{Context, Result};
use spindle_contract::reasons::{DROP_REASONS, T_COMMAND, T_LOADED};
use spindle_sim::trace::point_name;
use spindle_sim::{End, FateEvent, Step, TraceLog};
use std::path::Path;

/// Kinds of handlers by number.
const KINDS: [&str; 4] = ["header", "payload", "completion", "task"];

/// A line of the file, but for its node.
struct Line {
    cycle: u64,
    frame: u16,
    unit: Option<usize>,
    event: String,
}

/// Writes the events of NICs in the order of cycles: cycle, node, frame number of that NIC, HPU, event. The events are the trace points of
/// the contract, and the steps of a frame: rule, message, handlers, mailbox, end.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, logs: &[TraceLog]) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let mut lines: Vec<(usize, Line)> = Vec::new();
    for (node, log) in logs.iter().enumerate() {
        let points = log.events().iter().map(|event| Line {
            cycle: event.cycle,
            frame: event.frame,
            unit: (T_LOADED..=T_COMMAND).contains(&event.point).then_some(event.unit),
            event: point_name(event.point).into(),
        });
        lines.extend(points.chain(log.fates().iter().map(step)).map(|line| (node, line)));
    }
    lines.sort_by_key(|(node, line)| (line.cycle, *node));
    let mut file = csv::Writer::from_path(path).with_context(failed)?;
    file.write_record(["cycle", "node", "frame", "hpu", "event"]).with_context(failed)?;
    for (node, line) in lines {
        let unit = line.unit.map_or(String::new(), |unit| unit.to_string());
        let record = [line.cycle.to_string(), node.to_string(), line.frame.to_string(), unit, line.event];
        file.write_record(record).with_context(failed)?;
    }
    file.flush().with_context(failed)
}

fn step(fate: &FateEvent) -> Line {
    let (unit, event) = match fate.step {
        Step::Judged { rule: None, .. } => (None, "no rule".into()),
        Step::Judged { rule: Some((rule, None)), .. } => (None, format!("rule {rule}")),
        Step::Judged { rule: Some((rule, Some(context))), .. } => (None, format!("rule {rule}, context {context}")),
        Step::Joined { slot, begins: true } => (None, format!("begins message {slot}")),
        Step::Joined { slot, begins: false } => (None, format!("joins message {slot}")),
        Step::Sent { kind, slot, unit } => {
            let kind = KINDS.get(usize::from(kind)).unwrap_or(&"unknown");
            (Some(unit), format!("{kind} handler of message {slot} sent"))
        }
        Step::Started { unit, thread } => (Some(unit), format!("handler started, thread {thread}")),
        Step::Bound { mailbox } => (None, format!("mailbox {mailbox}")),
        Step::Ended(End::Handled) => (None, "handled".into()),
        Step::Ended(End::Placed) => (None, "placed".into()),
        Step::Ended(End::Dropped(reason)) => {
            (None, format!("dropped: {}", DROP_REASONS.get(reason).map_or("unknown", |reason| reason.0)))
        }
    };
    Line { cycle: fate.cycle, frame: fate.frame, unit, event }
}
