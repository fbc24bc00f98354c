//! Cards through the kernel's VFIO, by groups and an IOMMU of type 1: `0000:65:00.0`.
//!
//! | file | content |
//! |---|---|
//! | `open.rs` | the way to the device, and what is in the way |
//! | `iommu.rs` | memory that the card reaches |
//! | `irqs.rs` | vectors, and the kernel's own signals |
//! | `ioctl.rs` | the system calls |
//! | `kernel.rs` | a kernel that answers them in tests |
//!
//! The kernel resets the card and takes its memory back when the program ends, however it ends.

mod ioctl;
mod iommu;
mod irqs;
#[cfg(test)]
mod kernel;
mod open;

use super::bar::{MappedBar, Presence};
use super::clock::Clock;
use super::command::{self, BUS_MASTER, MEMORY};
use super::pci::{refusal, Function};
use crate::{Bar, Card, Error, HostMemory, Identity, Result};
use iommu::Iommu;
use irqs::{new_event, Vectors, Watch};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use spindle_contract::{pci, registers};
use std::io;
use std::ops::Range;
use std::path::Path;
use vfio_bindings::bindings::vfio::VFIO_PCI_CONFIG_REGION_INDEX;

/// A card of VFIO, open. A drop switches its interrupts and its bus master off and takes all memory back.
#[derive(Debug)]
pub struct VfioCard {
    function: Function,
    presence: Presence,
    clock: Clock,
    bar: MappedBar,
    bar_offset: u64,
    config: u64,
    resettable: bool,
    /// Dropped before the device: it holds no descriptor of it, but its thread speaks of the card.
    watch: Option<Watch>,
    vectors: Vectors,
    iommu: Iommu,
    kicks: Vec<OwnedFd>,
    device: OwnedFd,
    _group: OwnedFd,
}

impl VfioCard {
    /// Opens the card at a PCI address.
    pub fn open(address: &str) -> Result<VfioCard> {
        VfioCard::open_below(Path::new("/"), address)
    }

    fn open_below(root: &Path, address: &str) -> Result<VfioCard> {
        let function = Function::find(root, address)?;
        let opened = open::open_device(root, &function)?;
        let presence = Presence::new(address);
        let action = || format!("set up the card {address} through VFIO");
        let failed = |source: io::Error| Error::Transport {
            action: action(),
            source,
            cure: "see the kernel's log (`dmesg`)".into(),
        };
        let device = opened.device;
        let region = ioctl::region(device.as_fd(), pci::REGISTER_BAR as u32).map_err(failed)?;
        let bytes = 1u64 << registers::BAR_BITS;
        if region.bytes < bytes || !region.mappable {
            let why =
                format!("its BAR 0 has {} bytes, and a Spindle card's has {bytes} that can be mapped", region.bytes);
            return Err(refusal(action(), why, "check that the address is the card's, and that its image is loaded"));
        }
        let config = ioctl::region(device.as_fd(), VFIO_PCI_CONFIG_REGION_INDEX).map_err(failed)?.offset;
        let bar = MappedBar::map(&device, region.offset, bytes as usize, presence.clone()).map_err(failed)?;
        let card = VfioCard {
            clock: Clock::default(),
            bar,
            bar_offset: region.offset,
            config,
            resettable: ioctl::is_resettable(device.as_fd()).map_err(failed)?,
            watch: Some(Watch::begin(device.as_fd(), presence.clone()).map_err(failed)?),
            vectors: Vectors::enable(device.as_fd(), pci::VECTORS).map_err(failed)?,
            iommu: Iommu::new(opened.container).map_err(failed)?,
            kicks: Vec::new(),
            device,
            _group: opened.group,
            function,
            presence,
        };
        card.command(MEMORY | BUS_MASTER, 0).map_err(failed)?;
        Ok(card)
    }

    fn command(&self, set: u16, clear: u16) -> io::Result<()> {
        command::change(&self.device, self.config, set, clear)
    }

    fn failed(&self, action: &str, source: io::Error) -> Error {
        Error::Transport { action: action.into(), source, cure: "see the reason in the kernel's log (`dmesg`)".into() }
    }

    fn release(&mut self) -> Result<()> {
        drop(self.watch.take());
        self.vectors.disable(self.device.as_fd()).map_err(|error| self.failed("switch interrupts off", error))?;
        self.command(0, BUS_MASTER).map_err(|error| self.failed("switch the bus master off", error))?;
        self.iommu.close()
    }
}

impl Drop for VfioCard {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            log::warn!("{}: {error}", self.function.address());
        }
    }
}

impl Bar for VfioCard {
    fn read32(&mut self, address: u32) -> Result<u32> {
        self.bar.read32(address)
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        self.bar.write32(address, value)
    }
}

impl HostMemory for VfioCard {
    fn alloc(&mut self, bytes: usize, align: usize) -> Result<u64> {
        self.presence.check()?;
        self.iommu.alloc(bytes, align)
    }

    fn free(&mut self, address: u64) -> Result<()> {
        self.iommu.memory.free(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.iommu.memory.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.iommu.memory.write(address, bytes)
    }
}

impl Card for VfioCard {
    fn identity(&self) -> Identity {
        Identity { address: self.function.address().into(), transport: "vfio", pci: self.function.ids() }
    }

    fn map(&mut self, range: &Range<u64>) -> Result<()> {
        self.presence.check()?;
        self.iommu.map(range)
    }

    fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        self.iommu.unmap(range)
    }

    fn map_file(&mut self, file: BorrowedFd<'_>, offset: u64, range: &Range<u64>) -> Result<()> {
        self.presence.check()?;
        self.iommu.map_file(file, offset, range)
    }

    fn unmap_file(&mut self, range: &Range<u64>) -> Result<()> {
        self.iommu.unmap_file(range)
    }

    fn vectors(&self) -> usize {
        self.vectors.count()
    }

    fn interrupt(&mut self, vector: usize) -> Result<OwnedFd> {
        self.presence.check()?;
        let count = self.vectors.count();
        let event = self
            .vectors
            .event(vector)
            .ok_or_else(|| Error::Argument(format!("the card has no vector {vector}; it has {count}")))?;
        event.try_clone_to_owned().map_err(|error| self.failed("duplicate the eventfd of a vector", error))
    }

    fn pause(&mut self, cycles: u64) -> Result<()> {
        self.presence.check()?;
        self.clock.pause(&mut self.bar, cycles)
    }

    fn time_moves_by_calls(&self) -> bool {
        false
    }

    fn kick(&mut self, address: u32, value: u32) -> Result<Option<OwnedFd>> {
        self.presence.check()?;
        let event = new_event().map_err(|error| self.failed("make an eventfd", error))?;
        ioctl::ioeventfd(self.device.as_fd(), self.bar_offset + u64::from(address), value, event.as_fd())
            .map_err(|error| self.failed("have the kernel write a register on a signal", error))?;
        let copy = event.try_clone().map_err(|error| self.failed("duplicate an eventfd", error))?;
        self.kicks.push(event);
        Ok(Some(copy))
    }

    /// The card is borrowed meanwhile, so that no register is accessed.
    fn reset(&mut self) -> Result<()> {
        self.presence.check()?;
        if !self.resettable {
            return Err(refusal(
                format!("reset the card {}", self.function.address()),
                "the kernel has no way to reset it alone",
                "write 1 to its register RESET, or restart the machine",
            ));
        }
        ioctl::reset(self.device.as_fd()).map_err(|error| self.failed("reset the card", error))?;
        self.command(MEMORY | BUS_MASTER, 0).map_err(|error| self.failed("switch the card on after a reset", error))?;
        self.bar.await_card()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::fake::Machine;

    #[test]
    fn a_card_that_cannot_be_opened_gives_the_sentence_of_its_step() {
        let machine = Machine::new();
        machine.function("0000:65:00.0", Some("nvme"), Some("17"));
        let error = VfioCard::open_below(machine.root(), "0000:65:00.0").unwrap_err().to_string();
        assert!(error.contains("bound to the driver nvme"), "{error}");
        let error = VfioCard::open_below(machine.root(), "0000:65:00.1").unwrap_err().to_string();
        assert!(error.contains("no PCI function has this address"), "{error}");
    }

    /// The place of the configuration space in the file that stands for the device.
    const CONFIG: u64 = 1 << 20;

    /// A card whose device is a plain file: the registers, then the configuration space. The kernel knows nothing of it.
    fn card(machine: &Machine, vectors: Vectors, resettable: bool) -> (std::fs::File, VfioCard) {
        use std::os::unix::fs::FileExt;
        machine.function("0000:65:00.0", Some("vfio-pci"), Some("17"));
        let function = Function::find(machine.root(), "0000:65:00.0").unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(CONFIG + 4096).unwrap();
        file.write_all_at(&registers::MAGIC.to_le_bytes(), 0).unwrap();
        file.write_all_at(&[0xFF; 2], CONFIG + 4).unwrap();
        let presence = Presence::new("0000:65:00.0");
        let card = VfioCard {
            clock: Clock::default(),
            bar: MappedBar::map(&file, 0, 1 << 20, presence.clone()).unwrap(),
            bar_offset: 0,
            config: CONFIG,
            resettable,
            watch: None,
            vectors,
            iommu: Iommu::of_file(vec![0x1000..=0xFFFF_FFFF]),
            kicks: Vec::new(),
            device: file.try_clone().unwrap().into(),
            _group: tempfile::tempfile().unwrap().into(),
            function,
            presence,
        };
        (file, card)
    }

    fn no_vectors() -> Vectors {
        Vectors::of(Vec::new())
    }

    #[test]
    fn a_card_is_registers_and_what_the_kernel_gives() {
        let machine = Machine::new();
        let events = (0..2).map(|_| new_event().unwrap()).collect();
        let (file, mut card) = card(&machine, Vectors::of(events), true);
        let identity = card.identity();
        assert_eq!((identity.address.as_str(), identity.transport), ("0000:65:00.0", "vfio"));
        assert_eq!(identity.pci, Some((0x1af4, 0x10f0)));
        assert_eq!(card.read32(0).unwrap(), registers::MAGIC);
        card.write32(0x20, 0x1234_5678).unwrap();
        let mut word = [0; 4];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut word, 0x20).unwrap();
        assert_eq!((u32::from_le_bytes(word), card.read32(0x20).unwrap()), (0x1234_5678, 0x1234_5678));
        assert!(!card.time_moves_by_calls());
        assert_eq!((card.process(), card.vectors()), (None, 2));
        let event = card.interrupt(1).unwrap();
        assert!(crate::irq::signal(&event));
        assert_eq!(card.vectors.event(1).map(crate::irq::take), Some(1), "it is the same eventfd");
        assert_eq!(card.vectors.event(0).map(crate::irq::take), Some(0));
        assert_eq!(card.interrupt(2).unwrap_err().to_string(), "the card has no vector 2; it has 2");
        card.pause(1).unwrap();
    }

    #[test]
    fn what_the_kernel_refuses_is_a_sentence() {
        let machine = Machine::new();
        let (file, mut card) = card(&machine, no_vectors(), true);
        let range = 0x2000..0x3000;
        for (result, words) in [
            (card.alloc(1, 1).map(drop), "cannot let the card reach 2097152 bytes of memory"),
            (card.map(&range), "cannot let the card reach 4096 bytes of memory"),
            (card.map_file(file.as_fd(), 0, &range), "cannot let the card reach 4096 bytes of memory"),
            (card.unmap(&range), "the range 0x2000 to 0x3000 is not mapped for the card"),
            (card.unmap_file(&range), "no file is mapped at 0x2000 to 0x3000"),
            (card.free(7), "nothing was allocated at 0x7"),
            (card.read(7, &mut [0]), "0x7 lies in no memory that was allocated"),
            (card.write(7, &[0]), "0x7 lies in no memory that was allocated"),
            (card.kick(0x40, 1).map(drop), "cannot have the kernel write a register on a signal"),
            (card.reset(), "cannot reset the card: "),
        ] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert!(card.kicks.is_empty());
        drop(card);
        let (_, mut card) = self::card(&Machine::new(), no_vectors(), false);
        let error = card.reset().unwrap_err().to_string();
        assert!(error.contains("reset the card 0000:65:00.0: the kernel has no way to reset it alone"), "{error}");
    }

    #[test]
    fn a_card_that_is_dropped_is_no_master_any_more() {
        use std::os::unix::fs::FileExt;
        let machine = Machine::new();
        let command = |file: &std::fs::File| {
            let mut bytes = [0; 2];
            file.read_exact_at(&mut bytes, CONFIG + 4).unwrap();
            u16::from_le_bytes(bytes)
        };
        let (file, card) = card(&machine, no_vectors(), true);
        card.command(0, MEMORY).unwrap();
        assert_eq!(command(&file), !MEMORY);
        card.command(MEMORY, BUS_MASTER).unwrap();
        card.command(BUS_MASTER, 0).unwrap();
        assert_eq!(command(&file), 0xFFFF);
        drop(card);
        assert_eq!(command(&file), !BUS_MASTER);
    }

    #[test]
    fn a_card_that_is_gone_is_gone_for_every_call() {
        let machine = Machine::new();
        let (file, mut card) = card(&machine, no_vectors(), true);
        card.presence.lose("the kernel takes the card back");
        let range = 0x2000..0x3000;
        for result in [
            card.read32(0).map(drop),
            card.write32(0, 0),
            card.alloc(1, 1).map(drop),
            card.map(&range),
            card.map_file(file.as_fd(), 0, &range),
            card.interrupt(0).map(drop),
            card.pause(1),
            card.kick(0, 1).map(drop),
            card.reset(),
        ] {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Gone { .. }), "{error}");
        }
    }

    use super::kernel::{wide, Kernel};
    use std::cell::RefCell;
    use std::rc::Rc;

    /// A machine with the card, and a kernel that opens a plain file as the device: the registers, then the configuration space.
    fn machine() -> (Machine, Rc<RefCell<Kernel>>, std::fs::File) {
        use std::os::unix::fs::FileExt;
        let machine = Machine::new();
        machine.function("0000:65:00.0", Some("vfio-pci"), Some("17"));
        machine.file("dev/vfio/17", "");
        let file = tempfile::tempfile().unwrap();
        file.set_len(CONFIG + 4096).unwrap();
        file.write_all_at(&registers::MAGIC.to_le_bytes(), 0).unwrap();
        let kernel = Kernel::begin();
        kernel.borrow_mut().device = Some(file.try_clone().unwrap().into());
        (machine, kernel, file)
    }

    fn open_below(machine: &Machine) -> Result<VfioCard> {
        VfioCard::open_below(machine.root(), "0000:65:00.0")
    }

    #[test]
    fn a_card_is_opened_step_by_step_and_given_back() {
        let (machine, kernel, file) = machine();
        let mut card = open_below(&machine).unwrap();
        let calls = kernel.borrow_mut().calls();
        let numbers: Vec<u32> = calls.iter().map(|call| call.0).collect();
        assert_eq!(numbers, [0, 3, 4, 1, 2, 6, 8, 8, 7, 9, 10, 9, 10, 9, 10, 12]);
        let name: Vec<u32> = "0000:65:00.0".bytes().map(u32::from).collect();
        assert_eq!((&calls[1].1[..], &calls[3].1, &calls[4].1, &calls[5].1), (&[8, 0][..], &vec![3], &vec![3], &name));
        // The registers, the configuration space; the error, the kernel's request, the vectors.
        assert_eq!((calls[6].1[2], calls[7].1[2]), (0, 7));
        assert_eq!([9, 11, 13].map(|at| calls[at].1[2]), [3, 4, 2]);
        for (at, index, count) in [(10, 3, 1), (12, 4, 1), (14, 2, 16)] {
            let words = &calls[at].1;
            assert_eq!(words[..5], [20 + 4 * count, 0x24, index, 0, count]);
            assert_eq!(words.len() as u32, 5 + count);
        }
        assert_eq!((card.vectors(), card.read32(0).unwrap()), (16, registers::MAGIC));
        let mut command = [0; 2];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut command, CONFIG + 4).unwrap();
        assert_eq!(u16::from_le_bytes(command), MEMORY | BUS_MASTER);

        // Memory lies above 4 GiB, one arena after another.
        let huge = 2u64 << 20;
        assert_eq!(card.alloc(huge as usize, 64).unwrap(), 4 << 30);
        assert_eq!(card.alloc(64, 64).unwrap(), (4 << 30) + huge);
        let calls = kernel.borrow_mut().calls();
        for (call, iova) in calls.iter().zip([4 << 30, (4 << 30) + huge]) {
            assert_eq!((call.0, &call.1[..2]), (13, &[32, 3][..]));
            assert_eq!((wide(&call.1, 4), wide(&call.1, 6)), (iova, huge));
            assert_ne!(wide(&call.1, 2), iova, "the program knows it by another address");
        }
        card.write(4 << 30, b"spindle").unwrap();
        let mut bytes = [0; 7];
        card.read(4 << 30, &mut bytes).unwrap();
        assert_eq!(&bytes, b"spindle");
        // Memory of the program has its own addresses.
        card.map(&(0x10_0000..0x10_2000)).unwrap();
        let map = kernel.borrow_mut().calls();
        assert_eq!(
            (map[0].0, wide(&map[0].1, 2), wide(&map[0].1, 4), wide(&map[0].1, 6)),
            (13, 0x10_0000, 0x10_0000, 0x2000)
        );
        let other = tempfile::tempfile().unwrap();
        other.set_len(0x3000).unwrap();
        card.map_file(other.as_fd(), 0x1000, &(0x20_0000..0x20_2000)).unwrap();
        let map = kernel.borrow_mut().calls();
        assert_eq!((wide(&map[0].1, 2) % 4096, wide(&map[0].1, 4), wide(&map[0].1, 6)), (0, 0x20_0000, 0x2000));
        assert_eq!(kernel.borrow().maps.len(), 4);
        card.unmap(&(0x10_0000..0x10_2000)).unwrap();
        card.unmap_file(&(0x20_0000..0x20_2000)).unwrap();
        assert!(card.unmap_file(&(0x20_0000..0x20_2000)).is_err());
        assert_eq!(kernel.borrow().maps.len(), 2);
        card.map(&(0x10_0000..0x10_1000)).unwrap();
        card.map_file(other.as_fd(), 0, &(0x20_0000..0x20_1000)).unwrap();

        kernel.borrow_mut().calls();
        let event = card.kick(0x40, 0xABCD).unwrap().unwrap();
        let kick = kernel.borrow_mut().calls();
        assert_eq!((kick[0].0, kick[0].1[1], wide(&kick[0].1, 2), wide(&kick[0].1, 4)), (16, 4, 0x40, 0xABCD));
        assert!(crate::irq::signal(&event));
        assert_eq!(card.kicks.iter().map(crate::irq::take).collect::<Vec<_>>(), [1]);
        card.reset().unwrap();
        assert_eq!(kernel.borrow_mut().calls(), [(11, vec![0])]);
        drop(card);
        let calls = kernel.borrow_mut().calls();
        assert_eq!(calls[0], (10, vec![20, 0x21, 2, 0, 0]), "interrupts first");
        assert_eq!(calls.iter().map(|call| call.0).collect::<Vec<_>>(), [10, 14, 14, 14, 14]);
        assert_eq!(kernel.borrow().maps, []);
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut command, CONFIG + 4).unwrap();
        assert_eq!(u16::from_le_bytes(command), MEMORY);
    }

    #[test]
    fn what_the_kernel_lacks_is_a_sentence() {
        type Change = fn(&mut Kernel);
        let changes: [(Change, &str); 6] = [
            (|kernel| kernel.version = 1, "the kernel speaks another version of VFIO"),
            (|kernel| kernel.viable = false, "the IOMMU group holds a function of another driver"),
            (|kernel| kernel.type1 = false, "the kernel has no IOMMU of type 1"),
            (
                |kernel| kernel.bar.1 -= 1,
                "its BAR 0 has 1048575 bytes, and a Spindle card's has 1048576 that can be mapped",
            ),
            (
                |kernel| kernel.bar.0 = 3,
                "its BAR 0 has 1048576 bytes, and a Spindle card's has 1048576 that can be mapped",
            ),
            (|kernel| kernel.fails = Some(12), "cannot set up the card 0000:65:00.0 through VFIO: "),
        ];
        for (change, words) in changes {
            let (machine, kernel, _file) = machine();
            change(&mut kernel.borrow_mut());
            let error = open_below(&machine).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        for step in [0, 3, 4, 1, 2] {
            let (machine, kernel, _file) = machine();
            kernel.borrow_mut().fails = Some(step);
            let error = open_below(&machine).unwrap_err().to_string();
            assert!(error.starts_with("cannot open the card 0000:65:00.0 through VFIO: "), "{error}");
        }
        for step in [7, 8, 10] {
            let (machine, kernel, _file) = machine();
            kernel.borrow_mut().fails = Some(step);
            let error = open_below(&machine).unwrap_err().to_string();
            assert!(error.starts_with("cannot set up the card 0000:65:00.0 through VFIO: "), "{error}");
        }
    }

    #[test]
    fn a_card_has_the_vectors_signals_and_reset_that_the_kernel_gives() {
        let (machine, kernel, _file) = machine();
        (kernel.borrow_mut().vectors, kernel.borrow_mut().resettable) = ([0, 0, 0], false);
        let mut card = open_below(&machine).unwrap();
        assert_eq!(card.vectors(), 0);
        assert!(kernel.borrow_mut().calls().iter().all(|call| call.0 != 10), "no eventfd is given");
        assert!(card.reset().unwrap_err().to_string().contains("the kernel has no way to reset it alone"));
        drop(card);
        assert_eq!(kernel.borrow_mut().calls(), [], "nothing is to be given back");
        let (machine, kernel, _file) = self::machine();
        kernel.borrow_mut().vectors = [100, 1, 0];
        assert_eq!(open_below(&machine).unwrap().vectors(), pci::VECTORS, "as many as the card has");
    }

    #[test]
    fn the_ranges_of_an_iommu_are_asked_for_again_if_they_are_many() {
        let (machine, kernel, _file) = machine();
        kernel.borrow_mut().ranges = (0..100).map(|number| [number << 32, (number << 32) + 0xFFF_FFFF]).collect();
        let card = open_below(&machine).unwrap();
        let sizes: Vec<u32> =
            kernel.borrow_mut().calls().iter().filter(|call| call.0 == 12).map(|call| call.1[0]).collect();
        assert_eq!(sizes, [1024, 1640]);
        drop(card);
        // Memory that the kernel takes back in part is an error.
        let (machine, kernel, _file) = self::machine();
        let mut card = open_below(&machine).unwrap();
        card.map(&(0x10_0000..0x10_1000)).unwrap();
        kernel.borrow_mut().maps.clear();
        let error = card.unmap(&(0x10_0000..0x10_1000)).unwrap_err().to_string();
        assert!(error.contains("0 of 4096 bytes were taken back"), "{error}");
        // An IOMMU of 32 bits has its memory below.
        let (machine, kernel, _file) = self::machine();
        kernel.borrow_mut().ranges = vec![[0, 0xFEDF_FFFF]];
        assert_eq!(open_below(&machine).unwrap().alloc(64, 64).unwrap(), 16 << 20);
    }
}
