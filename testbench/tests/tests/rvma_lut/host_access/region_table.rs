//! The table of regions alone: random regions and queries, in which every bit of an address and of a right counts.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::host_access::regions::{Region, RegionQuery, Regions};
use spindle_contract::params::REGIONS;
use spindle_harness::{run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;

const PROCESSES: usize = 16;
const PAGE_BYTES: u64 = 4096;
/// Cycles from a query to its answer: the region of the last answer, and each further one.
const FIRST: u64 = 6;

/// The table with its model, in which a page number has 52 bits.
struct Table {
    dut: Dut<Regions>,
    regions: Vec<[Region; REGIONS]>,
    unchecked: u64,
    /// Region at which a search begins.
    start: usize,
}

/// Memory that a query names.
#[derive(Clone, Copy, Debug)]
struct Query {
    pid: usize,
    write: bool,
    address: u64,
    length: u32,
    record: Option<u64>,
}

impl Table {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, Regions::new(PROCESSES), "regions");
        dut.query.valid.set(false);
        dut.region_write.set(false);
        dut.reset();
        Table { dut, regions: vec![[Region::default(); REGIONS]; PROCESSES], unchecked: 0, start: 0 }
    }

    fn set(&mut self, pid: usize, number: usize, region: Region) {
        self.regions[pid][number] = region;
        self.dut.region.set(region);
        self.dut.region_at.set(bits((pid * REGIONS + number) as u64));
        self.dut.region_write.set(true);
        self.dut.tick();
        self.dut.region_write.set(false);
    }

    /// Asks, and compares answer and cycles with the model's.
    fn ask(&mut self, query: Query) -> bool {
        let Query { pid, write, address, length, record } = query;
        self.dut.unchecked.set(bits(self.unchecked));
        self.dut.query.payload.set(RegionQuery {
            pid: bits(pid as u64),
            write,
            address: bits(address),
            length: bits(u64::from(length)),
            has_record: record.is_some(),
            record: bits(record.unwrap_or_default() / 16),
        });
        self.dut.query.valid.set(true);
        let begin = self.dut.cycle();
        loop {
            self.dut.eval();
            if self.dut.query.done.is_high() {
                break;
            }
            assert!(self.dut.cycle() - begin < 30, "{query:x?} is not answered");
            self.dut.tick();
        }
        let found = (self.dut.query.ok.is_high(), self.dut.cycle() - begin);
        self.dut.tick();
        self.dut.query.valid.set(false);
        self.dut.tick();
        let expected = self.expected(query);
        assert_eq!(found, expected, "{query:x?} of {:x?}", self.regions[pid]);
        found.0
    }

    /// The answer, and the cycles until then.
    fn expected(&mut self, query: Query) -> (bool, u64) {
        if self.unchecked >> query.pid & 1 != 0 {
            return (true, 0);
        }
        let holds = |region: &Region, write: bool, address: u64, length: u32| {
            let Some(end) = address.checked_add(u64::from(length) - 1) else { return false };
            let right = if write { region.writable } else { region.readable };
            right && region.first.to_u64() <= address / PAGE_BYTES && end / PAGE_BYTES <= region.last.to_u64()
        };
        let (mut bytes, mut record, mut hit) = (false, query.record.is_none(), None);
        for step in 0..REGIONS {
            let number = (self.start + step) % REGIONS;
            let region = &self.regions[query.pid][number];
            let now = holds(region, query.write, query.address, query.length);
            let record_now = query.record.is_some_and(|at| holds(region, true, at, 16));
            if now || record_now {
                hit = hit.or(Some(number));
            }
            (bytes, record) = (bytes | now, record | record_now);
            if bytes && record {
                self.start = hit.unwrap();
                return (true, FIRST - 1 + step as u64);
            }
        }
        (false, FIRST - 2 + REGIONS as u64)
    }
}

/// A page that differs from `page` in nothing, by one, or in one bit.
fn beside(rng: &mut ChaCha8Rng, page: u64) -> u64 {
    let page = match rng.random_range(0..4) {
        0 => page.wrapping_add(1),
        1 => page.wrapping_sub(1),
        2 => page ^ 1u64 << rng.random_range(0..52),
        _ => page,
    };
    page % (1 << 52)
}

fn region(rng: &mut ChaCha8Rng, place: u64) -> Region {
    let first = beside(rng, place);
    let last = if rng.random() { beside(rng, place) } else { (first + rng.random_range(0..1 << 20)) % (1 << 52) };
    Region { readable: rng.random(), writable: rng.random(), first: bits(first), last: bits(last) }
}

#[test]
fn every_bit_counts() {
    run_with_wave_on_failure("region_table_every_bit_counts", |wave| {
        let mut rng = wave.rng();
        let mut table = Table::new(wave);
        for _ in 0..PROCESSES * REGIONS + 2 {
            table.dut.tick();
        }
        let mut counts = [0; 2];
        for _ in 0..60 {
            let places: [u64; 3] = std::array::from_fn(|_| rng.random_range(0..1u64 << 52));
            for pid in 0..PROCESSES {
                for number in 0..REGIONS {
                    let place = *places.choose(&mut rng).unwrap();
                    let region = region(&mut rng, place);
                    table.set(pid, number, region);
                }
            }
            table.unchecked = if rng.random_range(0..4) == 0 { rng.random() } else { 0 };
            for _ in 0..share(200) {
                let pid = rng.random_range(0..PROCESSES);
                // Half of the queries begin or end where a region of the process does.
                let page = |rng: &mut ChaCha8Rng, regions: &[Region; REGIONS]| {
                    let region = regions.choose(rng).unwrap();
                    let page = match rng.random_range(0..4) {
                        0 => region.first.to_u64(),
                        1 => region.last.to_u64(),
                        2 => places[rng.random_range(0..places.len())],
                        _ => region.first.to_u64() + region.last.to_u64().saturating_sub(region.first.to_u64()) / 2,
                    };
                    beside(rng, page)
                };
                let regions = table.regions[pid];
                let address = page(&mut rng, &regions) * PAGE_BYTES + rng.random_range(0..PAGE_BYTES);
                let length = match rng.random_range(0..3) {
                    // Up to the end of a page, or one byte more.
                    0 => (PAGE_BYTES - address % PAGE_BYTES) as u32 + rng.random_range(0..2),
                    1 => rng.random_range(1..=64),
                    _ => rng.random_range(1..=u32::MAX) >> rng.random_range(0..32) | 1,
                };
                let record = page(&mut rng, &regions) * PAGE_BYTES + rng.random_range(0..PAGE_BYTES / 16) * 16;
                let record = rng.random_range(0..3).eq(&0).then_some(record);
                let good = table.ask(Query { pid, write: rng.random(), address, length, record });
                counts[usize::from(good)] += 1;
            }
        }
        assert!(counts[0] > 500 && counts[1] > 500, "{counts:?} refused, allowed");
    });
}

/// A reset removes all regions, while the first query waits.
#[test]
fn a_reset_removes_all() {
    run_with_wave_on_failure("region_table_reset", |wave| {
        let mut table = Table::new(wave);
        for _ in 0..PROCESSES * REGIONS + 2 {
            table.dut.tick();
        }
        let all = Region { readable: true, writable: true, first: bits(0), last: bits((1u64 << 52) - 1) };
        let query = |pid| Query { pid, write: true, address: 5, length: 5, record: None };
        for pid in 0..PROCESSES {
            for number in 0..REGIONS {
                table.set(pid, number, all);
            }
            assert!(table.ask(query(pid)));
        }
        table.dut.reset();
        table.regions.fill([Region::default(); REGIONS]);
        table.start = 0;
        table.dut.query.payload.set(RegionQuery {
            address: bits(5),
            length: bits(5),
            write: true,
            ..Default::default()
        });
        table.dut.query.valid.set(true);
        let begin = table.dut.cycle();
        loop {
            table.dut.eval();
            if table.dut.query.done.is_high() {
                break;
            }
            table.dut.tick();
        }
        let (ok, cycles) = (table.dut.query.ok.is_high(), table.dut.cycle() - begin);
        assert!(
            !ok && (PROCESSES * REGIONS) as u64 <= cycles && cycles < 30 + (PROCESSES * REGIONS) as u64,
            "{cycles}"
        );
        table.dut.tick();
        table.dut.query.valid.set(false);
        table.dut.tick();
        for pid in 0..PROCESSES {
            assert!(!table.ask(query(pid)));
        }
    });
}
