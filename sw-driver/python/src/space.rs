//! Addresses from which a process of a card gets its memory.
//!
//! A process has few regions, and neighbouring memory shares one. So memory lies at the lowest addresses that are free, and not where
//! the system happens to have room.

use crate::core::lock;
use rustix::mm::{mmap_anonymous, munmap, MapFlags, ProtFlags};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Bytes of a page.
const PAGE: u64 = 4096;
/// Addresses that are reserved; they have no memory before it is taken. What does not fit lies elsewhere.
const RESERVED: u64 = 1 << 36;

/// Addresses of the program that nothing else uses.
pub struct Space {
    range: Range<u64>,
    /// Free ones: end by start. No two touch.
    free: Mutex<BTreeMap<u64, u64>>,
}

/// New pages at this address, or where the system chooses.
fn pages(at: Option<u64>, bytes: u64, protection: ProtFlags) -> rustix::io::Result<u64> {
    let mut flags = MapFlags::PRIVATE;
    flags.set(MapFlags::FIXED, at.is_some());
    flags.set(MapFlags::NORESERVE, protection.is_empty());
    // SAFETY: callers have the pages at a given address, and nothing uses these.
    let start = unsafe { mmap_anonymous(at.unwrap_or(0) as *mut c_void, bytes as usize, protection, flags) };
    start.map(|start| start as u64)
}

fn unmap(range: &Range<u64>) {
    if !range.is_empty() {
        // SAFETY: callers have the pages, and nothing uses these.
        let _ = unsafe { munmap(range.start as *mut c_void, (range.end - range.start) as usize) };
    }
}

impl Space {
    /// Reserves addresses. Where the system refuses so many, all memory lies elsewhere.
    pub fn new() -> Arc<Space> {
        let range = pages(None, RESERVED, ProtFlags::empty()).map_or(0..0, |start| start..start + RESERVED);
        let free = if range.is_empty() { BTreeMap::new() } else { BTreeMap::from([(range.start, range.end)]) };
        Arc::new(Space { range, free: Mutex::new(free) })
    }

    /// Takes the lowest addresses that are free.
    fn take(&self, bytes: u64) -> Option<Range<u64>> {
        let mut free = lock(&self.free);
        let (start, end) = free.iter().map(|(start, end)| (*start, *end)).find(|(start, end)| end - start >= bytes)?;
        free.remove(&start);
        if start + bytes < end {
            free.insert(start + bytes, end);
        }
        Some(start..start + bytes)
    }

    /// Gives addresses back.
    fn give(&self, Range { mut start, mut end }: Range<u64>) {
        let mut free = lock(&self.free);
        if let Some(after) = free.remove(&end) {
            end = after;
        }
        if let Some((before, _)) = free.range(..start).next_back().filter(|(_, its_end)| **its_end == start) {
            start = *before;
        }
        free.insert(start, end);
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        unmap(&self.range);
    }
}

/// Whole pages of the program; nothing is known of their contents, which the card and views of Python change.
pub struct Mapping {
    range: Range<u64>,
    /// Of these addresses; `None`: elsewhere.
    space: Option<Arc<Space>>,
}

impl Mapping {
    /// Zeroed pages for so many bytes; `None`: the system has no memory.
    pub fn new(space: &Arc<Space>, bytes: u64) -> Option<Mapping> {
        let bytes = bytes.checked_next_multiple_of(PAGE).filter(|bytes| *bytes > 0)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let Some(range) = space.take(bytes) else {
            let start = pages(None, bytes, protection).ok()?;
            return Some(Mapping { range: start..start + bytes, space: None });
        };
        if pages(Some(range.start), bytes, protection).is_err() {
            space.give(range);
            return None;
        }
        Some(Mapping { range, space: Some(space.clone()) })
    }

    /// Their addresses.
    pub fn range(&self) -> &Range<u64> {
        &self.range
    }
}

impl Drop for Mapping {
    /// The card does not reach the pages: owners forget a mapping that it may reach.
    fn drop(&mut self) {
        match &self.space {
            None => unmap(&self.range),
            Some(space) => {
                let bytes = self.range.end - self.range.start;
                // Without memory again. Addresses at which this fails are not used again.
                if pages(Some(self.range.start), bytes, ProtFlags::empty()).is_ok() {
                    space.give(self.range.clone());
                }
            }
        }
    }
}
