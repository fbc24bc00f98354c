//! Frames per second through the receive crossing at the rates of a CMAC and of an Alveo core.

use crate::clocks::{CMAC_AND_CORE, SECOND};
use crate::frames::frame;
use crate::rx::RxBench;
use anyhow::{ensure, Result};

/// Bytes beside those of a frame on the line: preamble, check sequence and gap.
pub(crate) const OVERHEAD: u64 = 8 + 4 + 12;
/// Bytes of the check sequence, which the MAC takes off.
pub(crate) const CHECK_SEQUENCE: usize = 4;
/// Bytes that a frame has on the line, check sequence included.
pub(crate) const SHORTEST: usize = 64;
pub(crate) const LONGEST: usize = 9220;
/// Time after which a FIFO of 512 beats is full if it ever will be, at more than 20 million beats per second too many.
const SETTLE: u64 = SECOND / 1_000_000 * 30;
/// Time of the measurement after that.
const WINDOW: u64 = SECOND / 1_000_000 * 40;

/// Frames per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Of the line.
    pub offered: f64,
    /// That reached the core as a whole.
    pub accepted: f64,
    /// That reached the core in part, with an end that says so.
    pub cut: f64,
    /// That did not reach the core.
    pub dropped: f64,
}

/// Rates of frames with `length` bytes, check sequence included, one after another at 100 Gb/s: MAC at 322.265625 MHz,
/// core at 250 MHz that takes a beat in every cycle. Over 40 µs, after 30 µs.
///
/// # Errors
/// A length that no MAC gives (64 to 9,220 bytes do), a model that cannot be built, or frames that are not counted, or
/// counted twice.
pub fn line_rate(length: usize) -> Result<Rates> {
    ensure!((SHORTEST..=LONGEST).contains(&length), "a frame of {length} bytes; choose 64 to 9,220");
    let mut bench = RxBench::<9>::open(1, CMAC_AND_CORE)?;
    let bytes = length - CHECK_SEQUENCE;
    // The line sends a byte in 0.08 ns: 26.4 units.
    let end_of = |frame: u64| (bytes as u64 + OVERHEAD) * frame * 264 / 10;
    let start = bench.clocks.now();
    let (mut begun, mut elapsed, mut shown) = (0, 0, 0);
    let mut before = None;
    while elapsed < SETTLE + WINDOW {
        // A frame is in the MAC when the line has sent it.
        if elapsed >= end_of(begun + 1) {
            let frame = frame(&mut bench.rng, begun as u32, bytes);
            bench.mac.frames.push_back(frame);
            begun += 1;
        }
        bench.step();
        elapsed = bench.clocks.now() - start;
        if elapsed >= SETTLE && before.is_none() {
            (before, shown) = (Some(bench.counts()), bench.shown.len());
        }
    }
    let (before, after) = (before.unwrap_or_default(), bench.counts());
    let offered = (bench.shown.len() - shown) as u64;
    bench.drain();
    let [accepted, bad, cut, dropped] = bench.counts();
    ensure!(
        accepted + cut + dropped == begun && bad == 0,
        "of {begun} good frames {accepted} are counted as accepted, {bad} as bad, {cut} as cut, {dropped} as dropped"
    );
    let whole = bench.core.frames.iter().filter(|frame| !frame.bad).count() as u64;
    let parts = bench.core.frames.len() as u64 - whole;
    ensure!(
        (whole, parts) == (accepted, cut),
        "the core got {whole} frames and {parts} parts; {accepted} and {cut} are counted"
    );
    let per_second = |count: u64| count as f64 * SECOND as f64 / WINDOW as f64;
    let [accepted, _, cut, dropped] = [0, 1, 2, 3].map(|i| per_second(after[i] - before[i]));
    Ok(Rates { offered: per_second(offered), accepted, cut, dropped })
}
