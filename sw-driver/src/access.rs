//! What a backend provides.

use crate::Result;
use spindle_contract::registers::Word;

/// Access to the card's registers.
///
/// Every access must end: a backend bounds its waits and answers with [`crate::Error::Bar`] when the card does not.
pub trait Bar {
    /// Reads the register at this byte address, which is a multiple of 4.
    fn read32(&mut self, address: u32) -> Result<u32>;
    /// Writes the register at this byte address, which is a multiple of 4.
    fn write32(&mut self, address: u32, value: u32) -> Result<()>;
}

/// Registers by their type: `bar.read::<global::Hpus>()?.clusters()`.
pub trait Registers: Bar {
    /// Reads a register.
    fn read<W: Word>(&mut self) -> Result<W> {
        self.read32(W::ADDRESS).map(W::from_bits)
    }

    /// Writes a register.
    fn write<W: Word>(&mut self, word: W) -> Result<()> {
        self.write32(W::ADDRESS, word.bits())
    }
}

impl<B: Bar + ?Sized> Registers for B {}

/// The low and the high half of a value that two registers hold.
pub(crate) fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// The value of two halves, the low one first.
pub(crate) fn whole(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
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
