//! Wire side of the shell: crossings, widths, pause frames.

pub mod bench;
mod emission;
mod formal;
mod line_rate;
mod pause;
mod rx;
pub mod rx_bench;
mod tx;
mod tx_bench;
mod width;
