//! The figures of the command ring and of frames between the host and the wire: a whole NIC, host memory that takes 40 to 120 cycles.

use super::measure::{play_all, Figure, Measure, AT_ONCE, LIMIT};
use anyhow::{ensure, Result};
use spindle::{FrameOptions, HostMemory, Kind, Node, Target};
use spindle_cli::session::Session;
use spindle_contract::reasons;

/// The measurements: name, keys, function.
pub const MEASUREMENTS: [(&str, &[&str], Measure); 3] = [
    ("puts of the command ring", &["host.ring_put_cycles"], puts),
    (
        "frames of the command ring",
        &["host.ring_frame_cycles", "host.send_frame_1500_bits_per_cycle"],
        frames_from_the_host,
    ),
    ("frames to the host", &["host.frame_receive_1500_bits_per_cycle"], frames_to_the_host),
];

const PROCESS: usize = 1;
/// Commands of a run, and those at its begin and end that are not counted.
const COMMANDS: usize = 800;
const EDGE: usize = 150;
const LONG: u32 = 1500;

/// Cycles from one to the next of events that come one after the other, without those at the edges.
fn pace(cycles: &[u64]) -> f64 {
    let inner = &cycles[EDGE..cycles.len() - EDGE];
    (inner[inner.len() - 1] - inner[0]) as f64 / (inner.len() - 1) as f64
}

/// First cycles of the frames that leave after `commands` have been written, one frame each.
fn leaving(session: &mut Session) -> Result<Vec<u64>> {
    let mut sim = session.card.sim();
    ensure!(
        sim.run_until(LIMIT, |sim| sim.sent_count() == COMMANDS),
        "{} of {COMMANDS} frames have left after {LIMIT} cycles",
        sim.sent_count()
    );
    Ok(sim.take_sent().iter().map(|frame| frame.first).collect())
}

fn puts(session: &mut Session) -> Result<Vec<Figure>> {
    let device = &mut session.device;
    device.set_identity(0, [2, 0, 0, 0, 0, 1], [10, 0, 0, 1])?;
    device.set_node(1, Some(Node::numbered(1)))?;
    let buffer = device.memory.alloc(64, 64)?;
    let mut ring = device.open_commands(PROCESS, 1024)?;
    let target = Target { node: 1, process: 0, address: 1, key: 1, offset: 0, kind: Kind::Bound };
    for cookie in 0..COMMANDS {
        ensure!(device.add_put(&mut ring, buffer, 8, &target, cookie as u16)?, "the ring has no room for a put");
    }
    device.write_commands(&mut ring)?;
    let cycles = pace(&leaving(session)?);
    let how = format!("puts of 8 bytes, from one frame on the wire to the next, {COMMANDS} commands");
    Ok(vec![Figure::new("host.ring_put_cycles", cycles, how)])
}

fn frames_from_the_host(session: &mut Session) -> Result<Vec<Figure>> {
    let buffer = session.device.memory.alloc(LONG as usize, 64)?;
    let mut ring = session.device.open_commands(PROCESS, 1024)?;
    session.device.set_sender(PROCESS, true)?;
    let mut run = |length: u32| -> Result<f64> {
        session.device.command_room(&mut ring, COMMANDS)?;
        for _ in 0..COMMANDS {
            let added = session.device.add_frame(&mut ring, buffer, length, FrameOptions::default())?;
            ensure!(added.is_some(), "the ring has no room for a frame");
        }
        session.device.write_commands(&mut ring)?;
        let cycles = pace(&leaving(session)?);
        session.device.wait_posts(&mut ring, LIMIT)?;
        Ok(cycles)
    };
    let (short, long) = (run(64)?, run(LONG)?);
    Ok(vec![
        Figure::new("host.ring_frame_cycles", short, "frames of 64 bytes, from one on the wire to the next"),
        Figure::new(
            "host.send_frame_1500_bits_per_cycle",
            f64::from(8 * LONG) / long,
            "frames of 1500 bytes, on the wire",
        ),
    ])
}

fn frames_to_the_host(session: &mut Session) -> Result<Vec<Figure>> {
    const BUFFER: u32 = 2 << 20;
    let frames = session.device.open_frames(PROCESS, 2, BUFFER)?;
    session.device.frames_to_host(Some(frames.window()), true)?;
    session.device.set_receive(true)?;
    let wire = vec![vec![0x55; LONG as usize]; COMMANDS];
    play_all(session, &wire, AT_ONCE)?;
    let mut sim = session.card.sim();
    let placed: Vec<u64> = sim.trace().of(reasons::T_DMA_DONE).map(|event| event.cycle).collect();
    ensure!(placed.len() == COMMANDS, "{} of {COMMANDS} frames were placed", placed.len());
    let bits = f64::from(8 * LONG) / pace(&placed);
    let how =
        format!("frames of {LONG} bytes at line rate, from one last answer of host memory to the next, none dropped");
    Ok(vec![Figure::new("host.frame_receive_1500_bits_per_cycle", bits, how)])
}
