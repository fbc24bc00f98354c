//! `cmac_usplus`: 100G Ethernet with RS-FEC (PG203). The stream has 512 bits at 322.265625 MHz, and no ready on receive.

use super::{Allowed, Instance, Ip, Setting};

const SWITCH: Allowed = Allowed::Word(&["0", "1"]);

/// The IP.
pub const IP: Ip = Ip {
    name: "cmac_usplus",
    versions: &["3.1"],
    licence: Some("the licence of cmac_usplus is free; fetch it from AMD's licensing site and install it"),
    settings: SETTINGS,
    source: "PG203; names as in Xilinx/open-nic-shell src/cmac_subsystem/vivado_ip, ports as in its cmac_subsystem_cmac_wrapper.sv; \
             without AXI4-Lite as in esa-tu-darmstadt/tapasco AU280/plugins/sfpplus_100g.tcl",
};

const SETTINGS: &[Setting] = &[
    Setting { name: "CMAC_CAUI4_MODE", allowed: Allowed::Word(&["1"]) },
    Setting { name: "NUM_LANES", allowed: Allowed::Word(&["4x25"]) },
    Setting { name: "GT_REF_CLK_FREQ", allowed: Allowed::Word(&["156.25", "161.1328125", "322.265625"]) },
    Setting { name: "USER_INTERFACE", allowed: Allowed::Word(&["AXIS"]) },
    Setting { name: "GT_DRP_CLK", allowed: Allowed::MegaHertz },
    Setting { name: "ENABLE_AXI_INTERFACE", allowed: Allowed::Word(&["0"]) },
    Setting { name: "INCLUDE_STATISTICS_COUNTERS", allowed: SWITCH },
    Setting { name: "CMAC_CORE_SELECT", allowed: Allowed::Place("CMACE4_") },
    Setting { name: "GT_GROUP_SELECT", allowed: Allowed::Places },
    Setting { name: "LANE1_GT_LOC", allowed: Allowed::Place("") },
    Setting { name: "LANE2_GT_LOC", allowed: Allowed::Place("") },
    Setting { name: "LANE3_GT_LOC", allowed: Allowed::Place("") },
    Setting { name: "LANE4_GT_LOC", allowed: Allowed::Place("") },
    Setting { name: "INCLUDE_RS_FEC", allowed: Allowed::Word(&["1"]) },
    Setting { name: "ENABLE_PIPELINE_REG", allowed: SWITCH },
    Setting { name: "INS_LOSS_NYQ", allowed: Allowed::Number(0, 30) },
    Setting { name: "RX_GT_BUFFER", allowed: SWITCH },
    Setting { name: "TX_FLOW_CONTROL", allowed: Allowed::Word(&["0"]) },
    Setting { name: "RX_FLOW_CONTROL", allowed: Allowed::Word(&["0"]) },
    Setting { name: "TX_FRAME_CRC_CHECKING", allowed: Allowed::Word(&["Enable FCS Insertion"]) },
    Setting { name: "RX_FRAME_CRC_CHECKING", allowed: Allowed::Word(&["Enable FCS Stripping"]) },
    Setting { name: "RX_MIN_PACKET_LEN", allowed: Allowed::Number(64, 255) },
    Setting { name: "RX_MAX_PACKET_LEN", allowed: Allowed::Number(64, 16383) },
];

/// What differs from port to port.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// Number of the MAC on the board: the module is `cmac` and the number.
    pub number: usize,
    /// The MAC on the device: `CMACE4_X0Y4`.
    pub site: &'a str,
    /// Column and row of the transceiver of lane 0; the others follow upwards.
    pub first_lane: (usize, usize),
    /// Reference clock, MHz, as the IP writes it.
    pub refclk_mhz: &'a str,
    /// Free-running clock of set-up and DRP, MHz, as the IP writes it.
    pub init_clock_mhz: &'a str,
}

/// A MAC of a board. The RS-FEC is always there; the shell decides whether it is used.
pub fn instance(options: &Options) -> Instance {
    let (x, y) = options.first_lane;
    let lane = |at: usize| format!("X{x}Y{}", y + at);
    let settings = vec![
        ("CMAC_CAUI4_MODE", "1".into()),
        ("NUM_LANES", "4x25".into()),
        ("GT_REF_CLK_FREQ", options.refclk_mhz.into()),
        ("USER_INTERFACE", "AXIS".into()),
        ("GT_DRP_CLK", options.init_clock_mhz.into()),
        ("ENABLE_AXI_INTERFACE", "0".into()),
        ("INCLUDE_STATISTICS_COUNTERS", "0".into()),
        ("CMAC_CORE_SELECT", options.site.into()),
        ("GT_GROUP_SELECT", format!("{}~{}", lane(0), lane(3))),
        ("LANE1_GT_LOC", lane(0)),
        ("LANE2_GT_LOC", lane(1)),
        ("LANE3_GT_LOC", lane(2)),
        ("LANE4_GT_LOC", lane(3)),
        ("INCLUDE_RS_FEC", "1".into()),
        ("ENABLE_PIPELINE_REG", "1".into()),
        ("INS_LOSS_NYQ", "20".into()),
        ("RX_GT_BUFFER", "1".into()),
        ("TX_FLOW_CONTROL", "0".into()),
        ("RX_FLOW_CONTROL", "0".into()),
        ("TX_FRAME_CRC_CHECKING", "Enable FCS Insertion".into()),
        ("RX_FRAME_CRC_CHECKING", "Enable FCS Stripping".into()),
        ("RX_MIN_PACKET_LEN", "64".into()),
        ("RX_MAX_PACKET_LEN", "9600".into()),
    ];
    Instance { module: format!("cmac{}", options.number), ip: &IP, settings, ports: Cmac::ports() }
}

vendor_block! {
    /// 100G MAC. `gt_txusrclk2` is the clock of both streams; the top connects it to `rx_clk`.
    ///
    /// An underrun of transmission ends only with a reset of the transmitter. The MAC does not pad short frames.
    Cmac "cmac0" [] {
        gt_rxp_in: In Bits [4] @ "" => Top;
        gt_rxn_in: In Bits [4] @ "" => Top;
        gt_txp_out: Out Bits [4] @ "" => Top;
        gt_txn_out: Out Bits [4] @ "" => Top;
        gt_ref_clk_p: In Clock @ "" => Top;
        gt_ref_clk_n: In Clock @ "" => Top;
        init_clk: In Clock @ "" => Top;
        drp_clk: In Clock @ "" => Top;
        rx_clk: In Clock @ "" => Top;
        gt_txusrclk2: Out Clock @ "" => Shell;
        sys_reset: In Bit @ "init_clk" => Shell;
        core_rx_reset: In Bit @ "gt_txusrclk2" => Shell;
        core_tx_reset: In Bit @ "gt_txusrclk2" => Shell;
        core_drp_reset: In Bit @ "drp_clk" => Tie(0);
        gtwiz_reset_tx_datapath: In Bit @ "init_clk" => Tie(0);
        gtwiz_reset_rx_datapath: In Bit @ "init_clk" => Tie(0);
        gt_loopback_in: In Bits [12] @ "" => Tie(0);
        usr_rx_reset: Out Bit @ "gt_txusrclk2" => Shell;
        usr_tx_reset: Out Bit @ "gt_txusrclk2" => Shell;
        rx_axis_tvalid: Out Bit @ "gt_txusrclk2" => Shell;
        rx_axis_tdata: Out Bits [512] @ "gt_txusrclk2" => Shell;
        rx_axis_tkeep: Out Bits [64] @ "gt_txusrclk2" => Shell;
        rx_axis_tlast: Out Bit @ "gt_txusrclk2" => Shell;
        rx_axis_tuser: Out Bit @ "gt_txusrclk2" => Shell;
        tx_axis_tvalid: In Bit @ "gt_txusrclk2" => Shell;
        tx_axis_tready: Out Bit @ "gt_txusrclk2" => Shell;
        tx_axis_tdata: In Bits [512] @ "gt_txusrclk2" => Shell;
        tx_axis_tkeep: In Bits [64] @ "gt_txusrclk2" => Shell;
        tx_axis_tlast: In Bit @ "gt_txusrclk2" => Shell;
        tx_axis_tuser: In Bit @ "gt_txusrclk2" => Shell;
        tx_ovfout: Out Bit @ "gt_txusrclk2" => Shell;
        tx_unfout: Out Bit @ "gt_txusrclk2" => Shell;
        tx_preamblein: In Bits [56] @ "gt_txusrclk2" => Tie(0);
        ctl_tx_enable: In Bit @ "gt_txusrclk2" => Shell;
        ctl_tx_send_idle: In Bit @ "gt_txusrclk2" => Tie(0);
        ctl_tx_send_rfi: In Bit @ "gt_txusrclk2" => Shell;
        ctl_tx_send_lfi: In Bit @ "gt_txusrclk2" => Tie(0);
        ctl_tx_test_pattern: In Bit @ "gt_txusrclk2" => Tie(0);
        ctl_rx_enable: In Bit @ "gt_txusrclk2" => Shell;
        ctl_rx_force_resync: In Bit @ "gt_txusrclk2" => Tie(0);
        ctl_rx_test_pattern: In Bit @ "gt_txusrclk2" => Tie(0);
        ctl_tx_rsfec_enable: In Bit @ "gt_txusrclk2" => Shell;
        ctl_rx_rsfec_enable: In Bit @ "gt_txusrclk2" => Shell;
        ctl_rx_rsfec_enable_correction: In Bit @ "gt_txusrclk2" => Shell;
        ctl_rx_rsfec_enable_indication: In Bit @ "gt_txusrclk2" => Shell;
        ctl_rsfec_ieee_error_indication_mode: In Bit @ "gt_txusrclk2" => Shell;
        stat_rx_aligned: Out Bit @ "gt_txusrclk2" => Shell;
        stat_rx_status: Out Bit @ "gt_txusrclk2" => Shell;
        stat_rx_hi_ber: Out Bit @ "gt_txusrclk2" => Shell;
        stat_rx_remote_fault: Out Bit @ "gt_txusrclk2" => Shell;
        stat_rx_local_fault: Out Bit @ "gt_txusrclk2" => Shell;
        drp_addr: In Bits [10] @ "drp_clk" => Tie(0);
        drp_di: In Bits [16] @ "drp_clk" => Tie(0);
        drp_en: In Bit @ "drp_clk" => Tie(0);
        drp_we: In Bit @ "drp_clk" => Tie(0);
    }
}
