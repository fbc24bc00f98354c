//! Cables, switches and topologies with nodes that send what a test says.

mod common;

use common::{frame, scripts, there};
use spindle_contract::params::BEAT_BYTES;
use spindle_network::endpoint::{Endpoint, Frame};
use spindle_network::engine::{Physics, Routing, NANOSECOND};
use spindle_network::stand_in::{Options, StandIn};
use spindle_network::topology::Shape;

const CYCLE: i64 = 4 * NANOSECOND;

/// Switches on the way of two nodes and cables between groups, by the closed form of each topology.
fn distance(shape: &Shape, a: u32, b: u32) -> (i64, i64) {
    let digits = |number: u32, shape: &[u32]| {
        let mut rest = number;
        let mut digit = |size: &u32| {
            let digit = rest % size;
            rest /= size;
            digit
        };
        shape.iter().map(&mut digit).collect::<Vec<_>>()
    };
    match shape {
        Shape::Cable => (0, 0),
        Shape::Star { .. } => (1, 0),
        Shape::FatTree { down, .. } => {
            let mut below = 1;
            let level = down.iter().position(|cables| {
                below *= cables;
                a / below == b / below
            });
            (1 + 2 * level.unwrap() as i64, 0)
        }
        Shape::Torus { shape, nodes, .. } => {
            let (from, to) = (digits(a / nodes, shape), digits(b / nodes, shape));
            let ring = |i: usize| from[i].abs_diff(to[i]).min(shape[i] - from[i].abs_diff(to[i]));
            (1 + (0..shape.len()).map(|i| i64::from(ring(i))).sum::<i64>(), 0)
        }
        Shape::HyperX { shape, nodes, .. } => {
            let (from, to) = (digits(a / nodes, shape), digits(b / nodes, shape));
            (1 + from.iter().zip(&to).filter(|(from, to)| from != to).count() as i64, 0)
        }
        Shape::Dragonfly { groups, switches, long, nodes } => {
            let (from, to) = (a / nodes, b / nodes);
            let (group, other) = (from / switches, to / switches);
            if group == other {
                return (if from == to { 1 } else { 2 }, 0);
            }
            let each = switches * long / (groups - 1);
            let ahead = (other + groups - group) % groups;
            // The ends of the cables between the groups, of which the nearest counts.
            let ends = (0..each).map(|k| {
                let gate = group * switches + ((ahead - 1) * each + k) / long;
                let far = other * switches + ((groups - ahead - 1) * each + k) / long;
                2 + i64::from(gate != from) + i64::from(far != to)
            });
            (ends.min().unwrap(), 1)
        }
    }
}

fn shapes() -> [Shape; 7] {
    [
        Shape::Cable,
        Shape::Star { nodes: 5 },
        Shape::FatTree { down: vec![3, 4], up: vec![2] },
        Shape::FatTree { down: vec![2, 2, 3], up: vec![2, 2] },
        Shape::Torus { shape: vec![5, 2, 2], width: 1, nodes: 1 },
        Shape::HyperX { shape: vec![3, 2, 2], width: 2, nodes: 2 },
        Shape::Dragonfly { groups: 5, switches: 3, long: 2, nodes: 1 },
    ]
}

/// Every pair of nodes, one frame at a time: cycles from the last beat sent to the first received.
fn check_latencies(shape: &Shape, physics: Physics, extra: impl Fn(i64, i64) -> i64) {
    let nodes = spindle_network::topology::Topology::new(shape).unwrap().nodes.len() as u32;
    let mut sends = vec![];
    for a in 0..nodes {
        for b in (0..nodes).filter(|b| *b != a) {
            let number = sends.len() as u64;
            let length = [64, 65, 1000, 1500][number as usize % 4];
            sends.push((a, frame(500 + 3000 * number, b, length, number as u8)));
        }
    }
    let end = 3000 * (sends.len() as u64 + 1);
    let (mut network, received) = scripts(shape, physics, sends.clone()).unwrap();
    network.run(end).unwrap();
    let received = received.lock().unwrap();
    assert_eq!(received.len(), sends.len(), "{shape:?}");
    for ((from, sent), (to, got)) in sends.iter().zip(received.iter()) {
        let (switches, long) = distance(shape, *from, *to);
        // A cable joins two nodes where there is no switch.
        let cables = if switches == 0 { physics.cable } else { 2 * physics.cable };
        let trunks = (switches - 1 - long).max(0) * physics.trunk + long * physics.long;
        let time = cables + switches * physics.latency + trunks + extra(switches, sent.length.into());
        let wanted = sent.cycle as i64 + (time + CYCLE - 1) / CYCLE;
        assert_eq!(got.cycle as i64, wanted, "{shape:?}: from {from} to {to}, {} bytes", sent.length);
        assert_eq!((got.peer, &got.bytes, i64::from(got.hops)), (Some(*from), &sent.bytes, switches));
    }
    let counts = network.counts().unwrap();
    assert!(counts.balance() && counts.delivered == counts.sent && counts.queued == 0, "{counts:?}");
}

#[test]
fn latencies_of_all_topologies_are_those_of_formulas() {
    if !there() {
        return;
    }
    for shape in shapes() {
        for routing in [Routing::Static, Routing::Ecmp, Routing::Adaptive] {
            // Odd times, so that nothing fits by chance.
            let physics = Physics {
                routing,
                trunk: 43 * NANOSECOND,
                long: 517 * NANOSECOND,
                latency: 101_300_000,
                overhead: 24,
                ..Physics::default()
            };
            check_latencies(&shape, physics, |_, _| 0);
        }
    }
}

#[test]
fn slow_cables_and_switches_that_store_take_longer() {
    if !there() {
        return;
    }
    let shape = Shape::FatTree { down: vec![2, 2, 3], up: vec![2, 2] };
    let beats = |length: i64| (length + BEAT_BYTES as i64 - 1) / BEAT_BYTES as i64 * CYCLE;
    // 25.6 Gb/s: a NIC takes a frame no faster than the cable brings it.
    let slow = Physics { byte: 312_500, ..Physics::default() };
    check_latencies(&shape, slow, |_, length| (length * slow.byte - beats(length)).max(0));
    // Every switch but the first, which gets whole frames from NICs, waits for the end of the frame.
    let store = Physics { store: true, ..Physics::default() };
    check_latencies(&shape, store, |switches, length| (switches - 1) * length * store.byte);
}

/// Frames of two nodes for a third, back to back: the queue grows by half of what comes.
fn incast(physics: Physics, frames: u64, bytes: &[u8]) -> (Vec<Frame>, spindle_network::engine::Counts) {
    let length = bytes.len() as u32;
    let beats = u64::from(length).div_ceil(BEAT_BYTES as u64);
    let sends = (0..2 * frames).map(|i| {
        let (node, number) = (1 + (i % 2) as u32, i / 2);
        (node, Frame { bytes: bytes.to_vec(), ..frame(100 + beats * (number + 1), 0, length, number as u8) })
    });
    let (mut network, received) = scripts(&Shape::Star { nodes: 3 }, physics, sends.collect()).unwrap();
    network.run(100_000).unwrap();
    let got = received.lock().unwrap().iter().map(|(_, frame)| frame.clone()).collect();
    (got, network.counts().unwrap())
}

/// The same in a model of the output alone: bytes that wait, frame by frame.
fn modelled(physics: &Physics, frames: u64, length: u64) -> (u64, u64) {
    let (mut dropped, mut marked, mut free) = (0, 0, 0);
    for i in 0..2 * frames {
        let comes = (i / 2) as i64 * length as i64 * physics.byte;
        let waiting = ((free - comes).max(0) / physics.byte) as u64;
        if waiting + length > physics.queue {
            dropped += 1;
            continue;
        }
        marked += u64::from(waiting >= physics.mark);
        free = free.max(comes) + length as i64 * physics.byte;
    }
    (dropped, marked)
}

#[test]
fn full_outputs_drop_and_fuller_ones_mark() {
    if !there() {
        return;
    }
    // Whole beats, so that the model's frames come at the same times.
    let mut bytes = vec![0; 1536];
    bytes[12..16].copy_from_slice(&[8, 0, 0x45, 2]);
    for (queue, mark) in [(20_000, u64::MAX), (1 << 20, 8_000), (12_000, 6_000), (1536, 0)] {
        let physics = Physics { queue, mark, ..Physics::default() };
        let (got, counts) = incast(physics, 60, &bytes);
        let (dropped, marked) = modelled(&physics, 60, bytes.len() as u64);
        assert_eq!((counts.sent, counts.dropped, counts.marked), (120, dropped, marked), "{queue} {mark}");
        assert!(counts.balance() && counts.queued == 0 && counts.deepest <= queue, "{counts:?}");
        assert_eq!(got.iter().filter(|frame| frame.marked).count() as u64, marked);
        for frame in got {
            let wanted = if frame.marked { 3 } else { 2 };
            assert_eq!(frame.bytes[15] & 3, wanted, "the mark is in the IPv4 header");
        }
    }
}

#[test]
fn a_mark_keeps_the_checksum_of_the_header_right() {
    if !there() {
        return;
    }
    let sum = |header: &[u8]| {
        let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        let sum = (sum & 0xFFFF) + (sum >> 16);
        (sum & 0xFFFF) + (sum >> 16)
    };
    for (fill, ecn) in [(0x11, 1), (0xFE, 2), (0, 2), (0x37, 0)] {
        let mut bytes = vec![fill; 1536];
        bytes[12..16].copy_from_slice(&[8, 0, 0x45, ecn]);
        bytes[24..26].copy_from_slice(&[0, 0]);
        let check = !sum(&bytes[14..34]) as u16;
        bytes[24..26].copy_from_slice(&check.to_be_bytes());
        let (got, counts) = incast(Physics { mark: 0, ..Physics::default() }, 2, &bytes);
        assert_eq!((counts.marked, got.len()), (4, 4));
        for frame in got {
            assert_eq!(
                frame.bytes[15] & 3,
                if ecn == 0 { 0 } else { 3 },
                "a packet that cannot be marked is not changed"
            );
            assert_eq!(sum(&frame.bytes[14..34]), 0xFFFF, "{fill:#x}");
        }
    }
}

#[test]
fn cables_lose_and_change_the_share_that_they_should() {
    if !there() {
        return;
    }
    let sends: Vec<_> = (0..4000_u64).map(|i| (0, frame(100 + 30 * i, 1, 100, i as u8))).collect();
    let run = |seed| {
        let physics = Physics { loss: 0.1, corruption: 0.05, seed, ..Physics::default() };
        let (mut network, received) = scripts(&Shape::Star { nodes: 2 }, physics, sends.clone()).unwrap();
        network.run(130_000).unwrap();
        let received: Vec<_> = received.lock().unwrap().iter().map(|(_, frame)| frame.clone()).collect();
        (network.counts().unwrap(), received)
    };
    let (counts, received) = run(1);
    assert!(counts.balance() && counts.queued == 0, "{counts:?}");
    // Two cables; four standard deviations of binomials.
    assert!(counts.lost.abs_diff(4000 * 19 / 100) < 100, "{counts:?}");
    assert!(counts.corrupted.abs_diff(4000 * 95 / 1000 * 95 / 100) < 80, "{counts:?}");
    let changed = received.iter().filter(|frame| frame.bytes.iter().any(|byte| *byte != frame.flow as u8)).count();
    assert!(changed > 200 && changed as u64 <= counts.corrupted, "{changed} of {counts:?}");
    assert!(received.iter().all(|frame| frame.bytes.len() == 100));
    assert!(run(1) == (counts, received.clone()), "the same seed, the same frames");
    assert!(run(2).1 != received, "another seed, other frames");
}

#[test]
fn paths_are_used_as_the_routing_says() {
    if !there() {
        return;
    }
    // Two leaves and four spines: eight flows of eight frames at the same time.
    let shape = Shape::FatTree { down: vec![8, 2], up: vec![4] };
    let sends: Vec<_> = (0..8_u32)
        .flat_map(|node| (0..8_u64).map(move |i| (node, frame(100 + 24 * i, 8 + node, 1536, node as u8))))
        .collect();
    let last = |routing| {
        let (mut network, received) =
            scripts(&shape, Physics { routing, queue: 1 << 20, ..Physics::default() }, sends.clone()).unwrap();
        network.run(20_000).unwrap();
        let received = received.lock().unwrap();
        assert_eq!(received.len(), 64);
        received.iter().map(|(_, frame)| frame.cycle).max().unwrap()
    };
    // Eight nodes share four paths at best: sixteen frames of 24 cycles on each.
    let adaptive = last(Routing::Adaptive);
    let least = 100 + 16 * 24;
    assert!((least..least + 200).contains(&adaptive), "{adaptive}");
    for fixed in [Routing::Static, Routing::Ecmp] {
        assert!(last(fixed) >= adaptive, "{fixed:?}");
    }
}

#[test]
fn a_window_longer_than_the_cable_is_refused() {
    if !there() {
        return;
    }
    let physics = Physics { window: 23, ..Physics::default() };
    let Err(error) = scripts(&Shape::Star { nodes: 2 }, physics, vec![]) else {
        panic!("a window of 23 cycles is taken")
    };
    let error = error.to_string();
    assert!(error.contains("window of node 0 has 23 cycles") && error.contains("at most the cable"), "{error}");
    // The process can make another network after it.
    scripts(&Shape::Star { nodes: 2 }, Physics::default(), vec![]).unwrap();
}

#[test]
fn a_frame_in_the_past_is_an_error() {
    if !there() {
        return;
    }
    // The second frame should have been handed over long before the first.
    let sends = vec![(0, frame(5000, 1, 64, 0)), (0, frame(100, 1, 64, 1))];
    let (mut network, _) = scripts(&Shape::Star { nodes: 2 }, Physics::default(), sends).unwrap();
    let error = network.run(10_000).unwrap_err().to_string();
    assert!(error.contains("node 0") && error.contains("cycle 100") && error.contains("in the past"), "{error}");
}

#[test]
fn a_node_takes_no_frame_of_a_past_cycle() {
    let options = Options {
        nodes: 2,
        asks: 0,
        bytes: 64,
        answer: 64,
        to: None,
        latency: 1,
        beat: 64,
        timeout: 1000,
        seed: 1,
        noise: None,
    };
    let mut node = StandIn::new(0, options);
    node.step(100).unwrap();
    node.inject(frame(100, 0, 64, 0)).unwrap();
    let error = node.inject(frame(99, 0, 64, 0)).unwrap_err().to_string();
    assert!(error.contains("cycle 99") && error.contains("shorten the window"), "{error}");
}

#[test]
fn frames_to_nowhere_are_counted() {
    if !there() {
        return;
    }
    let nowhere = Frame { peer: None, ..frame(100, 0, 64, 0) };
    let sends = vec![(0, nowhere), (0, frame(200, 7, 64, 0)), (0, frame(300, 1, 64, 0))];
    let (mut network, received) = scripts(&Shape::Star { nodes: 2 }, Physics::default(), sends).unwrap();
    network.run(10_000).unwrap();
    let counts = network.counts().unwrap();
    assert_eq!((counts.sent, counts.astray, counts.delivered), (3, 2, 1));
    assert!(counts.balance() && received.lock().unwrap().len() == 1);
    drop(network);
    // In the midst of it the frames are on their way.
    let (mut network, _) =
        scripts(&Shape::Star { nodes: 2 }, Physics::default(), vec![(0, frame(100, 1, 64, 0))]).unwrap();
    network.run(130).unwrap();
    let counts = network.counts().unwrap();
    assert_eq!((counts.sent, counts.queued, counts.delivered), (1, 1, 0));
    assert!(counts.balance());
}
