//! Handlers that move every byte of a message: payload bits per cycle, no packet dropped, every byte compared; and puts of 8 bytes that
//! are answered by puts.
//!
//! One message comes in full-size segments, at the densest even spacing at which nothing is dropped. The rate is taken
//! over the half of the packets in the middle: buffers have filled by then, and have not begun to run empty.

use super::measure::{play_all, serve, Figure, Measure, IDLE, LIMIT};
use super::spin::{densest_of, rate_of, spaced};
use crate::compat::ran::set_variable;
use anyhow::{ensure, Context, Result};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::window::{Counting, WindowOptions};
use spindle::{ContextOptions, HostMemory, Node, Rule};
use spindle_cli::check::compare_bytes;
use spindle_cli::play::{play_with, Played};
use spindle_cli::session::Session;
use spindle_contract::params::{BEAT_BYTES, SEGMENT_BYTES, SPINDLE_PORT};
use spindle_contract::{reasons, wire};
use spindle_model::frames::{put_message, Ends, SpindleHeader, UDP_HEADERS};
use spindle_model::jobs::{self, Message};
use spindle_sdk::{Handler, Shipped, Sources};

/// Packets of the message.
const PACKETS: usize = 600;
/// Factors between the spacings that are tried: until nothing is dropped, then from the last one at which something was.
const COARSE: f64 = 1.25;
const FINE: f64 = 1.02;
/// Messages that may be played.
const ATTEMPTS: u32 = 40;
/// Cycles after which a message that lost packets is given up.
const TIMEOUT: u64 = 5000;
const LONGEST_BLOCK: usize = 4096;
/// Writes each payload to host memory.
const TO_HOST: &str = "#include <spindle.h>\nint payload_handler(const spin_payload_t *p, void *state) { (void)state; \
    spin_dma_to_host(p->msg_off, spin_payload(p), p->payload_len); return SPIN_SUCCESS; }\n";
/// Puts the 8 bytes of each payload back to its sender.
const PUT_8: &str = "#include <spindle.h>\nint header_handler(const spin_header_t *h, void *state) { (void)state; \
    spin_target_t sender = { .node = h->src_nid, .process = h->src_pid, .mailbox = (uint64_t)h->addr_hi << 32 | h->addr_lo, \
    .key = 0x5EED, .offset = h->buf_off }; spin_put(&sender, spin_packet(h) + 90, 8); return SPIN_PROCESS_DATA; }\n";
/// Puts of 8 bytes that are played.
const PUTS: usize = 2000;
/// Lengths of blocks that are unpacked, with the keys of their figures.
const UNPACK: [(usize, &str); 4] = [
    (64, "throughput.unpack.64"),
    (256, "throughput.unpack.256"),
    (1024, "throughput.unpack.1024"),
    (LONGEST_BLOCK, "throughput.unpack.4096"),
];

/// Bytes of host memory that packets read, combine and write back: key, example, its variables, what it makes of the
/// host region, and whether a PCIe bridge is in between.
type Update =
    (&'static str, &'static str, &'static [(&'static str, u32)], fn(&[(usize, Message)], &[u8]) -> Vec<u8>, bool);
/// A coefficient of a Reed-Solomon code.
const COEFFICIENT: u8 = 0x1D;
const UPDATES: [Update; 6] = [
    ("throughput.accumulate_1408", "accumulate", &[], jobs::accumulate, false),
    ("throughput.xor_1408", "parity", &[("coefficient", 1)], xor_parity, false),
    ("throughput.gf_1408", "parity", &[("coefficient", COEFFICIENT as u32)], gf_parity, false),
    ("throughput.accumulate_1408_pcie", "accumulate", &[], jobs::accumulate, true),
    ("throughput.xor_1408_pcie", "parity", &[("coefficient", 1)], xor_parity, true),
    ("throughput.gf_1408_pcie", "parity", &[("coefficient", COEFFICIENT as u32)], gf_parity, true),
];
/// A PCIe bridge: bursts of 256 bytes that it has in flight in each direction, and cycles until it answers (1 us).
const BRIDGE_BURSTS: usize = 32;
const BRIDGE_LATENCY: u64 = 250;

fn xor_parity(messages: &[(usize, Message)], host: &[u8]) -> Vec<u8> {
    jobs::parity(messages, host, 1)
}

fn gf_parity(messages: &[(usize, Message)], host: &[u8]) -> Vec<u8> {
    jobs::parity(messages, host, COEFFICIENT)
}

/// Blocks of each payload go from the packet buffer to a window, at a stride of twice their length.
const REDIRECT: &str = "#include <spindle.h>\nuint32_t block_length = 64;\n\
    int payload_handler(const spin_payload_t *p, void *state) { (void)state; \
    for (uint32_t at = 0; at < p->payload_len; at += block_length) { uint32_t left = p->payload_len - at; \
    spin_redirect_bytes(0x5CA77E4, 2 * (p->msg_off + at), spin_payload(p) + at, left < block_length ? left : block_length); } \
    spin_wait(); return SPIN_SUCCESS; }\n";
const WINDOW: u64 = 0x05CA_77E4;
/// Lengths of blocks that are redirected, with the keys of their figures.
const REDIRECTED: [(usize, &str); 3] =
    [(64, "throughput.redirect.64"), (256, "throughput.redirect.256"), (1024, "throughput.redirect.1024")];

/// The measurements: name, keys, function.
pub const MEASUREMENTS: [(&str, &[&str], Measure); 6] = [
    ("puts of a stream to another node", &["throughput.stream_put_1408"], stream_put),
    ("payloads to host memory", &["throughput.to_host_1408"], to_host),
    ("puts of 8 bytes", &["throughput.put_8_packets_per_cycle", "cycles.put_turnround_8"], put_8),
    (
        "payloads combined with host memory",
        &[UPDATES[0].0, UPDATES[1].0, UPDATES[2].0, UPDATES[3].0, UPDATES[4].0, UPDATES[5].0],
        update,
    ),
    ("blocks from the packet buffer to a window", &[REDIRECTED[0].1, REDIRECTED[1].1, REDIRECTED[2].1], redirect),
    ("blocks to host memory at a stride", &[UNPACK[0].1, UNPACK[1].1, UNPACK[2].1, UNPACK[3].1], unpack),
];

/// A NIC with a handler for messages, a host region for the message at twice its length, and the message.
struct Bench<'a> {
    session: &'a mut Session,
    host: u64,
    message: Message,
    frames: Vec<Vec<u8>>,
    /// Host memory before the message.
    before: Vec<u8>,
}

impl<'a> Bench<'a> {
    fn new(session: &'a mut Session, mut handler: Handler, variables: &[(&str, Vec<u8>)]) -> Result<Self> {
        for (name, bytes) in variables {
            set_variable(&mut handler, name, bytes)?;
        }
        let mut data = vec![0; PACKETS * SEGMENT_BYTES];
        ChaCha8Rng::seed_from_u64(27).fill_bytes(&mut data);
        let region = 2 * (data.len() + LONGEST_BLOCK);
        let host = session.device.memory.alloc(region, 4096)?;
        let options = ContextOptions { host_region: Some((host, region as u32)), ..ContextOptions::default() };
        let context = session.device.install(&handler.image, &options)?;
        session.device.add_rule(&"spindle".parse::<Rule>()?, Action::ContextPerMessage(context))?;
        session.device.activate(context)?;
        session.device.set_identity(7, Ends::default().dst_mac, Ends::default().dst_ip)?;
        let node = Node { mac: Ends::default().src_mac, ip: Ends::default().src_ip, port: SPINDLE_PORT };
        session.device.set_node(1, Some(node))?;
        session.device.set_message_timeout(TIMEOUT)?;
        session.device.set_receive(true)?;
        let frames = frames(&data, 0);
        Ok(Bench { session, host, message: Message { id: 1, data }, frames, before: vec![] })
    }

    /// Plays the message at the densest spacing without a drop, to 2 %; returns the spacing too.
    fn play(&mut self) -> Result<(f64, Played)> {
        let beats = self.frames[0].len().div_ceil(BEAT_BYTES) as f64;
        let mut spacing = beats;
        let mut step = COARSE;
        // A message that lost packets stays open, so each attempt is a message of its own.
        for attempt in 1..ATTEMPTS {
            self.frames = frames(&self.message.data, attempt);
            if !self.before.is_empty() {
                self.session.device.memory.write(self.host, &self.before)?;
            }
            let before = self.session.device.stats()?.dropped();
            let played = play_with(self.session, &self.frames, spaced(spacing, beats as usize), LIMIT)?;
            ensure!(played.drained, "{} frames are still inside after {LIMIT} cycles", played.stats.inside());
            if let Some(fault) = self.session.device.pop_fault()? {
                anyhow::bail!("a handler faulted: {}", fault.cause_text().0);
            }
            if played.stats.dropped() > before {
                spacing *= step;
            } else if step == COARSE && spacing > beats {
                spacing /= COARSE;
                step = FINE;
            } else {
                return Ok((spacing, played));
            }
        }
        anyhow::bail!("packets were dropped at every spacing up to {spacing:.0} cycles")
    }

    /// The bits per cycle of handlers that end when their bytes are where they belong.
    fn handled(&self) -> Result<f64> {
        let cycles: Vec<u64> =
            self.session.card.sim().trace().of(reasons::T_HANDLER_END).map(|event| event.cycle).collect();
        ensure!(cycles.len() == PACKETS, "{} of {PACKETS} handlers ended", cycles.len());
        bits_per_cycle(&cycles)
    }

    /// Host memory has these bytes at these offsets.
    fn host_has(&mut self, pieces: impl IntoIterator<Item = (usize, Vec<u8>)>) -> Result<()> {
        for (offset, piece) in pieces {
            let mut found = vec![0; piece.len()];
            self.session.device.memory.read(self.host + offset as u64, &mut found)?;
            compare_bytes(&format!("host memory from {offset} on"), &piece, &found)?;
        }
        Ok(())
    }
}

/// The packets of message number `id`.
fn frames(data: &[u8], id: u32) -> Vec<Vec<u8>> {
    let header = SpindleHeader { msg_id: id, ..SpindleHeader::default() };
    put_message(&Ends::default(), SPINDLE_PORT, &header, data, SEGMENT_BYTES)
}

/// Payload bits per cycle, of the cycles in which packets were done.
fn bits_per_cycle(cycles: &[u64]) -> Result<f64> {
    let packets = rate_of(cycles);
    ensure!(packets.is_finite(), "all packets were done at once");
    Ok((8 * SEGMENT_BYTES) as f64 * packets)
}

fn put_8(session: &mut Session) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("put_8.c");
    std::fs::write(&path, PUT_8)?;
    let handler = spindle_sdk::load(&Sources::one(&path))?;
    session.device.set_identity(7, Ends::default().dst_mac, Ends::default().dst_ip)?;
    let node = Node { mac: Ends::default().src_mac, ip: Ends::default().src_ip, port: SPINDLE_PORT };
    session.device.set_node(1, Some(node))?;
    serve(session, &handler, "spindle", &ContextOptions::default())?;
    let frames: Vec<Vec<u8>> = (0..PUTS as u32)
        .flat_map(|id| {
            let header = SpindleHeader { msg_id: id, src_nid: 1, ..SpindleHeader::default() };
            put_message(
                &Ends::default(),
                SPINDLE_PORT,
                &header,
                &u64::from(id).wrapping_mul(0x9E37_79B9).to_le_bytes(),
                8,
            )
        })
        .collect();
    // Once for every HPU to have run the context.
    let first = 2 * session.config.total_hpus();
    play_all(session, &frames[..first], IDLE)?;
    let idle = play_all(session, &frames[..200], IDLE)?;
    let mut turns = Vec::new();
    for reply in &idle.replies {
        turns.push(reply.frame.first - idle.arrivals[reply.cause.context("a put without a cause")?]);
    }
    turns.sort_unstable();
    ensure!(turns.len() == 200, "{} of 200 puts were answered", turns.len());
    let (spacing, played) = densest_of(session, &frames, 1.0)?;
    ensure!(played.replies.len() == PUTS, "{} of {PUTS} puts were answered", played.replies.len());
    for reply in played.replies.iter().chain(&idle.replies) {
        let payload = UDP_HEADERS + wire::SPINDLE_BYTES;
        let asked = &frames[reply.cause.context("a put without a cause")?];
        compare_bytes("the payload of a put", &asked[payload..], &reply.frame.bytes[payload..])?;
    }
    let cycles: Vec<u64> = played.replies.iter().map(|reply| reply.frame.last).collect();
    let how = format!("{PUTS} puts of 8 bytes, one every {spacing:.2} cycles, each answered by a put; none dropped");
    Ok(vec![
        Figure::new("throughput.put_8_packets_per_cycle", rate_of(&cycles), how),
        Figure::new(
            "cycles.put_turnround_8",
            turns[100],
            "first beat of a put in to first beat of the put that answers, idle, median of 200",
        ),
    ])
}

fn stream_put(session: &mut Session) -> Result<Vec<Figure>> {
    let handler = Shipped::by_name("forward").context("there is no example `forward`")?.load()?;
    // Node, process, both halves of the mailbox, key and offset of what puts go on to.
    let next = [1u32, 0, 0x70, 0, 0x5EED, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut bench = Bench::new(session, handler, &[("next", next)])?;
    let (spacing, played) = bench.play()?;
    ensure!(played.replies.len() == PACKETS, "{} of {PACKETS} packets were put on", played.replies.len());
    for reply in &played.replies {
        let asked = &bench.frames[reply.cause.context("a put without a cause")?];
        let payload = UDP_HEADERS + wire::SPINDLE_BYTES;
        compare_bytes("the payload of a put", &asked[payload..], &reply.frame.bytes[payload..])?;
    }
    let cycles: Vec<u64> = played.replies.iter().map(|reply| reply.frame.last).collect();
    let how =
        format!("example `forward`, {PACKETS} packets of 1,408 bytes, one every {spacing:.2} cycles, payload on TX");
    Ok(vec![Figure::new("throughput.stream_put_1408", bits_per_cycle(&cycles)?, how)])
}

fn to_host(session: &mut Session) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("to_host.c");
    std::fs::write(&path, TO_HOST)?;
    let mut bench = Bench::new(session, spindle_sdk::load(&Sources::one(&path))?, &[])?;
    let (spacing, _) = bench.play()?;
    bench.host_has([(0, bench.message.data.clone())])?;
    let how = format!("DMA of each payload to host memory, {PACKETS} packets, one every {spacing:.2} cycles");
    Ok(vec![Figure::new("throughput.to_host_1408", bench.handled()?, how)])
}

fn update(session: &mut Session) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let config = session.config;
    for (index, (key, example, variables, model, bridge)) in UPDATES.into_iter().enumerate() {
        let mut own = if index == 0 { None } else { Some(Session::open(config, Default::default())?) };
        let session = own.as_mut().unwrap_or(session);
        let handler = Shipped::by_name(example).with_context(|| format!("there is no example `{example}`"))?.load()?;
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.to_le_bytes().to_vec())).collect();
        if bridge {
            let mut sim = session.card.sim();
            let memory = sim.memory();
            (memory.timing.response_min, memory.timing.response_max) = (BRIDGE_LATENCY, BRIDGE_LATENCY);
            (memory.most_open, memory.most_reads_open) = (BRIDGE_BURSTS, BRIDGE_BURSTS);
        }
        let mut bench = Bench::new(session, handler, &variables)?;
        bench.before = vec![0; bench.message.data.len()];
        ChaCha8Rng::seed_from_u64(28).fill_bytes(&mut bench.before);
        let (spacing, _) = bench.play()?;
        let after = model(&[(0, bench.message.clone())], &bench.before);
        bench.host_has([(0, after)])?;
        let host = if bridge {
            format!("host answers after {BRIDGE_LATENCY} cycles, {BRIDGE_BURSTS} bursts of 256 bytes in flight")
        } else {
            "host answers after 40 to 120 cycles".into()
        };
        let how = format!(
            "example `{example}`: host memory read, combined and written back, {PACKETS} packets of 1,408 bytes, one every \
            {spacing:.2} cycles; {host}"
        );
        figures.push(Figure::new(key, bench.handled()?, how));
    }
    Ok(figures)
}

fn redirect(session: &mut Session) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let config = session.config;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("redirect.c");
    std::fs::write(&path, REDIRECT)?;
    for (index, (block, key)) in REDIRECTED.into_iter().enumerate() {
        let mut own = if index == 0 { None } else { Some(Session::open(config, Default::default())?) };
        let session = own.as_mut().unwrap_or(session);
        // A buffer that no number of blocks completes.
        let wanted = WindowOptions {
            address: WINDOW,
            threshold: u32::MAX,
            counting: Counting::Operations,
            ..WindowOptions::default()
        };
        let window = session.device.open_window(0, &wanted)?;
        let posted = session.device.post_buffer(window, (2 * (PACKETS * SEGMENT_BYTES + LONGEST_BLOCK)) as u32)?;
        let handler = spindle_sdk::load(&Sources::one(&path))?;
        let mut bench = Bench::new(session, handler, &[("block_length", (block as u32).to_le_bytes().to_vec())])?;
        bench.host = posted.buffer;
        let (spacing, _) = bench.play()?;
        let data = bench.message.data.clone();
        let pieces = data.chunks(SEGMENT_BYTES).enumerate().flat_map(|(packet, payload)| {
            let piece = move |(i, bytes): (usize, &[u8])| (2 * (packet * SEGMENT_BYTES + i * block), bytes.to_vec());
            payload.chunks(block).enumerate().map(piece)
        });
        bench.host_has(pieces)?;
        let how = format!(
            "redirects of bytes, blocks of {block} bytes to a window at a stride of {}, {PACKETS} packets of 1,408 bytes, one every \
            {spacing:.2} cycles",
            2 * block
        );
        figures.push(Figure::new(key, bench.handled()?, how));
    }
    Ok(figures)
}

fn unpack(session: &mut Session) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let config = session.config;
    for (index, (block, key)) in UNPACK.into_iter().enumerate() {
        // A NIC of its own for each block length, except for the one that is given.
        let mut own = if index == 0 { None } else { Some(Session::open(config, Default::default())?) };
        let session = own.as_mut().unwrap_or(session);
        let handler = Shipped::by_name("unpack").context("there is no example `unpack`")?.load()?;
        let word = |value: usize| (value as u32).to_le_bytes().to_vec();
        let variables = [("block_length", word(block)), ("stride", word(2 * block))];
        let mut bench = Bench::new(session, handler, &variables)?;
        let (spacing, _) = bench.play()?;
        bench.host_has(jobs::unpack(&bench.message, block, 2 * block))?;
        let how = format!(
            "example `unpack`, blocks of {block} bytes to a stride of {}, {PACKETS} packets of 1,408 bytes, one every \
            {spacing:.2} cycles",
            2 * block
        );
        figures.push(Figure::new(key, bench.handled()?, how));
    }
    Ok(figures)
}
