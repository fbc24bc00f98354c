//! The regions of all banks of an HPU.

use super::bundles::RegionWriteSink;
use super::types::{Region, Target};
use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// Bits of a base that are 0: with them a row would need another column of LUT RAM.
const LOW: usize = 4;

/// A region as it is kept.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Row {
    target: Target,
    /// Bits 19:4 of the base.
    base: Bits<16>,
    bound: Bits<21>,
    readable: Bit,
    writable: Bit,
}

/// 32 regions in LUT RAM, index = {bank, region}. Bases are multiples of 16.
///
/// | neighbour | ports |
/// |---|---|
/// | loader | in `region`: read back from the next cycle on |
/// | address check | in `read_index`; out `entry`, in the same cycle |
#[block(no_reset)]
pub struct RegionTable {
    /// Write of a region.
    pub region: RegionWriteSink,
    /// Which region to read.
    pub read_index: Signal<In, Bits<5>>,
    /// The region.
    pub entry: Signal<Out, Region>,
    rows: LutMemory<Row, 5>,
}

#[hdl]
impl RegionTable {
    fn update(&mut self) {
        self.rows.write_enable.next = self.region.write.val();
        self.rows.write_address.next = self.region.index.val();
        let entry = self.region.val();
        self.rows.write_data.next = Row {
            target: entry.target,
            base: entry.base.get_bits::<16>(LOW),
            bound: entry.bound,
            readable: entry.readable,
            writable: entry.writable,
        };
        self.rows.read_address.next = self.read_index.val();
        let row = self.rows.read_data.val();
        self.entry.next = Region {
            target: row.target,
            base: (row.base, bits::<LOW>(0)).cat::<20>(),
            bound: row.bound,
            readable: row.readable,
            writable: row.writable,
        };
    }
}
