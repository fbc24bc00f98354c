//! The card as a PCI function: identity, BARs, vectors.

/// Vendor: the range of Red Hat in which experiments have numbers.
pub const VENDOR: u16 = 0x1AF4;
/// Device: the first number of the range for experiments, 0x10F0 to 0x10FF.
pub const DEVICE: u16 = 0x10F0;
/// Vendor of the subsystem; its numbers are those of [`BOARDS`].
pub const SUBSYSTEM_VENDOR: u16 = VENDOR;
/// Class, subclass and interface: a network controller of no standard kind.
pub const CLASS: u32 = 0x02_80_00;
/// BAR of the registers.
pub const REGISTER_BAR: usize = 0;
/// BAR of the MSI-X table and its pending bits.
pub const MSIX_BAR: usize = 2;
/// Bytes of the BAR of the MSI-X table.
pub const MSIX_BAR_BYTES: usize = 4096;
/// Offset of the pending bits in that BAR.
pub const MSIX_PBA_OFFSET: usize = 0x800;
/// Interrupt vectors: one MSI-X vector for each bit of the port `irq_request`. Vector 0 is the card's own, the others are the processes'.
pub const VECTORS: usize = 16;

/// Region of a served card beside those of PCI, with the card's time. Its numbers are 64 bits wide.
pub const TIME_REGION: usize = 9;
/// The vendor's number of that region's kind.
pub const TIME_REGION_KIND: u32 = 1;
/// Bytes of that region.
pub const TIME_REGION_BYTES: u64 = 64;
/// Read: cycles of the card since its server began.
pub const TIME_CYCLE: u64 = 0x00;
/// Write: has so many cycles pass, and is answered after them, if the card's time moves by calls; at most [`TIME_MOST`].
pub const TIME_RUN: u64 = 0x08;
/// Read: 1, the card's time moves by accesses and by [`TIME_RUN`] only; 0, the card runs on its own.
pub const TIME_MODE: u64 = 0x10;
/// Write: records a wave of so many cycles from now on; 0 ends a recording.
pub const TIME_WAVE: u64 = 0x18;
/// Most cycles of one [`TIME_RUN`], so that the server answers soon.
pub const TIME_MOST: u64 = 4096;

/// A board that has a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// Name, as in `boards/<name>`.
    pub name: &'static str,
    /// PCI subsystem id, and the number in the register `shell.BOARD`.
    pub number: u16,
    /// The vendor's name.
    pub title: &'static str,
}

/// All boards.
pub const BOARDS: &[Board] = &[
    Board { name: "u50", number: 0x0050, title: "Alveo U50" },
    Board { name: "u55c", number: 0x0055, title: "Alveo U55C" },
    Board { name: "u250", number: 0x0250, title: "Alveo U250" },
    Board { name: "u280", number: 0x0280, title: "Alveo U280" },
    Board { name: "kcu116", number: 0x0116, title: "KCU116" },
    Board { name: "kc705", number: 0x0705, title: "KC705" },
];

/// The bridge `xdma`: the vector map and the mask of its user interrupts, as seen on the port `s_axil`. PG195 gives the offsets (IRQ
/// block); that bit 28 selects this block in bridge mode is known from one public design only.
pub mod xdma {
    /// The registers of the IRQ block on `s_axil`.
    pub const IRQ_BLOCK: u32 = 0x1000_2000;
    /// Enable mask of user interrupts, a bit each.
    pub const IRQ_MASK: u32 = 0x04;
    /// First word of the vector map: vectors of four interrupts, 8 bits each.
    pub const IRQ_VECTORS: u32 = 0x80;
    /// Bits of an address that the slave port reaches: one window of 2^48 bytes.
    pub const ADDRESS_BITS: u32 = 48;
    /// Reads, and writes, that the bridge has under way at most.
    pub const OUTSTANDING: usize = 32;
}
