//! Tables and rows of a board file.
//!
//! Each has `sources`: names of [`Origin`]s that state its facts. `line` is the line of the table's header or of the row.

use serde::Deserialize;
use spindle_contract::params;
use std::collections::BTreeMap;

/// Configuration of the NIC (contract).
pub type Config = params::Config;

/// Where facts were read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Repository with its commit, or document, and the place in it.
    #[serde(rename = "where")]
    pub place: String,
    /// Licence of that text. Facts are taken from it, no text.
    pub licence: String,
}

/// What the device has.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Six-input look-up tables.
    pub luts: usize,
    /// Block RAMs of 36 Kib.
    pub bram36: usize,
    /// UltraRAMs.
    pub uram: usize,
    /// Dies.
    pub slrs: usize,
    /// Sources.
    pub sources: Vec<String>,
    /// Line.
    #[serde(skip)]
    pub line: usize,
}

/// The clock of the NIC's core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum CoreClock {
    /// The user clock of the PCIe block.
    #[serde(rename = "pcie")]
    Pcie,
    /// Half of it, edges aligned.
    #[serde(rename = "pcie/2")]
    PcieHalf,
}

impl CoreClock {
    /// Cycles of the PCIe block's user clock in one of the core.
    pub fn divide(self) -> usize {
        match self {
            Self::Pcie => 1,
            Self::PcieHalf => 2,
        }
    }
}

/// The vendor block at the host's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum HostIp {
    /// `xdma` as an AXI bridge (UltraScale+).
    #[serde(rename = "xdma")]
    Xdma,
    /// `pcie_7x`, with the shell's own TLP bridge (7 series).
    #[serde(rename = "pcie_7x")]
    Pcie7x,
}

/// PCI Express.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pcie {
    /// Vendor block.
    pub ip: HostIp,
    /// Generation, which gives the rate of a lane: 2 is 5 GT/s, 3 is 8 GT/s.
    pub gen: u8,
    /// Lanes.
    pub lanes: usize,
    /// Width of the data bus at the user's side, bits.
    pub width_bits: usize,
    /// User clock, MHz.
    pub user_clock_mhz: u32,
    /// Transceiver quads, from that of lane 0 on.
    pub quads: Vec<u32>,
    /// Transceiver channel of lane 0, such as `X1Y15`; lane i has the channel i below.
    pub gt_lane0: String,
    /// Site of the hard block, if it must be chosen.
    #[serde(default)]
    pub block: Option<String>,
    /// Name of the reference clock in `[[clock]]`.
    pub refclk: String,
    /// Port of PERST#.
    pub perst: String,
    /// Die of the hard block.
    #[serde(default)]
    pub slr: usize,
    /// Sources.
    pub sources: Vec<String>,
    /// Line.
    #[serde(skip)]
    pub line: usize,
}

impl Pcie {
    /// The user clock's name in constraints and lists of crossings.
    pub const USER_CLOCK: &'static str = "pcie_user_clk";
}

/// How a MAC is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MacKind {
    /// `cmac_usplus`, 100 Gb/s.
    Cmac,
    /// The shell's own MAC and PCS on a transceiver of UltraScale+.
    OwnPcs,
    /// The shell's own MAC on `ten_gig_eth_pcs_pma`.
    TenGigPcs,
}

/// A port of the network.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mac {
    /// Name; also the group of its pins and the prefix of their ports.
    pub name: String,
    /// How the MAC is built.
    pub kind: MacKind,
    /// Rate, Gb/s.
    pub rate_gbps: u32,
    /// Lanes.
    pub lanes: usize,
    /// Transceiver quad.
    pub quad: u32,
    /// Site of the hard MAC.
    #[serde(default)]
    pub site: Option<String>,
    /// Transceiver channel of lane 0, such as `X0Y28`; lane i has the channel i above.
    pub gt_lane0: String,
    /// Name of the reference clock in `[[clock]]`.
    pub refclk: String,
    /// Forward error correction (Reed-Solomon) unless the project says otherwise.
    pub rsfec: bool,
    /// Pause frames of IEEE 802.3 are sent and obeyed; without this key they are not.
    #[serde(default)]
    pub pause: bool,
    /// The shell's port: exactly one is in use, and pins of others are in no constraint.
    pub used: bool,
    /// Die of the transceivers.
    #[serde(default)]
    pub slr: usize,
    /// Sources.
    pub sources: Vec<String>,
    /// Line.
    #[serde(skip)]
    pub line: usize,
}

/// Where a clock goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// Dedicated input of a transceiver quad.
    Transceiver,
    /// Input of the fabric.
    Fabric,
}

/// A clock that comes over a pair of pins.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Name in constraints and lists of crossings.
    pub name: String,
    /// Positive port of the pair.
    pub port: String,
    /// Frequency, MHz.
    pub mhz: f64,
    /// Where it goes.
    pub kind: ClockKind,
    /// Sources.
    pub sources: Vec<String>,
    /// Line.
    #[serde(skip)]
    pub line: usize,
}

impl Clock {
    /// Period, ns.
    pub fn period_ns(&self) -> f64 {
        1000.0 / self.mhz
    }
}

/// The clock of initialisation, which runs without host and network.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeRunning {
    /// Name in `[[clock]]`.
    pub clock: String,
    /// Divisor: 1 or 2.
    pub divide: u32,
    /// Sources.
    pub sources: Vec<String>,
    /// Line.
    #[serde(skip)]
    pub line: usize,
}

/// What a host block can bear.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Reads that may be outstanding.
    pub reads: usize,
    /// Writes that may be outstanding.
    pub writes: usize,
    /// Bits of an address that reach the host; accesses above are refused.
    pub address_bits: u32,
    /// Sources.
    pub sources: Vec<String>,
    /// Line.
    #[serde(skip)]
    pub line: usize,
}

/// Direction of a pin, seen from the FPGA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Input.
    In,
    /// Output.
    Out,
    /// Both, open drain.
    Inout,
}

/// Pull resistor of a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pull {
    /// To VCCO.
    Up,
    /// To ground.
    Down,
}

/// Slew rate of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slew {
    /// Slow edges.
    Slow,
    /// Fast edges.
    Fast,
}

/// A pin of the package.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Port of the top, with its index if the port is a bus: `led[0]`.
    pub port: String,
    /// Pin of the package, such as `AL2`.
    pub loc: String,
    /// Direction.
    pub dir: Direction,
    /// I/O standard; none at a pin of a transceiver.
    #[serde(default)]
    pub iostandard: Option<String>,
    /// Pull resistor.
    #[serde(default)]
    pub pull: Option<Pull>,
    /// Drive strength, mA.
    #[serde(default)]
    pub drive: Option<u8>,
    /// Slew rate.
    #[serde(default)]
    pub slew: Option<Slew>,
    /// The receiver gives its pair a level of its own (`DQS_BIAS`), where capacitors on the card take the level away.
    #[serde(default)]
    pub dqs_bias: bool,
    /// The level at which the shell holds this output for ever.
    #[serde(default, rename = "const")]
    pub constant: Option<u8>,
    /// Sources.
    pub sources: Vec<String>,
    /// Line.
    #[serde(skip)]
    pub line: usize,
}

impl Pin {
    /// Name of the port without its index.
    pub fn bus(&self) -> &str {
        self.port.split('[').next().unwrap_or(&self.port)
    }

    /// Index in its bus; none if the port has one bit.
    pub fn index(&self) -> Option<usize> {
        self.port.split_once('[')?.1.strip_suffix(']')?.parse().ok()
    }
}

/// Supply of the banks of I/O pins.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Banks {
    /// VCCO by bank, V.
    pub vcco: BTreeMap<String, f64>,
    /// Sources.
    pub sources: Vec<String>,
    /// Line.
    #[serde(skip)]
    pub line: usize,
}

impl Banks {
    /// VCCO of a bank, V; none if no source states it.
    pub fn vcco(&self, bank: u32) -> Option<f64> {
        self.vcco.get(&bank.to_string()).copied()
    }
}

/// Configuration of the device from flash.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bitstream {
    /// CFGBVS: `GND` or `VCCO`.
    pub cfgbvs: String,
    /// CONFIG_VOLTAGE, V.
    pub config_voltage: String,
    /// CONFIG_MODE.
    pub config_mode: String,
    /// Power that the slot and the card's supply give, W.
    #[serde(default)]
    pub power_budget_w: Option<u32>,
    /// Properties `BITSTREAM.…` of the design, with their values.
    pub options: BTreeMap<String, String>,
    /// Sources.
    pub sources: Vec<String>,
    /// Line.
    #[serde(skip)]
    pub line: usize,
}

/// Configuration flash.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Part, as Vivado's hardware manager names it.
    pub part: String,
    /// Interface of `write_cfgmem`.
    pub interface: String,
    /// Size, MiB.
    pub size_mib: u32,
    /// Offset at which the bitstream is written.
    pub offset: u32,
    /// End of the image that the maker put there and that must stay; 0 if there is none.
    pub golden_end: u32,
    /// Sources.
    pub sources: Vec<String>,
    /// Line.
    #[serde(skip)]
    pub line: usize,
}
