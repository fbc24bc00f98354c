//! The measurements. Each gets a NIC after reset and gives its figures.
//!
//! Cycles are differences of trace points (`spindle_contract::reasons`) or of handshakes at the ports. "Idle" means that a frame comes
//! long after the one before it has left; the first runs of a context on an HPU are not counted.

use anyhow::{ensure, Context, Result};
use serde_json::Value;
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, Rule};
use spindle_cli::play::{play, Pacing, Played};
use spindle_cli::session::Session;
use spindle_contract::params::{BEAT_BYTES, SEGMENT_BYTES, SPINDLE_PORT};
use spindle_contract::reasons::{self, TRACE_HPUS};
use spindle_model::frames::{put_message, spindle, udp, Ends, SpindleHeader, UDP_HEADERS};
use spindle_sdk::{Handler, Shipped};
use spindle_sim::WireFrame;
use std::time::Instant;

/// A figure: its dotted key, its value, and how it was had.
#[derive(Debug)]
pub struct Figure {
    pub key: &'static str,
    pub value: Value,
    pub how: String,
}

impl Figure {
    pub fn new(key: &'static str, value: impl Into<Value>, how: impl Into<String>) -> Figure {
        Figure { key, value: value.into(), how: how.into() }
    }
}

pub type Measure = fn(&mut Session) -> Result<Vec<Figure>>;

/// The measurements: name, keys, function.
pub const MEASUREMENTS: [(&str, &[&str], Measure); 5] = [
    (
        "latencies of an idle NIC",
        &["cycles.first_beat_to_header_handler.64", "cycles.first_beat_to_header_handler.128", "cycles.put_to_wire"],
        idle_latencies,
    ),
    ("handler after handler", &["cycles.handler_to_handler"], handler_to_handler),
    ("completion of a put", &["cycles.last_beat_to_completion", "cycles.last_wire_beat_to_completion"], completion),
    ("smallest frames into one mailbox", &["cycles.rvma_min_frame"], rvma_min_frame),
    (
        "ping-pong of 1024-byte frames, and bubbles",
        &[
            "throughput.pingpong_1024_bits_per_cycle",
            "throughput.pingpong_1024_burst_bits_per_cycle",
            "throughput.stream_bubbles",
            "throughput.placement_lag",
        ],
        throughput,
    ),
];

/// Bound of each wait.
pub const LIMIT: u64 = 1_000_000;
/// A gap after which the NIC is idle again.
pub const IDLE: Pacing = Pacing { gap: 2000, seed: None };
pub const AT_ONCE: Pacing = Pacing { gap: 0, seed: None };
const MAILBOX: u64 = 0x0102_0304_0506_0708;
const KEY: u32 = 0x5EED;

/// Installs a handler for the frames of a rule and switches reception on.
pub fn serve(session: &mut Session, handler: &Handler, rule: &str, options: &ContextOptions) -> Result<ContextId> {
    let context = session.device.install(&handler.image, options)?;
    session.device.add_rule(&rule.parse::<Rule>()?, Action::Context(context))?;
    session.device.activate(context)?;
    session.device.set_receive(true)?;
    Ok(context)
}

/// The same with a handler that comes with this program.
pub fn answer(session: &mut Session, name: &str, rule: &str, options: &ContextOptions) -> Result<ContextId> {
    let handler = Shipped::by_name(name).with_context(|| format!("there is no shipped handler `{name}`"))?.load()?;
    serve(session, &handler, rule, options)
}

/// Installs ping_pong for all UDP packets.
fn answer_udp(session: &mut Session) -> Result<()> {
    answer(session, "ping_pong", "udp", &ContextOptions::default()).map(|_| ())
}

/// A frame of so many bytes for ping_pong.
pub fn ping(length: usize) -> Vec<u8> {
    udp(&Ends::default(), 4000, 9, &vec![0xA5; length - UDP_HEADERS])
}

/// Opens the mailbox with one buffer of `size` bytes that is complete after `threshold`, and switches reception on.
fn open_mailbox(session: &mut Session, size: usize, threshold: usize) -> Result<u64> {
    session.device.add_rule(&"spindle".parse::<Rule>()?, Action::Mailbox)?;
    let window = session.device.init_window(0, MAILBOX, KEY, threshold as u32)?;
    let posted = session.device.post_buffer(window, size as u32)?;
    session.device.set_receive(true)?;
    Ok(posted.buffer)
}

/// Frames that may enter at line rate: each is a message, and the message table has to hold them all.
fn burst_frames(session: &Session) -> usize {
    session.config.live_messages * 15 / 16
}

/// Plays, and insists that everything went where it should.
pub fn play_all(session: &mut Session, frames: &[Vec<u8>], pacing: Pacing) -> Result<Played> {
    let before = session.device.stats()?.dropped();
    let played = play(session, frames, pacing, LIMIT)?;
    ensure!(played.drained, "{} frames are still inside after {LIMIT} cycles", played.stats.inside());
    ensure!(played.stats.dropped() == before, "{} frames were dropped", played.stats.dropped() - before);
    Ok(played)
}

fn median(mut values: Vec<u64>, what: &str) -> Result<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied().with_context(|| format!("the trace shows no {what}"))
}

fn idle_latencies(session: &mut Session) -> Result<Vec<Figure>> {
    answer_udp(session)?;
    let frames = 2 * session.config.total_hpus();
    let mut figures = Vec::new();
    let mut to_wire = 0;
    for (key, length) in
        [("cycles.first_beat_to_header_handler.64", 64), ("cycles.first_beat_to_header_handler.128", 128)]
    {
        let frames = vec![ping(length); frames];
        // Once for every HPU to have run the context.
        let cold = play_all(session, &frames, IDLE).and_then(|_| {
            let values = session.card.sim().trace().latencies(reasons::T_FIRST_BEAT, reasons::T_HANDLER_START);
            values.into_iter().max().context("the trace shows no handler")
        })?;
        play_all(session, &frames, IDLE)?;
        let mut sim = session.card.sim();
        let values = sim.trace().latencies(reasons::T_FIRST_BEAT, reasons::T_HANDLER_START);
        let cycles = median(values, "handler")?;
        let how = format!("idle, median of {}; the slowest of the first runs took {cold}", frames.len());
        figures.push(Figure::new(key, cycles, how));
        if length == 64 {
            to_wire = median(sim.trace().latencies(reasons::T_COMMAND, reasons::T_EGRESS_FIRST), "answer")?;
        }
    }
    figures.push(Figure::new(
        "cycles.put_to_wire",
        to_wire,
        "idle, 64 bytes: command issued to first beat on TX, median",
    ));
    Ok(figures)
}

fn handler_to_handler(session: &mut Session) -> Result<Vec<Figure>> {
    answer_udp(session)?;
    // The second burst finds every HPU with the context in place.
    let burst = vec![ping(64); burst_frames(session)];
    play_all(session, &burst, IDLE)?;
    play_all(session, &burst, AT_ONCE)?;
    let mut sim = session.card.sim();
    let mut ended = [None; TRACE_HPUS];
    let mut gaps = Vec::new();
    for event in sim.trace().events() {
        match event.point {
            reasons::T_HANDLER_END => ended[event.unit] = Some(event.cycle),
            reasons::T_HANDLER_START => gaps.extend(ended[event.unit].take().map(|end| event.cycle - end)),
            _ => {}
        }
    }
    let least = gaps.iter().min().copied().context("no HPU ran two handlers")?;
    let how = format!("return resolved to first fetch, same HPU, least of {} in a burst of 64-byte frames", gaps.len());
    Ok(vec![Figure::new("cycles.handler_to_handler", least, how)])
}

fn completion(session: &mut Session) -> Result<Vec<Figure>> {
    const PUTS: u32 = 9;
    let data = vec![0x3C; 4 * SEGMENT_BYTES];
    session.device.add_rule(&"spindle".parse::<Rule>()?, Action::Mailbox)?;
    let window = session.device.init_window(0, MAILBOX, KEY, data.len() as u32)?;
    session.device.set_receive(true)?;
    let (mut from_answer, mut from_wire) = (Vec::new(), Vec::new());
    for msg_id in 0..PUTS {
        session.device.post_buffer(window, data.len() as u32)?;
        let header = SpindleHeader { addr: MAILBOX, key: KEY, msg_id, ..SpindleHeader::default() };
        play_all(session, &put_message(&Ends::default(), SPINDLE_PORT, &header, &data, SEGMENT_BYTES), AT_ONCE)?;
        let mut sim = session.card.sim();
        let last_beat = sim.last_rx_beat();
        let record = sim.trace().of(reasons::T_RECORD).last().context("no record was written")?.cycle;
        let done = sim.trace().of(reasons::T_DMA_DONE).map(|event| event.cycle).filter(|cycle| *cycle <= record).max();
        from_answer.push(record - done.context("no packet was written")?);
        from_wire.push(record - last_beat);
    }
    let timing = session.card.sim().memory().timing;
    let (least, most) = (timing.response_min, timing.response_max);
    Ok(vec![
        Figure::new(
            "cycles.last_beat_to_completion",
            median(from_answer, "completion")?,
            format!("last write answer of a put's data to AWVALID of its record, median of {PUTS} puts"),
        ),
        Figure::new(
            "cycles.last_wire_beat_to_completion",
            median(from_wire, "completion")?,
            format!(
                "last beat in to AWVALID of the record, of which the host's answer takes {least} to {most} \
                cycles; median of {PUTS} puts"
            ),
        ),
    ])
}

fn rvma_min_frame(session: &mut Session) -> Result<Vec<Figure>> {
    const PACKETS: u32 = 4000;
    // The record is never due: every packet finds the same buffer.
    open_mailbox(session, 2 * PACKETS as usize, 2 * PACKETS as usize)?;
    let frames: Vec<_> = (0..PACKETS)
        .map(|i| {
            let header = SpindleHeader {
                addr: MAILBOX,
                key: KEY,
                msg_id: i,
                msg_len: 1,
                buf_off: i,
                payload_len: 1,
                ..SpindleHeader::default()
            };
            spindle(&Ends::default(), 49152, SPINDLE_PORT, &header, &[i as u8])
        })
        .collect();
    let beats = frames[0].len().div_ceil(BEAT_BYTES);
    ensure!(beats == 2, "the smallest Spindle frame has {beats} beats instead of 2");
    play_all(session, &frames, AT_ONCE)?;
    let mut sim = session.card.sim();
    let cycles: Vec<u64> = sim.trace().of(reasons::T_LOOKED_UP).map(|event| event.cycle).collect();
    ensure!(cycles.len() == frames.len(), "{} of {} packets were looked up", cycles.len(), frames.len());
    let span = cycles[cycles.len() - 1] - cycles[0];
    let how = format!(
        "{PACKETS} frames of {} bytes back to back, none dropped: spacing in which mailbox and buffer were found",
        frames[0].len()
    );
    Ok(vec![Figure::new("cycles.rvma_min_frame", span as f64 / f64::from(PACKETS - 1), how)])
}

fn throughput(session: &mut Session) -> Result<Vec<Figure>> {
    const LENGTH: usize = 1024;
    const SUSTAINED: usize = 2000;
    answer_udp(session)?;
    let bubbles = session.card.sim().tx_bubbles();
    // As many as fit enter at line rate, so that every HPU finds work and nothing is dropped.
    let burst = burst_frames(session);
    let frames = vec![ping(LENGTH); burst];
    play_all(session, &frames, IDLE)?;
    let played = play_all(session, &frames, AT_ONCE)?;
    let rate = |from: usize, to: usize, played: &Played| -> f64 {
        let cycles = played.replies[to].frame.last - played.replies[from].frame.last;
        (8 * LENGTH * (to - from)) as f64 / cycles as f64
    };
    let saturated = rate(burst / 4, burst * 7 / 8, &played);
    // The highest rate that is sustained: the fastest spacing from there on at which nothing is dropped.
    let beats = (LENGTH / BEAT_BYTES) as u64;
    let fastest = ((8 * LENGTH) as f64 / saturated).floor() as u64;
    let frames = vec![ping(LENGTH); SUSTAINED];
    let mut sustained = None;
    for spacing in fastest.max(beats)..2 * fastest.max(beats) {
        let pacing = Pacing { gap: spacing - beats, seed: None };
        if let Ok(played) = play_all(session, &frames, pacing) {
            sustained = Some((spacing, rate(0, SUSTAINED - 1, &played)));
            break;
        }
    }
    let (spacing, sustained) = sustained.context("frames were dropped at every spacing")?;
    let bubbles = session.card.sim().tx_bubbles() - bubbles;
    let (holes, lag) = placement_bubbles(session)?;
    Ok(vec![
        Figure::new(
            "throughput.pingpong_1024_bits_per_cycle",
            sustained,
            format!("TX, {SUSTAINED} frames, one every {spacing} cycles: the densest without a drop"),
        ),
        Figure::new(
            "throughput.pingpong_1024_burst_bits_per_cycle",
            saturated,
            format!("TX while {burst} frames that entered at line rate are worked off"),
        ),
        Figure::new(
            "throughput.stream_bubbles",
            bubbles + holes,
            "cycles without a beat inside a frame on TX (ready, ping-pong) and inside a packet's data on AXI W",
        ),
        Figure::new(
            "throughput.placement_lag",
            lag,
            format!("cycles by which {PACKETS} full-size segments at line rate were placed later than they came"),
        ),
    ])
}

/// Segments that are placed to find bubbles.
const PACKETS: usize = 200;

/// Places full-size segments that come back to back: cycles without a beat inside the packets on AXI W, and the cycles by which
/// the last packet's first beat is later, measured from the first packet's, than the line alone explains.
fn placement_bubbles(session: &mut Session) -> Result<(u64, u64)> {
    let data = vec![0x77; PACKETS * SEGMENT_BYTES];
    // The rule of ping_pong is there already and takes every UDP packet: so this measurement takes a fresh NIC.
    session.device.clear_rules()?;
    let buffer = open_mailbox(session, data.len(), data.len())?;
    let header = SpindleHeader { addr: MAILBOX, key: KEY, ..SpindleHeader::default() };
    let frames = put_message(&Ends::default(), SPINDLE_PORT, &header, &data, SEGMENT_BYTES);
    session.card.sim().memory().log.clear();
    session.card.sim().memory().keep_log = true;
    play_all(session, &frames, AT_ONCE)?;
    let mut sim = session.card.sim();
    sim.memory().keep_log = false;
    let first: Vec<u64> = sim.trace().of(reasons::T_DMA_FIRST).map(|event| event.cycle).collect();
    ensure!(first.len() == PACKETS, "{} of {PACKETS} packets were written", first.len());
    let record = sim.trace().of(reasons::T_RECORD).last().context("no record was written")?.cycle;
    let (mut last, mut beats) = ([0; PACKETS], [0; PACKETS]);
    // The memory's clock also counts the reset; the record shows by how much, for its address is the trace point.
    let mut skew = None;
    for burst in &sim.memory().log {
        let packet = (burst.address.wrapping_sub(buffer) / SEGMENT_BYTES as u64) as usize;
        if packet < PACKETS {
            last[packet] = last[packet].max(burst.data_cycle);
            beats[packet] += burst.beats as u64;
        } else {
            skew = Some(burst.offered_cycle - record);
        }
    }
    ensure!(beats.iter().sum::<u64>() as usize * BEAT_BYTES == data.len(), "the data was not written in full beats");
    let skew = skew.context("the host saw no record")?;
    let inside: u64 = (0..PACKETS).map(|i| last[i] - skew - first[i] + 1 - beats[i]).sum();
    let line: u64 = frames[1..].iter().map(|frame| frame.len().div_ceil(BEAT_BYTES) as u64).sum();
    Ok((inside, (first[PACKETS - 1] - first[0]).saturating_sub(line)))
}

/// Cycles per second of wall clock while frames of all lengths are answered.
pub fn speed(session: &mut Session) -> Result<f64> {
    answer_udp(session)?;
    let frames: Vec<Vec<u8>> = (64..=1514).step_by(7).map(ping).collect();
    let mut best: f64 = 0.0;
    for _ in 0..5 {
        for bytes in &frames {
            session.card.sim().inject(WireFrame { bytes: bytes.clone(), gap: 200, bad: false });
        }
        let mut sim = session.card.sim();
        sim.trace().clear();
        let (start, from) = (Instant::now(), sim.cycle());
        while sim.pending() > 0 {
            sim.step();
        }
        best = best.max((sim.cycle() - from) as f64 / start.elapsed().as_secs_f64());
    }
    let stats = session.device.stats()?;
    ensure!(stats.dropped() == 0 && stats.frames_out > 0, "the frames were not answered");
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spindle_contract::params::Config;
    use spindle_sim::host_memory::Timing;

    /// The holes of a host that is slow to take data are found, and there are none of the NIC's own.
    #[test]
    fn holes_are_found() {
        for (w_stall, holes) in [(0, false), (30, true)] {
            let mut session = Session::open(Config::SIM, Default::default()).unwrap();
            {
                let mut sim = session.card.sim();
                let memory = sim.memory();
                memory.timing = Timing { w_stall, ..memory.timing };
            }
            let found = placement_bubbles(&mut session).unwrap();
            assert_eq!((found.0 > 0, found.1 > 24), (holes, holes), "{found:?}");
        }
    }
}
