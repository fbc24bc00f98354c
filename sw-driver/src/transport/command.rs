//! The command register of a PCI function.

use rustix::fd::AsFd;
use rustix::io::{pread, pwrite};
use std::io;

/// Its offset in the configuration space.
const COMMAND: u64 = 4;
/// The function answers accesses of its memory.
pub(crate) const MEMORY: u16 = 1 << 1;
/// The function accesses memory itself.
pub(crate) const BUS_MASTER: u16 = 1 << 2;

/// Sets and clears bits; `config` is a file in which the configuration space begins at `offset`.
pub(crate) fn change(config: impl AsFd, offset: u64, set: u16, clear: u16) -> io::Result<()> {
    let mut bytes = [0; 2];
    pread(&config, &mut bytes, offset + COMMAND)?;
    let value = u16::from_le_bytes(bytes) & !clear | set;
    pwrite(&config, &value.to_le_bytes(), offset + COMMAND)?;
    Ok(())
}
