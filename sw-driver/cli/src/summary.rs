//! The report of a run: numbers, then text and JSON of the same numbers.

use crate::play::Played;
use crate::prints::Line;
use crate::run::{CycleBudget, FaultCount, Loads, OutOfOrder, Record, Shown};
use crate::session::Session;
use crate::table::table;
use anyhow::Result;
use serde::Serialize;
use spindle_contract::params::SLOT_BYTES;
use spindle_contract::reasons;
use spindle_sdk::Handler;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Distribution of a latency in cycles.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Distribution {
    /// How many were measured.
    pub count: usize,
    /// The least.
    pub min: u64,
    /// Half are at most this.
    pub median: u64,
    /// 99 of 100 are at most this.
    pub p99: u64,
    /// The most.
    pub max: u64,
    /// Start of each bucket and its count; buckets are equally wide.
    pub histogram: Vec<(u64, usize)>,
}

/// Buckets of a histogram.
const BUCKETS: u64 = 12;

impl Distribution {
    /// Of these values; `None` if there is none.
    pub fn of(mut values: Vec<u64>) -> Option<Distribution> {
        values.sort_unstable();
        let (min, max) = (*values.first()?, *values.last()?);
        let rank = |percent: usize| values[(values.len() * percent).div_ceil(100).max(1) - 1];
        let width = ((max - min) / BUCKETS + 1).max(1);
        let mut histogram: Vec<(u64, usize)> = (0..=(max - min) / width).map(|i| (min + i * width, 0)).collect();
        for value in &values {
            histogram[((value - min) / width) as usize].1 += 1;
        }
        Some(Distribution { count: values.len(), min, median: rank(50), p99: rank(99), max, histogram })
    }
}

/// Stages of a packet's walk: name, trace point at its start and at its end.
pub const STAGES: [(&str, usize, usize); 15] = [
    ("receive and parse", reasons::T_FIRST_BEAT, reasons::T_PARSED),
    ("match", reasons::T_PARSED, reasons::T_MATCHED),
    ("buffer", reasons::T_MATCHED, reasons::T_BUFFERED),
    ("schedule", reasons::T_BUFFERED, reasons::T_SCHEDULED),
    ("load", reasons::T_SCHEDULED, reasons::T_LOADED),
    ("start", reasons::T_LOADED, reasons::T_HANDLER_START),
    ("handler", reasons::T_HANDLER_START, reasons::T_HANDLER_END),
    ("egress", reasons::T_COMMAND, reasons::T_EGRESS_FIRST),
    ("send", reasons::T_EGRESS_FIRST, reasons::T_EGRESS_LAST),
    ("first beat to answer", reasons::T_FIRST_BEAT, reasons::T_EGRESS_FIRST),
    ("to placement", reasons::T_BUFFERED, reasons::T_PLACEMENT),
    ("look-up", reasons::T_PLACEMENT, reasons::T_LOOKED_UP),
    ("placement", reasons::T_LOOKED_UP, reasons::T_DMA_FIRST),
    ("DMA", reasons::T_DMA_FIRST, reasons::T_DMA_DONE),
    ("completion", reasons::T_DMA_DONE, reasons::T_RECORD),
];

/// A stage and its latency.
#[derive(Clone, Debug, Serialize)]
pub struct Stage {
    /// Its name.
    pub stage: &'static str,
    /// Cycles.
    pub cycles: Distribution,
}

/// Latency of every stage that some frame passed.
pub fn stages(session: &Session) -> Vec<Stage> {
    let mut sim = session.card.sim();
    let trace = sim.trace();
    STAGES
        .iter()
        .filter_map(|(stage, from, to)| Some(Stage { stage, cycles: Distribution::of(trace.latencies(*from, *to))? }))
        .collect()
}

/// The table of stages.
pub fn stage_table(stages: &[Stage]) -> String {
    let rows = stages.iter().map(|stage| {
        let c = &stage.cycles;
        [
            stage.stage.to_owned(),
            c.count.to_string(),
            c.min.to_string(),
            c.median.to_string(),
            c.p99.to_string(),
            c.max.to_string(),
        ]
    });
    table(["stage (cycles)", "count", "min", "median", "p99", "max"], rows, true)
}

/// A fault in the report.
#[derive(Clone, Debug, Serialize)]
pub struct FaultReport {
    /// Context.
    pub context: usize,
    /// Kind of handler.
    pub handler: &'static str,
    /// HPU, counted over all clusters.
    pub hpu: usize,
    /// Name of the cause.
    pub cause: &'static str,
    /// Meaning of the cause.
    pub meaning: &'static str,
    /// Program counter.
    pub pc: String,
    /// Function and offset, if the image has symbols.
    pub symbol: Option<String>,
    /// File and line, innermost inlined function first, if the image has debug information.
    pub source: Option<String>,
    /// Address of the access.
    pub address: String,
    /// Number of the frame.
    pub frame: u16,
}

/// What a run found.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Name of the handler.
    pub handler: String,
    /// "unchecked", or the result of the comparison with the model.
    pub checked: String,
    /// Name of the configuration.
    pub config: &'static str,
    /// Its clock.
    pub clock_mhz: u32,
    /// Frames played in.
    pub frames_in: u32,
    /// Frames that came out.
    pub answered: usize,
    /// Frames whose handlers ended well.
    pub handled: u32,
    /// Frames written to host memory by way of a mailbox.
    pub placed: u32,
    /// Frames dropped, by reason.
    pub dropped: BTreeMap<&'static str, u32>,
    /// Frames that have not come to an end.
    pub inside: u32,
    /// Cycles from the first beat in to the end.
    pub cycles: u64,
    /// First beat of a frame in to first beat of its answer.
    pub latency_cycles: Option<Distribution>,
    /// Latency by stage.
    pub stages: Vec<Stage>,
    /// Handlers that ran.
    pub tasks: u32,
    /// Of all HPUs' cycles, the share spent in handlers.
    pub hpu_utilisation: f64,
    /// Cycles in handlers, per HPU.
    pub hpu_busy_cycles: Vec<u32>,
    /// Instructions retired per handler that ran.
    pub instructions_per_handler: Option<f64>,
    /// Cycles per instruction in handlers.
    pub cycles_per_instruction: Option<f64>,
    /// The run was ended by a signal.
    pub interrupted: bool,
    /// Handlers that faulted.
    pub faults_total: u32,
    /// Faults by function and cause, the most frequent first; all but [`Summary::faults_lost`].
    pub fault_counts: Vec<FaultCount>,
    /// The first faults of each function and cause.
    pub faults: Vec<FaultReport>,
    /// Faults that found no room in the card's queue or event ring: counted, without function and cause.
    pub faults_lost: u32,
    /// Events that found the event ring full: faults, prints and ends of messages.
    pub events_lost: u64,
    /// Offered and achieved load.
    pub load: Loads,
    /// Cycles per packet, available and needed; `None` if no packet had a handler, or there was only one.
    pub cycles_per_packet: Option<CycleBudget>,
    /// Replies out of order.
    pub out_of_order: OutOfOrder,
    /// Answers that are the first bytes of a longer frame, of which a handler sees no more.
    pub answered_in_part: usize,
    /// Counters of FPsPIN handlers, a line each.
    pub counters: Vec<String>,
    /// Variables that were asked for.
    pub variables: Vec<Shown>,
    /// What handlers printed.
    pub prints: Vec<Line>,
    /// Pieces of up to eight characters that found no room in the queue.
    pub prints_lost: u32,
    /// Inputs and versions of the run.
    pub run: Record,
}

/// The parts of a report that modules of the run find.
pub struct Details {
    /// Offered and achieved load.
    pub load: Loads,
    /// Replies out of order.
    pub out_of_order: OutOfOrder,
    /// Answers that are the first bytes of a longer frame.
    pub answered_in_part: usize,
    /// Counters of FPsPIN handlers, a line each.
    pub counters: Vec<String>,
    /// The first faults of each function and cause.
    pub faults: Vec<FaultReport>,
    /// Faults by function and cause.
    pub fault_counts: Vec<FaultCount>,
    /// Variables that were asked for.
    pub variables: Vec<Shown>,
    /// Inputs and versions of the run.
    pub run: Record,
}

impl Summary {
    /// Collects everything.
    pub fn collect(session: &mut Session, handler: &Handler, played: &Played, details: Details) -> Result<Summary> {
        let stats = &played.stats;
        let cycles = played.span.1 - played.span.0;
        let load = session.device.hpu_load()?;
        let ratio = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
        let latency =
            played.replies.iter().filter_map(|reply| Some(reply.frame.first - played.arrivals[reply.cause?])).collect();
        Ok(Summary {
            handler: handler.name.clone(),
            checked: "unchecked".into(),
            config: session.config.name,
            clock_mhz: session.config.clock_mhz,
            frames_in: stats.frames_in,
            answered: played.replies.len(),
            handled: stats.frames_handled,
            placed: stats.frames_placed,
            dropped: stats.drop_reasons().collect(),
            inside: stats.inside(),
            cycles,
            latency_cycles: Distribution::of(latency),
            stages: stages(session),
            tasks: stats.tasks_done,
            hpu_utilisation: ratio(stats.busy_cycles, cycles * session.config.total_hpus() as u64).unwrap_or(0.0),
            hpu_busy_cycles: load.iter().map(|(busy, _)| *busy).collect(),
            instructions_per_handler: ratio(stats.instructions, stats.tasks_done.into()),
            cycles_per_instruction: ratio(stats.busy_cycles, stats.instructions),
            interrupted: played.interrupted,
            faults_total: stats.tasks_faulted,
            fault_counts: details.fault_counts,
            faults: details.faults,
            faults_lost: stats.tasks_faulted.saturating_sub(played.faults.len() as u32),
            events_lost: played.events_lost,
            cycles_per_packet: CycleBudget::of(
                session.config.total_hpus(),
                details.load.offered,
                stats.busy_cycles,
                stats.frames_handled + stats.drops[reasons::HANDLER_DROP] + stats.drops[reasons::HANDLER_FAIL],
                stats.frames_in,
            ),
            load: details.load,
            out_of_order: details.out_of_order,
            answered_in_part: details.answered_in_part,
            counters: details.counters,
            variables: details.variables,
            prints: played.printed.clone(),
            prints_lost: stats.prints_lost,
            run: details.run,
        })
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for line in &self.prints {
            let _ = writeln!(out, "{line}");
        }
        if self.prints_lost > 0 {
            let _ = writeln!(
                out,
                "print: {} pieces of text (up to 8 characters each) were lost, for the queue was full",
                self.prints_lost
            );
        }
        let nanoseconds = |cycles: u64| cycles as f64 * 1000.0 / f64::from(self.clock_mhz);
        let mut counts = vec![
            ["frames in".into(), self.frames_in.to_string()],
            ["answered (frames out)".into(), self.answered.to_string()],
            ["handled".into(), self.handled.to_string()],
            ["placed".into(), self.placed.to_string()],
        ];
        counts.extend(self.dropped.iter().map(|(reason, count)| [format!("dropped: {reason}"), count.to_string()]));
        if self.inside > 0 {
            counts.push(["still inside".into(), self.inside.to_string()]);
        }
        let _ = writeln!(out, "{}\n", table(["packets", "count"], counts, true));
        if let Some(latency) = &self.latency_cycles {
            let most = latency.histogram.iter().map(|(_, count)| *count).max().unwrap_or(1);
            let rows = latency.histogram.iter().map(|(start, count)| {
                [
                    start.to_string(),
                    format!("{:.0}", nanoseconds(*start)),
                    count.to_string(),
                    "#".repeat((count * 40).div_ceil(most)),
                ]
            });
            let time = |cycles| format!("{cycles} cycles = {:.0} ns", nanoseconds(cycles));
            let _ = writeln!(
                out,
                "First beat in to first beat of the answer, at {} MHz: median {}, p99 {}",
                self.clock_mhz,
                time(latency.median),
                time(latency.p99)
            );
            let _ = writeln!(out, "{}\n", table(["from cycles", "from ns", "answers", ""], rows, false));
        }
        if let Some(load) = self.load.text() {
            let _ = writeln!(out, "{load}\n");
        }
        if !self.stages.is_empty() {
            let _ = writeln!(out, "{}\n", stage_table(&self.stages));
        }
        let _ = writeln!(
            out,
            "HPU utilisation {:.1} % of {} HPUs over {} cycles; {} handlers ran",
            100.0 * self.hpu_utilisation,
            self.hpu_busy_cycles.len(),
            self.cycles,
            self.tasks
        );
        if let (Some(instructions), Some(cpi)) = (self.instructions_per_handler, self.cycles_per_instruction) {
            let _ = writeln!(out, "{instructions:.1} instructions per handler, {cpi:.2} cycles per instruction");
        }
        if let Some(budget) = &self.cycles_per_packet {
            let _ = writeln!(out, "{}", budget.text());
        }
        if self.out_of_order.replies > 0 {
            let _ = writeln!(
                out,
                "{} replies left after the reply to a later packet, {} of them within {} flows ({})",
                self.out_of_order.replies,
                self.out_of_order.within_flows,
                self.out_of_order.flows,
                self.out_of_order.flow
            );
        }
        let unchecked = ["bad_ip_checksum", "bad_udp_checksum", "bad_icmp_checksum"];
        let wrong: u32 = unchecked.iter().filter_map(|reason| self.dropped.get(reason)).sum();
        if wrong > 0 {
            let _ = writeln!(
                out,
                "{wrong} packets have wrong checksums; a capture of a sender with checksum offload has unfinished ones, \
                 which --fix-checksums computes"
            );
        }
        if self.answered_in_part > 0 {
            let _ = writeln!(
                out,
                "warning: {} answers are the first {SLOT_BYTES} bytes of longer frames, of which a handler sees no more; \
                 drop such frames (spin_whole_frame), or send without SPIN_SEND_UNSEEN",
                self.answered_in_part
            );
        }
        for counter in &self.counters {
            let _ = writeln!(out, "{counter}");
        }
        for variable in &self.variables {
            let _ = writeln!(out, "variable: {variable}");
        }
        if self.faults_total > 0 {
            let _ = writeln!(out, "{} handlers faulted:", self.faults_total);
        }
        for count in &self.fault_counts {
            let function = count.function.as_deref().unwrap_or("outside all functions");
            let _ = writeln!(out, "faults: {} of {} in {function}", count.count, count.cause);
        }
        for fault in &self.faults {
            let symbol = fault.symbol.as_deref().unwrap_or("no symbol");
            let source = fault.source.as_ref().map_or_else(String::new, |source| format!(", {source}"));
            let _ = writeln!(
                out,
                "fault: context {}, {} handler of frame {} on HPU {}: {} ({}) at pc {} ({symbol}{source}), address {}",
                fault.context,
                fault.handler,
                fault.frame,
                fault.hpu,
                fault.cause,
                fault.meaning,
                fault.pc,
                fault.address
            );
        }
        if self.faults_lost > 0 {
            let _ = writeln!(
                out,
                "faults: {} without function and cause, since the card's queue was full (--event-ring has more room)",
                self.faults_lost
            );
        }
        if self.events_lost > 0 {
            let _ = writeln!(out, "{} events found the event ring full", self.events_lost);
        }
        if self.interrupted {
            let _ = writeln!(
                out,
                "INTERRUPTED: {} of {} packets entered, {} were still inside at the end",
                self.frames_in, self.run.capture.packets, self.inside
            );
        }
        let _ = writeln!(out, "{}: {}", self.handler, self.checked);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Distribution;

    #[test]
    fn ranks_and_buckets() {
        let d = Distribution::of((1..=100).rev().collect()).unwrap();
        assert_eq!((d.count, d.min, d.median, d.p99, d.max), (100, 1, 50, 99, 100));
        assert_eq!(d.histogram.iter().map(|(_, count)| count).sum::<usize>(), 100);
        assert_eq!(Distribution::of(vec![7]).unwrap().histogram, [(7, 1)]);
        assert_eq!(Distribution::of(vec![]), None);
        let wide = Distribution::of(vec![0, u64::MAX / 2]).unwrap();
        assert!(wide.histogram.len() <= 13);
    }
}
