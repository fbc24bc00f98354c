//! Reliable puts between two NICs: whatever the wire does, every message arrives once and whole, and its handler is reported
//! then.

use crate::nic::bench::{example, nodes, Node};
use rand::Rng;
use spindle::peer::{Peer, Responses};
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::window::{Counting, WindowOptions};
use spindle::{ContextOptions, EventKind, HostMemory, Kind, Stream, Target};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::wire::{nack, status};
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_model::frames::{put_message, Ends, SpindleHeader};
use spindle_sim::{Routing, WireFrame, WireOptions};

const ADDRESS: u64 = 0x77;
const KEY: u32 = 0; // of the handler's image
const MESSAGES: usize = 6;
const MESSAGE: usize = 8000;
const SIZE: usize = MESSAGES * MESSAGE;
/// What `ping_pong_host` keeps for the slots of the message table.
const REGION: usize = 64 * 8192;

/// The first NIC, which sends, and the second, with a window of `SIZE` bytes.
fn open(wire: WireOptions) -> Vec<Node> {
    prepared(nodes(2, wire))
}

fn prepared(mut nodes: Vec<Node>) -> Vec<Node> {
    let host_region = nodes[0].memory.alloc(REGION, 4096).unwrap();
    let options = ContextOptions { host_region: Some((host_region, REGION as u32)), ..ContextOptions::default() };
    let context = nodes[0].install(&example("ping_pong_host"), &options).unwrap();
    nodes[0].add_rule(&"spindle".parse().unwrap(), Action::ContextPerMessage(context)).unwrap();
    nodes[0].activate(context).unwrap();
    let reliability = Reliability { timeout: 64, hole_time: 16, retries: 15, incarnation: 0x5EED };
    nodes[0].set_reliability(Some(reliability)).unwrap();
    nodes[0].set_receive(true).unwrap();
    nodes[1].add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
    nodes[1].set_sequence_filter(true).unwrap();
    nodes[1].set_responses(Some(Responses::default())).unwrap();
    nodes[1].set_receive(true).unwrap();
    nodes
}

/// Gives the first NIC messages from the second, whose handlers put them back.
fn messages(nodes: &[Node], data: &[u8]) {
    for (number, message) in data.chunks(MESSAGE).enumerate() {
        let buf_off = (number * MESSAGE) as u32;
        let header =
            SpindleHeader { src_nid: 1, addr: ADDRESS, msg_id: number as u32, buf_off, ..SpindleHeader::default() };
        for bytes in put_message(&Ends::default(), SPINDLE_PORT, &header, message, 1408) {
            nodes[0].memory.card().sim().inject(WireFrame { bytes, gap: 0, bad: false });
        }
    }
}

/// All messages arrive, and the sender is reported.
fn arrives_whole(nodes: &mut [Node]) {
    let mut rng = seeded_rng("reliable");
    let window = nodes[1].init_window(0, ADDRESS, KEY, SIZE as u32).unwrap();
    let posted = nodes[1].post_buffer(window, SIZE as u32).unwrap();
    let data: Vec<u8> = (0..SIZE).map(|_| rng.random()).collect();
    messages(nodes, &data);
    let completed = nodes[1].wait(&posted, 400_000).unwrap();
    assert_eq!((completed.status, completed.length as usize), (status::DONE, SIZE));
    let mut got = vec![0; SIZE];
    nodes[1].memory.read(posted.buffer, &mut got).unwrap();
    assert!(got == data, "the bytes are others");
    // The last acknowledgements.
    let mut looks = 0;
    while nodes[0].puts().unwrap() != (MESSAGES as u32, 0) {
        looks += 1;
        assert!(looks < 10_000, "{:?} puts are over", nodes[0].puts());
    }
    let segments = (MESSAGES * MESSAGE.div_ceil(1408)) as u32;
    assert_eq!(nodes[1].peer(0).unwrap(), Some(Peer { node: 0, expected: segments, selective: 0 }));
    assert_eq!(nodes[1].stats().unwrap().frames_placed, segments);
}

#[test]
fn nothing_is_sent_twice_over_a_faithful_wire() {
    with_seeds(|| {
        let mut nodes = open(WireOptions::default());
        arrives_whole(&mut nodes);
        assert_eq!(nodes[0].segments_resent().unwrap(), 0);
        let (acks, nacks, withheld) = nodes[1].responses().unwrap();
        assert!((1..=(MESSAGES * 6) as u32).contains(&acks), "{acks} acknowledgements");
        assert_eq!((nacks, withheld), (0, 0));
    });
}

#[test]
fn loss_duplication_and_many_paths() {
    with_seeds(|| a_bad_wire_loses_nothing(|wire| nodes(2, wire)));
}

pub fn a_bad_wire_loses_nothing(open: impl Fn(WireOptions) -> Vec<Node>) {
    let wire = WireOptions {
        loss: 0.1,
        duplication: 0.05,
        routing: Routing::Adaptive,
        paths: 5,
        step: 130,
        seed: seed_of_run("reliable_bad_wire"),
        ..WireOptions::default()
    };
    let mut nodes = prepared(open(wire));
    arrives_whole(&mut nodes);
    let resent = nodes[0].segments_resent().unwrap();
    let counts = nodes[0].memory.network().counts();
    assert!(counts.lost > 0 && resent > 0, "{counts:?}, {resent} segments sent again");
}

/// Frames overtake each other and few acknowledgements are asked for: no put waits for a timeout, which would send segments
/// again.
#[test]
fn what_was_overtaken_is_acknowledged_without_a_timeout() {
    with_seeds(|| {
        let wire = WireOptions {
            routing: Routing::Adaptive,
            paths: 5,
            step: 130,
            seed: seed_of_run("reliable_overtaken"),
            ..WireOptions::default()
        };
        let mut nodes = open(wire);
        let reliability = Reliability { timeout: 4095, hole_time: 30_000, retries: 15, incarnation: 0x5EED };
        nodes[0].set_reliability(Some(reliability)).unwrap();
        nodes[1].set_responses(Some(Responses { ack_every: 8, ..Responses::default() })).unwrap();
        arrives_whole(&mut nodes);
        assert_eq!(nodes[0].segments_resent().unwrap(), 0);
    });
}

/// A mailbox that is not there refuses for good: all puts fail, and their numbers are used up by NOPs.
#[test]
fn a_refusal_for_good_ends_a_put() {
    let mut nodes = open(WireOptions::default());
    messages(&nodes, &vec![1; SIZE]);
    let mut looks = 0;
    while nodes[0].puts().unwrap() != (0, MESSAGES as u32) {
        looks += 1;
        assert!(looks < 10_000, "{:?} puts are over", nodes[0].puts());
    }
    let (_, nacks, _) = nodes[1].responses().unwrap();
    assert!(nacks >= 1);
    assert_eq!(nodes[1].stats().unwrap().frames_placed, 0);
    assert!(nodes[1].peer(0).unwrap().is_some_and(|peer| peer.expected as usize >= MESSAGES));
}

/// A process that puts is informed when its bytes have arrived, and when they cannot.
#[test]
fn puts_of_a_process_end_with_an_event() {
    with_seeds(|| {
        let mut nodes =
            open(WireOptions { loss: 0.05, seed: seed_of_run("reliable_events"), ..WireOptions::default() });
        let window = nodes[1].init_window(0, ADDRESS, KEY, SIZE as u32).unwrap();
        let posted = nodes[1].post_buffer(window, SIZE as u32).unwrap();
        let mut ring = nodes[0].open_ring(0, 16).unwrap();
        let data: Vec<u8> = (0..SIZE).map(|i| (i % 251) as u8).collect();
        let buffer = nodes[0].memory.alloc(SIZE, 64).unwrap();
        nodes[0].memory.write(buffer, &data).unwrap();
        let target = Target { node: 1, process: 0, address: ADDRESS, key: KEY, offset: 0, kind: Kind::Bound };
        nodes[0].put(0, buffer, SIZE as u32, &target).unwrap();
        let there = nodes[0].wait_event(&mut ring, 400_000).unwrap().kind;
        let EventKind::Put { acknowledged: true, refusal: None, length, node: 1, address: ADDRESS, .. } = there else {
            panic!("{there:?}")
        };
        assert_eq!(length as usize, SIZE);
        // What is acknowledged has been placed.
        assert_eq!(nodes[1].wait(&posted, 1).unwrap().length as usize, SIZE);
        let mut got = vec![0; SIZE];
        nodes[1].memory.read(posted.buffer, &mut got).unwrap();
        assert!(got == data, "the bytes are others");

        let nowhere = Target { address: ADDRESS + 1, ..target };
        nodes[0].put(0, buffer, 3000, &nowhere).unwrap();
        let refused = nodes[0].wait_event(&mut ring, 400_000).unwrap().kind;
        let EventKind::Put { acknowledged: false, refusal: Some(nack::NO_MAILBOX), length: 3000, .. } = refused else {
            panic!("{refused:?}")
        };
    });
}

/// A process names the buffers of its puts, the last ones first; those that are ahead of the window are refused and sent
/// again until the window has moved, whatever the wire loses and reorders. Beside it, puts to a managed window lie after
/// each other.
#[test]
fn puts_name_their_epoch() {
    with_seeds(|| {
        // Three packets: those that find no buffer are missing until they come again.
        const ONE: usize = 4000;
        let wire = WireOptions {
            loss: 0.03,
            routing: Routing::Adaptive,
            paths: 3,
            seed: seed_of_run("reliable_epochs"),
            ..WireOptions::default()
        };
        let mut nodes = open(wire);
        let options = WindowOptions {
            address: ADDRESS,
            key: KEY,
            threshold: ONE as u32,
            counting: Counting::Bytes,
            tagged: true,
            ..Default::default()
        };
        let tagged = nodes[1].open_window(0, &options).unwrap();
        let all = (MESSAGES * MESSAGE) as u32;
        let packed = WindowOptions { address: ADDRESS + 1, threshold: 1, tagged: false, managed: true, ..options };
        let packed = nodes[1].open_window(0, &packed).unwrap();
        let pile = nodes[1].post_buffer(packed, all).unwrap();
        let posted: Vec<_> = (0..MESSAGES).map(|_| nodes[1].post_buffer(tagged, ONE as u32).unwrap()).collect();
        let mut ring = nodes[0].open_ring(0, 32).unwrap();
        let buffer = nodes[0].memory.alloc(SIZE, 64).unwrap();
        let data: Vec<u8> = (0..SIZE).map(|i| (i / MESSAGE) as u8 + 1).collect();
        nodes[0].memory.write(buffer, &data).unwrap();
        for epoch in (0..MESSAGES).rev() {
            let target =
                Target { node: 1, process: 0, address: ADDRESS, key: KEY, offset: 0, kind: Kind::Tagged(epoch as u16) };
            let from = buffer + (epoch * MESSAGE) as u64;
            nodes[0].put(0, from, ONE as u32, &target).unwrap();
            let after = Target { address: ADDRESS + 1, offset: 77, kind: Kind::Managed, ..target };
            nodes[0].put(0, from, MESSAGE as u32, &after).unwrap();
        }
        for _ in 0..2 * MESSAGES {
            let over = nodes[0].wait_event(&mut ring, 600_000).unwrap().kind;
            assert!(matches!(over, EventKind::Put { acknowledged: true, .. }), "{over:?}");
        }
        let read = |node: &Node, at: u64, length: usize| {
            let mut got = vec![0; length];
            node.memory.read(at, &mut got).unwrap();
            got
        };
        for (epoch, posted) in posted.iter().enumerate() {
            let completed = nodes[1].wait(posted, 1).unwrap();
            assert_eq!(
                (completed.status, completed.length as usize, completed.epoch),
                (status::DONE, ONE, epoch as u16)
            );
            assert!(read(&nodes[1], posted.buffer, ONE).iter().all(|byte| *byte == epoch as u8 + 1));
        }
        assert_eq!(nodes[1].wait(&pile, 1).unwrap().length, all);
        let mut found: Vec<u8> = read(&nodes[1], pile.buffer, SIZE)
            .chunks(MESSAGE)
            .map(|message| {
                assert!(message.iter().all(|byte| *byte == message[0]), "messages do not overlap");
                message[0]
            })
            .collect();
        found.sort_unstable();
        assert_eq!(found, (1..=MESSAGES as u8).collect::<Vec<_>>());
        assert_eq!(nodes[1].epoch(tagged).unwrap(), MESSAGES as u64);
        let (_, nacks, _) = nodes[1].responses().unwrap();
        assert!(nacks >= 1, "buffers 4 and 5 were not open at first");
    });
}

/// Messages of one packet and of several, put into a stream without waiting: whatever the wire loses and reorders, the bytes
/// lie in the buffers in the order of the puts, each message in one buffer.
#[test]
fn a_stream_keeps_the_order_of_its_puts() {
    with_seeds(|| {
        const MOST: usize = 2000;
        const COUNT: usize = 27;
        let wire = WireOptions {
            loss: 0.03,
            duplication: 0.03,
            routing: Routing::Adaptive,
            paths: 5,
            step: 130,
            seed: seed_of_run("reliable_stream_wire"),
            ..WireOptions::default()
        };
        let mut nodes = open(wire);
        let options = WindowOptions { address: ADDRESS, key: KEY, threshold: MOST as u32, ..Default::default() };
        let window = nodes[1].open_window(0, &options.stream()).unwrap();
        let posted: Vec<_> = (0..10).map(|_| nodes[1].post_buffer(window, 2 * MOST as u32 + 64).unwrap()).collect();
        let mut ring = nodes[0].open_ring(0, 128).unwrap();
        let mut rng = seeded_rng("reliable_stream");
        let longest: Vec<usize> = (0..COUNT).map(|_| if rng.random_range(0..4) == 0 { MOST } else { 200 }).collect();
        let lengths: Vec<usize> = longest.iter().map(|most| rng.random_range(1..*most)).collect();
        let data: Vec<u8> = (0..lengths.iter().sum()).map(|_| rng.random()).collect();
        let buffer = nodes[0].memory.alloc(data.len(), 64).unwrap();
        nodes[0].memory.write(buffer, &data).unwrap();
        let mut stream =
            Stream::new(Target { node: 1, process: 0, address: ADDRESS, key: KEY, offset: 9, kind: Kind::Bound });
        let mut at = buffer;
        for length in &lengths {
            nodes[0].put_next(0, at, *length as u32, &mut stream).unwrap();
            at += *length as u64;
        }
        assert_eq!(stream.target().kind, Kind::Ordered(COUNT as u16));
        for _ in 0..COUNT {
            let over = nodes[0].wait_event(&mut ring, 600_000).unwrap().kind;
            assert!(matches!(over, EventKind::Put { acknowledged: true, .. }), "{over:?}");
        }
        // The last buffer is not full.
        nodes[1].inc_epoch(window).unwrap();
        let mut got = vec![];
        let mut filled = 0;
        while got.len() < data.len() {
            let completed = nodes[1].wait(&posted[filled], 1000).unwrap();
            let mut bytes = vec![0; completed.length as usize];
            nodes[1].memory.read(posted[filled].buffer, &mut bytes).unwrap();
            got.extend(bytes);
            filled += 1;
        }
        assert!(got == data, "the bytes are others, or in another order");
        assert!(filled > 1, "one buffer held all");
        let (_, nacks, _) = nodes[1].responses().unwrap();
        assert!(nacks >= 1, "no message came before its turn");
    });
}
