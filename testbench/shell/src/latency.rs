//! Nanoseconds through the crossings at the rates of a CMAC and of an Alveo core.

use crate::clocks::{CMAC_AND_CORE, SECOND};
use crate::frames::frame;
use crate::rx::RxBench;
use crate::tx::TxBench;
use anyhow::{ensure, Result};
use rand::Rng;

/// Frames that are measured, each at another phase of the two clocks.
const FRAMES: u32 = 300;
/// Cycles of the slower clock after which a frame has to be out.
const LIMIT: u64 = 100;

/// The least and the most that were seen, in nanoseconds. Registers settle at once in simulation: a synchroniser that
/// settles late adds one cycle of the clock that reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// At the best phase of the clocks.
    pub least: f64,
    /// At the worst one.
    pub most: f64,
}

impl Latency {
    fn of(times: &[u64]) -> Self {
        let ns = |time: Option<&u64>| *time.expect("frames were measured") as f64 * 1e9 / SECOND as f64;
        Self { least: ns(times.iter().min()), most: ns(times.iter().max()) }
    }
}

/// From the edge of the MAC's clock that gives a beat to the edge of the core's at which it is offered, idle.
///
/// # Errors
/// A model that cannot be built, or a frame that does not come out.
pub fn receive() -> Result<Latency> {
    let mut bench = RxBench::<9>::open(2, CMAC_AND_CORE)?;
    let mut times = vec![];
    for number in 0..FRAMES {
        for _ in 0..bench.rng.random_range(20..60) {
            bench.step();
        }
        let frame = frame(&mut bench.rng, number, 60);
        bench.mac.frames.push_back(frame);
        let mut given = None;
        let limit = bench.clocks.now() + LIMIT * CMAC_AND_CORE[1];
        while !bench.dut.core.valid.is_high() {
            let now = bench.clocks.now();
            ensure!(now < limit, "the frame does not come out");
            bench.step();
            given = given.or((bench.mac.frames.is_empty()).then_some(now));
            if let (Some(given), true) = (given, bench.dut.core.valid.is_high()) {
                times.push(now - given);
            }
        }
    }
    Ok(Latency::of(&times))
}

/// From the edge of the core's clock that takes the last beat of a frame with `bytes` bytes to the edge of the MAC's at
/// which its first beat is offered, idle.
///
/// # Errors
/// As of [`receive`].
pub fn transmit(bytes: usize) -> Result<Latency> {
    let [mac, core] = CMAC_AND_CORE;
    let mut bench = TxBench::open(3, [core, mac])?;
    let mut times = vec![];
    for number in 0..FRAMES {
        for _ in 0..bench.rng.random_range(20..60) + bytes / 32 {
            bench.step();
        }
        let frame = frame(&mut bench.rng, number, bytes);
        bench.core.frames.push_back(frame);
        let mut taken = None;
        let limit = bench.clocks.now() + (LIMIT + bytes as u64 / 64) * core;
        while !bench.dut.mac.valid.is_high() {
            let now = bench.clocks.now();
            ensure!(now < limit, "the frame does not leave");
            bench.step();
            taken = taken.or((bench.core.frames.is_empty()).then_some(now));
            if let (Some(taken), true) = (taken, bench.dut.mac.valid.is_high()) {
                times.push(now - taken);
            }
        }
    }
    Ok(Latency::of(&times))
}
