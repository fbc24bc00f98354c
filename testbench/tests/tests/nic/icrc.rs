//! The ICRC end to end: a frame of which a byte was changed reaches no table and no memory, is counted, and comes again; who leaves the
//! ICRC out does not switch the check off.

use crate::nic::bench::{nodes, Node};
use crate::nic::source_check::{between_two_puts, ends, forged, inject, state, ADDRESS, KEY, LENGTH};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{HostMemory, Icrc, Kind, Put, Reply, Target};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::reasons::{BAD_FRAME, BAD_ICRC, BAD_SOURCE, BAD_TRANSPORT, DROP_COUNT, ICRC_MISSING, NO_RULE};
use spindle_contract::wire::{self, flag, status};
use spindle_harness::{is_full_run, seed_of_run, seeded_rng, share, with_seeds};
use spindle_model::packet_engine::parser::{parse_of, SourceEntry, Verdict};
use spindle_sim::{address, Routing, WireFrame, WireOptions};

/// Changed frames that are played to a NIC one after the other.
fn changed_frames() -> usize {
    if is_full_run() {
        9000
    } else {
        3000
    }
}

/// Changed frames on the wire between two NICs.
const CORRUPTED: usize = 1000;
/// Cycles in which the last frames take effect, their answers included.
const SETTLED: u64 = 3000;

/// Why frames are dropped before anything is looked up.
fn early() -> Vec<usize> {
    (BAD_FRAME..=BAD_TRANSPORT).chain([NO_RULE, BAD_SOURCE, BAD_ICRC, ICRC_MISSING]).collect()
}

/// What becomes of a frame of NIC `from` at a NIC that has one rule, for Spindle packets; `None`: it goes on.
fn fate(frame: &[u8], from: usize, requires: bool) -> Option<usize> {
    let source = frame.get(wire::spindle::START + wire::spindle::SRC_NID + 3).copied().unwrap_or(0);
    let known = usize::from(source) < 2;
    let ip = known.then(|| u32::from_be_bytes(address(source.into()).ip));
    let entry = SourceEntry { ip, requires: requires && usize::from(source) == from };
    match parse_of(frame, SPINDLE_PORT, entry, true) {
        Verdict::Drop(reason) => Some(reason),
        Verdict::Accept(parsed) if !parsed.is_spindle => Some(NO_RULE),
        Verdict::Accept(_) => None,
    }
}

/// The frame with a byte changed.
fn changed(frame: &[u8], at: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[at] ^= rng.random_range(1..=u8::MAX);
    frame
}

/// Plays frames to a NIC; none of them changes anything but the counters of these drops.
fn nothing_happens(node: &mut Node, frames: Vec<(Vec<u8>, usize)>, what: &str) {
    let before = (state(node, &early()), node.stats().unwrap().drops);
    let mut expected = before.1;
    for (bytes, reason) in frames {
        expected[reason] += 1;
        node.memory.card().sim().inject(WireFrame { bytes, gap: 0, bad: false });
    }
    while node.memory.card().sim().pending() > 0 {
        node.memory.network().run(64);
    }
    node.memory.network().run(SETTLED);
    assert_eq!(node.stats().unwrap().drops, expected, "{what}");
    assert_eq!(state(node, &early()), before.0, "{what}");
}

/// Every byte of every kind of frame, in turn: also those that the ICRC does not cover, of which all but the MAC addresses, the UDP
/// source port are covered by something else.
#[test]
fn a_changed_byte_changes_a_counter_and_nothing_else() {
    with_seeds(|| {
        let mut rng = seeded_rng("icrc_changed_byte");
        let (mut played, mut by_icrc, mut uncovered) = (0, 0, vec![]);
        let frames = [1, 0].map(|to| forged(to, &ends(to, address(1 - to).ip, None), flag::ICRC));
        while played < share(changed_frames()) {
            // New ones each time, before a timer of the old ones is over.
            let (mut nodes, posted, second) = between_two_puts();
            for (number, other) in [(0, 1), (1, 0)] {
                nodes[number].set_checked_node(other, address(other), Icrc::BOTH).unwrap();
            }
            for (to, frames) in [1, 0].into_iter().zip(&frames) {
                for (what, frame) in frames {
                    assert_eq!(fate(frame, 1 - to, true), None, "{what} is good");
                    let mut bad = vec![];
                    for at in 0..frame.len() {
                        let frame = changed(frame, at, &mut rng);
                        match fate(&frame, 1 - to, true) {
                            Some(reason) => bad.push((frame, reason)),
                            None => uncovered.push(at),
                        }
                    }
                    played += bad.len();
                    by_icrc += bad.iter().filter(|(_, reason)| *reason == BAD_ICRC).count();
                    nothing_happens(&mut nodes[to], bad, &format!("{what} to {to}"));
                }
            }
            assert!(!nodes[0].put_is_over(&second).unwrap(), "no changed answer ends a put");
            if played >= share(changed_frames()) {
                comes_through(nodes, &posted, &second);
            }
        }
        uncovered.sort_unstable();
        uncovered.dedup();
        assert_eq!(uncovered, (0..12).chain([34, 35]).collect::<Vec<_>>(), "MAC addresses, source port");
        assert!(2 * by_icrc > played, "{by_icrc} of {played} frames by the ICRC");
    });
}

/// The true packets come through, and the true answers.
fn comes_through(mut nodes: Vec<Node>, posted: &Posted, second: &Put) {
    nodes[0].memory.network().set_wire(|wire| wire.loss = 0.0);
    nodes[0].wait_put(second, 3_000_000).unwrap();
    let completed = nodes[1].wait(posted, 10_000).unwrap();
    assert_eq!((completed.status, completed.length as usize), (status::DONE, 2 * LENGTH));
    let mut got = vec![0; 2 * LENGTH];
    nodes[1].memory.read(posted.buffer, &mut got).unwrap();
    assert!(got == [[1; LENGTH], [2; LENGTH]].concat());
}

/// A frame whose flag was cleared, with lengths to match, is dropped if its source must use the ICRC; one with a wrong ICRC always.
#[test]
fn leaving_the_icrc_out_does_not_switch_it_off() {
    for to in [1, 0] {
        let from = address(1 - to);
        let bare = forged(to, &ends(to, from.ip, None), 0);
        let sealed = forged(to, &ends(to, from.ip, Some(7)), flag::ICRC);
        for requires in [true, false] {
            // New ones each time, before a timer of the old ones is over.
            let (mut nodes, ..) = between_two_puts();
            nodes[to].set_checked_node(1 - to, from, Icrc { sends: true, requires }).unwrap();
            for (what, mut frame) in sealed.clone() {
                *frame.last_mut().unwrap() ^= 1;
                nothing_happens(&mut nodes[to], vec![(frame, BAD_ICRC)], &format!("{what} with a wrong ICRC"));
            }
        }
        let (mut nodes, ..) = between_two_puts();
        nodes[to].set_checked_node(1 - to, from, Icrc { sends: false, requires: true }).unwrap();
        for (what, frame) in bare {
            nothing_happens(&mut nodes[to], vec![(frame, ICRC_MISSING)], &format!("{what} without ICRC"));
        }
    }
}

/// The same frames take effect without ICRC if none is required, and with the right one in any case: they are good.
#[test]
fn each_of_those_frames_takes_effect_with_its_icrc_or_if_none_is_required() {
    for (to, count) in [1, 0].map(|to| (to, forged(to, &ends(to, address(1 - to).ip, None), 0).len())) {
        let from = address(1 - to);
        for (requires, flags) in [(true, flag::ICRC), (false, flag::ICRC), (false, 0)] {
            for n in 0..count {
                let (mut nodes, ..) = between_two_puts();
                nodes[to].set_checked_node(1 - to, from, Icrc { sends: false, requires }).unwrap();
                let (what, frame) = forged(to, &ends(to, from.ip, None), flags).swap_remove(n);
                let before = state(&mut nodes[to], &early());
                inject(&nodes[to], frame);
                assert_ne!(state(&mut nodes[to], &early()), before, "{what} to {to}, flags {flags:#x}");
                assert!(early().iter().all(|reason| nodes[to].stats().unwrap().drops[*reason] == 0), "{what} to {to}");
            }
        }
    }
}

const SIZE: usize = 9000;
const REPLIES: u64 = 0x9000;

/// Two NICs that use the ICRC, and put to and get from each other until so many frames were corrupted: all bytes of host memory that
/// are not 0, and the NICs.
fn traffic(wire: WireOptions, rounds: usize) -> (Vec<Vec<(u64, u8)>>, Vec<Node>) {
    let mut nodes = nodes(2, wire);
    for (number, node) in nodes.iter_mut().enumerate() {
        node.set_checked_node(1 - number, address(1 - number), Icrc::BOTH).unwrap();
        node.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
        node.set_sequence_filter(true).unwrap();
        node.set_responses(Some(Responses { ack_every: 2, ..Responses::default() })).unwrap();
        let reliability = Reliability { timeout: 32, hole_time: 16, retries: 15, incarnation: 0x5EED };
        node.set_reliability(Some(reliability)).unwrap();
        node.set_receive(true).unwrap();
    }
    nodes[0].memory.network().keep_received();
    let mut rng = seeded_rng("icrc_traffic");
    for round in 0..rounds as u64 {
        let mut under_way = vec![];
        for from in [0, 1] {
            let to = 1 - from;
            let address = ADDRESS + round;
            let target = |offset| Target { node: to as u8, process: 1, address, key: KEY, offset, kind: Kind::Bound };
            let data: Vec<u8> = (0..SIZE).map(|_| rng.random()).collect();
            let window = nodes[to].init_window(1, address, KEY, SIZE as u32).unwrap();
            let posted = nodes[to].post_buffer(window, SIZE as u32).unwrap();
            let buffer = nodes[from].memory.alloc(SIZE, 64).unwrap();
            nodes[from].memory.write(buffer, &data).unwrap();
            let mut at = 0;
            while at < SIZE {
                let length = if rng.random() { rng.random_range(1..3000) } else { rng.random_range(1..200) };
                let length = length.min(SIZE - at);
                nodes[from].put(1, buffer + at as u64, length as u32, &target(at as u32)).unwrap();
                at += length;
            }
            under_way.push((from, target(64), posted, data));
        }
        let mut answers = vec![];
        for (from, target, posted, data) in under_way {
            let completed = nodes[1 - from].wait(&posted, 3_000_000).unwrap();
            assert_eq!((completed.status, completed.length as usize), (status::DONE, SIZE));
            let reply = Reply { address: REPLIES + round, key: 9, offset: 0 };
            let window = nodes[from].init_window(1, reply.address, reply.key, 2000).unwrap();
            let answer = nodes[from].post_buffer(window, 2000).unwrap();
            nodes[from].get(1, 2000, &target, &reply).unwrap();
            answers.push((from, answer, posted, data));
        }
        for (from, answer, posted, data) in answers {
            assert_eq!(nodes[from].wait(&answer, 3_000_000).unwrap().length, 2000);
            let mut got = vec![0; SIZE];
            nodes[1 - from].memory.read(posted.buffer, &mut got).unwrap();
            assert!(got == data, "round {round}: the bytes that NIC {from} put are others");
            nodes[from].memory.read(answer.buffer, &mut got[..2000]).unwrap();
            assert!(got[..2000] == data[64..2064], "round {round}: the bytes that NIC {from} got are others");
        }
    }
    nodes[0].memory.network().run(20_000);
    let memories = nodes.iter().map(|node| node.memory.card().sim().memory().memory.nonzero()).collect();
    (memories, nodes)
}

/// The wire changes a byte of many frames, whichever they are: the memory of both hosts is that of a run over a faithful wire, the
/// NICs dropped what the model of the parser drops, and sent again what was missing.
#[test]
fn a_wire_that_changes_bytes_changes_no_memory() {
    with_seeds(|| {
        let wire = WireOptions {
            corruption: 0.2,
            routing: Routing::Adaptive,
            paths: 3,
            step: 130,
            seed: seed_of_run("icrc_wire"),
            ..WireOptions::default()
        };
        // A round has about 60 frames.
        let rounds = share(CORRUPTED).div_ceil(10);
        let (expected, _) = traffic(WireOptions::default(), rounds);
        let (got, mut nodes) = traffic(wire, rounds);
        for number in [0, 1] {
            assert!(got[number] == expected[number], "host memory of NIC {number}");
            let frames = nodes[0].memory.network().take_received(number);
            let mut drops = [0; DROP_COUNT];
            frames.iter().filter_map(|frame| fate(frame, 1 - number, true)).for_each(|reason| drops[reason] += 1);
            let stats = nodes[number].stats().unwrap();
            for reason in early() {
                assert_eq!(stats.drops[reason], drops[reason], "reason {reason} at NIC {number}");
            }
            assert!(drops[BAD_ICRC] > 10 && nodes[number].segments_resent().unwrap() > 10, "{drops:?}");
        }
        let counts = nodes[0].memory.network().counts();
        assert!(counts.corrupted as usize >= share(CORRUPTED), "{counts:?}");
    });
}
