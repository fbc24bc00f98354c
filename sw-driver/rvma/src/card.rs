//! Cards as the library sees them: the driver's two traits, and memory of the program that a card may reach.

use spindle::{Bar, HostMemory, Result};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// A card that RVMA runs on.
///
/// The library registers memory by the program's own addresses. A simulated card reads and writes the bytes itself; a
/// card behind an IOMMU maps the pages.
pub trait Card: Bar + HostMemory {
    /// Lets the card reach these bytes of the program. A range may be mapped several times.
    fn map(&mut self, range: &Range<u64>);
    /// Undoes every [`Card::map`] of exactly this range.
    fn unmap(&mut self, range: &Range<u64>);
    /// Pages in which an access of the card fails from now on, all of them, in place of those named before.
    fn refuse(&mut self, pages: &[Range<u64>]);
    /// Lets about so many cycles of the card pass.
    fn pass(&mut self, cycles: u64);
}

/// A card shared by its driver and by the processes of its node.
#[derive(Clone)]
pub struct SharedCard(Rc<RefCell<dyn Card>>);

impl SharedCard {
    /// Shares a card.
    pub fn new(card: impl Card + 'static) -> SharedCard {
        SharedCard(Rc::new(RefCell::new(card)))
    }

    /// A call on the card itself.
    pub fn with<T>(&self, call: impl FnOnce(&mut dyn Card) -> T) -> T {
        call(&mut *self.0.borrow_mut())
    }
}

impl Bar for SharedCard {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.0.borrow_mut().read32(address)
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        self.0.borrow_mut().write32(address, value)
    }
}

impl HostMemory for SharedCard {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        self.0.borrow_mut().alloc(bytes, align)
    }

    fn free(&mut self, address: u64) -> Result<()> {
        self.0.borrow_mut().free(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.0.borrow().read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.0.borrow_mut().write(address, bytes)
    }
}
