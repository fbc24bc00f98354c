//! Numbers of the HTML page: series over time, distributions, and the columns of the packet table.

use super::spans::{end_of, latencies, rank};
use super::Recording;
use crate::fates::{Disposition, FrameFate};
use crate::source_lines::{source_lines, SourceLine};
use serde::Serialize;
use serde_json::Value;

/// Intervals of the series over time.
const INTERVALS: u64 = 160;
/// Bars of a histogram, at most.
const BARS: u64 = 40;

/// Everything that the page shows.
#[derive(Serialize)]
pub struct PageData<'a> {
    pub program: &'static str,
    pub handler: &'a str,
    pub config: &'static str,
    pub clock_mhz: u32,
    pub hpus_per_cluster: usize,
    pub rules: &'a [String],
    pub report: &'a Value,
    pub series: Series,
    pub latencies: Vec<Latency>,
    /// Source lines of each fault of the report.
    pub fault_lines: Vec<Vec<SourceLine>>,
    pub packets: Packets,
}

/// Series over time; each value covers `width` cycles.
#[derive(Debug, Serialize)]
pub struct Series {
    /// Cycle at the start of the first interval.
    pub start: u64,
    /// Cycles of an interval.
    pub width: u64,
    /// Bytes that arrived.
    pub offered: Vec<u64>,
    /// Bytes of the frames that ended without a drop.
    pub achieved: Vec<u64>,
    /// Bytes sent.
    pub sent: Vec<u64>,
    /// For each HPU, cycles in which at least one of its threads ran a handler.
    pub busy: Vec<Vec<u64>>,
}

/// Distribution of a stage's latency in cycles.
#[derive(Debug, Serialize)]
pub struct Latency {
    pub stage: &'static str,
    pub count: usize,
    pub min: u64,
    pub median: u64,
    pub p99: u64,
    pub max: u64,
    /// Cycles of a bar; the first bar starts at `min`.
    pub width: u64,
    pub bars: Vec<usize>,
}

/// Columns of the packet table; entry i of each column belongs to frame i.
#[derive(Debug, Default, Serialize)]
pub struct Packets {
    pub number: Vec<u16>,
    pub arrival: Vec<u64>,
    pub bytes: Vec<usize>,
    pub fate: Vec<&'static str>,
    pub reason: Vec<Option<&'static str>>,
    pub rule: Vec<Option<usize>>,
    pub context: Vec<Option<usize>>,
    pub message: Vec<Option<usize>>,
    /// HPUs that ran handlers of the frame.
    pub hpus: Vec<Vec<usize>>,
    /// Cycles in handlers.
    pub handler_cycles: Vec<u64>,
    /// Cycles from the first beat in to the first beat of the first reply.
    pub latency: Vec<Option<u64>>,
    pub replies: Vec<usize>,
    pub bytes_sent: Vec<usize>,
}

impl<'a> PageData<'a> {
    /// Of a run.
    pub fn of(recording: &'a Recording) -> PageData<'a> {
        PageData {
            program: concat!("spindle ", env!("CARGO_PKG_VERSION")),
            handler: recording.handler,
            config: recording.config.name,
            clock_mhz: recording.config.clock_mhz,
            hpus_per_cluster: recording.config.hpus,
            rules: recording.rules,
            report: recording.report,
            series: Series::of(recording),
            latencies: latencies(recording.fates)
                .into_iter()
                .map(|(stage, values)| Latency::of(stage, &values))
                .collect(),
            fault_lines: fault_lines(recording),
            packets: Packets::of(recording),
        }
    }
}

/// Source lines of every fault of the report, by its program counter.
fn fault_lines(recording: &Recording) -> Vec<Vec<SourceLine>> {
    let faults = recording.report["faults"].as_array().map_or(&[][..], Vec::as_slice);
    let address = |fault: &Value| u32::from_str_radix(fault["pc"].as_str()?.trim_start_matches("0x"), 16).ok();
    faults
        .iter()
        .map(|fault| address(fault).map(|address| source_lines(recording.elf, address)).unwrap_or_default())
        .collect()
}

/// Name of a fate as the page shows and filters it.
pub fn fate_name(fate: &FrameFate) -> &'static str {
    match fate.disposition {
        Some(Disposition::Handled) => "handled",
        Some(Disposition::Placed) => "placed",
        Some(Disposition::Dropped) => "dropped",
        Some(Disposition::Inside) => "inside",
        None => "not reported",
    }
}

/// Whether a frame counts for the achieved load: by its disposition, or without one, if a handler or a DMA write ended.
fn achieved(fate: &FrameFate) -> bool {
    match fate.disposition {
        Some(disposition) => matches!(disposition, Disposition::Handled | Disposition::Placed),
        None => {
            fate.tasks.iter().any(|task| task.end.is_some())
                || fate.first(spindle_contract::reasons::T_DMA_DONE).is_some()
        }
    }
}

impl Series {
    fn of(recording: &Recording) -> Series {
        let (start, end) = recording.span;
        let last = recording.fates.iter().map(|fate| end_of(fate, end)).chain([end]).fold(start, u64::max);
        let width = ((last - start) / INTERVALS + 1).max(1);
        let intervals = ((last - start) / width + 1) as usize;
        let index = |cycle: u64| ((cycle.max(start) - start) / width) as usize;
        let mut series = Series {
            start,
            width,
            offered: vec![0; intervals],
            achieved: vec![0; intervals],
            sent: vec![0; intervals],
            busy: vec![vec![0; intervals]; recording.config.total_hpus()],
        };
        for fate in recording.fates {
            series.offered[index(fate.arrival)] += fate.bytes as u64;
            if achieved(fate) {
                series.achieved[index(end_of(fate, end))] += fate.bytes as u64;
            }
        }
        for (_, reply) in recording.replies() {
            series.sent[index(reply.first.min(last))] += reply.bytes as u64;
        }
        let mut tasks: Vec<_> = recording.fates.iter().flat_map(|fate| &fate.tasks).collect();
        tasks.sort_by_key(|task| task.start);
        // Cycle up to which an HPU's time is counted: its two threads may run at the same time.
        let mut counted = vec![start; series.busy.len()];
        for task in tasks {
            let until = task.end.unwrap_or(last).min(last);
            let mut from = task.start.max(counted[task.hpu]);
            counted[task.hpu] = counted[task.hpu].max(until);
            while from < until {
                let interval = index(from);
                let to = until.min(start + (interval as u64 + 1) * width);
                series.busy[task.hpu][interval] += to - from;
                from = to;
            }
        }
        series
    }
}

impl Latency {
    fn of(stage: &'static str, sorted: &[u64]) -> Latency {
        let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
        let width = (max - min) / BARS + 1;
        let mut bars = vec![0; ((max - min) / width + 1) as usize];
        for value in sorted {
            bars[((value - min) / width) as usize] += 1;
        }
        Latency { stage, count: sorted.len(), min, median: rank(sorted, 50), p99: rank(sorted, 99), max, width, bars }
    }
}

impl Packets {
    fn of(recording: &Recording) -> Packets {
        let mut packets = Packets::default();
        for fate in recording.fates {
            packets.number.push(fate.number);
            packets.arrival.push(fate.arrival);
            packets.bytes.push(fate.bytes);
            packets.fate.push(fate_name(fate));
            packets.reason.push(fate.reason);
            packets.rule.push(fate.rule);
            packets.context.push(fate.context);
            packets.message.push(fate.message);
            let mut hpus: Vec<usize> = fate.tasks.iter().map(|task| task.hpu).collect();
            hpus.dedup();
            packets.hpus.push(hpus);
            packets.handler_cycles.push(
                fate.tasks.iter().map(|task| task.end.unwrap_or(recording.span.1).saturating_sub(task.start)).sum(),
            );
            packets.latency.push(fate.replies.first().map(|reply| reply.first.saturating_sub(fate.arrival)));
            packets.replies.push(fate.replies.len());
            packets.bytes_sent.push(fate.bytes_sent());
        }
        packets
    }
}
