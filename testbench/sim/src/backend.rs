//! The simulated card as a backend of the driver.

use crate::SimDevice;
use spindle::{Bar, Error, HostMemory, Result};
use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;

/// Where allocation starts: above 4 GiB, so that an address cut to 32 bits is noticed.
const FIRST_ADDRESS: u64 = 0x1_4000_0000;
/// Bytes left free between two allocations, so that a write beyond one does not hit the next unseen.
const GUARD: u64 = 4096;

/// A handle on a simulated card: its BAR, its host memory, and by [`SimHandle::sim`] the wire and the traces. Clones are the
/// same card. A register access moves the simulation on until it is answered, as it would take time on a real bus.
#[derive(Clone)]
pub struct SimHandle {
    sim: Rc<RefCell<SimDevice>>,
    next: Rc<Cell<u64>>,
}

impl SimHandle {
    /// The handle of this card.
    pub fn new(sim: SimDevice) -> Self {
        SimHandle { sim: Rc::new(RefCell::new(sim)), next: Rc::new(Cell::new(FIRST_ADDRESS)) }
    }

    /// The card itself.
    ///
    /// # Panics
    /// If the result of an earlier call is still held.
    pub fn sim(&self) -> RefMut<'_, SimDevice> {
        self.sim.borrow_mut()
    }
}

fn bar_error(access: &'static str, address: u32, error: anyhow::Error) -> Error {
    Error::Bar { access, address, why: format!("{error:#}") }
}

impl Bar for SimHandle {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.sim().read32(address).map_err(|error| bar_error("a read", address, error))
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        self.sim().write32(address, value).map_err(|error| bar_error("a write", address, error))
    }
}

impl HostMemory for SimHandle {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        if !align.is_power_of_two() || bytes == 0 {
            return Err(Error::Memory(format!(
                "{bytes} bytes aligned to {align} cannot be allocated; ask for at least one byte and a power of two"
            )));
        }
        let start = self.next.get().next_multiple_of(align as u64);
        self.next.set(start + bytes as u64 + GUARD);
        Ok(start)
    }

    /// Addresses are never used again, so that a late write of the card is no write to other memory.
    fn free(&mut self, _address: u64) -> Result<()> {
        Ok(())
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.sim.borrow_mut().memory().read(address, bytes);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.sim().memory().write(address, bytes);
        Ok(())
    }
}
