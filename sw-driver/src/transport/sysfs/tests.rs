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
