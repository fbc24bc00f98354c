//! Figures of the shell on a U280: its crossings between the CMAC's clock and the core's.

use super::measure::Figure;
use anyhow::Result;
use spindle_shell_bench::latency::{receive, transmit, Latency};
use spindle_shell_bench::{line_rate, Rates};

/// Keys of [`line_rate_of`] by the length of the frames.
pub const LINE_RATES: [(usize, [&str; 4]); 2] = [
    (
        64,
        [
            "boards.u280.line_rate_64.offered",
            "boards.u280.line_rate_64.accepted",
            "boards.u280.line_rate_64.cut",
            "boards.u280.line_rate_64.dropped",
        ],
    ),
    (
        1518,
        [
            "boards.u280.line_rate_1518.offered",
            "boards.u280.line_rate_1518.accepted",
            "boards.u280.line_rate_1518.cut",
            "boards.u280.line_rate_1518.dropped",
        ],
    ),
];

/// Keys of [`latencies`].
pub const LATENCIES: [&str; 4] = [
    "boards.u280.rx_cross_ns.least",
    "boards.u280.rx_cross_ns.most",
    "boards.u280.tx_cross_ns.least",
    "boards.u280.tx_cross_ns.most",
];

/// Frames per second through the receive crossing.
pub fn line_rate_of(length: usize, keys: &[&'static str; 4]) -> Result<Vec<Figure>> {
    let Rates { offered, accepted, cut, dropped } = line_rate(length)?;
    let how = |what: &str| {
        format!("frames per second through the receive crossing, {length} bytes at 100 Gb/s, 322.27 to 250 MHz: {what}")
    };
    let values = [
        (offered, "on the line"),
        (accepted, "whole at the core"),
        (cut, "in part at the core, and counted"),
        (dropped, "not at the core, and counted"),
    ];
    Ok(keys.iter().zip(values).map(|(key, (value, what))| Figure::new(key, value, how(what))).collect())
}

/// Nanoseconds that the crossings add.
pub fn latencies() -> Result<Vec<Figure>> {
    let Latency { least, most } = receive()?;
    let sent = transmit(1518)?;
    let how = |what: &str| format!("{what}, idle, 300 phases of 322.27 and 250 MHz");
    let (receives, transmits) = ("beat of the CMAC to the core", "last beat of the core to the first at the CMAC");
    let values = [(least, receives), (most, receives), (sent.least, transmits), (sent.most, transmits)];
    Ok(LATENCIES.iter().zip(values).map(|(key, (value, what))| Figure::new(key, value, how(what))).collect())
}
