//! Regions: the host memory that each process may name.
//!
//! | neighbour | ports |
//! |---|---|
//! | registers | in `region`, `region_at`, `region_write` (pulse); in `unchecked` |
//! | ring posts, command unit | in `query` (held) |
//!
//! A process has [`REGIONS`] regions of whole pages of 4 KiB. A query names a run of bytes and, if it posts a buffer, a
//! completion record: each must lie in one region with the right that it needs. The regions of the process are compared
//! one per cycle, starting with the region that the last allowed query of any process found first: six cycles if that
//! region holds both, 21 at most. Processes in `unchecked` may name all memory: one cycle. Reset removes all regions,
//! one per cycle, while queries wait.

use crate::prelude::*;
use spindle_contract::params::REGIONS;

/// Bits of a page number.
const PAGE_BITS: usize = 52;
/// Half of them: what is compared in a cycle.
const HALF: usize = PAGE_BITS / 2;
/// Bits of the number of a process, and of a region.
const PID_BITS: usize = 6;
const REGION_BITS: usize = REGIONS.ilog2() as usize;
/// Address bits of the table: {process, region}.
pub const TABLE_BITS: usize = PID_BITS + REGION_BITS;
/// Step in which the first region is judged, and the step after the last one.
const JUDGE: u64 = 4;
const LAST: u64 = JUDGE + REGIONS as u64;
/// Largest table in LUT RAM: 16 processes. The Kintex-7 configuration has no spare block RAM.
const LUT_WORDS: usize = 16 * REGIONS;

/// Memory that a process may name.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// The card may read the region for the process.
    pub readable: Bit,
    /// The card may write the region for the process.
    pub writable: Bit,
    /// First page.
    pub first: Bits<52>,
    /// Last page.
    pub last: Bits<52>,
}

/// Memory that a process names.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RegionQuery {
    /// Process.
    pub pid: Bits<6>,
    /// The memory will be written; else read.
    pub write: Bit,
    /// Address of the first byte.
    pub address: Bits<64>,
    /// Bytes, at least 1.
    pub length: Bits<32>,
    /// The query has a completion record.
    pub has_record: Bit,
    /// Host address of the record, without its four zero bits.
    pub record: Bits<60>,
}

/// Comparison of two page numbers by halves.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Beside {
    high_below: Bit,
    high_same: Bit,
    low_below: Bit,
}

#[hdl_fn]
fn compare(a: Bits<52>, b: Bits<52>) -> Beside {
    Beside {
        high_below: a.get_bits::<HALF>(HALF) < b.get_bits::<HALF>(HALF),
        high_same: a.get_bits::<HALF>(HALF) == b.get_bits::<HALF>(HALF),
        low_below: a.get_bits::<HALF>(0) < b.get_bits::<HALF>(0),
    }
}

#[hdl_fn]
fn below(x: Beside) -> Bit {
    x.high_below | (x.high_same & x.low_below)
}

/// The table of regions. See the module text.
#[block]
pub struct Regions {
    /// Region to set.
    pub region: Signal<In, Region>,
    /// {process, region}.
    pub region_at: Signal<In, Bits<TABLE_BITS>>,
    /// Region present.
    pub region_write: Signal<In, Bit>,
    /// Bit p = process p may name everything.
    pub unchecked: Signal<In, Bits<64>>,
    /// Memory that a command names.
    pub query: RegionQuerySink,
    entries: SdpMemory<Region, TABLE_BITS>,
    clearing: Reg<Bit>,
    clear_at: Reg<Bits<TABLE_BITS>>,
    /// Cycles since the query came.
    step: Reg<Bits<5>>,
    /// Region that is compared first.
    start: Reg<Bits<REGION_BITS>>,
    span: DFF<Bits<32>>,
    low: DFF<Bits<33>>,
    last_page: DFF<Bits<52>>,
    wraps: DFF<Bit>,
    region_now: DFF<Region>,
    rights: DFF<Bits<2>>,
    first_beside: DFF<Beside>,
    last_beside: DFF<Beside>,
    record_first: DFF<Beside>,
    record_last: DFF<Beside>,
    /// A region holds the bytes or the record of this query; the first such region.
    hit: Reg<Bit>,
    first_hit: DFF<Bits<REGION_BITS>>,
    holds_bytes: Reg<Bit>,
    holds_record: Reg<Bit>,
    _words: u64,
}

impl Regions {
    /// Regions of `processes` processes, 1 to 64.
    pub fn new(processes: usize) -> Self {
        let words = processes.next_power_of_two() * REGIONS;
        let style = if words <= LUT_WORDS { RamStyle::Distributed } else { RamStyle::Block };
        Self {
            entries: SdpMemory::with_depth(style, 1, words),
            clearing: Reg::new(true),
            _words: words as u64,
            ..Self::blank()
        }
    }
}

#[hdl]
impl Regions {
    fn update(&mut self) {
        let query = self.query.val();
        let step = self.step.q.val();
        let waits = self.query.valid.val() & !self.clearing.q.val();
        let free = (self.unchecked.val() >> query.pid).get_bit(0);

        // The table: emptied after reset, read from the second cycle of a query on.
        self.entries.write(self.region_write.val() | self.clearing.q.val(), self.region_at.val(), self.region.val());
        if self.clearing.q.val() {
            self.entries.write_address.next = self.clear_at.q.val();
            self.entries.write_data.next = Region::default();
            self.clear_at.d.next = self.clear_at.q.val() + 1;
            self.clearing.d.next = self.clear_at.q.val() != bits::<TABLE_BITS>(self._words - 1);
        }
        let ahead = (step - 1).get_bits::<REGION_BITS>(0);
        self.entries.read(step.any(), (query.pid, self.start.q.val() + ahead).cat::<TABLE_BITS>());

        // The last page of the memory, in three steps.
        let first_page = query.address.get_bits::<PAGE_BITS>(12);
        let record_page = query.record.get_bits::<PAGE_BITS>(8);
        if waits {
            self.span.d.next = query.length - 1;
            self.low.d.next =
                bit_cast::<33, 32>(query.address.get_bits::<32>(0)) + bit_cast::<33, 32>(self.span.q.val());
            let low = self.low.q.val();
            let high = query.address.get_bits::<32>(32);
            let carry = low.get_bit(32);
            self.last_page.d.next =
                (high + bit_cast::<32, 1>(low.get_bits::<1>(32)), low.get_bits::<20>(12)).cat::<PAGE_BITS>();
            self.wraps.d.next = high.all() & carry;
        }

        // One region per cycle: read, compared by halves, judged.
        if step.any() {
            let region = self.region_now.q.val();
            self.region_now.d.next = self.entries.read_data.val();
            self.rights.d.next =
                (region.writable, if query.write { region.writable } else { region.readable }).cat::<2>();
            self.first_beside.d.next = compare(first_page, region.first);
            self.last_beside.d.next = compare(region.last, self.last_page.q.val());
            self.record_first.d.next = compare(record_page, region.first);
            self.record_last.d.next = compare(region.last, record_page);
        }
        let rights = self.rights.q.val();
        let bytes = rights.get_bit(0)
            & !below(self.first_beside.q.val())
            & !below(self.last_beside.q.val())
            & !self.wraps.q.val();
        let record = rights.get_bit(1) & !below(self.record_first.q.val()) & !below(self.record_last.q.val());
        if !step.any() {
            self.holds_bytes.d.next = false;
            self.holds_record.d.next = !query.has_record;
            self.hit.d.next = false;
        } else if step >= JUDGE {
            self.holds_bytes.d.next = self.holds_bytes.q.val() | bytes;
            self.holds_record.d.next = self.holds_record.q.val() | record;
            if !self.hit.q.val() {
                self.hit.d.next = bytes | (record & query.has_record);
                self.first_hit.d.next = (step - JUDGE).get_bits::<REGION_BITS>(0);
            }
        }
        let holds = self.holds_bytes.q.val() & self.holds_record.q.val();
        let ends = (step > JUDGE) & (holds | (step == LAST));
        if ends {
            self.step.d.next = bits::<5>(0);
            self.start.load(holds, self.start.q.val() + self.first_hit.q.val());
        } else if step.any() | (waits & !free) {
            self.step.d.next = step + 1;
        }
        self.query.done.next = ends | (waits & free & !step.any());
        self.query.ok.next = holds | free;
    }
}
