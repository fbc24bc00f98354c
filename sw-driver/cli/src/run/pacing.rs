//! When frames enter: idle cycles between them, a rate, or the time stamps of the capture.

use super::rate::{beats, starts, Rate};
use crate::play::Pacing;
use anyhow::{ensure, Result};
use serde::Serialize;
use spindle_sim::capture::Captured;
use std::time::Duration;

/// Cycles in a second of simulation, for estimates; a machine at rest does 34,000 to 58,000.
const CYCLES_PER_SECOND: u64 = 50_000;
/// A run of more cycles needs `--allow-long-run`: an hour of simulation.
const LONG_RUN: u64 = 3600 * CYCLES_PER_SECOND;

/// Cycle after which no frame starts: sums of cycles stay far from overflow, and such a run is refused in any case.
const FARTHEST: f64 = 1e18;

/// Arguments of pacing.
#[derive(clap::Args)]
pub struct PacingArguments {
    /// Idle cycles before each packet.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub gap: u64,
    /// Offered load instead of --gap: '40Gbit/s' (with 24 bytes of Ethernet overhead for each packet), '5Mpps' (packets), or '80%' (of
    /// the cycles in which the stream can carry a beat).
    #[arg(long, value_name = "RATE", conflicts_with = "gap")]
    pub rate: Option<Rate>,
    /// Packets enter at the times of the capture instead of by --gap; the first enters at once.
    #[arg(long, conflicts_with_all = ["gap", "rate"])]
    pub timestamps: bool,
    /// Factor for the times of the capture: 0.001 plays a second of it in a millisecond.
    #[arg(long, value_name = "FACTOR", requires = "timestamps", default_value_t = 1.0)]
    pub time_scale: f64,
    /// Start a run even if its estimate is more than an hour of simulation.
    #[arg(long)]
    pub allow_long_run: bool,
}

/// The pacing of a run, for its report.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum PacingReport {
    /// Idle cycles before each frame.
    Gap {
        /// How many, on average if random.
        cycles: u64,
        /// From 0 to twice as many.
        random: bool,
    },
    /// A rate.
    Rate {
        /// As the report writes it.
        rate: String,
        /// Idle cycles from 0 to twice the even ones.
        random: bool,
    },
    /// The time stamps of the capture.
    Timestamps {
        /// Factor for its times.
        scale: f64,
    },
}

/// When each frame enters.
#[derive(Debug)]
pub struct Schedule {
    /// Idle cycles before each frame.
    pub gaps: Vec<u64>,
    /// Cycles until the last beat of the last frame.
    pub cycles: u64,
    /// Frames that enter later than asked for, since the frame before was still entering.
    pub queued: usize,
    /// Frames whose time stamp is before that of the frame before.
    pub unordered: usize,
}

impl Schedule {
    /// Of frames and the cycles in which they should start, which need not be in order or far enough apart.
    fn of(frames: &[Captured], starts: impl Iterator<Item = f64>) -> Schedule {
        let mut schedule = Schedule { gaps: Vec::new(), cycles: 0, queued: 0, unordered: 0 };
        let mut last = 0.0;
        for (frame, wanted) in frames.iter().zip(starts) {
            let start = wanted.round().min(FARTHEST) as u64;
            schedule.unordered += usize::from(wanted < last);
            schedule.queued += usize::from(start < schedule.cycles);
            last = wanted;
            schedule.gaps.push(start.saturating_sub(schedule.cycles));
            schedule.cycles = schedule.cycles.max(start) + beats(frame.bytes.len());
        }
        schedule
    }
}

impl PacingArguments {
    /// When these frames enter at this clock; random where a seed is given.
    ///
    /// # Errors
    /// The factor of times is not a positive number, or the run would take absurdly long.
    pub fn schedule(&self, frames: &[Captured], clock_mhz: u32, seed: Option<u64>) -> Result<Schedule> {
        let hertz = f64::from(clock_mhz) * 1e6;
        let schedule = match self.rate {
            _ if self.timestamps => {
                ensure!(
                    self.time_scale.is_finite() && self.time_scale > 0.0,
                    "a time scale of {} cannot be used; give a number above 0",
                    self.time_scale
                );
                let first = frames.first().map_or(Duration::ZERO, |frame| frame.time);
                Schedule::of(
                    frames,
                    frames.iter().map(|frame| {
                        // Differences are taken before they are rounded: seconds since the epoch leave a double 200 ns.
                        let since = frame.time.checked_sub(first).unwrap_or_default();
                        since.as_secs_f64() * self.time_scale * hertz
                    }),
                )
            }
            Some(rate) => Schedule::of(frames, starts(rate, frames, hertz, seed)),
            None => {
                let gaps: Vec<u64> = Pacing { gap: self.gap, seed }.gaps().take(frames.len()).collect();
                let cycles =
                    gaps.iter().sum::<u64>() + frames.iter().map(|frame| beats(frame.bytes.len())).sum::<u64>();
                Schedule { gaps, cycles, queued: 0, unordered: 0 }
            }
        };
        ensure!(
            schedule.cycles <= LONG_RUN || self.allow_long_run,
            "the packets enter over {} cycles, which take about {} to simulate; {}, or give --allow-long-run",
            schedule.cycles,
            minutes(schedule.cycles),
            if self.timestamps {
                "shorten their times with --time-scale"
            } else {
                "let packets follow each other faster"
            }
        );
        Ok(schedule)
    }

    /// Sentences for the user before the run.
    pub fn notes(&self, schedule: &Schedule) -> Vec<String> {
        let mut notes = Vec::new();
        if self.timestamps || schedule.cycles > 60 * CYCLES_PER_SECOND {
            notes.push(format!(
                "the packets enter over {} cycles, about {} of simulation",
                schedule.cycles,
                minutes(schedule.cycles)
            ));
        }
        if schedule.unordered > 0 {
            notes.push(format!(
                "{} packets have a time stamp before that of the packet before; they enter at once",
                schedule.unordered
            ));
        }
        if schedule.queued > 0 {
            notes.push(format!(
                "{} packets enter later than asked for: the stream carries 64 bytes in a cycle, and one packet in a beat",
                schedule.queued
            ));
        }
        notes
    }

    /// For the report.
    pub fn report(&self, seed: Option<u64>) -> PacingReport {
        match self.rate {
            _ if self.timestamps => PacingReport::Timestamps { scale: self.time_scale },
            Some(rate) => PacingReport::Rate { rate: rate.to_string(), random: seed.is_some() },
            None => PacingReport::Gap { cycles: self.gap, random: seed.is_some() },
        }
    }
}

/// A time of simulation, in the unit that fits.
fn minutes(cycles: u64) -> String {
    let seconds = cycles / CYCLES_PER_SECOND;
    match seconds {
        0..120 => format!("{seconds} seconds"),
        120..7200 => format!("{} minutes", seconds / 60),
        _ => format!("{} hours", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(times: &[u64], bytes: usize) -> Vec<Captured> {
        times
            .iter()
            .map(|nanoseconds| Captured {
                time: Duration::from_secs(1_700_000_000) + Duration::from_nanos(*nanoseconds),
                bytes: vec![0; bytes],
            })
            .collect()
    }

    fn arguments() -> PacingArguments {
        PacingArguments { gap: 200, rate: None, timestamps: false, time_scale: 1.0, allow_long_run: false }
    }

    /// Cycles in which the frames start.
    fn entered(schedule: &Schedule, frames: &[Captured]) -> Vec<u64> {
        let mut now = 0;
        let starts = schedule.gaps.iter().zip(frames).map(|(gap, frame)| {
            let start = now + gap;
            now = start + beats(frame.bytes.len());
            start
        });
        starts.collect()
    }

    /// 1230 bytes and the overhead are 10,032 bits: 62.7 cycles of 4 ns at 40 Gbit/s.
    #[test]
    fn a_rate_holds_over_many_frames() {
        let frames = frames(&[0; 1001], 1230);
        let of = |rate: &str, seed| {
            let arguments = PacingArguments { rate: Some(rate.parse().unwrap()), ..arguments() };
            entered(&arguments.schedule(&frames, 250, seed).unwrap(), &frames)
        };
        assert_eq!(of("40Gbit/s", None)[..4], [0, 63, 125, 188]);
        assert_eq!(of("40Gbit/s", None)[1000], 62_700);
        assert_eq!(of("5Mpps", None)[1000], 50_000);
        assert_eq!(of("50%", None)[1000], 40_000);
        let random = of("40Gbit/s", Some(3));
        assert!(random != of("40Gbit/s", None) && random == of("40Gbit/s", Some(3)));
        assert!((60_000..65_500).contains(&random[1000]), "{}", random[1000]);
        // More than the stream carries: one after the other.
        assert_eq!(of("1Tbit/s", None)[1000], 20_000);
    }

    #[test]
    fn time_stamps_are_kept_at_any_scale() {
        let frames = frames(&[0, 400, 404, 396, 4_000], 100);
        let scaled = |time_scale| PacingArguments { timestamps: true, time_scale, ..arguments() };
        let schedule = scaled(1.0).schedule(&frames, 250, None).unwrap();
        assert_eq!(entered(&schedule, &frames), [0, 100, 102, 104, 1000]);
        assert_eq!((schedule.queued, schedule.unordered, schedule.cycles), (2, 1, 1002));
        assert_eq!(
            entered(&scaled(10.0).schedule(&frames, 250, None).unwrap(), &frames),
            [0, 1000, 1010, 1012, 10_000]
        );
        assert!(
            scaled(0.0).schedule(&frames, 250, None).is_err() && scaled(f64::NAN).schedule(&frames, 250, None).is_err()
        );
    }

    #[test]
    fn absurd_times_are_refused() {
        let frames = frames(&[0, 60_000_000_000], 100);
        let minute = PacingArguments { timestamps: true, ..arguments() };
        let error = minute.schedule(&frames, 250, None).unwrap_err().to_string();
        assert!(
            error.contains("15000000002 cycles") && error.contains("83 hours") && error.contains("--time-scale"),
            "{error}"
        );
        assert!(PacingArguments { allow_long_run: true, ..minute }.schedule(&frames, 250, None).is_ok());
        for seed in [None, Some(1)] {
            let rate = Some(format!("0.{}1pps", "0".repeat(320)).parse().unwrap_or(Rate::Packets(1e-300)));
            assert!(PacingArguments { rate, ..arguments() }.schedule(&frames, 250, seed).is_err());
            let scaled = PacingArguments { timestamps: true, time_scale: 1e300, ..arguments() };
            assert!(scaled.schedule(&frames, 250, seed).is_err());
        }
    }
}
