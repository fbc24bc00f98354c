//! The figures of the sPIN engine: matching, dispatch, echo at every size, latencies under load, fairness and scaling.

use super::measure::{answer, ping, play_all, serve, Figure, Measure, AT_ONCE, IDLE, LIMIT};
use anyhow::{ensure, Context, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::{ContextOptions, Rule};
use spindle_cli::play::{play_with, Played};
use spindle_cli::session::Session;
use spindle_contract::params::BEAT_BYTES;
use spindle_contract::reasons;
use spindle_model::frames::{udp, Ends, UDP_HEADERS};
use spindle_sdk as sdk;
use spindle_sdk::Sources;

/// Shortest frame on an Ethernet, without its check sequence padded to 64 bytes by us: one beat.
const SHORTEST: usize = 64;
/// The handler that does nothing.
const EMPTY: &str = "#include <spindle.h>\nint header_handler(const spin_header_t *h, void *state) { (void)h; \
    (void)state; return SPIN_PROCESS_DATA; }\n";
/// Sizes of the echo, with the keys of their figures.
const ECHO: [(usize, [&str; 3]); 5] = [
    (
        64,
        [
            "throughput.udp_echo_64.bits_per_cycle",
            "throughput.udp_echo_64.packets_per_cycle",
            "throughput.udp_echo_64.instructions",
        ],
    ),
    (
        256,
        [
            "throughput.udp_echo_256.bits_per_cycle",
            "throughput.udp_echo_256.packets_per_cycle",
            "throughput.udp_echo_256.instructions",
        ],
    ),
    (
        512,
        [
            "throughput.udp_echo_512.bits_per_cycle",
            "throughput.udp_echo_512.packets_per_cycle",
            "throughput.udp_echo_512.instructions",
        ],
    ),
    (
        1024,
        [
            "throughput.udp_echo_1024.bits_per_cycle",
            "throughput.udp_echo_1024.packets_per_cycle",
            "throughput.udp_echo_1024.instructions",
        ],
    ),
    (
        1500,
        [
            "throughput.udp_echo_1500.bits_per_cycle",
            "throughput.udp_echo_1500.packets_per_cycle",
            "throughput.udp_echo_1500.instructions",
        ],
    ),
];
/// Sizes of the latencies: p50, p99, most, on an idle NIC and at 80 % load.
const LATENCY: [(usize, [&str; 6]); 3] = [
    (
        64,
        [
            "spin.latency.64.idle.p50",
            "spin.latency.64.idle.p99",
            "spin.latency.64.idle.max",
            "spin.latency.64.load_80.p50",
            "spin.latency.64.load_80.p99",
            "spin.latency.64.load_80.max",
        ],
    ),
    (
        256,
        [
            "spin.latency.256.idle.p50",
            "spin.latency.256.idle.p99",
            "spin.latency.256.idle.max",
            "spin.latency.256.load_80.p50",
            "spin.latency.256.load_80.p99",
            "spin.latency.256.load_80.max",
        ],
    ),
    (
        1024,
        [
            "spin.latency.1024.idle.p50",
            "spin.latency.1024.idle.p99",
            "spin.latency.1024.idle.max",
            "spin.latency.1024.load_80.p50",
            "spin.latency.1024.load_80.p99",
            "spin.latency.1024.load_80.max",
        ],
    ),
];
/// Sizes of [`LATENCY`].
pub const LATENCIES: [usize; 3] = [64, 256, 1024];
/// Numbers of HPUs that one context is given.
const SCALING: [(usize, &str); 5] = [
    (1, "spin.scaling.1"),
    (2, "spin.scaling.2"),
    (4, "spin.scaling.4"),
    (8, "spin.scaling.8"),
    (16, "spin.scaling.16"),
];

/// The measurements: name, keys, function.
pub const MEASUREMENTS: [(&str, &[&str], Measure); 6] = [
    ("matching", &["spin.match_packets_per_cycle"], matching),
    ("dispatch", &["spin.dispatch_per_cycle", "spin.dispatch_sustained"], dispatch),
    (
        "echo of UDP frames of all sizes",
        &[
            ECHO[0].1[0],
            ECHO[0].1[1],
            ECHO[0].1[2],
            ECHO[1].1[0],
            ECHO[1].1[1],
            ECHO[1].1[2],
            ECHO[2].1[0],
            ECHO[2].1[1],
            ECHO[2].1[2],
            ECHO[3].1[0],
            ECHO[3].1[1],
            ECHO[3].1[2],
            ECHO[4].1[0],
            ECHO[4].1[1],
            ECHO[4].1[2],
        ],
        echo,
    ),
    (
        "latencies, idle and under load",
        &[
            LATENCY[0].1[0],
            LATENCY[0].1[1],
            LATENCY[0].1[2],
            LATENCY[0].1[3],
            LATENCY[0].1[4],
            LATENCY[0].1[5],
            LATENCY[1].1[0],
            LATENCY[1].1[1],
            LATENCY[1].1[2],
            LATENCY[1].1[3],
            LATENCY[1].1[4],
            LATENCY[1].1[5],
            LATENCY[2].1[0],
            LATENCY[2].1[1],
            LATENCY[2].1[2],
            LATENCY[2].1[3],
            LATENCY[2].1[4],
            LATENCY[2].1[5],
        ],
        latency,
    ),
    ("fairness", &["spin.fairness"], fairness),
    ("scaling", &[SCALING[0].1, SCALING[1].1, SCALING[2].1, SCALING[3].1, SCALING[4].1], scaling),
];

/// Gaps that put the starts of frames of so many beats `spacing` cycles apart on average, by an even pattern.
pub fn spaced(spacing: f64, beats: usize) -> impl Iterator<Item = u64> {
    let mut due = 0.0;
    let mut at = 0;
    std::iter::repeat_with(move || {
        due += spacing;
        let gap = (due as u64).saturating_sub(at + beats as u64);
        at += gap + beats as u64;
        gap
    })
}

/// Gaps at random, from none to twice the average.
fn random(spacing: f64, beats: usize, seed: u64) -> impl Iterator<Item = u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let most = (2.0 * (spacing - beats as f64)).max(0.0);
    std::iter::repeat_with(move || rng.random_range(0.0..=most).round() as u64)
}

/// Frames that a rule drops, one in every cycle: the throughput of the matcher.
fn matching(session: &mut Session) -> Result<Vec<Figure>> {
    const FRAMES: usize = 4000;
    session.device.add_rule(&"udp.dport == 9".parse::<Rule>()?, Action::Drop)?;
    session.device.set_receive(true)?;
    let before = session.device.stats()?;
    let frames = vec![ping(SHORTEST); FRAMES];
    let played = play_with(session, &frames, spaced(1.0, 1), LIMIT)?;
    ensure!(played.drained, "frames are still inside");
    let dropped = played.stats.drops[reasons::RULE_DROP] - before.drops[reasons::RULE_DROP];
    ensure!(dropped as usize == FRAMES, "{dropped} of {FRAMES} frames were judged by the rule");
    let mut sim = session.card.sim();
    let cycles: Vec<u64> = sim.trace().of(reasons::T_MATCHED).map(|event| event.cycle).collect();
    ensure!(cycles.len() == FRAMES, "the trace shows {} verdicts", cycles.len());
    let rate = (FRAMES - 1) as f64 / (cycles[FRAMES - 1] - cycles[0]) as f64;
    let how = format!("{FRAMES} frames of {SHORTEST} bytes back to back, each judged, none lost");
    Ok(vec![Figure::new("spin.match_packets_per_cycle", rate, how)])
}

/// The densest run of tasks on the way to the HPUs, and the rate that lasts with a handler that returns at once.
fn dispatch(session: &mut Session) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("empty.c");
    std::fs::write(&path, EMPTY)?;
    serve(session, &sdk::load(&Sources::one(&path))?, "udp", &ContextOptions::default())?;
    let hpus = session.config.total_hpus();
    let burst = vec![ping(SHORTEST); 4 * hpus];
    play_all(session, &burst, IDLE)?;
    play_all(session, &burst, AT_ONCE)?;
    let cycles: Vec<u64> = session.card.sim().trace().of(reasons::T_SCHEDULED).map(|event| event.cycle).collect();
    let best = cycles.windows(hpus).map(|run| (hpus - 1) as f64 / (run[hpus - 1] - run[0]) as f64);
    let best = best.fold(0.0, f64::max);
    let (spacing, _) = densest(session, SHORTEST, 1000, 1.0)?;
    Ok(vec![
        Figure::new(
            "spin.dispatch_per_cycle",
            best,
            format!("tasks handed over in a row, the densest {hpus} of {} single-packet messages", burst.len()),
        ),
        Figure::new(
            "spin.dispatch_sustained",
            1.0 / spacing,
            "packets per cycle of 64-byte frames, each with a task, a handler that returns at once; none dropped",
        ),
    ])
}

/// The densest even spacing of frames of `length` bytes, from `from` cycles on, at which none is dropped, and what was
/// played at it. The context is there already.
fn densest(session: &mut Session, length: usize, count: usize, from: f64) -> Result<(f64, Played)> {
    densest_of(session, &vec![ping(length); count], from)
}

/// The densest even spacing of these frames, all of one length.
pub fn densest_of(session: &mut Session, frames: &[Vec<u8>], from: f64) -> Result<(f64, Played)> {
    let length = frames[0].len();
    let beats = length.div_ceil(BEAT_BYTES);
    let mut spacing = from.max(beats as f64);
    for _ in 0..200 {
        let before = session.device.stats()?.dropped();
        let played = play_with(session, frames, spaced(spacing, beats), LIMIT)?;
        ensure!(played.drained, "{} frames are still inside after {LIMIT} cycles", played.stats.inside());
        if played.stats.dropped() == before {
            return Ok((spacing, played));
        }
        spacing *= 1.02;
    }
    anyhow::bail!("frames of {length} bytes were dropped at every spacing up to {spacing:.0} cycles")
}

/// Answers per cycle.
fn rate(played: &Played) -> f64 {
    rate_of(&played.replies.iter().map(|reply| reply.frame.last).collect::<Vec<_>>())
}

/// Packets per cycle, of the cycles in which they were done, over the half of them in the middle: buffers have filled, and have not
/// begun to run empty.
pub fn rate_of(cycles: &[u64]) -> f64 {
    let (from, to) = (cycles.len() / 4, cycles.len() * 3 / 4);
    (to - from) as f64 / (cycles[to] - cycles[from]) as f64
}

fn echo(session: &mut Session) -> Result<Vec<Figure>> {
    const COUNT: usize = 1000;
    answer(session, "ping_pong", "udp", &ContextOptions::default())?;
    let mut figures = Vec::new();
    for (length, keys) in ECHO {
        let before = session.device.stats()?;
        let (spacing, played) = densest(session, length, COUNT, 1.0)?;
        ensure!(played.replies.len() == COUNT, "{} of {COUNT} frames were answered", played.replies.len());
        let packets = rate(&played);
        let after = session.device.stats()?;
        let tasks = after.tasks_done.wrapping_sub(before.tasks_done);
        let instructions = (after.instructions - before.instructions) as f64 / f64::from(tasks);
        let how = format!("TX, {COUNT} frames, one every {spacing:.2} cycles: the densest without a drop");
        figures.push(Figure::new(keys[0], 8.0 * length as f64 * packets, how.clone()));
        figures.push(Figure::new(keys[1], packets, how));
        figures.push(Figure::new(keys[2], instructions, "instructions retired per handler"));
    }
    Ok(figures)
}

/// The middle, the 99th percentile and the largest of the cycles from the first beat in to the last beat out.
fn spread(played: &Played) -> Result<[u64; 3]> {
    let mut cycles = Vec::new();
    for reply in &played.replies {
        let cause = reply.cause.context("an answer without a cause")?;
        cycles.push(reply.frame.last - played.arrivals[cause]);
    }
    ensure!(cycles.len() == played.arrivals.len(), "{} of {} were answered", cycles.len(), played.arrivals.len());
    cycles.sort_unstable();
    Ok([cycles[cycles.len() / 2], cycles[cycles.len() * 99 / 100], cycles[cycles.len() - 1]])
}

fn latency(session: &mut Session) -> Result<Vec<Figure>> {
    const IDLE_FRAMES: usize = 200;
    const FRAMES: usize = 2000;
    answer(session, "ping_pong", "udp", &ContextOptions::default())?;
    let mut figures = Vec::new();
    for (length, keys) in LATENCY {
        let beats = length.div_ceil(BEAT_BYTES);
        // Once for every HPU to have run the context.
        play_all(session, &vec![ping(length); 2 * session.config.total_hpus()], IDLE)?;
        let idle = spread(&play_all(session, &vec![ping(length); IDLE_FRAMES], IDLE)?)?;
        // What buffers take in for a while is more than what leaves: the load is a share of the latter.
        let spacing = 1.0 / rate(&densest(session, length, FRAMES, 1.0)?.1);
        let frames = vec![ping(length); FRAMES];
        let before = session.device.stats()?.dropped();
        let played = play_with(session, &frames, random(spacing / 0.8, beats, 7), LIMIT)?;
        ensure!(played.drained && played.stats.dropped() == before, "frames were dropped at 80 % load");
        let loaded = spread(&played)?;
        let idle_how = format!("first beat in to last beat out, {IDLE_FRAMES} frames, idle");
        let load_how = format!(
            "the same, {FRAMES} frames with random gaps at 80 % of the rate of the answers at full load (one every {:.1} cycles)",
            spacing / 0.8
        );
        for (key, value) in keys[..3].iter().zip(idle) {
            figures.push(Figure::new(key, value, idle_how.clone()));
        }
        for (key, value) in keys[3..].iter().zip(loaded) {
            figures.push(Figure::new(key, value, load_how.clone()));
        }
    }
    Ok(figures)
}

/// Two contexts with weights 1 and 3, each offered more than it can have: by how much their shares differ from 1 : 3.
fn fairness(session: &mut Session) -> Result<Vec<Figure>> {
    // Long against the quanta of both, 16,384 cycles of 16 HPUs.
    const FRAMES: usize = 24_000;
    let quota = session.config.live_messages / 4;
    for (weight, port) in [(1, 1000), (3, 2000)] {
        let options = ContextOptions { weight, message_quota: quota as u16, ..ContextOptions::default() };
        answer(session, "ping_pong", &format!("udp.dport == {port}"), &options)?;
    }
    let frame = |port: u16| udp(&Ends::default(), 4000, port, &[0x5A; SHORTEST - UDP_HEADERS]);
    let frames: Vec<_> = (0..FRAMES).map(|i| frame(if i % 2 == 0 { 1000 } else { 2000 })).collect();
    // Both get far more than they can serve; the excess is dropped.
    let played = play_with(session, &frames, spaced(2.0, 1), LIMIT)?;
    ensure!(played.drained, "frames are still inside");
    let (from, to) = (played.arrivals[FRAMES / 4], played.arrivals[FRAMES - 1]);
    let mut served = [0u64; 2];
    for reply in &played.replies {
        if (from..to).contains(&reply.frame.first) {
            served[reply.cause.context("an answer without a cause")? % 2] += 1;
        }
    }
    ensure!(served[0] + served[1] < FRAMES as u64 / 2, "the NIC was not overloaded: {served:?}");
    let share = served[0] as f64 / (served[0] + served[1]) as f64;
    let error = 100.0 * (share - 0.25).abs() / 0.25;
    let how = format!("percent; weights 1 and 3, {} and {} frames served of an overload", served[0], served[1]);
    Ok(vec![Figure::new("spin.fairness", error, how)])
}

/// Answers per cycle with 1 to 16 HPUs in the context's core mask.
fn scaling(session: &mut Session) -> Result<Vec<Figure>> {
    const COUNT: usize = 800;
    let hpus = session.config.total_hpus();
    let mut figures = Vec::new();
    for (n, key) in SCALING.into_iter().filter(|(n, _)| *n <= hpus) {
        let options = ContextOptions { core_mask: ((1u64 << n) - 1) as u32, ..ContextOptions::default() };
        let context = answer(session, "ping_pong", "udp", &options)?;
        // No handler of it is faster than 40 cycles.
        let (_, played) = densest(session, 256, COUNT, 40.0 / n as f64)?;
        let how = format!("answers to 256-byte frames per cycle, core mask of {n} HPUs, the densest without a drop");
        figures.push(Figure::new(key, rate(&played), how));
        session.device.clear_rules()?;
        session.device.deactivate(context)?;
        session.device.remove(context)?;
    }
    Ok(figures)
}
