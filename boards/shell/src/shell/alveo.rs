//! The shell of the Alveo cards: `xdma` on the host's side, `cmac_usplus` on the wire's, the NIC in the clock of PCIe.
//!
//! ```text
//!  xdma_m_axib ── bar ─┬─ nic.bar                       ┌──────── core: xdma_axi_aclk ────────┐
//!                      └─ registers ── wire_side, irq, host    mac: cmac0_gt_txusrclk2
//!  xdma_s_axib ── host ── nic.host
//!  xdma_usr_irq ── irq ── nic.irq          xdma_s_axil ── irq_init
//!  cmac0_rx_axis ── wire_side ── rx_slice ── nic.rx
//!  cmac0_tx_axis ── wire_side ── tx_slice ── nic.tx
//! ```
//!
//! Wiring only: every register is in one of the blocks. The ports are those of the vendor blocks ([`crate::ip`]), with the
//! name of the block before them; beside them there are `init_clk`, `dna_*` and `led`. `docs/boards/shell.md` has clocks,
//! resets and latencies.

use super::Options;
use crate::hdl::bar::BarBridge512;
use crate::hdl::cmac::{CmacRxSink, CmacTxSource};
use crate::hdl::host::HostBridge;
use crate::hdl::irq::IrqBridge;
use crate::hdl::irq_init::IrqInit;
use crate::hdl::leds::LEDS;
use crate::hdl::pause::PauseOptions;
use crate::hdl::registers::{DnaPins, HostState, Registers};
use crate::hdl::reset::CoreReset;
use crate::hdl::slice::FrameSlice;
use crate::hdl::wire_side::{ReceiverState, WireSide};
use crate::hdl::xdma::{XdmaBarSink, XdmaHostSource, XdmaLiteSource};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_nic::Nic;
use spindle_verilog::prelude::*;

/// Bits of the DNA of an UltraScale+ device.
pub const DNA_BITS: u64 = 96;

/// The shell. See the module text.
#[block(combinational, no_default)]
pub struct AlveoShell {
    /// The core's clock, 250 MHz. Stops with PERST.
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
    pub xdma_m_axib: XdmaBarSink<512, 64>,
    /// Accesses of the NIC to host memory.
    pub xdma_s_axib: XdmaHostSource<512, 64>,
    /// Registers of the bridge.
    pub xdma_s_axil: XdmaLiteSource,
    /// The MAC's clock, 322.265625 MHz.
    pub cmac0_gt_txusrclk2: Signal<In, Clock>,
    /// Reset of the MAC at power-up, in `init_clk`.
    pub cmac0_sys_reset: Signal<Out, Bit>,
    /// Reset of the receiver: never.
    pub cmac0_core_rx_reset: Signal<Out, Bit>,
    /// Reset of the transmitter, after an underrun.
    pub cmac0_core_tx_reset: Signal<Out, Bit>,
    /// The receiver is in reset.
    pub cmac0_usr_rx_reset: Signal<In, Bit>,
    /// The transmitter is in reset.
    pub cmac0_usr_tx_reset: Signal<In, Bit>,
    /// Frames of the wire.
    pub cmac0_rx_axis: CmacRxSink,
    /// Frames for the wire.
    pub cmac0_tx_axis: CmacTxSource,
    /// The transmitter was given more than it can take.
    pub cmac0_tx_ovfout: Signal<In, Bit>,
    /// The transmitter starved inside a frame.
    pub cmac0_tx_unfout: Signal<In, Bit>,
    /// Enables the transmitter.
    pub cmac0_ctl_tx_enable: Signal<Out, Bit>,
    /// Has the transmitter report a fault.
    pub cmac0_ctl_tx_send_rfi: Signal<Out, Bit>,
    /// Enables the receiver: always.
    pub cmac0_ctl_rx_enable: Signal<Out, Bit>,
    /// Forward error correction of the transmitter.
    pub cmac0_ctl_tx_rsfec_enable: Signal<Out, Bit>,
    /// Forward error correction of the receiver.
    pub cmac0_ctl_rx_rsfec_enable: Signal<Out, Bit>,
    /// It corrects.
    pub cmac0_ctl_rx_rsfec_enable_correction: Signal<Out, Bit>,
    /// It marks what it cannot correct.
    pub cmac0_ctl_rx_rsfec_enable_indication: Signal<Out, Bit>,
    /// It does so as IEEE 802.3 says.
    pub cmac0_ctl_rsfec_ieee_error_indication_mode: Signal<Out, Bit>,
    /// The lanes are aligned.
    pub cmac0_stat_rx_aligned: Signal<In, Bit>,
    /// The receiver's own summary: not used.
    pub cmac0_stat_rx_status: Signal<In, Bit>,
    /// Many bit errors.
    pub cmac0_stat_rx_hi_ber: Signal<In, Bit>,
    /// The other end reports a fault.
    pub cmac0_stat_rx_remote_fault: Signal<In, Bit>,
    /// The receiver reports a fault.
    pub cmac0_stat_rx_local_fault: Signal<In, Bit>,
    /// Clock of initialisation, which runs always.
    pub init_clk: Signal<In, Clock>,
    /// The primitive `DNA_PORTE2`.
    pub dna: DnaPins,
    /// LEDs.
    pub led: Signal<Out, Bits<LEDS>>,
    core_reset: CoreReset,
    bar: BarBridge512,
    host: HostBridge,
    irq: IrqBridge,
    irq_init: IrqInit,
    registers: Registers,
    nic: Nic,
    rx_slice: FrameSlice,
    tx_slice: FrameSlice,
    wire_side: WireSide,
    rx_reset: CoreReset,
    tx_reset: CoreReset,
    tx_restart: CoreReset,
    power_up: CoreReset,
    _rsfec: bool,
}

impl AlveoShell {
    /// The shell around a NIC of this (valid) configuration.
    pub fn new(config: &Config, options: &Options) -> Self {
        let slice = || if options.far { FrameSlice::far() } else { FrameSlice::near() };
        Self {
            nic: Nic::new(config),
            host: HostBridge::new(options.outstanding, options.address_bits),
            registers: Registers::new(&options.built, DNA_BITS),
            rx_slice: slice(),
            tx_slice: slice(),
            wire_side: if options.pause { WireSide::with_pause(PauseOptions::CMAC) } else { WireSide::default() },
            _rsfec: options.rsfec,
            ..Self::blank()
        }
    }
}

#[hdl]
impl AlveoShell {
    fn update(&mut self) {
        self.core_clocks();
        self.mac_clocks();
        self.host_side();
        self.registers();
        self.wire_side();
        self.mac_pins();
    }

    /// Clock and reset of the blocks of the core.
    fn core_clocks(&mut self) {
        self.core_reset.domain_clock.next = self.xdma_axi_aclk.val();
        self.core_reset.run.next = self.xdma_axi_aresetn.val();
        let reset = self.core_reset.domain_reset.val();
        self.bar.clock.next = self.xdma_axi_aclk.val();
        self.bar.reset.next = reset;
        self.host.clock.next = self.xdma_axi_aclk.val();
        self.host.reset.next = reset;
        self.irq.clock.next = self.xdma_axi_aclk.val();
        self.irq.reset.next = reset;
        self.irq_init.clock.next = self.xdma_axi_aclk.val();
        self.irq_init.reset.next = reset;
        self.registers.clock.next = self.xdma_axi_aclk.val();
        self.registers.reset.next = reset;
        self.nic.clock.next = self.xdma_axi_aclk.val();
        self.nic.reset.next = reset;
        self.rx_slice.clock.next = self.xdma_axi_aclk.val();
        self.rx_slice.reset.next = reset;
        self.tx_slice.clock.next = self.xdma_axi_aclk.val();
        self.tx_slice.reset.next = reset;
        self.wire_side.core_clock.next = self.xdma_axi_aclk.val();
        self.wire_side.core_reset.next = reset;
    }

    /// Clock and reset of the blocks of the MAC.
    fn mac_clocks(&mut self) {
        self.power_up.domain_clock.next = self.init_clk.val();
        self.power_up.run.next = true;
        self.rx_reset.domain_clock.next = self.cmac0_gt_txusrclk2.val();
        self.rx_reset.run.next = !self.cmac0_usr_rx_reset.val();
        self.tx_reset.domain_clock.next = self.cmac0_gt_txusrclk2.val();
        self.tx_reset.run.next = !self.cmac0_usr_tx_reset.val();
        self.tx_restart.domain_clock.next = self.cmac0_gt_txusrclk2.val();
        self.tx_restart.run.next = !(self.cmac0_tx_unfout.val() | self.cmac0_tx_ovfout.val());
        self.wire_side.rx_clock.next = self.cmac0_gt_txusrclk2.val();
        self.wire_side.rx_reset.next = self.rx_reset.domain_reset.val();
        self.wire_side.tx_clock.next = self.cmac0_gt_txusrclk2.val();
        self.wire_side.tx_reset.next = self.tx_reset.domain_reset.val();
    }

    fn host_side(&mut self) {
        self.xdma_m_axib.join(&mut self.bar.pcie);
        self.bar.nic.join(&mut self.nic.bar);
        self.nic.host.join(&mut self.host.engine);
        self.host.pcie.join(&mut self.xdma_s_axib);
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
        self.registers.mac.next = self.wire_side.state.val();
        self.registers.dna.join(&mut self.dna);
        self.led.next = self.registers.led.val();
    }

    fn wire_side(&mut self) {
        self.wire_side.from_mac.data.next = self.cmac0_rx_axis.tdata.val();
        self.wire_side.from_mac.keep.next = self.cmac0_rx_axis.tkeep.val();
        self.wire_side.from_mac.last.next = self.cmac0_rx_axis.tlast.val();
        self.wire_side.from_mac.user.next = self.cmac0_rx_axis.tuser.val();
        self.wire_side.from_mac.valid.next = self.cmac0_rx_axis.tvalid.val();
        self.wire_side.to_nic.join(&mut self.rx_slice.write);
        self.rx_slice.read.join(&mut self.nic.rx);

        self.nic.tx.join(&mut self.tx_slice.write);
        self.tx_slice.read.join(&mut self.wire_side.from_nic);
        self.cmac0_tx_axis.tdata.next = self.wire_side.to_mac.data.val();
        self.cmac0_tx_axis.tkeep.next = self.wire_side.to_mac.keep.val();
        self.cmac0_tx_axis.tlast.next = self.wire_side.to_mac.last.val();
        self.cmac0_tx_axis.tuser.next = self.wire_side.to_mac.user.val();
        self.cmac0_tx_axis.tvalid.next = self.wire_side.to_mac.valid.val();
        self.wire_side.to_mac.ready.next = self.cmac0_tx_axis.tready.val();
    }

    /// Bring-up and state of the MAC.
    fn mac_pins(&mut self) {
        self.cmac0_sys_reset.next = self.power_up.domain_reset.val();
        self.cmac0_core_rx_reset.next = false;
        self.cmac0_core_tx_reset.next = self.tx_restart.domain_reset.val();
        self.cmac0_ctl_rx_enable.next = true;
        self.cmac0_ctl_tx_enable.next = self.wire_side.tx_enable.val();
        self.cmac0_ctl_tx_send_rfi.next = self.wire_side.tx_send_rfi.val();
        self.cmac0_ctl_tx_rsfec_enable.next = self._rsfec;
        self.cmac0_ctl_rx_rsfec_enable.next = self._rsfec;
        self.cmac0_ctl_rx_rsfec_enable_correction.next = self._rsfec;
        self.cmac0_ctl_rx_rsfec_enable_indication.next = self._rsfec;
        self.cmac0_ctl_rsfec_ieee_error_indication_mode.next = self._rsfec;
        let bad = self.cmac0_rx_axis.tvalid.val() & self.cmac0_rx_axis.tlast.val() & self.cmac0_rx_axis.tuser.val();
        self.wire_side.receiver.next = ReceiverState {
            aligned: self.cmac0_stat_rx_aligned.val(),
            local_fault: self.cmac0_stat_rx_local_fault.val(),
            remote_fault: self.cmac0_stat_rx_remote_fault.val(),
            high_errors: self.cmac0_stat_rx_hi_ber.val(),
            bad: bad,
        };
        let ends =
            self.wire_side.to_mac.valid.val() & self.cmac0_tx_axis.tready.val() & self.wire_side.to_mac.last.val();
        self.wire_side.failed.next = (ends & self.wire_side.to_mac.user.val()) | self.cmac0_tx_unfout.val();
    }
}
