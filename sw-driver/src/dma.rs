//! Memory that a program shares with a card: mappings, and an allocator of pieces in them.
//!
//! A transport makes [`SharedMemory`] and lets the card reach it; [`Arenas`] cuts it up. The card, or another process, changes the
//! memory at any time, so that no reference to it exists: all copies are atomic, word by word, in ascending order. A copy to the
//! program is an acquire and one from it a release: who reads a sequence number first and the record after it sees the record whole.

use crate::{Error, Result};
use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags, SealFlags};
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{fence, AtomicU64, AtomicU8, Ordering};

mod arenas;

pub use arenas::Arenas;

/// Bytes of a huge page, and of the smallest arena.
pub const HUGE_PAGE: usize = 2 << 20;
const WORD: usize = 8;

/// A file's memory, mapped.
#[derive(Debug)]
pub struct SharedMemory {
    file: OwnedFd,
    start: *mut u8,
    bytes: usize,
    huge: bool,
}

// SAFETY: the mapping belongs to this value alone, and its bytes are reached by atomic copies only.
unsafe impl Send for SharedMemory {}
// SAFETY: as above: a shared reference gives atomic copies.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Zeroed memory of an unnamed file that cannot shrink, of huge pages if there are enough. `bytes` is rounded up to huge pages.
    pub fn new(bytes: usize) -> Result<SharedMemory> {
        let bytes = bytes.max(1).next_multiple_of(HUGE_PAGE);
        let attempt = |flags: MemfdFlags, huge: bool| -> std::io::Result<SharedMemory> {
            let file = memfd_create("spindle", flags | MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
            ftruncate(&file, bytes as u64)?;
            fcntl_add_seals(&file, SealFlags::SHRINK)?;
            SharedMemory::map(file, bytes, huge)
        };
        attempt(MemfdFlags::HUGETLB, true).or_else(|_| attempt(MemfdFlags::empty(), false)).map_err(|error| {
            Error::Memory(format!("{bytes} bytes cannot be had: {error}; close programs or ask for less"))
        })
    }

    /// Maps the first bytes of a file, and has all of them present.
    pub fn map(file: OwnedFd, bytes: usize, huge: bool) -> std::io::Result<SharedMemory> {
        SharedMemory::map_as(file, bytes, huge, MapFlags::SHARED | MapFlags::POPULATE)
    }

    /// Maps the first bytes of a file of another program, whose pages come as they are touched.
    pub fn map_lazily(file: OwnedFd, bytes: usize) -> std::io::Result<SharedMemory> {
        SharedMemory::map_as(file, bytes, false, MapFlags::SHARED)
    }

    fn map_as(file: OwnedFd, bytes: usize, huge: bool, flags: MapFlags) -> std::io::Result<SharedMemory> {
        // SAFETY: the system chooses the place, so that no other mapping is replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags, &file, 0) }?;
        Ok(SharedMemory { file, start: start.cast(), bytes, huge })
    }

    /// Its file.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Its address in this program.
    pub fn address(&self) -> u64 {
        self.start as u64
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it lies in huge pages.
    pub fn huge(&self) -> bool {
        self.huge
    }

    fn check(&self, offset: usize, bytes: usize) -> Result<()> {
        match offset.checked_add(bytes).is_some_and(|end| end <= self.bytes) {
            true => Ok(()),
            false => {
                Err(Error::Memory(format!("{bytes} bytes at {offset:#x} are not in a mapping of {} bytes", self.bytes)))
            }
        }
    }

    fn byte(&self, offset: usize) -> &AtomicU8 {
        // SAFETY: callers have checked the offset, and all accesses are atomic.
        unsafe { AtomicU8::from_ptr(self.start.add(offset)) }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as above; the start is aligned to a page and the offset to a word.
        unsafe { AtomicU64::from_ptr(self.start.add(offset).cast()) }
    }

    /// Copies bytes of the memory to the program.
    pub fn read(&self, offset: usize, to: &mut [u8]) -> Result<()> {
        self.check(offset, to.len())?;
        let head = (offset.next_multiple_of(WORD) - offset).min(to.len());
        let (first, rest) = to.split_at_mut(head);
        let mut words = rest.chunks_exact_mut(WORD);
        let mut at = offset;
        for byte in first {
            *byte = self.byte(at).load(Ordering::Relaxed);
            at += 1;
        }
        for word in &mut words {
            word.copy_from_slice(&self.word(at).load(Ordering::Relaxed).to_ne_bytes());
            at += WORD;
        }
        for byte in words.into_remainder() {
            *byte = self.byte(at).load(Ordering::Relaxed);
            at += 1;
        }
        fence(Ordering::Acquire);
        Ok(())
    }

    /// Copies bytes of the program to the memory.
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<()> {
        self.check(offset, from.len())?;
        fence(Ordering::Release);
        let head = (offset.next_multiple_of(WORD) - offset).min(from.len());
        let (first, rest) = from.split_at(head);
        let words = rest.chunks_exact(WORD);
        let last = words.remainder();
        let mut at = offset;
        for byte in first {
            self.byte(at).store(*byte, Ordering::Relaxed);
            at += 1;
        }
        for word in words {
            let word = u64::from_ne_bytes(word.try_into().expect("chunks are words"));
            self.word(at).store(word, Ordering::Relaxed);
            at += WORD;
        }
        for byte in last {
            self.byte(at).store(*byte, Ordering::Relaxed);
            at += 1;
        }
        Ok(())
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no reference into it outlives a call.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_begin_and_end_anywhere() {
        let memory = SharedMemory::new(1).unwrap();
        assert_eq!(memory.bytes(), HUGE_PAGE);
        for offset in 0..9 {
            for bytes in 0..40 {
                let data: Vec<u8> = (0..bytes).map(|i| (i * 7 + offset + 1) as u8).collect();
                memory.write(offset, &data).unwrap();
                let mut back = vec![0; bytes];
                memory.read(offset, &mut back).unwrap();
                assert_eq!(back, data);
            }
        }
        assert!(memory.read(HUGE_PAGE - 3, &mut [0; 4]).is_err() && memory.write(usize::MAX, &[0]).is_err());
        memory.write(HUGE_PAGE - 4, &[1; 4]).unwrap();
    }

    #[test]
    fn the_file_has_the_bytes_and_cannot_shrink() {
        use std::os::unix::fs::FileExt;
        let memory = SharedMemory::new(1).unwrap();
        memory.write(100, b"spindle").unwrap();
        let file = std::fs::File::from(memory.file().try_clone_to_owned().unwrap());
        if !memory.huge() {
            let mut bytes = [0; 7];
            file.read_exact_at(&mut bytes, 100).unwrap();
            assert_eq!(&bytes, b"spindle");
        }
        assert!(file.set_len(0).is_err());
    }

    #[test]
    fn a_copy_ends_with_the_last_byte() {
        let memory = SharedMemory::new(HUGE_PAGE + 1).unwrap();
        assert_eq!(memory.bytes(), 2 * HUGE_PAGE);
        let last = memory.bytes();
        memory.write(last - 8, &[1; 8]).unwrap();
        memory.write(last, &[]).unwrap();
        memory.read(last, &mut []).unwrap();
        for (offset, bytes) in [(last, 1), (last - 7, 8), (usize::MAX, 2)] {
            let sentence = format!("host memory: {bytes} bytes at {offset:#x} are not in a mapping of {last} bytes");
            assert_eq!(memory.write(offset, &vec![0; bytes]).unwrap_err().to_string(), sentence);
            assert_eq!(memory.read(offset, &mut vec![0; bytes]).unwrap_err().to_string(), sentence);
        }
        let mut back = [0; 8];
        memory.read(last - 8, &mut back).unwrap();
        assert_eq!(back, [1; 8], "what is refused is not written in part");
    }

    #[test]
    fn a_mapping_is_the_memory_of_its_file() {
        use std::os::unix::fs::FileExt;
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        file.write_all_at(b"spindle", 4093).unwrap();
        let fd = || OwnedFd::from(file.try_clone().unwrap());
        for (memory, huge) in [
            (SharedMemory::map(fd(), 8192, true).unwrap(), true),
            (SharedMemory::map(fd(), 8192, false).unwrap(), false),
            (SharedMemory::map_lazily(fd(), 8192).unwrap(), false),
        ] {
            assert_eq!((memory.bytes(), memory.huge(), memory.address() % 4096), (8192, huge, 0));
            let mut bytes = [0; 7];
            memory.read(4093, &mut bytes).unwrap();
            assert_eq!(&bytes, b"spindle");
            let own = std::fs::File::open("/proc/self/mem").unwrap();
            own.read_exact_at(&mut bytes, memory.address() + 4093).unwrap();
            assert_eq!(&bytes, b"spindle");
        }
    }

    #[test]
    fn a_mapping_goes_with_its_owner() {
        crate::transport::fake::mapping_goes_with_its_owner(|file| {
            SharedMemory::map(file.try_clone().unwrap().into(), 4096, false).unwrap()
        });
    }
}
