//! The regions of all banks of an HPU.

use super::types::Region;
use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// 32 regions in LUT RAM, index = {bank, region}.
///
/// | neighbour | ports |
/// |---|---|
/// | loader | in `write`, `write_index`, `write_entry`: read back from the next cycle on |
/// | address check | in `read_index`; out `entry`, in the same cycle |
///
/// 32 LUT6 on UltraScale+, 1 level on 7 series (yosys, the block alone).
#[derive(LogicBlock, Default)]
pub struct RegionTable {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Write in this cycle.
    pub write: Signal<In, Bit>,
    /// Where.
    pub write_index: Signal<In, Bits<5>>,
    /// What.
    pub write_entry: Signal<In, Region>,
    /// Which region to read.
    pub read_index: Signal<In, Bits<5>>,
    /// It.
    pub entry: Signal<Out, Region>,
    entries: LutMemory<Region, 5>,
}

impl Logic for RegionTable {
    #[hdl]
    fn update(&mut self) {
        self.entries.clock.next = self.clock.val();
        self.entries.write_enable.next = self.write.val();
        self.entries.write_address.next = self.write_index.val();
        self.entries.write_data.next = self.write_entry.val();
        self.entries.read_address.next = self.read_index.val();
        self.entry.next = self.entries.read_data.val();
    }
}
