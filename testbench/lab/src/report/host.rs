//! The figures of the host path: frames to the host and from it, puts of the command ring.

use super::measure::{play_all, Figure, Measure, AT_ONCE};
use anyhow::{ensure, Context, Result};
use spindle::{FrameOptions, HostMemory, Kind, Node, Target};
use spindle_cli::session::Session;
use spindle_contract::reasons;
use spindle_sim::SentFrame;

/// The measurements: name, keys, function.
pub const MEASUREMENTS: [(&str, &[&str], Measure); 3] = [
    ("frames to the host", &["host.frame_receive_1500_bits_per_cycle"], receive),
    ("frames from the host", &["host.ring_frame_cycles", "host.send_frame_1500_bits_per_cycle"], send),
    ("puts of the command ring", &["host.ring_put_cycles"], put),
];

/// Bytes of a usual frame, and frames of it.
const USUAL: usize = 1500;
const FRAMES: usize = 400;
/// Frames and puts at the beginning that are not counted.
const WARM: usize = 80;
/// Cycles in which everything has left.
const LIMIT: u64 = 400_000;
const PROCESS: usize = 1;

/// Frames of no protocol that the card parses.
fn frame(bytes: usize) -> Vec<u8> {
    vec![0x55; bytes]
}

fn receive(session: &mut Session) -> Result<Vec<Figure>> {
    let device = &mut session.device;
    let frames = device.open_frames(PROCESS, 8, 128 << 10)?;
    device.frames_to_host(Some(frames.window()), true)?;
    device.set_receive(true)?;
    play_all(session, &vec![frame(USUAL); FRAMES], AT_ONCE)?;
    let sim = session.card.sim();
    let trace = sim.trace();
    let ends: Vec<u64> = trace.of(reasons::T_DMA_DONE).map(|event| event.cycle).collect();
    ensure!(ends.len() == FRAMES, "{} of {FRAMES} frames were written", ends.len());
    let span = ends[FRAMES - 1] - ends[WARM];
    let how = format!(
        "{FRAMES} frames of {USUAL} bytes back to back into host memory, each with its event; from answer to answer"
    );
    let bits = (8 * USUAL * (FRAMES - 1 - WARM)) as f64;
    Ok(vec![Figure::new("host.frame_receive_1500_bits_per_cycle", bits / span as f64, how)])
}

/// Sends frames of one length by the ring, all with one register write.
fn sent(session: &mut Session, bytes: usize) -> Result<Vec<SentFrame>> {
    let device = &mut session.device;
    let mut ring = device.open_commands(PROCESS, FRAMES.next_power_of_two())?;
    device.set_sender(PROCESS, true)?;
    let address = device.memory.alloc(bytes, 64)?;
    device.memory.write(address, &frame(bytes))?;
    for cookie in 0..FRAMES {
        let options = FrameOptions { cookie: cookie as u16, ..FrameOptions::default() };
        device.add_frame(&mut ring, address, bytes as u32, options)?.context("the ring is full")?;
    }
    device.write_commands(&mut ring)?;
    device.wait_posts(&mut ring, LIMIT)?;
    session.card.sim().run(4000);
    let sent = session.card.sim().take_sent();
    ensure!(sent.len() == FRAMES, "{} of {FRAMES} frames left", sent.len());
    Ok(sent)
}

fn send(session: &mut Session) -> Result<Vec<Figure>> {
    let short = sent(session, 64)?;
    let long = sent(session, USUAL)?;
    let span = |sent: &[SentFrame]| (sent[FRAMES - 1].last - sent[WARM].last) as f64 / (FRAMES - 1 - WARM) as f64;
    Ok(vec![
        Figure::new(
            "host.ring_frame_cycles",
            span(&short),
            format!("a frame of 64 bytes by the command ring, of {FRAMES} with one register write, on the wire"),
        ),
        Figure::new(
            "host.send_frame_1500_bits_per_cycle",
            8.0 * USUAL as f64 / span(&long),
            format!("{FRAMES} frames of {USUAL} bytes by the command ring, on the wire"),
        ),
    ])
}

fn put(session: &mut Session) -> Result<Vec<Figure>> {
    const BYTES: u32 = 64;
    let device = &mut session.device;
    let own = Node::numbered(0);
    device.set_identity(0, own.mac, own.ip)?;
    device.set_node(1, Some(Node::numbered(1)))?;
    let mut ring = device.open_commands(PROCESS, FRAMES.next_power_of_two())?;
    let address = device.memory.alloc(BYTES as usize, 64)?;
    let target = Target { node: 1, process: 0, address: 1, key: 2, offset: 0, kind: Kind::Bound };
    for cookie in 0..FRAMES {
        ensure!(device.add_put(&mut ring, address, BYTES, &target, cookie as u16)?, "the ring is full");
    }
    device.write_commands(&mut ring)?;
    device.wait_posts(&mut ring, LIMIT)?;
    session.card.sim().run(8000);
    let sent = session.card.sim().take_sent();
    ensure!(sent.len() == FRAMES, "{} of {FRAMES} puts left", sent.len());
    let span = (sent[FRAMES - 1].last - sent[WARM].last) as f64;
    let how = format!("a put of {BYTES} bytes, not acknowledged, by the command ring, of {FRAMES} with one register write, on the wire");
    Ok(vec![Figure::new("host.ring_put_cycles", span / (FRAMES - 1 - WARM) as f64, how)])
}
