//! Memory of this program, as simulated cards reach it: at its own addresses, and only where it was registered.

use spindle_sim::host_memory::{Backing, HostMemory};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// The bytes themselves.
#[derive(Debug)]
struct ProcessMemory;

impl Backing for ProcessMemory {
    fn read(&self, address: u64) -> u8 {
        // SAFETY: who maps memory for a card promises that the range can be read and written until it is unmapped or the
        // card is closed, and the simulation reads only within it. Volatile, because the program may look at
        // the bytes meanwhile.
        unsafe { (address as usize as *const u8).read_volatile() }
    }

    fn write(&self, address: u64, byte: u8) {
        // SAFETY: as in `read`.
        unsafe { (address as usize as *mut u8).write_volatile(byte) }
    }
}

/// What is mapped for a card. An access to a page of which nothing is mapped any more fails, as behind an IOMMU.
#[derive(Default)]
pub struct Mapped {
    ranges: Vec<Range<u64>>,
    /// Pages that were unmapped.
    gone: Vec<u64>,
}

impl Mapped {
    /// Maps a range once more.
    pub fn map(&mut self, memory: &mut HostMemory, range: &Range<u64>) {
        if !self.ranges.contains(range) {
            memory.memory.map(range.clone(), Arc::new(ProcessMemory));
        }
        self.ranges.push(range.clone());
        self.refuse(memory);
    }

    /// Undoes one mapping of this range: whether there was one.
    pub fn unmap(&mut self, memory: &mut HostMemory, range: &Range<u64>) -> bool {
        let Some(at) = self.ranges.iter().position(|known| known == range) else { return false };
        self.ranges.remove(at);
        if !self.ranges.contains(range) {
            memory.memory.unmap(range);
            self.gone.extend(range.start / PAGE..range.end.div_ceil(PAGE));
            self.gone.sort_unstable();
            self.gone.dedup();
        }
        self.refuse(memory);
        true
    }

    /// Undoes every mapping.
    pub fn clear(&mut self, memory: &mut HostMemory) {
        while let Some(range) = self.ranges.first().cloned() {
            self.unmap(memory, &range);
        }
    }

    fn refuse(&mut self, memory: &mut HostMemory) {
        let ranges = &self.ranges;
        self.gone.retain(|page| {
            let bytes = page * PAGE..(page + 1) * PAGE;
            !ranges.iter().any(|range| range.start < bytes.end && bytes.start < range.end)
        });
        memory.failing = self.gone.iter().map(|page| page * PAGE..(page + 1) * PAGE).collect();
    }
}
