//! Whole shells at the ports of their vendor blocks.

mod bench;
mod card;
mod cmac;
mod driver;
mod faults;
mod gty;
mod kc705;
mod kcu116;
mod latency;
mod pcie7;
mod pins;
mod ports;
mod wire;
mod xdma;
mod xgmii;
