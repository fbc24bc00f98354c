//! `spindle run --fates`: a file with a record for each frame that was played in.

use crate::fates::{FrameFate, TaskSpan};
use crate::summary::STAGES;
use anyhow::{bail, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `spindle run` for the file of fates.
#[derive(clap::Args)]
pub struct FateArguments {
    /// File with the fate of each packet: rule, context, message, mailbox, how it ended, drop reason, latency of each
    /// stage, handlers, bytes sent. CSV if the name ends in .csv; JSON, a line for each packet, if it ends in .json or
    /// .jsonl.
    #[arg(long, value_name = "FATES.csv", value_parser = fate_path)]
    pub fates: Option<PathBuf>,
}

/// Formats of the file.
enum Format {
    Csv,
    JsonLines,
}

/// The format that the name of a file asks for.
fn format_of(path: &Path) -> Result<Format> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        Some("csv") => Ok(Format::Csv),
        Some("json" | "jsonl") => Ok(Format::JsonLines),
        _ => bail!(
            "the name of the file of fates `{}` has no format; let it end in .csv, .json or .jsonl",
            path.display()
        ),
    }
}

/// A path with a known format, so that a wrong name is refused before the run.
///
/// # Errors
/// The name of the file has none of the endings.
pub fn fate_path(text: &str) -> Result<PathBuf> {
    let path = PathBuf::from(text);
    format_of(&path)?;
    Ok(path)
}

/// A line of JSON: the fate, and what follows from it.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    fate: &'a FrameFate,
    /// Cycles in each stage that the frame passed.
    stages: BTreeMap<&'static str, u64>,
    bytes_sent: usize,
}

/// Columns of the CSV file before those of the stages.
const COLUMNS: [&str; 11] = [
    "frame",
    "number",
    "bytes",
    "arrival",
    "rule",
    "context",
    "message",
    "mailbox",
    "disposition",
    "reason",
    "bytes_sent",
];

/// Writes the fates in the format that the name of the file asks for.
///
/// # Errors
/// The output cannot be written.
pub fn write(path: &Path, out: &mut dyn Write, fates: &[FrameFate]) -> Result<()> {
    match format_of(path)? {
        Format::Csv => write_csv(out, fates),
        Format::JsonLines => write_lines(out, fates),
    }
}

/// Header of a stage's column: `cycles_receive_and_parse`.
fn column(stage: &str) -> String {
    format!("cycles_{}", stage.to_lowercase().replace([' ', '-'], "_"))
}

/// `header@3.1:1042-1077`: kind, HPU and hardware thread, first and last cycle.
fn handler(task: &TaskSpan) -> String {
    let kind = task.kind.unwrap_or("?");
    let thread = task.thread.map_or_else(|| "?".to_owned(), |thread| thread.to_string());
    let end = task.end.map_or_else(String::new, |end| end.to_string());
    format!("{kind}@{}.{thread}:{}-{end}", task.hpu, task.start)
}

fn write_csv(out: impl Write, fates: &[FrameFate]) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let stages = STAGES.iter().map(|(stage, ..)| column(stage));
    csv.write_record(COLUMNS.iter().map(|name| (*name).to_owned()).chain(stages).chain(["handlers".to_owned()]))?;
    for fate in fates {
        let number = |value: Option<usize>| value.map_or_else(String::new, |value| value.to_string());
        let disposition = fate.disposition.map(serde_json::to_value).transpose()?;
        let mut row = vec![
            fate.frame.to_string(),
            fate.number.to_string(),
            fate.bytes.to_string(),
            fate.arrival.to_string(),
            number(fate.rule),
            number(fate.context),
            number(fate.message),
            number(fate.mailbox),
            disposition.as_ref().and_then(|name| name.as_str()).unwrap_or_default().to_owned(),
            fate.reason.unwrap_or_default().to_owned(),
            fate.bytes_sent().to_string(),
        ];
        let passed: BTreeMap<_, _> = fate.stage_cycles().into_iter().collect();
        row.extend(
            STAGES.iter().map(|(stage, ..)| passed.get(stage).map_or_else(String::new, |cycles| cycles.to_string())),
        );
        row.push(fate.tasks.iter().map(handler).collect::<Vec<_>>().join(" "));
        csv.write_record(row)?;
    }
    Ok(csv.flush()?)
}

fn write_lines(mut out: impl Write, fates: &[FrameFate]) -> Result<()> {
    for fate in fates {
        let line = Line { fate, stages: fate.stage_cycles().into_iter().collect(), bytes_sent: fate.bytes_sent() };
        serde_json::to_writer(&mut out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
