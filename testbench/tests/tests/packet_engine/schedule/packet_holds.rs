//! Packet holds against a set of packets: each returns its cells once, when nothing needs it any more, and contexts that keep too
//! many cells are full.

use packet_engine::schedule::packet_holds::PacketHolds;
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::COMMAND_HANDLES;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_verilog::prelude::bits;
use std::collections::{HashMap, VecDeque};

/// Puts of a packet at most: all handles of each of two handlers.
const MOST_PUTS: usize = 2 * COMMAND_HANDLES;
/// Cycles from a change of the cells that are kept to `full` at most, with ends that wait while no packet is taken back.
const SCAN: u64 = 120;

/// A packet in the buffer.
#[derive(Clone, Debug, Default)]
struct Packet {
    context: usize,
    cells: usize,
    puts: usize,
    /// Claims that are on offer.
    offered: usize,
    /// The scheduler has offered it, and it was taken.
    freeing: bool,
    freed: bool,
}

struct Bench {
    dut: Dut<PacketHolds>,
    rng: ChaCha8Rng,
    cells: usize,
    cycle: u64,
    packets: HashMap<u16, Packet>,
    claim: Option<u16>,
    ends: VecDeque<u16>,
    freed: Option<u16>,
    kept: [usize; 16],
    /// When `kept` changed last.
    changed: u64,
    returned: usize,
    held: usize,
    full_seen: usize,
    most_puts: usize,
}

impl Bench {
    fn new(wave: &WaveContext, cells: usize) -> Self {
        let dut = Dut::new(wave, PacketHolds::new(cells), "packet_holds");
        Bench {
            dut,
            rng: wave.rng(),
            cells,
            cycle: 0,
            packets: HashMap::new(),
            claim: None,
            ends: VecDeque::new(),
            freed: None,
            kept: [0; 16],
            changed: 0,
            returned: 0,
            held: 0,
            full_seen: 0,
            most_puts: 0,
        }
    }

    /// Some packet of which this holds.
    fn some(&mut self, which: impl Fn(&Packet) -> bool) -> Option<u16> {
        let mut all: Vec<u16> = self.packets.iter().filter(|(_, packet)| which(packet)).map(|(pkt, _)| *pkt).collect();
        all.sort_unstable();
        all.choose(&mut self.rng).copied()
    }

    fn step(&mut self, arrives: f64, claims: f64, frees: f64, ends: f64, ready: f64) {
        let dut = &self.dut;
        // A packet arrives in cells that are free.
        let room = self.cells - self.packets.values().map(|packet| packet.cells).sum::<usize>();
        let pkt = self.rng.random_range(0..self.cells as u16);
        let cells = self.rng.random_range(1..=18);
        let stores = self.rng.random_bool(arrives) && cells <= room && !self.packets.contains_key(&pkt);
        let context = self.rng.random_range(0..16) & self.rng.random_range(0..16);
        dut.store.set(stores);
        dut.store_pkt.set(pkt);
        dut.store_share.set_bytes(&[context as u8 | (cells as u8) << 4, (cells >> 4) as u8]);
        if self.claim.is_none() && self.rng.random_bool(claims) {
            let full = self.dut.full.number();
            let may = |packet: &Packet| full >> packet.context & 1 == 0 && packet.puts + packet.offered < MOST_PUTS;
            let free = self.some(|packet| may(packet) && !packet.freeing && !packet.freed);
            self.claim = free;
            if let Some(pkt) = free {
                self.packets.get_mut(&pkt).expect("it is there").offered += 1;
            }
        }
        if self.freed.is_none() && self.rng.random_bool(frees) {
            // The handlers are over when their claims are taken.
            self.freed = self.some(|packet| packet.offered == 0 && !packet.freeing && !packet.freed);
            if let Some(pkt) = self.freed {
                self.packets.get_mut(&pkt).expect("it is there").freeing = true;
            }
        }
        let over = if self.rng.random_bool(ends) { self.some(|packet| packet.puts > 0) } else { None };
        let ready = self.rng.random_bool(ready);
        let dut = &self.dut;
        dut.claim.offer(self.claim.map(bits::<10>));
        dut.freed.offer(self.freed.map(bits::<10>));
        dut.ended.valid.set(over.is_some());
        dut.ended.set(over.unwrap_or_default());
        dut.free.ready.set(ready);
        dut.eval();
        let all: usize = self.kept.iter().sum();
        if self.cycle > self.changed + SCAN {
            let wanted = (0..16).filter(|c| self.kept[*c] + all >= self.cells / 4 * 3).map(|c| 1 << c).sum::<u64>();
            assert_eq!(dut.full.number(), wanted, "kept {:?}", self.kept);
            self.full_seen += usize::from(wanted != 0);
        }
        if dut.free.valid.is_high() && ready {
            let pkt = dut.free.number() as u16;
            let packet = self.packets.remove(&pkt).unwrap_or_else(|| panic!("packet {pkt} returns again"));
            assert!(packet.freed && packet.puts == 0, "packet {pkt} returns too early: {packet:?}");
            self.returned += 1;
        }
        if dut.claim.moves() {
            let packet = self.packets.get_mut(&self.claim.take().expect("on offer")).expect("it is there");
            packet.offered -= 1;
            packet.puts += 1;
            self.most_puts = self.most_puts.max(packet.puts);
            if packet.puts == 1 {
                self.kept[packet.context] += packet.cells;
                self.changed = self.cycle;
            }
        }
        if dut.freed.moves() {
            let packet = self.packets.get_mut(&self.freed.take().expect("on offer")).expect("it is there");
            self.held += usize::from(packet.puts > 0);
            packet.freed = true;
        }
        if let Some(pkt) = over {
            self.ends.push_back(pkt);
            let packet = self.packets.get_mut(&pkt).expect("it is there");
            packet.puts -= 1;
            if packet.puts == 0 {
                self.kept[packet.context] -= packet.cells;
                self.changed = self.cycle;
            }
        }
        if stores {
            self.packets.insert(pkt, Packet { context, cells, ..Packet::default() });
        }
        self.dut.tick();
        self.cycle += 1;
    }
}

#[test]
fn cells_return_once() {
    for cells in [64, 256, 1024] {
        run_with_wave_on_failure(&format!("packet_holds_{cells}"), |wave| {
            let mut bench = Bench::new(wave, cells);
            while bench.returned < 3000 {
                // Now and then no put is over for a while, until contexts are full; then nothing changes for a while.
                let ends = if bench.cycle % 3000 < 1500 { 0.0 } else { 0.4 };
                let quiet = (1250..1500).contains(&(bench.cycle % 3000));
                let [arrives, claims, frees] = if quiet { [0.0; 3] } else { [0.4, 0.3, 0.3] };
                let ready = if bench.cycle % 700 < 200 { 0.2 } else { 0.95 };
                bench.step(arrives, claims, frees, if quiet { 0.0 } else { ends }, ready);
                assert!(bench.cycle < 200_000, "{} packets have returned", bench.returned);
            }
            assert!(bench.held > 150 && bench.full_seen > 20, "{} held, {} full", bench.held, bench.full_seen);
            assert!(bench.most_puts > 4, "{}", bench.most_puts);
            // All that is under way ends.
            for _ in 0..cells * 20 {
                bench.step(0.0, 0.0, 0.9, 0.9, 1.0);
            }
            assert!(bench.packets.is_empty() && bench.kept == [0; 16], "{:?}", bench.packets);
            assert_eq!(bench.dut.full.number(), 0);
        });
    }
}

#[test]
fn cycles() {
    run_with_wave_on_failure("packet_holds_cycles", |wave| {
        let dut = Dut::new(wave, PacketHolds::new(64), "packet_holds");
        dut.free.ready.set(true);
        // Packets pass from the first cycle on, one per cycle, while the states are cleared; a claim waits.
        dut.claim.offer(Some(bits(9)));
        let mut free = vec![];
        let mut claimed = None;
        for cycle in 0..100u64 {
            dut.freed.offer((cycle < 60 && cycle != 9).then(|| bits(cycle)));
            dut.eval();
            if dut.free.valid.is_high() {
                free.push((cycle, dut.free.number()));
            }
            if dut.claim.moves() {
                claimed.get_or_insert(cycle);
            }
            dut.tick();
            if claimed.is_some() {
                dut.claim.valid.set(false);
            }
        }
        assert_eq!(free, (0..60).filter(|pkt| *pkt != 9).map(|pkt| (pkt + 1, pkt)).collect::<Vec<_>>());
        assert_eq!(claimed, Some(64), "after a cycle for each cell");
        // Of one packet: freed in the cycle after a claim waits a cycle; then the cells stay until the put is over.
        dut.freed.offer(Some(bits(9)));
        dut.tick();
        dut.freed.valid.set(false);
        for _ in 0..10 {
            dut.eval();
            assert!(!dut.free.valid.is_high());
            dut.tick();
        }
        dut.ended.valid.set(true);
        dut.ended.set(9u64);
        dut.tick();
        dut.ended.valid.set(false);
        dut.tick();
        dut.eval();
        assert!(dut.free.valid.is_high() && dut.free.number() == 9, "two cycles after the end");
    });
}
