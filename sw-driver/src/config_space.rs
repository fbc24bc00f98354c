//! Configuration space of the card as a PCI function, in software: the served NIC and the functions of `spindled` have it.
//!
//! Capabilities: power management (without it Linux' idle device would stay asleep), PCI Express with function-level reset, MSI-X.
//! Every bit that a host may write has a bit in a mask; a BAR answers the probe for its size by its mask alone.

use spindle_contract::pci;
use std::ops::Range;

/// Bytes of the space, with the extended one of PCI Express.
pub const BYTES: usize = 4096;

const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const BARS: usize = 0x10;
const POWER: usize = 0x40;
const POWER_CONTROL: usize = POWER + 4;
const EXPRESS: usize = 0x50;
const DEVICE_CONTROL: usize = EXPRESS + 8;
const MSIX: usize = 0x90;
const MSIX_CONTROL: usize = MSIX + 2;

const MEMORY: u16 = 1 << 1;
const MASTER: u16 = 1 << 2;
/// Memory, master, parity, SERR, no INTx.
const COMMAND_WRITABLE: u16 = MEMORY | MASTER | 1 << 6 | 1 << 8 | 1 << 10;
const POWER_STATE: u16 = 3;
const FUNCTION_RESET: u16 = 1 << 15;
const MSIX_ENABLE: u16 = 1 << 15;

/// Offset of the command register.
pub const COMMAND_OFFSET: u64 = COMMAND as u64;
/// Bits of the command register without which a card neither answers nor reaches memory.
pub const COMMAND_MEMORY_AND_MASTER: u16 = MEMORY | MASTER;

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of BAR 0, the registers: a power of two from 16.
    pub registers: u32,
    /// MSI-X vectors, 1 to 128: as many fit in the table's BAR.
    pub vectors: usize,
}

impl Layout {
    /// The whole card.
    pub const CARD: Layout = Layout { registers: 1 << spindle_contract::registers::BAR_BITS, vectors: pci::VECTORS };
}

/// The space: what is read, and which bits can be written.
#[derive(Clone, Debug)]
pub struct ConfigSpace {
    layout: Layout,
    bytes: Box<[u8; BYTES]>,
    writable: Box<[u8; BYTES]>,
}

impl ConfigSpace {
    /// The space after reset.
    ///
    /// # Panics
    /// The layout cannot be.
    pub fn new(layout: Layout) -> ConfigSpace {
        assert!(layout.registers.is_power_of_two() && layout.registers >= 16, "a BAR is a power of two from 16");
        assert!((1..=pci::MSIX_PBA_OFFSET / 16).contains(&layout.vectors), "as many vectors as the table has room for");
        let mut space = ConfigSpace { layout, bytes: Box::new([0; BYTES]), writable: Box::new([0; BYTES]) };
        space.header();
        space.power_management();
        space.express();
        space.msix();
        space
    }

    fn put16(&mut self, at: usize, value: u16, writable: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        self.writable[at..at + 2].copy_from_slice(&writable.to_le_bytes());
    }

    fn put32(&mut self, at: usize, value: u32, writable: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self.writable[at..at + 4].copy_from_slice(&writable.to_le_bytes());
    }

    fn header(&mut self) {
        self.put16(0x00, pci::VENDOR, 0);
        self.put16(0x02, pci::DEVICE, 0);
        self.put16(COMMAND, 0, COMMAND_WRITABLE);
        self.put16(STATUS, 1 << 4, 0);
        // Revision 1, class.
        self.put32(0x08, pci::CLASS << 8 | 1, 0);
        // Cache line size.
        self.put16(0x0C, 0, 0x00FF);
        self.put32(BARS + 4 * pci::REGISTER_BAR, 0, !(self.layout.registers - 1));
        self.put32(BARS + 4 * pci::MSIX_BAR, 0, !(pci::MSIX_BAR_BYTES as u32 - 1));
        self.put16(0x2C, pci::VENDOR, 0);
        self.put16(0x2E, pci::DEVICE, 0);
        self.put16(0x34, POWER as u16, 0);
        // Interrupt line; there is no pin.
        self.put16(0x3C, 0, 0x00FF);
    }

    fn power_management(&mut self) {
        self.put16(POWER, (EXPRESS as u16) << 8 | 0x01, 0);
        // Version 3, no PME, no state between D0 and D3.
        self.put16(POWER + 2, 3, 0);
        // No reset on the way back from D3.
        self.put16(POWER_CONTROL, 1 << 3, POWER_STATE);
    }

    fn express(&mut self) {
        self.put16(EXPRESS, (MSIX as u16) << 8 | 0x10, 0);
        // Version 2, endpoint.
        self.put16(EXPRESS + 2, 2, 0);
        // Payload of 256 bytes, extended tags, function-level reset.
        self.put32(EXPRESS + 4, 1 << 28 | 1 << 5 | 1, 0);
        self.put16(DEVICE_CONTROL, 2 << 12, 0x7FFF);
        // Link of 8 GT/s, 8 lanes; trained so.
        self.put32(EXPRESS + 0x0C, 8 << 4 | 3, 0);
        self.put16(EXPRESS + 0x10, 0, 0x00FB);
        self.put16(EXPRESS + 0x12, 8 << 4 | 3, 0);
    }

    fn msix(&mut self) {
        self.put16(MSIX, 0x11, 0);
        self.put16(MSIX_CONTROL, self.layout.vectors as u16 - 1, MSIX_ENABLE | 1 << 14);
        self.put32(MSIX + 4, pci::MSIX_BAR as u32, 0);
        self.put32(MSIX + 8, (pci::MSIX_PBA_OFFSET | pci::MSIX_BAR) as u32, 0);
    }

    fn range(offset: u64, bytes: usize) -> Option<Range<usize>> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(bytes)?;
        (end <= BYTES).then_some(start..end)
    }

    /// Reads bytes; false: they are not in the space.
    pub fn read(&self, offset: u64, to: &mut [u8]) -> bool {
        let Some(range) = ConfigSpace::range(offset, to.len()) else { return false };
        to.copy_from_slice(&self.bytes[range]);
        true
    }

    /// Writes bytes, as far as they can be written; `None`: they are not in the space. A write that resets the function returns true: the
    /// space is reset, the function is the caller's.
    pub fn write(&mut self, offset: u64, from: &[u8]) -> Option<bool> {
        let range = ConfigSpace::range(offset, from.len())?;
        let top = DEVICE_CONTROL + 1;
        let resets = range.contains(&top) && from[top - range.start] & (FUNCTION_RESET >> 8) as u8 != 0;
        for (at, value) in range.zip(from) {
            let mask = self.writable[at];
            self.bytes[at] = self.bytes[at] & !mask | value & mask;
        }
        if resets {
            self.reset();
        }
        Some(resets)
    }

    /// The state after a reset.
    pub fn reset(&mut self) {
        *self = ConfigSpace::new(self.layout);
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn awake(&self) -> bool {
        self.word(POWER_CONTROL) & POWER_STATE == 0
    }

    /// Whether the function answers accesses to its BARs: memory is enabled, and the function awake.
    pub fn answers(&self) -> bool {
        self.awake() && self.word(COMMAND) & MEMORY != 0
    }

    /// Whether the function may reach memory: it is a master, and awake.
    pub fn masters(&self) -> bool {
        self.awake() && self.word(COMMAND) & MASTER != 0
    }

    /// What the function is.
    pub fn layout(&self) -> Layout {
        self.layout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read32(space: &ConfigSpace, offset: u64) -> u32 {
        let mut word = [0; 4];
        assert!(space.read(offset, &mut word));
        u32::from_le_bytes(word)
    }

    #[test]
    fn capabilities_are_a_list_that_ends() {
        let space = ConfigSpace::new(Layout::CARD);
        let (mut at, mut ids) = (read32(&space, 0x34) & 0xFF, Vec::new());
        while at != 0 {
            let head = read32(&space, at.into());
            ids.push(head & 0xFF);
            at = head >> 8 & 0xFF;
            assert!(ids.len() < 10);
        }
        assert_eq!(ids, [0x01, 0x10, 0x11]);
        assert_eq!(read32(&space, MSIX as u64) >> 16 & 0x7FF, pci::VECTORS as u32 - 1);
        assert_eq!(read32(&space, 0), u32::from(pci::DEVICE) << 16 | u32::from(pci::VENDOR));
    }

    #[test]
    fn bars_answer_the_probe_for_their_size() {
        let mut space = ConfigSpace::new(Layout::CARD);
        for (bar, size) in [(0, 1 << 20), (1, 0), (2, 4096), (5, 0)] {
            let offset = BARS as u64 + 4 * bar;
            assert_eq!(space.write(offset, &[0xFF; 4]), Some(false));
            assert_eq!(!read32(&space, offset) as u64 + 1, if size == 0 { 1 << 32 } else { size });
        }
    }

    #[test]
    fn a_sleeping_function_neither_answers_nor_reaches_memory() {
        let mut space = ConfigSpace::new(Layout::CARD);
        assert!(!space.answers() && !space.masters());
        space.write(COMMAND_OFFSET, &COMMAND_MEMORY_AND_MASTER.to_le_bytes()).unwrap();
        assert!(space.answers() && space.masters());
        space.write(POWER_CONTROL as u64, &[3]).unwrap();
        assert_eq!(read32(&space, POWER_CONTROL as u64) & 3, 3);
        assert!(!space.answers() && !space.masters());
        space.write(POWER_CONTROL as u64, &[0, 0]).unwrap();
        assert!(space.answers());
    }

    #[test]
    fn only_the_bit_of_device_control_resets() {
        let mut space = ConfigSpace::new(Layout::CARD);
        space.write(COMMAND_OFFSET, &[6]).unwrap();
        assert_eq!(space.write(DEVICE_CONTROL as u64, &[0x2F]), Some(false));
        assert!(space.answers());
        assert_eq!(space.write(DEVICE_CONTROL as u64, &0x8000u16.to_le_bytes()), Some(true));
        assert!(!space.answers());
        assert_eq!(read32(&space, DEVICE_CONTROL as u64) & 0x8000, 0);
        assert_eq!(space.write(BYTES as u64 - 1, &[0, 0]), None);
        assert!(!space.read(u64::MAX, &mut [0]));
        // Read-only bits stay.
        space.write(0, &[0xFF; 4]).unwrap();
        assert_eq!(read32(&space, 0) & 0xFFFF, u32::from(pci::VENDOR));
    }

    /// All words that are not 0 after a reset, and the bits of each that can be written.
    const WORDS: [(u64, u32, u32); 20] = [
        (0x00, 0x10F0_1AF4, 0),
        (0x04, 0x0010_0000, 0x0546),
        (0x08, 0x0280_0001, 0),
        (0x0C, 0, 0xFF),
        (0x10, 0, 0xFFF0_0000),
        (0x18, 0, 0xFFFF_F000),
        (0x2C, 0x10F0_1AF4, 0),
        (0x34, 0x40, 0),
        (0x3C, 0, 0xFF),
        (0x40, 0x0003_5001, 0),
        (0x44, 0x0008, 3),
        (0x50, 0x0002_9010, 0),
        (0x54, 0x1000_0021, 0),
        (0x58, 0x2000, 0x7FFF),
        (0x5C, 0x83, 0),
        (0x60, 0x0083_0000, 0x00FB),
        (0x90, 0x000F_0011, 0xC000_0000),
        (0x94, 2, 0),
        (0x98, 0x802, 0),
        (0x9C, 0, 0),
    ];

    #[test]
    fn every_word_has_its_bits_and_those_that_can_be_written() {
        let mut space = ConfigSpace::new(Layout::CARD);
        let word = |offset: u64| WORDS.iter().find(|word| word.0 == offset).map_or((0, 0), |word| (word.1, word.2));
        for offset in (0..BYTES as u64).step_by(4) {
            assert_eq!(read32(&space, offset), word(offset).0, "{offset:#x}");
        }
        for offset in (0..BYTES as u64).step_by(4) {
            // A one in bit 15 of device control would be a reset.
            let ones: u32 = if offset == DEVICE_CONTROL as u64 { 0xFFFF_7FFF } else { u32::MAX };
            assert_eq!(space.write(offset, &ones.to_le_bytes()), Some(false));
            let (value, writable) = word(offset);
            assert_eq!(read32(&space, offset), value | writable, "{offset:#x}");
            space.write(offset, &[0; 4]).unwrap();
            assert_eq!(read32(&space, offset), value & !writable, "{offset:#x}");
        }
        space.reset();
        for offset in (0..BYTES as u64).step_by(4) {
            assert_eq!(read32(&space, offset), word(offset).0, "{offset:#x}");
        }
    }

    #[test]
    fn a_layout_gives_the_size_of_the_bar_and_the_number_of_vectors() {
        for (registers, vectors) in [(16, 1), (4096, 4), (1 << 31, 128)] {
            let layout = Layout { registers, vectors };
            let mut space = ConfigSpace::new(layout);
            assert_eq!(space.layout(), layout);
            space.write(BARS as u64, &[0xFF; 4]).unwrap();
            assert_eq!(read32(&space, BARS as u64), !(registers - 1));
            assert_eq!(read32(&space, MSIX as u64) >> 16, vectors as u32 - 1);
        }
        for (registers, vectors) in [(8, 1), (24, 1), (0, 1), (4096, 0), (4096, 129)] {
            let made = std::panic::catch_unwind(|| ConfigSpace::new(Layout { registers, vectors }));
            assert!(made.is_err(), "{registers} {vectors}");
        }
    }

    #[test]
    fn accesses_lie_whole_in_the_space_and_may_have_any_size() {
        let mut space = ConfigSpace::new(Layout::CARD);
        let end = BYTES as u64;
        for (offset, bytes) in [(0, BYTES), (end - 1, 1), (end, 0), (end - 2, 2)] {
            assert!(space.read(offset, &mut vec![0; bytes]), "{offset}");
            assert_eq!(space.write(offset, &vec![0; bytes]), Some(false), "{offset}");
        }
        for (offset, bytes) in [(0, BYTES + 1), (end - 1, 2), (end, 1), (u64::MAX, 1), (u64::MAX - 1, 2)] {
            assert!(!space.read(offset, &mut vec![0; bytes]), "{offset}");
            assert_eq!(space.write(offset, &vec![0; bytes]), None, "{offset}");
        }
        // Byte by byte, and more than a word at once.
        space.write(COMMAND_OFFSET + 1, &[0xFF]).unwrap();
        assert_eq!(read32(&space, COMMAND_OFFSET), 0x0010_0500);
        space.write(COMMAND_OFFSET - 2, &[0xFF; 4]).unwrap();
        assert_eq!(read32(&space, COMMAND_OFFSET), 0x0010_0546);
        // The byte of device control with the bit that resets, alone and among others.
        let top = DEVICE_CONTROL as u64 + 1;
        for (offset, bytes, resets) in [
            (top, &[0x80][..], true),
            (top, &[0x7F], false),
            (top - 1, &[0x80, 0], false),
            (top - 1, &[0x80], false),
            (top + 1, &[0x80], false),
            (top - 3, &[0, 0, 0, 0x80, 0], true),
        ] {
            space.write(COMMAND_OFFSET, &[6]).unwrap();
            assert_eq!(space.write(offset, bytes), Some(resets), "{bytes:x?} at {offset:#x}");
            assert_eq!(space.answers() && space.masters(), !resets);
        }
    }

    #[test]
    fn a_function_answers_and_is_master_by_a_bit_each() {
        let mut space = ConfigSpace::new(Layout::CARD);
        for (command, answers, masters) in [(0, false, false), (2, true, false), (4, false, true), (6, true, true)] {
            space.write(COMMAND_OFFSET, &[command]).unwrap();
            assert_eq!((space.answers(), space.masters()), (answers, masters));
            for state in [1, 2, 3] {
                space.write(POWER_CONTROL as u64, &[state]).unwrap();
                assert!(!space.answers() && !space.masters(), "in state {state}");
            }
            space.write(POWER_CONTROL as u64, &[0]).unwrap();
        }
    }
}
