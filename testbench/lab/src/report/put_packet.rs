//! What reliable puts of packets deliver: handlers of one NIC put the payload of each packet of a stream into a mailbox of another.

use super::measure::Figure;
use super::put_context::{installed, MAILBOX, PATIENCE, SENDING};
use super::rvma_network::{pair, KEY, WIRE_LIMIT};
use anyhow::{bail, ensure, Result};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::{Config, SEGMENT_BYTES};
use spindle_contract::wire::status;
use spindle_harness::Source;
use spindle_model::frames::{udp, Ends};
use spindle_sim::{WireFrame, WireOptions};

/// The key.
pub const KEYS: &[&str] = &["throughput.put_packet_reliable_1408"];

/// Puts its payload, of which the first word is the offset in the mailbox's buffer.
const HANDLER: &str = "#include <spindle.h>\n\
    int payload_handler(const spin_payload_t *p, void *state) { (void)state; uint32_t offset; \
    memcpy(&offset, spin_payload(p), sizeof offset); \
    spin_target_t to = { .node = 1, .process = 0, .mailbox = 0x70, .key = 0x5EED, .offset = offset }; \
    spin_put_packet(&to, spin_payload(p), p->payload_len); return SPIN_SUCCESS; }\n";
/// Packets.
const PACKETS: usize = 400;
/// Cycles from one packet to the next: 23 beats, and time for acknowledgements.
const SPACING: u64 = 26;

/// Payload bits per cycle from the first packet to the record of the buffer that all puts fill together.
pub fn measure(source: &Source, config: &Config) -> Result<Vec<Figure>> {
    let [mut sender, mut receiver] = pair(source, config, WireOptions::default(), 8, SENDING)?;
    installed(&mut sender, HANDLER, None)?;
    let size = PACKETS * SEGMENT_BYTES;
    let window = receiver.init_window(0, MAILBOX, KEY, size as u32)?;
    let posted = receiver.post_buffer(window, size as u32)?;
    let mut wanted = vec![0; size];
    ChaCha8Rng::seed_from_u64(44).fill_bytes(&mut wanted);
    let free = sender.stats()?.cells_free;
    let start = sender.memory.card().sim().cycle();
    for (number, payload) in wanted.chunks_mut(SEGMENT_BYTES).enumerate() {
        payload[..4].copy_from_slice(&((number * SEGMENT_BYTES) as u32).to_le_bytes());
        let bytes = udp(&Ends::default(), 4000, 9, payload);
        sender.memory.card().sim().inject(WireFrame { bytes, gap: 0, bad: false });
        // Acknowledgements come between packets, not after all of them.
        sender.memory.network().run(SPACING);
    }
    let completed = match receiver.wait(&posted, PATIENCE) {
        Ok(completed) => completed,
        Err(error) => bail!("{error}; {:?}, {:?}", sender.puts()?, sender.stats()?),
    };
    let end = receiver.memory.card().sim().cycle();
    ensure!(completed.status == status::DONE && completed.length as usize == size, "the buffer ended as {completed:?}");
    let found = receiver.memory.card().sim().memory().memory.bytes(posted.buffer, size) == wanted;
    ensure!(found, "the bytes did not arrive whole");
    while sender.puts()?.0 as usize != PACKETS {
        ensure!(sender.memory.card().sim().cycle() < end + PATIENCE, "{:?} puts are over", sender.puts()?);
    }
    let (stats, resent) = (sender.stats()?, sender.segments_resent()?);
    ensure!(stats.frames_handled as usize == PACKETS, "{} of {PACKETS} packets were handled", stats.frames_handled);
    ensure!(resent == 0 && stats.cells_free == free, "{resent} sent again, {} cells free", stats.cells_free);
    let how = format!(
        "{PACKETS} packets with 1,408 bytes of payload, one every {SPACING} cycles, put on reliably into a mailbox of another NIC; first \
         packet to record: every byte compared, none dropped, none sent again, all cells free; the wire gives {WIRE_LIMIT:.0}"
    );
    Ok(vec![Figure::new(KEYS[0], (8 * size) as f64 / (end - start) as f64, how)])
}
