//! Whole shells at the ports of their vendor blocks.

mod adverse;
mod cases;
mod driver;
mod faults;
mod gty;
mod kc705;
mod kcu116;
mod latency;
mod line_rate;
mod nic;
mod pcie7;
mod ports;
pub mod wire;
mod xgmii;
