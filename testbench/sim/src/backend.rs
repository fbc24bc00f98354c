//! The simulated card as a backend of the driver.

use crate::SimDevice;
use spindle::{Bar, Error, HostMemory, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where allocation starts: above 4 GiB, so that an address cut to 32 bits is noticed.
const FIRST_ADDRESS: u64 = 0x1_4000_0000;
/// Bytes left free between two allocations, so that a write beyond one does not hit the next unseen.
const GUARD: u64 = 4096;

/// A handle on a simulated card: its BAR, its host memory, and by [`SimHandle::sim`] the wire and the traces. Clones are the
/// same card. A register access moves the simulation on until it is answered, as it would take time on a real bus.
#[derive(Clone)]
pub struct SimHandle {
    sim: Arc<Mutex<SimDevice>>,
    next: Arc<AtomicU64>,
}

impl SimHandle {
    /// The handle of this card.
    pub fn new(sim: SimDevice) -> Self {
        SimHandle { sim: Arc::new(Mutex::new(sim)), next: Arc::new(AtomicU64::new(FIRST_ADDRESS)) }
    }

    /// The card itself. Other threads wait while it is held, and so would a second call of the same thread.
    pub fn sim(&self) -> MutexGuard<'_, SimDevice> {
        // A panic of another holder is that of a test or of the model, which is reported there.
        self.sim.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SimHandle {
    /// [`SimDevice::post_write32`], with the driver's error.
    pub(crate) fn post_write32(&self, address: u32, value: u32, delay: u64) -> Result<()> {
        self.sim().post_write32(address, value, delay).map_err(|error| bar_error("a write", address, error))
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
        let start = |next: u64| next.next_multiple_of(align as u64);
        let after = |next| Some(start(next) + bytes as u64 + GUARD);
        let before = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
        Ok(start(before.expect("every allocation has a place after it")))
    }

    /// Addresses are never used again, so that a late write of the card is no write to other memory.
    fn free(&mut self, _address: u64) -> Result<()> {
        Ok(())
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.sim().memory().read(address, bytes);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.sim().memory().write(address, bytes);
        Ok(())
    }
}
