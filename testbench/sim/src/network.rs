//! Several simulated NICs on one wire that loses, doubles, delays and reorders frames.
//!
//! All NICs count the same cycles. A register access takes time on its own NIC only; the others catch up before it returns,
//! so a program that drives one of them sees all of them go on. Everything is deterministic: the same designs, accesses and
//! seed give the same cycles.

use crate::{SimDevice, SimHandle, WireFrame};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::{Bar, HostMemory, Node, Result};
use spindle_contract::params::SPINDLE_PORT;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How frames choose among the paths of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// All on the shortest: they arrive in the order in which they left.
    Ordered,
    /// Each on any: they overtake each other.
    Adaptive,
}

/// What the wire does to frames.
#[derive(Clone, Copy, Debug)]
pub struct WireOptions {
    /// Share of the frames that are lost, 0 to 1.
    pub loss: f64,
    /// Share of the frames that arrive twice.
    pub duplication: f64,
    /// How a path is chosen.
    pub routing: Routing,
    /// Paths, at least one.
    pub paths: u64,
    /// Cycles from the last beat sent to the first received, on the shortest path.
    pub latency: u64,
    /// Cycles by which each path is longer than the one before it.
    pub step: u64,
    /// Seed of all that is random.
    pub seed: u64,
}

impl Default for WireOptions {
    /// A faithful wire of 250 cycles: 1 µs at 250 MHz.
    fn default() -> Self {
        WireOptions {
            loss: 0.0,
            duplication: 0.0,
            routing: Routing::Ordered,
            paths: 1,
            latency: 250,
            step: 100,
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
    counts: WireCounts,
}

impl Wire {
    /// A frame leaves, its last beat in this cycle.
    fn send(&mut self, bytes: Vec<u8>, cycle: u64, nodes: usize) {
        self.counts.sent += 1;
        let Some(to) = (0..nodes).find(|node| bytes.starts_with(&address(*node).mac)) else {
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

    fn fly(&mut self, to: usize, bytes: Vec<u8>, cycle: u64) {
        let path = match self.options.routing {
            Routing::Ordered => 0,
            Routing::Adaptive => self.random.random_range(0..self.options.paths),
        };
        self.counts.delivered += 1;
        let due = cycle + self.options.latency + path * self.options.step;
        self.flying.insert((due, self.counts.delivered), (to, bytes));
    }
}

/// Addresses of a NIC on the wire; number 0 is the first. Their node numbers are the same.
pub fn address(number: usize) -> Node {
    Node { mac: [2, 0, 0, 0, 1, number as u8], ip: [10, 78, 0, number as u8], port: SPINDLE_PORT }
}

struct Cards {
    cards: Vec<SimHandle>,
    wire: Wire,
    /// Frames that each NIC got, in their order, if they are kept.
    received: Option<Vec<Vec<Vec<u8>>>>,
}

impl Cards {
    /// Moves every NIC on to this cycle.
    fn catch_up(&mut self, cycle: u64) {
        loop {
            // The one with the smallest time goes on, so that no frame arrives in a past that is over.
            let after = (0..self.cards.len()).min_by_key(|i| self.cards[*i].sim().cycle());
            let Some(i) = after.filter(|i| self.cards[*i].sim().cycle() < cycle) else { return };
            self.step(i);
        }
    }

    fn step(&mut self, i: usize) {
        let now = self.cards[i].sim().cycle();
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
                self.wire.send(frame.bytes, frame.last, self.cards.len());
            }
        }
    }
}

/// NICs on a wire.
#[derive(Clone)]
pub struct Network(Rc<RefCell<Cards>>);

impl Network {
    /// Joins NICs after reset; their numbers are their places in the list.
    pub fn new(cards: Vec<SimDevice>, options: WireOptions) -> Self {
        let random = ChaCha8Rng::seed_from_u64(options.seed);
        let wire = Wire { options, random, flying: BTreeMap::new(), counts: WireCounts::default() };
        let cards = cards.into_iter().map(SimHandle::new).collect();
        Network(Rc::new(RefCell::new(Cards { cards, wire, received: None })))
    }

    /// The NIC of this number, for its driver.
    pub fn node(&self, number: usize) -> NetworkNode {
        NetworkNode { card: self.0.borrow().cards[number].clone(), number, network: self.clone() }
    }

    /// How many NICs there are.
    pub fn nodes(&self) -> usize {
        self.0.borrow().cards.len()
    }

    /// Changes what the wire does to frames that leave from now on.
    pub fn set_wire(&self, change: impl FnOnce(&mut WireOptions)) {
        change(&mut self.0.borrow_mut().wire.options);
    }

    /// What became of the frames so far.
    pub fn counts(&self) -> WireCounts {
        self.0.borrow().wire.counts
    }

    /// Keeps the frames that NICs get from now on.
    pub fn keep_received(&self) {
        let nodes = self.nodes();
        self.0.borrow_mut().received = Some(vec![vec![]; nodes]);
    }

    /// The frames that a NIC got since they were last taken, in their order.
    pub fn take_received(&self, number: usize) -> Vec<Vec<u8>> {
        self.0.borrow_mut().received.as_mut().map(|frames| std::mem::take(&mut frames[number])).unwrap_or_default()
    }

    /// Moves all NICs on by so many cycles.
    pub fn run(&self, cycles: u64) {
        let mut cards = self.0.borrow_mut();
        let now = cards.cards.iter().map(|card| card.sim().cycle()).max().unwrap_or(0);
        cards.catch_up(now + cycles);
    }
}

/// A NIC on a wire, as a backend of the driver. Clones are the same NIC.
#[derive(Clone)]
pub struct NetworkNode {
    card: SimHandle,
    number: usize,
    network: Network,
}

impl NetworkNode {
    /// Its number on the wire.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The NIC itself. Frames that are injected here come from nowhere on the wire.
    pub fn card(&self) -> &SimHandle {
        &self.card
    }

    /// The wire.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The others go on as far as this one has come by an access.
    fn others(&self) {
        let now = self.card.sim().cycle();
        let mut cards = self.network.0.borrow_mut();
        cards.collect(self.number);
        cards.catch_up(now);
    }
}

impl Bar for NetworkNode {
    fn read32(&mut self, address: u32) -> Result<u32> {
        let value = self.card.read32(address);
        self.others();
        value
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        let done = self.card.write32(address, value);
        self.others();
        done
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
