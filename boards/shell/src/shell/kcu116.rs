//! The shell of the KCU116: `xdma` of 256 bits on the host's side, our MAC, our PCS and a GTY on the wire's, the NIC at half the
//! clock of PCIe.
//!
//! ```text
//!  xdma_m_axib ── bar_gearbox ── bar ─┬─ nic.bar        pcie: xdma_axi_aclk
//!                                     └─ registers      core: core_clk, the same by two
//!  xdma_s_axib ── host_gearbox ── host ── nic.host      rx, tx: clocks of the GTY's receiver and transmitter
//!  xdma_usr_irq ── irq ── nic.irq      xdma_s_axil ── irq_init
//!  gty0_rx ── pcs_rx ── wire_64 ── nic.rx
//!  gty0_tx ── pcs_tx ── wire_64 ── nic.tx
//!  gty0_gtwiz_reset ── power_up, watch (init_clk)
//! ```
//!
//! Wiring only: every register is in one of the blocks. The ports are those of the vendor blocks ([`crate::ip`]), with the
//! name of the block before them; beside them there are `core_clk`, `init_clk`, `dna_*` and `led`.
//!
//! Edges of `core_clk` are edges of `xdma_axi_aclk`, so what passes between these two is timed, and needs no synchroniser.
//! Both sides of the gearboxes have the reset of the core: a register of `core_clk`, so they begin and end in the same cycle.

use super::alveo::DNA_BITS;
use super::Options;
use crate::hdl::bar::BarBridge256;
use crate::hdl::gearbox::{BarGearbox, HostGearbox};
use crate::hdl::gty_watch::GtyWatch;
use crate::hdl::host::HostBridge;
use crate::hdl::irq::{IrqBridge, REST};
use crate::hdl::irq_init::IrqInit;
use crate::hdl::leds::LEDS;
use crate::hdl::pcs::{Gearbox, PcsRx, PcsTx, Rate};
use crate::hdl::registers::{DnaPins, HostState, Registers};
use crate::hdl::reset::CoreReset;
use crate::hdl::wire_64::Wire64;
use crate::hdl::xdma::{XdmaBarSink, XdmaHostSource, XdmaLiteSource};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_nic::Nic;
use spindle_verilog::prelude::*;

/// Cycles of the bridge's clock in one of the core's.
const DIVIDER: u64 = 2;

/// The shell. See the module text.
#[block(combinational, no_default)]
pub struct Kcu116Shell {
    /// The clock of PCIe, 250 MHz. Stops with PERST.
    pub xdma_axi_aclk: Signal<In, Clock>,
    /// Low: reset.
    pub xdma_axi_aresetn: Signal<In, Bit>,
    /// The link is up.
    pub xdma_user_lnk_up: Signal<In, Bit>,
    /// State of the link.
    pub xdma_cfg_ltssm_state: Signal<In, Bits<6>>,
    /// Requests of interrupts.
    pub xdma_usr_irq_req: Signal<Out, Bits<VECTORS>>,
    /// They were sent.
    pub xdma_usr_irq_ack: Signal<In, Bits<VECTORS>>,
    /// The host has enabled MSI-X.
    pub xdma_msix_enable: Signal<In, Bit>,
    /// Accesses of the host to the BAR.
    pub xdma_m_axib: XdmaBarSink<256, 32>,
    /// Accesses of the NIC to host memory.
    pub xdma_s_axib: XdmaHostSource<256, 32>,
    /// Registers of the bridge.
    pub xdma_s_axil: XdmaLiteSource,
    /// The core's clock: that of PCIe, divided by two.
    pub core_clk: Signal<In, Clock>,
    /// Reset of the transceiver at power-up, in `init_clk`.
    pub gty0_gtwiz_reset_all_in: Signal<Out, Bit>,
    /// Reset of the transmitter's data path: never.
    pub gty0_gtwiz_reset_tx_datapath_in: Signal<Out, Bit>,
    /// Reset of the receiver's data path, while it finds no blocks; in `init_clk`.
    pub gty0_gtwiz_reset_rx_datapath_in: Signal<Out, Bit>,
    /// The transmitter is ready.
    pub gty0_gtwiz_reset_tx_done_out: Signal<In, Bit>,
    /// The receiver is ready.
    pub gty0_gtwiz_reset_rx_done_out: Signal<In, Bit>,
    /// The PLL has lock: not used, the two before say so too.
    pub gty0_qpll0lock_out: Signal<In, Bit>,
    /// The transmitter's clock, 156.25 MHz at 10 Gb/s.
    pub gty0_gtwiz_userclk_tx_usrclk2_out: Signal<In, Clock>,
    /// The receiver's clock, recovered from the line.
    pub gty0_gtwiz_userclk_rx_usrclk2_out: Signal<In, Clock>,
    /// Payload of a block that leaves.
    pub gty0_gtwiz_userdata_tx_in: Signal<Out, Bits<64>>,
    /// Its header, in bits 1:0.
    pub gty0_txheader_in: Signal<Out, Bits<6>>,
    /// Payload of a block that came.
    pub gty0_gtwiz_userdata_rx_out: Signal<In, Bits<64>>,
    /// Its header, in bits 1:0.
    pub gty0_rxheader_out: Signal<In, Bits<6>>,
    /// Bit 0: the header counts.
    pub gty0_rxheadervalid_out: Signal<In, Bits<2>>,
    /// Bit 0: the payload counts.
    pub gty0_rxdatavalid_out: Signal<In, Bits<2>>,
    /// Moves the blocks by one bit.
    pub gty0_rxgearboxslip_in: Signal<Out, Bit>,
    /// Clock of initialisation, 125 MHz, which runs always.
    pub init_clk: Signal<In, Clock>,
    /// The primitive `DNA_PORTE2`.
    pub dna: DnaPins,
    /// LEDs.
    pub led: Signal<Out, Bits<LEDS>>,
    core_reset: CoreReset,
    bar: BarBridge256,
    bar_gearbox: BarGearbox,
    host: HostBridge,
    host_gearbox: HostGearbox,
    irq: IrqBridge,
    irq_init: IrqInit,
    registers: Registers,
    nic: Nic,
    wire_64: Wire64,
    pcs_rx: PcsRx,
    pcs_tx: PcsTx,
    rx_reset: CoreReset,
    tx_reset: CoreReset,
    watch: GtyWatch,
    power_up: CoreReset,
}

impl Kcu116Shell {
    /// The shell around a NIC of this (valid) configuration, with a line of this rate. After `patience` cycles of `init_clk`
    /// without lock the receiver is reset.
    pub fn new(config: &Config, options: &Options, rate: Rate, patience: u64) -> Self {
        Self {
            nic: Nic::new(config),
            host: HostBridge::new(options.outstanding, options.address_bits),
            irq: IrqBridge::new(DIVIDER, REST),
            registers: Registers::new(&options.built, DNA_BITS),
            wire_64: if options.pause { Wire64::with_pause() } else { Wire64::default() },
            pcs_rx: PcsRx::new(rate, true),
            pcs_tx: PcsTx::new(Gearbox::Asynchronous, true),
            watch: GtyWatch::new(patience),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Kcu116Shell {
    fn update(&mut self) {
        self.pcie_clocks();
        self.core_clocks();
        self.rx_clocks();
        self.tx_clocks();
        self.host_side();
        self.registers();
        self.frames();
        self.line();
        self.resets();
    }

    /// Clock and reset of the blocks of PCIe, and of the side of the gearboxes that is there.
    fn pcie_clocks(&mut self) {
        let reset = self.core_reset.domain_reset.val();
        self.bar_gearbox.pcie_clock.next = self.xdma_axi_aclk.val();
        self.bar_gearbox.pcie_reset.next = reset;
        self.host_gearbox.pcie_clock.next = self.xdma_axi_aclk.val();
        self.host_gearbox.pcie_reset.next = reset;
        self.irq.clock.next = self.xdma_axi_aclk.val();
        self.irq.reset.next = reset;
        self.irq_init.clock.next = self.xdma_axi_aclk.val();
        self.irq_init.reset.next = reset;
    }

    /// Clock and reset of the blocks of the core.
    fn core_clocks(&mut self) {
        self.core_reset.domain_clock.next = self.core_clk.val();
        self.core_reset.run.next = self.xdma_axi_aresetn.val();
        let reset = self.core_reset.domain_reset.val();
        self.bar_gearbox.core_clock.next = self.core_clk.val();
        self.bar_gearbox.core_reset.next = reset;
        self.host_gearbox.core_clock.next = self.core_clk.val();
        self.host_gearbox.core_reset.next = reset;
        self.bar.clock.next = self.core_clk.val();
        self.bar.reset.next = reset;
        self.host.clock.next = self.core_clk.val();
        self.host.reset.next = reset;
        self.registers.clock.next = self.core_clk.val();
        self.registers.reset.next = reset;
        self.nic.clock.next = self.core_clk.val();
        self.nic.reset.next = reset;
        self.wire_64.core_clock.next = self.core_clk.val();
        self.wire_64.core_reset.next = reset;
    }

    /// Clock and reset of the blocks of the receiver.
    fn rx_clocks(&mut self) {
        self.rx_reset.domain_clock.next = self.gty0_gtwiz_userclk_rx_usrclk2_out.val();
        self.rx_reset.run.next = self.gty0_gtwiz_reset_rx_done_out.val();
        let reset = self.rx_reset.domain_reset.val();
        self.pcs_rx.clock.next = self.gty0_gtwiz_userclk_rx_usrclk2_out.val();
        self.pcs_rx.reset.next = reset;
        self.wire_64.rx_clock.next = self.gty0_gtwiz_userclk_rx_usrclk2_out.val();
        self.wire_64.rx_reset.next = reset;
    }

    /// Clock and reset of the blocks of the transmitter, and of what runs always.
    fn tx_clocks(&mut self) {
        self.tx_reset.domain_clock.next = self.gty0_gtwiz_userclk_tx_usrclk2_out.val();
        self.tx_reset.run.next = self.gty0_gtwiz_reset_tx_done_out.val();
        let reset = self.tx_reset.domain_reset.val();
        self.pcs_tx.clock.next = self.gty0_gtwiz_userclk_tx_usrclk2_out.val();
        self.pcs_tx.reset.next = reset;
        self.wire_64.tx_clock.next = self.gty0_gtwiz_userclk_tx_usrclk2_out.val();
        self.wire_64.tx_reset.next = reset;

        self.power_up.domain_clock.next = self.init_clk.val();
        self.power_up.run.next = true;
        self.watch.clock.next = self.init_clk.val();
        self.watch.reset.next = self.power_up.domain_reset.val();
    }

    fn host_side(&mut self) {
        self.xdma_m_axib.join(&mut self.bar_gearbox.pcie);
        self.bar_gearbox.core.join(&mut self.bar.pcie);
        self.bar.nic.join(&mut self.nic.bar);
        self.nic.host.join(&mut self.host.engine);
        self.host.pcie.join(&mut self.host_gearbox.engine);
        self.host_gearbox.pcie.join(&mut self.xdma_s_axib);
        self.host.link_up.next = self.xdma_user_lnk_up.val();
        self.irq_init.pcie.join(&mut self.xdma_s_axil);
        self.irq.request.next = self.nic.irq_request.val();
        self.nic.irq_acknowledge.next = self.irq.acknowledge.val();
        self.xdma_usr_irq_req.next = self.irq.usr_irq_req.val();
        self.irq.usr_irq_ack.next = self.xdma_usr_irq_ack.val();
        self.irq.msix_enable.next = self.xdma_msix_enable.val();
    }

    /// The page of the shell, and LEDs.
    fn registers(&mut self) {
        self.registers.csr.next = self.bar.csr.val();
        self.bar.csr_answer.next = self.registers.csr_answer.val();
        self.registers.host.next = HostState {
            link_up: self.xdma_user_lnk_up.val(),
            ltssm: self.xdma_cfg_ltssm_state.val(),
            msix_enable: self.xdma_msix_enable.val(),
            vectors_set: self.irq_init.mapped.val(),
            vectors_failed: self.irq_init.failed.val(),
            irq_pending: self.irq.pending.val(),
            refused: self.host.refused.val(),
            abandoned: self.host.abandoned.val(),
            silent: self.bar.silent.val(),
        };
        self.registers.mac.next = self.wire_64.state.val();
        self.registers.dna.join(&mut self.dna);
        self.led.next = self.registers.led.val();
    }

    fn frames(&mut self) {
        self.wire_64.to_nic.join(&mut self.nic.rx);
        self.nic.tx.join(&mut self.wire_64.from_nic);
    }

    /// Between MAC and transceiver.
    fn line(&mut self) {
        self.pcs_rx.data.next = self.gty0_gtwiz_userdata_rx_out.val();
        self.pcs_rx.header.next = self.gty0_rxheader_out.val().get_bits::<2>(0);
        self.pcs_rx.valid.next =
            self.gty0_rxdatavalid_out.val().get_bit(0) & self.gty0_rxheadervalid_out.val().get_bit(0);
        self.gty0_rxgearboxslip_in.next = self.pcs_rx.slip.val();
        self.wire_64.rx_xgmii.data.next = self.pcs_rx.xgmii.data.val();
        self.wire_64.rx_xgmii.control.next = self.pcs_rx.xgmii.control.val();
        self.wire_64.rx_enable.next = self.pcs_rx.enable.val();
        self.wire_64.aligned.next = self.pcs_rx.status.val().locked;
        self.wire_64.high_errors.next = self.pcs_rx.status.val().high_errors;

        self.pcs_tx.xgmii.data.next = self.wire_64.tx_xgmii.data.val();
        self.pcs_tx.xgmii.control.next = self.wire_64.tx_xgmii.control.val();
        self.wire_64.tx_enable.next = self.pcs_tx.enable.val();
        self.gty0_gtwiz_userdata_tx_in.next = self.pcs_tx.data.val();
        self.gty0_txheader_in.next = zext::<6, 2>(self.pcs_tx.header.val());
    }

    /// Resets of the transceiver.
    fn resets(&mut self) {
        self.watch.locked.next = self.wire_64.receives.val();
        self.gty0_gtwiz_reset_all_in.next = self.power_up.domain_reset.val();
        self.gty0_gtwiz_reset_tx_datapath_in.next = false;
        self.gty0_gtwiz_reset_rx_datapath_in.next = self.watch.reset_rx.val();
    }
}
