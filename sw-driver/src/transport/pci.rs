//! A PCI function as Linux shows it in sysfs: its driver, its IOMMU group, and how it is bound to another driver.

use crate::{Error, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The driver that hands a function to programs.
pub const VFIO_PCI: &str = "vfio-pci";

/// Drivers of a group's other functions that leave the group to programs: they do no DMA.
const HARMLESS: [&str; 3] = ["pcieport", "pci-stub", "shpchp"];

/// A PCI function of this machine.
#[derive(Clone, Debug)]
pub struct Function {
    root: PathBuf,
    address: String,
}

/// Whether a text is the address of a PCI function with its domain: `0000:65:00.0`.
pub fn is_address(text: &str) -> bool {
    let hex = |part: &str, digits: usize| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some((domain, rest)) = text.split_once(':') else { return false };
    let Some((bus, rest)) = rest.split_once(':') else { return false };
    let Some((device, function)) = rest.split_once('.') else { return false };
    (4..=8).contains(&domain.len()) && hex(domain, domain.len()) && hex(bus, 2) && hex(device, 2) && hex(function, 1)
}

/// An error of a transport whose cause is no system call.
pub(crate) fn refusal(action: impl Into<String>, why: impl Into<String>, cure: impl Into<String>) -> Error {
    Error::Transport { action: action.into(), source: io::Error::other(why.into()), cure: cure.into() }
}

/// What a link points to, without its folder.
fn link_name(path: &Path) -> Option<String> {
    Some(fs::read_link(path).ok()?.file_name()?.to_string_lossy().into_owned())
}

impl Function {
    /// Finds a function. `root` is the folder in which `sys`, `dev` and `proc` lie: `/`, but for tests.
    ///
    /// # Errors
    /// The text is no address, or the machine has no such function.
    pub fn find(root: &Path, address: &str) -> Result<Function> {
        if !is_address(address) {
            return Err(Error::Argument(format!(
                "`{address}` is no address of a PCI function; give one with its domain, such as 0000:65:00.0"
            )));
        }
        let function = Function { root: root.into(), address: address.to_ascii_lowercase() };
        if !function.folder().exists() {
            return Err(refusal(
                format!("open the card {address}"),
                "no PCI function has this address",
                "`lspci -D` lists the functions of this machine",
            ));
        }
        Ok(function)
    }

    /// Its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A path of this machine.
    pub fn path(&self, below_root: &str) -> PathBuf {
        self.root.join(below_root)
    }

    /// The function's folder in sysfs.
    pub fn folder(&self) -> PathBuf {
        self.sibling(&self.address)
    }

    fn sibling(&self, address: &str) -> PathBuf {
        self.path("sys/bus/pci/devices").join(address)
    }

    /// The driver to which it is bound.
    pub fn driver(&self) -> Option<String> {
        link_name(&self.folder().join("driver"))
    }

    /// The number of its IOMMU group.
    pub fn group(&self) -> Option<String> {
        link_name(&self.folder().join("iommu_group"))
    }

    /// Vendor and device.
    pub fn ids(&self) -> Option<(u16, u16)> {
        let id = |file: &str| {
            let text = fs::read_to_string(self.folder().join(file)).ok()?;
            u16::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
        };
        Some((id("vendor")?, id("device")?))
    }

    /// The other functions of its group that keep programs from the group, each with its driver.
    pub fn group_obstacles(&self) -> Vec<(String, String)> {
        let Some(group) = self.group() else { return Vec::new() };
        let Ok(devices) = fs::read_dir(self.path("sys/kernel/iommu_groups").join(group).join("devices")) else {
            return Vec::new();
        };
        let mut found: Vec<(String, String)> = devices
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().to_string_lossy().into_owned();
                let driver = link_name(&self.sibling(&name).join("driver"))?;
                let harmless = HARMLESS.contains(&driver.as_str()) || driver.contains("vfio");
                (name != self.address && !harmless).then_some((name, driver))
            })
            .collect();
        found.sort();
        found
    }

    /// The commands that bind a function to vfio-pci.
    pub fn how_to_bind(&self, address: &str) -> String {
        format!("as root: `modprobe vfio-pci; spindle bind {address}`")
    }

    /// Binds the function to a driver, away from the one that it has. A function that is bound to the driver already is left.
    ///
    /// # Errors
    /// The system refuses, or the driver is not loaded or does not take the function.
    pub fn bind(&self, driver: &str) -> Result<()> {
        if self.driver().as_deref() == Some(driver) {
            return Ok(());
        }
        let folder = self.folder();
        self.write(&folder.join("driver_override"), driver)?;
        if self.driver().is_some() {
            self.write(&folder.join("driver/unbind"), &self.address)?;
        }
        self.write(&self.path("sys/bus/pci/drivers_probe"), &self.address)?;
        match self.driver() {
            Some(now) if now == driver => Ok(()),
            _ => Err(refusal(
                format!("bind {} to {driver}", self.address),
                "the driver does not take it",
                format!("load the driver with `modprobe {driver}`, and see its reason in the kernel's log (`dmesg`)"),
            )),
        }
    }

    /// Takes the function from its driver, for [`sysfs`](super::sysfs), and lets the system choose its driver again. A function without
    /// a driver is left.
    ///
    /// # Errors
    /// The system refuses.
    pub fn release(&self) -> Result<()> {
        self.write(&self.folder().join("driver_override"), "\n")?;
        match self.driver() {
            Some(_) => self.write(&self.folder().join("driver/unbind"), &self.address),
            None => Ok(()),
        }
    }

    /// Writes a short text to a file of sysfs.
    pub fn write(&self, path: &Path, text: &str) -> Result<()> {
        fs::write(path, text).map_err(|source| denied(path, "run the command as root", source))
    }
}

/// The error of a file that cannot be opened: a permission with its cure, or what the system reports.
pub(crate) fn denied(path: &Path, cure: impl Into<String>, source: io::Error) -> Error {
    let path = path.display().to_string();
    match source.kind() {
        io::ErrorKind::PermissionDenied => Error::Permission { path, cure: cure.into() },
        _ => Error::Transport { action: format!("use {path}"), source, cure: cure.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Machine;
    use super::*;

    #[test]
    fn addresses_have_a_domain() {
        for good in ["0000:65:00.0", "10000:e1:1f.7", "0000:AB:00.1"] {
            assert!(is_address(good), "{good}");
        }
        for bad in
            ["65:00.0", "0000:65:00", "0000:65:00.", "0000:6:00.0", "unix:/x", "", "0000:65:00.0 ", "000g:65:00.0"]
        {
            assert!(!is_address(bad), "{bad}");
        }
    }

    #[test]
    fn an_absent_function_is_a_sentence() {
        let machine = Machine::new();
        let error = Function::find(machine.root(), "0000:66:00.0").unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot open the card 0000:66:00.0: no PCI function has this address; `lspci -D` lists the functions of this machine"
        );
        let error = Function::find(machine.root(), "65:00.0").unwrap_err().to_string();
        assert!(error.contains("`65:00.0` is no address of a PCI function"), "{error}");
    }

    #[test]
    fn a_function_has_its_driver_group_and_numbers() {
        let machine = Machine::new();
        machine.function("0000:65:00.0", Some("vfio-pci"), Some("17"));
        let function = Function::find(machine.root(), "0000:65:00.0").unwrap();
        assert_eq!(function.driver().as_deref(), Some("vfio-pci"));
        assert_eq!(function.group().as_deref(), Some("17"));
        assert_eq!(function.ids(), Some((0x1af4, 0x10f0)));
        assert!(function.group_obstacles().is_empty());
    }

    #[test]
    fn functions_of_other_drivers_are_obstacles_and_bridges_are_none() {
        let machine = Machine::new();
        machine.function("0000:65:00.0", Some("vfio-pci"), Some("17"));
        machine.function("0000:65:00.1", Some("nvme"), Some("17"));
        machine.function("0000:65:00.2", Some("vfio-pci"), Some("17"));
        machine.function("0000:65:00.3", None, Some("17"));
        machine.function("0000:00:01.0", Some("pcieport"), Some("17"));
        let function = Function::find(machine.root(), "0000:65:00.0").unwrap();
        assert_eq!(function.group_obstacles(), [("0000:65:00.1".into(), "nvme".into())]);
    }

    #[test]
    fn a_driver_that_does_not_take_the_function_is_an_error() {
        let machine = Machine::new();
        machine.function("0000:65:00.0", None, Some("17"));
        let function = Function::find(machine.root(), "0000:65:00.0").unwrap();
        let error = function.bind(VFIO_PCI).unwrap_err().to_string();
        assert!(error.starts_with("cannot bind 0000:65:00.0 to vfio-pci: the driver does not take it"), "{error}");
        assert_eq!(machine.read("sys/bus/pci/devices/0000:65:00.0/driver_override"), "vfio-pci");
        assert_eq!(machine.read("sys/bus/pci/drivers_probe"), "0000:65:00.0");
        function.release().unwrap();
        assert_eq!(machine.read("sys/bus/pci/devices/0000:65:00.0/driver_override"), "\n");
    }

    #[test]
    fn each_part_of_an_address_has_its_digits() {
        for good in ["00000000:65:00.0", "ffff:FF:1f.7"] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "000:65:00.0",
            "000000000:65:00.0",
            "0000:065:00.0",
            "0000:65:0.0",
            "0000:65:000.0",
            "0000:65:00.00",
            "0000:gg:00.0",
            "0000:65:gg.0",
            "0000:65:00.g",
            "0000.65.00.0",
        ] {
            assert!(!is_address(bad), "{bad}");
        }
    }

    #[test]
    fn a_function_is_found_in_small_letters() {
        let machine = Machine::new();
        machine.function("0000:ab:00.1", None, None);
        let function = Function::find(machine.root(), "0000:AB:00.1").unwrap();
        assert_eq!(function.address(), "0000:ab:00.1");
        assert_eq!(function.folder(), machine.root().join("sys/bus/pci/devices/0000:ab:00.1"));
        assert_eq!(function.path("dev/vfio"), machine.root().join("dev/vfio"));
        assert_eq!((function.driver(), function.group(), function.group_obstacles().len()), (None, None, 0));
        assert_eq!(function.how_to_bind("0000:65:00.0"), "as root: `modprobe vfio-pci; spindle bind 0000:65:00.0`");
        for (file, text) in [("vendor", "nonsense"), ("device", "0x1_0000")] {
            machine.file(&format!("sys/bus/pci/devices/0000:ab:00.1/{file}"), text);
            assert_eq!(function.ids(), None);
        }
    }

    #[test]
    fn a_function_is_taken_from_its_driver_before_it_is_bound_to_another() {
        let machine = Machine::new();
        machine.function("0000:65:00.0", Some("nvme"), Some("17"));
        // The link to the driver leads here.
        let unbind = "sys/bus/bus/pci/drivers/nvme/unbind";
        machine.file(unbind, "");
        let function = Function::find(machine.root(), "0000:65:00.0").unwrap();
        function.bind("nvme").unwrap();
        assert_eq!(machine.read("sys/bus/pci/devices/0000:65:00.0/driver_override"), "(null)\n", "it is bound already");
        let error = function.bind(VFIO_PCI).unwrap_err().to_string();
        assert!(error.contains("the driver does not take it; load the driver with `modprobe vfio-pci`"), "{error}");
        assert_eq!(
            (machine.read(unbind).as_str(), machine.read("sys/bus/pci/drivers_probe").as_str()),
            ("0000:65:00.0", "0000:65:00.0")
        );
        machine.file(unbind, "");
        function.release().unwrap();
        assert_eq!(machine.read(unbind), "0000:65:00.0");
        assert_eq!(machine.read("sys/bus/pci/devices/0000:65:00.0/driver_override"), "\n");
        // A file that is not there.
        std::fs::remove_dir_all(machine.root().join("sys/bus/bus")).unwrap();
        let error = function.release().unwrap_err().to_string();
        assert!(error.contains("driver/unbind") && error.ends_with("run the command as root"), "{error}");
    }

    #[test]
    fn functions_of_vfio_and_harmless_drivers_are_no_obstacles() {
        for (driver, obstacle) in
            [("pcieport", false), ("pci-stub", false), ("shpchp", false), ("vfio-platform", false), ("i40e", true)]
        {
            let machine = Machine::new();
            // The function itself is none, whatever its driver.
            machine.function("0000:65:00.0", Some("nvme"), Some("17"));
            machine.function("0000:65:00.1", Some(driver), Some("17"));
            let function = Function::find(machine.root(), "0000:65:00.0").unwrap();
            assert_eq!(function.group_obstacles().len(), usize::from(obstacle), "{driver}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_is_a_permission_or_an_error_of_the_system() {
        let error = |kind: io::ErrorKind| denied(Path::new("/sys/x"), "do this", kind.into());
        assert_eq!(error(io::ErrorKind::PermissionDenied).to_string(), "no permission for /sys/x; do this");
        let other = error(io::ErrorKind::NotFound).to_string();
        assert!(other.starts_with("cannot use /sys/x: ") && other.ends_with("; do this"), "{other}");
        assert_eq!(refusal("go on", "it is closed", "open it").to_string(), "cannot go on: it is closed; open it");
    }
}
