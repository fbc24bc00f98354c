//! Cards without IOMMU and without a driver of the kernel: `sysfs:0000:65:00.0`. For root.
//!
//! Registers are the file `resource0`, memory is huge pages at their physical addresses, and there are no interrupts: a program
//! polls. The card reaches all of the machine's memory, so that an image of the card must be trusted as the kernel is.

mod memory;

use super::bar::{MappedBar, Presence};
use super::clock::Clock;
use super::command::{self, BUS_MASTER, MEMORY};
use super::owner::owner_of;
use super::pci::{denied, refusal, Function};
use crate::dma::Arenas;
use crate::{Bar, Card, Error, HostMemory, Identity, Result};
use memory::HugeFiles;
use rustix::fd::OwnedFd;
use rustix::fs::{flock, open, FlockOperation, Mode, OFlags};
use spindle_contract::registers::{self, global};
use std::fs;
use std::ops::Range;
use std::path::Path;

const ROOT_CURE: &str = "run the program as root, or open the card through VFIO";

/// A card of sysfs, open. A drop switches its bus master off, resets it if it knew addresses of memory, and frees the memory then.
#[derive(Debug)]
pub struct SysfsCard {
    function: Function,
    presence: Presence,
    clock: Clock,
    bar: MappedBar,
    config: OwnedFd,
    memory: Arenas,
    files: HugeFiles,
    /// Locked while the card is ours.
    _resource: OwnedFd,
}

impl SysfsCard {
    /// Opens the card at a PCI address.
    pub fn open(address: &str) -> Result<SysfsCard> {
        SysfsCard::open_below(Path::new("/"), address)
    }

    fn open_below(root: &Path, address: &str) -> Result<SysfsCard> {
        let function = Function::find(root, address)?;
        check(root, &function)?;
        let folder = function.folder();
        let file = |name: &str| {
            let path = folder.join(name);
            open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
                .map_err(|error| denied(&path, ROOT_CURE, error.into()))
        };
        let resource = file("resource0")?;
        if flock(&resource, FlockOperation::NonBlockingLockExclusive).is_err() {
            let owner = owner_of(root, &folder.join("resource0"));
            return Err(Error::Busy { address: address.into(), owner });
        }
        let config = file("config")?;
        let files = HugeFiles::find(root, address)?;
        function.write(&folder.join("enable"), "1")?;
        // The bus master stays off until the card has forgotten what an earlier owner gave to it.
        command::change(&config, 0, MEMORY, BUS_MASTER)
            .map_err(|error| denied(&folder.join("config"), ROOT_CURE, error))?;
        let presence = Presence::new(&format!("sysfs:{address}"));
        let bar = MappedBar::map(&resource, 0, 1 << registers::BAR_BITS, presence.clone()).map_err(|source| {
            Error::Transport {
                action: format!("map the registers of the card {address}"),
                source,
                cure: "check that its BAR 0 is that of a Spindle card (`lspci -v`), and that no driver has it".into(),
            }
        })?;
        let (clock, memory) = (Clock::default(), Arenas::default());
        let mut card = SysfsCard { function, presence, clock, bar, config, memory, files, _resource: resource };
        if !card.files.left().is_empty() {
            card.reset()?;
            card.forget_memory()?;
        }
        card.command(BUS_MASTER, 0)?;
        Ok(card)
    }

    fn command(&self, set: u16, clear: u16) -> Result<()> {
        command::change(&self.config, 0, set, clear)
            .map_err(|error| denied(&self.function.folder().join("config"), ROOT_CURE, error))
    }

    /// Gives the memory back to the system. The card was reset.
    fn forget_memory(&mut self) -> Result<()> {
        self.files.remove().map_err(|source| Error::Transport {
            action: "remove the files of the card's memory".into(),
            source,
            cure: "remove the files `spindle-*` in the folder of huge pages as root".into(),
        })
    }

    fn release(&mut self) -> Result<()> {
        self.command(0, BUS_MASTER)?;
        if self.files.any() {
            self.reset()?;
            self.command(0, BUS_MASTER)?;
            self.forget_memory()?;
        }
        Ok(())
    }
}

impl Drop for SysfsCard {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            log::warn!("{}: {error}; its memory is kept until the card is opened again", self.function.address());
        }
    }
}

/// What is in the way of raw access.
fn check(root: &Path, function: &Function) -> Result<()> {
    let address = function.address();
    let action = format!("open the card sysfs:{address}");
    if let Some(driver) = function.driver() {
        let why = format!("the driver {driver} has it");
        let cure = match driver.contains("vfio") {
            true => format!("open it as {address}, through VFIO"),
            false => format!("take it away as root: `echo {address} > /sys/bus/pci/devices/{address}/driver/unbind`"),
        };
        return Err(refusal(action, why, cure));
    }
    let lockdown = fs::read_to_string(root.join("sys/kernel/security/lockdown")).unwrap_or_default();
    if lockdown.contains("[integrity]") || lockdown.contains("[confidentiality]") {
        let cure = format!("open it as {address}, through VFIO, or switch secure boot off");
        return Err(refusal(action, "the kernel is locked down and lets no program have registers", cure));
    }
    if let Some(group) = function.group() {
        let kind =
            fs::read_to_string(root.join("sys/kernel/iommu_groups").join(&group).join("type")).unwrap_or_default();
        if kind.trim() != "identity" {
            let why = format!("the IOMMU (group {group}) keeps the card from physical addresses");
            return Err(refusal(action, why, format!("open it as {address}, through VFIO, or boot with iommu=pt")));
        }
    }
    Ok(())
}

impl Bar for SysfsCard {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.bar.read32(address)
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        self.bar.write32(address, value)
    }
}

impl HostMemory for SysfsCard {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        self.presence.check()?;
        let files = &mut self.files;
        self.memory.alloc(bytes, align, |bytes| files.new_arena(bytes))
    }

    fn free(&mut self, address: u64) -> Result<()> {
        self.memory.free(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.memory.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.memory.write(address, bytes)
    }
}

impl Card for SysfsCard {
    fn identity(&self) -> Identity {
        let address = format!("sysfs:{}", self.function.address());
        Identity { address, transport: "sysfs", pci: self.function.ids() }
    }

    fn map(&mut self, range: &Range<u64>) -> Result<()> {
        Err(Error::Memory(format!(
            "without an IOMMU the card cannot reach {:#x} to {:#x} at the program's own addresses; use memory that the library \
             allocates, or open the card through VFIO",
            range.start, range.end
        )))
    }

    fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        Err(Error::Argument(format!("the range {:#x} to {:#x} is not mapped for the card", range.start, range.end)))
    }

    fn vectors(&self) -> usize {
        0
    }

    fn interrupt(&mut self, vector: usize) -> Result<OwnedFd> {
        Err(Error::Argument(format!("vector {vector}: sysfs has no interrupts; poll, or open the card through VFIO")))
    }

    fn pause(&mut self, cycles: u64) -> Result<()> {
        self.presence.check()?;
        self.clock.pause(&mut self.bar, cycles)
    }

    fn time_moves_by_calls(&self) -> bool {
        false
    }

    /// The card is borrowed meanwhile, so that no register is accessed.
    fn reset(&mut self) -> Result<()> {
        self.presence.check()?;
        let way = self.function.folder().join("reset");
        match way.exists() {
            true => self.function.write(&way, "1")?,
            // A function without a reset of its own: the card's.
            false => self.bar.write32(global::BASE + global::RESET, 1)?,
        }
        self.command(MEMORY | BUS_MASTER, 0)?;
        self.bar.await_card()
    }
}

#[cfg(test)]
mod tests;
