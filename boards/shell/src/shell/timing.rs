//! Clocks that vendor blocks of a board make, and the crossings between clocks in its shell.
//!
//! Each register that another clock feeds is one of these, named over the whole hierarchy.

use crate::data::{Board, HostIp, MacKind, Pcie};
use crate::hdl::pcs::Rate;
use crate::write::xdc::{Crossing, CrossingKind, ShellClock, Timing};
use CrossingKind::{Gray, Held, Level};

/// The clock of a MAC's streams, in constraints and lists of crossings.
pub const MAC_CLOCK: &str = "mac_user_clk";
/// The clock of a receiver that has one of its own.
pub const RX_CLOCK: &str = "mac_rx_clk";
/// The clock of the transmitter beside it.
pub const TX_CLOCK: &str = "mac_tx_clk";
/// The core's clock where it is that of PCIe divided.
pub const CORE_CLOCK: &str = "core_clk";
/// The buffer that divides it.
pub const CORE_BUFFER: &str = "core_clk_bufg";
/// The clock of a CMAC's streams, MHz.
pub const CMAC_MHZ: f64 = 322.265625;
/// The clock of a 10G PCS of 64 bits, MHz.
pub const TEN_GIG_MHZ: f64 = Rate::Ten.mhz();

/// What the shell of a board adds to its constraints; nothing for a board that has no shell yet.
pub fn of(board: &Board) -> Timing {
    let clock = |name: &str, pin: &str, mhz: f64| ShellClock { name: name.into(), pin: pin.into(), mhz };
    let mac = board.mac();
    let (pcie, macs) = match (board.pcie.ip, mac.kind) {
        (HostIp::Xdma, MacKind::Cmac) => ("xdma/axi_aclk", vec![clock(MAC_CLOCK, "cmac0/gt_txusrclk2", CMAC_MHZ)]),
        (HostIp::Pcie7x, MacKind::TenGigPcs) => {
            ("pcie7/user_clk_out", vec![clock(MAC_CLOCK, "pcs0/coreclk_out", TEN_GIG_MHZ)])
        }
        (HostIp::Xdma, MacKind::OwnPcs) => {
            let mhz = Rate::of_gigabits(mac.rate_gbps).map_or(TEN_GIG_MHZ, Rate::mhz);
            let pin = |direction: &str| format!("gty0/gtwiz_userclk_{direction}_usrclk2_out");
            ("xdma/axi_aclk", vec![clock(RX_CLOCK, &pin("rx"), mhz), clock(TX_CLOCK, &pin("tx"), mhz)])
        }
        _ => return Timing::default(),
    };
    let mut clocks = vec![clock(Pcie::USER_CLOCK, pcie, board.pcie.user_clock_mhz.into())];
    let mut core = Pcie::USER_CLOCK;
    if board.core_clock.divide() != 1 {
        core = CORE_CLOCK;
        clocks.push(clock(core, &format!("{CORE_BUFFER}/O"), board.core_mhz().into()));
    }
    let own = macs.len() == 2;
    clocks.extend(macs);
    let (rx, tx) = if own { (RX_CLOCK, TX_CLOCK) } else { (MAC_CLOCK, MAC_CLOCK) };
    let mut crossings = crossings(core, rx, tx);
    if own {
        crossings.extend(two_clocks(&board.free_running.clock));
        crossings.extend(mac.pause.then(pauses).into_iter().flatten());
    }
    Timing { clocks, crossings }
}

/// Crossings of frames, common to all shells: the first register of each, its kind, and whether it is in the core's clock. The
/// counts of the crossings, which no shell reads, are removed by synthesis, and have no bound.
const FRAMES: [(&str, CrossingKind, bool); 15] = [
    ("rx_cross/fifo/written/near", Gray, true),
    ("rx_cross/fifo/taken/near", Gray, false),
    ("rx_cross/clearing/pair/left/asked/near", Level, false),
    ("rx_cross/clearing/pair/left/answered/near", Level, false),
    ("rx_cross/clearing/pair/right/asked/near", Level, true),
    ("rx_cross/clearing/pair/right/answered/near", Level, true),
    ("rx_cross/clearing/heartbeat/sign/near", Level, true),
    ("tx_cross/fifo/written/near", Gray, false),
    ("tx_cross/fifo/taken/near", Gray, true),
    ("tx_cross/whole/near", Gray, false),
    ("tx_cross/clearing/pair/left/asked/near", Level, false),
    ("tx_cross/clearing/pair/left/answered/near", Level, false),
    ("tx_cross/clearing/pair/right/asked/near", Level, true),
    ("tx_cross/clearing/pair/right/answered/near", Level, true),
    ("tx_cross/clearing/heartbeat/sign/near", Level, true),
];

/// Crossings of the MAC's state, common to all shells.
const STATE: [(&str, CrossingKind, bool); 9] = [
    ("link/near", Level, true),
    ("link/counts*gray_near", Gray, true),
    ("link_reset/echo_near", Level, true),
    ("link_reset/run_near", Level, false),
    ("link_reset/ask_near", Level, false),
    ("failures/gray_near", Gray, true),
    ("failures_reset/echo_near", Level, true),
    ("failures_reset/run_near", Level, false),
    ("failures_reset/ask_near", Level, false),
];
/// The parts that have the transmitter's clock.
const OF_TRANSMITTER: [&str; 2] = ["tx_cross/", "failures"];

/// Crossings between the core and the MAC, whose receiver and transmitter may have a clock each.
fn crossings(core: &str, rx: &str, tx: &str) -> Vec<Crossing> {
    FRAMES
        .iter()
        .chain(&STATE)
        .map(|(place, kind, to_core)| {
            let of_transmitter = OF_TRANSMITTER.iter().any(|part| place.starts_with(part));
            let mac = if of_transmitter { tx } else { rx };
            let (from, to) = if *to_core { (mac, core) } else { (core, mac) };
            crossing(place, *kind, from, to)
        })
        .collect()
}

/// What crosses besides where receiver and transmitter have a clock each, and a watch resets the receiver.
fn two_clocks(init: &str) -> Vec<Crossing> {
    [
        ("mac/local_near", Level, RX_CLOCK, TX_CLOCK),
        ("mac/remote_near", Level, RX_CLOCK, TX_CLOCK),
        ("sending/near", Level, RX_CLOCK, TX_CLOCK),
        ("watch/lock/near", Level, RX_CLOCK, init),
    ]
    .map(|(place, kind, from, to)| crossing(place, kind, from, to))
    .into()
}

/// What pause frames add there.
fn pauses() -> [Crossing; 4] {
    [("turned/near", Level), ("high/near", Level), ("low/near", Level), ("taken", Held)]
        .map(|(place, kind)| crossing(&format!("pause/send*{place}"), kind, RX_CLOCK, TX_CLOCK))
}

fn crossing(place: &str, kind: CrossingKind, from: &str, to: &str) -> Crossing {
    Crossing { from: from.into(), to: to.into(), cells: format!("*/{place}*"), kind }
}
