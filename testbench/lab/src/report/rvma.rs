//! The figures of the RVMA engine beside those of one mailbox: many mailboxes, long puts, posting.

use super::measure::{play_all, Figure, Measure, AT_ONCE, IDLE};
use anyhow::{ensure, Context, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{HostMemory, Rule};
use spindle_cli::session::Session;
use spindle_contract::params::{SEGMENT_BYTES, SPINDLE_PORT};
use spindle_contract::reasons;
use spindle_contract::wire::RECORD_BYTES;
use spindle_model::frames::{put_message, spindle, Ends, SpindleHeader};

const KEY: u32 = 0x5EED;

/// The measurements: name, keys, function.
pub const MEASUREMENTS: [(&str, &[&str], Measure); 3] = [
    ("smallest frames into mailboxes at random", &["cycles.rvma_min_frame_random"], random_mailboxes),
    ("long puts", &["rvma.stream_bits_per_cycle"], stream),
    (
        "posting and looking up",
        &["rvma.post_cycles", "rvma.post_cycles_doorbell", "rvma.lookup_latency"],
        post_and_look_up,
    ),
];

/// A one-byte put.
fn smallest(addr: u64, msg_id: u32, buf_off: u32) -> Vec<u8> {
    let header =
        SpindleHeader { addr, key: KEY, msg_id, msg_len: 1, buf_off, payload_len: 1, ..SpindleHeader::default() };
    spindle(&Ends::default(), 49152, SPINDLE_PORT, &header, &[msg_id as u8])
}

fn receive(session: &mut Session) -> Result<()> {
    session.device.add_rule(&"spindle".parse::<Rule>()?, Action::Mailbox)?;
    Ok(session.device.set_receive(true)?)
}

fn random_mailboxes(session: &mut Session) -> Result<Vec<Figure>> {
    const MAILBOXES: usize = 200;
    const PACKETS: u32 = 4000;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut open = Vec::new();
    // Where the table has no room for an address, another is drawn.
    while open.len() < MAILBOXES {
        let addr = random.random();
        if let Ok(window) = session.device.init_window(0, addr, KEY, 2 * PACKETS) {
            session.device.post_buffer(window, 2 * PACKETS)?;
            open.push(addr);
        }
    }
    receive(session)?;
    let frames: Vec<_> = (0..PACKETS).map(|i| smallest(open[random.random_range(0..open.len())], i, i)).collect();
    play_all(session, &frames, AT_ONCE)?;
    let mut sim = session.card.sim();
    let cycles: Vec<u64> = sim.trace().of(reasons::T_LOOKED_UP).map(|event| event.cycle).collect();
    ensure!(cycles.len() == frames.len(), "{} of {} packets were looked up", cycles.len(), frames.len());
    let span = cycles[cycles.len() - 1] - cycles[0];
    let how = format!("{PACKETS} smallest frames back to back into {MAILBOXES} mailboxes at random, none dropped");
    Ok(vec![Figure::new("cycles.rvma_min_frame_random", span as f64 / f64::from(PACKETS - 1), how)])
}

fn stream(session: &mut Session) -> Result<Vec<Figure>> {
    const PUT: usize = 1 << 20;
    const PUTS: usize = 2;
    const ADDR: u64 = 0x1234;
    let window = session.device.init_window(0, ADDR, KEY, PUT as u32)?;
    let posted: Vec<_> =
        (0..PUTS).map(|_| session.device.post_buffer(window, PUT as u32)).collect::<spindle::Result<_>>()?;
    receive(session)?;
    let data: Vec<u8> = (0..PUT).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut frames = Vec::new();
    for msg_id in 0..PUTS as u32 {
        let header = SpindleHeader { addr: ADDR, key: KEY, msg_id, ..SpindleHeader::default() };
        frames.extend(put_message(&Ends::default(), SPINDLE_PORT, &header, &data, SEGMENT_BYTES));
    }
    session.card.sim().memory().keep_log = true;
    play_all(session, &frames, AT_ONCE)?;
    let mut sim = session.card.sim();
    let first = sim.trace().of(reasons::T_DMA_FIRST).next().context("no packet was written")?.cycle;
    let memory = sim.memory();
    for buffer in &posted {
        ensure!(memory.memory.bytes(buffer.buffer, PUT) == data, "a put did not arrive whole");
    }
    let last = memory.log.iter().filter(|burst| burst.bytes.len() > 16).map(|burst| burst.data_cycle).max();
    let cycles = last.context("no burst was written")? - first + 1;
    let how = format!(
        "payload bits in host memory by cycles from the first to the last W beat, {PUTS} puts of {PUT} bytes in segments of \
         {SEGMENT_BYTES} at line rate; the wire gives {:.0}",
        SEGMENT_BYTES as f64 * 8.0 / 24.0
    );
    Ok(vec![Figure::new("rvma.stream_bits_per_cycle", (8 * PUT * PUTS) as f64 / cycles as f64, how)])
}

fn post_and_look_up(session: &mut Session) -> Result<Vec<Figure>> {
    const POSTS: u64 = 20;
    const RINGED: usize = 512;
    const ADDR: u64 = 0x1234;
    let window = session.device.init_window(0, ADDR, KEY, 1)?;
    let start = session.card.sim().cycle();
    for _ in 0..POSTS {
        session.device.post_buffer(window, 64)?;
    }
    let post = (session.card.sim().cycle() - start) / POSTS;
    let mut ring = session.device.open_commands(0, RINGED.next_power_of_two())?;
    let buffer = session.device.memory.alloc(64, 64)?;
    let records = session.device.memory.alloc(RINGED * RECORD_BYTES, RECORD_BYTES)?;
    let posted = |i: usize| Posted { buffer, size: 64, record: records + (i * RECORD_BYTES) as u64 };
    let start = session.card.sim().cycle();
    ensure!(session.device.post_many(&mut ring, window, &(0..RINGED).map(posted).collect::<Vec<_>>())? == RINGED);
    session.device.wait_posts(&mut ring, 100_000)?;
    let ringed = (session.card.sim().cycle() - start) as f64 / RINGED as f64;
    receive(session)?;
    let frames: Vec<_> = (0..POSTS as u32).map(|i| smallest(ADDR, i, 0)).collect();
    play_all(session, &frames, IDLE)?;
    let mut values = session.card.sim().trace().latencies(reasons::T_PLACEMENT, reasons::T_LOOKED_UP);
    values.sort_unstable();
    let lookup = *values.get(values.len() / 2).context("the trace shows no look-up")?;
    Ok(vec![
        Figure::new(
            "rvma.post_cycles",
            ringed,
            "a buffer by the command ring: 512 of them, one register access, until all are posted",
        ),
        Figure::new(
            "rvma.post_cycles_doorbell",
            post,
            "a buffer by the doorbell page: six staged registers, command, result",
        ),
        Figure::new("rvma.lookup_latency", lookup, "idle: placement handed over to mailbox and buffer known, median"),
    ])
}
