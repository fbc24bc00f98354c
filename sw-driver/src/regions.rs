//! Memory regions: what of host memory the card touches for a process.
//!
//! The card checks every address that a process names: buffers and records that it posts, memory that it puts, its rings. After
//! [`Device::open`] it checks none, because whoever has the device has the whole card; [`Device::confine`] binds a process to
//! its regions. Regions are set on the card's own page: a process that has only its doorbell page cannot widen them.

use crate::{Bar, Device, Error, HostMemory, Result};
use spindle_contract::params::REGIONS;
use spindle_contract::registers::rvma;
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
    fn bits(self) -> u32 {
        match self {
            Access::Read => 1 << 30,
            Access::Write => 1 << 31,
            Access::ReadWrite => 3 << 30,
        }
    }
}

/// What a process may name: first and last page, and for what.
type Places = [Option<(u64, u64, Access)>; REGIONS];

/// What the driver knows of the regions: pages, first and last, and what they may be used for.
#[derive(Debug)]
pub(crate) struct RegionTable {
    unchecked: u64,
    regions: Vec<Places>,
}

impl RegionTable {
    pub(crate) fn new(processes: usize) -> Self {
        RegionTable { unchecked: u64::MAX, regions: vec![[None; REGIONS]; processes] }
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Binds a process to its regions: from now on it may name no other memory. It has none at first.
    pub fn confine(&mut self, process: usize) -> Result<()> {
        self.own_regions(process)?;
        self.regions.unchecked &= !(1 << process);
        self.write_unchecked()
    }

    pub(crate) fn write_unchecked(&mut self) -> Result<()> {
        let unchecked = self.regions.unchecked;
        self.bar.write32(rvma::BASE + rvma::UNCHECKED, unchecked as u32)?;
        self.bar.write32(rvma::BASE + rvma::UNCHECKED + 4, (unchecked >> 32) as u32)
    }

    /// Registers memory of a process: all pages of 4 KiB that the range touches. A region of the same access that it overlaps or that is next to it
    /// grows, so the 16 regions of a process go a long way.
    pub fn register_region(&mut self, process: usize, range: Range<u64>, access: Access) -> Result<()> {
        if range.is_empty() {
            return Err(Error::Argument("a region of no bytes; register at least one".into()));
        }
        let (mut first, mut last) = (range.start / PAGE_BYTES, (range.end - 1) / PAGE_BYTES);
        let regions = self.own_regions(process)?;
        let mut place = None;
        // What the range joins to one region, until nothing more does.
        while let Some(i) = (0..REGIONS).find(|i| {
            let near = |r: (u64, u64, Access)| {
                r.2 == access && r.0 <= last.saturating_add(1) && first <= r.1.saturating_add(1)
            };
            Some(*i) != place && regions[*i].is_some_and(near)
        }) {
            let (other_first, other_last, _) = regions[i].take().unwrap_or((first, last, access));
            (first, last) = (first.min(other_first), last.max(other_last));
            place = Some(place.map_or(i, |before: usize| before.min(i)));
        }
        let free = || regions.iter().position(Option::is_none);
        let Some(place) = place.or_else(free) else {
            return Err(Error::Argument(format!(
                "process {process} has {REGIONS} regions, which is all that it can have"
            )));
        };
        regions[place] = Some((first, last, access));
        self.write_regions(process)
    }

    /// Forgets all regions of a process. Buffers and rings that it named before are still written.
    pub fn forget_regions(&mut self, process: usize) -> Result<()> {
        *self.own_regions(process)? = [None; REGIONS];
        self.write_regions(process)
    }

    fn own_regions(&mut self, process: usize) -> Result<&mut Places> {
        let processes = self.info.processes;
        self.regions
            .regions
            .get_mut(process)
            .ok_or_else(|| Error::Argument(format!("there is no process {process}; the card has {processes}")))
    }

    fn write_regions(&mut self, process: usize) -> Result<()> {
        for (i, region) in self.regions.regions[process].into_iter().enumerate() {
            let (first, last, rights) = region.map_or((0, 0, 0), |(first, last, access)| (first, last, access.bits()));
            for (register, page) in [(rvma::REGION_FIRST, first), (rvma::REGION_LAST, last)] {
                let address = page * PAGE_BYTES;
                self.bar.write32(rvma::BASE + register, address as u32)?;
                self.bar.write32(rvma::BASE + register + 4, (address >> 32) as u32)?;
            }
            self.bar.write32(rvma::BASE + rvma::REGION_COMMIT, rights | (process as u32) << 4 | i as u32)?;
        }
        Ok(())
    }
}
