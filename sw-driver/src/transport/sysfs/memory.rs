//! Memory for a card without IOMMU: huge pages at physical addresses, in files that have names.
//!
//! The card knows physical addresses, and nothing stops its writes when the program dies. The files keep the pages from other
//! programs until the card has been reset: by this program at its end, or by the next one that opens the card.

use crate::dma::SharedMemory;
use crate::transport::pci::{denied, refusal};
use crate::{Error, Result};
use rustix::fd::OwnedFd;
use rustix::fs::{ftruncate, open, Mode, OFlags};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Pages of the table of physical addresses.
const PAGE: u64 = 4096;
/// Bits of an entry of that table: the page is in memory; its frame.
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

/// The files of a card in a file system of huge pages.
#[derive(Debug)]
pub struct HugeFiles {
    folder: PathBuf,
    prefix: String,
    page: usize,
    pagemap: PathBuf,
    made: Vec<PathBuf>,
}

impl HugeFiles {
    /// Finds the file system. No page is taken yet.
    pub fn find(root: &Path, address: &str) -> Result<HugeFiles> {
        let mounts = fs::read_to_string(root.join("proc/mounts")).unwrap_or_default();
        let (folder, page) = mounts.lines().find_map(mounted).ok_or_else(|| {
            refusal(
                format!("have memory for the card {address}"),
                "no file system of huge pages is mounted",
                "as root: `mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages; echo 64 > /proc/sys/vm/nr_hugepages`",
            )
        })?;
        Ok(HugeFiles {
            folder: root.join(folder.trim_start_matches('/')),
            prefix: format!("spindle-{address}-"),
            page,
            pagemap: root.join("proc/self/pagemap"),
            made: Vec::new(),
        })
    }

    /// Files that an earlier owner left: the card may still write to them.
    pub fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&self.prefix));
        ours.map(|entry| entry.path()).collect()
    }

    /// Whether memory was made.
    pub fn any(&self) -> bool {
        !self.made.is_empty()
    }

    /// Makes a file as that of memory which the card knows.
    #[cfg(test)]
    pub fn make(&mut self) -> PathBuf {
        let (path, _) = self.new_file().expect("a file can be made");
        self.made.push(path.clone());
        path
    }

    /// Removes all files of the card, which must have been reset.
    pub fn remove(&mut self) -> io::Result<()> {
        self.made.clear();
        self.left().iter().try_for_each(fs::remove_file)
    }

    /// Memory in a file of its own, contiguous, and its physical address.
    pub fn new_arena(&mut self, bytes: usize) -> Result<(SharedMemory, u64)> {
        let bytes = bytes.next_multiple_of(self.page);
        let (path, file) = self.new_file()?;
        self.made.push(path.clone());
        let arena = self.fill(file, bytes);
        if arena.is_err() {
            // The card does not know its address yet.
            self.made.pop();
            let _ = fs::remove_file(path);
        }
        arena
    }

    fn new_file(&self) -> Result<(PathBuf, OwnedFd)> {
        for number in 0.. {
            let path = self.folder.join(format!("{}{number}", self.prefix));
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            match open(&path, flags, Mode::RUSR | Mode::WUSR) {
                Err(rustix::io::Errno::EXIST) => {}
                Ok(file) => return Ok((path, file)),
                Err(error) => return Err(denied(&self.folder, "run the program as root", error.into())),
            }
        }
        unreachable!("a folder has fewer files than there are numbers")
    }

    fn fill(&self, file: OwnedFd, bytes: usize) -> Result<(SharedMemory, u64)> {
        let memory =
            ftruncate(&file, bytes as u64).map_err(io::Error::from).and_then(|()| SharedMemory::map(file, bytes, true));
        let memory = memory.map_err(|source| Error::Transport {
            action: format!("have {bytes} bytes of huge pages"),
            source,
            cure: "reserve more: `echo 64 > /proc/sys/vm/nr_hugepages` as root".into(),
        })?;
        let pagemap = File::open(&self.pagemap).map_err(|error| denied(&self.pagemap, CAPABILITY, error))?;
        let first = self.in_a_row(bytes, |offset| self.physical(&pagemap, memory.address() + offset as u64))?;
        Ok((memory, first))
    }

    /// The address of the first of so many bytes, whose pages lie one after another.
    fn in_a_row(&self, bytes: usize, address: impl Fn(usize) -> Result<u64>) -> Result<u64> {
        let first = address(0)?;
        for offset in (0..bytes).step_by(self.page).skip(1) {
            if address(offset)? != first + offset as u64 {
                return Err(refusal(
                    format!("have {bytes} bytes in a row"),
                    format!("the huge pages of {} KiB do not lie together", self.page >> 10),
                    "ask for less at once, or boot with `hugepagesz=1G hugepages=1` and mount them: \
                     `mount -t hugetlbfs -o pagesize=1G none /dev/hugepages`",
                ));
            }
        }
        Ok(first)
    }

    fn physical(&self, pagemap: &File, address: u64) -> Result<u64> {
        let mut entry = [0; 8];
        pagemap
            .read_exact_at(&mut entry, address / PAGE * 8)
            .map_err(|error| denied(&self.pagemap, CAPABILITY, error))?;
        frame(u64::from_ne_bytes(entry))
            .map(|frame| frame * PAGE + address % PAGE)
            .ok_or_else(|| Error::Permission { path: self.pagemap.display().to_string(), cure: CAPABILITY.into() })
    }
}

/// What the table of physical addresses is read with.
const CAPABILITY: &str =
    "physical addresses are read with the capability CAP_SYS_ADMIN only; run the program as root, or open the card \
                          through VFIO";

/// The frame of an entry. Without the capability it is 0.
fn frame(entry: u64) -> Option<u64> {
    (entry & PRESENT != 0 && entry & FRAME != 0).then_some(entry & FRAME)
}

/// Folder and page of a line of `/proc/mounts`, if it is a file system of huge pages.
fn mounted(line: &str) -> Option<(String, usize)> {
    let mut words = line.split(' ').skip(1);
    let (folder, kind, options) = (words.next()?, words.next()?, words.next()?);
    if kind != "hugetlbfs" {
        return None;
    }
    let size = options.split(',').find_map(|option| option.strip_prefix("pagesize=")).unwrap_or("2M");
    let unit = match size.chars().last()? {
        'K' => 1 << 10,
        'G' => 1 << 30,
        _ => 1 << 20,
    };
    let number: usize = size.trim_end_matches(['K', 'M', 'G']).parse().ok()?;
    Some((folder.into(), number * unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::fake::Machine;

    #[test]
    fn mounts_of_huge_pages_are_found() {
        assert_eq!(
            mounted("hugetlbfs /dev/hugepages hugetlbfs rw,relatime,pagesize=2M 0 0"),
            Some(("/dev/hugepages".into(), 2 << 20))
        );
        assert_eq!(mounted("none /huge hugetlbfs rw,pagesize=1024M 0 0"), Some(("/huge".into(), 1 << 30)));
        assert_eq!(mounted("none /huge hugetlbfs rw,pagesize=1G 0 0"), Some(("/huge".into(), 1 << 30)));
        assert_eq!(mounted("proc /proc proc rw 0 0"), None);
        assert_eq!(mounted("short"), None);
    }

    #[test]
    fn a_machine_without_huge_pages_is_a_sentence() {
        let error = HugeFiles::find(Machine::new().root(), "0000:65:00.0").unwrap_err().to_string();
        assert!(
            error.contains("no file system of huge pages is mounted; as root: `mkdir -p /dev/hugepages"),
            "{error}"
        );
    }

    #[test]
    fn frames_need_the_capability() {
        assert_eq!(frame(PRESENT | 0x1234), Some(0x1234));
        assert_eq!(frame(PRESENT), None);
        assert_eq!(frame(0x1234), None);
    }

    #[test]
    fn memory_without_physical_addresses_is_an_error_and_leaves_no_file() {
        let machine = Machine::with_huge_pages();
        let mut files = HugeFiles::find(machine.root(), "0000:65:00.0").unwrap();
        let error = files.new_arena(1).unwrap_err().to_string();
        assert!(error.contains("CAP_SYS_ADMIN"), "{error}");
        assert!(!files.any() && files.left().is_empty());
    }

    fn files(machine: &Machine) -> HugeFiles {
        HugeFiles::find(machine.root(), "0000:65:00.0").unwrap()
    }

    #[test]
    fn frames_have_55_bits() {
        assert_eq!(frame(u64::MAX), Some((1 << 55) - 1));
        assert_eq!(frame(PRESENT | 1 << 55), None);
        assert_eq!(frame(PRESENT | 1 << 55 | 5), Some(5));
    }

    #[test]
    fn a_physical_address_is_the_frame_and_the_place_in_its_page() {
        let machine = Machine::with_huge_pages();
        let path = machine.root().join("proc/self/pagemap");
        let pagemap = File::options().read(true).write(true).open(path).unwrap();
        let address = 0x7000_5123u64;
        pagemap.write_all_at(&(PRESENT | 0x1234).to_ne_bytes(), address / 4096 * 8).unwrap();
        assert_eq!(files(&machine).physical(&pagemap, address).unwrap(), 0x123_4123);
        assert_eq!(files(&machine).physical(&pagemap, address - 0x123).unwrap(), 0x123_4000);
        for other in [address + 4096, address - 4096] {
            let error = files(&machine).physical(&pagemap, other).unwrap_err();
            assert!(matches!(error, Error::Permission { .. }), "{error}");
        }
        pagemap.set_len(0).unwrap();
        assert!(files(&machine).physical(&pagemap, address).is_err());
    }

    #[test]
    fn page_sizes_have_units_and_a_default() {
        for (options, page) in [
            ("rw", 2 << 20),
            ("rw,pagesize=64K", 64 << 10),
            ("pagesize=2M,rw", 2 << 20),
            ("pagesize=1G", 1 << 30),
            ("pagesize=1024M", 1 << 30),
        ] {
            let line = format!("none /huge hugetlbfs {options} 0 0");
            assert_eq!(mounted(&line), Some(("/huge".into(), page)), "{options}");
        }
        assert_eq!(mounted("none /huge hugetlbfs pagesize=M 0 0"), None);
        assert_eq!(mounted("none /huge hugetlbfs pagesize= 0 0"), None);
        assert_eq!(mounted("none /huge tmpfs pagesize=2M 0 0"), None);
    }

    #[test]
    fn files_of_the_card_are_numbered_and_removed() {
        let machine = Machine::with_huge_pages();
        let folder = machine.root().join("dev/hugepages");
        machine.file("dev/hugepages/spindle-0000:65:00.0-0", "left by another program");
        machine.file("dev/hugepages/spindle-0000:66:00.0-0", "of another card");
        let mut files = files(&machine);
        assert_eq!(files.left(), [folder.join("spindle-0000:65:00.0-0")]);
        assert!(!files.any());
        for number in 1..3 {
            let (path, _) = files.new_file().unwrap();
            assert_eq!(path, folder.join(format!("spindle-0000:65:00.0-{number}")));
            files.made.push(path);
        }
        assert!(files.any());
        assert_eq!(files.left().len(), 3);
        files.remove().unwrap();
        assert!(!files.any() && files.left().is_empty());
        assert!(folder.join("spindle-0000:66:00.0-0").exists());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(files.new_file().is_err() && files.left().is_empty());
        assert!(files.new_arena(1).is_err());
    }

    #[test]
    fn pages_of_an_arena_lie_one_after_another() {
        const PAGE_BYTES: usize = 2 << 20;
        let machine = Machine::with_huge_pages();
        let files = files(&machine);
        assert_eq!(files.page, PAGE_BYTES);
        let looked_at = std::cell::RefCell::new(Vec::new());
        let row = |bytes: usize, hole: usize| {
            looked_at.take();
            files.in_a_row(bytes, |offset| {
                looked_at.borrow_mut().push(offset / PAGE_BYTES);
                Ok(0x4000_0000 + offset as u64 + u64::from(offset >= hole))
            })
        };
        for pages in 1..4 {
            assert_eq!(row(pages * PAGE_BYTES, usize::MAX).unwrap(), 0x4000_0000);
            assert_eq!(looked_at.take(), (0..pages).collect::<Vec<_>>());
        }
        for hole in [1, 2, 3] {
            let error = row(4 * PAGE_BYTES, hole * PAGE_BYTES).unwrap_err().to_string();
            assert!(
                error.starts_with("cannot have 8388608 bytes in a row: the huge pages of 2048 KiB do not lie"),
                "{error}"
            );
            assert_eq!(looked_at.take().last(), Some(&hole));
        }
        assert!(files.in_a_row(1, |_| Err(Error::Memory("none".into()))).is_err());
    }
}
