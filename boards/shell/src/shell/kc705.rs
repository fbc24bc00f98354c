//! The shell of the KC705: `pcie_7x` with our bridge of packets on the host's side, our MAC and `ten_gig_eth_pcs_pma` on the
//! wire's, the NIC in the user clock of PCIe.
//!
//! ```text
//!  pcie7_m_axis_rx ─┐                                   ┌──────── core: pcie7_user_clk_out
//!  pcie7_s_axis_tx ─┴ tlp ─┬─ nic.bar, nic.host, nic.irq  mac: pcs0_coreclk_out
//!                          └─ registers ── wire_64
//!  pcs0_xgmii_rx ── wire_64 ── nic.rx
//!  pcs0_xgmii_tx ── wire_64 ── nic.tx
//!  i2c ── si5324 (init_clk) ── pcs0_reset
//! ```
//!
//! Wiring only: every register is in one of the blocks. The ports are those of the vendor blocks ([`crate::ip`]), with the
//! name of the block before them; beside them there are `init_clk`, `sfp_los`, `i2c_*`, `dna_*` and `led`.

use super::Options;
use crate::hdl::leds::LEDS;
use crate::hdl::registers::{DnaPins, HostState, Registers};
use crate::hdl::reset::CoreReset;
use crate::hdl::si5324::{Si5324, Timing};
use crate::hdl::tlp::ports::{FunctionSink, RxAxisSink, TxAxisSource};
use crate::hdl::tlp::TlpBridge;
use crate::hdl::wire_64::Wire64;
use spindle_contract::params::Config;
use spindle_nic::Nic;
use spindle_verilog::prelude::*;

/// Bits of the DNA of a device of the 7 series.
pub const DNA_BITS: u64 = 57;
/// The clock of initialisation.
const INIT_HERTZ: u64 = 100_000_000;

/// The shell. See the module text.
#[block(combinational, no_default)]
pub struct Kc705Shell {
    /// The core's clock, 125 MHz.
    pub pcie7_user_clk_out: Signal<In, Clock>,
    /// Reset of the core: PERST, or a link that is down.
    pub pcie7_user_reset_out: Signal<In, Bit>,
    /// The link is up.
    pub pcie7_user_lnk_up: Signal<In, Bit>,
    /// Free transmit buffers.
    pub pcie7_tx_buf_av: Signal<In, Bits<6>>,
    /// The core dropped a packet: not used, our packets have no error.
    pub pcie7_tx_err_drop: Signal<In, Bit>,
    /// Packets to the link.
    pub pcie7_s_axis_tx: TxAxisSource,
    /// Packets from the link.
    pub pcie7_m_axis_rx: RxAxisSink,
    /// Not used: `tuser` says the same.
    pub pcie7_m_axis_rx_tkeep: Signal<In, Bits<16>>,
    /// Not used: `tuser` says the same.
    pub pcie7_m_axis_rx_tlast: Signal<In, Bit>,
    /// There is room for reads of the host.
    pub pcie7_rx_np_ok: Signal<Out, Bit>,
    /// Always 1.
    pub pcie7_rx_np_req: Signal<Out, Bit>,
    /// Which credits are shown.
    pub pcie7_fc_sel: Signal<Out, Bits<3>>,
    /// Credits for headers of reads.
    pub pcie7_fc_nph: Signal<In, Bits<8>>,
    /// The function's configuration.
    pub pcie7_cfg: FunctionSink,
    /// State of the link as the capability has it: not used.
    pub pcie7_cfg_lstatus: Signal<In, Bits<16>>,
    /// The host wants to switch off.
    pub pcie7_cfg_to_turnoff: Signal<In, Bit>,
    /// It may.
    pub pcie7_cfg_turnoff_ok: Signal<Out, Bit>,
    /// Reads are under way: 0, the host resets before it switches off.
    pub pcie7_cfg_trn_pending: Signal<Out, Bit>,
    /// State of the link.
    pub pcie7_pl_ltssm_state: Signal<In, Bits<6>>,
    /// The MAC's clock, 156.25 MHz.
    pub pcs0_coreclk_out: Signal<In, Clock>,
    /// Reset of the PCS, while its reference clock is not there.
    pub pcs0_reset: Signal<Out, Bit>,
    /// The transceiver is ready.
    pub pcs0_resetdone_out: Signal<In, Bit>,
    /// To the PCS.
    pub pcs0_xgmii_txd: Signal<Out, Bits<64>>,
    /// Its control characters.
    pub pcs0_xgmii_txc: Signal<Out, Bits<8>>,
    /// From the PCS.
    pub pcs0_xgmii_rxd: Signal<In, Bits<64>>,
    /// Its control characters.
    pub pcs0_xgmii_rxc: Signal<In, Bits<8>>,
    /// Bit 0: block lock.
    pub pcs0_core_status: Signal<In, Bits<8>>,
    /// There is light.
    pub pcs0_signal_detect: Signal<Out, Bit>,
    /// The PCS wants the laser off: not used, the board's pin is a constant.
    pub pcs0_tx_disable: Signal<In, Bit>,
    /// Clock of initialisation, 100 MHz, which runs always.
    pub init_clk: Signal<In, Clock>,
    /// The cage has no light.
    pub sfp_los: Signal<In, Bit>,
    /// The clock line of the bus.
    pub i2c_scl: Signal<In, Bit>,
    /// The data line.
    pub i2c_sda: Signal<In, Bit>,
    /// Leave the clock line to others; else it is pulled low.
    pub i2c_scl_t: Signal<Out, Bit>,
    /// Leave the data line to others; else it is pulled low.
    pub i2c_sda_t: Signal<Out, Bit>,
    /// Reset of multiplexer and clock chip, low.
    pub i2c_reset_n: Signal<Out, Bit>,
    /// The primitive `DNA_PORT`.
    pub dna: DnaPins,
    /// LEDs.
    pub led: Signal<Out, Bits<LEDS>>,
    core_reset: CoreReset,
    tlp: TlpBridge,
    registers: Registers,
    nic: Nic,
    wire_64: Wire64,
    mac_reset: CoreReset,
    si5324: Si5324,
    power_up: CoreReset,
}

impl Kc705Shell {
    /// The shell around a NIC of this (valid) configuration, with these times of the clock chip in cycles of `init_clk`.
    pub fn new(config: &Config, options: &Options, timing: Timing) -> Self {
        Self {
            nic: Nic::new(config),
            registers: Registers::new(&options.built, DNA_BITS),
            wire_64: if options.pause { Wire64::with_pause() } else { Wire64::default() },
            si5324: Si5324::new(timing),
            ..Self::blank()
        }
    }

    /// Times of the clock chip on the board.
    pub fn timing() -> Timing {
        Timing::at(INIT_HERTZ)
    }
}

#[hdl]
impl Kc705Shell {
    fn update(&mut self) {
        self.core_clocks();
        self.mac_clocks();
        self.host_side();
        self.registers();
        self.wire_side();
        self.clock_chip();
    }

    /// Clock and reset of the blocks of the core.
    fn core_clocks(&mut self) {
        self.core_reset.domain_clock.next = self.pcie7_user_clk_out.val();
        self.core_reset.run.next = !self.pcie7_user_reset_out.val();
        let reset = self.core_reset.domain_reset.val();
        self.tlp.clock.next = self.pcie7_user_clk_out.val();
        self.tlp.reset.next = reset;
        self.registers.clock.next = self.pcie7_user_clk_out.val();
        self.registers.reset.next = reset;
        self.nic.clock.next = self.pcie7_user_clk_out.val();
        self.nic.reset.next = reset;
        self.wire_64.core_clock.next = self.pcie7_user_clk_out.val();
        self.wire_64.core_reset.next = reset;
    }

    /// Clock and reset of the blocks of the MAC.
    fn mac_clocks(&mut self) {
        self.mac_reset.domain_clock.next = self.pcs0_coreclk_out.val();
        self.mac_reset.run.next = self.pcs0_resetdone_out.val();
        let reset = self.mac_reset.domain_reset.val();
        self.wire_64.rx_clock.next = self.pcs0_coreclk_out.val();
        self.wire_64.rx_reset.next = reset;
        self.wire_64.tx_clock.next = self.pcs0_coreclk_out.val();
        self.wire_64.tx_reset.next = reset;
    }

    fn host_side(&mut self) {
        self.pcie7_m_axis_rx.join(&mut self.tlp.m_axis_rx);
        self.tlp.s_axis_tx.join(&mut self.pcie7_s_axis_tx);
        self.pcie7_cfg.join(&mut self.tlp.cfg);
        self.tlp.tx_buf_av.next = self.pcie7_tx_buf_av.val();
        self.tlp.fc_nph.next = self.pcie7_fc_nph.val();
        self.pcie7_fc_sel.next = self.tlp.fc_sel.val();
        self.pcie7_rx_np_ok.next = self.tlp.rx_np_ok.val();
        self.pcie7_rx_np_req.next = self.tlp.rx_np_req.val();
        self.tlp.user_lnk_up.next = self.pcie7_user_lnk_up.val();
        self.pcie7_cfg_turnoff_ok.next = self.pcie7_cfg_to_turnoff.val();
        self.pcie7_cfg_trn_pending.next = false;
        self.tlp.bar.join(&mut self.nic.bar);
        self.nic.host.join(&mut self.tlp.host);
        self.tlp.irq_request.next = self.nic.irq_request.val();
        self.nic.irq_acknowledge.next = self.tlp.irq_acknowledge.val();
    }

    /// The page of the shell, and LEDs.
    fn registers(&mut self) {
        self.registers.csr.next = self.tlp.csr.val();
        self.tlp.csr_answer.next = self.registers.csr_answer.val();
        self.registers.host.next = HostState {
            link_up: self.pcie7_user_lnk_up.val(),
            ltssm: self.pcie7_pl_ltssm_state.val(),
            msix_enable: self.pcie7_cfg.interrupt_msixenable.val(),
            // The bridge has the table of MSI-X itself; there is no map.
            vectors_set: true,
            vectors_failed: false,
            irq_pending: self.nic.irq_request.val(),
            refused: bits::<2>(0),
            abandoned: bits::<2>(0),
            silent: false,
        };
        self.registers.mac.next = self.wire_64.state.val();
        self.registers.dna.join(&mut self.dna);
        self.led.next = self.registers.led.val();
    }

    fn wire_side(&mut self) {
        self.wire_64.to_nic.join(&mut self.nic.rx);
        self.nic.tx.join(&mut self.wire_64.from_nic);
        self.wire_64.rx_xgmii.data.next = self.pcs0_xgmii_rxd.val();
        self.wire_64.rx_xgmii.control.next = self.pcs0_xgmii_rxc.val();
        self.wire_64.rx_enable.next = true;
        self.wire_64.aligned.next = self.pcs0_core_status.val().get_bit(0);
        self.wire_64.high_errors.next = false;
        self.wire_64.tx_enable.next = true;
        self.pcs0_xgmii_txd.next = self.wire_64.tx_xgmii.data.val();
        self.pcs0_xgmii_txc.next = self.wire_64.tx_xgmii.control.val();
    }

    /// The reference clock of the transceiver.
    fn clock_chip(&mut self) {
        self.power_up.domain_clock.next = self.init_clk.val();
        self.power_up.run.next = true;
        self.si5324.clock.next = self.init_clk.val();
        self.si5324.reset.next = self.power_up.domain_reset.val();
        self.si5324.scl.next = self.i2c_scl.val();
        self.si5324.sda.next = self.i2c_sda.val();
        self.i2c_scl_t.next = !self.si5324.scl_low.val();
        self.i2c_sda_t.next = !self.si5324.sda_low.val();
        self.i2c_reset_n.next = !self.si5324.reset_low.val();
        self.pcs0_reset.next = !self.si5324.status.val().locked;
        self.pcs0_signal_detect.next = !self.sfp_los.val();
    }
}
