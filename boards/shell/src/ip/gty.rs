//! `gtwizard_ultrascale`: one GTY transceiver with its PLL, 64 bits and a 64b/66b header per cycle (PG182).

use super::{Allowed, Instance, Ip, Setting};

const CORE: Allowed = Allowed::Word(&["CORE"]);

/// The IP.
pub const IP: Ip = Ip {
    name: "gtwizard_ultrascale",
    versions: &["1.7"],
    licence: None,
    settings: SETTINGS,
    source:
        "PG182, UG578; names and ports as in alexforencich/verilog-ethernet example/Alveo/fpga_25g and fpganinja/taxi \
             src/eth/rtl/us/taxi_eth_phy_10g_us_gty_156.tcl",
};

const SETTINGS: &[Setting] = &[
    Setting { name: "PRESET", allowed: Allowed::Word(&["GTY-10GBASE-R"]) },
    Setting { name: "CHANNEL_ENABLE", allowed: Allowed::Place("") },
    Setting { name: "TX_MASTER_CHANNEL", allowed: Allowed::Place("") },
    Setting { name: "RX_MASTER_CHANNEL", allowed: Allowed::Place("") },
    Setting { name: "TX_LINE_RATE", allowed: Allowed::Word(&["10.3125", "25.78125"]) },
    Setting { name: "RX_LINE_RATE", allowed: Allowed::Word(&["10.3125", "25.78125"]) },
    Setting { name: "TX_REFCLK_FREQUENCY", allowed: Allowed::MegaHertz },
    Setting { name: "RX_REFCLK_FREQUENCY", allowed: Allowed::MegaHertz },
    Setting { name: "TX_USER_DATA_WIDTH", allowed: Allowed::Word(&["64"]) },
    Setting { name: "RX_USER_DATA_WIDTH", allowed: Allowed::Word(&["64"]) },
    Setting { name: "TX_INT_DATA_WIDTH", allowed: Allowed::Word(&["64"]) },
    Setting { name: "RX_INT_DATA_WIDTH", allowed: Allowed::Word(&["64"]) },
    Setting { name: "TX_DATA_ENCODING", allowed: Allowed::Word(&["64B66B_ASYNC"]) },
    Setting { name: "RX_DATA_DECODING", allowed: Allowed::Word(&["64B66B_ASYNC"]) },
    Setting { name: "TX_BUFFER_MODE", allowed: Allowed::Word(&["1"]) },
    Setting { name: "RX_BUFFER_MODE", allowed: Allowed::Word(&["1"]) },
    Setting { name: "TX_OUTCLK_SOURCE", allowed: Allowed::Word(&["TXPROGDIVCLK"]) },
    Setting { name: "RX_OUTCLK_SOURCE", allowed: Allowed::Word(&["RXPROGDIVCLK"]) },
    Setting { name: "FREERUN_FREQUENCY", allowed: Allowed::MegaHertz },
    Setting { name: "LOCATE_COMMON", allowed: CORE },
    Setting { name: "LOCATE_RESET_CONTROLLER", allowed: CORE },
    Setting { name: "LOCATE_TX_USER_CLOCKING", allowed: CORE },
    Setting { name: "LOCATE_RX_USER_CLOCKING", allowed: CORE },
    Setting { name: "LOCATE_USER_DATA_WIDTH_SIZING", allowed: CORE },
    Setting { name: "ENABLE_OPTIONAL_PORTS", allowed: Allowed::Names },
    Setting { name: "DISABLE_LOC_XDC", allowed: Allowed::Word(&["1"]) },
];

/// What differs from port to port.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// Number of the transceiver on the board: the module is `gty` and the number.
    pub number: usize,
    /// The transceiver on the device: `X0Y8`.
    pub site: &'a str,
    /// Speed of the line, Gbit/s: 10 or 25.
    pub gigabits: u32,
    /// Reference clock, MHz, as the IP writes it.
    pub refclk_mhz: &'a str,
    /// Free-running clock of the reset, MHz, as the IP writes it.
    pub init_clock_mhz: &'a str,
}

/// A transceiver of a board. The XDC places the channel, so that the lanes of all boards are in one file.
///
/// # Errors
/// A speed that is not 10 or 25.
pub fn instance(options: &Options) -> Result<Instance, String> {
    let rate = match options.gigabits {
        10 => "10.3125",
        25 => "25.78125",
        other => return Err(format!("the transceiver has no setting for {other} Gbit/s; give 10 or 25")),
    };
    let settings = vec![
        // The preset first: it sets all others.
        ("PRESET", "GTY-10GBASE-R".into()),
        ("CHANNEL_ENABLE", options.site.into()),
        ("TX_MASTER_CHANNEL", options.site.into()),
        ("RX_MASTER_CHANNEL", options.site.into()),
        ("TX_LINE_RATE", rate.into()),
        ("RX_LINE_RATE", rate.into()),
        ("TX_REFCLK_FREQUENCY", options.refclk_mhz.into()),
        ("RX_REFCLK_FREQUENCY", options.refclk_mhz.into()),
        ("TX_USER_DATA_WIDTH", "64".into()),
        ("RX_USER_DATA_WIDTH", "64".into()),
        ("TX_INT_DATA_WIDTH", "64".into()),
        ("RX_INT_DATA_WIDTH", "64".into()),
        ("TX_DATA_ENCODING", "64B66B_ASYNC".into()),
        ("RX_DATA_DECODING", "64B66B_ASYNC".into()),
        ("TX_BUFFER_MODE", "1".into()),
        ("RX_BUFFER_MODE", "1".into()),
        ("TX_OUTCLK_SOURCE", "TXPROGDIVCLK".into()),
        ("RX_OUTCLK_SOURCE", "RXPROGDIVCLK".into()),
        ("FREERUN_FREQUENCY", options.init_clock_mhz.into()),
        ("LOCATE_COMMON", "CORE".into()),
        ("LOCATE_RESET_CONTROLLER", "CORE".into()),
        ("LOCATE_TX_USER_CLOCKING", "CORE".into()),
        ("LOCATE_RX_USER_CLOCKING", "CORE".into()),
        ("LOCATE_USER_DATA_WIDTH_SIZING", "CORE".into()),
        ("ENABLE_OPTIONAL_PORTS", "qpll0lock_out".into()),
        ("DISABLE_LOC_XDC", "1".into()),
    ];
    Ok(Instance { module: format!("gty{}", options.number), ip: &IP, settings, ports: Gty::ports() })
}

vendor_block! {
    /// One GTY transceiver. Both user clocks are 156.25 MHz at 10G, 390.625 MHz at 25G.
    ///
    /// In each cycle the transmitter takes 64 bits and their header (bits 1:0 of `txheader_in`). The receiver's word counts
    /// where `rxdatavalid_out[0]` is set, its header where `rxheadervalid_out[0]` is; `rxgearboxslip_in` moves the block by
    /// one bit. Bit 63 of a word, and bit 1 of a header, is the first on the line.
    Gty "gty0" [] {
        gtwiz_reset_clk_freerun_in: In Clock @ "" => Top;
        gtwiz_reset_all_in: In Bit @ "gtwiz_reset_clk_freerun_in" => Shell;
        gtrefclk00_in: In Clock @ "" => Top;
        qpll0lock_out: Out Bit @ "" => Shell;
        gtyrxp_in: In Bit @ "" => Top;
        gtyrxn_in: In Bit @ "" => Top;
        gtytxp_out: Out Bit @ "" => Top;
        gtytxn_out: Out Bit @ "" => Top;
        gtwiz_userclk_tx_reset_in: In Bit @ "" => Tie(0);
        gtwiz_userclk_tx_usrclk2_out: Out Clock @ "" => Shell;
        gtwiz_userclk_rx_reset_in: In Bit @ "" => Tie(0);
        gtwiz_userclk_rx_usrclk2_out: Out Clock @ "" => Shell;
        gtwiz_reset_tx_pll_and_datapath_in: In Bit @ "gtwiz_reset_clk_freerun_in" => Tie(0);
        gtwiz_reset_tx_datapath_in: In Bit @ "gtwiz_reset_clk_freerun_in" => Shell;
        gtwiz_reset_tx_done_out: Out Bit @ "gtwiz_userclk_tx_usrclk2_out" => Shell;
        gtwiz_reset_rx_pll_and_datapath_in: In Bit @ "gtwiz_reset_clk_freerun_in" => Tie(0);
        gtwiz_reset_rx_datapath_in: In Bit @ "gtwiz_reset_clk_freerun_in" => Shell;
        gtwiz_reset_rx_done_out: Out Bit @ "gtwiz_userclk_rx_usrclk2_out" => Shell;
        gtwiz_userdata_tx_in: In Bits [64] @ "gtwiz_userclk_tx_usrclk2_out" => Shell;
        txheader_in: In Bits [6] @ "gtwiz_userclk_tx_usrclk2_out" => Shell;
        txsequence_in: In Bits [7] @ "gtwiz_userclk_tx_usrclk2_out" => Tie(0);
        gtwiz_userdata_rx_out: Out Bits [64] @ "gtwiz_userclk_rx_usrclk2_out" => Shell;
        rxheader_out: Out Bits [6] @ "gtwiz_userclk_rx_usrclk2_out" => Shell;
        rxheadervalid_out: Out Bits [2] @ "gtwiz_userclk_rx_usrclk2_out" => Shell;
        rxdatavalid_out: Out Bits [2] @ "gtwiz_userclk_rx_usrclk2_out" => Shell;
        rxgearboxslip_in: In Bit @ "gtwiz_userclk_rx_usrclk2_out" => Shell;
    }
}
