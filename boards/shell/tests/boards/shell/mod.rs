//! Whole shells at the ports of their vendor blocks.

mod bench;
mod card;
mod cmac;
mod driver;
mod faults;
mod latency;
mod pins;
mod ports;
mod xdma;
