//! `spindle stats`: all counters of a running card.

use super::live::{Live, Patience, Stop};
use super::values::seconds;
use crate::table::table;
use anyhow::Result;
use serde_json::{json, Map, Value};
use spindle::counters::{ContextCounters, Counter, Counters};
use std::io::Write;

/// Arguments of `spindle stats`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Arguments {
    /// Print JSON: one object, and with --watch one line for each interval.
    #[arg(long)]
    pub json: bool,
    /// Print again after so many seconds, with rates, until Ctrl-C.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub watch: Option<f64>,
    /// Intervals to print with --watch.
    #[arg(long, value_name = "N", requires = "watch", value_parser = clap::value_parser!(u64).range(1..))]
    pub intervals: Option<u64>,
    /// Print counters that are 0 as well.
    #[arg(long)]
    pub all: bool,
}

/// Prints the counters.
///
/// # Errors
/// The card does not answer, or the output cannot be written.
pub fn run(arguments: &Arguments, live: &mut Live, out: &mut dyn Write, stop: &Stop) -> Result<()> {
    let mut before: Option<Counters> = None;
    let mut left = arguments.intervals.unwrap_or(if arguments.watch.is_some() { u64::MAX } else { 1 });
    loop {
        let now = live.device.counters()?;
        if arguments.json {
            let object = object(live, &now, before.as_ref());
            let text = match arguments.watch {
                Some(_) => object.to_string(),
                None => serde_json::to_string_pretty(&object)?,
            };
            writeln!(out, "{text}")?;
        } else {
            writeln!(out, "{}", text(live, &now, before.as_ref(), arguments.all))?;
        }
        out.flush()?;
        left -= 1;
        let Some(interval) = arguments.watch.filter(|_| left > 0) else { return Ok(()) };
        live.wait(&Patience::new(stop, Some(interval)), |_| Ok(None::<()>))?;
        if stop.is_set() {
            return Ok(());
        }
        before = Some(now);
    }
}

/// How much a counter has grown, and how much that is in a second of the card's time.
pub fn rate(live: &Live, now: &Counters, before: &Counters, grown: u64) -> f64 {
    let time = live.seconds(now.cycle.saturating_sub(before.cycle));
    if time > 0.0 {
        grown as f64 / time
    } else {
        0.0
    }
}

/// Three significant digits with a prefix: `12.3 M`.
pub fn short(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 1e9 => (v / 1e9, " G"),
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e3 => (v / 1e3, " k"),
        v => (v, ""),
    };
    let digits = match scaled {
        s if s == 0.0 || s >= 100.0 => 0,
        s if s >= 10.0 => 1,
        _ => 2,
    };
    format!("{scaled:.digits$}{unit}")
}

/// The value that a counter had before.
fn earlier<'a>(before: Option<&'a Counters>, counter: &Counter) -> Option<&'a Counter> {
    before?.get(counter.page, &counter.name)
}

fn text(live: &Live, now: &Counters, before: Option<&Counters>, all: bool) -> String {
    let per_second = |grown: Option<u64>| match (grown, before) {
        (Some(grown), Some(before)) => short(rate(live, now, before, grown)),
        _ => String::new(),
    };
    let shown = now.counters.iter().filter(|counter| all || counter.value > 0);
    let mut rows: Vec<[String; 4]> = shown
        .map(|counter| {
            let grown = earlier(before, counter).filter(|_| !counter.level).map(|was| counter.since(was.value));
            let meaning = counter.meaning.split(", low half").next().unwrap_or_default();
            [
                format!("{}.{}", counter.page, counter.name),
                counter.value.to_string(),
                per_second(grown),
                meaning.to_owned(),
            ]
        })
        .collect();
    let meanings = spindle_contract::reasons::DROP_REASONS.iter().map(|(_, meaning)| *meaning);
    for (reason, ((name, count), meaning)) in now.drop_reasons().zip(meanings).enumerate() {
        if all || count > 0 {
            let grown = before.map(|before| u64::from(count.wrapping_sub(before.drops[reason])));
            rows.push([format!("drops.{name}"), count.to_string(), per_second(grown), meaning.to_owned()]);
        }
    }
    let mut out = format!("{}, cycle {} ({:.6} s)\n", live.identity.address, now.cycle, live.seconds(now.cycle));
    out.push_str(&table(["counter", "value", "per second", "meaning"], rows, false));
    for part in [contexts(live, now, before), hpus(live, now, before)].into_iter().flatten() {
        out.push_str("\n\n");
        out.push_str(&part);
    }
    out
}

/// A context that is loaded, or has counted something since the card's reset.
struct Owner {
    context: usize,
    /// Name and process of a resident; another context is that of a program.
    resident: Option<(String, u8)>,
}

fn owners(live: &Live, now: &Counters) -> Vec<Owner> {
    let residents = live.device.residents();
    let owner = |context| {
        let resident = residents.iter().find(|resident| resident.context.0 == context);
        Owner { context, resident: resident.map(|resident| (resident.name.clone(), resident.process)) }
    };
    let shown = |owner: &Owner| {
        let counted = now.contexts[owner.context] != ContextCounters::default();
        owner.resident.is_some() || counted || now.live[owner.context] > 0
    };
    (0..now.contexts.len()).map(owner).filter(shown).collect()
}

/// Contexts, their work and the frames that were dropped of each.
fn contexts(live: &Live, now: &Counters, before: Option<&Counters>) -> Option<String> {
    let owners = owners(live, now);
    let rows: Vec<[String; 10]> = owners
        .iter()
        .map(|owner| {
            let counters = &now.contexts[owner.context];
            let tasks = before.map(|before| counters.since(&before.contexts[owner.context]).tasks.into());
            let rate = tasks.zip(before).map(|(tasks, before)| short(rate(live, now, before, tasks)));
            let (name, process) = owner.resident.clone().unzip();
            [
                owner.context.to_string(),
                name.unwrap_or_else(|| "-".into()),
                process.map_or("-".into(), |process| process.to_string()),
                now.live[owner.context].to_string(),
                counters.tasks.to_string(),
                rate.unwrap_or_default(),
                counters.faulted.to_string(),
                counters.instructions.to_string(),
                counters.cycles.to_string(),
                counters.dropped().to_string(),
            ]
        })
        .collect();
    let heads = [
        "context",
        "name",
        "process",
        "live messages",
        "tasks",
        "per second",
        "faulted",
        "instructions",
        "cycles",
        "dropped",
    ];
    let drops: Vec<[String; 3]> = owners
        .iter()
        .flat_map(|owner| {
            let reasons = now.contexts[owner.context].drop_reasons();
            reasons.map(|(name, count)| [owner.context.to_string(), name.to_owned(), count.to_string()])
        })
        .collect();
    let reasons = (!drops.is_empty()).then(|| table(["context", "frames dropped for", "frames"], drops, false));
    (!rows.is_empty())
        .then(|| [Some(table(heads, rows, false)), reasons].into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

fn hpus(live: &Live, now: &Counters, before: Option<&Counters>) -> Option<String> {
    let per_cluster = live.device.info().hpus;
    let busy = now.hpus.iter().any(|hpu| hpu.tasks > 0 || hpu.busy > 0);
    let rows = now.hpus.iter().enumerate().map(|(i, hpu)| {
        let load = before.map_or(String::new(), |before| format!("{:.1} %", 100.0 * load(now, before, i)));
        [format!("{}.{}", i / per_cluster, i % per_cluster), hpu.tasks.to_string(), hpu.busy.to_string(), load]
    });
    busy.then(|| table(["HPU", "tasks", "busy cycles", "busy"], rows, true))
}

/// Share of the cycles since `before` in which an HPU was in a handler.
pub fn load(now: &Counters, before: &Counters, hpu: usize) -> f64 {
    let cycles = now.cycle.saturating_sub(before.cycle);
    let busy = now.hpus[hpu].busy.wrapping_sub(before.hpus[hpu].busy);
    if cycles == 0 {
        0.0
    } else {
        f64::from(busy) / cycles as f64
    }
}

fn object(live: &Live, now: &Counters, before: Option<&Counters>) -> Value {
    let mut pages: Map<String, Value> = Map::new();
    let mut rates: Map<String, Value> = Map::new();
    for counter in &now.counters {
        let page = pages.entry(counter.page).or_insert_with(|| json!({}));
        page[&counter.name] = counter.value.into();
        if let (Some(was), Some(before), false) = (earlier(before, counter), before, counter.level) {
            let rate = rate(live, now, before, counter.since(was.value));
            rates.insert(format!("{}.{}", counter.page, counter.name), rate.into());
        }
    }
    let drops: Map<String, Value> = now.drop_reasons().map(|(name, count)| (name.into(), count.into())).collect();
    let contexts: Vec<Value> = owners(live, now)
        .into_iter()
        .map(|owner| {
            let counters = &now.contexts[owner.context];
            let drops: Map<String, Value> = counters.drop_reasons().map(|(name, n)| (name.into(), n.into())).collect();
            let (name, process) = owner.resident.unzip();
            let mut object = json!({
                "context": owner.context,
                "name": name,
                "process": process,
                "live_messages": now.live[owner.context],
                "tasks": counters.tasks,
                "faulted": counters.faulted,
                "instructions": counters.instructions,
                "cycles": counters.cycles,
                "drops": drops,
            });
            if let Some(before) = before {
                let grown = counters.since(&before.contexts[owner.context]);
                let per_second = |grown: u64| rate(live, now, before, grown);
                object["per_second"] = json!({
                    "tasks": per_second(grown.tasks.into()),
                    "instructions": per_second(grown.instructions),
                    "cycles": per_second(grown.cycles),
                    "dropped": per_second(grown.dropped()),
                });
            }
            object
        })
        .collect();
    let hpus: Vec<Value> = now.hpus.iter().map(|hpu| json!({"tasks": hpu.tasks, "busy_cycles": hpu.busy})).collect();
    let mut object = json!({
        "card": live.identity.address,
        "cycle": now.cycle,
        "clock_mhz": live.device.info().clock_mhz,
        "counters": pages,
        "drops": drops,
        "contexts": contexts,
        "hpus": hpus,
    });
    if before.is_some() {
        object["per_second"] = rates.into();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn rates_have_three_digits() {
        let values = [0.0, 1.0, 9.994, 12.34, 999.0, 1234.0, 56_780.0, 1.5e6, 2.5e10];
        let texts = ["0", "1.00", "9.99", "12.3", "999", "1.23 k", "56.8 k", "1.50 M", "25.0 G"];
        assert_eq!(values.map(short), texts);
    }
}
