//! What a transport provides: registers, memory that the card reaches, interrupts, reset, identity.

use crate::{Error, Result};
use spindle_contract::registers::Word;
use std::fmt;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// Gives memory of [`HostMemory::alloc`] back, by its address. The card must not use the memory any more.
    ///
    /// # Errors
    /// No allocation begins at this address.
    fn free(&mut self, address: u64) -> Result<()>;
    /// Reads what the card or the host wrote.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()>;
    /// Writes for the card to read.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()>;
}

/// What a card is, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Address by which the card was opened: `0000:65:00.0`, `unix:/run/nic0.sock`, ...
    pub address: String,
    /// The transport: `vfio`, `sysfs`, `vfio-user` or `sim`.
    pub transport: &'static str,
    /// PCI vendor and device; `None` of a card that is no PCI function.
    pub pci: Option<(u16, u16)>,
}

/// A card, opened by a transport.
///
/// Every call ends: a transport bounds its waits, and a card that is gone answers every call with
/// [`crate::Error::Gone`].
pub trait Card: Bar + HostMemory + Send {
    /// What the card is, and where.
    fn identity(&self) -> Identity;
    /// Lets the card reach these bytes of this program at their own addresses. A range may be mapped several times.
    fn map(&mut self, range: &Range<u64>) -> Result<()>;
    /// Undoes one [`Card::map`] of exactly this range.
    fn unmap(&mut self, range: &Range<u64>) -> Result<()>;
    /// Lets the card reach memory of another program: a file's bytes from `offset`, at these addresses of the card. The default has no such
    /// way.
    fn map_file(&mut self, file: BorrowedFd<'_>, offset: u64, range: &Range<u64>) -> Result<()> {
        let _ = (file, offset);
        Err(Error::Argument(format!(
            "the transport {} cannot give the card memory of another program at {:#x}; use another one",
            self.identity().transport,
            range.start
        )))
    }
    /// Undoes [`Card::map_file`] of this range.
    fn unmap_file(&mut self, range: &Range<u64>) -> Result<()> {
        self.unmap(range)
    }
    /// The process whose share this card is: of its registers only the doorbell page of this process and, read-only, the
    /// global page and some counters answer, what it maps is registered for the process, and the owner of the card does
    /// the rest. `None`: the whole card.
    fn process(&self) -> Option<usize> {
        None
    }
    /// Interrupt vectors of the card; 0 if the transport has none, and waiting is polling.
    fn vectors(&self) -> usize;
    /// An eventfd that becomes readable when the vector fires. Every call returns a duplicate of the same eventfd.
    fn interrupt(&mut self, vector: usize) -> Result<OwnedFd>;
    /// An eventfd that has the kernel write `value` to the register at `address` when the eventfd is written, so that another process
    /// can ring the card without its registers. Signals that come together are one write. `None` if the transport has no such way.
    fn kick(&mut self, address: u32, value: u32) -> Result<Option<OwnedFd>> {
        let _ = (address, value);
        Ok(None)
    }
    /// Lets about so many cycles of the card pass. A card whose time moves by calls runs so long; others sleep.
    fn pause(&mut self, cycles: u64) -> Result<()>;
    /// Whether the time of the card moves by calls only, so that a program that waits must call [`Card::pause`].
    fn time_moves_by_calls(&self) -> bool;
    /// Resets the whole card. Mappings and interrupts stay.
    fn reset(&mut self) -> Result<()>;
}

/// A card that several owners share: its driver, processes, threads. Clones are the same card.
#[derive(Clone)]
pub struct SharedCard(Arc<Mutex<Box<dyn Card>>>);

impl SharedCard {
    /// Shares a card.
    pub fn new(card: impl Card + 'static) -> SharedCard {
        SharedCard(Arc::new(Mutex::new(Box::new(card))))
    }

    /// The card itself; other owners wait while it is held.
    pub fn lock(&self) -> MutexGuard<'_, Box<dyn Card>> {
        // A panic of another owner leaves no half-written state: every call of a transport is whole or an error.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SharedCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedCard").field(&self.lock().identity()).finish()
    }
}

impl Bar for SharedCard {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.lock().read32(address)
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        self.lock().write32(address, value)
    }
}

impl HostMemory for SharedCard {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        self.lock().alloc(bytes, align)
    }

    fn free(&mut self, address: u64) -> Result<()> {
        self.lock().free(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.lock().read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.lock().write(address, bytes)
    }
}
