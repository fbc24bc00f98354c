//! Memory that a client has given to a function: what the function's DMA reaches.
//!
//! Each file is mapped once, by its device and inode, however many maps there are of it: a virtual machine with 4 KiB pages maps
//! 4 MiB by 1,024 messages. Only a file that is sealed against shrinking is mapped: the server would die of SIGBUS at the first
//! access after a client's `ftruncate`. All other files, such as `/proc/self/mem`, are read and written by calls.

use crate::dma::SharedMemory;
use rustix::fs::{fcntl_get_seals, fstat, SealFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Most maps of a client, as of the kernel's IOMMU driver.
const MOST_MAPS: usize = 65_535;

/// A map that a client requests.
#[derive(Debug)]
pub struct MapRequest {
    /// Addresses by which the function knows the memory.
    pub range: Range<u64>,
    /// The function may read it.
    pub readable: bool,
    /// The function may write it.
    pub writable: bool,
    /// The file with the memory, and where the memory begins in the file; without one, the memory cannot be reached.
    pub file: Option<(Arc<File>, u64)>,
}

/// Memory, reachable in one way or another.
#[derive(Clone, Debug)]
enum Backing {
    /// The client alone reaches the memory.
    Unreachable,
    /// Mapped; the offset of the map's first byte.
    Mapped(Arc<SharedMemory>, u64),
    /// By calls; likewise.
    Called(Arc<File>, u64),
}

#[derive(Debug)]
struct Map {
    end: u64,
    readable: bool,
    writable: bool,
    backing: Backing,
}

/// Device and inode of a file, and whether the mapping can be written.
type Key = (u64, u64);

#[derive(Debug, Default)]
struct Table {
    maps: BTreeMap<u64, Map>,
    files: BTreeMap<Key, Weak<SharedMemory>>,
    master: bool,
}

/// All memory that a client has given. Clones are the same table.
#[derive(Clone, Debug, Default)]
pub struct DmaTable(Arc<Mutex<Table>>);

/// What a part of an access does with its map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

impl DmaTable {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads memory of the client. Nothing is read unless all bytes may be.
    ///
    /// # Errors
    /// `EACCES`: the function is no bus master. `EFAULT`: a byte is in no map that may be read. `EIO`: the client's file has lost it.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        self.lock().access(address, bytes.len(), Direction::Read, |part, backing, offset| match backing {
            Backing::Mapped(memory, _) => memory.read(offset as usize, &mut bytes[part]).map_err(|_| Errno::FAULT),
            Backing::Called(file, _) => file.read_exact_at(&mut bytes[part], offset).map_err(|_| Errno::IO),
            Backing::Unreachable => Err(Errno::FAULT),
        })
    }

    /// Writes memory of the client, in ascending order. Nothing is written unless all bytes may be.
    ///
    /// # Errors
    /// As of [`DmaTable::read`].
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.lock().access(address, bytes.len(), Direction::Write, |part, backing, offset| match backing {
            Backing::Mapped(memory, _) => memory.write(offset as usize, &bytes[part]).map_err(|_| Errno::FAULT),
            Backing::Called(file, _) => file.write_all_at(&bytes[part], offset).map_err(|_| Errno::IO),
            Backing::Unreachable => Err(Errno::FAULT),
        })
    }

    /// Whether any part of the range is mapped.
    pub fn touches(&self, range: &Range<u64>) -> bool {
        let table = self.lock();
        let before = table.maps.range(..range.end).next_back();
        before.is_some_and(|(_, map)| map.end > range.start)
    }

    /// All maps, by their addresses.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        self.lock().maps.iter().map(|(start, map)| *start..map.end).collect()
    }

    pub(super) fn set_master(&self, master: bool) {
        self.lock().master = master;
    }

    /// Enters a map.
    ///
    /// # Errors
    /// `EINVAL`: no bytes, an end beyond all addresses, no right, or an offset beyond the end of a file that is mapped.
    /// `EEXIST`: a part is mapped. `ENOSPC`: too many maps.
    pub(super) fn map(&self, request: &MapRequest) -> Result<(), Errno> {
        self.check(request)?;
        let mut table = self.lock();
        let backing = match &request.file {
            None => Backing::Unreachable,
            Some((file, offset)) => table.backing(file, *offset, request.range.end - request.range.start)?,
        };
        let map = Map { end: request.range.end, readable: request.readable, writable: request.writable, backing };
        table.maps.insert(request.range.start, map);
        Ok(())
    }

    /// Whether a map can be entered.
    pub(super) fn check(&self, request: &MapRequest) -> Result<(), Errno> {
        let bytes = request.range.end.saturating_sub(request.range.start);
        if bytes == 0 || !(request.readable || request.writable) {
            return Err(Errno::INVAL);
        }
        if request.file.as_ref().is_some_and(|(_, offset)| offset.checked_add(bytes).is_none()) {
            return Err(Errno::INVAL);
        }
        match () {
            _ if self.touches(&request.range) => Err(Errno::EXIST),
            _ if self.lock().maps.len() >= MOST_MAPS => Err(Errno::NOSPC),
            _ => Ok(()),
        }
    }

    /// Removes all maps in a range. None at all is no error.
    ///
    /// # Errors
    /// `EINVAL`: a map is only partly in the range. Nothing is removed.
    pub(super) fn unmap(&self, range: &Range<u64>) -> Result<(), Errno> {
        self.check_unmap(range)?;
        let mut table = self.lock();
        table.maps.retain(|start, _| !range.contains(start));
        table.files.retain(|_, memory| memory.strong_count() > 0);
        Ok(())
    }

    /// Whether no map is only partly in the range.
    pub(super) fn check_unmap(&self, range: &Range<u64>) -> Result<(), Errno> {
        let table = self.lock();
        let split = |at: u64| table.maps.range(..at).next_back().is_some_and(|(_, map)| map.end > at);
        match split(range.start) || split(range.end) {
            true => Err(Errno::INVAL),
            false => Ok(()),
        }
    }

    pub(super) fn clear(&self) {
        *self.lock() = Table::default();
    }

    /// Files that are mapped at present.
    pub fn mapped_files(&self) -> usize {
        self.lock().files.values().filter(|memory| memory.strong_count() > 0).count()
    }
}

impl Table {
    /// Copies part by part, after it is known that every part may be: the part, its backing, its offset there. The table is locked
    /// meanwhile, so that nothing is copied after the reply to an unmap.
    fn access(
        &self,
        address: u64,
        bytes: usize,
        direction: Direction,
        mut copy: impl FnMut(Range<usize>, &Backing, u64) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        if !self.master {
            return Err(Errno::ACCESS);
        }
        let end = address.checked_add(bytes as u64).ok_or(Errno::FAULT)?;
        for copies in [false, true] {
            let mut at = address;
            while at < end {
                let (map_end, backing, offset) = self.locate(at, direction).ok_or(Errno::FAULT)?;
                let next = end.min(map_end);
                if copies {
                    copy((at - address) as usize..(next - address) as usize, backing, offset)?;
                }
                at = next;
            }
        }
        Ok(())
    }

    /// End of the map with this address, its backing, and the offset there; `None` if there is no map with the right.
    fn locate(&self, address: u64, direction: Direction) -> Option<(u64, &Backing, u64)> {
        let (start, map) = self.maps.range(..=address).next_back()?;
        let allowed = if direction == Direction::Read { map.readable } else { map.writable };
        let offset = match &map.backing {
            Backing::Unreachable => return None,
            Backing::Mapped(_, offset) | Backing::Called(_, offset) => offset + (address - start),
        };
        (address < map.end && allowed).then_some((map.end, &map.backing, offset))
    }

    fn backing(&mut self, file: &Arc<File>, offset: u64, bytes: u64) -> Result<Backing, Errno> {
        let sealed = fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        if !sealed {
            return Ok(Backing::Called(file.clone(), offset));
        }
        let status = fstat(file)?;
        let end = offset + bytes;
        if end > status.st_size as u64 {
            return Err(Errno::INVAL);
        }
        let key = (status.st_dev, status.st_ino);
        let known = self.files.get(&key).and_then(Weak::upgrade).filter(|memory| end <= memory.bytes() as u64);
        if let Some(memory) = known {
            return Ok(Backing::Mapped(memory, offset));
        }
        let fd: OwnedFd = file.try_clone().map_err(|_| Errno::MFILE)?.into();
        match SharedMemory::map_lazily(fd, status.st_size as usize) {
            Ok(memory) => {
                let memory = Arc::new(memory);
                self.files.insert(key, Arc::downgrade(&memory));
                Ok(Backing::Mapped(memory, offset))
            }
            // A file that cannot be mapped so, such as one that is read-only: calls find out what can be done.
            Err(_) => Ok(Backing::Called(file.clone(), offset)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(range: Range<u64>) -> MapRequest {
        MapRequest { range, readable: true, writable: true, file: None }
    }

    #[test]
    fn a_client_has_as_many_maps_as_the_kernel_gives() {
        let table = DmaTable::default();
        let page = |number: u64| 0x1000 * number..0x1000 * (number + 1);
        for number in 0..65_535 {
            table.map(&request(page(number))).unwrap();
        }
        assert_eq!(table.map(&request(page(65_535))), Err(Errno::NOSPC));
        assert_eq!(table.ranges().len(), 65_535);
        table.unmap(&page(7)).unwrap();
        table.map(&request(page(65_535))).unwrap();
        table.clear();
        assert_eq!(table.ranges(), []);
    }

    #[test]
    fn a_map_has_bytes_a_right_and_a_place_in_its_file() {
        let table = DmaTable::default();
        let file = Arc::new(tempfile::tempfile().unwrap());
        let with = |offset: u64| MapRequest { file: Some((file.clone(), offset)), ..request(0x1000..0x2000) };
        for wrong in [
            request(0x1000..0x1000),
            request(std::ops::Range { start: 0x2000, end: 0x1000 }),
            MapRequest { readable: false, writable: false, ..request(0x1000..0x2000) },
            with(u64::MAX - 0xFFF),
        ] {
            assert_eq!(table.check(&wrong), Err(Errno::INVAL), "{wrong:?}");
            assert_eq!(table.map(&wrong), Err(Errno::INVAL));
        }
        for right in [
            MapRequest { readable: false, ..request(0x1000..0x2000) },
            MapRequest { writable: false, ..request(0x1000..0x2000) },
            with(u64::MAX - 0x1000),
        ] {
            table.check(&right).unwrap();
        }
        assert_eq!(table.ranges(), []);
    }

    /// A sealed file of so many pages.
    fn sealed(pages: u64) -> Arc<File> {
        use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags};
        let fd = memfd_create("test", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&fd, 4096 * pages).unwrap();
        fcntl_add_seals(&fd, SealFlags::SHRINK).unwrap();
        Arc::new(File::from(fd))
    }

    #[test]
    fn a_sealed_file_is_mapped_up_to_its_end_and_again_when_it_has_grown() {
        let table = DmaTable::default();
        table.set_master(true);
        let (file, other) = (sealed(2), sealed(1));
        let map = |file: &Arc<File>, address: u64, offset: u64, bytes: u64| {
            let file = Some((file.clone(), offset));
            table.map(&MapRequest { file, ..request(address..address + bytes) })
        };
        assert_eq!(map(&file, 0x1000, 0x1000, 0x1001), Err(Errno::INVAL), "a byte after its end");
        map(&file, 0x1000, 0x1000, 0x1000).unwrap();
        map(&file, 0x4000, 0, 0x2000).unwrap();
        assert_eq!(table.mapped_files(), 1, "both are one mapping");
        map(&other, 0x8000, 0, 0x1000).unwrap();
        assert_eq!(table.mapped_files(), 2);
        table.write(0x1FFF, &[7]).unwrap();
        let mut byte = [0];
        table.read(0x5FFF, &mut byte).unwrap();
        assert_eq!(byte, [7], "it is the same byte of the file");
        file.set_len(4096 * 4).unwrap();
        map(&file, 0x1_0000, 0x2000, 0x2000).unwrap();
        table.write(0x1_0000, &[9]).unwrap();
        file.read_exact_at(&mut byte, 0x2000).unwrap();
        assert_eq!(byte, [9]);
        table.unmap(&(0x8000..0x9000)).unwrap();
        assert_eq!(table.mapped_files(), 1);
        table.unmap(&(0..u64::MAX)).unwrap();
        assert_eq!(table.mapped_files(), 0);
        assert!(table.lock().files.is_empty(), "what no map has is forgotten");
    }

    #[test]
    fn an_access_of_no_bytes_reaches_nothing() {
        let table = DmaTable::default();
        assert_eq!(table.read(0, &mut []), Err(Errno::ACCESS));
        table.set_master(true);
        table.read(0, &mut []).unwrap();
        table.write(u64::MAX, &[]).unwrap();
        assert_eq!(table.write(0, &[1]), Err(Errno::FAULT));
        assert!(!table.touches(&(0..u64::MAX)));
    }
}
