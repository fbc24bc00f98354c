//! Host memory as the library's driver sees it: what the card allocates, and memory of the program where it is registered.

use crate::node::lock;
use spindle::{HostMemory, Result, SharedCard};
use std::ops::Range;
use std::sync::atomic::{fence, Ordering};
use std::sync::{Arc, Mutex};

/// Memory of the card's transport, and of the program at its own addresses. Clones are the same memory.
#[derive(Clone)]
pub struct ProgramMemory {
    card: SharedCard,
    mapped: Arc<Mutex<Vec<Range<u64>>>>,
}

impl ProgramMemory {
    /// Memory of this card; none of the program yet.
    pub fn new(card: SharedCard) -> ProgramMemory {
        ProgramMemory { card, mapped: Arc::default() }
    }

    /// Lets the card reach memory of the program.
    ///
    /// # Errors
    /// The transport cannot.
    pub fn map(&self, range: &Range<u64>) -> Result<()> {
        self.card.lock().map(range)?;
        lock(&self.mapped).push(range.clone());
        Ok(())
    }

    /// Undoes one [`ProgramMemory::map`].
    ///
    /// # Errors
    /// The transport cannot; the library does not touch the memory any more.
    pub fn unmap(&self, range: &Range<u64>) -> Result<()> {
        let mut mapped = lock(&self.mapped);
        if let Some(at) = mapped.iter().position(|known| known == range) {
            mapped.swap_remove(at);
        }
        drop(mapped);
        self.card.lock().unmap(range)
    }

    /// Whether these bytes are the program's, in one of its ranges.
    fn is_mapped(&self, address: u64, bytes: usize) -> bool {
        let end = address.saturating_add(bytes as u64);
        lock(&self.mapped).iter().any(|range| range.start <= address && end <= range.end)
    }
}

impl HostMemory for ProgramMemory {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        self.card.alloc(bytes, align)
    }

    fn free(&mut self, address: u64) -> Result<()> {
        self.card.free(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        if !self.is_mapped(address, bytes.len()) {
            return self.card.read(address, bytes);
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            // SAFETY: the owner of mapped memory lets the library and the card access it. Volatile, because the card writes it.
            *byte = unsafe { (address as usize as *const u8).add(at).read_volatile() };
        }
        fence(Ordering::Acquire);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        if !self.is_mapped(address, bytes.len()) {
            return self.card.write(address, bytes);
        }
        fence(Ordering::Release);
        for (at, byte) in bytes.iter().enumerate() {
            // SAFETY: as in `read`.
            unsafe { (address as usize as *mut u8).add(at).write_volatile(*byte) };
        }
        Ok(())
    }
}
