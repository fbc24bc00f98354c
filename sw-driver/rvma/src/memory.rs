//! Memory of this program that the processes of a node have registered, and buffers that are posted.

use crate::program::ProgramMemory;
use spindle::rvma::Posted;
use spindle::Result;
use spindle_contract::wire;
use std::ops::Range;

/// Memory that the processes of a node have registered.
pub struct NodeMemory {
    host: ProgramMemory,
    /// By process, in the order of their calls.
    registered: Vec<(usize, Range<u64>)>,
}

impl NodeMemory {
    /// Nothing is registered yet.
    pub fn new(host: ProgramMemory) -> NodeMemory {
        NodeMemory { host, registered: Vec::new() }
    }

    /// Maps a range.
    pub fn register(&mut self, process: usize, range: Range<u64>) -> Result<()> {
        self.host.map(&range)?;
        self.registered.push((process, range));
        Ok(())
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
    pub fn deregister(&mut self, process: usize, range: &Range<u64>) -> Result<()> {
        match self.registered.iter().position(|known| known.0 == process && known.1 == *range) {
            Some(at) => {
                self.registered.remove(at);
                self.host.unmap(range)
            }
            None => Ok(()),
        }
    }

    /// Takes back what a process has registered.
    pub fn forget(&mut self, process: usize) {
        for (_, range) in self.registered.extract_if(.., |known| known.0 == process) {
            // The card is closed, or gone: there is nothing left to undo.
            let _ = self.host.unmap(&range);
        }
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

    /// Whether the record at this address belongs to a buffer that was posted.
    pub fn awaits(&self, record: u64) -> bool {
        self.0.iter().any(|posted| posted.record == record)
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
