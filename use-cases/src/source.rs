//! Frames at a NIC's wire without a NIC that sends them, and what becomes of each.

use anyhow::{ensure, Result};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::reasons::{T_BUFFERED, T_FIRST_BEAT};
use spindle_model::frames::{spindle, Ends, SpindleHeader};
use spindle_sim::{address, End, SentFrame, SimDevice, Step, WireFrame};

/// When the next frame enters.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// As soon as the wire is free and fewer than so many frames are inside: a link that pauses its sender, so that none is lost.
    Inside(usize),
    /// So many cycles after the one before it, on average.
    Every(f64),
}

/// What became of a frame, in cycles of the card.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// The whole frame is in the packet buffer; 0 if it never was.
    pub buffered: u64,
    /// It came to its end.
    pub ended: u64,
    /// How.
    pub end: End,
}

/// What became of all frames.
#[derive(Debug)]
pub struct Passed {
    /// In their order.
    pub frames: Vec<Passage>,
    /// What the NIC sent meanwhile.
    pub sent: Vec<SentFrame>,
}

/// Cycles without anything to do after which nothing more is sent.
const QUIET: u64 = 600;

/// The frame of a packet to a node, with the addresses of another one.
pub fn frame(to: usize, from: usize, header: &SpindleHeader, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = (address(from), address(to));
    let ends =
        Ends { src_mac: source.mac, dst_mac: destination.mac, src_ip: source.ip, dst_ip: destination.ip, vlan: None };
    spindle(&ends, 50_000, SPINDLE_PORT, header, payload)
}

/// Gives a NIC frames, until each has come to its end and the NIC is quiet. Other NICs of its network stand still, and get nothing.
///
/// # Errors
/// Not all frames come to their end within so many cycles.
pub fn pour(sim: &mut SimDevice, frames: &[Vec<u8>], pace: Pace, patience: u64) -> Result<Passed> {
    sim.set_tracing(true);
    sim.trace().clear();
    sim.take_sent();
    let start = sim.cycle();
    let (mut entered, mut ended, mut seen) = (0, 0, 0);
    while ended < frames.len() {
        let due = match pace {
            Pace::Inside(most) => sim.pending() < 2 && entered < ended + most,
            Pace::Every(cycles) => sim.cycle() >= start + (entered as f64 * cycles) as u64,
        };
        if due && entered < frames.len() {
            sim.inject(WireFrame { bytes: frames[entered].clone(), gap: 0, bad: false });
            entered += 1;
        }
        sim.step();
        let fates = sim.trace().fates();
        ended += fates[seen..].iter().filter(|fate| matches!(fate.step, Step::Ended(_))).count();
        seen = fates.len();
        let all = frames.len();
        ensure!(sim.cycle() < start + patience, "{ended} of {all} frames came to their end within {patience} cycles");
    }
    let mut quiet = 0;
    while quiet < QUIET {
        sim.step();
        quiet = if sim.quiet() { quiet + 1 } else { 0 };
        ensure!(sim.cycle() < start + patience, "the NIC is not quiet within {patience} cycles");
    }
    let passed = passed(sim, frames.len());
    sim.set_tracing(false);
    sim.take_arrivals();
    passed
}

/// The steps of the frames, by the numbers that the NIC gave them.
fn passed(sim: &mut SimDevice, count: usize) -> Result<Passed> {
    let numbers: Vec<u16> = sim.trace().of(T_FIRST_BEAT).map(|event| event.frame).collect();
    ensure!(numbers.len() == count, "the NIC saw {} of {count} frames", numbers.len());
    let mut places = vec![None; 1 << 16];
    for (place, number) in numbers.iter().enumerate() {
        places[usize::from(*number)] = Some(place);
    }
    let place = |frame: u16| places[usize::from(frame)];
    let mut frames: Vec<Option<Passage>> = vec![None; count];
    let mut buffered = vec![0; count];
    for event in sim.trace().of(T_BUFFERED) {
        place(event.frame).into_iter().for_each(|place| buffered[place] = event.cycle);
    }
    for fate in sim.trace().fates() {
        if let (Step::Ended(end), Some(place)) = (fate.step, place(fate.frame)) {
            frames[place] = Some(Passage { buffered: buffered[place], ended: fate.cycle, end });
        }
    }
    let frames: Vec<Passage> = frames.into_iter().flatten().collect();
    ensure!(frames.len() == count, "{} of {count} frames have an end", frames.len());
    Ok(Passed { frames, sent: sim.take_sent() })
}
