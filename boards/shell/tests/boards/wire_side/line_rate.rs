//! Frames per second through the receive crossing at the rates of a CMAC and of the core: accepted, cut, dropped.

use super::bench::frame;
use super::rx_bench::Bench;
use spindle_harness::{run_with_wave_on_failure, WaveContext};

/// Period of 322.265625 MHz and of 250 MHz, in units of 1/330 ns: 3.10303 ns and 4 ns.
const PERIODS: [u64; 2] = [1024, 1320];
/// Units in a second.
const SECOND: u64 = 330_000_000_000;
/// Preamble, check sequence and gap beside the bytes of a frame.
const OVERHEAD: u64 = 8 + 4 + 12;
/// Time after which a FIFO of 512 beats is full if it ever will be at these rates, and time of the measurement.
const SETTLE: u64 = SECOND / 1_000_000 * 30;
const WINDOW: u64 = SECOND / 1_000_000 * 40;

/// Frames per second.
#[derive(Clone, Copy, Debug)]
struct Rates {
    /// Of the line.
    offered: f64,
    /// Whole, to the core.
    accepted: f64,
    /// Ended early, to the core.
    cut: f64,
    /// Not to the core.
    dropped: f64,
}

/// Of frames with `length` bytes (check sequence included) at 100 Gb/s.
fn rates(wave: &WaveContext, length: usize) -> Rates {
    let mut bench = Bench::<9>::new(wave, PERIODS);
    let bytes = length - 4;
    // The line sends a byte in 0.08 ns: 26.4 units.
    let end_of = |frame: u64| (bytes as u64 + OVERHEAD) * frame * 264 / 10;
    let start = bench.clocks.now();
    let (mut begun, mut at_begin, mut shown) = (0, None, 0);
    let mut elapsed = 0;
    while elapsed < SETTLE + WINDOW {
        // A frame is in the MAC when the line has sent it.
        if elapsed >= end_of(begun + 1) {
            let frame = frame(&mut bench.rng, begun as u32, bytes);
            bench.mac.frames.push_back(frame);
            begun += 1;
        }
        bench.step();
        elapsed = bench.clocks.now() - start;
        if elapsed >= SETTLE && at_begin.is_none() {
            (at_begin, shown) = (Some(bench.counts()), bench.shown.len());
        }
    }
    let (before, after) = (at_begin.expect("the window has begun"), bench.counts());
    let offered = bench.shown.len() - shown;
    bench.drain();
    let [accepted, bad, cut, dropped] = bench.counts();
    assert_eq!((accepted + cut + dropped, bad), (begun, 0), "every frame is counted once");
    assert_eq!(bench.core.frames.len() as u64, accepted + cut);
    let per_second = |count: u64| count as f64 * SECOND as f64 / WINDOW as f64;
    let [accepted, _, cut, dropped] = [0, 1, 2, 3].map(|i| per_second(after[i] - before[i]));
    Rates { offered: per_second(offered as u64), accepted, cut, dropped }
}

#[test]
fn line_rate() {
    run_with_wave_on_failure("boards_line_rate", |wave| {
        for length in [64, 68, 69, 80, 1518] {
            let rates = rates(wave, length);
            let Rates { offered, accepted, cut, dropped } = rates;
            println!(
                "figure: boards.line_rate_{length}: million frames per second: {:.2} offered, {:.2} accepted, \
                 {:.2} cut, {:.2} dropped",
                offered / 1e6,
                accepted / 1e6,
                cut / 1e6,
                dropped / 1e6
            );
            let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.005;
            assert!(
                near(offered, 100e9 / 8.0 / (length as f64 + 20.0)),
                "{length}: the line has other rates: {rates:?}"
            );
            assert!(near(accepted + cut + dropped, offered), "{length}: {rates:?}");
            if length == 69 {
                // Two beats at 140.4 million frames per second; the core takes 250 million beats and never waits.
                assert!(near(2.0 * accepted + cut, 250e6), "{length}: {rates:?}");
            } else {
                assert!(near(accepted, offered) && cut + dropped == 0.0, "{length}: {rates:?}");
            }
        }
    });
}
