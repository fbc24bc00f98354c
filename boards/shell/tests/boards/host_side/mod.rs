//! Blocks between the NIC and PCIe.

mod bar;
mod emission;
mod gearbox;
mod host;
mod irq;
mod xdma;
