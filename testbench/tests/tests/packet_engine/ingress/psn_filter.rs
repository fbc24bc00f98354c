//! `PsnFilter` against sets of numbers.

use crate::packet_engine::ingress::common::{packed, set_field};
use packet_engine::ingress::psn_filter::PsnFilter;
use packet_engine::schedule::message::PsnCommit;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::Config;
use spindle_contract::reasons;
use spindle_contract::wire::{control, flag, opcode, PSN_WINDOW};
use spindle_harness::{run_with_wave_on_failure, seeded_rng, Dut, WaveContext};
use spindle_model::packet_engine::psn_filter::{self as model, Verdict};
use spindle_verilog::prelude::bits;
use std::collections::{HashSet, VecDeque};

const WINDOW: u32 = PSN_WINDOW as u32;
/// Cycles within which a commit takes effect when others wait too.
const LAG: u64 = 48;

/// A frame as the parser sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Packet {
    opcode: u8,
    flags: u16,
    node: u32,
    psn: u32,
    msg_id: u32,
    key: u32,
    /// The parser drops it.
    malformed: bool,
    /// The parser says a cycle after the headers that the ICRC is wrong.
    spoilt: bool,
}

impl Packet {
    fn put(node: u32, psn: u32) -> Self {
        Packet { opcode: opcode::PUT, node, psn, ..Packet::default() }
    }

    fn nop(node: u32, psn: u32) -> Self {
        Packet { opcode: opcode::CTRL, node, psn, msg_id: control::NOP, ..Packet::default() }
    }

    fn open(node: u32, incarnation: u32) -> Self {
        Packet { opcode: opcode::CTRL, node, msg_id: control::OPEN, key: incarnation, ..Packet::default() }
    }
}

/// Node, number, accepted.
type Commit = (u32, u32, bool);

/// The verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Untouched,
    Held,
    Dropped(usize),
    /// A control packet that took its number.
    Nop,
}

struct Bench {
    dut: Dut<PsnFilter>,
    peers: usize,
    now: u64,
    /// The packet that was announced, and those whose verdict comes in 2, 1, 0 cycles.
    line: [Option<Packet>; 3],
}

impl Bench {
    fn new(wave: &WaveContext, config: &Config) -> Self {
        let dut = Dut::new(wave, PsnFilter::new(config), &format!("psn_filter_{}", config.peers));
        let mut bench = Bench { dut, peers: config.peers, now: 0, line: [None; 3] };
        bench.reset();
        bench
    }

    /// Resets it and lets it clear its tables.
    fn reset(&mut self) {
        let commits = [&self.dut.ingress_commit.valid, &self.dut.scheduler_commit.valid];
        for wire in
            [&self.dut.early_spindle, &self.dut.parsed.valid, &self.dut.peer_query.start].into_iter().chain(commits)
        {
            wire.set(false);
        }
        self.dut.reset();
        self.dut.enable.set(true);
        self.idle(17 * self.peers);
    }

    /// One cycle: a packet is announced, commits arrive. Returns the verdict that comes in this cycle.
    fn step(
        &mut self,
        packet: Option<Packet>,
        scheduler: Option<Commit>,
        ingress: Option<Commit>,
    ) -> Option<(Packet, Answer)> {
        let row = packet.map_or(0, |p| p.psn >> 6 & 15);
        self.dut.early_spindle.set(packet.is_some());
        self.dut.early_peer.set(packet.map_or(0, |p| p.node as u64 & 255));
        self.dut.early_row.set(row);
        let mut parsed = packed("packet_desc");
        if let Some(p) = self.line[0] {
            for (field, value) in [
                ("is_spindle", 1),
                ("opcode", p.opcode as u64),
                ("flags", p.flags as u64),
                ("psn", p.psn as u64),
                ("src_nid", p.node as u64),
                ("msg_id", p.msg_id as u64),
                ("key", p.key as u64),
            ] {
                set_field(&mut parsed, "packet_desc", field, value);
            }
        }
        self.dut.parsed.set_bytes(&parsed);
        self.dut.parsed.valid.set(self.line[0].is_some());
        self.dut.parsed.drop.set(self.line[0].is_some_and(|p| p.malformed));
        self.dut.bad_icrc.set(self.line[1].is_some_and(|p| p.spoilt));
        for (port, commit) in [(&self.dut.scheduler_commit, scheduler), (&self.dut.ingress_commit, ingress)] {
            let (node, psn, accepted) = commit.unwrap_or_default();
            port.set(PsnCommit { accepted, peer: bits(node & 255), psn: bits(psn & 0x7ff) });
            port.valid.set(commit.is_some());
        }
        self.dut.eval();
        let word = self.dut.verdict.number();
        let (drop, reason, held, control) = (word & 1, (word >> 1 & 31) as usize, word >> 6 & 1, word >> 7 & 1);
        let answer = match (drop, held, control) {
            (0, 0, 0) => Answer::Untouched,
            (0, 1, 0) => Answer::Held,
            (1, 0, 0) => Answer::Dropped(reason),
            (1, 1, 1) => {
                assert_eq!(reason, reasons::CONTROL);
                Answer::Nop
            }
            other => panic!("cycle {}: verdict {other:?}", self.now),
        };
        let judged = self.line[2];
        assert!(judged.is_some() || answer == Answer::Untouched, "cycle {}: a verdict on nothing", self.now);
        self.dut.tick();
        self.line = [packet, self.line[0], self.line[1]];
        self.now += 1;
        judged.map(|packet| (packet, answer))
    }

    fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            assert!(self.step(None, None, None).is_none());
        }
    }

    /// One packet by itself.
    fn send(&mut self, packet: Packet) -> Answer {
        assert!(self.step(Some(packet), None, None).is_none());
        self.idle(2);
        self.step(None, None, None).expect("a verdict 3 cycles after").1
    }

    /// A commit, and enough time for it.
    fn commit(&mut self, commit: Commit) {
        self.step(None, Some(commit), None);
        self.idle(12);
    }

    /// Entry of the peer table: node, lowest number not accepted, which from there on have been.
    fn query(&mut self, index: usize) -> Option<(u32, u32, u64)> {
        self.dut.peer_query.peer.set(index);
        self.dut.peer_query.start.set(true);
        self.step(None, None, None);
        self.dut.peer_query.start.set(false);
        for _ in 0..100 {
            self.step(None, None, None);
            if !self.dut.peer_query.busy.is_high() {
                let selective = self.dut.peer_query.selective.number();
                return self.dut.peer_query.live.is_high().then(|| {
                    (self.dut.peer_query.node.number() as u32, self.dut.peer_query.expected.number() as u32, selective)
                });
            }
        }
        panic!("the query does not end");
    }

    /// What the responder is given of an entry.
    fn request(&mut self, index: usize) -> Option<(u32, u64)> {
        self.dut.peer_request.offer(Some(bits::<8>(index as u64)));
        let mut asks = true;
        for _ in 0..200 {
            self.dut.eval();
            let taken = asks && self.dut.peer_request.moves();
            if self.dut.peer_answer.valid.is_high() {
                let answer = (self.dut.peer_answer.expected.number() as u32, self.dut.peer_answer.selective.number());
                return self.dut.peer_answer_live.is_high().then_some(answer);
            }
            self.step(None, None, None);
            if taken {
                asks = false;
                self.dut.peer_request.valid.set(false);
            }
        }
        panic!("the responder gets no answer");
    }

    /// What the registers show of the last query.
    fn shown(&self) -> (u32, u32) {
        (self.dut.peer_query.node.number() as u32, self.dut.peer_query.expected.number() as u32)
    }

    /// Every entry is as the model has it, for the registers and for the responder, which changes nothing that they show.
    fn check(&mut self, filter: &model::PsnFilter) {
        for index in 0..self.peers {
            self.check_one(filter, index);
        }
    }

    /// An entry is as the model has it for the registers, and the one after it for the responder.
    fn check_one(&mut self, filter: &model::PsnFilter, index: usize) {
        let expected = filter.peers.get(&index).map(|peer| (peer.node, peer.expected, peer.selective()));
        assert_eq!(self.query(index), expected, "entry {index}");
        let shown = self.shown();
        let other = (index + 1) % self.peers;
        let expected = filter.peers.get(&other).map(|peer| (peer.expected, peer.selective()));
        assert_eq!(self.request(other), expected, "entry {other}");
        assert_eq!(self.shown(), shown, "after a request of the responder");
    }

    /// Packets `gaps` cycles apart: their verdicts.
    fn verdicts(&mut self, packets: &[Packet], mut gap: impl FnMut() -> usize) -> Vec<Answer> {
        let mut answers = vec![];
        for packet in packets {
            answers.extend(self.step(Some(*packet), None, None));
            (1..gap()).for_each(|_| answers.extend(self.step(None, None, None)));
        }
        (0..3).for_each(|_| answers.extend(self.step(None, None, None)));
        answers.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// A number near the window of a peer: in it, at its edges, below and beyond.
fn number(rng: &mut ChaCha8Rng, peer: Option<&model::Peer>) -> u32 {
    let base = peer.map_or(0, |peer| peer.expected);
    let offset = match rng.random_range(0..10) {
        0..4 => rng.random_range(0..6),
        4 => rng.random_range(0..64),
        5 => rng.random_range(0..WINDOW),
        6 => WINDOW - 1 - rng.random_range(0..3),
        7 => WINDOW + rng.random_range(0..3),
        8 => rng.random_range(0..3 * WINDOW),
        _ => 0u32.wrapping_sub(rng.random_range(1..2 * WINDOW)),
    };
    base.wrapping_add(offset)
}

/// One thing at a time: every verdict is exactly the model's.
#[test]
fn one_at_a_time() {
    run_with_wave_on_failure("psn_filter_one_at_a_time", |wave| {
        let mut rng = seeded_rng("psn_filter_one_at_a_time");
        let mut bench = Bench::new(wave, &Config::SIM);
        let mut filter = model::PsnFilter::new(bench.peers);
        let (mut held, mut opened) = (vec![], 0);
        // Few entries, some of two nodes, and one peer that goes a long way.
        let mut nodes: Vec<u32> = vec![rng.random()];
        for _ in 0..3 {
            let node: u32 = rng.random();
            nodes.extend([node, node ^ ((1 + rng.random_range(0..1 << 26)) * 64)]);
        }
        for n in 0..12_000 {
            let node = if n % 2 == 0 { nodes[0] } else { *nodes.choose(&mut rng).expect("there are some") };
            let index = filter.index(node);
            let psn = number(&mut rng, filter.peers.get(&index));
            let expected = filter.judge(node, psn);
            match rng.random_range(0..12) {
                0..6 => {
                    let packet = Packet { opcode: rng.random_range(1..=3), ..Packet::put(node, psn) };
                    let answer = bench.send(packet);
                    match expected {
                        Verdict::Held => {
                            assert_eq!(answer, Answer::Held, "{packet:?}");
                            filter.peer(node).expect("it passes").held.insert(psn);
                            held.push((node, psn));
                        }
                        Verdict::Dropped(reason) => assert_eq!(answer, Answer::Dropped(reason), "{packet:?}"),
                    }
                }
                6 => {
                    let answer = bench.send(Packet::nop(node, psn));
                    match expected {
                        Verdict::Held => {
                            assert_eq!(answer, Answer::Nop);
                            let peer = filter.peer(node).expect("it passes");
                            peer.held.insert(psn);
                            peer.commit(psn, true);
                            bench.step(None, None, Some((node, psn, true)));
                            bench.idle(12);
                        }
                        Verdict::Dropped(reason) => assert_eq!(answer, Answer::Dropped(reason)),
                    }
                }
                7..10 => {
                    if !held.is_empty() {
                        let (node, psn) = held.swap_remove(rng.random_range(0..held.len()));
                        let accepted = rng.random_ratio(4, 5);
                        filter.peer(node).expect("it was there").commit(psn, accepted);
                        let commit = Some((node, psn, accepted));
                        if rng.random() {
                            bench.step(None, commit, None);
                        } else {
                            bench.step(None, None, commit);
                        }
                        bench.idle(12);
                    }
                }
                10 => {
                    let untouched = [
                        Packet { flags: flag::UNSEQ, ..Packet::put(node, psn) },
                        Packet { opcode: opcode::ACK, ..Packet::put(node, psn) },
                        Packet { opcode: opcode::NACK, ..Packet::put(node, psn) },
                        Packet { malformed: true, ..Packet::put(node, psn) },
                        Packet { spoilt: true, ..Packet::put(node, psn) },
                        Packet { spoilt: true, ..Packet::nop(node, psn) },
                        Packet { spoilt: true, ..Packet::open(node, rng.random()) },
                        Packet { msg_id: 77, ..Packet::nop(node, psn) },
                    ];
                    assert_eq!(bench.send(*untouched.choose(&mut rng).expect("some")), Answer::Untouched);
                }
                _ => {
                    // Nothing may be held when a window is reset; `open_waits_for_commits` is about that.
                    let incarnation = rng.random_range(0..3);
                    if filter.peers.get(&index).is_some_and(|p| p.node != node) {
                        assert_eq!(bench.send(Packet::open(node, incarnation)), Answer::Dropped(reasons::NO_PEER));
                    } else if n % 9 == 0 && held.iter().all(|(other, _)| *other != node) {
                        assert_eq!(bench.send(Packet::open(node, incarnation)), Answer::Dropped(reasons::CONTROL));
                        filter.open(node, incarnation);
                        bench.idle(60);
                        opened += 1;
                    }
                }
            }
            if n % 2_000 == 1_999 {
                bench.check(&filter);
            } else if n % 16 == 0 {
                bench.check_one(&filter, index);
            }
        }
        assert!(opened > 20, "{opened} were opened");
        for (node, psn) in held {
            filter.peer(node).expect("it was there").commit(psn, true);
            bench.commit((node, psn, true));
        }
        bench.check(&filter);
        assert!(filter.peers.values().any(|peer| peer.expected > 0));
    });
}

/// A sender: numbers in order, with loss, repetition and delay up to and beyond the window.
struct Sender {
    node: u32,
    next: u32,
    /// Sent and not known to be accepted.
    unsettled: Vec<u32>,
}

impl Sender {
    fn packet(&mut self, rng: &mut ChaCha8Rng) -> Packet {
        let psn = match rng.random_range(0..20) {
            0..5 if !self.unsettled.is_empty() => *self.unsettled.choose(rng).expect("not empty"),
            // Something long ago, or far ahead of what can be taken.
            5 => self.next.wrapping_sub(rng.random_range(1..2000)),
            6 => self.next + rng.random_range(0..1500),
            _ => {
                // Some are lost on the way, and sent again later.
                while rng.random_ratio(1, 10) {
                    self.unsettled.push(self.next);
                    self.next += 1;
                }
                self.next += 1;
                self.next - 1
            }
        };
        Packet::put(self.node, psn)
    }
}

#[test]
fn full_rate() {
    packets_at_full_rate("psn_filter_full_rate", &Config::ALVEO, 160_000);
}

#[test]
fn full_rate_of_few_peers() {
    packets_at_full_rate("psn_filter_full_rate_of_few_peers", &Config::SIM, 96_000);
}

/// A packet every second cycle from all peers, and commits in random order: what is held was free, what is not was taken, up
/// to commits that are on their way.
fn packets_at_full_rate(name: &str, config: &Config, cycles: u64) {
    run_with_wave_on_failure(name, |wave| {
        let mut rng = seeded_rng(name);
        let mut bench = Bench::new(wave, config);
        let peers = config.peers as u32;
        let mut filter = model::PsnFilter::new(bench.peers);
        let mut senders: Vec<Sender> = (0..peers)
            .map(|n| Sender { node: (rng.random::<u32>() / peers * peers) | n, next: 0, unsettled: vec![] })
            .collect();
        let mut held: Vec<(u32, u32)> = vec![];
        // Dispositions of the last cycles: when, node, number, and the peer's base before it.
        let mut recent: VecDeque<(u64, u32, u32, u32)> = VecDeque::new();
        let mut counts = [0usize; 4];
        for cycle in 0..cycles {
            // Few peers for a while, one alone for a while, so that rows meet; then all.
            let active = [config.peers, 1, 3, 16][(cycle / 8_000 % 4) as usize];
            let packet = (cycle % 2 == 0 && rng.random_ratio(9, 10)).then(|| {
                let sender = rng.random_range(0..active);
                senders[sender].packet(&mut rng)
            });
            // On average no more commits than packets, in bursts of one per cycle.
            let rush = cycle % 512 < 128;
            let chance = if rush { 90 } else { 35 };
            let commit = (!held.is_empty() && rng.random_ratio(chance, 100)).then(|| {
                let recent = held.len() - 1 - rng.random_range(0..held.len().min(40));
                let (node, psn) = held.swap_remove(if rng.random_ratio(9, 10) { recent } else { 0 });
                (node, psn, rng.random_ratio(7, 8))
            });
            let lost = rng.random_ratio(1, 3) && commit.is_some();
            if let Some((node, psn, accepted)) = commit {
                let peer = filter.peer(node).expect("it holds numbers");
                recent.push_back((bench.now, node, psn, peer.expected));
                peer.commit(psn, accepted);
                let sender = &mut senders[(node % peers) as usize];
                if accepted {
                    sender.unsettled.retain(|other| *other != psn);
                } else if !sender.unsettled.contains(&psn) {
                    sender.unsettled.push(psn);
                }
            }
            while recent.front().is_some_and(|(when, ..)| *when + LAG < bench.now) {
                recent.pop_front();
            }
            let judged = bench.step(packet, commit.filter(|_| !lost), commit.filter(|_| lost));
            let Some((packet, answer)) = judged else { continue };
            let expected = filter.judge(packet.node, packet.psn);
            let same = match (expected, answer) {
                (Verdict::Held, Answer::Held) => true,
                (Verdict::Dropped(a), Answer::Dropped(b)) => a == b,
                _ => false,
            };
            if !same {
                // Only because of a commit that has not taken effect yet.
                let mine = recent.iter().filter(|(_, node, ..)| *node == packet.node);
                let explained = match answer {
                    Answer::Dropped(reasons::DUPLICATE) => mine.clone().any(|(_, _, psn, _)| *psn == packet.psn),
                    Answer::Dropped(reasons::PSN_WINDOW) => {
                        mine.clone().any(|(.., base)| packet.psn.wrapping_sub(*base) >= WINDOW)
                    }
                    _ => false,
                };
                assert!(explained, "cycle {}: {packet:?} {answer:?}, not {expected:?}", bench.now);
                counts[3] += 1;
            }
            match answer {
                Answer::Held => {
                    filter.peer(packet.node).expect("it passes").held.insert(packet.psn);
                    held.push((packet.node, packet.psn));
                    counts[0] += 1;
                }
                Answer::Dropped(reasons::DUPLICATE) => counts[1] += 1,
                Answer::Dropped(_) => counts[2] += 1,
                other => panic!("{packet:?}: {other:?}"),
            }
        }
        for (packet, answer) in (0..4).filter_map(|_| bench.step(None, None, None)).collect::<Vec<_>>() {
            if answer == Answer::Held {
                filter.peer(packet.node).expect("it passes").held.insert(packet.psn);
                held.push((packet.node, packet.psn));
            }
        }
        for (node, psn) in held {
            filter.peer(node).expect("it holds numbers").commit(psn, true);
            bench.step(None, Some((node, psn, true)), None);
        }
        bench.idle(100);
        bench.check(&filter);
        let laps = filter.peers.values().filter(|peer| peer.expected > 2 * WINDOW).count();
        assert!(laps >= 2, "windows went around for {laps} peers");
        assert!(counts.iter().all(|count| *count > 20), "held, duplicate, beyond, late: {counts:?}");
    });
}

/// Packets of one row so close that the row was not written in between: each number passes once, whatever came before.
#[test]
fn neighbours_meet() {
    run_with_wave_on_failure("psn_filter_neighbours", |wave| {
        let mut bench = Bench::new(wave, &Config::SIM);
        let mut rng = wave.rng();
        for entry in 0..bench.peers as u32 {
            let node = rng.random::<u32>() & !63 | entry;
            let row = 64 * rng.random_range(0..WINDOW / 64);
            let mut numbers: Vec<u32> = (row..row + 64).flat_map(|psn| [psn; 3]).collect();
            numbers.shuffle(&mut rng);
            // Also one just after the other.
            let twice = numbers[0];
            numbers.insert(0, twice);
            let packets: Vec<Packet> = numbers.iter().map(|psn| Packet::put(node, *psn)).collect();
            let mut held = HashSet::new();
            let expected: Vec<Answer> = numbers
                .iter()
                .map(|psn| if held.insert(psn) { Answer::Held } else { Answer::Dropped(reasons::DUPLICATE) })
                .collect();
            let most = rng.random_range(2..7);
            assert_eq!(bench.verdicts(&packets, || rng.random_range(2..=most)), expected, "{numbers:?}");
            // Another node has no place there, and gets none by sending again.
            let strangers =
                [(); 4].map(|()| Packet::put(node ^ 64 << rng.random_range(0..26), rng.random_range(0..WINDOW)));
            assert_eq!(bench.verdicts(&strangers, || 2), [Answer::Dropped(reasons::NO_PEER); 4], "{strangers:?}");
        }
    });
}

/// Of two nodes with one entry the first becomes the peer, however soon a packet of the other follows, and in whichever bit
/// their names differ. The next packet of the first one finds it a peer.
#[test]
fn the_first_of_two_nodes_becomes_the_peer() {
    run_with_wave_on_failure("psn_filter_two_nodes", |wave| {
        let mut bench = Bench::new(wave, &Config::SIM);
        let mut rng = wave.rng();
        let mut bits: Vec<u32> = (0..10).flat_map(|_| 0..32).collect();
        bits.shuffle(&mut rng);
        let mut used: HashSet<usize> = HashSet::new();
        for bit in bits {
            let node: u32 = rng.random();
            let other = node ^ 1 << bit;
            let [entry, of_other] = [node, other].map(|node| node as usize % bench.peers);
            if used.contains(&entry) || used.contains(&of_other) {
                bench.reset();
                used.clear();
            }
            used.extend([entry, of_other]);
            let packets = [Packet::put(node, 0), Packet::put(other, 0), Packet::put(node, 1)];
            let gap = rng.random_range(2..7);
            let second = if entry == of_other { Answer::Dropped(reasons::NO_PEER) } else { Answer::Held };
            let wanted = [Answer::Held, second, Answer::Held];
            assert_eq!(bench.verdicts(&packets, || gap), wanted, "every {gap} cycles: {packets:x?}");
            assert_eq!(bench.query(entry), Some((node, 0, 0)), "after {gap} cycles");
        }
    });
}

/// Numbers of a row that are accepted in any order: the lowest one that is missing is known, also if it is the last one.
#[test]
fn the_last_hole_of_a_row() {
    run_with_wave_on_failure("psn_filter_last_hole", |wave| {
        let mut bench = Bench::new(wave, &Config::SIM);
        let mut rng = wave.rng();
        let mut filter = model::PsnFilter::new(bench.peers);
        let node: u32 = rng.random();
        let index = filter.index(node);
        let mut holes: Vec<u32> = (0..64).collect();
        holes.shuffle(&mut rng);
        for (row, hole) in holes.into_iter().enumerate() {
            let first = 64 * row as u32;
            let mut numbers: Vec<u32> = (first..first + 64).filter(|psn| *psn != first + hole).collect();
            numbers.shuffle(&mut rng);
            numbers.push(first + hole);
            let packets: Vec<Packet> = numbers.iter().map(|psn| Packet::put(node, *psn)).collect();
            assert_eq!(bench.verdicts(&packets, || 2), [Answer::Held; 64]);
            filter.peer(node).expect("it passes").held.extend(&numbers);
            for (n, psn) in numbers.into_iter().enumerate() {
                filter.peer(node).expect("it passes").commit(psn, true);
                bench.step(None, Some((node, psn, true)), None);
                if n > 61 || rng.random_ratio(1, 16) {
                    bench.idle(12);
                    bench.check_one(&filter, index);
                }
            }
        }
    });
}

/// A hole is filled whose window goes on for rows: an answer that is asked for at once has the number at the end of them.
#[test]
fn an_answer_has_the_end_of_a_filled_hole() {
    run_with_wave_on_failure("psn_filter_filled_hole", |wave| {
        let mut bench = Bench::new(wave, &Config::SIM);
        for (node, hole, count) in [(1, 10, 64), (2, 63, 65), (3, 0, 201), (4, 130, 512), (5, 5, 1024)] {
            let numbers: Vec<u32> = (0..count).collect();
            let packets: Vec<Packet> = numbers.iter().map(|psn| Packet::put(node, *psn)).collect();
            assert!(bench.verdicts(&packets, || 2).iter().all(|answer| *answer == Answer::Held));
            for psn in numbers.into_iter().filter(|psn| *psn != hole) {
                bench.step(None, Some((node, psn, true)), None);
            }
            bench.idle(20);
            let (expected, _) = bench.request(node as usize).expect("the node is a peer");
            assert_eq!(expected, hole);
            bench.step(None, Some((node, hole, true)), None);
            assert_eq!(bench.request(node as usize), Some((count, 0)), "{count} numbers, {hole} last");
        }
    });
}

/// An OPEN waits until nothing is held; until then, and while rows are cleared, its peer's packets are turned away to be
/// sent again.
#[test]
fn open_waits_for_commits() {
    run_with_wave_on_failure("psn_filter_open_waits_for_commits", |wave| {
        let mut bench = Bench::new(wave, &Config::SIM);
        for psn in [0, 1, 900] {
            assert_eq!(bench.send(Packet::put(9, psn)), Answer::Held);
        }
        bench.commit((9, 0, true));
        bench.commit((9, 900, true));
        assert_eq!(bench.query(9), Some((9, 1, 0)));
        assert_eq!(bench.send(Packet::open(9, 4)), Answer::Dropped(reasons::CONTROL));
        bench.idle(200);
        assert_eq!(bench.send(Packet::put(9, 2)), Answer::Dropped(reasons::PSN_WINDOW));
        assert_eq!(bench.send(Packet::put(10, 0)), Answer::Held, "others go on");
        assert_eq!(bench.send(Packet::open(11, 1)), Answer::Dropped(reasons::PSN_WINDOW), "one at a time");
        bench.commit((9, 1, false));
        bench.idle(60);
        // The window is new: all numbers are free.
        for psn in [0, 1, 2, 900, 1023] {
            assert_eq!(bench.send(Packet::put(9, psn)), Answer::Held, "{psn}");
        }
        assert_eq!(bench.send(Packet::put(9, 1024)), Answer::Dropped(reasons::PSN_WINDOW));
        // The same incarnation again changes nothing.
        assert_eq!(bench.send(Packet::open(9, 4)), Answer::Dropped(reasons::CONTROL));
        bench.idle(60);
        assert_eq!(bench.send(Packet::put(9, 2)), Answer::Dropped(reasons::DUPLICATE));
    });
}

/// An entry without a node has zeros as its node and its incarnation: the node and the incarnation zero become a peer all the same.
#[test]
fn a_node_of_zeros_becomes_a_peer() {
    run_with_wave_on_failure("psn_filter_zeros", |wave| {
        let mut bench = Bench::new(wave, &Config::SIM);
        assert_eq!(bench.query(0), None);
        assert_eq!(bench.send(Packet::open(0, 0)), Answer::Dropped(reasons::CONTROL));
        bench.idle(60);
        assert_eq!(bench.query(0), Some((0, 0, 0)));
        let stranger = bench.peers as u32;
        assert_eq!(bench.send(Packet::put(stranger, 0)), Answer::Dropped(reasons::NO_PEER), "the entry is taken");
        assert_eq!(bench.send(Packet::put(0, 0)), Answer::Held);
    });
}

/// Cycles, exactly: from a commit to the first packet that sees it, and of an OPEN.
#[test]
fn cycles_are_as_promised() {
    run_with_wave_on_failure("psn_filter_cycles_are_as_promised", |wave| {
        let mut bench = Bench::new(wave, &Config::SIM);
        // A refusal, then the same number again, `gap` cycles between the commit and `parsed`.
        let mut first = None;
        for gap in 1..12 {
            let node = 20 + gap as u32;
            assert_eq!(bench.send(Packet::put(node, 3)), Answer::Held);
            bench.step(None, Some((node, 3, false)), None);
            bench.idle(gap - 1);
            // Announced `gap` cycles after the commit, parsed one later.
            if bench.send(Packet::put(node, 3)) == Answer::Held && first.is_none() {
                first = Some(gap + 1);
            }
        }
        assert_eq!(first, Some(6), "cycles from a refusal to `parsed`");
        // An accepted number moves the window.
        let mut first = None;
        for gap in 1..12 {
            let node = 40 + gap as u32;
            assert_eq!(bench.send(Packet::put(node, 0)), Answer::Held);
            bench.step(None, Some((node, 0, true)), None);
            bench.idle(gap - 1);
            if bench.send(Packet::put(node, WINDOW)) == Answer::Held && first.is_none() {
                first = Some(gap + 1);
            }
        }
        assert_eq!(first, Some(8), "cycles from an acceptance to `parsed`");
        // An OPEN.
        let mut first = None;
        for wait in 30..60 {
            assert_eq!(bench.send(Packet::open(1, wait as u32)), Answer::Dropped(reasons::CONTROL));
            bench.idle(wait);
            if bench.send(Packet::put(1, 0)) == Answer::Held {
                first = first.or(Some(wait));
                bench.commit((1, 0, false));
            }
            bench.idle(60);
        }
        assert_eq!(
            first,
            Some(34),
            "cycles from the verdict on an OPEN to the announcement of the first packet that passes"
        );
    });
}

/// Answers of other nodes end here if they are taken, whatever is open; what is malformed, and what asks, is no answer.
#[test]
fn answers_are_taken() {
    run_with_wave_on_failure("psn_filter_answers", |wave| {
        let mut bench = Bench::new(wave, &Config::SIM);
        let answers = [opcode::ACK, opcode::NACK].map(|opcode| Packet { opcode, ..Packet::put(3, 9) });
        for (takes, enable) in [(true, true), (true, false), (false, true)] {
            bench.dut.take_responses.set(takes);
            bench.dut.enable.set(enable);
            let wanted = if takes { Answer::Dropped(reasons::CONTROL) } else { Answer::Untouched };
            for packet in answers {
                assert_eq!(bench.send(packet), wanted, "{packet:?}");
                for packet in [Packet { malformed: true, ..packet }, Packet { spoilt: true, ..packet }] {
                    assert_eq!(bench.send(packet), Answer::Untouched, "{packet:?}");
                }
            }
            let put = bench.send(Packet::put(4, 0));
            if enable {
                assert_eq!(put, Answer::Held);
                bench.commit((4, 0, false));
            } else {
                assert_eq!(put, Answer::Untouched);
            }
        }
    });
}

/// While the tables are cleared after reset nothing sequenced passes; switched off, everything does.
#[test]
fn reset_and_switch() {
    run_with_wave_on_failure("psn_filter_reset_and_switch", |wave| {
        let mut bench = Bench::new(wave, &Config::SIM);
        assert_eq!(bench.send(Packet::put(1, 0)), Answer::Held);
        bench.commit((1, 0, true));
        let mut first = None;
        for cycles in 17 * bench.peers - 4..17 * bench.peers + 4 {
            bench.dut.reset();
            bench.idle(cycles);
            match bench.send(Packet::put(1, 0)) {
                Answer::Held => first = first.or(Some(cycles)),
                answer => assert_eq!((answer, first), (Answer::Dropped(reasons::PSN_WINDOW), None)),
            }
        }
        assert_eq!(first, Some(17 * bench.peers - 1), "cycles from reset to the announcement of a packet that passes");
        assert_eq!(bench.send(Packet::put(1, 0)), Answer::Dropped(reasons::DUPLICATE));
        bench.dut.enable.set(false);
        for packet in [Packet::put(1, 0), Packet::nop(1, 0), Packet::open(1, 3)] {
            assert_eq!(bench.send(packet), Answer::Untouched);
        }
    });
}
