//! What a backend provides.

use crate::Result;

/// Access to the card's registers.
///
/// Every access must end: a backend bounds its waits and answers with [`crate::Error::Bar`] when the card does not.
pub trait Bar {
    /// Reads the register at this byte address, which is a multiple of 4.
    fn read32(&mut self, address: u32) -> Result<u32>;
    /// Writes the register at this byte address, which is a multiple of 4.
    fn write32(&mut self, address: u32, value: u32) -> Result<()>;
}

/// Memory that both the host and the card reach.
pub trait HostMemory {
    /// Zeroed memory for the card; returns the address by which the card knows it. `align` is a power of two.
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64>;
    /// Reads what the card or the host wrote.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()>;
    /// Writes for the card to read.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()>;
}
