//! `MessageIndex` against a map.

use packet_engine::schedule::message::MessageKey;
use packet_engine::schedule::message_index::{key_hash, key_rows::WAYS, MessageIndex, MIXER_HIGH, MIXER_LOW};
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::RamStyle;
use spindle_harness::{near, run_with_wave_on_failure, seeded_rng, with_seeds, Dut, WaveContext};
use spindle_verilog::prelude::{bits, pack};
use std::collections::{HashMap, VecDeque};

/// A key: context, node, process, message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key(u64, u64, u64, u64);

impl Key {
    fn random(rng: &mut ChaCha8Rng) -> Self {
        // Few nodes and processes, or any.
        let (nodes, pids) = if rng.random() { (40, 4) } else { (1 << 32, 1 << 16) };
        Key(
            rng.random_range(0..16),
            rng.random_range(0..nodes),
            rng.random_range(0..pids),
            rng.random_range(0..1 << 32),
        )
    }

    /// A key that differs in one bit.
    fn near(self, rng: &mut ChaCha8Rng) -> Self {
        let Key(context, node, pid, message) = self;
        match rng.random_range(0..4) {
            0 => Key(near(rng, context, 4, 1), node, pid, message),
            1 => Key(context, near(rng, node, 32, 1), pid, message),
            2 => Key(context, node, near(rng, pid, 16, 1), message),
            _ => Key(context, node, pid, near(rng, message, 32, 1)),
        }
    }

    fn with_message(self, message: u64) -> Self {
        Key(self.0, self.1, self.2, message)
    }

    fn block(self) -> MessageKey {
        MessageKey {
            class: bits(1),
            mailbox: false,
            context: bits(self.0),
            src_nid: bits(self.1),
            src_pid: bits(self.2),
            msg_id: bits(self.3),
        }
    }

    fn word(self) -> u128 {
        1 | (self.0 as u128) << 5 | (self.1 as u128) << 9 | (self.2 as u128) << 41 | (self.3 as u128) << 57
    }

    fn bytes(self) -> Vec<u8> {
        self.word().to_le_bytes()[..12].to_vec()
    }

    /// Row in a table of `rows` rows.
    fn row(self, rows: usize) -> u64 {
        hash(self.word()) & (rows as u64 - 1)
    }

    /// `n` keys of the same row.
    fn colliding(rng: &mut ChaCha8Rng, rows: usize, n: usize) -> Vec<Key> {
        let first = Key::random(rng);
        let free = same_hash(rows as u64 - 1);
        let mut keys = vec![first];
        while keys.len() < n {
            let difference = free.iter().filter(|_| rng.random()).fold(0, |all, one| all ^ one);
            let key = first.with_message(first.3 ^ difference);
            assert_eq!(key.row(rows), first.row(rows));
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }
}

/// The hash, from its definition.
pub fn hash(key: u128) -> u64 {
    let mixer = (MIXER_HIGH as u128) << 64 | MIXER_LOW as u128;
    (0..8).map(|i| ((key & mixer >> i).count_ones() as u64 & 1) << i).sum()
}

/// A basis of the changes of a message number that leave the bits of `mask` of its key's hash alone: the hash is linear.
fn same_hash(mask: u64) -> Vec<u64> {
    let mut free = vec![];
    let mut pivots: Vec<(u64, u64)> = vec![];
    for bit in 0..32 {
        let (mut change, mut effect) = (1u64 << bit, hash(1 << (57 + bit)) & mask);
        for (pivot, of) in &pivots {
            if effect & (1 << pivot.trailing_zeros()) != 0 {
                effect ^= pivot;
                change ^= of;
            }
        }
        if effect == 0 {
            free.push(change);
        } else {
            pivots.push((effect, change));
        }
    }
    free
}

/// The block's hash is what its page says.
#[test]
fn hash_is_as_defined() {
    with_seeds(|| {
        let mut rng = seeded_rng("message_index_hash");
        for _ in 0..100 {
            let key = Key::random(&mut rng);
            assert_eq!(key_hash(pack(key.block())).index() as u64, hash(key.word()), "{key:?}");
        }
    });
}

/// What happens in a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Cycle {
    lookup: Option<Key>,
    claim: bool,
    insert: Option<(Key, u64)>,
    /// The key of this slot goes.
    remove: Option<u64>,
    /// This slot is free; the same as `remove` if both are there.
    give_back: Option<u64>,
}

/// The block, and what it must know.
struct Bench {
    dut: Dut<MessageIndex>,
    slots: usize,
    now: u64,
    live: HashMap<Key, u64>,
    /// Slots in use with their keys, if they have one.
    owners: HashMap<u64, Option<Key>>,
    /// Free slots in order, with the cycle from which each may be offered.
    free: VecDeque<(u64, u64)>,
    asked: [Option<Key>; 2],
    hits: usize,
}

impl Bench {
    fn new(wave: &WaveContext, slots: usize) -> Self {
        let dut = Dut::new(wave, MessageIndex::new(slots, RamStyle::Block), &format!("message_index_{slots}"));
        let mut bench = Bench {
            dut,
            slots,
            now: 0,
            live: HashMap::new(),
            owners: HashMap::new(),
            free: VecDeque::new(),
            asked: [None; 2],
            hits: 0,
        };
        bench.reset();
        bench
    }

    /// Resets it, and checks that the clearing takes one cycle per slot.
    fn reset(&mut self) {
        for wire in [&self.dut.claim, &self.dut.insert, &self.dut.remove, &self.dut.give_back] {
            wire.set(false);
        }
        self.dut.reset();
        let mut cycles = 0;
        loop {
            self.dut.eval();
            if self.dut.ready.is_high() {
                break;
            }
            assert!(!self.dut.free.is_high() && !self.dut.hit.is_high() && !self.dut.can_insert.is_high());
            self.dut.tick();
            cycles += 1;
        }
        assert_eq!(cycles, self.slots);
        self.live.clear();
        self.owners.clear();
        self.asked = [None; 2];
        self.free = (0..self.slots as u64).map(|slot| (slot, self.now + 1)).collect();
        self.step(Cycle::default());
        self.step(Cycle::default());
    }

    /// The answer to the look-up of two cycles ago, checked: the key, whether it was found, whether it could be inserted.
    fn answer(&mut self) -> Option<(Key, bool, bool)> {
        self.dut.eval();
        let key = self.asked[1]?;
        let found = self.live.get(&key).copied();
        let got = self.dut.hit.is_high().then(|| self.dut.hit_slot.number());
        assert_eq!(got, found, "cycle {}: {key:?}", self.now);
        self.hits += found.is_some() as usize;
        Some((key, found.is_some(), self.dut.can_insert.is_high()))
    }

    /// The slot on offer, checked.
    fn offer(&mut self) -> Option<u64> {
        self.dut.eval();
        let expected = self.free.front().filter(|(_, from)| *from <= self.now).map(|(slot, _)| *slot);
        let got = self.dut.free.is_high().then(|| self.dut.free_slot.number());
        assert_eq!(got, expected, "cycle {}: free slot", self.now);
        assert_eq!(self.dut.open.number() as usize, self.owners.len(), "cycle {}", self.now);
        got
    }

    fn step(&mut self, cycle: Cycle) {
        let lookup = cycle.lookup.unwrap_or(Key(0, 0, 0, 0));
        self.dut.lookup.set_bytes(&lookup.bytes());
        self.dut.lookup_hash.set(hash(lookup.word()));
        self.dut.claim.set(cycle.claim);
        self.dut.insert.set(cycle.insert.is_some());
        if let Some((key, slot)) = cycle.insert {
            self.dut.insert_key.set_bytes(&key.bytes());
            self.dut.insert_hash.set(hash(key.word()));
            self.dut.insert_slot.set(slot);
        }
        self.dut.remove.set(cycle.remove.is_some());
        self.dut.give_back.set(cycle.give_back.is_some());
        self.dut.give_back_slot.set(cycle.give_back.or(cycle.remove).unwrap_or(0));
        self.dut.tick();
        if cycle.claim {
            let (slot, _) = self.free.pop_front().expect("a slot was on offer");
            assert!(self.owners.insert(slot, None).is_none());
        }
        if let Some((key, slot)) = cycle.insert {
            assert_eq!(self.owners.insert(slot, Some(key)), Some(None));
            assert!(self.live.insert(key, slot).is_none());
        }
        if let Some(slot) = cycle.remove {
            let key = self.owners.insert(slot, None).flatten().expect("the slot has a key");
            self.live.remove(&key);
        }
        if let Some(slot) = cycle.give_back {
            assert_eq!(self.owners.remove(&slot), Some(None));
            self.free.push_back((slot, self.now + 2));
        }
        self.asked = [cycle.lookup, self.asked[0]];
        self.now += 1;
    }

    /// Looks a key up by itself.
    fn look(&mut self, key: Key) -> (bool, bool) {
        self.step(Cycle { lookup: Some(key), ..Default::default() });
        self.step(Cycle::default());
        let (_, found, can_insert) = self.answer().expect("a key was asked for");
        (found, can_insert)
    }

    /// Claims a slot for a key, and waits until it has settled.
    fn enter(&mut self, key: Key) -> u64 {
        let slot = self.offer().expect("a slot is free");
        self.step(Cycle { claim: true, insert: Some((key, slot)), ..Default::default() });
        self.idle(12);
        slot
    }

    fn leave(&mut self, slot: u64) {
        self.step(Cycle { remove: Some(slot), give_back: Some(slot), ..Default::default() });
        self.idle(12);
    }

    fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.step(Cycle::default());
        }
    }
}

/// A key that waits for the cycle of its insertion, with the slot it has already claimed, if it has.
struct Arrival {
    key: Key,
    at: u64,
    slot: Option<u64>,
}

/// Random traffic over a pool of keys: `insert` and `give_back` in percent of the cycles. Returns how many keys that could
/// have a slot were let in and turned away.
fn traffic(bench: &mut Bench, rng: &mut ChaCha8Rng, pool: &[Key], rates: (u32, u32), cycles: usize) -> (usize, usize) {
    let mut arrivals: VecDeque<Arrival> = VecDeque::new();
    let mut recent: VecDeque<Key> = VecDeque::new();
    let (mut entered, mut refused) = (0, 0);
    for cycle in 0..cycles + 4 {
        let draining = cycle >= cycles;
        let answer = bench.answer();
        let offer = bench.offer();
        let mut next = Cycle::default();
        if let Some((key, false, can_insert)) = answer {
            if can_insert && !draining && rng.random_ratio(rates.0, 100) && arrivals.len() < 3 {
                // At most two cycles from the answer; one insertion per cycle.
                let at = bench.now + rng.random_range(0..3);
                if arrivals.iter().all(|a| a.at != at) {
                    arrivals.push_back(Arrival { key, at, slot: None });
                }
            }
            refused += !can_insert as usize;
        }
        // A slot may be claimed before its key is inserted.
        if let (Some(slot), Some(arrival)) =
            (offer, arrivals.iter_mut().filter(|a| a.slot.is_none()).min_by_key(|a| a.at))
        {
            if arrival.at == bench.now || rng.random() {
                arrival.slot = Some(slot);
                next.claim = true;
            }
        }
        if let Some(n) = arrivals.iter().position(|a| a.at == bench.now) {
            let arrival = arrivals.remove(n).expect("it is there");
            if let Some(slot) = arrival.slot {
                // Its key may have come in since; now and then a message has no name.
                if !bench.live.contains_key(&arrival.key) && rng.random_ratio(9, 10) {
                    next.insert = Some((arrival.key, slot));
                    entered += 1;
                }
                recent.push_back(arrival.key);
            }
        }
        if rng.random_ratio(rates.1, 100) {
            // Not one that is claimed for an arrival or gets its key just now. Now and then only the key goes, and the slot
            // later.
            let mut slots: Vec<u64> = bench.owners.keys().copied().collect();
            slots.retain(|slot| arrivals.iter().all(|a| a.slot != Some(*slot)));
            slots.retain(|slot| next.insert.is_none_or(|(_, taken)| taken != *slot));
            slots.sort_unstable();
            if let Some(slot) = slots.choose(rng).copied() {
                let key = bench.owners[&slot];
                next.remove = key.map(|_| slot);
                next.give_back = (key.is_none() || rng.random_ratio(4, 5)).then_some(slot);
                recent.extend(key);
            }
        }
        recent.drain(..recent.len().saturating_sub(6));
        let near = rng.random_ratio(1, 2) && !recent.is_empty();
        let near = near.then(|| recent[rng.random_range(0..recent.len())]);
        let lookup = near.unwrap_or_else(|| *pool.choose(rng).expect("the pool is not empty"));
        next.lookup = Some(if rng.random_ratio(1, 10) { lookup.near(rng) } else { lookup });
        bench.step(next);
    }
    (entered, refused)
}

fn random(name: &str, slots: usize) {
    run_with_wave_on_failure(name, |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, slots);
        for round in 0..40 {
            let kind = round % 4;
            let pool = match kind {
                0 => (0..3 * slots).map(|_| Key::random(&mut rng)).collect(),
                1 => Key::colliding(&mut rng, slots, 12),
                2 => Key::colliding(&mut rng, slots, 24),
                _ => (0..4).flat_map(|_| Key::colliding(&mut rng, slots, 9)).collect::<Vec<_>>(),
            };
            let rates = *[(100, 100), (100, 20), (30, 100), (100, 5), (60, 50)].choose(&mut rng).expect("not empty");
            let (entered, _) = traffic(&mut bench, &mut rng, &pool, rates, 1500);
            assert!(entered > 3, "round {round}: {entered} keys");
            if round % 10 == 9 {
                bench.reset();
            }
        }
        assert!(bench.hits > 5_000, "{}", bench.hits);
        // All leave; nothing is found any more, and every slot comes back.
        for (slot, key) in bench.owners.clone() {
            bench.step(Cycle { remove: key.map(|_| slot), give_back: Some(slot), ..Default::default() });
        }
        bench.idle(2);
        for _ in 0..slots {
            bench.offer().expect("every slot is free");
            bench.step(Cycle { claim: true, lookup: Some(Key::random(&mut rng)), ..Default::default() });
            bench.answer();
        }
        assert_eq!(bench.offer(), None);
    });
}

#[test]
fn random_traffic_small() {
    random("message_index_random_16", 16);
}

#[test]
fn random_traffic_large() {
    random("message_index_random_256", 256);
}

/// Keys of one row: its places, then the stash down to six free places; a key of another row is let in all the same. One
/// that leaves makes room for one.
#[test]
fn full_row() {
    run_with_wave_on_failure("message_index_full_row", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, 256);
        let keys = Key::colliding(&mut rng, 256, 12);
        let other = loop {
            let key = Key::random(&mut rng);
            if key.row(256) != keys[0].row(256) {
                break key;
            }
        };
        let mut slots = vec![];
        let most = WAYS + 3;
        for (n, key) in keys.iter().take(most).enumerate() {
            assert_eq!(bench.look(*key), (false, true), "key {n}");
            slots.push(bench.enter(*key));
        }
        assert_eq!(bench.look(keys[most]), (false, false));
        assert_eq!(bench.look(other), (false, true));
        bench.leave(slots[1]);
        assert_eq!(bench.look(keys[most]), (false, true));
        bench.enter(keys[most]);
        assert_eq!(bench.look(keys[1]), (false, false));
        for (n, key) in keys.iter().take(most + 1).enumerate() {
            assert_eq!(bench.look(*key).0, n != 1);
        }
    });
}

/// All slots with keys as senders count them: the stash always has room.
#[test]
fn every_slot_in_use() {
    run_with_wave_on_failure("message_index_every_slot", |wave| {
        let mut bench = Bench::new(wave, 256);
        for nodes in [1, 4, 16, 256] {
            let keys: Vec<Key> = (0..256).map(|n| Key(3, 0x0a00_0001 + n % nodes, 7, 1000 + n / nodes)).collect();
            let mut slots = vec![];
            for key in &keys {
                let slot = bench.offer().expect("a slot is free");
                slots.push(slot);
                bench.step(Cycle { lookup: Some(*key), claim: true, insert: Some((*key, slot)), ..Default::default() });
                bench.answer();
            }
            bench.idle(20);
            for key in &keys {
                bench.step(Cycle { lookup: Some(*key), ..Default::default() });
                bench.answer();
            }
            bench.idle(2);
            assert_eq!(bench.offer(), None);
            let stranger = Key(3, 1, 1, 1);
            assert_eq!(bench.look(stranger), (false, true), "{nodes} nodes");
            for slot in slots {
                bench.step(Cycle { remove: Some(slot), give_back: Some(slot), ..Default::default() });
            }
        }
    });
}
