//! Rates: what a rate says is what frames keep to, and no rate makes a schedule that is not in order.

use spindle_cli::run::{PacingArguments, Rate};
use spindle_contract::params::BEAT_BYTES;
use spindle_fuzz::Source;
use spindle_sim::capture::Captured;
use std::time::Duration;

const WORDS: [&str; 26] = [
    "bit/s",
    "bps",
    "b/s",
    "pps",
    "packets/s",
    "%",
    "k",
    "K",
    "M",
    "G",
    "T",
    "GG",
    ".",
    "..",
    "0",
    "1",
    "100",
    "101",
    "-1",
    "1e9",
    "inf",
    "NaN",
    "é",
    " ",
    "0.000000000001",
    "99999999999999999999999999",
];
/// Bytes on the wire beside a frame's own, and the least frame.
const OVERHEAD: u64 = 24;
const LEAST: u64 = 60;
const MHZ: u32 = 250;

fn frames(source: &mut Source) -> Vec<Captured> {
    let frame = |source: &mut Source| Captured {
        // Time stamps of a capture are anything.
        time: Duration::new(source.number(), source.below(1_000_000_000) as u32),
        bytes: vec![0; 1 + source.below(2000)],
    };
    (0..source.below(6)).map(|_| frame(source)).collect()
}

/// The cycle in which each frame begins.
fn starts(gaps: &[u64], frames: &[Captured]) -> Vec<u64> {
    let mut now = 0u64;
    let start = |(gap, frame): (&u64, &Captured)| {
        let start = now.checked_add(*gap).expect("no run is that long");
        now = start + frame.bytes.len().div_ceil(BEAT_BYTES) as u64;
        start
    };
    gaps.iter().zip(frames).map(start).collect()
}

#[test]
fn fuzz_rate() {
    spindle_fuzz::run("rate", 4000, |source| {
        let value = (1 + source.below(10_000)) as f64 / 10.0;
        let (factor, prefix) = *source.pick(&[(1.0, ""), (1e3, "k"), (1e3, "K"), (1e6, "M"), (1e9, "G"), (1e12, "T")]);
        let (wanted, text) = match source.below(3) {
            0 => (Rate::WireBits(value * factor), format!("{value}{prefix}{}", source.pick(&["bit/s", "bps", "b/s"]))),
            1 => (Rate::Packets(value * factor), format!("{value} {prefix}{}", source.pick(&["pps", "packets/s"]))),
            _ => (Rate::Share(value.min(100.0) / 100.0), format!("{}%", value.min(100.0))),
        };
        assert_eq!(text.parse(), Ok(wanted), "{text}");
        let damaged = if source.chance(3) { source.text(&WORDS) } else { source.mutated_text(&text, &WORDS) };
        let read = damaged.parse::<Rate>();
        if let Err(error) = &read {
            assert!(error.contains("give") || error.contains("at most"), "{error}");
        }
        let frames = frames(source);
        let seed = source.chance(2).then(|| source.number());
        let timestamps = source.chance(4);
        let arguments = PacingArguments {
            gap: source.number().min(1_000_000_000),
            rate: if source.chance(8) { None } else { Some(*read.as_ref().unwrap_or(&wanted)) },
            timestamps,
            time_scale: *source.pick(&[1.0, 0.001, 1e300, 1e-300, 0.0, -1.0, f64::NAN, f64::INFINITY]),
            allow_long_run: source.chance(2),
        };
        match arguments.schedule(&frames, MHZ, seed) {
            Ok(schedule) => {
                let starts = starts(&schedule.gaps, &frames);
                assert_eq!(starts.len(), frames.len());
                let end = starts.last().zip(frames.last());
                let end = end.map_or(0, |(start, frame)| start + frame.bytes.len().div_ceil(BEAT_BYTES) as u64);
                assert_eq!(schedule.cycles, end);
                let nothing = seed.is_none() && !timestamps && schedule.queued == 0;
                if let (Some(Rate::WireBits(bits)), true) = (arguments.rate, nothing) {
                    let wire: u64 =
                        frames.iter().rev().skip(1).map(|frame| (frame.bytes.len() as u64).max(LEAST) + OVERHEAD).sum();
                    let cycles = wire as f64 * 8.0 / bits * f64::from(MHZ) * 1e6;
                    let last = starts.last().copied().unwrap_or(0) as f64;
                    assert!((last - cycles).abs() <= 1.0 + cycles * 1e-9 || cycles > 1e15, "{last} is not {cycles}");
                }
                arguments.notes(&schedule);
                serde_json::to_string(&arguments.report(seed)).expect("a report is JSON");
            }
            Err(error) => assert!(error.to_string().contains("give"), "{error}"),
        }
        read.is_ok()
    });
}
