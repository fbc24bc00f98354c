//! Blocks of the shell.
//!
//! Host side:
//!
//! | module | what it does |
//! |---|---|
//! | [`xdma`] | ports of the bridge `xdma` as bundles |
//! | [`bar`] | accesses of the host to registers of 32 bits |
//! | [`host`] | the NIC's accesses to host memory: limits, address guard, hang guard |
//! | [`gearbox`] | between a core at half the clock with 512 bits, and an XDMA of 256 bits |
//! | [`irq`], [`irq_init`] | interrupts, and the vector map |
//! | [`reset`] | resets of the core and of both sides of each clock crossing |
//! | [`identity`], [`link`] | the register page `shell`, and the state of the MACs |
//! | [`tlp`] | bridge of `pcie_7x` (KC705): BARs, host memory, MSI-X |
//! | [`leds`] | LEDs |
//! | [`registers`] | the page, the device's number and the LEDs together |
//! | [`slice`] | registers where a stream crosses to another die region |
//!
//! Wire side:
//!
//! | module | what it does |
//! |---|---|
//! | [`wire_side`] | all between the NIC and a MAC of 512 bits |
//! | [`wire_64`] | all between the NIC and an XGMII of 64 bits |
//! | [`rx_cross`], [`tx_cross`] | frames between the MAC's clock and the core's |
//! | [`width`] | frames of 64 bits from and for a narrow MAC |
//! | [`cmac`], [`mac_control`] | streams of the 100G MAC; bring-up and state of a MAC |
//! | [`pause`] | pause frames of IEEE 802.3 |
//! | [`beat`], [`cross_clear`] | parts of the crossings: the stored beat, the clearing of both sides |
//! | [`cross_count`], [`heartbeat`] | parts of the clearing: counts, the watch over a clock |
//!
//! Ethernet of 10 and 25 Gb/s:
//!
//! | module | what it does |
//! |---|---|
//! | [`mac64`] | MAC between streams of frames and an XGMII of 64 bits |
//! | [`pcs`] | 64b/66b PCS between an XGMII and a transceiver |
//! | [`gty_watch`] | resets a transceiver whose receiver finds no blocks |
//! | [`si5324`], [`i2c`] | the clock of the KC705's transceiver, and the bus that sets it |

pub mod bar;
pub mod beat;
pub mod cmac;
pub mod cross_clear;
pub mod cross_count;
pub mod gearbox;
pub mod gty_watch;
pub mod heartbeat;
pub mod host;
pub mod i2c;
pub mod identity;
pub mod irq;
pub mod irq_init;
pub mod leds;
pub mod link;
pub mod mac64;
pub mod mac_control;
pub mod pause;
pub mod pcs;
pub mod registers;
pub mod reset;
pub mod rx_cross;
pub mod si5324;
pub mod slice;
pub mod tlp;
pub mod tx_cross;
pub mod width;
pub mod wire_64;
pub mod wire_side;
pub mod xdma;
