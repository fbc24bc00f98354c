//! Blocks between the NIC and PCIe.

mod bar;
mod emission;
mod formal;
mod gearbox;
mod host;
mod identity;
mod irq;
mod reset;
mod xdma;
