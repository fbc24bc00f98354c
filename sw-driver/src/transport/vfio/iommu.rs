//! The IOMMU of a VFIO container: what of this program the card reaches, and at which addresses.

use super::ioctl::{self, IommuInfo};
use crate::dma::{Arenas, SharedMemory, HUGE_PAGE};
use crate::transport::pages::{MapPages, Pages};
use crate::{Error, Result};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::{getrlimit, Resource};
use std::collections::BTreeMap;
use std::io;
use std::ops::{Range, RangeInclusive};

/// Memory of `alloc` lies from here on: above what devices and firmware reserve, and below where Linux places programs.
const FIRST_WINDOW: u64 = 4 << 30;
/// In an IOMMU with fewer addresses, from here on.
const LOW_WINDOW: u64 = 16 << 20;

/// A container with its IOMMU.
#[derive(Debug)]
pub struct Iommu {
    /// Its memory for `alloc`.
    pub memory: Arenas,
    pages: Option<Pages>,
    /// Memory of other programs, by the card's first address.
    files: BTreeMap<u64, (u64, SharedMemory)>,
    container: Container,
}

#[derive(Debug)]
struct Container {
    file: OwnedFd,
    info: IommuInfo,
    /// First address that no arena has had.
    next: u64,
}

impl Iommu {
    /// The IOMMU of a container that has one.
    pub fn new(file: OwnedFd) -> io::Result<Iommu> {
        let info = ioctl::iommu_info(file.as_fd())?;
        let smallest = 1u64.checked_shl(info.page_sizes.trailing_zeros()).unwrap_or(0);
        let page = smallest.max(rustix::param::page_size() as u64);
        Ok(Iommu {
            memory: Arenas::default(),
            pages: Some(Pages::new(page)),
            files: BTreeMap::new(),
            container: Container { file, info, next: LOW_WINDOW },
        })
    }

    /// An IOMMU with these ranges, whose container is a plain file that takes no map.
    #[cfg(test)]
    pub fn of_file(ranges: Vec<RangeInclusive<u64>>) -> Iommu {
        let info = IommuInfo { page_sizes: 4096, ranges };
        let file = tempfile::tempfile().expect("a file can be made").into();
        Iommu {
            memory: Arenas::default(),
            pages: Some(Pages::new(4096)),
            files: BTreeMap::new(),
            container: Container { file, info, next: LOW_WINDOW },
        }
    }

    /// Memory that the card reaches.
    pub fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        let container = &mut self.container;
        self.memory.alloc(bytes, align, |bytes| container.new_arena(bytes))
    }

    /// Lets the card reach a range of the program at its own addresses.
    pub fn map(&mut self, range: &Range<u64>) -> Result<()> {
        self.container.check(range)?;
        self.pages.as_mut().ok_or_else(closed)?.map(range, &mut self.container)
    }

    /// Takes such a range back.
    pub fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        self.pages.as_mut().ok_or_else(closed)?.unmap(range, &mut self.container)
    }

    /// Lets the card reach a file's bytes from `offset`, at these addresses. Nothing of the file is touched here, so its
    /// owner may cut it: the pages stay until they are taken back.
    pub fn map_file(&mut self, file: BorrowedFd<'_>, offset: u64, range: &Range<u64>) -> Result<()> {
        self.pages.as_ref().ok_or_else(closed)?;
        self.container.check(range)?;
        let bytes = range.end - range.start;
        let end = offset.checked_add(bytes).ok_or_else(|| cannot_map(bytes, io::ErrorKind::InvalidInput.into()))?;
        let file = file.try_clone_to_owned().map_err(|error| cannot_map(bytes, error))?;
        let memory = SharedMemory::map_lazily(file, end as usize).map_err(|error| cannot_map(bytes, error))?;
        // SAFETY: the mapping is kept until the range is taken back, and this program does not touch it.
        unsafe { ioctl::map(self.container.file.as_fd(), memory.address() + offset, range.start, bytes) }
            .map_err(|error| cannot_map(bytes, error))?;
        self.files.insert(range.start, (range.end, memory));
        Ok(())
    }

    /// Takes such addresses back.
    pub fn unmap_file(&mut self, range: &Range<u64>) -> Result<()> {
        match self.files.get(&range.start) {
            Some((end, _)) if *end == range.end => {}
            _ => {
                return Err(Error::Argument(format!(
                    "no file is mapped at {:#x} to {:#x}; give the addresses that were mapped",
                    range.start, range.end
                )))
            }
        }
        self.container.unmap_pages(range)?;
        self.files.remove(&range.start);
        Ok(())
    }

    /// Takes everything back: the card reaches nothing after it.
    pub fn close(&mut self) -> Result<()> {
        let Some(mut pages) = self.pages.take() else { return Ok(()) };
        pages.unmap_all(&mut self.container)?;
        for (start, (end, memory)) in std::mem::take(&mut self.files) {
            self.container.unmap_pages(&(start..end))?;
            drop(memory);
        }
        let arenas: Vec<Range<u64>> =
            self.memory.iter().map(|(base, memory)| base..base + memory.bytes() as u64).collect();
        arenas.iter().try_for_each(|arena| self.container.unmap_pages(arena))
    }
}

fn closed() -> Error {
    Error::Memory("the card was closed; open it again".into())
}

impl Container {
    fn new_arena(&mut self, bytes: usize) -> Result<(SharedMemory, u64)> {
        let memory = SharedMemory::new(bytes)?;
        let (address, bytes) = (memory.address(), memory.bytes() as u64);
        let high = window(&self.info.ranges, self.next.max(FIRST_WINDOW), bytes);
        let base = high
            .or_else(|| window(&self.info.ranges, self.next, bytes))
            .ok_or_else(|| Error::Memory(format!("the IOMMU has no {bytes} addresses in a row; ask for less")))?;
        // SAFETY: the arena is kept by `Arenas`, whose copies are atomic, until `close` has taken it back.
        unsafe { ioctl::map(self.file.as_fd(), address, base, bytes) }.map_err(|error| cannot_map(bytes, error))?;
        self.next = base + bytes;
        Ok((memory, base))
    }

    /// Refuses a range of the program that the IOMMU cannot map at its own address.
    fn check(&self, range: &Range<u64>) -> Result<()> {
        let ranges = &self.info.ranges;
        let inside = |usable: &RangeInclusive<u64>| {
            *usable.start() <= range.start && range.end <= usable.end().saturating_add(1)
        };
        if ranges.is_empty() || ranges.iter().any(inside) {
            return Ok(());
        }
        Err(Error::Memory(format!(
            "the IOMMU cannot map {:#x} to {:#x} at the program's own addresses, its last one is {:#x}; \
             use memory that the library allocates",
            range.start,
            range.end,
            ranges.iter().map(|usable| *usable.end()).max().unwrap_or(0)
        )))
    }
}

impl MapPages for Container {
    fn map_pages(&mut self, pages: &Range<u64>) -> Result<()> {
        let bytes = pages.end - pages.start;
        // SAFETY: the owner of the range has given it to the card: it stays mapped and is copied, not borrowed, until it is unmapped.
        unsafe { ioctl::map(self.file.as_fd(), pages.start, pages.start, bytes) }
            .map_err(|error| cannot_map(bytes, error))
    }

    fn unmap_pages(&mut self, pages: &Range<u64>) -> Result<()> {
        ioctl::unmap(self.file.as_fd(), pages.start, pages.end - pages.start).map_err(|source| Error::Transport {
            action: "take memory back from the card".into(),
            source,
            cure: "close the card".into(),
        })
    }
}

/// Room for an arena: the first addresses from `from` on in a range of the IOMMU, aligned to a huge page.
fn window(ranges: &[RangeInclusive<u64>], from: u64, bytes: u64) -> Option<u64> {
    let all = [0..=u64::MAX >> 16];
    let ranges = if ranges.is_empty() { &all[..] } else { ranges };
    ranges.iter().find_map(|range| {
        let start = (*range.start()).max(from).checked_next_multiple_of(HUGE_PAGE as u64)?;
        (start.checked_add(bytes - 1)? <= *range.end()).then_some(start)
    })
}

/// Why memory cannot be mapped, and what to do.
fn cannot_map(bytes: u64, source: io::Error) -> Error {
    let action = format!("let the card reach {bytes} bytes of memory");
    let cure = match source.raw_os_error() {
        Some(libc::ENOMEM) => memlock_cure(getrlimit(Resource::Memlock).current),
        Some(libc::EFAULT) => "give memory that the program has mapped and may write".into(),
        Some(libc::ENOSPC) => {
            "register fewer and larger ranges, or raise dma_entry_limit of the module vfio_iommu_type1".into()
        }
        Some(libc::EEXIST) => "the card knows other memory by these addresses; unmap it first".into(),
        _ => "see the reason in the kernel's log (`dmesg`)".into(),
    };
    Error::Transport { action, source, cure }
}

/// Memory that a card reaches is locked, and RLIMIT_MEMLOCK bounds it.
fn memlock_cure(limit: Option<u64>) -> String {
    match limit {
        Some(limit) => format!(
            "RLIMIT_MEMLOCK is {} KiB, and memory that the card reaches counts: raise it by `ulimit -l unlimited` as root, by a line \
             `@spindle - memlock unlimited` in /etc/security/limits.d/spindle.conf, or by LimitMEMLOCK=infinity in a unit of systemd",
            limit >> 10
        ),
        None => "the machine has too little memory that can be locked; end other programs".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arenas_lie_in_the_ranges_of_the_iommu() {
        let ranges = [0..=0xFEDF_FFFF, 0xFEF0_0000..=0x7F_FFFF_FFFF];
        let huge = HUGE_PAGE as u64;
        assert_eq!(window(&ranges, FIRST_WINDOW, huge), Some(FIRST_WINDOW));
        assert_eq!(window(&ranges, FIRST_WINDOW + 1, huge), Some(FIRST_WINDOW + huge));
        assert_eq!(window(&ranges, 0x80_0000_0000 - huge, huge), Some(0x80_0000_0000 - huge));
        assert_eq!(window(&ranges, 0x80_0000_0000, huge), None);
        // An IOMMU of 32 bits.
        assert_eq!(window(&ranges[..1], FIRST_WINDOW, huge), None);
        assert_eq!(window(&ranges[..1], LOW_WINDOW, huge), Some(LOW_WINDOW));
        // One that does not give its ranges.
        assert_eq!(window(&[], FIRST_WINDOW, huge), Some(FIRST_WINDOW));
    }

    #[test]
    fn memory_that_cannot_be_mapped_is_a_sentence_with_a_cure() {
        let sentence = |code| cannot_map(4096, io::Error::from_raw_os_error(code)).to_string();
        assert!(sentence(libc::ENOMEM).starts_with("cannot let the card reach 4096 bytes of memory: "));
        assert!(sentence(libc::ENOSPC).contains("dma_entry_limit"));
        assert!(sentence(libc::EFAULT).contains("may write"));
        assert!(sentence(libc::EEXIST).contains("unmap it first"));
        assert!(sentence(libc::EINVAL).contains("dmesg"));
        let limit = memlock_cure(Some(8 << 20));
        assert!(limit.contains("RLIMIT_MEMLOCK is 8192 KiB") && limit.contains("`ulimit -l unlimited`"), "{limit}");
        assert!(!memlock_cure(None).contains("RLIMIT"));
    }

    const MAPPED: Range<u64> = 0x10_0000..0x20_0000;

    #[test]
    fn a_container_that_is_none_has_no_iommu() {
        let error = Iommu::new(tempfile::tempfile().unwrap().into()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }

    #[test]
    fn a_range_lies_whole_in_a_range_of_the_iommu() {
        let check =
            |ranges: &[RangeInclusive<u64>], range: Range<u64>| Iommu::of_file(ranges.to_vec()).container.check(&range);
        let ranges = [0x1000..=0x1FFF, 0x4000..=u64::MAX];
        for good in [0x1000..0x2000, 0x1800..0x1801, 0x4000..u64::MAX, 0x1FFF..0x2000] {
            check(&ranges, good.clone()).unwrap_or_else(|error| panic!("{good:x?}: {error}"));
            check(&[], good).unwrap();
        }
        for bad in [0xFFF..0x2000, 0x1000..0x2001, 0x1800..0x5000, 0x3FFF..0x5000, 0x2000..0x3000] {
            let error = check(&ranges[..], bad.clone()).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "host memory: the IOMMU cannot map {:#x} to {:#x} at the program's own addresses, its last one is \
                     0xffffffffffffffff; use memory that the library allocates",
                    bad.start, bad.end
                )
            );
        }
    }

    /// The container is a plain file: the system refuses every map, and nothing is entered.
    #[test]
    fn what_the_system_refuses_to_map_is_not_mapped() {
        let mut iommu = Iommu::of_file(vec![0x1000..=0xFF_FFFF, 4 << 30..=8 << 30]);
        let refused = |result: Result<()>| {
            let error = result.unwrap_err().to_string();
            assert!(error.starts_with("cannot let the card reach"), "{error}");
        };
        refused(iommu.alloc(100, 64).map(drop));
        refused(iommu.map(&MAPPED));
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        refused(iommu.map_file(file.as_fd(), 0, &MAPPED));
        assert!(iommu.map(&(0..0x1000)).unwrap_err().to_string().contains("the IOMMU cannot map"));
        assert!(iommu
            .map_file(file.as_fd(), 0, &(0..0x1000))
            .unwrap_err()
            .to_string()
            .contains("the IOMMU cannot map"));
        refused(iommu.map_file(file.as_fd(), u64::MAX - 10, &MAPPED));
        assert!(iommu.unmap(&MAPPED).unwrap_err().to_string().contains("is not mapped for the card"));
        let error = iommu.unmap_file(&MAPPED).unwrap_err().to_string();
        assert_eq!(error, "no file is mapped at 0x100000 to 0x200000; give the addresses that were mapped");
        iommu.close().unwrap();
        iommu.close().unwrap();
        let closed = "host memory: the card was closed; open it again";
        for result in [iommu.map(&MAPPED), iommu.unmap(&MAPPED), iommu.map_file(file.as_fd(), 0, &MAPPED)] {
            assert_eq!(result.unwrap_err().to_string(), closed);
        }
    }

    #[test]
    fn a_file_is_taken_back_by_the_addresses_that_it_has() {
        let mut iommu = Iommu::of_file(vec![]);
        let memory = SharedMemory::new(1).unwrap();
        iommu.files.insert(MAPPED.start, (MAPPED.end, memory));
        for range in [MAPPED.start..MAPPED.end - 1, MAPPED.start + 1..MAPPED.end] {
            let error = iommu.unmap_file(&range).unwrap_err().to_string();
            assert!(error.contains("no file is mapped at"), "{error}");
        }
        // Of a container that is none the system takes nothing back, so it stays.
        for _ in 0..2 {
            let error = iommu.unmap_file(&MAPPED).unwrap_err().to_string();
            assert!(error.starts_with("cannot take memory back from the card: "), "{error}");
        }
        assert!(iommu.close().is_err());
    }

    #[test]
    fn arenas_come_one_after_another_and_skip_what_is_reserved() {
        let huge = HUGE_PAGE as u64;
        let ranges = [0..=3 * huge - 1, 5 * huge + 1..=10 * huge - 1];
        assert_eq!(window(&ranges, 0, 3 * huge), Some(0));
        assert_eq!(window(&ranges, 0, 3 * huge + 1), Some(6 * huge));
        assert_eq!(window(&ranges, huge, 3 * huge), Some(6 * huge));
        assert_eq!(window(&ranges, 7 * huge, 3 * huge), Some(7 * huge));
        assert_eq!(window(&ranges, 7 * huge, 3 * huge + 1), None);
        assert_eq!(window(&[0..=u64::MAX], u64::MAX - 5, huge), None);
        // The last of all addresses can belong to it.
        assert_eq!(window(&[0..=u64::MAX], u64::MAX - huge + 1, huge), Some(u64::MAX - huge + 1));
        assert_eq!(window(&[], u64::MAX >> 16, 1), None);
    }
}
