//! Figures of a U280: frames through the whole card, and its crossings between the CMAC's clock and the core's.

use super::measure::Figure;
use anyhow::Result;
use spindle_contract::params::Config;
use spindle_shell_bench::latency::{receive, transmit, Latency};
use spindle_shell_bench::shell::line_rate::{card_rates, CardRates, Treatment};

/// Keys of [`line_rate_of`] by the length of the frames.
pub const LINE_RATES: [(usize, [&str; 6]); 2] = [
    (
        64,
        [
            "boards.u280.line_rate_64.offered",
            "boards.u280.line_rate_64.accepted",
            "boards.u280.line_rate_64.dropped",
            "boards.u280.line_rate_64.counted",
            "boards.u280.line_rate_64.answered",
            "boards.u280.line_rate_64.not_answered",
        ],
    ),
    (
        1518,
        [
            "boards.u280.line_rate_1518.offered",
            "boards.u280.line_rate_1518.accepted",
            "boards.u280.line_rate_1518.dropped",
            "boards.u280.line_rate_1518.counted",
            "boards.u280.line_rate_1518.answered",
            "boards.u280.line_rate_1518.not_answered",
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

/// Frames per second through the whole card, shell and NIC of a configuration.
pub fn line_rate_of(config: &Config, length: usize, keys: &[&'static str; 6]) -> Result<Vec<Figure>> {
    let CardRates { offered, accepted, dropped, counted } = card_rates("u280", config, length, Treatment::Judged)?;
    let answers = card_rates("u280", config, length, Treatment::Answered)?;
    let how = |what: &str| {
        let name = config.name;
        format!("frames per second, shell and NIC `{name}`, {length} bytes at 100 Gb/s, 322.27 and 250 MHz: {what}")
    };
    let values = [
        (offered, "on the line"),
        (accepted, "matched by a rule, which drops them"),
        (dropped, "dropped for want of room, with that rule"),
        (counted, "in one of the card's counters, with that rule"),
        (answers.accepted, "answered by the handler ping_pong"),
        (answers.dropped, "dropped for want of room, with that handler"),
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
