//! `spindle trace`: when packets passed the stages of the card.

use super::live::{Live, Patience, Stop};
use super::values::seconds;
use crate::table::table;
use anyhow::Result;
use serde_json::{json, Value};
use spindle::trace::TraceRecord;
use spindle_contract::reasons::{TRACE_HPU_FIRST, TRACE_HPU_POINTS, TRACE_POINTS};
use std::io::Write;

/// Arguments of `spindle trace`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// Follow every N-th packet, a power of two up to 32768. A packet is followed until the next one that is selected
    /// arrives, so a larger number sees more of each.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = every)]
    pub every: u32,
    /// End after so many packets.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    pub packets: u64,
    /// End after so many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub timeout: f64,
    /// Print JSON, one line for each packet.
    #[arg(long)]
    pub json: bool,
}

fn every(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is no power of two from 1 to 32768");
    let every: u32 = text.parse().map_err(|_| wrong())?;
    (every.is_power_of_two() && every <= 1 << 15).then_some(every).ok_or_else(wrong)
}

/// A packet that was followed.
#[derive(Clone, Debug, Default)]
struct Followed {
    frame: u16,
    /// Stage, cycle and HPU.
    stages: Vec<(usize, u32, usize)>,
}

/// Follows packets and prints each.
///
/// # Errors
/// The card does not answer, or the output cannot be written.
pub fn run(arguments: &Arguments, live: &mut Live, out: &mut dyn Write, stop: &Stop) -> Result<()> {
    live.device.start_trace(arguments.every.ilog2())?;
    let followed = follow(arguments, live, out, stop);
    live.device.stop_trace()?;
    followed
}

fn follow(arguments: &Arguments, live: &mut Live, out: &mut dyn Write, stop: &Stop) -> Result<()> {
    let patience = Patience::new(stop, Some(arguments.timeout));
    let (mut next, mut lost, mut printed) = (0, 0, 0);
    let mut open: Option<Followed> = None;
    while printed < arguments.packets {
        let news = live.wait(&patience, |live| {
            let trace = live.device.trace_since(next)?;
            Ok((!trace.records.is_empty()).then_some(trace))
        })?;
        let Some(trace) = news else { break };
        next += trace.records.len() as u32 + trace.lost;
        lost += trace.lost;
        for record in &trace.records {
            // The next packet that is selected ends the one before.
            if open.as_ref().is_some_and(|packet| packet.frame != record.frame) {
                print(arguments, &open.take().unwrap_or_default(), out)?;
                printed += 1;
                if printed == arguments.packets {
                    break;
                }
            }
            let packet = open.get_or_insert_with(|| Followed { frame: record.frame, stages: Vec::new() });
            packet.stages.extend(stages(record));
        }
    }
    if let Some(packet) = open.filter(|_| printed < arguments.packets) {
        print(arguments, &packet, out)?;
        printed += 1;
    }
    if lost > 0 {
        eprintln!(
            "spindle: {lost} records were overwritten before they were read; a larger --every follows fewer packets"
        );
    }
    if printed == 0 {
        eprintln!("spindle: no packet came; reception is {}", if live.device.receives()? { "on" } else { "off" });
    }
    Ok(())
}

fn stages(record: &TraceRecord) -> impl Iterator<Item = (usize, u32, usize)> + '_ {
    record.stages.iter().map(|stage| (*stage, record.cycle, record.hpu))
}

fn print(arguments: &Arguments, packet: &Followed, out: &mut dyn Write) -> Result<()> {
    let first = packet.stages.first().map_or(0, |stage| stage.1);
    let of_hpu = |stage: usize| (TRACE_HPU_FIRST..TRACE_HPU_FIRST + TRACE_HPU_POINTS).contains(&stage);
    if arguments.json {
        let stages: Vec<Value> = packet
            .stages
            .iter()
            .map(|(stage, cycle, hpu)| {
                let hpu = of_hpu(*stage).then_some(hpu);
                json!({"stage": TRACE_POINTS[*stage].0, "cycle": cycle.wrapping_sub(first), "hpu": hpu})
            })
            .collect();
        writeln!(out, "{}", json!({"frame": packet.frame, "first_cycle": first, "stages": stages}))?;
        return Ok(());
    }
    let mut before = first;
    let rows: Vec<[String; 5]> = packet
        .stages
        .iter()
        .map(|(stage, cycle, hpu)| {
            let step = cycle.wrapping_sub(before);
            before = *cycle;
            let (name, meaning) = TRACE_POINTS[*stage];
            let hpu = if of_hpu(*stage) { hpu.to_string() } else { String::new() };
            [name.into(), cycle.wrapping_sub(first).to_string(), format!("+{step}"), hpu, meaning.into()]
        })
        .collect();
    writeln!(out, "frame {}, first seen in cycle {first} (low half)", packet.frame)?;
    writeln!(out, "{}\n", table(["stage", "cycle", "step", "HPU", "meaning"], rows, false))?;
    out.flush()?;
    Ok(())
}
