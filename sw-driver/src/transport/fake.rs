//! A machine of plain files and links, for the tests of the transports that look at `/sys`, `/dev` and `/proc`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

/// The machine; its folder goes with it.
pub(crate) struct Machine(TempDir);

impl Machine {
    pub fn new() -> Machine {
        let machine = Machine(tempfile::tempdir().unwrap());
        machine.file("sys/bus/pci/drivers_probe", "");
        machine.file("dev/vfio/vfio", "");
        machine
    }

    /// A machine that has huge pages, and keeps their physical addresses for itself.
    pub fn with_huge_pages() -> Machine {
        let machine = Machine::new();
        machine.file("proc/mounts", "none /dev/hugepages hugetlbfs rw,relatime,pagesize=2M 0 0\n");
        fs::create_dir_all(machine.root().join("dev/hugepages")).unwrap();
        machine.file("proc/self/pagemap", "");
        fs::File::options()
            .write(true)
            .open(machine.root().join("proc/self/pagemap"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        machine
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, with its folders.
    pub fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub fn link(&self, path: &str, to: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    /// Adds a PCI function.
    pub fn function(&self, address: &str, driver: Option<&str>, group: Option<&str>) {
        let folder = format!("sys/bus/pci/devices/{address}");
        self.file(&format!("{folder}/vendor"), "0x1af4\n");
        self.file(&format!("{folder}/device"), "0x10f0\n");
        self.file(&format!("{folder}/driver_override"), "(null)\n");
        if let Some(driver) = driver {
            self.link(&format!("{folder}/driver"), &format!("../../../bus/pci/drivers/{driver}"));
        }
        if let Some(group) = group {
            self.link(&format!("{folder}/iommu_group"), &format!("../../../kernel/iommu_groups/{group}"));
            self.file(&format!("sys/kernel/iommu_groups/{group}/devices/{address}"), "");
        }
    }

    /// Adds a program that has a file of this machine open, by the file's path from the root.
    pub fn program(&self, pid: u32, name: &str, open: &str) {
        self.file(&format!("proc/{pid}/comm"), format!("{name}\n"));
        self.link(&format!("proc/{pid}/fd/3"), &self.root().join(open).to_string_lossy());
    }
}

/// Checks that a page of a file is mapped as long as what `map` has made of the file lives.
pub(crate) fn mapping_goes_with_its_owner<T>(map: impl FnOnce(&fs::File) -> T) {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(4096).unwrap();
    let path = file.path().to_str().unwrap();
    let mapped = || fs::read_to_string("/proc/self/maps").unwrap().contains(path);
    let owner = map(file.as_file());
    assert!(mapped());
    drop(owner);
    assert!(!mapped());
}
