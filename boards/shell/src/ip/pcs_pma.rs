//! `ten_gig_eth_pcs_pma`: 10GBASE-R PCS and GTX transceiver with XGMII of 64 bits at 156.25 MHz (PG068).

use super::{Allowed, Instance, Ip, Setting};

/// The IP.
pub const IP: Ip = Ip {
    name: "ten_gig_eth_pcs_pma",
    versions: &["6.0"],
    licence: None,
    settings: SETTINGS,
    source: "PG068; names and ports as in alexforencich/verilog-ethernet example/NetFPGA_SUME/fpga (also 7 series)",
};

const SETTINGS: &[Setting] = &[
    Setting { name: "MDIO_Management", allowed: Allowed::Word(&["false"]) },
    Setting { name: "base_kr", allowed: Allowed::Word(&["BASE-R"]) },
    Setting { name: "SupportLevel", allowed: Allowed::Word(&["1"]) },
    Setting { name: "DClkRate", allowed: Allowed::MegaHertz },
];

/// The PCS of a board, whose module is `pcs` and the number. `init_clock_mhz`: the free-running clock `dclk`, MHz.
pub fn instance(number: usize, init_clock_mhz: &str) -> Instance {
    let settings = vec![
        ("MDIO_Management", "false".into()),
        ("base_kr", "BASE-R".into()),
        ("SupportLevel", "1".into()),
        ("DClkRate", init_clock_mhz.into()),
    ];
    Instance { module: format!("pcs{number}"), ip: &IP, settings, ports: PcsPma::ports() }
}

vendor_block! {
    /// 10GBASE-R PCS with transceiver, PLL and clocks. `core_status[0]` is the block lock.
    ///
    /// The block reaches the registers of its transceiver over `drp_*`, outputs to inputs: no other block wants them, so a
    /// request is its own grant.
    PcsPma "pcs0" [] {
        refclk_p: In Clock @ "" => Top;
        refclk_n: In Clock @ "" => Top;
        dclk: In Clock @ "" => Top;
        reset: In Bit @ "" => Shell;
        coreclk_out: Out Clock @ "" => Shell;
        txp: Out Bit @ "" => Top;
        txn: Out Bit @ "" => Top;
        rxp: In Bit @ "" => Top;
        rxn: In Bit @ "" => Top;
        sim_speedup_control: In Bit @ "" => Tie(0);
        resetdone_out: Out Bit @ "" => Shell;
        xgmii_txd: In Bits [64] @ "coreclk_out" => Shell;
        xgmii_txc: In Bits [8] @ "coreclk_out" => Shell;
        xgmii_rxd: Out Bits [64] @ "coreclk_out" => Shell;
        xgmii_rxc: Out Bits [8] @ "coreclk_out" => Shell;
        configuration_vector: In Bits [536] @ "coreclk_out" => Tie(0);
        status_vector: Out Bits [448] @ "coreclk_out" => Open;
        core_status: Out Bits [8] @ "coreclk_out" => Shell;
        signal_detect: In Bit @ "" => Shell;
        tx_fault: In Bit @ "" => Tie(0);
        pma_pmd_type: In Bits [3] @ "" => Tie(7);
        tx_disable: Out Bit @ "" => Shell;
        drp_req: Out Bit @ "dclk" => Open;
        drp_gnt: In Bit @ "dclk" => Loop("drp_req");
        drp_den_o: Out Bit @ "dclk" => Open;
        drp_den_i: In Bit @ "dclk" => Loop("drp_den_o");
        drp_dwe_o: Out Bit @ "dclk" => Open;
        drp_dwe_i: In Bit @ "dclk" => Loop("drp_dwe_o");
        drp_daddr_o: Out Bits [16] @ "dclk" => Open;
        drp_daddr_i: In Bits [16] @ "dclk" => Loop("drp_daddr_o");
        drp_di_o: Out Bits [16] @ "dclk" => Open;
        drp_di_i: In Bits [16] @ "dclk" => Loop("drp_di_o");
        drp_drdy_o: Out Bit @ "dclk" => Open;
        drp_drdy_i: In Bit @ "dclk" => Loop("drp_drdy_o");
        drp_drpdo_o: Out Bits [16] @ "dclk" => Open;
        drp_drpdo_i: In Bits [16] @ "dclk" => Loop("drp_drpdo_o");
    }
}
