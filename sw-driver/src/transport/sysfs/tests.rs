use super::*;
use crate::transport::fake::Machine;

const CARD: &str = "0000:65:00.0";

fn machine() -> Machine {
    let machine = Machine::with_huge_pages();
    machine.function(CARD, None, None);
    let mut bar = vec![0; 1 << registers::BAR_BITS];
    bar[..4].copy_from_slice(&registers::MAGIC.to_le_bytes());
    let folder = format!("sys/bus/pci/devices/{CARD}");
    machine.file(&format!("{folder}/resource0"), bar);
    machine.file(&format!("{folder}/config"), [0; 64]);
    machine.file(&format!("{folder}/enable"), "0");
    machine.file(&format!("{folder}/reset"), "");
    machine
}

fn refused(machine: &Machine) -> String {
    SysfsCard::open_below(machine.root(), CARD).unwrap_err().to_string()
}

fn command_of(machine: &Machine) -> u16 {
    let config = fs::read(machine.root().join(format!("sys/bus/pci/devices/{CARD}/config"))).unwrap();
    u16::from_le_bytes([config[4], config[5]])
}

#[test]
fn a_card_is_switched_on_and_off() {
    let machine = machine();
    let mut card = SysfsCard::open_below(machine.root(), CARD).unwrap();
    assert_eq!(command_of(&machine), MEMORY | BUS_MASTER);
    assert_eq!(card.read32(0).unwrap(), registers::MAGIC);
    assert_eq!((card.vectors(), card.identity().address.as_str()), (0, "sysfs:0000:65:00.0"));
    assert!(card.interrupt(0).unwrap_err().to_string().contains("sysfs has no interrupts"));
    assert!(card.map(&(0..1)).unwrap_err().to_string().contains("without an IOMMU"));
    card.reset().unwrap();
    let reset = format!("sys/bus/pci/devices/{CARD}/reset");
    assert_eq!(machine.read(&reset), "1");
    drop(card);
    assert_eq!(command_of(&machine), MEMORY);
}

#[test]
fn memory_of_a_program_that_died_is_kept_until_the_card_is_reset() {
    let machine = machine();
    let left = format!("dev/hugepages/spindle-{CARD}-0");
    machine.file(&left, "x");
    machine.file("dev/hugepages/spindle-0000:66:00.0-0", "another card's");
    // This card cannot be reset: its file is a folder.
    let reset = machine.root().join(format!("sys/bus/pci/devices/{CARD}/reset"));
    fs::remove_file(&reset).unwrap();
    fs::create_dir(&reset).unwrap();
    refused(&machine);
    assert!(machine.root().join(&left).exists());
    assert_eq!(command_of(&machine) & BUS_MASTER, 0, "the card does no DMA");
    fs::remove_dir(&reset).unwrap();
    fs::write(&reset, "").unwrap();
    let card = SysfsCard::open_below(machine.root(), CARD).unwrap();
    assert_eq!(fs::read_to_string(&reset).unwrap(), "1");
    assert!(!machine.root().join(&left).exists());
    assert!(machine.root().join("dev/hugepages/spindle-0000:66:00.0-0").exists());
    drop(card);
}

#[test]
fn a_second_owner_learns_of_the_first() {
    let machine = machine();
    let card = SysfsCard::open_below(machine.root(), CARD).unwrap();
    machine.program(4711, "spindle", &format!("sys/bus/pci/devices/{CARD}/resource0"));
    let error = refused(&machine);
    assert!(error.contains("the card 0000:65:00.0 is in use by spindle (process 4711)"), "{error}");
    drop(card);
    SysfsCard::open_below(machine.root(), CARD).unwrap();
}

#[test]
fn drivers_lockdown_and_iommu_are_sentences() {
    let bound = Machine::new();
    bound.function(CARD, Some("mqnic"), None);
    let error = refused(&bound);
    assert!(error.contains("the driver mqnic has it; take it away as root: `echo 0000:65:00.0 >"), "{error}");

    let vfio = Machine::new();
    vfio.function(CARD, Some("vfio-pci"), Some("17"));
    let error = refused(&vfio);
    assert!(error.contains("the driver vfio-pci has it; open it as 0000:65:00.0, through VFIO"), "{error}");

    let locked = machine();
    locked.file("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    let error = refused(&locked);
    assert!(error.contains("the kernel is locked down"), "{error}");
    locked.file("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    SysfsCard::open_below(locked.root(), CARD).unwrap();

    let iommu = Machine::with_huge_pages();
    iommu.function(CARD, None, Some("17"));
    iommu.file("sys/kernel/iommu_groups/17/type", "DMA-FQ\n");
    let error = refused(&iommu);
    assert!(error.contains("the IOMMU (group 17) keeps the card from physical addresses"), "{error}");
}

#[test]
fn a_card_of_ones_is_gone() {
    use std::os::unix::fs::FileExt;
    let machine = machine();
    let mut card = SysfsCard::open_below(machine.root(), CARD).unwrap();
    let path = machine.root().join(format!("sys/bus/pci/devices/{CARD}/resource0"));
    fs::File::options().write(true).open(path).unwrap().write_all_at(&[0xFF; 4096], 0).unwrap();
    for error in [
        card.read32(0).unwrap_err(),
        card.pause(1).unwrap_err(),
        card.alloc(1, 1).unwrap_err(),
        card.reset().unwrap_err(),
    ] {
        assert!(matches!(error, Error::Gone { .. }), "{error}");
    }
}

#[test]
fn what_only_an_iommu_can_do_is_refused() {
    use rustix::fd::AsFd;
    let machine = machine();
    let mut card = SysfsCard::open_below(machine.root(), CARD).unwrap();
    assert_eq!(card.identity().pci, Some((0x1af4, 0x10f0)));
    assert_eq!((card.identity().transport, card.process(), card.time_moves_by_calls()), ("sysfs", None, false));
    let file = tempfile::tempfile().unwrap();
    for (result, words) in [
        (card.map(&(0x1000..0x2000)), "the card cannot reach 0x1000 to 0x2000 at the program's own addresses"),
        (card.unmap(&(0x1000..0x2000)), "the range 0x1000 to 0x2000 is not mapped for the card"),
        (card.unmap_file(&(0x1000..0x2000)), "the range 0x1000 to 0x2000 is not mapped for the card"),
        (
            card.map_file(file.as_fd(), 0, &(0x1000..0x2000)),
            "the transport sysfs cannot give the card memory of another program at 0x1000; use another one",
        ),
        (card.alloc(1, 1).map(drop), "CAP_SYS_ADMIN"),
        (card.free(7), "nothing was allocated at 0x7"),
        (card.read(7, &mut [0]), "0x7 lies in no memory"),
        (card.write(7, &[0]), "0x7 lies in no memory"),
        (card.interrupt(3).map(drop), "vector 3: sysfs has no interrupts"),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert!(card.kick(0, 1).unwrap().is_none());
    card.pause(1).unwrap();
    card.write32(0x20, 7).unwrap();
    assert_eq!(card.read32(0x20).unwrap(), 7);
}

#[test]
fn a_function_without_a_reset_of_its_own_is_reset_by_its_register() {
    let machine = machine();
    fs::remove_file(machine.root().join(format!("sys/bus/pci/devices/{CARD}/reset"))).unwrap();
    let mut card = SysfsCard::open_below(machine.root(), CARD).unwrap();
    card.command(0, MEMORY).unwrap();
    card.reset().unwrap();
    assert_eq!(card.read32(global::BASE + global::RESET).unwrap(), 1);
    assert_eq!(command_of(&machine), MEMORY | BUS_MASTER);
}

#[test]
fn a_kernel_that_is_locked_down_for_secrecy_or_an_iommu_that_lets_through() {
    let locked = machine();
    locked.file("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    assert!(refused(&locked).contains("the kernel is locked down"));
    let through = machine();
    through.function(CARD, None, Some("17"));
    through.file("sys/kernel/iommu_groups/17/type", "identity\n");
    SysfsCard::open_below(through.root(), CARD).unwrap();
}

#[test]
fn the_card_is_switched_on_before_it_is_master() {
    let machine = machine();
    machine.file(&format!("sys/bus/pci/devices/{CARD}/config"), [[0; 4], [0xFF, 0xFF, 0, 0]].concat());
    let card = SysfsCard::open_below(machine.root(), CARD).unwrap();
    assert_eq!(machine.read(&format!("sys/bus/pci/devices/{CARD}/enable")), "1");
    assert_eq!(command_of(&machine), 0xFFFF);
    drop(card);
    assert_eq!(command_of(&machine), !BUS_MASTER);
    // A file that is not there.
    fs::remove_file(machine.root().join(format!("sys/bus/pci/devices/{CARD}/enable"))).unwrap();
    fs::create_dir(machine.root().join(format!("sys/bus/pci/devices/{CARD}/enable"))).unwrap();
    assert!(refused(&machine).contains("enable"));
    fs::remove_file(machine.root().join(format!("sys/bus/pci/devices/{CARD}/config"))).unwrap();
    let error = refused(&machine);
    assert!(error.contains("config") && error.contains("open the card through VFIO"), "{error}");
}

#[test]
fn several_owners_share_a_card() {
    use crate::SharedCard;
    let machine = machine();
    let mut card = SharedCard::new(SysfsCard::open_below(machine.root(), CARD).unwrap());
    let mut other = card.clone();
    card.write32(0x20, 0x1234).unwrap();
    assert_eq!((other.read32(0x20).unwrap(), other.lock().read32(0).unwrap()), (0x1234, registers::MAGIC));
    for error in [
        card.alloc(1, 1).map(drop).unwrap_err(),
        card.free(7).unwrap_err(),
        HostMemory::read(&card, 7, &mut [0]).unwrap_err(),
        HostMemory::write(&mut card, 7, &[0]).unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(["CAP_SYS_ADMIN", "at 0x7", "0x7 lies"].iter().any(|words| error.contains(words)), "{error}");
    }
    let shown = format!("{card:?}");
    assert!(shown.starts_with("SharedCard(Identity") && shown.contains("sysfs:0000:65:00.0"), "{shown}");
}

#[test]
fn a_card_that_knows_memory_is_reset_before_the_memory_is_given_back() {
    let machine = machine();
    let reset = machine.root().join(format!("sys/bus/pci/devices/{CARD}/reset"));
    let mut card = SysfsCard::open_below(machine.root(), CARD).unwrap();
    let memory = card.files.make();
    drop(card);
    assert_eq!(fs::read_to_string(&reset).unwrap(), "1");
    assert!(!memory.exists());
    assert_eq!(command_of(&machine), MEMORY, "it is no master after the reset");
    // A card that knows none is not reset; one that cannot be reset keeps its memory.
    fs::write(&reset, "").unwrap();
    drop(SysfsCard::open_below(machine.root(), CARD).unwrap());
    assert_eq!(fs::read_to_string(&reset).unwrap(), "");
    let mut card = SysfsCard::open_below(machine.root(), CARD).unwrap();
    let memory = card.files.make();
    fs::remove_file(&reset).unwrap();
    fs::create_dir(&reset).unwrap();
    drop(card);
    assert!(memory.exists());
    assert_eq!(command_of(&machine), MEMORY);
}
