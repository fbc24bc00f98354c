//! Memory regions: what of host memory the card touches for a process.
//!
//! The card checks every address that a process names: buffers and records that it posts, memory that it puts, its rings. After
//! [`Device::open`] it checks none, because whoever has the device has the whole card; [`Device::confine`] binds a process to
//! its regions. Regions are set on the card's own page: a process that has only its doorbell page cannot widen them.

use crate::access::{halves, whole};
use crate::{Bar, Device, Error, HostMemory, Registers, Result};
use spindle_contract::params::REGIONS;
use spindle_contract::registers::rvma::{self, RegionCommit};
use std::ops::Range;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// What the card may do with the memory of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read it: what is put, command rings.
    Read,
    /// Write it: buffers, records, event rings.
    Write,
    /// Both.
    ReadWrite,
}

impl Access {
    /// REGION_COMMIT with the rights of the region.
    fn rights(self) -> RegionCommit {
        RegionCommit::ZERO.with_readable(self != Access::Write).with_writable(self != Access::Read)
    }
}

/// Pages, first and last, and what they may be used for.
type Pages = (u64, u64, Access);

/// What is registered for a process, and the regions that the card has for it.
#[derive(Clone, Debug, Default)]
struct Places {
    ranges: Vec<(Range<u64>, Access)>,
    regions: [Option<Pages>; REGIONS],
}

/// What the driver knows of the regions.
#[derive(Debug)]
pub(crate) struct RegionTable {
    unchecked: u64,
    processes: Vec<Places>,
}

impl RegionTable {
    pub(crate) fn new(processes: usize) -> Self {
        RegionTable { unchecked: u64::MAX, processes: vec![Places::default(); processes] }
    }
}

/// The pages that ranges touch: those of one access that overlap or touch each other are joined.
fn joined(ranges: &[(Range<u64>, Access)]) -> Vec<Pages> {
    let mut pages: Vec<Pages> = ranges
        .iter()
        .map(|(range, access)| (range.start / PAGE_BYTES, (range.end - 1) / PAGE_BYTES, *access))
        .collect();
    pages.sort_by_key(|(first, _, access)| (access.rights().0, *first));
    pages.dedup_by(|next, before| {
        let joins = next.2 == before.2 && next.0 <= before.1.saturating_add(1);
        if joins {
            before.1 = before.1.max(next.1);
        }
        joins
    });
    pages
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Binds a process to its regions: from now on it may name no other memory. It has none at first.
    pub fn confine(&mut self, process: usize) -> Result<()> {
        self.places(process)?;
        self.regions.unchecked &= !(1 << process);
        self.write_unchecked()
    }

    /// Undoes [`Device::confine`]: from now on the process may name any host memory.
    pub fn trust(&mut self, process: usize) -> Result<()> {
        self.places(process)?;
        self.regions.unchecked |= 1 << process;
        self.write_unchecked()
    }

    /// Whether the process may name any host memory.
    pub fn trusts(&self, process: usize) -> bool {
        process < self.info.processes && self.regions.unchecked >> process & 1 == 1
    }

    pub(crate) fn read_unchecked(&mut self) -> Result<()> {
        let low = self.bar.read32(rvma::BASE + rvma::UNCHECKED)?;
        let high = self.bar.read32(rvma::BASE + rvma::UNCHECKED + 4)?;
        self.regions.unchecked = whole(low, high);
        Ok(())
    }

    pub(crate) fn write_unchecked(&mut self) -> Result<()> {
        let [low, high] = halves(self.regions.unchecked);
        self.bar.write32(rvma::BASE + rvma::UNCHECKED, low)?;
        self.bar.write32(rvma::BASE + rvma::UNCHECKED + 4, high)
    }

    /// Registers memory of a process: all pages of 4 KiB that the range touches. Ranges of the same access whose
    /// pages overlap or touch each other share a region; a process can have 16 regions.
    ///
    /// # Errors
    /// The range is empty, or a region more is needed than the process can have: then nothing is registered.
    pub fn register_region(&mut self, process: usize, range: Range<u64>, access: Access) -> Result<()> {
        if range.is_empty() {
            return Err(Error::Argument("a region of no bytes; register at least one".into()));
        }
        let mut ranges = self.places(process)?.ranges.clone();
        ranges.push((range, access));
        self.set_ranges(process, ranges)
    }

    /// Takes back what one [`Device::register_region`] registered: pages that no other range of the process touches
    /// cannot be named any more. What the process named before is still used: buffers until they are complete or
    /// taken back, puts until they are over, rings until they are closed.
    ///
    /// # Errors
    /// No such range is registered, or what is left of a region needs more regions than the process can have: then nothing is taken back.
    pub fn deregister_region(&mut self, process: usize, range: &Range<u64>, access: Access) -> Result<()> {
        let mut ranges = self.places(process)?.ranges.clone();
        let Some(at) = ranges.iter().position(|known| known.0 == *range && known.1 == access) else {
            return Err(Error::Argument(format!(
                "process {process} has not registered the {} bytes at {:#x} as one region; give the range that was registered",
                range.end.saturating_sub(range.start),
                range.start
            )));
        };
        ranges.swap_remove(at);
        self.set_ranges(process, ranges)
    }

    /// Forgets all regions of a process. Buffers and rings that it named before are still written.
    pub fn forget_regions(&mut self, process: usize) -> Result<()> {
        self.places(process)?;
        self.set_ranges(process, Vec::new())
    }

    fn places(&mut self, process: usize) -> Result<&mut Places> {
        let processes = self.info.processes;
        self.regions
            .processes
            .get_mut(process)
            .ok_or_else(|| Error::Argument(format!("there is no process {process}; the card has {processes}")))
    }

    /// Gives a process these ranges. Regions that stay are not touched; new ones are written before old ones are
    /// removed, as far as there is room, so that a command ring of the process meets no gap.
    fn set_ranges(&mut self, process: usize, ranges: Vec<(Range<u64>, Access)>) -> Result<()> {
        let wanted = joined(&ranges);
        if wanted.len() > REGIONS {
            return Err(Error::Argument(format!(
                "process {process} would need {} regions, and can have {REGIONS}; register neighbouring memory at once, or take some back",
                wanted.len()
            )));
        }
        let places = self.places(process)?;
        let stays = |region: &Option<Pages>| region.is_some_and(|region| wanted.contains(&region));
        let mut free: Vec<usize> = (0..REGIONS).filter(|at| places.regions[*at].is_none()).collect();
        let mut old: Vec<usize> =
            (0..REGIONS).filter(|at| places.regions[*at].is_some() && !stays(&places.regions[*at])).collect();
        // Taken from the back: the lowest first.
        free.reverse();
        old.reverse();
        let fresh: Vec<Pages> =
            wanted.iter().copied().filter(|region| !places.regions.contains(&Some(*region))).collect();
        let mut changes = Vec::new();
        for region in fresh {
            let at = free.pop().or_else(|| old.pop()).expect("no more are wanted than there are");
            changes.push((at, Some(region)));
        }
        changes.extend(old.into_iter().map(|at| (at, None)));
        for (at, region) in changes {
            self.write_region(process, at, region)?;
        }
        self.places(process)?.ranges = ranges;
        Ok(())
    }

    fn write_region(&mut self, process: usize, at: usize, region: Option<Pages>) -> Result<()> {
        let (first, last, rights) =
            region.map_or((0, 0, RegionCommit::ZERO), |(first, last, access)| (first, last, access.rights()));
        for (register, page) in [(rvma::REGION_FIRST, first), (rvma::REGION_LAST, last)] {
            let [low, high] = halves(page * PAGE_BYTES);
            self.bar.write32(rvma::BASE + register, low)?;
            self.bar.write32(rvma::BASE + register + 4, high)?;
        }
        self.bar.write(rights.with_process(process as u32).with_region(at as u32))?;
        // What the card did not take is written again by the next call.
        self.places(process)?.regions[at] = region;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_whose_pages_touch_are_one_region() {
        use Access::{Read, ReadWrite};
        let ranges = [
            (0x5FFF..0x6001, ReadWrite),
            (0x9000..0xA000, ReadWrite),
            (0x7800..0x7801, ReadWrite),
            (0x8000..0x8001, Read),
            (0x0..0x1, ReadWrite),
        ];
        assert_eq!(joined(&ranges), [(8, 8, Read), (0, 0, ReadWrite), (5, 7, ReadWrite), (9, 9, ReadWrite)]);
        assert_eq!(joined(&[(u64::MAX - 1..u64::MAX, Read), (0..u64::MAX, Read)]), [(0, (1 << 52) - 1, Read)]);
    }
}
