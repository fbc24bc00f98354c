//! `spindle-lab soak`: the whole NIC under random traffic, configuration and faults, for as long as one likes.
//!
//! Handlers, rules, mailboxes, rings and windows of frames come and go; frames of all kinds arrive, also bad ones; host memory is
//! slow, or answers with errors; the wire takes nothing for a while; the card is reset at any moment. After each period of a
//! million cycles all comes to rest, and the card is [checked](card::Card::check).

mod actions;
mod card;
mod frames;

use crate::report::{Figure, Report};
use anyhow::{anyhow, ensure, Context, Result};
use card::Card;
use spindle_harness::seed_of;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Cycles between two checks.
const PERIOD: u64 = 1_000_000;
/// Periods of one card. Each card begins anew, with a seed of its own, so that a breach is repeated from there.
const PERIODS: u64 = 10;

/// Arguments of `spindle-lab soak`.
#[derive(clap::Args)]
pub struct SoakArguments {
    /// Cycles, at least.
    #[arg(long, value_name = "COUNT", conflicts_with = "hours")]
    cycles: Option<u64>,
    /// Hours, at least.
    #[arg(long)]
    hours: Option<f64>,
    /// File for the figure `trust.soak_cycles`.
    #[arg(long, value_name = "REPORT.json")]
    json: Option<PathBuf>,
    /// Seed of the first card; the next ones have the numbers after it. A new one if absent.
    #[arg(long)]
    seed: Option<u64>,
}

/// What happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cycles of the card's clock.
    pub cycles: u64,
    /// Frames that entered.
    pub frames: u64,
    /// Changes of the card's configuration.
    pub actions: u64,
    /// Resets of both kinds.
    pub resets: u64,
    /// Checks, all of them good.
    pub checks: u64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.cycles += other.cycles;
        self.frames += other.frames;
        self.actions += other.actions;
        self.resets += other.resets;
        self.checks += other.checks;
    }
}

/// Runs until the bound is reached, or a check fails.
pub fn soak(arguments: &SoakArguments) -> Result<()> {
    let hours = arguments.hours.unwrap_or(0.0);
    ensure!(hours.is_finite() && hours >= 0.0, "--hours {hours} is no time; give hours, such as 0.5");
    let cycles = arguments.cycles.unwrap_or(if arguments.hours.is_some() { 0 } else { PERIODS * PERIOD });
    let seed = arguments.seed.unwrap_or_else(|| rand::random_range(0..u64::from(u32::MAX)));
    let end = Instant::now() + Duration::from_secs_f64(hours * 3600.0);
    let tally = run(seed, |tally| tally.cycles < cycles || Instant::now() < end)?;
    println!("soak: {}", sentence(&tally));
    if let Some(path) = &arguments.json {
        let mut report = Report::default();
        let how = format!("configuration sim, {}, first seed {seed}", sentence(&tally));
        report.enter(&["trust.soak_cycles"], Ok(vec![Figure::new("trust.soak_cycles", tally.cycles as usize, how)]));
        report.write(path)?;
    }
    Ok(())
}

fn sentence(tally: &Tally) -> String {
    let Tally { cycles, frames, actions, resets, checks } = tally;
    format!("{cycles} cycles, {frames} frames, {actions} changes, {resets} resets; {checks} checks without a breach")
}

/// One card after another, while `goes_on` says so at the end of a period.
pub fn run(seed: u64, goes_on: impl Fn(&Tally) -> bool) -> Result<Tally> {
    let mut all = Tally::default();
    for number in seed.. {
        eprintln!("soak: card with seed {number}; so far {}", sentence(&all));
        let mut periods = 0;
        let end = |so_far: &Tally| {
            periods += 1;
            let mut sum = all.clone();
            sum.add(so_far);
            periods == PERIODS || !goes_on(&sum)
        };
        let tally = life(number, PERIOD, end).with_context(|| {
            format!("repeat it with `cargo xtask soak --seed {number} --cycles {}`", PERIODS * PERIOD)
        })?;
        all.add(&tally);
        if !goes_on(&all) {
            break;
        }
    }
    Ok(all)
}

/// A card from its power-on to the period after which `ends` holds.
fn life(seed: u64, period: u64, mut ends: impl FnMut(&Tally) -> bool) -> Result<Tally> {
    let mut card = Card::new(seed_of("soak", seed))?;
    // A breach of the stream law panics, as in the tests.
    let lived = catch_unwind(AssertUnwindSafe(|| -> Result<Tally> {
        loop {
            let start = card.cycle();
            card.change_pace();
            while card.cycle() < start + period {
                card.act().with_context(|| card.moment())?;
            }
            card.check().with_context(|| card.moment())?;
            let tally = card.tally();
            if ends(&tally) {
                return Ok(tally);
            }
        }
    }));
    lived.unwrap_or_else(|panic| {
        let words =
            panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(anyhow!(words.unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use spindle_testing::{seed_of_run, with_seeds};

    #[test]
    fn a_short_life_is_without_a_breach() {
        with_seeds(|| {
            let tally = life(seed_of_run("soak"), 120_000, |_| true).unwrap_or_else(|error| panic!("{error:#}"));
            assert!(tally.frames > 500 && tally.actions > 50 && tally.checks == 1, "{tally:?}");
        });
    }

    /// The checks are worth something.
    #[test]
    fn what_is_wrong_is_a_breach() {
        let breach = |spoil: fn(&mut Card)| {
            let mut card = Card::new(1).unwrap();
            spoil(&mut card);
            format!("{:#}", card.check().unwrap_err())
        };
        // A frame more than was sent; a byte of memory that no one owns.
        assert!(breach(|card| card.forget_a_frame()).contains("frames entered"));
        assert!(breach(|card| card.write_astray()).contains("outside of every buffer"));
    }
}
