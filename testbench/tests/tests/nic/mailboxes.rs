//! Puts of several packets, shuffled among each other, against the model of RVMA: host memory, byte for byte, and records,
//! exactly once.

use crate::nic::bench::{random_gaps, Nic};
use rand::seq::SliceRandom;
use rand::{Rng, RngCore};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{Error, HostMemory};
use spindle_contract::params::{SEGMENT_BYTES, SPINDLE_PORT};
use spindle_contract::reasons::T_RECORD;
use spindle_contract::wire::SPINDLE_BYTES;
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{put_message, Ends, SpindleHeader, UDP_HEADERS};
use spindle_model::rvma_lut::{Put, Rvma};
use spindle_sim::host_memory::{SparseMemory, Timing};
use spindle_sim::Options;

const ADDRESS: u64 = 0x0807_0605_0403_0201;
const KEY: u32 = 0xBEEF;
const MESSAGES: u32 = 4;

/// A packet as the wire has it and as the model wants it.
type Packet = (Vec<u8>, Put);

fn message(id: u32, length: usize, segment: usize, random: &mut ChaCha8Rng) -> Vec<Packet> {
    let mut data = vec![0; length];
    random.fill_bytes(&mut data);
    let header = SpindleHeader { addr: ADDRESS, key: KEY, msg_id: id, buf_off: 3 * id, ..SpindleHeader::default() };
    put_message(&Ends::default(), SPINDLE_PORT, &header, &data, segment)
        .into_iter()
        .enumerate()
        .map(|(i, frame)| {
            let put = Put {
                holder: None,
                opcode: header.opcode,
                flags: header.flags,
                pid: header.dst_pid,
                addr: ADDRESS,
                key: KEY,
                message: (header.src_nid, header.src_pid, id),
                msg_len: length as u32,
                msg_off: (i * segment) as u32,
                buf_off: header.buf_off,
                epoch: 0,
                header: vec![],
                payload: frame[UDP_HEADERS + SPINDLE_BYTES..].to_vec(),
                // Messages of one packet bind without a slot.
                slot: (length > segment).then_some(id as u8),
                redirected: false,
            };
            (frame, put)
        })
        .collect()
}

/// Cycles after which a packet on the fast path does not reach its mailbox before the packets that came earlier.
const FAST_PATH_LEAD: u64 = 30;

#[test]
fn shuffled_puts_complete_exactly_once() {
    with_seeds(|| shuffled_puts_complete(Nic::new));
}

/// Puts of several messages to the NIC that `open` gives.
pub fn shuffled_puts_complete(open: impl Fn(Options) -> Nic) {
    let seed = seed_of_run("nic_shuffled_puts");
    let mut random = seeded_rng("nic_shuffled_puts");
    let mut nic = open(Options { seed, host_latency: (1, 700), ..Options::default() });
    nic.rule("spindle", Action::Mailbox);
    {
        let mut sim = nic.card.sim();
        let memory = sim.memory();
        memory.timing = Timing { aw_stall: 40, w_stall: 40, ..memory.timing };
    }
    // One byte closes a buffer, so each message gets its own, in the order in which their first packets come.
    let mut model = Rvma::default();
    model.init_window(0, ADDRESS, KEY, 1, 0).unwrap();
    let window = nic.device.init_window(0, ADDRESS, KEY, 1).unwrap();
    let mut posted = Vec::new();
    for _ in 0..MESSAGES {
        let buffer = nic.device.post_buffer(window, 30_000).unwrap();
        model.post_buffer(0, ADDRESS, buffer.buffer, buffer.size, buffer.record).unwrap();
        posted.push(buffer);
    }
    nic.device.set_receive(true).unwrap();

    let segments = [SEGMENT_BYTES, 64, 777, 1];
    let mut packets: Vec<Packet> = (0..MESSAGES)
        .flat_map(|id| {
            let segment = segments[id as usize];
            let length = if segment == 1 { 1 } else { random.random_range(segment * 9..segment * 17) };
            message(id, length, segment, &mut random)
        })
        .collect();
    packets.shuffle(&mut random);
    for (_, put) in &packets {
        model.put(put).unwrap();
    }
    let alone = packets.iter().position(|(_, put)| put.msg_len == 1).expect("one message has one packet");
    let frames: Vec<Vec<u8>> = packets.into_iter().map(|(frame, _)| frame).collect();
    let mut frames = random_gaps(&frames, 8, &mut random);
    // A message of one packet takes the fast path, and would pass the first packet of another message right before it.
    frames[alone].gap = FAST_PATH_LEAD;
    let count = frames.len();
    let played = nic.play(frames);
    assert_eq!(played.drop_names(), []);
    assert_eq!(played.stats.frames_placed as usize, count);
    assert_eq!(played.stats.completions, MESSAGES);
    assert_eq!(played.events.iter().filter(|event| event.point == T_RECORD).count(), MESSAGES as usize);

    let mut expected = SparseMemory::default();
    for (address, byte) in &model.memory {
        expected.write(*address, &[*byte]);
    }
    assert_eq!(model.records.len(), MESSAGES as usize);
    for record in &model.records {
        expected.write(record.address, &record.bytes());
    }
    let (got, wanted) = (nic.card.sim().memory().memory.nonzero(), expected.nonzero());
    let wrong = got.iter().zip(&wanted).find(|(got, wanted)| got != wanted);
    assert_eq!(wrong, None, "the first byte of host memory, with its address, that differs from the model's");
    assert_eq!(got.len(), wanted.len(), "bytes of host memory that are not zero");
    for buffer in &posted {
        let completed = nic.device.poll(buffer).unwrap().expect("every buffer is complete");
        assert_eq!(completed.buffer, buffer.buffer);
    }
    nic.assert_empty();
}

/// Buffers posted through the command ring take messages as others do; a post that cannot be is reported and skipped.
#[test]
fn posts_through_the_command_ring() {
    with_seeds(|| {
        const COUNT: usize = 40;
        const THRESHOLD: u32 = 64;
        const SIZE: u32 = 256;
        let mut nic = Nic::new(Options::default());
        nic.rule("spindle", Action::Mailbox);
        let window = nic.device.init_window(0, ADDRESS, KEY, THRESHOLD).unwrap();
        let other = nic.device.init_window(1, ADDRESS, KEY, THRESHOLD).unwrap();
        let mut ring = nic.device.open_commands(0, 16).unwrap();
        assert!(nic.device.post_many(&mut ring, other, &[]).is_err(), "another process's window");
        let memory = nic.device.memory.alloc(COUNT * 512, 64).unwrap();
        let posted: Vec<Posted> = (0..COUNT as u64)
            .map(|i| Posted { buffer: memory + 512 * i, size: SIZE, record: memory + 512 * i + 256 })
            .collect();
        let mut left = &posted[..];
        while !left.is_empty() {
            let taken = nic.device.post_many(&mut ring, window, left).unwrap();
            assert!(taken <= 16);
            left = &left[taken..];
        }
        nic.device.wait_posts(&mut ring, 10_000).unwrap();
        let small = Posted { buffer: memory, size: THRESHOLD - 1, record: memory + 256 };
        assert_eq!(nic.device.post_many(&mut ring, window, &[small]).unwrap(), 1);
        let refused = nic.device.wait_posts(&mut ring, 10_000);
        assert!(matches!(refused, Err(Error::Doorbell { command: "post_many", .. })), "{refused:?}");
        nic.device.wait_posts(&mut ring, 10_000).unwrap();

        nic.device.set_receive(true).unwrap();
        let mut random = seeded_rng("nic_command_ring");
        let frames: Vec<Vec<u8>> = (0..COUNT as u32)
            .flat_map(|id| message(id, THRESHOLD as usize / 2, SEGMENT_BYTES, &mut random))
            .map(|p| p.0)
            .collect();
        let played = nic.play(random_gaps(&frames, 8, &mut random));
        assert_eq!(played.stats.completions as usize, COUNT / 2);
        for (i, buffer) in posted.iter().enumerate() {
            let completed = nic.device.poll(buffer).unwrap();
            assert_eq!(completed.map(|c| (c.buffer, c.length)), (i < COUNT / 2).then_some((buffer.buffer, THRESHOLD)));
        }
        nic.device.close_commands(ring).unwrap();
    });
}
