//! Blocks between the NIC and PCIe.

mod bar;
mod emission;
