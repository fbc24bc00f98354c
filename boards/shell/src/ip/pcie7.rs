//! `pcie_7x`: the PCIe block of the 7 series, Gen2 with 4 lanes, TLPs as streams of 128 bits at 125 MHz (PG054).

use super::{Allowed, Instance, Ip, Setting};
use spindle_contract::pci::{CLASS, DEVICE, MSIX_BAR_BYTES, SUBSYSTEM_VENDOR, VECTORS, VENDOR};
use spindle_contract::registers::BAR_BITS;

const SWITCH: Allowed = Allowed::Word(&["true", "false"]);
const PLACE_OF_MSIX: Allowed = Allowed::Word(&["BAR_0", "BAR_1:0", "BAR_3:2", "BAR_5:4"]);

/// The IP.
pub const IP: Ip = Ip {
    name: "pcie_7x",
    versions: &["3.3"],
    licence: None,
    settings: SETTINGS,
    source:
        "PG054; names and ports as in enjoy-digital/litepcie litepcie/phy/s7pciephy.py; the clocking inside the core \
             (en_ext_clk) as in several public block designs for the KC705",
};

const SETTINGS: &[Setting] = &[
    Setting { name: "mode_selection", allowed: Allowed::Word(&["Advanced"]) },
    Setting { name: "Xlnx_Ref_Board", allowed: Allowed::Word(&["None"]) },
    Setting { name: "PCIe_Blk_Locn", allowed: Allowed::Place("") },
    Setting { name: "Maximum_Link_Width", allowed: Allowed::Word(&["X4"]) },
    Setting { name: "Link_Speed", allowed: Allowed::Word(&["5.0_GT/s"]) },
    Setting { name: "Trgt_Link_Speed", allowed: Allowed::Word(&["4'h2"]) },
    Setting { name: "Interface_Width", allowed: Allowed::Word(&["128_bit"]) },
    Setting { name: "User_Clk_Freq", allowed: Allowed::Word(&["125"]) },
    Setting { name: "Ref_Clk_Freq", allowed: Allowed::Word(&["100_MHz"]) },
    Setting { name: "Max_Payload_Size", allowed: Allowed::Word(&["128_bytes", "256_bytes", "512_bytes"]) },
    Setting { name: "Trans_Buf_Pipeline", allowed: Allowed::Word(&["None"]) },
    Setting { name: "Buf_Opt_BMA", allowed: SWITCH },
    Setting { name: "en_ext_clk", allowed: SWITCH },
    Setting { name: "Vendor_ID", allowed: Allowed::Hex(4) },
    Setting { name: "Device_ID", allowed: Allowed::Hex(4) },
    Setting { name: "Subsystem_Vendor_ID", allowed: Allowed::Hex(4) },
    Setting { name: "Subsystem_ID", allowed: Allowed::Hex(4) },
    Setting { name: "Class_Code_Base", allowed: Allowed::Hex(2) },
    Setting { name: "Class_Code_Sub", allowed: Allowed::Hex(2) },
    Setting { name: "Class_Code_Interface", allowed: Allowed::Hex(2) },
    Setting { name: "Bar0_64bit", allowed: SWITCH },
    Setting { name: "Bar0_Scale", allowed: Allowed::Word(&["Kilobytes", "Megabytes"]) },
    Setting { name: "Bar0_Size", allowed: Allowed::Number(1, 512) },
    Setting { name: "Bar2_Enabled", allowed: SWITCH },
    Setting { name: "Bar2_Type", allowed: Allowed::Word(&["Memory"]) },
    Setting { name: "Bar2_64bit", allowed: SWITCH },
    Setting { name: "Bar2_Scale", allowed: Allowed::Word(&["Kilobytes", "Megabytes"]) },
    Setting { name: "Bar2_Size", allowed: Allowed::Number(1, 512) },
    Setting { name: "IntX_Generation", allowed: SWITCH },
    Setting { name: "Legacy_Interrupt", allowed: Allowed::Word(&["NONE"]) },
    Setting { name: "MSI_Enabled", allowed: SWITCH },
    Setting { name: "MSIx_Enabled", allowed: SWITCH },
    Setting { name: "MSIx_Table_Size", allowed: Allowed::Hex(3) },
    Setting { name: "MSIx_Table_BIR", allowed: PLACE_OF_MSIX },
    Setting { name: "MSIx_Table_Offset", allowed: Allowed::Hex(8) },
    Setting { name: "MSIx_PBA_BIR", allowed: PLACE_OF_MSIX },
    Setting { name: "MSIx_PBA_Offset", allowed: Allowed::Hex(8) },
];

/// The PCIe block of a board. `subsystem`: the board.
pub fn instance(block: &str, subsystem: u16) -> Instance {
    let hex = |number: u64, digits: usize| format!("{number:0digits$X}");
    let class = |shift: u32| hex(u64::from(CLASS >> shift & 0xFF), 2);
    let settings: Vec<(&'static str, String)> = vec![
        ("mode_selection", "Advanced".into()),
        ("Xlnx_Ref_Board", "None".into()),
        ("PCIe_Blk_Locn", block.into()),
        ("Maximum_Link_Width", "X4".into()),
        ("Link_Speed", "5.0_GT/s".into()),
        ("Trgt_Link_Speed", "4'h2".into()),
        ("Interface_Width", "128_bit".into()),
        ("User_Clk_Freq", "125".into()),
        ("Ref_Clk_Freq", "100_MHz".into()),
        ("Max_Payload_Size", "512_bytes".into()),
        ("Trans_Buf_Pipeline", "None".into()),
        ("Buf_Opt_BMA", "true".into()),
        // The MMCM of the user clock is inside the core.
        ("en_ext_clk", "false".into()),
        ("Vendor_ID", hex(VENDOR.into(), 4)),
        ("Device_ID", hex(DEVICE.into(), 4)),
        ("Subsystem_Vendor_ID", hex(SUBSYSTEM_VENDOR.into(), 4)),
        ("Subsystem_ID", hex(subsystem.into(), 4)),
        ("Class_Code_Base", class(16)),
        ("Class_Code_Sub", class(8)),
        ("Class_Code_Interface", class(0)),
        ("Bar0_64bit", "true".into()),
        ("Bar0_Scale", "Megabytes".into()),
        ("Bar0_Size", ((1u64 << BAR_BITS) >> 20).to_string()),
        ("Bar2_Enabled", "true".into()),
        ("Bar2_Type", "Memory".into()),
        ("Bar2_64bit", "true".into()),
        ("Bar2_Scale", "Kilobytes".into()),
        ("Bar2_Size", (MSIX_BAR_BYTES >> 10).to_string()),
        ("IntX_Generation", "false".into()),
        ("Legacy_Interrupt", "NONE".into()),
        ("MSI_Enabled", "false".into()),
        ("MSIx_Enabled", "true".into()),
        ("MSIx_Table_Size", hex(VECTORS as u64, 2)),
        ("MSIx_Table_BIR", "BAR_3:2".into()),
        ("MSIx_Table_Offset", "0".into()),
        ("MSIx_PBA_BIR", "BAR_3:2".into()),
        // Sources differ on the unit: 0x100 bytes is the first place after the table, 0x100 times 8 is the contract's.
        ("MSIx_PBA_Offset", hex(16 * VECTORS as u64, 3)),
    ];
    Instance { module: "pcie7".into(), ip: &IP, settings, ports: Pcie7::ports() }
}

vendor_block! {
    /// PCIe block with TLPs. The MSI-X table is the user's; an interrupt is a memory write TLP.
    ///
    /// `m_axis_rx_tuser`: bits 14:10 are the start of a TLP (bit 14: there is one, bits 13:10 its byte), bits 21:17 the end
    /// likewise, bits 9:2 the BAR.
    Pcie7 "pcie7" [] {
        sys_clk: In Clock @ "" => Top;
        sys_rst_n: In Bit @ "" => Top;
        pci_exp_txp: Out Bits [4] @ "" => Top;
        pci_exp_txn: Out Bits [4] @ "" => Top;
        pci_exp_rxp: In Bits [4] @ "" => Top;
        pci_exp_rxn: In Bits [4] @ "" => Top;
        user_clk_out: Out Clock @ "" => Shell;
        user_reset_out: Out Bit @ "user_clk_out" => Shell;
        user_lnk_up: Out Bit @ "user_clk_out" => Shell;
        tx_buf_av: Out Bits [6] @ "user_clk_out" => Shell;
        tx_cfg_req: Out Bit @ "user_clk_out" => Open;
        tx_err_drop: Out Bit @ "user_clk_out" => Shell;
        tx_cfg_gnt: In Bit @ "user_clk_out" => Tie(1);
        s_axis_tx_tdata: In Bits [128] @ "user_clk_out" => Shell;
        s_axis_tx_tkeep: In Bits [16] @ "user_clk_out" => Shell;
        s_axis_tx_tlast: In Bit @ "user_clk_out" => Shell;
        s_axis_tx_tuser: In Bits [4] @ "user_clk_out" => Shell;
        s_axis_tx_tvalid: In Bit @ "user_clk_out" => Shell;
        s_axis_tx_tready: Out Bit @ "user_clk_out" => Shell;
        m_axis_rx_tdata: Out Bits [128] @ "user_clk_out" => Shell;
        m_axis_rx_tkeep: Out Bits [16] @ "user_clk_out" => Shell;
        m_axis_rx_tlast: Out Bit @ "user_clk_out" => Shell;
        m_axis_rx_tuser: Out Bits [22] @ "user_clk_out" => Shell;
        m_axis_rx_tvalid: Out Bit @ "user_clk_out" => Shell;
        m_axis_rx_tready: In Bit @ "user_clk_out" => Shell;
        rx_np_ok: In Bit @ "user_clk_out" => Shell;
        rx_np_req: In Bit @ "user_clk_out" => Shell;
        fc_sel: In Bits [3] @ "user_clk_out" => Shell;
        fc_nph: Out Bits [8] @ "user_clk_out" => Shell;
        cfg_mgmt_di: In Bits [32] @ "user_clk_out" => Tie(0);
        cfg_mgmt_byte_en: In Bits [4] @ "user_clk_out" => Tie(0);
        cfg_mgmt_dwaddr: In Bits [10] @ "user_clk_out" => Tie(0);
        cfg_mgmt_wr_en: In Bit @ "user_clk_out" => Tie(0);
        cfg_mgmt_rd_en: In Bit @ "user_clk_out" => Tie(0);
        cfg_mgmt_wr_readonly: In Bit @ "user_clk_out" => Tie(0);
        cfg_mgmt_wr_rw1c_as_rw: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_ecrc: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_ur: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_cpl_timeout: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_cpl_unexpect: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_cpl_abort: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_posted: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_cor: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_atomic_egress_blocked: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_internal_cor: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_malformed: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_mc_blocked: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_poisoned: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_norecovery: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_locked: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_acs: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_internal_uncor: In Bit @ "user_clk_out" => Tie(0);
        cfg_err_tlp_cpl_header: In Bits [48] @ "user_clk_out" => Tie(0);
        cfg_err_aer_headerlog: In Bits [128] @ "user_clk_out" => Tie(0);
        cfg_aer_interrupt_msgnum: In Bits [5] @ "user_clk_out" => Tie(0);
        cfg_turnoff_ok: In Bit @ "user_clk_out" => Shell;
        cfg_to_turnoff: Out Bit @ "user_clk_out" => Shell;
        cfg_trn_pending: In Bit @ "user_clk_out" => Shell;
        cfg_pm_halt_aspm_l0s: In Bit @ "user_clk_out" => Tie(0);
        cfg_pm_halt_aspm_l1: In Bit @ "user_clk_out" => Tie(0);
        cfg_pm_force_state_en: In Bit @ "user_clk_out" => Tie(0);
        cfg_pm_force_state: In Bits [2] @ "user_clk_out" => Tie(0);
        cfg_pm_send_pme_to: In Bit @ "user_clk_out" => Tie(0);
        cfg_pm_wake: In Bit @ "user_clk_out" => Tie(0);
        cfg_dsn: In Bits [64] @ "user_clk_out" => Tie(0);
        cfg_ds_bus_number: In Bits [8] @ "user_clk_out" => Tie(0);
        cfg_ds_device_number: In Bits [5] @ "user_clk_out" => Tie(0);
        cfg_ds_function_number: In Bits [3] @ "user_clk_out" => Tie(0);
        cfg_interrupt: In Bit @ "user_clk_out" => Tie(0);
        cfg_interrupt_assert: In Bit @ "user_clk_out" => Tie(0);
        cfg_interrupt_di: In Bits [8] @ "user_clk_out" => Tie(0);
        cfg_interrupt_stat: In Bit @ "user_clk_out" => Tie(0);
        cfg_pciecap_interrupt_msgnum: In Bits [5] @ "user_clk_out" => Tie(0);
        cfg_interrupt_msixenable: Out Bit @ "user_clk_out" => Shell;
        cfg_interrupt_msixfm: Out Bit @ "user_clk_out" => Shell;
        cfg_command: Out Bits [16] @ "user_clk_out" => Shell;
        cfg_dcommand: Out Bits [16] @ "user_clk_out" => Shell;
        cfg_lstatus: Out Bits [16] @ "user_clk_out" => Shell;
        cfg_bus_number: Out Bits [8] @ "user_clk_out" => Shell;
        cfg_device_number: Out Bits [5] @ "user_clk_out" => Shell;
        cfg_function_number: Out Bits [3] @ "user_clk_out" => Shell;
        pl_directed_link_change: In Bits [2] @ "user_clk_out" => Tie(0);
        pl_directed_link_width: In Bits [2] @ "user_clk_out" => Tie(0);
        pl_directed_link_speed: In Bit @ "user_clk_out" => Tie(0);
        pl_directed_link_auton: In Bit @ "user_clk_out" => Tie(0);
        pl_upstream_prefer_deemph: In Bit @ "user_clk_out" => Tie(1);
        pl_transmit_hot_rst: In Bit @ "user_clk_out" => Tie(0);
        pl_downstream_deemph_source: In Bit @ "user_clk_out" => Tie(0);
        pl_ltssm_state: Out Bits [6] @ "user_clk_out" => Shell;
        pcie_drp_clk: In Clock @ "" => Top;
        pcie_drp_en: In Bit @ "pcie_drp_clk" => Tie(0);
        pcie_drp_we: In Bit @ "pcie_drp_clk" => Tie(0);
        pcie_drp_addr: In Bits [9] @ "pcie_drp_clk" => Tie(0);
        pcie_drp_di: In Bits [16] @ "pcie_drp_clk" => Tie(0);
    }
}
