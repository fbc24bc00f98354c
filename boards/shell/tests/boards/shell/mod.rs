//! Whole shells at the ports of their vendor blocks.

mod bench;
mod card;
mod cmac;
mod driver;
mod faults;
mod kc705;
mod latency;
mod pcie7;
mod pins;
mod ports;
mod xdma;
mod xgmii;
