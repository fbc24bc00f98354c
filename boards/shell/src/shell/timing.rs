//! Clocks that vendor blocks of a board make, and the crossings between clocks in its shell.
//!
//! Each register that another clock feeds is one of these, named over the whole hierarchy.

use crate::data::{Board, HostIp, MacKind, Pcie};
use crate::write::xdc::{Crossing, CrossingKind, ShellClock, Timing};
use CrossingKind::{Gray, Level};

/// The clock of a MAC's streams, in constraints and lists of crossings.
pub const MAC_CLOCK: &str = "mac_user_clk";
/// The clock of a CMAC's streams, MHz.
pub const CMAC_MHZ: f64 = 322.265625;
/// The clock of a 10G PCS of 64 bits, MHz.
pub const TEN_GIG_MHZ: f64 = 156.25;

/// What the shell of a board adds to its constraints; nothing for a board that has no shell yet.
pub fn of(board: &Board) -> Timing {
    let (pcie, mac, mac_mhz) = match (board.pcie.ip, board.mac().kind) {
        (HostIp::Xdma, MacKind::Cmac) => ("xdma/axi_aclk", "cmac0/gt_txusrclk2", CMAC_MHZ),
        (HostIp::Pcie7x, MacKind::TenGigPcs) => ("pcie7/user_clk_out", "pcs0/coreclk_out", TEN_GIG_MHZ),
        _ => return Timing::default(),
    };
    let clock = |name: &str, pin: &str, mhz: f64| ShellClock { name: name.into(), pin: pin.into(), mhz };
    let clocks = vec![clock(Pcie::USER_CLOCK, pcie, board.pcie.user_clock_mhz.into()), clock(MAC_CLOCK, mac, mac_mhz)];
    Timing { clocks, crossings: crossings() }
}

/// Crossings of frames, common to all shells: the first register of each, its kind, and whether it is in the core's clock. The
/// counts of the crossings, which no shell reads, are removed by synthesis, and have no bound.
const FRAMES: [(&str, CrossingKind, bool); 15] = [
    ("rx_cross/fifo/written/near", Gray, true),
    ("rx_cross/fifo/taken/near", Gray, false),
    ("rx_cross/pair/left/asked/near", Level, false),
    ("rx_cross/pair/left/answered/near", Level, false),
    ("rx_cross/pair/right/asked/near", Level, true),
    ("rx_cross/pair/right/answered/near", Level, true),
    ("rx_cross/heartbeat/sign/near", Level, true),
    ("tx_cross/fifo/written/near", Gray, false),
    ("tx_cross/fifo/taken/near", Gray, true),
    ("tx_cross/whole/near", Gray, false),
    ("tx_cross/pair/left/asked/near", Level, true),
    ("tx_cross/pair/left/answered/near", Level, true),
    ("tx_cross/pair/right/asked/near", Level, false),
    ("tx_cross/pair/right/answered/near", Level, false),
    ("tx_cross/heartbeat/sign/near", Level, true),
];

/// Crossings of the MAC's state, common to all shells.
const STATE: [(&str, CrossingKind, bool); 5] = [
    ("link/near", Level, true),
    ("link/counts*gray_near", Gray, true),
    ("link_reset/echo_near", Level, true),
    ("link_reset/run_near", Level, false),
    ("link_reset/ask_near", Level, false),
];

/// Crossings between the core and the MAC.
fn crossings() -> Vec<Crossing> {
    let (mac, core) = (MAC_CLOCK.to_string(), Pcie::USER_CLOCK.to_string());
    FRAMES
        .iter()
        .chain(&STATE)
        .map(|(place, kind, to_core)| {
            let (from, to) = if *to_core { (&mac, &core) } else { (&core, &mac) };
            Crossing { from: from.clone(), to: to.clone(), cells: format!("*/{place}*"), kind: *kind }
        })
        .collect()
}
