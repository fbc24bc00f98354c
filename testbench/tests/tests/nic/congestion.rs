//! Congestion control between NICs: a window per destination, and switches that mark frames.

use crate::nic::bench::{nodes, Node};
use spindle::congestion::Congestion;
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{EventKind, EventRing, HostMemory, Kind, Target};
use spindle_contract::wire::{nack, status};
use spindle_harness::with_seeds;
use spindle_sim::{address, Queue, WireCounts, WireOptions};

const ADDRESS: u64 = 0x500;
const KEY: u32 = 9;
/// Frames of a full segment wait in 24 cycles each.
const FRAME_CYCLES: u64 = 24;
const SEGMENT: usize = 1408;
/// A network that is known: few segments are in flight on its idle paths.
const WIRE: WireOptions = WireOptions {
    loss: 0.0,
    duplication: 0.0,
    corruption: 0.0,
    routing: spindle_sim::Routing::Ordered,
    paths: 1,
    latency: 100,
    step: 0,
    queue: Some(Queue { bytes: 64 << 10, mark: 16 << 10 }),
    seed: 1,
};

/// All nodes number their puts and answer those of others.
fn set_up(nodes: &mut [Node], congestion: Option<Congestion>) {
    for node in nodes {
        node.set_sequence_filter(true).unwrap();
        node.set_responses(Some(Responses { ack_every: 8, ..Responses::default() })).unwrap();
        let reliability = Reliability { timeout: 128, hole_time: 16, retries: 15, incarnation: 0 };
        node.set_reliability(Some(reliability)).unwrap();
        node.set_congestion_control(congestion).unwrap();
        assert_eq!(node.obeys_marks().unwrap(), congestion.is_some());
        node.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
        node.set_receive(true).unwrap();
    }
}

fn target(node: u8, window: u64) -> Target {
    Target { node, process: 0, address: ADDRESS + window, key: KEY, offset: 0, kind: Kind::Bound }
}

fn data(from: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + from * 101 + (i >> 8)) as u8).collect()
}

/// A put of these bytes from one node to another, for window `from`.
fn put(nodes: &mut [Node], from: usize, to: u8, bytes: usize) {
    let buffer = nodes[from].memory.alloc(bytes, 64).unwrap();
    nodes[from].memory.write(buffer, &data(from, bytes)).unwrap();
    nodes[from].put(0, buffer, bytes as u32, &target(to, from as u64)).unwrap();
}

/// What came of puts of all nodes but the first to the first one.
struct Incast {
    /// From the first put to the last completion record.
    cycles: u64,
    /// Segments that were sent again.
    resent: u32,
    counts: WireCounts,
    /// Cycles between the first end and the last one.
    spread: u64,
}

fn incast(senders: usize, bytes: usize, congestion: Option<Congestion>) -> Incast {
    let mut nodes = nodes(senders + 1, WIRE);
    set_up(&mut nodes, congestion);
    let mut posted: Vec<(usize, Posted)> = vec![];
    for from in 1..=senders {
        let window = nodes[0].init_window(0, ADDRESS + from as u64, KEY, bytes as u32).unwrap();
        posted.push((from, nodes[0].post_buffer(window, bytes as u32).unwrap()));
    }
    // The tables are clear.
    let network = nodes[0].memory.network().clone();
    network.run(6000);
    let now = |nodes: &[Node]| nodes[0].memory.card().sim().cycle();
    let start = now(&nodes);
    (1..=senders).for_each(|from| put(&mut nodes, from, 0, bytes));
    let mut ends = vec![];
    while !posted.is_empty() {
        network.run(16);
        let cycles = now(&nodes) - start;
        assert!(cycles < 400_000, "{} messages did not come", posted.len());
        posted.retain(|(from, posted)| {
            let Some(completed) = nodes[0].poll(posted).unwrap() else { return true };
            assert_eq!((completed.status, completed.length as usize), (status::DONE, bytes));
            let mut got = vec![0; bytes];
            nodes[0].memory.read(posted.buffer, &mut got).unwrap();
            assert!(got == data(*from, bytes), "message of node {from}");
            ends.push(cycles);
            false
        });
    }
    let resent = (1..=senders).map(|from| nodes[from].segments_resent().unwrap()).sum();
    let (first, last) = (ends[0], ends[ends.len() - 1]);
    Incast { cycles: last, resent, counts: network.counts(), spread: last - first }
}

/// Three NICs put to one. With windows the output is full at first at most, the line is busy, and all end at about the same time.
/// Without them the output stays full, and segments are sent again all the time.
#[test]
fn three_share_a_line() {
    with_seeds(|| {
        const BYTES: usize = 200 * SEGMENT;
        let line = 3 * 200 * FRAME_CYCLES;
        let free = incast(3, BYTES, None);
        let known = Congestion { first: 16, ..Congestion::default() };
        let windows = incast(3, BYTES, Some(known));
        let goodput = |run: &Incast| line as f64 / run.cycles as f64;
        println!(
            "without windows {:.3} of the line, {:?}, {} sent again; with windows {:.3}, {:?}, {} sent again, ends {} cycles apart",
            goodput(&free),
            free.counts,
            free.resent,
            goodput(&windows),
            windows.counts,
            windows.resent,
            windows.spread
        );
        assert_eq!(free.counts.marked, 0, "a frame that no window limits is not ECN-capable");
        assert!(free.counts.dropped > 100 && free.resent > 100);
        assert!(windows.counts.marked > 20, "{} marks", windows.counts.marked);
        assert!(windows.counts.dropped * 5 < free.counts.dropped);
        assert!(goodput(&windows) >= 0.75 && goodput(&windows) > 1.5 * goodput(&free));
        assert!(windows.spread * 4 < windows.cycles, "the shares are fair");
    });
}

/// A put on an idle path takes the same cycles with and without windows.
#[test]
fn an_idle_path_loses_no_cycle() {
    for bytes in [1, SEGMENT, 10 * SEGMENT + 5, 300 * SEGMENT] {
        let (without, with) = (incast(1, bytes, None), incast(1, bytes, Some(Congestion::default())));
        assert_eq!((without.cycles, without.resent), (with.cycles, with.resent), "{bytes} bytes");
        assert_eq!((with.counts.dropped, with.counts.marked), (0, 0));
    }
}

/// Cycles from the first put to the records of two windows of node 0 and one of node 2, for puts of node 1 that are handed over in this
/// order: a long one to node 0, a short one to it, a long one to it again, and a short one to node 2.
fn turns(puts: u8, long: usize, short: usize) -> [u64; 4] {
    let mut nodes = nodes(3, WIRE);
    set_up(&mut nodes, None);
    nodes[1].set_put_turns(puts).unwrap();
    let messages = [(0, long), (0, short), (0, long), (2, short)];
    let posted: Vec<(usize, Posted)> = (0..)
        .zip(messages)
        .map(|(k, (to, bytes))| {
            let window = nodes[to].init_window(0, ADDRESS + k, KEY, bytes as u32).unwrap();
            (to, nodes[to].post_buffer(window, bytes as u32).unwrap())
        })
        .collect();
    let network = nodes[0].memory.network().clone();
    network.run(6000);
    let now = |nodes: &[Node]| nodes[0].memory.card().sim().cycle();
    let start = now(&nodes);
    for (k, (to, bytes)) in (0..).zip(messages) {
        let buffer = nodes[1].memory.alloc(bytes, 64).unwrap();
        nodes[1].memory.write(buffer, &data(k as usize, bytes)).unwrap();
        nodes[1].put(0, buffer, bytes as u32, &target(to as u8, k)).unwrap();
    }
    let mut ends = [0; 4];
    while ends.contains(&0) {
        network.run(16);
        let cycles = now(&nodes) - start;
        assert!(cycles < 100_000, "messages came after {ends:?}");
        for (k, (to, posted)) in posted.iter().enumerate().filter(|(k, _)| ends[*k] == 0).collect::<Vec<_>>() {
            let Some(completed) = nodes[*to].poll(posted).unwrap() else { continue };
            let bytes = messages[k].1;
            assert_eq!((completed.status, completed.length as usize), (status::DONE, bytes));
            let mut got = vec![0; bytes];
            nodes[*to].memory.read(posted.buffer, &mut got).unwrap();
            assert!(got == data(k, bytes), "message {k}");
            ends[k] = cycles;
        }
    }
    assert_eq!(nodes[1].segments_resent().unwrap(), 0);
    ends
}

/// With turns, short messages arrive long before a long one of their NIC, two long ones share the line, and all of them together take
/// as long as one after another.
#[test]
fn messages_to_one_node_share_its_line() {
    const LONG: usize = 400 * SEGMENT;
    let (one, eight) = (turns(1, LONG, 8), turns(8, LONG, 8));
    println!("records of a long, a short, a long and a short message after {one:?} cycles, with turns after {eight:?}");
    let line = 400 * FRAME_CYCLES;
    assert!(one[1] > line && one[2] > 2 * line && one[3] > 2 * line, "one after another: {one:?}");
    // 36 frames are on their way between the sender and the link.
    let before = 40 * FRAME_CYCLES + 2 * WIRE.latency + 700;
    assert!(eight[1] < before && eight[3] < before, "{eight:?}: a short message waits for {before} cycles at most");
    assert!(eight[0] > 2 * line - 60 * FRAME_CYCLES && eight[2] > 2 * line, "{eight:?}: shares of the line");
    assert!(eight[2].abs_diff(eight[0]) < 60 * FRAME_CYCLES, "{eight:?}: equal shares");
    assert!(eight[2] <= one[2] + 50, "{eight:?}: no cycle of the line is lost");
}

/// A put to a node that never answers fills its window. With turns the puts after it arrive.
#[test]
fn a_silent_node_holds_up_no_other() {
    let ends = |puts: u8| {
        let mut nodes = nodes(3, WIRE);
        set_up(&mut nodes, None);
        nodes[2].set_receive(false).unwrap();
        nodes[1].set_put_turns(puts).unwrap();
        let window = nodes[0].init_window(0, ADDRESS + 1, KEY, 3000).unwrap();
        let posted = nodes[0].post_buffer(window, 3000).unwrap();
        let network = nodes[0].memory.network().clone();
        network.run(6000);
        // More than a window of 1,024 segments.
        put(&mut nodes, 1, 2, 1100 * SEGMENT);
        put(&mut nodes, 1, 0, 3000);
        (0..40_000 / 64).find(|_| {
            network.run(64);
            nodes[0].poll(&posted).unwrap().is_some()
        })
    };
    assert_eq!(ends(1), None, "the put waits for the one before");
    let end = ends(2).expect("the put does not wait");
    assert!(end * 64 < 3000, "{} cycles", end * 64);
}

fn next_end(node: &mut Node, ring: &mut EventRing) -> (bool, Option<u8>) {
    match node.wait_event(ring, 100_000).unwrap().kind {
        EventKind::Put { acknowledged, refusal, .. } => (acknowledged, refusal),
        other => panic!("{other:?}"),
    }
}

/// Of two nodes that share an entry of the receiver's table, the second is refused at once, and the first goes on. Puts without numbers
/// of the second arrive.
#[test]
fn a_source_without_an_entry_is_refused() {
    let mut nodes = nodes(3, WIRE);
    set_up(&mut nodes, None);
    let entries = crate::nic::bench::CONFIG.peers as u32;
    // The last one takes the number that has the same low bits as the second's.
    let number = entries + 1;
    let own = address(2);
    nodes[2].set_identity(number, own.mac, own.ip).unwrap();
    nodes[0].set_node(number as usize, Some(own)).unwrap();
    let mut rings: Vec<EventRing> = nodes.iter_mut().map(|node| node.open_ring(0, 16).unwrap()).collect();
    for from in [1, 2] {
        let window = nodes[0].init_window(0, ADDRESS + from, KEY, 1).unwrap();
        for _ in 0..4 {
            nodes[0].post_buffer(window, 4096).unwrap();
        }
    }
    nodes[0].memory.network().run(6000);
    put(&mut nodes, 1, 0, 3000);
    assert_eq!(next_end(&mut nodes[1], &mut rings[1]), (true, None));
    let start = nodes[2].memory.card().sim().cycle();
    put(&mut nodes, 2, 0, 3000);
    assert_eq!(next_end(&mut nodes[2], &mut rings[2]), (false, Some(nack::NO_PEER)));
    let cycles = nodes[2].memory.card().sim().cycle() - start;
    assert!(cycles < 128 * 64, "{cycles} cycles: no timeout was waited for");
    put(&mut nodes, 1, 0, 3000);
    assert_eq!(next_end(&mut nodes[1], &mut rings[1]), (true, None));
    // The second tries anew, with a new incarnation, and is refused again.
    put(&mut nodes, 2, 0, 100);
    assert_eq!(next_end(&mut nodes[2], &mut rings[2]), (false, Some(nack::NO_PEER)));
    assert_eq!(nodes[0].stats().unwrap().frames_placed, 6);
}
