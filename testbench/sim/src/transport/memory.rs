//! Memory of this process that a simulated card reaches.

use crate::host_memory::{Backing, Reached, Unreachable};
use spindle::dma::SharedMemory;
use spindle::{Error, Result};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

/// Memory that was allocated for cards, at the address by which they know it.
#[derive(Debug)]
pub struct Arena {
    base: u64,
    memory: SharedMemory,
}

impl Arena {
    /// A second mapping of this memory, for the card.
    ///
    /// # Errors
    /// The system has no room for it.
    pub fn of(memory: &SharedMemory, base: u64) -> Result<Arena> {
        let again = memory
            .file()
            .try_clone_to_owned()
            .and_then(|file| SharedMemory::map(file, memory.bytes(), memory.huge()))
            .map_err(|error| Error::Memory(format!("{} bytes cannot be mapped: {error}", memory.bytes())))?;
        Ok(Arena { base, memory: again })
    }
}

impl Backing for Arena {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Reached {
        self.memory.read((address - self.base) as usize, bytes).map_err(|_| Unreachable)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Reached {
        self.memory.write((address - self.base) as usize, bytes).map_err(|_| Unreachable)
    }
}

/// Memory of this program at its own addresses, by the file that the system gives of it: bytes that the program has unmapped are
/// an error, and no crash.
#[derive(Debug)]
pub struct ProcessMemory(File);

impl ProcessMemory {
    /// # Errors
    /// The system does not give the file.
    pub fn open() -> Result<ProcessMemory> {
        let path = "/proc/self/mem";
        OpenOptions::new().read(true).write(true).open(path).map(ProcessMemory).map_err(|source| Error::Transport {
            action: format!("open {path}"),
            source,
            cure: "mount /proc, and let the program read and write its own memory".into(),
        })
    }
}

impl Backing for ProcessMemory {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Reached {
        self.0.read_exact_at(bytes, address).map_err(|_| Unreachable)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Reached {
        self.0.write_all_at(bytes, address).map_err(|_| Unreachable)
    }
}
