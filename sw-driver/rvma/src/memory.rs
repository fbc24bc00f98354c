//! Memory of this program, as the simulated NICs reach it: at its own addresses, and only where it was registered.

use spindle::rvma::Posted;
use spindle_contract::wire;
use spindle_sim::host_memory::{Backing, HostMemory};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// All of it: what was registered is what the simulation maps.
#[derive(Debug)]
struct ProcessMemory;

impl Backing for ProcessMemory {
    fn read(&self, address: u64) -> u8 {
        // SAFETY: the caller of RVMA_Register promises that the range can be read and written until it is deregistered or the network is shut down, and the
        // simulation reads only within it. Volatile, because the program may look at the bytes between two calls.
        unsafe { (address as usize as *const u8).read_volatile() }
    }

    fn write(&self, address: u64, byte: u8) {
        // SAFETY: as in `read`.
        unsafe { (address as usize as *mut u8).write_volatile(byte) }
    }
}

/// Memory that the processes of a node have registered. It does for the simulated NIC what an IOMMU does for a card: an access to a page
/// of which nothing is registered any more fails.
#[derive(Default)]
pub struct NodeMemory {
    /// By process, in the order of their calls.
    registered: Vec<(usize, Range<u64>)>,
    /// Pages that were deregistered.
    gone: Vec<u64>,
}

impl NodeMemory {
    /// Maps a range.
    pub fn register(&mut self, host: &mut HostMemory, process: usize, range: Range<u64>) {
        host.memory.map(range.clone(), Arc::new(ProcessMemory));
        self.registered.push((process, range));
        self.refuse(host);
    }

    /// Whether a process has registered exactly this range.
    pub fn has(&self, process: usize, range: &Range<u64>) -> bool {
        self.registered.iter().any(|known| known.0 == process && known.1 == *range)
    }

    /// Whether a process has registered all of this memory.
    pub fn covers(&self, process: usize, memory: &Range<u64>) -> bool {
        covered(self.registered.iter().filter(|known| known.0 == process).map(|known| &known.1), memory)
    }

    /// Whether memory stays registered when the process deregisters `range`.
    pub fn keeps(&self, process: usize, range: &Range<u64>, memory: &Range<u64>) -> bool {
        let taken = self.registered.iter().position(|known| known.0 == process && known.1 == *range);
        let others = self.registered.iter().enumerate().filter(|(at, known)| known.0 == process && Some(*at) != taken);
        covered(others.map(|(_, known)| &known.1), memory)
    }

    /// Takes a range of a process back.
    pub fn deregister(&mut self, host: &mut HostMemory, process: usize, range: &Range<u64>) {
        let Some(at) = self.registered.iter().position(|known| known.0 == process && known.1 == *range) else { return };
        self.registered.remove(at);
        host.memory.unmap(range);
        for (_, same) in self.registered.iter().filter(|known| known.1 == *range) {
            host.memory.map(same.clone(), Arc::new(ProcessMemory));
        }
        self.gone.extend(range.start / PAGE..range.end.div_ceil(PAGE));
        self.gone.sort_unstable();
        self.gone.dedup();
        self.refuse(host);
    }

    /// Has accesses to the pages fail of which nothing is registered any more.
    fn refuse(&mut self, host: &mut HostMemory) {
        let registered = &self.registered;
        self.gone.retain(|page| {
            let bytes = page * PAGE..(page + 1) * PAGE;
            !registered.iter().any(|(_, range)| range.start < bytes.end && bytes.start < range.end)
        });
        let mut failing: Vec<Range<u64>> = Vec::new();
        for page in &self.gone {
            match failing.last_mut() {
                Some(last) if last.end == page * PAGE => last.end += PAGE,
                _ => failing.push(page * PAGE..(page + 1) * PAGE),
            }
        }
        host.failing = failing;
    }
}

/// Whether ranges together hold all of `memory`.
fn covered<'a>(ranges: impl Iterator<Item = &'a Range<u64>>, memory: &Range<u64>) -> bool {
    let mut ranges: Vec<&Range<u64>> = ranges.collect();
    ranges.sort_by_key(|range| range.start);
    let mut end = memory.start;
    for range in ranges.into_iter().filter(|range| range.start < memory.end) {
        if range.start <= end {
            end = end.max(range.end);
        }
    }
    end >= memory.end
}

/// Buffers of a process that are posted and not complete.
#[derive(Default)]
pub struct PostedBuffers(Vec<Posted>);

/// Bytes of a buffer and of its record.
pub fn bytes(posted: &Posted) -> [Range<u64>; 2] {
    let record = wire::RECORD_BYTES as u64;
    [
        posted.buffer..posted.buffer.saturating_add(posted.size.into()),
        posted.record..posted.record.saturating_add(record),
    ]
}

impl PostedBuffers {
    /// Keeps a buffer that the NIC has taken.
    pub fn post(&mut self, posted: Posted) {
        self.0.retain(|other| !complete(other) && other.record != posted.record);
        self.0.push(posted);
    }

    /// Buffers and records that are not complete.
    pub fn in_use(&mut self) -> Vec<Range<u64>> {
        self.0.retain(|posted| !complete(posted));
        self.0.iter().flat_map(bytes).collect()
    }
}

/// The record of a buffer has been written.
fn complete(posted: &Posted) -> bool {
    // SAFETY: the NIC took the record, so it lies in registered memory; what holds a record that is not complete cannot be deregistered.
    unsafe { ((posted.record as usize + wire::RECORD_STATUS) as *const u8).read_volatile() != 0 }
}
