//! `xdma` in bridge mode: PCIe with an AXI4 master for the BAR, an AXI4 slave for host memory, and MSI-X (PG194, PG195).

use super::{Allowed, Instance, Ip, Setting};
use spindle_contract::pci::xdma::{ADDRESS_BITS, OUTSTANDING};
use spindle_contract::pci::{CLASS, DEVICE, SUBSYSTEM_VENDOR, VECTORS, VENDOR};
use spindle_contract::registers::BAR_BITS;

/// Bits of the ids of accesses to host memory.
pub const ID_BITS: usize = 8;
/// Bytes of BAR 2: the vector map, the MSI-X table and its pending bits.
pub const INTERRUPT_BAR_BYTES: u64 = 128 << 10;
/// Highest address of host memory that the window passes on: the window is a power of two.
pub const HIGHEST_ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;

const SWITCH: Allowed = Allowed::Word(&["true", "false"]);

/// The IP. XDMA 4.2 (Vivado 2025.1) has not been compared with the table.
pub const IP: Ip = Ip {
    name: "xdma",
    versions: &["4.1"],
    licence: None,
    settings: SETTINGS,
    source: "PG194, PG195; names as in esa-tu-darmstadt/tapasco toolflow/vivado/platform/AU280, ports as in sifive/fpga-shells \
             ip/xilinx/xdma",
};

const SETTINGS: &[Setting] = &[
    Setting { name: "functional_mode", allowed: Allowed::Word(&["AXI_Bridge"]) },
    Setting { name: "mode_selection", allowed: Allowed::Word(&["Advanced"]) },
    Setting { name: "en_gt_selection", allowed: SWITCH },
    Setting { name: "select_quad", allowed: Allowed::Quad("GTY_Quad_") },
    Setting {
        name: "pcie_blk_locn",
        allowed: Allowed::Word(&["PCIE4C_X1Y0", "PCIE4C_X1Y1", "X1Y0", "X1Y1", "X1Y2", "X0Y0"]),
    },
    Setting { name: "pl_link_cap_max_link_width", allowed: Allowed::Word(&["X8", "X16"]) },
    Setting { name: "pl_link_cap_max_link_speed", allowed: Allowed::Word(&["8.0_GT/s"]) },
    Setting { name: "axi_data_width", allowed: Allowed::Word(&["256_bit", "512_bit"]) },
    Setting { name: "axisten_freq", allowed: Allowed::Word(&["250"]) },
    Setting { name: "coreclk_freq", allowed: Allowed::Word(&["250", "500"]) },
    Setting { name: "plltype", allowed: Allowed::Word(&["QPLL1"]) },
    Setting { name: "ref_clk_freq", allowed: Allowed::Word(&["100_MHz"]) },
    Setting { name: "axi_addr_width", allowed: Allowed::Word(&["64"]) },
    Setting { name: "axi_id_width", allowed: Allowed::Word(&["4"]) },
    Setting { name: "s_axi_id_width", allowed: Allowed::Number(1, 8) },
    Setting { name: "vendor_id", allowed: Allowed::Hex(4) },
    Setting { name: "pf0_device_id", allowed: Allowed::Hex(4) },
    Setting { name: "pf0_subsystem_vendor_id", allowed: Allowed::Hex(4) },
    Setting { name: "pf0_subsystem_id", allowed: Allowed::Hex(4) },
    Setting { name: "pf0_class_code_base", allowed: Allowed::Hex(2) },
    Setting { name: "pf0_class_code_sub", allowed: Allowed::Hex(2) },
    Setting { name: "pf0_class_code_interface", allowed: Allowed::Hex(2) },
    Setting { name: "pf0_bar0_enabled", allowed: SWITCH },
    Setting { name: "pf0_bar0_64bit", allowed: SWITCH },
    Setting { name: "pf0_bar0_scale", allowed: Allowed::Word(&["Kilobytes", "Megabytes"]) },
    Setting { name: "pf0_bar0_size", allowed: Allowed::Number(1, 512) },
    Setting { name: "pciebar2axibar_0", allowed: Allowed::Address },
    Setting { name: "pf0_bar2_enabled", allowed: SWITCH },
    Setting { name: "pf0_bar2_64bit", allowed: SWITCH },
    Setting { name: "pf0_bar2_scale", allowed: Allowed::Word(&["Kilobytes", "Megabytes"]) },
    Setting { name: "pf0_bar2_size", allowed: Allowed::Number(1, 512) },
    Setting { name: "axibar_num", allowed: Allowed::Number(1, 1) },
    Setting { name: "axibar_0", allowed: Allowed::Address },
    Setting { name: "axibar_highaddr_0", allowed: Allowed::Address },
    Setting { name: "axibar2pciebar_0", allowed: Allowed::Address },
    Setting { name: "en_axi_slave_if", allowed: SWITCH },
    Setting { name: "xdma_axilite_slave", allowed: SWITCH },
    Setting { name: "c_s_axi_supports_narrow_burst", allowed: SWITCH },
    Setting { name: "c_m_axi_num_write", allowed: Allowed::Number(2, 32) },
    Setting { name: "c_s_axi_num_write", allowed: Allowed::Number(2, 32) },
    Setting { name: "c_s_axi_num_read", allowed: Allowed::Number(2, 32) },
    Setting { name: "dma_reset_source_sel", allowed: Allowed::Word(&["Phy_Ready", "User_Reset"]) },
    Setting { name: "pf0_interrupt_pin", allowed: Allowed::Word(&["NONE"]) },
    Setting { name: "pf0_msi_enabled", allowed: SWITCH },
    Setting { name: "pf0_msix_enabled", allowed: SWITCH },
    Setting { name: "pf0_msix_impl_locn", allowed: Allowed::Word(&["Internal", "External"]) },
    Setting { name: "xdma_num_usr_irq", allowed: Allowed::Number(1, 16) },
    Setting { name: "pf0_msix_cap_table_size", allowed: Allowed::Hex(3) },
    Setting { name: "pf0_msix_cap_table_bir", allowed: Allowed::Word(&["BAR_1:0", "BAR_3:2", "BAR_5:4"]) },
    Setting { name: "pf0_msix_cap_table_offset", allowed: Allowed::Hex(8) },
    Setting { name: "pf0_msix_cap_pba_bir", allowed: Allowed::Word(&["BAR_1:0", "BAR_3:2", "BAR_5:4"]) },
    Setting { name: "pf0_msix_cap_pba_offset", allowed: Allowed::Hex(8) },
    Setting { name: "bar_indicator", allowed: Allowed::Word(&["BAR_1:0", "BAR_3:2", "BAR_5:4"]) },
];

/// What differs from board to board.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// Lanes: 16 (512 bits) or 8 (256 bits).
    pub lanes: usize,
    /// The quad of lane 0, as the IP names it: `GTY_Quad_227`.
    pub quad: &'a str,
    /// The PCIe block, where the quad does not decide it.
    pub block: Option<&'a str>,
    /// Subsystem of the PCI function: the board.
    pub subsystem: u16,
}

/// The bridge of a board.
///
/// # Errors
/// A number of lanes that the table does not have.
pub fn instance(options: &Options) -> Result<Instance, String> {
    let (bits, ports) = match options.lanes {
        16 => (512, Xdma::<16, 512, 64>::ports()),
        8 => (256, Xdma::<8, 256, 32>::ports()),
        lanes => return Err(format!("the PCIe bridge has no table for {lanes} lanes; give 8 or 16")),
    };
    let hex = |number: u64, digits: usize| format!("{number:0digits$X}");
    let address = |number: u64| format!("0x{number:016X}");
    let class = |shift: u32| hex(u64::from(CLASS >> shift & 0xFF), 2);
    let mut settings: Vec<(&'static str, String)> = vec![
        ("functional_mode", "AXI_Bridge".into()),
        ("mode_selection", "Advanced".into()),
        ("en_gt_selection", "true".into()),
        ("select_quad", options.quad.into()),
        ("pl_link_cap_max_link_width", format!("X{}", options.lanes)),
        ("pl_link_cap_max_link_speed", "8.0_GT/s".into()),
        ("axi_data_width", format!("{bits}_bit")),
        ("axisten_freq", "250".into()),
        ("plltype", "QPLL1".into()),
        ("ref_clk_freq", "100_MHz".into()),
        ("axi_addr_width", "64".into()),
        ("axi_id_width", "4".into()),
        ("s_axi_id_width", ID_BITS.to_string()),
        ("vendor_id", hex(VENDOR.into(), 4)),
        ("pf0_device_id", hex(DEVICE.into(), 4)),
        ("pf0_subsystem_vendor_id", hex(SUBSYSTEM_VENDOR.into(), 4)),
        ("pf0_subsystem_id", hex(options.subsystem.into(), 4)),
        ("pf0_class_code_base", class(16)),
        ("pf0_class_code_sub", class(8)),
        ("pf0_class_code_interface", class(0)),
        ("pf0_bar0_enabled", "true".into()),
        ("pf0_bar0_64bit", "true".into()),
        ("pf0_bar0_scale", "Megabytes".into()),
        ("pf0_bar0_size", ((1u64 << BAR_BITS) >> 20).to_string()),
        ("pciebar2axibar_0", address(0)),
        ("pf0_bar2_enabled", "true".into()),
        ("pf0_bar2_64bit", "true".into()),
        ("pf0_bar2_scale", "Kilobytes".into()),
        ("pf0_bar2_size", (INTERRUPT_BAR_BYTES >> 10).to_string()),
        ("axibar_num", "1".into()),
        ("axibar_0", address(0)),
        ("axibar_highaddr_0", address(HIGHEST_ADDRESS)),
        ("axibar2pciebar_0", address(0)),
        ("en_axi_slave_if", "true".into()),
        ("xdma_axilite_slave", "true".into()),
        ("c_s_axi_supports_narrow_burst", "false".into()),
        ("c_m_axi_num_write", OUTSTANDING.to_string()),
        ("c_s_axi_num_write", OUTSTANDING.to_string()),
        ("c_s_axi_num_read", OUTSTANDING.to_string()),
        ("dma_reset_source_sel", "Phy_Ready".into()),
        ("pf0_interrupt_pin", "NONE".into()),
        ("pf0_msi_enabled", "false".into()),
        ("pf0_msix_enabled", "true".into()),
        ("pf0_msix_impl_locn", "Internal".into()),
        ("xdma_num_usr_irq", VECTORS.to_string()),
        // The table of the IP has 32 vectors, whatever number of requests there is.
        ("pf0_msix_cap_table_size", "01F".into()),
        ("pf0_msix_cap_table_bir", "BAR_3:2".into()),
        ("pf0_msix_cap_table_offset", hex(0x8000, 8)),
        ("pf0_msix_cap_pba_bir", "BAR_3:2".into()),
        ("pf0_msix_cap_pba_offset", hex(0x8FE0, 8)),
        ("bar_indicator", "BAR_3:2".into()),
    ];
    if options.lanes == 16 {
        // 16 lanes of Gen3 need the fast core clock.
        settings.push(("coreclk_freq", "500".into()));
    }
    if let Some(block) = options.block {
        settings.push(("pcie_blk_locn", block.into()));
    }
    Ok(Instance { module: "xdma".into(), ip: &IP, settings, ports })
}

vendor_block! {
    /// PCIe bridge: `LANES` lanes, AXI4 of `WIDTH` bits with `STROBES` = `WIDTH` / 8.
    ///
    /// A host access of 32 bits arrives as one beat of 32 bits, a larger one as a burst of full width. Host memory takes
    /// INCR bursts with contiguous strobes, 32 reads and 32 writes at a time. `axi_aclk` stops with PERST. The IP has
    /// `msi_enable` and `msi_vector_width` only with MSI, which is off.
    Xdma<LANES, WIDTH, STROBES> "xdma" [] {
        sys_clk: In Clock @ "" => Top;
        sys_clk_gt: In Clock @ "" => Top;
        sys_rst_n: In Bit @ "" => Top;
        pci_exp_txp: Out Bits [LANES] @ "" => Top;
        pci_exp_txn: Out Bits [LANES] @ "" => Top;
        pci_exp_rxp: In Bits [LANES] @ "" => Top;
        pci_exp_rxn: In Bits [LANES] @ "" => Top;
        user_lnk_up: Out Bit @ "axi_aclk" => Shell;
        cfg_ltssm_state: Out Bits [6] @ "axi_aclk" => Shell;
        axi_aclk: Out Clock @ "" => Shell;
        axi_aresetn: Out Bit @ "axi_aclk" => Shell;
        axi_ctl_aresetn: Out Bit @ "axi_aclk" => Open;
        usr_irq_req: In Bits [VECTORS] @ "axi_aclk" => Shell;
        usr_irq_ack: Out Bits [VECTORS] @ "axi_aclk" => Shell;
        msix_enable: Out Bit @ "axi_aclk" => Shell;
        m_axib_awid: Out Bits [4] @ "axi_aclk" => Shell;
        m_axib_awaddr: Out Bits [64] @ "axi_aclk" => Shell;
        m_axib_awlen: Out Bits [8] @ "axi_aclk" => Shell;
        m_axib_awsize: Out Bits [3] @ "axi_aclk" => Shell;
        m_axib_awburst: Out Bits [2] @ "axi_aclk" => Shell;
        m_axib_awprot: Out Bits [3] @ "axi_aclk" => Shell;
        m_axib_awcache: Out Bits [4] @ "axi_aclk" => Shell;
        m_axib_awlock: Out Bit @ "axi_aclk" => Shell;
        m_axib_awvalid: Out Bit @ "axi_aclk" => Shell;
        m_axib_awready: In Bit @ "axi_aclk" => Shell;
        m_axib_wdata: Out Bits [WIDTH] @ "axi_aclk" => Shell;
        m_axib_wstrb: Out Bits [STROBES] @ "axi_aclk" => Shell;
        m_axib_wlast: Out Bit @ "axi_aclk" => Shell;
        m_axib_wvalid: Out Bit @ "axi_aclk" => Shell;
        m_axib_wready: In Bit @ "axi_aclk" => Shell;
        m_axib_bid: In Bits [4] @ "axi_aclk" => Shell;
        m_axib_bresp: In Bits [2] @ "axi_aclk" => Shell;
        m_axib_bvalid: In Bit @ "axi_aclk" => Shell;
        m_axib_bready: Out Bit @ "axi_aclk" => Shell;
        m_axib_arid: Out Bits [4] @ "axi_aclk" => Shell;
        m_axib_araddr: Out Bits [64] @ "axi_aclk" => Shell;
        m_axib_arlen: Out Bits [8] @ "axi_aclk" => Shell;
        m_axib_arsize: Out Bits [3] @ "axi_aclk" => Shell;
        m_axib_arburst: Out Bits [2] @ "axi_aclk" => Shell;
        m_axib_arprot: Out Bits [3] @ "axi_aclk" => Shell;
        m_axib_arcache: Out Bits [4] @ "axi_aclk" => Shell;
        m_axib_arlock: Out Bit @ "axi_aclk" => Shell;
        m_axib_arvalid: Out Bit @ "axi_aclk" => Shell;
        m_axib_arready: In Bit @ "axi_aclk" => Shell;
        m_axib_rid: In Bits [4] @ "axi_aclk" => Shell;
        m_axib_rdata: In Bits [WIDTH] @ "axi_aclk" => Shell;
        m_axib_rresp: In Bits [2] @ "axi_aclk" => Shell;
        m_axib_rlast: In Bit @ "axi_aclk" => Shell;
        m_axib_rvalid: In Bit @ "axi_aclk" => Shell;
        m_axib_rready: Out Bit @ "axi_aclk" => Shell;
        s_axib_awid: In Bits [ID_BITS] @ "axi_aclk" => Shell;
        s_axib_awaddr: In Bits [64] @ "axi_aclk" => Shell;
        s_axib_awregion: In Bits [4] @ "axi_aclk" => Shell;
        s_axib_awlen: In Bits [8] @ "axi_aclk" => Shell;
        s_axib_awsize: In Bits [3] @ "axi_aclk" => Shell;
        s_axib_awburst: In Bits [2] @ "axi_aclk" => Shell;
        s_axib_awvalid: In Bit @ "axi_aclk" => Shell;
        s_axib_awready: Out Bit @ "axi_aclk" => Shell;
        s_axib_wdata: In Bits [WIDTH] @ "axi_aclk" => Shell;
        s_axib_wstrb: In Bits [STROBES] @ "axi_aclk" => Shell;
        s_axib_wlast: In Bit @ "axi_aclk" => Shell;
        s_axib_wvalid: In Bit @ "axi_aclk" => Shell;
        s_axib_wready: Out Bit @ "axi_aclk" => Shell;
        s_axib_bid: Out Bits [ID_BITS] @ "axi_aclk" => Shell;
        s_axib_bresp: Out Bits [2] @ "axi_aclk" => Shell;
        s_axib_bvalid: Out Bit @ "axi_aclk" => Shell;
        s_axib_bready: In Bit @ "axi_aclk" => Shell;
        s_axib_arid: In Bits [ID_BITS] @ "axi_aclk" => Shell;
        s_axib_araddr: In Bits [64] @ "axi_aclk" => Shell;
        s_axib_arregion: In Bits [4] @ "axi_aclk" => Shell;
        s_axib_arlen: In Bits [8] @ "axi_aclk" => Shell;
        s_axib_arsize: In Bits [3] @ "axi_aclk" => Shell;
        s_axib_arburst: In Bits [2] @ "axi_aclk" => Shell;
        s_axib_arvalid: In Bit @ "axi_aclk" => Shell;
        s_axib_arready: Out Bit @ "axi_aclk" => Shell;
        s_axib_rid: Out Bits [ID_BITS] @ "axi_aclk" => Shell;
        s_axib_rdata: Out Bits [WIDTH] @ "axi_aclk" => Shell;
        s_axib_rresp: Out Bits [2] @ "axi_aclk" => Shell;
        s_axib_rlast: Out Bit @ "axi_aclk" => Shell;
        s_axib_rvalid: Out Bit @ "axi_aclk" => Shell;
        s_axib_rready: In Bit @ "axi_aclk" => Shell;
        s_axil_awaddr: In Bits [32] @ "axi_aclk" => Shell;
        s_axil_awprot: In Bits [3] @ "axi_aclk" => Shell;
        s_axil_awvalid: In Bit @ "axi_aclk" => Shell;
        s_axil_awready: Out Bit @ "axi_aclk" => Shell;
        s_axil_wdata: In Bits [32] @ "axi_aclk" => Shell;
        s_axil_wstrb: In Bits [4] @ "axi_aclk" => Shell;
        s_axil_wvalid: In Bit @ "axi_aclk" => Shell;
        s_axil_wready: Out Bit @ "axi_aclk" => Shell;
        s_axil_bresp: Out Bits [2] @ "axi_aclk" => Shell;
        s_axil_bvalid: Out Bit @ "axi_aclk" => Shell;
        s_axil_bready: In Bit @ "axi_aclk" => Shell;
        s_axil_araddr: In Bits [32] @ "axi_aclk" => Shell;
        s_axil_arprot: In Bits [3] @ "axi_aclk" => Shell;
        s_axil_arvalid: In Bit @ "axi_aclk" => Shell;
        s_axil_arready: Out Bit @ "axi_aclk" => Shell;
        s_axil_rdata: Out Bits [32] @ "axi_aclk" => Shell;
        s_axil_rresp: Out Bits [2] @ "axi_aclk" => Shell;
        s_axil_rvalid: Out Bit @ "axi_aclk" => Shell;
        s_axil_rready: In Bit @ "axi_aclk" => Shell;
    }
}
