//! The card as a PCI function: identity, BARs, vectors.

/// Vendor: the range of Red Hat in which experiments have numbers.
pub const VENDOR: u16 = 0x1AF4;
/// Device: the first number of the range for experiments, 0x10F0 to 0x10FF.
pub const DEVICE: u16 = 0x10F0;
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
