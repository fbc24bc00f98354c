//! `spindle events`: the event ring of a process.

use super::listener::{self, Listener};
use super::live::{Live, Patience, Stop};
use super::values::seconds;
use anyhow::Result;
use serde_json::{json, Value};
use spindle::events::Outcome;
use spindle::{Event, EventKind};
use spindle_contract::wire::{status, NACKS};
use std::io::Write;

/// Arguments of `spindle events`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// Process whose events are printed [default: 0; of a share of spindled, such as /run/spindle/process3.sock, its own].
    #[arg(long)]
    pub process: Option<usize>,
    /// Print JSON, one line for each event.
    #[arg(long)]
    pub json: bool,
    /// End after so many events.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// End after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<f64>,
    /// Places of the ring: a power of two. The card counts events that find the ring full.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub records: usize,
}

/// Opens the ring of the process, prints what comes, closes the ring.
///
/// # Errors
/// There is no such process, the card does not answer, or the output cannot be written.
pub fn run(arguments: &Arguments, live: &mut Live, out: &mut dyn Write, stop: &Stop) -> Result<()> {
    let process = arguments.process.or(live.share).unwrap_or(0);
    live.as_process(process, |live| {
        let mut listener = Listener::open(live, process, arguments.records)?;
        let followed = follow(arguments, live, &mut listener, out, stop);
        listener.close(live)?;
        followed
    })
}

fn follow(
    arguments: &Arguments,
    live: &mut Live,
    listener: &mut Listener,
    out: &mut dyn Write,
    stop: &Stop,
) -> Result<()> {
    let patience = Patience::new(stop, arguments.timeout);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 {
        let Some(event) = listener.wait(live, &patience, listener::next)? else { break };
        let line = if arguments.json { object(&event).to_string() } else { text(&event) };
        writeln!(out, "{line}")?;
        out.flush()?;
        left -= 1;
    }
    Ok(())
}

/// Name of the reason of a refusal.
pub fn refusal(code: u8) -> String {
    let known = NACKS.iter().find(|(_, number, _)| *number == code);
    known.map_or_else(|| format!("code {code}"), |(name, _, meaning)| format!("{}: {meaning}", name.to_lowercase()))
}

/// Name of the status of a completion record.
pub fn status_name(code: u8) -> &'static str {
    match code {
        status::DONE => "complete",
        status::PARTIAL => "partial",
        status::CANCELLED => "cancelled",
        _ => "of an unknown status",
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Dropped => "dropped",
        Outcome::Failed => "failed",
        Outcome::Aged => "aged",
    }
}

/// An event as a line.
pub fn text(event: &Event) -> String {
    let context = event.context.0;
    let what = match &event.kind {
        EventKind::Message { outcome: how, id, length, dropped, source, .. } => format!(
            "context {context}: message {id:#x} of node {source}, {length} bytes: {}, {dropped} bytes dropped",
            outcome(*how)
        ),
        EventKind::TaskFailed { argument } => format!("context {context}: task {argument:#x} failed"),
        EventKind::Fault(fault) => format!(
            "context {context}: fault {} in the {} handler, frame {}, HPU {}.{}, pc {:#010x}, address {:#010x}: {}",
            fault.cause_text().0,
            fault.kind_text(),
            fault.frame,
            fault.cluster,
            fault.hpu,
            fault.pc,
            fault.address,
            fault.cause_text().1
        ),
        EventKind::Print(print) => {
            format!("context {context}: print {:?}", String::from_utf8_lossy(&print.text))
        }
        EventKind::User { user, length } => format!("context {context}: user {user:#018x}, length {length}"),
        EventKind::Complete { user, length } => format!("context {context}: complete {user:#018x}, length {length}"),
        EventKind::Put { number, acknowledged, refusal: code, length, node, address, .. } => {
            let end = match (acknowledged, code) {
                (true, _) => "acknowledged".into(),
                (false, Some(code)) => format!("refused ({})", refusal(*code)),
                (false, None) => "not acknowledged".into(),
            };
            format!("put {number} to {address:#x} of node {node}, {length} bytes: {end}")
        }
        EventKind::Buffer { mailbox, status, length, epoch, .. } => {
            format!("mailbox {mailbox}: buffer of epoch {epoch}: {}, {length} bytes", status_name(*status))
        }
        EventKind::Lost(count) => format!("{count} events lost: the ring was full"),
        other => format!("{other:?}"),
    };
    format!("{}: {what}", event.number)
}

/// An event as JSON.
pub fn object(event: &Event) -> Value {
    let mut object = match &event.kind {
        EventKind::Message { outcome: how, id, length, dropped, source, match_bits, flow_control } => json!({
            "kind": "message", "outcome": outcome(*how), "id": id, "length": length, "dropped": dropped,
            "source": source, "match_bits": match_bits, "flow_control": flow_control,
        }),
        EventKind::TaskFailed { argument } => json!({"kind": "task_failed", "argument": argument}),
        EventKind::Fault(fault) => json!({
            "kind": "fault", "cause": fault.cause_text().0, "handler": fault.kind_text(), "frame": fault.frame,
            "cluster": fault.cluster, "hpu": fault.hpu, "pc": fault.pc, "address": fault.address,
        }),
        EventKind::Print(print) => json!({
            "kind": "print", "cluster": print.cluster, "hpu": print.hpu, "frame": print.frame,
            "text": String::from_utf8_lossy(&print.text),
        }),
        EventKind::User { user, length } => json!({"kind": "user", "user": user, "length": length}),
        EventKind::Complete { user, length } => json!({"kind": "complete", "user": user, "length": length}),
        EventKind::Put { number, acknowledged, refusal: code, id, length, node, address } => json!({
            "kind": "put", "put": number, "acknowledged": acknowledged, "refusal": code.map(refusal), "id": id,
            "length": length, "node": node, "address": address,
        }),
        EventKind::Buffer { mailbox, status, length, high_water, epoch, buffer } => json!({
            "kind": "buffer", "mailbox": mailbox, "status": status_name(*status), "length": length,
            "high_water": high_water, "epoch": epoch, "buffer": buffer,
        }),
        EventKind::Lost(count) => json!({"kind": "lost", "count": count}),
        other => json!({"kind": "other", "value": format!("{other:?}")}),
    };
    object["number"] = event.number.into();
    object["context"] = event.context.0.into();
    object
}
