//! Gets between two NICs: what a window of one completed last arrives in a window of the other.

use crate::nic::bench::{nodes, Node};
use rand::Rng;
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{EventKind, HostMemory, Kind, Reply, Target};
use spindle_contract::wire::{nack, status};
use spindle_harness::{seed_of_run, seeded_rng, with_seeds};
use spindle_sim::{Routing, WireOptions};

const ADDRESS: u64 = 0x77;
const REPLIES: u64 = 0x9000;
const KEY: u32 = 5;
const SIZE: usize = 20_000;
const PROCESS: usize = 2;

/// The first NIC, which asks, and the second with a window whose buffer is complete: its bytes.
fn open(wire: WireOptions, name: &str) -> (Vec<Node>, Vec<u8>) {
    let mut nodes = nodes(2, wire);
    for node in &mut nodes {
        node.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
        node.set_sequence_filter(true).unwrap();
        node.set_responses(Some(Responses { ack_every: 1, ..Responses::default() })).unwrap();
        let reliability = Reliability { timeout: 64, hole_time: 16, retries: 15, incarnation: 0x5EED };
        node.set_reliability(Some(reliability)).unwrap();
        node.set_receive(true).unwrap();
    }
    let mut rng = seeded_rng(name);
    let data: Vec<u8> = (0..SIZE).map(|_| rng.random()).collect();
    let window = nodes[1].init_window(PROCESS, ADDRESS, KEY, SIZE as u32).unwrap();
    let posted = nodes[1].post_buffer(window, SIZE as u32).unwrap();
    let buffer = nodes[0].memory.alloc(SIZE, 64).unwrap();
    nodes[0].memory.write(buffer, &data).unwrap();
    let put = nodes[0].put(0, buffer, SIZE as u32, &target(0)).unwrap();
    assert_eq!(nodes[1].wait(&posted, 400_000).unwrap().status, status::DONE);
    nodes[0].wait_put(&put, 400_000).unwrap();
    (nodes, data)
}

fn target(offset: u32) -> Target {
    Target { node: 1, process: PROCESS as u16, address: ADDRESS, key: KEY, offset, kind: Kind::Bound }
}

/// A window of the first NIC for an answer of so many bytes.
fn reply(nodes: &mut [Node], number: u64, length: u32) -> (Reply, Posted) {
    let window = nodes[0].init_window(0, REPLIES + number, 9, length).unwrap();
    let posted = nodes[0].post_buffer(window, length + 40).unwrap();
    (Reply { address: REPLIES + number, key: 9, offset: number as u32 }, posted)
}

fn gets_over(wire: WireOptions, name: &str) -> Vec<Node> {
    let (mut nodes, data) = open(wire, name);
    let wanted = [(0, SIZE), (SIZE - 1, 1), (1407, 1409), (64, 64), (3, 9999)];
    let mut posted = vec![];
    for (number, (offset, length)) in wanted.into_iter().enumerate() {
        let (reply, buffer) = reply(&mut nodes, number as u64, length as u32);
        nodes[0].get(0, length as u32, &target(offset as u32), &reply).unwrap();
        posted.push(buffer);
    }
    for (number, ((offset, length), posted)) in wanted.into_iter().zip(posted).enumerate() {
        let completed = nodes[0].wait(&posted, 400_000).unwrap();
        assert_eq!((completed.status, completed.length as usize), (status::DONE, length));
        let mut got = vec![0; length];
        nodes[0].memory.read(posted.buffer + number as u64, &mut got).unwrap();
        assert!(got == data[offset..offset + length], "get {number}");
    }
    nodes
}

#[test]
fn gets_arrive_over_a_faithful_wire() {
    with_seeds(|| {
        let mut nodes = gets_over(WireOptions::default(), "gets");
        assert_eq!((nodes[0].segments_resent().unwrap(), nodes[1].segments_resent().unwrap()), (0, 0));
        // The put and five gets; answers are no one's puts.
        assert_eq!(nodes[0].failed_puts().unwrap(), 0);
        assert_eq!(nodes[1].stats().unwrap().frames_placed as usize, SIZE.div_ceil(1408) + 5);
    });
}

#[test]
fn gets_arrive_over_a_wire_that_loses_and_reorders() {
    with_seeds(|| {
        let wire = WireOptions {
            loss: 0.1,
            duplication: 0.05,
            routing: Routing::Adaptive,
            paths: 5,
            step: 130,
            seed: seed_of_run("gets_wire"),
            ..WireOptions::default()
        };
        let mut nodes = gets_over(wire, "gets_lossy");
        let resent: u32 = nodes.iter_mut().map(|node| node.segments_resent().unwrap()).sum();
        assert!(nodes[0].memory.network().counts().lost > 0 && resent > 0);
    });
}

/// What is refused for good ends with its code; what is too early is asked again until it is there.
#[test]
fn refusals_of_gets() {
    let (mut nodes, data) = open(WireOptions::default(), "gets_refused");
    let mut ring = nodes[0].open_ring(0, 16).unwrap();
    let (reply, answer) = reply(&mut nodes, 0, 16);
    let wrong = [
        (Target { key: KEY + 1, ..target(0) }, 16, nack::BAD_KEY),
        (Target { address: ADDRESS + 1, ..target(0) }, 16, nack::NO_MAILBOX),
        (target(SIZE as u32 - 15), 16, nack::OUT_OF_BOUNDS),
    ];
    for (target, length, code) in wrong {
        nodes[0].get(0, length, &target, &reply).unwrap();
        let ended = nodes[0].wait_event(&mut ring, 400_000).unwrap().kind;
        let EventKind::Put { acknowledged: false, refusal: Some(refusal), .. } = ended else { panic!("{ended:?}") };
        assert_eq!(refusal, code);
    }
    // The buffer that fills, as it stands.
    let (active, there) = self::reply(&mut nodes, 1, 100);
    let window = nodes[1].init_window(PROCESS, ADDRESS + 3, KEY, 200).unwrap();
    let filling = nodes[1].post_buffer(window, 200).unwrap();
    nodes[1].memory.write(filling.buffer, &data[..200]).unwrap();
    nodes[0].get_active(0, 100, &Target { address: ADDRESS + 3, ..target(50) }, &active).unwrap();
    nodes[0].wait(&there, 400_000).unwrap();
    let mut seen = [0; 100];
    nodes[0].memory.read(there.buffer + 1, &mut seen).unwrap();
    assert_eq!(seen, data[50..150]);
    // A window that has completed nothing yet.
    let late = Target { address: ADDRESS + 2, ..target(4) };
    let window = nodes[1].init_window(PROCESS, late.address, KEY, 100).unwrap();
    nodes[1].post_buffer(window, 100).unwrap();
    nodes[0].get(0, 16, &late, &reply).unwrap();
    assert!(nodes[0].wait(&answer, 20_000).is_err());
    let from = nodes[0].memory.alloc(100, 64).unwrap();
    nodes[0].memory.write(from, &data[..100]).unwrap();
    nodes[0].put(0, from, 100, &Target { offset: 0, ..late }).unwrap();
    nodes[0].wait(&answer, 400_000).unwrap();
    let mut got = [0; 16];
    nodes[0].memory.read(answer.buffer, &mut got).unwrap();
    assert_eq!(got, data[4..20]);
}
