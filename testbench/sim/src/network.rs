//! Several simulated NICs on one wire that loses, doubles, corrupts, delays and reorders frames.
//!
//! All NICs count the same cycles. A register access takes time on its own NIC only; the others catch up before it returns,
//! so a program that drives one of them sees all of them go on. Everything is deterministic: the same designs, accesses and
//! seed give the same cycles.

use crate::{SimDevice, SimHandle, WireFrame};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::{Bar, HostMemory, Node, Result};
use spindle_contract::params::BEAT_BYTES;
use spindle_contract::wire::{ECN_MARKED, ETHERTYPE_IPV4, ETH_BYTES, HEADER_BYTES};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// How frames choose among the paths of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// All on the shortest: they arrive in the order in which they left.
    Ordered,
    /// Each on any: they overtake each other.
    Adaptive,
}

/// The output of a switch before each NIC: a beat leaves in a cycle, and the frames after it wait.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Bytes that wait at most; a frame that does not fit is dropped.
    pub bytes: u64,
    /// Bytes that wait from which on frames that are ECN-capable are marked.
    pub mark: u64,
}

/// What the wire does to frames.
#[derive(Clone, Copy, Debug)]
pub struct WireOptions {
    /// Share of the frames that are lost, 0 to 1.
    pub loss: f64,
    /// Share of the frames that arrive twice.
    pub duplication: f64,
    /// Share of the frames of which one byte arrives changed.
    pub corruption: f64,
    /// How a path is chosen.
    pub routing: Routing,
    /// Paths, at least one.
    pub paths: u64,
    /// Cycles from the last beat sent to the first received, on the shortest path.
    pub latency: u64,
    /// Cycles by which each path is longer than the one before it.
    pub step: u64,
    /// The output before each NIC; without one frames wait at the NIC, as many as there are.
    pub queue: Option<Queue>,
    /// Seed of all that is random.
    pub seed: u64,
}

impl Default for WireOptions {
    /// A faithful wire of 250 cycles: 1 µs at 250 MHz.
    fn default() -> Self {
        WireOptions {
            loss: 0.0,
            duplication: 0.0,
            corruption: 0.0,
            routing: Routing::Ordered,
            paths: 1,
            latency: 250,
            step: 100,
            queue: None,
            seed: 1,
        }
    }
}

/// What became of the frames that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireCounts {
    /// Sent by the NICs.
    pub sent: u64,
    /// Lost.
    pub lost: u64,
    /// Arrived a second time.
    pub doubled: u64,
    /// Arrived with a byte changed; of a frame that arrives twice, each time for itself.
    pub corrupted: u64,
    /// Dropped before a NIC, since the output was full.
    pub dropped: u64,
    /// Marked there.
    pub marked: u64,
    /// To an address that no NIC has.
    pub astray: u64,
    /// Handed to the NICs, doubles included.
    pub delivered: u64,
}

struct Wire {
    options: WireOptions,
    random: ChaCha8Rng,
    /// Frames under way, by cycle of arrival and a number of their own: receiver, bytes.
    flying: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    /// Cycle from which on the output before each NIC is free.
    free: BTreeMap<usize, u64>,
    counts: WireCounts,
}

impl Wire {
    /// A frame leaves, its last beat in this cycle.
    fn send(&mut self, bytes: Vec<u8>, cycle: u64, numbers: &[usize]) {
        self.counts.sent += 1;
        let own = |number: &usize| *number <= u8::MAX.into() && bytes.starts_with(&address(*number).mac);
        let Some(to) = numbers.iter().position(own) else {
            self.counts.astray += 1;
            return;
        };
        if self.random.random_bool(self.options.loss) {
            self.counts.lost += 1;
            return;
        }
        if self.random.random_bool(self.options.duplication) {
            self.counts.doubled += 1;
            self.fly(to, bytes.clone(), cycle);
        }
        self.fly(to, bytes, cycle);
    }

    fn fly(&mut self, to: usize, mut bytes: Vec<u8>, cycle: u64) {
        if self.options.corruption > 0.0 && self.random.random_bool(self.options.corruption) {
            let at = self.random.random_range(0..bytes.len());
            bytes[at] ^= self.random.random_range(1..=u8::MAX);
            self.counts.corrupted += 1;
        }
        let path = match self.options.routing {
            Routing::Ordered => 0,
            Routing::Adaptive => self.random.random_range(0..self.options.paths),
        };
        let mut due = cycle + self.options.latency + path * self.options.step;
        if let Some(queue) = self.options.queue {
            let free = self.free.entry(to).or_default();
            let (waiting, length) = (free.saturating_sub(due) * BEAT_BYTES as u64, bytes.len());
            if waiting + length as u64 > queue.bytes {
                self.counts.dropped += 1;
                return;
            }
            if waiting >= queue.mark && mark(&mut bytes) {
                self.counts.marked += 1;
            }
            due = due.max(*free);
            *free = due + length.div_ceil(BEAT_BYTES) as u64;
        }
        self.counts.delivered += 1;
        self.flying.insert((due, self.counts.delivered), (to, bytes));
    }
}

/// Marks a frame without VLAN tag, if its sender obeys marks, and mends the checksum of its IPv4 header.
fn mark(bytes: &mut [u8]) -> bool {
    if bytes.len() < HEADER_BYTES || bytes[12..14] != ETHERTYPE_IPV4.to_be_bytes() {
        return false;
    }
    let header = &mut bytes[ETH_BYTES..];
    if !matches!(header[1] & 3, 1 | 2) {
        return false;
    }
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] |= ECN_MARKED;
    let after = u16::from_be_bytes([header[0], header[1]]);
    // RFC 1624: the complement of the sum of the old complement, the complement of the old word, and the new word.
    let sum = u32::from(!u16::from_be_bytes([header[10], header[11]])) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let folded = (folded & 0xFFFF) + (folded >> 16);
    header[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    true
}

/// Addresses of a NIC on the wire; number 0 is the first. Their node numbers are the same.
pub fn address(number: usize) -> Node {
    Node::numbered(number as u8)
}

struct Cards {
    cards: Vec<SimHandle>,
    /// Their numbers: the wire delivers to the MAC address of the number.
    numbers: Vec<usize>,
    /// Cycle of the network in which each NIC counts its cycle 0.
    starts: Vec<u64>,
    wire: Wire,
    /// Frames that each NIC got, in their order, if they are kept.
    received: Option<Vec<Vec<Vec<u8>>>>,
    /// An access moves its own NIC on, and not the others.
    apart: bool,
}

impl Cards {
    /// The cycle of the network to which a NIC has come.
    fn time(&self, i: usize) -> u64 {
        self.starts[i] + self.cards[i].sim().cycle()
    }

    /// The cycle to which the first of all NICs has come.
    fn now(&self) -> u64 {
        (0..self.cards.len()).map(|i| self.time(i)).max().unwrap_or(0)
    }

    /// Moves every NIC on to this cycle.
    fn catch_up(&mut self, cycle: u64) {
        loop {
            // The one with the smallest time goes on, so that no frame arrives in a past that is over.
            let after = (0..self.cards.len()).min_by_key(|i| self.time(*i));
            let Some(i) = after.filter(|i| self.time(*i) < cycle) else { return };
            self.step(i);
        }
    }

    fn step(&mut self, i: usize) {
        let now = self.time(i);
        while let Some(entry) = self.wire.flying.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let (to, bytes) = entry.remove();
            if let Some(received) = &mut self.received {
                received[to].push(bytes.clone());
            }
            self.cards[to].sim().inject(WireFrame { bytes, gap: 0, bad: false });
        }
        self.cards[i].sim().step();
        self.collect(i);
    }

    /// Takes what a NIC has sent.
    fn collect(&mut self, i: usize) {
        if self.cards[i].sim().sent_count() > 0 {
            let sent = self.cards[i].sim().take_sent();
            for frame in sent {
                self.wire.send(frame.bytes, self.starts[i] + frame.last, &self.numbers);
            }
        }
    }
}

/// NICs on a wire.
#[derive(Clone)]
pub struct Network(Arc<Mutex<Cards>>);

/// A network that ends when its last NIC is dropped.
pub(crate) struct WeakNetwork(Weak<Mutex<Cards>>);

impl WeakNetwork {
    /// The network, if it still lives.
    pub fn upgrade(&self) -> Option<Network> {
        self.0.upgrade().map(Network)
    }
}

impl Network {
    /// Joins NICs after reset; their numbers are their places in the list.
    pub fn new(cards: Vec<SimDevice>, options: WireOptions) -> Self {
        let random = ChaCha8Rng::seed_from_u64(options.seed);
        let wire =
            Wire { options, random, flying: BTreeMap::new(), free: BTreeMap::new(), counts: WireCounts::default() };
        let cards: Vec<_> = cards.into_iter().map(SimHandle::new).collect();
        let (numbers, starts) = ((0..cards.len()).collect(), vec![0; cards.len()]);
        Network(Arc::new(Mutex::new(Cards { cards, numbers, starts, wire, received: None, apart: false })))
    }

    /// Adds a NIC after reset, whose cycle 0 is the present cycle of the others; its number is the next one.
    pub fn join(&self, card: SimDevice) -> NetworkNode {
        let number = self.nodes();
        self.join_as(card, number)
    }

    /// As [`Network::join`], with a number of the caller's. A NIC that had the number before gets no frames any more.
    pub fn join_as(&self, card: SimDevice, number: usize) -> NetworkNode {
        let mut cards = self.lock();
        for known in cards.numbers.iter_mut().filter(|known| **known == number) {
            *known = usize::MAX;
        }
        cards.numbers.push(number);
        let start = cards.now();
        cards.starts.push(start);
        cards.cards.push(SimHandle::new(card));
        if let Some(received) = &mut cards.received {
            received.push(vec![]);
        }
        let place = cards.cards.len() - 1;
        drop(cards);
        self.node(place)
    }

    /// A handle that does not keep the network alive.
    pub(crate) fn downgrade(&self) -> WeakNetwork {
        WeakNetwork(Arc::downgrade(&self.0))
    }

    fn lock(&self) -> MutexGuard<'_, Cards> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The NIC at this place in the order of joining, for its driver.
    pub fn node(&self, place: usize) -> NetworkNode {
        NetworkNode { card: self.lock().cards[place].clone(), place, network: self.clone(), posting: None }
    }

    /// How many NICs there are.
    pub fn nodes(&self) -> usize {
        self.lock().cards.len()
    }

    /// Changes what the wire does to frames that leave from now on.
    pub fn set_wire(&self, change: impl FnOnce(&mut WireOptions)) {
        change(&mut self.lock().wire.options);
    }

    /// What became of the frames so far.
    pub fn counts(&self) -> WireCounts {
        self.lock().wire.counts
    }

    /// Keeps the frames that NICs get from now on.
    pub fn keep_received(&self) {
        let mut cards = self.lock();
        cards.received = Some(vec![vec![]; cards.cards.len()]);
    }

    /// The frames that a NIC got since they were last taken, in their order.
    pub fn take_received(&self, number: usize) -> Vec<Vec<u8>> {
        self.lock().received.as_mut().map(|frames| std::mem::take(&mut frames[number])).unwrap_or_default()
    }

    /// Whether an access to a register moves its own NIC on alone, as is right while NICs are set up and no frame is under way: sixteen
    /// then take the time of one. The others catch up when this ends, and with [`Network::run`].
    pub fn set_apart(&self, apart: bool) {
        let mut cards = self.lock();
        cards.apart = apart;
        if !apart {
            let now = cards.now();
            cards.catch_up(now);
        }
    }

    /// Moves all NICs on by so many cycles.
    pub fn run(&self, cycles: u64) {
        let mut cards = self.lock();
        let end = cards.now() + cycles;
        cards.catch_up(end);
    }
}

/// A NIC on a wire, as a backend of the driver. Clones are the same NIC.
#[derive(Clone)]
pub struct NetworkNode {
    card: SimHandle,
    place: usize,
    network: Network,
    /// Cycles that register writes are under way while no caller waits for them.
    posting: Option<u64>,
}

impl NetworkNode {
    /// Its number on the wire.
    pub fn number(&self) -> usize {
        self.network.lock().numbers[self.place]
    }

    /// The NIC itself. Frames that are injected here come from nowhere on the wire.
    pub fn card(&self) -> &SimHandle {
        &self.card
    }

    /// The wire.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// From now on register writes of this handle are posted: they take no time, and reach the card after so many cycles
    /// ([`SimDevice::post_write32`]). `None`: the caller waits for each, as at first.
    pub fn post_writes(&mut self, delay: Option<u64>) {
        self.posting = delay;
    }

    /// An access, after which the others go on as far as this one has come. No other thread moves a NIC meanwhile.
    fn access<T>(&mut self, access: impl FnOnce(&mut SimHandle) -> T) -> T {
        let mut cards = self.network.lock();
        let result = access(&mut self.card);
        let now = cards.time(self.place);
        cards.collect(self.place);
        if !cards.apart {
            cards.catch_up(now);
        }
        result
    }
}

impl Bar for NetworkNode {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.access(|card| card.read32(address))
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        match self.posting {
            Some(delay) => self.card.post_write32(address, value, delay),
            None => self.access(|card| card.write32(address, value)),
        }
    }
}

impl HostMemory for NetworkNode {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        self.card.alloc(bytes, align)
    }

    fn free(&mut self, address: u64) -> Result<()> {
        self.card.free(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.card.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.card.write(address, bytes)
    }
}
