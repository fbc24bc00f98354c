//! The receive maps alone, against sets of granules: any slot, granule and first byte; each word, and the cycle of each answer.

use rand::seq::IndexedRandom;
use rand::Rng;
use rvma_lut::completion::receive_maps::{MapQuery, ReceiveMaps};
use rvma_lut::types::BoundPacket;
use spindle_contract::params::{RECEIVE_MAPS, RECEIVE_MAP_BITS};
use spindle_harness::{near, run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;
use std::collections::{BTreeSet, VecDeque};

const WORDS: u64 = RECEIVE_MAP_BITS as u64 / 64;
/// Cycles from a packet to the first answer of the host.
const ANSWER: u64 = 6;
/// Cycles from the answer to the first read that sees its bit.
const SEEN: u64 = 3;
/// Cycles from the end of a map until the packets under way are counted.
const DRAIN: u64 = 5;
/// Most packets under way.
const UNDER_WAY: usize = 434;

#[derive(Clone, Debug, Default)]
struct Map {
    pid: u64,
    slot: u64,
    granule: u64,
    taken: bool,
    live: bool,
    bits: BTreeSet<u64>,
}

/// A packet that the host has not answered: when it was bound, the map and the bit that it sets.
struct UnderWay {
    bound: u64,
    mark: Option<(usize, u64)>,
}

/// What the block does with its query.
enum Doing {
    Idle,
    /// The word has been read.
    Reply {
        owned: bool,
        word: u64,
    },
    /// A map ends: since when; words that are emptied, once no packet may set a bit.
    End {
        since: u64,
        emptied: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug)]
struct Query {
    pid: u64,
    number: usize,
    word: u64,
    free: bool,
}

#[test]
fn random_packets_are_the_models() {
    run_with_wave_on_failure("receive_maps_alone_random", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, ReceiveMaps::default(), "receive_maps");
        let mut seen = [0; 7];
        let mut marks_of = [0; RECEIVE_MAPS];
        for _ in 0..3 {
            dut.bound.valid.set(false);
            dut.finished.set(false);
            dut.posted.valid.set(false);
            dut.query.valid.set(false);
            dut.reset();
            let mut maps: [Map; RECEIVE_MAPS] = Default::default();
            let mut pending: VecDeque<UnderWay> = VecDeque::new();
            // Bits that a later read sees: from which cycle on, map, bit.
            let mut later: VecDeque<(u64, usize, u64)> = VecDeque::new();
            let mut bound_before: Option<(u64, u64)> = None;
            let mut answer_before: Option<bool> = None;
            let mut marked_before = false;
            let mut query: Option<Query> = None;
            let mut doing = Doing::Idle;
            let pool: Vec<u64> = (0..12).map(|_| rng.random_range(0..1 << 14)).collect();
            let mut last_index = 0;
            for cycle in 0..share(24_000) as u64 {
                let cleared = cycle >= RECEIVE_MAPS as u64 * WORDS;
                // Phases of full speed, of packets alone, of answers alone, and with few of all.
                let phase = cycle / 600 % 4;
                let bind = pending.len() < UNDER_WAY && rng.random_bool([0.95, 0.9, 0.05, 0.1][phase as usize]);
                let bound = bind.then(|| {
                    let map = maps.choose(&mut rng).unwrap();
                    let slot = if rng.random_range(0..8) == 0 { *pool.choose(&mut rng).unwrap() } else { map.slot };
                    // Successive granules, any granule of the map, or one beyond it.
                    last_index = match rng.random_range(0..8) {
                        0 => rng.random_range(0..1 << 10),
                        1 => 1 << rng.random_range(0..32),
                        2 => rng.random_range(1000..1050),
                        _ => (last_index + 1) % (1 << 32),
                    };
                    let start = last_index << map.granule | rng.random::<u64>() & ((1 << map.granule) - 1);
                    (near(&mut rng, slot, 14, 6), start & 0xFFFF_FFFF)
                });
                dut.bound.offer(bound.map(|(slot, start)| BoundPacket {
                    base: bits(rng.random::<u64>()),
                    start: bits(start),
                    slot: bits(slot),
                    frame: bits(u64::from(rng.random::<u16>())),
                    payload_len: bits(u64::from(rng.random::<u16>())),
                    host: rng.random(),
                    ..Default::default()
                }));
                let oldest = pending.get(usize::from(answer_before.is_some()));
                let may = oldest.is_some_and(|packet| packet.bound + ANSWER <= cycle);
                let answer = (may && rng.random_bool([1.0, 0.005, 0.9, 0.2][phase as usize]))
                    .then(|| rng.random_range(0..6) != 0);
                dut.finished.set(answer.is_some());
                dut.finished_error.set(answer.map_or_else(|| rng.random(), |ok| !ok));

                // A map is assigned if one is free.
                let free = maps.iter().position(|map| !map.taken).filter(|_| cleared);
                let posted = rng.random_bool(0.03).then(|| {
                    let slot = *pool.choose(&mut rng).unwrap();
                    near(&mut rng, slot, 14, 6)
                });
                let assign = if posted.is_some() { free.is_some() && rng.random_bool(0.7) } else { rng.random() };
                let (granule, pid) = (rng.random_range(0..32), rng.random_range(0..64));
                dut.posted.offer(posted.map(bits::<14>));
                dut.assign.assign.set(assign);
                dut.assign.granule.set(bits(granule));
                dut.assign_pid.set(bits(pid));

                if query.is_none() && rng.random_bool(if phase == 3 { 0.1 } else { 0.6 }) {
                    let number = rng.random_range(0..RECEIVE_MAPS);
                    let map = &maps[number];
                    let word = match (rng.random(), map.bits.iter().next_back()) {
                        (true, Some(bit)) => bit / 64,
                        _ => rng.random_range(0..WORDS),
                    };
                    let pid = near(&mut rng, map.pid, 6, 6);
                    query = Some(Query { pid, number, word, free: rng.random_range(0..30) == 0 });
                }
                dut.query.valid.set(query.is_some());
                if let Some(Query { pid, number, word, free }) = query {
                    let (number, word) = (bits(number as u64), bits(word));
                    dut.query.payload.set(MapQuery { pid: bits(pid), number, word, free });
                }
                dut.eval();

                assert_eq!(dut.assign.any.is_high(), free.is_some(), "cycle {cycle}");
                if let Some(number) = free {
                    assert_eq!(dut.assign.next.number(), number as u64, "cycle {cycle}");
                }
                while later.front().is_some_and(|later| later.0 <= cycle) {
                    let (_, number, bit) = later.pop_front().unwrap();
                    maps[number].bits.insert(bit);
                    marks_of[number] += 1;
                }
                // The end of a map, which sees the packets of earlier cycles answered.
                let mut done = None;
                if let Doing::End { since, emptied } = &mut doing {
                    if let Some(words) = emptied {
                        *words += u64::from(!marked_before);
                        if *words == WORDS {
                            done = Some((true, None));
                        }
                    } else if cycle > *since + DRAIN {
                        let waits = pending.front().is_some_and(|packet| packet.bound <= *since + 1);
                        seen[0] += usize::from(waits);
                        if !waits {
                            *emptied = Some(0);
                        }
                    }
                }
                // The answer of the cycle before.
                marked_before = false;
                if let Some(ok) = answer_before {
                    let packet = pending.pop_front().expect("a packet under way");
                    if let Some((number, bit)) = packet.mark.filter(|_| ok) {
                        later.push_back((cycle - 1 + SEEN, number, bit));
                        marked_before = true;
                    }
                    seen[1] += usize::from(!ok);
                }
                // The map of the packet of the cycle before.
                if let Some((slot, start)) = bound_before {
                    let number = maps.iter().position(|map| map.live && map.slot == slot);
                    let mark = number.map(|number| (number, start >> maps[number].granule));
                    seen[2] += usize::from(mark.is_some_and(|mark| mark.1 >= RECEIVE_MAP_BITS as u64));
                    let mark = mark.filter(|mark| mark.1 < RECEIVE_MAP_BITS as u64);
                    pending.push_back(UnderWay { bound: cycle - 1, mark });
                }
                match (&doing, query) {
                    (Doing::Reply { owned, word }, _) => done = Some((*owned, Some(*word))),
                    (Doing::Idle, Some(query)) if cleared => {
                        let map = &maps[query.number];
                        let owned = map.taken && map.pid == query.pid;
                        if owned && query.free {
                            doing = Doing::End { since: cycle, emptied: None };
                        } else if !marked_before {
                            let word = map.bits.range(64 * query.word..64 * (query.word + 1));
                            doing = Doing::Reply { owned, word: word.fold(0, |word, bit| word | 1 << (bit % 64)) };
                        } else {
                            seen[3] += 1;
                        }
                    }
                    _ => {}
                }
                assert_eq!(dut.query.done.is_high(), done.is_some(), "cycle {cycle}: {query:x?}");
                if let Doing::End { since, .. } = doing {
                    // From the cycle after the query.
                    if cycle > since {
                        maps[query.unwrap().number].live = false;
                    }
                }
                if let Some(slot) = posted {
                    maps.iter_mut().filter(|map| map.slot == slot).for_each(|map| map.live = false);
                    if assign {
                        let map = &mut maps[free.expect("a map is free")];
                        *map = Map { pid, slot, granule, taken: true, live: true, bits: BTreeSet::new() };
                    }
                }
                if let Some((owned, word)) = done {
                    assert_eq!(dut.query.ok.is_high(), owned, "cycle {cycle}: {query:x?}");
                    if let Some(word) = word.filter(|_| owned) {
                        assert_eq!(dut.query.word.number(), word, "cycle {cycle}: {query:x?}");
                        seen[4] += usize::from(word != 0);
                    } else if owned {
                        let map = &mut maps[query.unwrap().number];
                        (map.taken, map.live) = (false, false);
                        map.bits.clear();
                        seen[5] += 1;
                    } else {
                        seen[6] += 1;
                    }
                    (doing, query) = (Doing::Idle, None);
                }
                (bound_before, answer_before) = (bound, answer);
                dut.tick();
            }
        }
        assert!(
            seen.iter().all(|count| *count > 10),
            "{seen:?}: waits for packets, refused by the host, beyond the map, late reads, words, ends, of others"
        );
        assert!(marks_of.iter().all(|count| *count > 20), "{marks_of:?} bits in each map");
    });
}

/// A word is there one cycle after the query; a map ends within 22 cycles if no packet is under way; a bit can be read three
/// cycles after the answer, and not earlier.
#[test]
fn cycles_of_a_map() {
    run_with_wave_on_failure("receive_maps_alone_cycles", |wave| {
        let dut = Dut::new(wave, ReceiveMaps::default(), "receive_maps");
        dut.bound.valid.set(false);
        dut.finished.set(false);
        dut.finished_error.set(false);
        dut.posted.valid.set(false);
        dut.query.valid.set(false);
        dut.reset();
        let began = dut.cycle();
        dut.eval();
        while !dut.assign.any.is_high() {
            dut.tick();
            dut.eval();
        }
        assert_eq!(dut.cycle() - began, RECEIVE_MAPS as u64 * WORDS, "a reset empties a word per cycle");
        let ask = |free| {
            dut.query.payload.set(MapQuery { pid: bits(9), number: bits(0), word: bits(2), free });
            dut.query.valid.set(true);
            let begin = dut.cycle();
            dut.eval();
            while !dut.query.done.is_high() {
                dut.tick();
                dut.eval();
            }
            assert!(dut.query.ok.is_high());
            let answer = (dut.cycle() - begin, dut.query.word.number());
            dut.tick();
            dut.query.valid.set(false);
            answer
        };
        for after in 1..6 {
            dut.posted.offer(Some(bits::<14>(0x2AAA)));
            dut.assign.assign.set(true);
            dut.assign.granule.set(bits(12));
            dut.assign_pid.set(bits(9));
            dut.tick();
            dut.posted.valid.set(false);
            dut.bound.offer(Some(BoundPacket { slot: bits(0x2AAA), start: bits(133 << 12), ..Default::default() }));
            dut.tick();
            dut.bound.valid.set(false);
            for _ in 1..ANSWER {
                dut.tick();
            }
            dut.finished.set(true);
            dut.tick();
            dut.finished.set(false);
            for _ in 1..after {
                dut.tick();
            }
            let (cycles, word) = ask(false);
            // A read in the cycle in which the bit is read as well waits for one cycle.
            assert_eq!(cycles, if after == 1 { 2 } else { 1 });
            assert_eq!(word, if after < SEEN { 0 } else { 1 << 5 }, "{after} cycles after the answer");
            assert_eq!(ask(true).0, DRAIN + 1 + WORDS);
        }
    });
}
