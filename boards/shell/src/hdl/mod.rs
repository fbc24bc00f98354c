//! Blocks of the shell.
//!
//! Host side:
//!
//! | module | what it does |
//! |---|---|
//! | [`xdma`] | ports of the bridge `xdma` as bundles |
//! | [`bar`] | accesses of the host to registers of 32 bits |
//! | [`host`] | the NIC's accesses to host memory: limits, address guard, hang guard |
//! | [`gearbox`] | between a core at half the clock with 512 bits, and an XDMA of 256 bits |
//! | [`irq`], [`irq_init`] | interrupts, and the vector map |
//! | [`reset`] | resets of the core and of both sides of each clock crossing |
//! | [`identity`], [`link`] | the register page `shell`, and the state of the MACs |
//! | [`tlp`] | bridge of `pcie_7x` (KC705): BARs, host memory, MSI-X |
//! | [`slice`] | registers where a stream crosses to another die region |

pub mod bar;
pub mod gearbox;
pub mod host;
pub mod identity;
pub mod irq;
pub mod irq_init;
pub mod link;
pub mod reset;
pub mod slice;
pub mod tlp;
pub mod xdma;
