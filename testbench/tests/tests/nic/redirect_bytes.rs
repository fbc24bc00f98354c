//! Redirects of bytes: handlers place ranges of their packets into mailboxes of every kind, straight from the packet buffer. Every byte
//! of host memory is compared with the model of RVMA.

use crate::nic::bench::{at_once, random_gaps, Nic};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::window::{Counting, WindowOptions};
use spindle::{ContextId, ContextOptions};
use spindle_contract::params::SLOT_BYTES;
use spindle_contract::reasons::HANDLER_DROP;
use spindle_contract::registers::mailbox_mode;
use spindle_contract::wire::flag;
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{udp, Ends};
use spindle_model::rvma_lut::{Put, Rvma};
use spindle_sim::host_memory::{SparseMemory, Timing};
use spindle_sim::Options;

const PID: u16 = 3;
const WINDOWS: u64 = 0x7_0000_0000;
/// Bytes before the payload of a UDP frame.
const PAYLOAD: usize = 42;
/// Frames that the packet buffer holds.
const BURST: usize = 50;
/// Flags of a packet: its handlers wait for each redirect and count those that failed; return DROP; redirect the payload too.
const WAITS: u8 = 1;
const DROPS: u8 = 2;
const WHOLE: u8 = 4;

/// Redirects what the payload describes: number of blocks, flags, two bytes; then of each block its window, whether it names an epoch,
/// its first byte in the frame, its length, epoch and offset. The header handler does the first half, the payload handler the rest. They
/// overwrite the packet with their own bytes first.
const HANDLER: &str = r#"
#include "spin_atomic.h"
#include "spindle.h"

#define WINDOWS 0x700000000u

static struct {
    uint32_t failed;
    uint32_t done;
} seen;

static int redirect(const spin_task_t *task, uint32_t first, uint32_t last) {
    const uint8_t *payload = (const uint8_t *)task->payload;
    uint8_t flags = payload[1];
    for (uint32_t i = first; i < last; i++) {
        const uint8_t *block = payload + 4 + 12 * i;
        const void *bytes = (const void *)(SPIN_REGION_PACKET + spin_get16(block + 2));
        uint32_t length = spin_get16(block + 4);
        if (block[1]) {
            spin_redirect_epoch(WINDOWS + block[0], (uint16_t)spin_get16(block + 6), spin_get32(block + 8), bytes, length);
        } else {
            spin_redirect_bytes(WINDOWS + block[0], spin_get32(block + 8), bytes, length);
        }
        if (flags & 1) {
            spin_handle_t handle = spin_handle();
            spin_wait_for(handle);
            spin_amo_add(spin_failed(handle) ? &seen.failed : &seen.done, 1);
        }
    }
    return flags & 2 ? SPIN_DROP : SPIN_SUCCESS;
}
int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint8_t *payload = spin_payload(h);
    if (payload[1] & 4) {
        spin_redirect(WINDOWS, spin_get16(payload + 2));
    }
    redirect((const spin_task_t *)SPIN_REGION_TASK, 0, payload[0] / 2u);
    return SPIN_PROCESS_DATA;
}
int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    uint8_t *payload = spin_payload(p);
    int code = redirect((const spin_task_t *)SPIN_REGION_TASK, payload[0] / 2u, payload[0]);
    /* What is placed is what was received. */
    for (uint32_t i = 0; i < 40; i++) {
        payload[i] = 0x5a;
    }
    return code;
}"#;

/// A range of a frame, and its place.
#[derive(Clone, Copy, Debug)]
struct Block {
    window: u8,
    epoch: Option<u16>,
    first: usize,
    length: usize,
    offset: u32,
}

/// A frame whose handlers redirect these blocks of it, with random bytes up to a length of `bytes`.
fn frame(blocks: &[Block], flags: u8, bytes: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut payload = vec![blocks.len() as u8, flags, 0, 0];
    for block in blocks {
        payload.extend([block.window, block.epoch.is_some().into()]);
        payload.extend((block.first as u16).to_be_bytes());
        payload.extend((block.length as u16).to_be_bytes());
        payload.extend(block.epoch.unwrap_or(0).to_be_bytes());
        payload.extend(block.offset.to_be_bytes());
    }
    while payload.len() + PAYLOAD < bytes {
        payload.push(rng.random_range(1..=255));
    }
    udp(&Ends::default(), 1, 9, &payload)
}

/// A NIC with windows of all kinds, and its model.
struct Bench {
    nic: Nic,
    model: Rvma,
    context: ContextId,
    rng: ChaCha8Rng,
}

impl Bench {
    fn new(name: &str) -> Bench {
        let options = Options { seed: seed_of_run(name), host_latency: (1, 400), ..Options::default() };
        let mut nic = Nic::new(options);
        let context =
            nic.install_source(HANDLER, ContextOptions { process: PID as u8, ..ContextOptions::default() }).context;
        nic.rule("udp.dport == 9", Action::Context(context));
        nic.device.activate(context).unwrap();
        nic.device.set_receive(true).unwrap();
        Bench { nic, model: Rvma::default(), context, rng: seeded_rng(name) }
    }

    /// Opens window `number` on both sides, with so many buffers.
    fn open(&mut self, number: u8, mode: u32, threshold: u32, buffers: usize, size: u32) {
        let address = WINDOWS + u64::from(number);
        let has = |bit: u32| mode & bit != 0;
        let counting = if has(mailbox_mode::OPS) { Counting::Operations } else { Counting::Bytes };
        let wanted = WindowOptions {
            address,
            key: 77,
            threshold,
            counting,
            tagged: has(mailbox_mode::TAGGED),
            managed: has(mailbox_mode::MANAGED),
            ..WindowOptions::default()
        };
        let window = self.nic.device.open_window(PID.into(), &wanted).unwrap();
        self.model.init_window(PID, address, 77, threshold, mode).unwrap();
        for _ in 0..buffers {
            let posted = self.nic.device.post_buffer(window, size).unwrap();
            self.model.post_buffer(PID, address, posted.buffer, posted.size, posted.record).unwrap();
        }
    }

    /// What the model makes of a block of a frame.
    fn place(&mut self, frame: &[u8], block: &Block) -> Result<(), usize> {
        self.model.put(&Put {
            flags: if block.epoch.is_some() { flag::EPOCH_VALID } else { 0 },
            pid: PID,
            addr: WINDOWS + u64::from(block.window),
            epoch: block.epoch.unwrap_or(0),
            msg_len: block.length as u32,
            buf_off: block.offset,
            payload: frame[block.first..][..block.length].to_vec(),
            redirected: true,
            ..Put::default()
        })
    }

    /// A block of a frame of so many bytes, of any alignment.
    fn range(&mut self, bytes: usize) -> (usize, usize) {
        let rng = &mut self.rng;
        let visible = bytes.min(SLOT_BYTES);
        let first = [0, visible - 1, rng.random_range(0..visible), 64 * rng.random_range(0..visible.div_ceil(64))];
        let first = *first.choose(rng).unwrap();
        let left = visible - first;
        let length = [left, 1, rng.random_range(1..=left), rng.random_range(1..=left.min(80))];
        (first, *length.choose(rng).unwrap())
    }

    /// The handlers' counts of redirects that failed, and of those that did not, of packets that wait.
    fn counts(&mut self) -> [u32; 2] {
        let mut bytes = [0; 8];
        self.nic.device.read_state(self.context, 0, &mut bytes).unwrap();
        [0, 4].map(|at| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()))
    }

    /// Host memory is the model's, and nothing is left in the NIC.
    fn compare(&mut self) {
        assert!(self.nic.device.pop_fault().unwrap().is_none());
        let mut expected = SparseMemory::default();
        for (address, byte) in &self.model.memory {
            expected.write(*address, &[*byte]);
        }
        for record in &self.model.records {
            expected.write(record.address, &record.bytes());
        }
        let (got, wanted) = (self.nic.card.sim().memory().memory.nonzero(), expected.nonzero());
        let wrong = got.iter().zip(&wanted).find(|(got, wanted)| got != wanted);
        assert_eq!(wrong, None, "the first byte of host memory, with its address, that differs from the model's");
        assert_eq!(got.len(), wanted.len(), "bytes of host memory that are not zero");
        self.nic.assert_empty();
    }
}

/// Ranges of any alignment of packets of any length, at the highest rate, from handlers that wait and from handlers that return at once,
/// beside placements of the whole payload: each one is where the handler said, and no other byte changes.
#[test]
fn ranges_of_packets_are_where_handlers_say() {
    with_seeds(|| {
        for slow in [false, true] {
            let mut bench = Bench::new(if slow { "redirect_bytes_slow" } else { "redirect_bytes" });
            if slow {
                let mut sim = bench.nic.card.sim();
                let memory = sim.memory();
                memory.timing = Timing { aw_stall: 60, w_stall: 60, ..memory.timing };
            }
            // By offset, by epoch and offset: in any order.
            const SIZE: u32 = 1 << 19;
            bench.open(0, 0, SIZE, 1, SIZE);
            bench.open(1, 0, SIZE, 1, SIZE);
            bench.open(2, mailbox_mode::TAGGED, SIZE, 4, SIZE);
            let mut next = [0u32; 6];
            let mut frames = vec![];
            let (mut redirected, mut whole, mut dropped, mut waiting) = (0u32, 0u32, 0u32, 0u32);
            for _ in 0..3 * BURST {
                let bytes = [200, 300, 900, 1514, 2500][bench.rng.random_range(0..5)] + bench.rng.random_range(0..64);
                let count = bench.rng.random_range(0..=12);
                let mut blocks = vec![];
                for _ in 0..count {
                    let (first, length) = bench.range(bytes);
                    // Which buffer; it lies after the others there.
                    let which = bench.rng.random_range(0..6usize);
                    let offset = next[which] + bench.rng.random_range(0..70);
                    if offset + length as u32 + 3000 < SIZE {
                        next[which] = offset + length as u32;
                        let epoch = which.checked_sub(2).map(|epoch| epoch as u16);
                        blocks.push(Block { window: which.min(2) as u8, epoch, first, length, offset });
                    }
                }
                let mut flags = [0, 0, WAITS, DROPS][bench.rng.random_range(0..4)];
                let payload = bytes - PAYLOAD;
                let whole_at = next[0];
                if flags != DROPS && whole_at < 0x10000 && bench.rng.random_range(0..4) == 0 {
                    flags |= WHOLE;
                    next[0] += payload as u32;
                }
                let mut frame = frame(&blocks, flags, bytes, &mut bench.rng);
                assert_eq!(frame.len(), bytes);
                frame[PAYLOAD + 2..PAYLOAD + 4].copy_from_slice(&(whole_at as u16).to_be_bytes());
                // The sum of the datagram is not that of these two bytes.
                frame[PAYLOAD - 2..PAYLOAD].fill(0);
                for block in &blocks {
                    assert_eq!(bench.place(&frame, block), Ok(()));
                }
                if flags & WHOLE != 0 {
                    let all = Block { window: 0, epoch: None, first: PAYLOAD, length: payload, offset: whole_at };
                    assert_eq!(bench.place(&frame, &all), Ok(()));
                    whole += 1;
                }
                redirected += blocks.len() as u32;
                dropped += u32::from(flags & DROPS != 0);
                waiting += if flags & WAITS != 0 { blocks.len() as u32 } else { 0 };
                frames.push(frame);
            }
            let mut drops = 0;
            for burst in frames.chunks(BURST) {
                let played = bench.nic.play(at_once(burst));
                drops += played.drops[HANDLER_DROP];
                assert_eq!(played.drops[HANDLER_DROP], played.drops.iter().sum::<u32>(), "{:?}", played.drop_names());
            }
            let stats = bench.nic.device.stats().unwrap();
            assert_eq!(drops, dropped);
            assert_eq!((stats.frames_placed, stats.frames_handled), (whole, frames.len() as u32 - whole - dropped));
            assert_eq!(stats.placed_packets, redirected + whole, "placements in all");
            assert_eq!(bench.counts(), [0, waiting]);
            assert!(redirected > 400 && whole > 10 && dropped > 10 && waiting > 50);
            bench.compare();
        }
    });
}

/// Managed mailboxes append, TAGGED ones and streams take what names the right epoch or ordinal, buffers complete: one packet after the
/// other, so that the model knows the order. What is refused is refused there too, and its command fails.
#[test]
fn mailboxes_of_every_kind_take_or_refuse_them() {
    with_seeds(|| {
        let mut bench = Bench::new("redirect_bytes_kinds");
        let stream = mailbox_mode::TAGGED | mailbox_mode::MANAGED;
        bench.open(0, 0, 4000, 6, 5000);
        bench.open(1, mailbox_mode::MANAGED, 1500, 8, 6000);
        bench.open(2, mailbox_mode::TAGGED, 2500, 20, 4000);
        bench.open(3, stream, 1500, 8, 6000);
        bench.open(4, mailbox_mode::OPS, 3, 30, 3000);
        bench.open(5, mailbox_mode::TAGGED | mailbox_mode::OPS, 4, 20, 3000);
        // Window 6 does not exist; window 7 has no buffer.
        bench.open(7, 0, 100, 0, 0);
        let mut turn = 0u16;
        let (mut failed, mut done) = (0, 0);
        let mut refused = std::collections::BTreeMap::<usize, u32>::new();
        for _ in 0..90 {
            let bytes = [200, 700, 1514][bench.rng.random_range(0..3)];
            let count = bench.rng.random_range(1..=8);
            let blocks: Vec<Block> = (0..count)
                .map(|_| {
                    let (first, length) = bench.range(bytes);
                    let window = bench.rng.random_range(0..8u8);
                    let rng = &mut bench.rng;
                    let epoch = bench.model.get_epoch(PID, WINDOWS + u64::from(window)).unwrap_or(0) as u16;
                    let named =
                        epoch.wrapping_add(rng.random_range(0..5)).wrapping_sub(u16::from(rng.random_range(0..9) == 0));
                    let epoch = match window {
                        3 if rng.random_range(0..6) > 0 => Some(turn),
                        2 | 3 | 5 => Some(named),
                        _ => None,
                    };
                    // Now and then an epoch where there is none, or none where there is one.
                    let epoch = match rng.random_range(0..12) {
                        0 => epoch.is_none().then_some(named),
                        _ => epoch,
                    };
                    turn += u16::from(window == 3 && epoch == Some(turn));
                    let offset = if rng.random_range(0..12) == 0 { rng.random() } else { rng.random_range(0..3500) };
                    Block { window, epoch, first, length, offset }
                })
                .collect();
            let frame = frame(&blocks, WAITS, bytes, &mut bench.rng);
            for block in &blocks {
                match bench.place(&frame, block) {
                    Ok(()) => done += 1,
                    Err(reason) => {
                        failed += 1;
                        *refused.entry(reason).or_default() += 1;
                    }
                }
            }
            // A stream whose message was refused is where it was.
            turn = bench.model.turn(PID, WINDOWS + 3);
            let played = bench.nic.play(at_once(&[frame]));
            assert_eq!((played.drop_names(), played.stats.frames_placed), (vec![], 0), "{blocks:?}");
            assert_eq!(bench.counts(), [failed, done], "failed and done, after {blocks:?}");
        }
        assert!(bench.model.records.len() > 12, "{} buffers are complete", bench.model.records.len());
        assert!(done > 100 && refused.len() >= 5, "{done} were placed; refused, by reason: {refused:?}");
        bench.compare();
    });
}

/// A context that is not active any more while bytes of its packets are under way: all cells return.
#[test]
fn nothing_is_left_of_a_context_that_ends() {
    with_seeds(|| {
        let mut bench = Bench::new("redirect_bytes_ends");
        bench.open(0, 0, 1 << 20, 1, 1 << 20);
        let mut frames = vec![];
        for i in 0..60u32 {
            let blocks: Vec<Block> = (0..8)
                .map(|at| {
                    let (first, length) = bench.range(1000);
                    Block { window: 0, epoch: None, first, length, offset: 10_000 * i + 1000 * at }
                })
                .collect();
            frames.push(frame(&blocks, 0, 1000, &mut bench.rng));
        }
        let mut play: Vec<_> = random_gaps(&frames, 30, &mut bench.rng);
        play.shuffle(&mut bench.rng);
        {
            let mut sim = bench.nic.card.sim();
            sim.memory().timing = Timing { aw_stall: 90, w_stall: 90, ..sim.memory().timing };
            play.into_iter().for_each(|frame| sim.inject(frame));
            while sim.pending() > 0 {
                sim.step();
            }
        }
        let inside = bench.nic.device.stats().unwrap().inside();
        assert!(inside > 4, "{inside} packets are inside when the context ends");
        let context = bench.context;
        bench.nic.device.deactivate(context).unwrap();
        for _ in 0..200 {
            bench.nic.card.sim().run(1000);
            if bench.nic.device.stats().unwrap().inside() == 0 {
                break;
            }
        }
        bench.nic.card.sim().run(2000);
        bench.nic.assert_empty();
    });
}

/// A range that is not inside the frame ends the handler with a fault that names the command, whatever tailroom there is.
#[test]
fn ranges_outside_the_frame_are_faults() {
    const OUTSIDE: &str = r#"
#include "spindle.h"
SPIN_TAILROOM(128);
int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    const uint8_t *payload = spin_payload(h);
    spin_redirect_key(0x700000000u, spin_get32(payload + 8), 0, (const void *)spin_get32(payload), spin_get32(payload + 4));
    return SPIN_PROCESS_DATA;
}"#;
    with_seeds(|| {
        let mut nic = Nic::new(Options { seed: seed_of_run("redirect_bytes_outside"), ..Options::default() });
        let installed = nic.install_source(OUTSIDE, ContextOptions { process: PID as u8, ..ContextOptions::default() });
        nic.rule("udp.dport == 9", Action::Context(installed.context));
        nic.device.activate(installed.context).unwrap();
        nic.device.set_receive(true).unwrap();
        let mut rng = seeded_rng("redirect_bytes_outside");
        const PACKET: u32 = spindle_contract::memory_map::base(spindle_contract::memory_map::PACKET);
        const SCRATCH: u32 = spindle_contract::memory_map::base(spindle_contract::memory_map::SCRATCH);
        let size = |bytes: usize| bytes.min(SLOT_BYTES) as u32;
        for bytes in [130usize, 1514, 2047, 2048, 3000] {
            let end = size(bytes);
            for (source, length, key, legal) in [
                (PACKET, end, 0, true),
                (PACKET, end + 1, 0, false),
                (PACKET + end - 1, 1, 0xFFFF, true),
                (PACKET + end - 1, 2, 0, false),
                (PACKET + end, 1, 0, false),
                (PACKET + 5, 0, 0, false),
                (PACKET - 1, 2, 0, false),
                (PACKET + 1, u32::MAX, 0, false),
                (PACKET + 0x1000, 1, 0, false),
                (SCRATCH, 1, 0, false),
                (PACKET, 1, 0x1_FFFF, true),
                (PACKET, 1, 0x2_0000, false),
                (PACKET, 1, 0x8000_0000, false),
            ] {
                let mut payload: Vec<u8> = [source, length, key].iter().flat_map(|word| word.to_be_bytes()).collect();
                payload.resize(bytes - PAYLOAD, rng.random());
                let played = nic.play(at_once(&[udp(&Ends::default(), 1, 9, &payload)]));
                let what = format!("{length} bytes from {source:#x}, key {key:#x}, of {bytes}");
                let fault = nic.device.pop_fault().unwrap();
                assert_eq!(fault.is_none(), legal, "{what}");
                let Some(fault) = fault else {
                    assert_eq!(played.drop_names(), [], "{what}");
                    continue;
                };
                assert_eq!(fault.cause_text().0, "FAULT_COMMAND", "{what}");
                let issue = spindle_contract::memory_map::base(spindle_contract::memory_map::COMMAND)
                    + spindle_contract::memory_map::CMD_ISSUE;
                assert_eq!(fault.address, issue, "{what}");
                assert_eq!(played.drop_names(), [("handler_fail", 1)], "{what}");
            }
        }
        nic.assert_empty();
    });
}
