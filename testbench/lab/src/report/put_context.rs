//! What reliable puts of context memory deliver: handlers of one NIC put bytes of L2 into mailboxes of another.

use super::measure::Figure;
use super::rvma_network::{pair, Node, KEY, WIRE_LIMIT};
use anyhow::{ensure, Result};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::{ContextOptions, Rule};
use spindle_contract::memory_map::WATCHDOG_MOST;
use spindle_contract::params::{Config, SEGMENT_BYTES};
use spindle_contract::wire::status;
use spindle_harness::Source;
use spindle_model::frames::{udp, Ends};
use spindle_sdk::Sources;
use spindle_sim::{WireFrame, WireOptions};

/// The keys: long puts, and puts of a segment each.
pub const KEYS: &[&str] = &["rvma.put_context_bits_per_cycle", "rvma.put_context_bits_per_cycle_1408"];

/// Puts what its packet names: byte of `data` for the first put, bytes of each, offset in the mailbox's buffer, puts. The bytes of
/// the next put begin 613 bytes further on.
const HANDLER: &str = "#include <spindle.h>\nuint8_t data[0x20000] __attribute__((aligned(64))) = { 1 };\n\
    int payload_handler(const spin_payload_t *p, void *state) { (void)state; uint32_t order[4]; \
    memcpy(order, spin_payload(p), sizeof order); \
    spin_target_t to = { .node = 1, .process = 0, .mailbox = 0x70, .key = 0x5EED, .offset = order[2] }; \
    for (; order[3] > 0; order[3]--) { spin_put_context(&to, data + order[0], order[1]); \
    to.offset += order[1]; order[0] = (order[0] + 613) % 0x10000; } return SPIN_SUCCESS; }\n";
/// Mailbox of the handlers that the measurements install.
pub(super) const MAILBOX: u64 = 0x70;
/// How the sender repeats what is not acknowledged.
pub(super) const SENDING: Reliability = Reliability { timeout: 64, hole_time: 16, retries: 15, incarnation: 0 };
/// Bytes of `data`.
const DATA: usize = 0x2_0000;
/// Cycles within which the record of the buffer has to come.
pub(super) const PATIENCE: u64 = 2_000_000;
/// Cycles between the packets of the handlers.
const GAP: u64 = 16;
/// Bytes from one put of a handler to the next, which begin within so many bytes.
const STEP: usize = 613;
const WITHIN: usize = 0x1_0000;

/// The figures, each on two NICs of its own.
pub fn measure(source: &Source, config: &Config) -> Result<Vec<Figure>> {
    // Puts of twelve handlers, and puts of a segment each: 16 of each of 24 handlers.
    Ok(vec![rate(source, config, KEYS[0], 12, 1, DATA - 64)?, rate(source, config, KEYS[1], 24, 16, SEGMENT_BYTES)?])
}

/// Installs the handler of this text for UDP packets, with these bytes as its variable `data`.
pub(super) fn installed(sender: &mut Node, text: &str, data: Option<&[u8]>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("handler.c");
    std::fs::write(&path, text)?;
    let mut handler = spindle_sdk::load(&Sources::one(&path))?;
    if let Some(data) = data {
        crate::compat::ran::set_variable(&mut handler, "data", data)?;
    }
    let context =
        sender.install(&handler.image, &ContextOptions { watchdog: WATCHDOG_MOST, ..ContextOptions::default() })?;
    sender.add_rule(&"udp".parse::<Rule>()?, Action::Context(context))?;
    sender.activate(context)?;
    Ok(())
}

/// Payload bits per cycle from the first packet to the record of the buffer that all puts fill together.
fn rate(
    source: &Source,
    config: &Config,
    key: &'static str,
    handlers: usize,
    puts: usize,
    length: usize,
) -> Result<Figure> {
    let [mut sender, mut receiver] = pair(source, config, WireOptions::default(), 8, SENDING)?;
    let mut data = vec![0; DATA];
    ChaCha8Rng::seed_from_u64(43).fill_bytes(&mut data);
    installed(&mut sender, HANDLER, Some(&data))?;

    let size = handlers * puts * length;
    let window = receiver.init_window(0, MAILBOX, KEY, size as u32)?;
    let posted = receiver.post_buffer(window, size as u32)?;
    let mut wanted = Vec::with_capacity(size);
    let start = sender.memory.card().sim().cycle();
    for number in 0..handlers {
        let first = 5 * number;
        let order = [first, length, wanted.len(), puts].map(|word| (word as u32).to_le_bytes()).concat();
        for put in 0..puts {
            let from = (first + STEP * put) % WITHIN;
            wanted.extend_from_slice(&data[from..from + length]);
        }
        let bytes = udp(&Ends::default(), 4000, 9, &order);
        sender.memory.card().sim().inject(WireFrame { bytes, gap: GAP, bad: false });
    }
    let completed = receiver.wait(&posted, PATIENCE)?;
    let end = receiver.memory.card().sim().cycle();
    ensure!(completed.status == status::DONE && completed.length as usize == size, "the buffer ended as {completed:?}");
    let found = receiver.memory.card().sim().memory().memory.bytes(posted.buffer, size) == wanted;
    ensure!(found, "the bytes did not arrive whole");
    let (stats, resent) = (sender.stats()?, sender.segments_resent()?);
    let placed = receiver.stats()?.frames_placed as usize;
    let segments = handlers * puts * length.div_ceil(SEGMENT_BYTES);
    ensure!(stats.frames_handled as usize == handlers, "{} of {handlers} packets were handled", stats.frames_handled);
    ensure!(placed == segments && resent == 0, "{placed} of {segments} segments placed, {resent} sent again");
    let how = format!(
        "{} reliable puts of {length} bytes of context memory, which begin at any byte, into a mailbox of another NIC; first \
         packet of a handler to record: every byte compared, none dropped, none sent again; the wire gives {WIRE_LIMIT:.0}",
        handlers * puts
    );
    Ok(Figure::new(key, (8 * size) as f64 / (end - start) as f64, how))
}
