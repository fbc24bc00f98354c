//! The shipped handlers that keep something from packet to packet, on the emitted NIC, against their models.

use crate::compat::ran::{pattern, set_variable, Ran, HOST_BYTES};
use rand::seq::SliceRandom;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::window::WindowOptions;
use spindle::{ContextOptions, HostMemory, Node};
use spindle_cli::play::{play, Pacing};
use spindle_cli::session::Session;
use spindle_contract::params::{Config, SPINDLE_PORT};
use spindle_contract::wire;
use spindle_model::frames::{put_message, spindle, udp, udp_without_checksum, Ends, SpindleHeader, UDP_HEADERS};
use spindle_model::jobs::{self, Message};
use spindle_sdk::Shipped;
use std::collections::HashMap;

/// Number of this node.
const HERE: u32 = 77;

/// Installs a shipped handler with these variables set, and plays frames to it.
fn run(
    name: &str,
    action: fn(spindle::ContextId) -> Action,
    variables: &[(&str, Vec<u8>)],
    frames: Vec<Vec<u8>>,
    gap: u64,
) -> Ran {
    run_beside(name, action, variables, frames, gap, |_| ()).0
}

/// The same on a NIC with something else on it.
fn run_beside<T>(
    name: &str,
    action: fn(spindle::ContextId) -> Action,
    variables: &[(&str, Vec<u8>)],
    frames: Vec<Vec<u8>>,
    gap: u64,
    prepare: impl FnOnce(&mut Session) -> T,
) -> (Ran, T) {
    let shipped = Shipped::by_name(name).unwrap();
    let mut handler = shipped.load().unwrap();
    for (variable, bytes) in variables {
        set_variable(&mut handler, variable, bytes).unwrap();
    }
    let mut session = Session::open(Config::SIM, Default::default()).unwrap();
    let host = session.device.memory.alloc(HOST_BYTES, 4096).unwrap();
    session.device.memory.write(host, &pattern(HOST_BYTES)).unwrap();
    // A handler may wait for all others of a flood in turn.
    let watchdog = 1_000_000;
    let options =
        ContextOptions { host_region: Some((host, HOST_BYTES as u32)), watchdog, ..ContextOptions::default() };
    let context = session.device.install(&handler.image, &options).unwrap();
    session.device.add_rule(&shipped.rule.parse().unwrap(), action(context)).unwrap();
    session.device.activate(context).unwrap();
    // Puts go to the nodes that the frames of this file come from.
    session.device.set_identity(HERE, Ends::default().dst_mac, Ends::default().dst_ip).unwrap();
    let node = Node { mac: Ends::default().src_mac, ip: Ends::default().src_ip, port: SPINDLE_PORT };
    session.device.set_node(1, Some(node)).unwrap();
    let beside = prepare(&mut session);
    session.device.set_receive(true).unwrap();
    let played = play(&mut session, &frames, Pacing { gap, seed: Some(gap) }, 2_000_000).unwrap();
    (Ran { session, contexts: vec![(context, handler)], frames, played, host }, beside)
}

/// Messages of 1 to 5000 bytes, multiples of `unit`, and their packets, all of them shuffled.
fn messages(seed: u64, count: u32, unit: usize) -> (Vec<Message>, Vec<Vec<u8>>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut message = |id: u32| {
        let mut data = vec![0; unit * random.random_range(1..=5000 / unit)];
        random.fill_bytes(&mut data);
        Message { id, data }
    };
    let messages: Vec<_> = (0..count).map(&mut message).collect();
    let packets = |m: &Message| {
        let header = SpindleHeader { msg_id: m.id, ..SpindleHeader::default() };
        put_message(&Ends::default(), SPINDLE_PORT, &header, &m.data, if m.id.is_multiple_of(2) { 1408 } else { 500 })
    };
    let mut frames: Vec<_> = messages.iter().flat_map(packets).collect();
    frames.shuffle(&mut random);
    (messages, frames)
}

/// UDP frames with payloads of random bytes.
fn datagrams(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut frame = |i: usize| {
        let mut payload = vec![0; random.random_range(0..1472)];
        random.fill_bytes(&mut payload);
        let build = if i.is_multiple_of(3) { udp_without_checksum } else { udp };
        build(&Ends::default(), 4000, random.random_range(1..6), &payload)
    };
    (0..count).map(&mut frame).collect()
}

#[test]
fn aggregate_tells_the_sum_of_every_message() {
    let (messages, frames) = messages(1, 24, 4);
    let mut ran = run("aggregate", Action::ContextPerMessage, &[], frames, 50);
    ran.sound().unwrap();
    ran.host_has(jobs::aggregate(&messages, HOST_BYTES)).unwrap();
    assert_eq!(ran.played.stats.messages_done, 24);
}

#[test]
fn reduce_adds_messages_up() {
    let (messages, frames) = messages(2, 16, 4);
    let mut ran = run("reduce", Action::ContextPerMessage, &[], frames, 50);
    ran.sound().unwrap();
    assert_eq!(ran.variable("sums", 4096).unwrap(), jobs::reduce(&messages, 4096));
    assert_eq!(ran.variable("messages", 1).unwrap(), [16]);
}

/// Messages that overlap in the host region, their packets all mixed: no addition is lost.
#[test]
fn accumulate_adds_to_host_memory() {
    let (messages, _) = messages(14, 14, 4);
    let mut random = ChaCha8Rng::seed_from_u64(14);
    let mut frames = Vec::new();
    let mut placed = Vec::new();
    for message in messages {
        // Few places, and the end of the region.
        let last = HOST_BYTES - message.data.len();
        let place = [0, 4, 1408, 2044, last][random.random_range(0..5)];
        let header = SpindleHeader { msg_id: message.id, buf_off: place as u32, ..SpindleHeader::default() };
        frames.extend(put_message(&Ends::default(), SPINDLE_PORT, &header, &message.data, 1408));
        placed.push((place, message));
    }
    frames.shuffle(&mut random);
    let mut ran = run("accumulate", Action::ContextPerMessage, &[], frames, 0);
    ran.sound().unwrap();
    ran.host_has([(0, jobs::accumulate(&placed, &pattern(HOST_BYTES)))]).unwrap();
    assert_eq!(ran.played.stats.messages_done, 14);
}

/// Blocks that overlap, of any length and at any byte: no difference is lost.
#[test]
fn parity_adds_products_to_host_memory() {
    for (seed, coefficient) in [(21, 1u8), (22, 2), (23, 0x8E), (24, 0xFF)] {
        let (messages, _) = messages(seed, 10, 1);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut frames = Vec::new();
        let mut placed = Vec::new();
        for message in messages {
            let last = HOST_BYTES - message.data.len();
            let place = [0, 1, 1408, 4095, last][random.random_range(0..5)];
            let header = SpindleHeader { msg_id: message.id, buf_off: place as u32, ..SpindleHeader::default() };
            frames.extend(put_message(&Ends::default(), SPINDLE_PORT, &header, &message.data, 1408));
            placed.push((place, message));
        }
        frames.shuffle(&mut random);
        let variables = [("coefficient", u32::from(coefficient).to_le_bytes().to_vec())];
        let mut ran = run("parity", Action::ContextPerMessage, &variables, frames, 0);
        ran.sound().unwrap();
        ran.host_has([(0, jobs::parity(&placed, &pattern(HOST_BYTES), coefficient))]).unwrap();
        assert_eq!(ran.played.stats.messages_done, 10);
    }
}

#[test]
fn histogram_counts_every_byte() {
    let frames = datagrams(3, 40);
    let wanted = jobs::histogram(frames.iter().map(|frame| &frame[UDP_HEADERS..]));
    let mut ran = run("histogram", Action::Context, &[], frames, 0);
    ran.sound().unwrap();
    let rows = ran.variable("counts", 8 * 256).unwrap();
    let sum = |value: usize| rows.chunks(256).map(|row| row[value]).sum::<u32>();
    assert_eq!((0..256).map(sum).collect::<Vec<_>>(), wanted);
    // More than one cluster had its share.
    assert!(rows.chunks(256).filter(|row| row.iter().any(|count| *count > 0)).count() > 1);
}

/// Entries of the table as the handler looks for them, so many that some share a slot with others.
#[test]
fn filtering_lets_pass_what_the_table_names() {
    let address = Ends::default().dst_ip;
    let ports: HashMap<_, u16> =
        [(1u16, 700), (2, 65535), (4, 1)].into_iter().map(|(from, to)| ((address, from), to)).collect();
    let mut table = vec![0u32; 2 * 512];
    let mut enter = |address: u32, from: u16, to: u16| {
        let hash = (address ^ u32::from(from) << 16).wrapping_mul(0x9e37_79b1) as usize >> 23;
        let free = (0..512).map(|step| (hash + step) % 512).find(|at| table[2 * at] == 0).unwrap();
        (table[2 * free], table[2 * free + 1]) = (address, u32::from(to) << 16 | u32::from(from));
    };
    // Others that fill the table up to two thirds.
    (0..340).for_each(|i| enter(0xc0a8_0000 + 77 * i, 4, 9));
    ports.iter().for_each(|((address, from), to)| enter(u32::from_be_bytes(*address), *from, *to));
    let bytes = table.into_iter().flat_map(u32::to_le_bytes).collect();
    let mut ran = run("filtering", Action::Context, &[("table", bytes)], datagrams(4, 60), 20);
    ran.answered(|frame| jobs::filtering(frame, &ports).into_iter().collect()).unwrap();
    assert!(ran.played.drained && ran.played.replies.len() > 20, "{}", ran.played.replies.len());
    let dropped = ran.played.stats.drops[spindle_contract::reasons::HANDLER_DROP] as usize;
    assert_eq!(dropped + ran.played.replies.len(), ran.frames.len());
    assert!(ran.session.device.pop_fault().unwrap().is_none());
}

#[test]
fn unpack_strides_through_host_memory() {
    for (seed, block, stride) in [(5, 100usize, 256usize), (6, 1500, 1501), (7, 64, 128), (8, 13, 40)] {
        let (messages, frames) = messages(seed, 1, 1);
        let variables = [("block_length", block), ("stride", stride)]
            .map(|(name, value)| (name, (value as u32).to_le_bytes().to_vec()));
        let mut ran = run("unpack", Action::ContextPerMessage, &variables, frames, 0);
        ran.sound().unwrap();
        let pieces = jobs::unpack(&messages[0], block, stride);
        ran.host_has(pieces).unwrap();
    }
}

/// Every node of two trees, each with the frame that reaches it.
#[test]
fn broadcast_reaches_every_node_once() {
    let first = 10;
    for (size, ranks) in [(6usize, vec![0, 1, 4]), (13, vec![0, 2, 3])] {
        let tree = jobs::tree(size);
        for rank in ranks {
            let number = |node: usize| first + node as u8;
            let ends =
                Ends { dst_ip: [10, 77, 0, number(rank)], dst_mac: [2, 0, 0, 0, 0, number(rank)], ..Ends::default() };
            let frames = vec![udp(&ends, 1, 2, b"to all"), udp_without_checksum(&ends, 3, 4, &[9; 700])];
            let variables =
                [("rank", rank), ("size", size)].map(|(name, value)| (name, (value as u32).to_le_bytes().to_vec()));
            let mut ran = run("broadcast", Action::Context, &variables, frames, 3000);
            ran.sound().unwrap();
            ran.answered(|frame| tree[rank].iter().map(|to| jobs::passed_on(frame, first, rank, *to)).collect())
                .unwrap();
            let copies: Vec<_> =
                ran.numbered().map(|(number, frame)| (number as usize % 32 * 2048, frame[14..].to_vec())).collect();
            ran.host_has(copies).unwrap();
        }
    }
}

/// Each packet was answered by one put, with the header that `header` makes of the packet's.
fn each_is_put(ran: &Ran, header: impl Fn(&SpindleHeader) -> SpindleHeader) {
    assert_eq!(ran.played.replies.len(), ran.frames.len());
    let big = |bytes: &[u8]| bytes.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
    let mut ids = Vec::new();
    for (index, frame) in ran.frames.iter().enumerate() {
        let reply = ran.played.replies.iter().find(|reply| reply.cause == Some(index)).unwrap();
        let (asked, got) = (&frame[UDP_HEADERS..], &reply.frame.bytes[UDP_HEADERS..]);
        let field = |bytes: &[u8], at: usize| big(&bytes[at..at + 4]);
        let packet = SpindleHeader {
            msg_off: field(asked, wire::spindle::MSG_OFF),
            payload_len: (asked.len() - wire::SPINDLE_BYTES) as u16,
            // The NIC's own.
            msg_id: field(got, wire::spindle::MSG_ID),
            psn: field(got, wire::spindle::PSN),
            ..SpindleHeader::default()
        };
        let back = Ends {
            src_mac: Ends::default().dst_mac,
            dst_mac: Ends::default().src_mac,
            src_ip: Ends::default().dst_ip,
            dst_ip: Ends::default().src_ip,
            vlan: None,
        };
        let port = big(&reply.frame.bytes[34..36]) as u16;
        let wanted = spindle(&back, port, SPINDLE_PORT, &header(&packet), &asked[wire::SPINDLE_BYTES..]);
        spindle_cli::check::compare_bytes(&format!("the put for frame {index}"), &wanted, &reply.frame.bytes).unwrap();
        ids.push(packet.msg_id);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), ran.frames.len(), "every put is a message of its own");
}

/// Each packet of every message comes back as a put to its sender.
#[test]
fn ping_pong_stream_answers_with_puts() {
    let key = 0x1234_5678;
    let (messages, frames) = messages(9, 12, 1);
    let variables = [("key", u32::to_le_bytes(key).to_vec())];
    let mut ran = run("ping_pong_stream", Action::ContextPerMessage, &variables, frames, 100);
    ran.sound().unwrap();
    each_is_put(&ran, |packet| jobs::ping_pong_stream(packet, HERE, key));
    assert_eq!(ran.played.stats.messages_done as usize, messages.len());
}

/// Each packet of every message, of any length, goes on to a mailbox of a node.
#[test]
fn forward_puts_payloads_on() {
    let (pid, mailbox, key, offset) = (3u16, 0x0102_0304_0506_0708u64, 0x1234_5678u32, 1000u32);
    let (messages, frames) = messages(15, 12, 1);
    let next = [1, pid.into(), mailbox as u32, (mailbox >> 32) as u32, key, offset];
    let variables = [("next", next.iter().flat_map(|word| word.to_le_bytes()).collect())];
    let mut ran = run("forward", Action::ContextPerMessage, &variables, frames, 0);
    ran.sound().unwrap();
    each_is_put(&ran, |packet| jobs::forward(packet, HERE, pid, (mailbox, key, offset)));
    assert_eq!(ran.played.stats.messages_done as usize, messages.len());
}

/// Reads of any length from any byte on; those beyond the region are dropped.
#[test]
fn copy_from_host_serves_host_memory() {
    let mut random = ChaCha8Rng::seed_from_u64(10);
    let mut frames = datagrams(10, 60);
    for frame in frames.iter_mut().filter(|frame| frame.len() >= UDP_HEADERS + 4) {
        let last = HOST_BYTES - (frame.len() - UDP_HEADERS);
        let offset =
            [random.random_range(0..=last), last, last + 1, 0xffff_ffff][[0, 0, 0, 1, 2, 3][random.random_range(0..6)]];
        frame[UDP_HEADERS..][..4].copy_from_slice(&(offset as u32).to_be_bytes());
        spindle_model::checksums::fix(frame);
    }
    let mut ran = run("copy_from_host", Action::Context, &[], frames, 20);
    let host = pattern(HOST_BYTES);
    ran.answered(|frame| jobs::copy_from_host(frame, &host).into_iter().collect()).unwrap();
    ran.host_has([]).unwrap();
    assert!(ran.played.drained && ran.played.replies.len() > 20, "{}", ran.played.replies.len());
    assert!(ran.session.device.pop_fault().unwrap().is_none());
}

/// All HPUs draw at once: no number twice, none left out, and the host's counters are where they should be.
#[test]
fn counter_draws_each_number_once() {
    let frames: Vec<_> = datagrams(11, 50).into_iter().filter(|frame| frame.len() >= UDP_HEADERS + 8).collect();
    let mut ran = run("counter", Action::Context, &[], frames, 0);
    ran.sound().unwrap();
    let before = pattern(HOST_BYTES);
    let mut drawn: HashMap<usize, Vec<u64>> = HashMap::new();
    for (index, frame) in ran.frames.iter().enumerate() {
        let reply = ran.played.replies.iter().find(|reply| reply.cause == Some(index)).unwrap();
        let number = u64::from_be_bytes(reply.frame.bytes[UDP_HEADERS..][..8].try_into().unwrap());
        assert_eq!(Some(&reply.frame.bytes), jobs::counter(frame, number).as_ref());
        drawn.entry(usize::from(u16::from_be_bytes([frame[36], frame[37]]))).or_default().push(number);
    }
    let mut counters = Vec::new();
    for (port, mut numbers) in drawn {
        numbers.sort_unstable();
        let first = u64::from_le_bytes(before[8 * port..][..8].try_into().unwrap());
        let after = first + numbers.len() as u64;
        assert_eq!(numbers, (first..after).collect::<Vec<_>>(), "port {port}");
        counters.push((8 * port, after.to_le_bytes().to_vec()));
    }
    ran.host_has(counters).unwrap();
}

/// Every payload with a key is in its partition, whole, once, and nothing else.
#[test]
fn partition_sorts_datagrams_by_their_keys() {
    const PARTS: usize = 5;
    let open = |session: &mut Session| {
        let mut posted = |part: usize| {
            let wanted = WindowOptions {
                address: 0x1000 + part as u64,
                threshold: 1500,
                managed: true,
                ..WindowOptions::default()
            };
            let window = session.device.open_window(0, &wanted).unwrap();
            (window, session.device.post_buffer(window, 1 << 16).unwrap())
        };
        (0..PARTS).map(&mut posted).collect::<Vec<_>>()
    };
    let variables = [("parts", (PARTS as u32).to_le_bytes().to_vec())];
    let (mut ran, windows) = run_beside("partition", Action::Context, &variables, datagrams(15, 80), 0, open);
    let partitions = jobs::partition(&ran.frames, PARTS);
    let keyed = partitions.iter().flatten().count();
    assert!(ran.played.drained && partitions.iter().all(|payloads| payloads.len() > 3));
    assert!(ran.session.device.pop_fault().unwrap().is_none());
    assert_eq!(ran.played.stats.frames_placed as usize, keyed);
    let dropped = ran.played.stats.drops[spindle_contract::reasons::HANDLER_DROP] as usize;
    assert_eq!(dropped + keyed, ran.frames.len());
    for ((window, posted), payloads) in windows.into_iter().zip(partitions) {
        // No buffer is full yet: the record of the close has the fill level.
        ran.session.device.close_window(window).unwrap();
        let record = ran.session.device.wait(&posted, 10_000).unwrap();
        let mut bytes = vec![0; record.length as usize];
        ran.session.device.memory.read(posted.buffer, &mut bytes).unwrap();
        let mut wanted: HashMap<_, _> = payloads.into_iter().map(|payload| (&payload[..4], payload)).collect();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let payload = wanted.remove(&rest[..4]).expect("a payload of this partition begins here");
            rest = rest.strip_prefix(payload).expect("it is whole");
        }
        assert!(wanted.is_empty(), "{} payloads are missing", wanted.len());
    }
}

/// Every block is at its offset, whatever its length and its place in the packet, and nothing else is written.
#[test]
fn scatter_puts_blocks_to_their_places() {
    const SIZE: usize = 1 << 18;
    let mut random = ChaCha8Rng::seed_from_u64(41);
    let mut next = 0;
    let mut frame = |_| {
        let mut payload = vec![];
        for _ in 0..random.random_range(1..12) {
            let most = (1460 - payload.len()).saturating_sub(6);
            if most > 8 {
                let longest = [3, 64, 700][random.random_range(0..3)];
                let length = random.random_range(1..=most.min(longest));
                next += random.random_range(0..70);
                payload.extend((next as u32).to_be_bytes());
                payload.extend((length as u16).to_be_bytes());
                payload.extend((0..length).map(|_| random.random_range(1..=255u8)));
                next += length;
            }
        }
        // Now and then a list that does not end with the payload.
        if random.random_range(0..8) == 0 {
            payload.extend([1; 9]);
        }
        udp(&Ends::default(), 4000, 7, &payload)
    };
    let frames: Vec<_> = (0..120).map(&mut frame).collect();
    assert!(next + 1500 < SIZE);
    let open = |session: &mut Session| {
        let wanted = WindowOptions { address: 0x05CA_77E4, threshold: SIZE as u32, ..WindowOptions::default() };
        let window = session.device.open_window(0, &wanted).unwrap();
        session.device.post_buffer(window, SIZE as u32).unwrap()
    };
    let (mut ran, posted) = run_beside("scatter", Action::Context, &[], frames, 0, open);
    assert!(ran.played.drained && ran.session.device.pop_fault().unwrap().is_none());
    let mut wanted = vec![0; SIZE];
    let mut cut = 0;
    for frame in &ran.frames {
        let (blocks, whole) = jobs::scatter(frame);
        cut += u32::from(!whole);
        for (offset, block) in blocks {
            wanted[offset..][..block.len()].copy_from_slice(block);
        }
    }
    let mut found = vec![0; SIZE];
    ran.session.device.memory.read(posted.buffer, &mut found).unwrap();
    let wrong = (0..SIZE).find(|at| found[*at] != wanted[*at]);
    assert_eq!(wrong, None, "the first byte that differs");
    assert!(cut > 3, "{cut} lists do not end with their payload");
    assert_eq!(ran.played.stats.drops[spindle_contract::reasons::HANDLER_DROP], cut);
    assert_eq!(ran.played.stats.frames_handled, 120 - cut);
}

/// Messages of several packets, gathered in host memory, come back as messages of several packets.
#[test]
fn ping_pong_host_puts_from_host_memory() {
    let (messages, frames) = messages(12, 5, 1);
    let mut ran = run("ping_pong_host", Action::ContextPerMessage, &[], frames, 300);
    ran.sound().unwrap();
    let big = |bytes: &[u8]| bytes.iter().fold(0usize, |number, byte| number << 8 | usize::from(*byte));
    let mut back: HashMap<usize, Vec<u8>> = HashMap::new();
    for reply in &ran.played.replies {
        let (header, payload) = reply.frame.bytes[UDP_HEADERS..].split_at(wire::SPINDLE_BYTES);
        let field = |at: usize| big(&header[at..at + 4]);
        let message = back.entry(field(wire::spindle::MSG_ID)).or_default();
        message.resize(field(wire::spindle::MSG_LEN), 0);
        message[field(wire::spindle::MSG_OFF)..][..payload.len()].copy_from_slice(payload);
    }
    let mut back: Vec<_> = back.into_values().collect();
    let mut sent: Vec<_> = messages.into_iter().map(|message| message.data).collect();
    back.sort();
    sent.sort();
    assert!(back == sent, "{} messages came back of {}", back.len(), sent.len());
}
