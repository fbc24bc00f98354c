//! The way to a device of VFIO: its driver, its IOMMU group, a container; and a sentence for every step that fails.

use super::ioctl;
use crate::transport::owner::owner_of;
use crate::transport::pci::{refusal, Function, VFIO_PCI};
use crate::{Error, Result};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{open, Mode, OFlags};
use std::io;
use std::path::Path;

/// A device with what holds it. The device is closed first, then its group, then the container.
#[derive(Debug)]
pub struct Opened {
    /// The device.
    pub device: OwnedFd,
    /// Its group, which must stay open.
    pub group: OwnedFd,
    /// The container, with an IOMMU of type 1.
    pub container: OwnedFd,
}

/// How programs without root get at a group.
const GROUP_CURE: &str =
    "run the program as root, or install the udev rule `SUBSYSTEM==\"vfio\", GROUP=\"spindle\", MODE=\"0660\"` in \
                          /etc/udev/rules.d/70-spindle.rules and add the user to the group: `usermod -aG spindle NAME`";

/// Opens a function through VFIO.
pub fn open_device(root: &Path, function: &Function) -> Result<Opened> {
    let group_number = check(root, function)?;
    let container_path = root.join("dev/vfio/vfio");
    let container = open_file(&container_path)
        .map_err(|error| cannot_open(root, function, &container_path, error, "load the module: `modprobe vfio-pci`"))?;
    let group_path = root.join("dev/vfio").join(&group_number);
    let group = open_file(&group_path).map_err(|error| cannot_open(root, function, &group_path, error, GROUP_CURE))?;
    let steps = || -> io::Result<std::result::Result<OwnedFd, &'static str>> {
        if ioctl::api_version(container.as_fd())? != 0 {
            return Ok(Err("the kernel speaks another version of VFIO"));
        }
        if !ioctl::is_viable(group.as_fd())? {
            return Ok(Err("the IOMMU group holds a function of another driver"));
        }
        ioctl::set_container(group.as_fd(), container.as_fd())?;
        if !ioctl::has_type1(container.as_fd())? {
            return Ok(Err("the kernel has no IOMMU of type 1"));
        }
        ioctl::set_type1(container.as_fd())?;
        ioctl::device(group.as_fd(), function.address()).map(Ok)
    };
    match steps() {
        Ok(Ok(device)) => Ok(Opened { device, group, container }),
        Ok(Err(why)) => {
            Err(refusal(action(function), why, "load the module: `modprobe vfio_iommu_type1`, and see `dmesg`"))
        }
        Err(source) => Err(step_failed(function, source)),
    }
}

fn action(function: &Function) -> String {
    format!("open the card {} through VFIO", function.address())
}

fn open_file(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// What sysfs shows to be in the way; the number of the group if nothing is.
fn check(root: &Path, function: &Function) -> Result<String> {
    let address = function.address();
    let group = function.group().ok_or_else(|| {
        refusal(
            action(function),
            "it is in no IOMMU group",
            format!(
                "switch the IOMMU on, in the firmware (VT-d, AMD-Vi) and with intel_iommu=on or amd_iommu=on on the kernel's command \
                 line; without an IOMMU open `sysfs:{address}`"
            ),
        )
    })?;
    if root.join(format!("dev/vfio/noiommu-{group}")).exists() {
        let cure = format!("switch the IOMMU on, or open `sysfs:{address}`");
        return Err(refusal(action(function), "its group has no IOMMU", cure));
    }
    match function.driver() {
        Some(driver) if driver.contains("vfio") => {}
        bound => {
            let why =
                bound.map_or("it is bound to no driver".into(), |driver| format!("it is bound to the driver {driver}"));
            return Err(refusal(
                action(function),
                why,
                format!("bind it to {VFIO_PCI}, {}", function.how_to_bind(address)),
            ));
        }
    }
    match function.group_obstacles().as_slice() {
        [] => Ok(group),
        others => {
            let names: Vec<String> =
                others.iter().map(|(address, driver)| format!("{address} (driver {driver})")).collect();
            let why = format!("other functions of its IOMMU group {group} are in use: {}", names.join(", "));
            let cure = format!("bind each of them to {VFIO_PCI} too, {}", function.how_to_bind(&others[0].0));
            Err(refusal(action(function), why, cure))
        }
    }
}

/// Why a file of VFIO cannot be opened.
fn cannot_open(root: &Path, function: &Function, path: &Path, source: io::Error, cure: &str) -> Error {
    match source.raw_os_error() {
        Some(libc::EBUSY) => Error::Busy { address: function.address().into(), owner: owner_of(root, path) },
        Some(libc::EACCES | libc::EPERM) => {
            Error::Permission { path: path.display().to_string(), cure: GROUP_CURE.into() }
        }
        Some(libc::ENOENT | libc::ENODEV) => Error::Transport {
            action: format!("open {}", path.display()),
            source,
            cure: "load the module: `modprobe vfio-pci`".into(),
        },
        _ => Error::Transport { action: format!("open {}", path.display()), source, cure: cure.into() },
    }
}

/// Why a step with open files fails.
fn step_failed(function: &Function, source: io::Error) -> Error {
    let cure = match source.raw_os_error() {
        Some(libc::EPERM) => {
            "the IOMMU cannot keep interrupts of devices apart; load vfio_iommu_type1 with allow_unsafe_interrupts=1 if the card is trusted"
        }
        Some(libc::EBUSY) => "another container holds the group; end the program that has it",
        Some(libc::ENOTTY) => "the file is none of VFIO; check /dev/vfio",
        _ => "see the reason in the kernel's log (`dmesg`)",
    };
    Error::Transport { action: action(function), source, cure: cure.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::fake::Machine;

    const CARD: &str = "0000:65:00.0";

    fn refused(machine: &Machine) -> String {
        let function = Function::find(machine.root(), CARD).unwrap();
        open_device(machine.root(), &function).unwrap_err().to_string()
    }

    #[test]
    fn a_machine_without_iommu_is_a_sentence() {
        let machine = Machine::new();
        machine.function(CARD, Some("vfio-pci"), None);
        let error = refused(&machine);
        assert!(
            error.starts_with("cannot open the card 0000:65:00.0 through VFIO: it is in no IOMMU group; switch"),
            "{error}"
        );
        assert!(error.contains("open `sysfs:0000:65:00.0`"), "{error}");
    }

    #[test]
    fn a_group_without_iommu_is_a_sentence() {
        let machine = Machine::new();
        machine.function(CARD, Some("vfio-pci"), Some("0"));
        machine.file("dev/vfio/noiommu-0", "");
        let error = refused(&machine);
        assert!(error.contains("its group has no IOMMU; switch the IOMMU on, or open `sysfs:0000:65:00.0`"), "{error}");
    }

    #[test]
    fn a_driver_in_the_way_is_a_sentence_with_the_commands() {
        for (driver, why) in
            [(None, "it is bound to no driver"), (Some("spindle"), "it is bound to the driver spindle")]
        {
            let machine = Machine::new();
            machine.function(CARD, driver, Some("17"));
            let error = refused(&machine);
            assert!(error.contains(why) && error.contains("modprobe vfio-pci"), "{error}");
            assert!(error.contains("`modprobe vfio-pci; spindle bind 0000:65:00.0`"), "{error}");
        }
    }

    #[test]
    fn a_group_with_other_functions_is_a_sentence_that_names_them() {
        let machine = Machine::new();
        machine.function(CARD, Some("vfio-pci"), Some("17"));
        machine.function("0000:65:00.1", Some("nvme"), Some("17"));
        machine.function("0000:65:00.2", Some("i40e"), Some("17"));
        let error = refused(&machine);
        let others =
            "other functions of its IOMMU group 17 are in use: 0000:65:00.1 (driver nvme), 0000:65:00.2 (driver i40e)";
        assert!(error.contains(others) && error.contains("bind each of them to vfio-pci too"), "{error}");
    }

    #[test]
    fn absent_modules_and_files_that_are_none_of_vfio_are_sentences() {
        let machine = Machine::new();
        machine.function(CARD, Some("vfio-pci"), Some("17"));
        let error = refused(&machine);
        assert!(error.contains("dev/vfio/17") && error.contains("`modprobe vfio-pci`"), "{error}");
        machine.file("dev/vfio/17", "");
        let error = refused(&machine);
        assert!(error.ends_with("the file is none of VFIO; check /dev/vfio"), "{error}");
    }

    #[test]
    fn system_errors_have_their_own_sentences() {
        let machine = Machine::new();
        machine.function(CARD, Some("vfio-pci"), Some("17"));
        machine.program(4711, "testpmd", "dev/vfio/17");
        let function = Function::find(machine.root(), CARD).unwrap();
        let path = machine.root().join("dev/vfio/17");
        let sentence =
            |code| cannot_open(machine.root(), &function, &path, io::Error::from_raw_os_error(code), GROUP_CURE);
        let busy = sentence(libc::EBUSY);
        assert!(matches!(&busy, Error::Busy { owner, .. } if owner == "testpmd (process 4711)"), "{busy}");
        let denied = sentence(libc::EACCES);
        assert!(matches!(&denied, Error::Permission { cure, .. } if cure.contains("udev rule")), "{denied}");
        let unsafe_interrupts = step_failed(&function, io::Error::from_raw_os_error(libc::EPERM)).to_string();
        assert!(unsafe_interrupts.contains("allow_unsafe_interrupts=1"), "{unsafe_interrupts}");
    }

    #[test]
    fn errors_of_files_and_steps_have_their_cures() {
        let machine = Machine::new();
        machine.function(CARD, Some("vfio-pci"), Some("17"));
        let function = Function::find(machine.root(), CARD).unwrap();
        let path = machine.root().join("dev/vfio/17");
        let file = |code| {
            let source = io::Error::from_raw_os_error(code);
            cannot_open(machine.root(), &function, &path, source, "do this").to_string()
        };
        assert!(file(libc::EPERM).starts_with("no permission for "));
        for (code, cure) in
            [(libc::ENOENT, "modprobe vfio-pci`"), (libc::ENODEV, "modprobe vfio-pci`"), (libc::EIO, "; do this")]
        {
            let error = file(code);
            assert!(error.starts_with("cannot open ") && error.ends_with(cure), "{error}");
        }
        for (code, words) in [
            (libc::EPERM, "allow_unsafe_interrupts=1"),
            (libc::EBUSY, "another container holds the group"),
            (libc::ENOTTY, "the file is none of VFIO"),
            (libc::EIO, "see the reason in the kernel's log"),
        ] {
            let error = step_failed(&function, io::Error::from_raw_os_error(code)).to_string();
            assert!(error.starts_with("cannot open the card 0000:65:00.0 through VFIO: "), "{error}");
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(check(machine.root(), &function).unwrap(), "17");
    }
}
