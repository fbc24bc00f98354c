//! Everything between the NIC and an XGMII of 64 bits: [`WireSide`], widths and our MAC.

use super::link::MacState;
use super::mac64::{Mac64, XgmiiSink, XgmiiSource};
use super::pause::PauseOptions;
use super::width::{Narrow, Widen};
use super::wire_side::{ReceiverState, WireSide};
use spindle_blocks::{AxiStreamSink, AxiStreamSource};
use spindle_verilog::prelude::*;

/// The wire side of a board with our MAC.
///
/// | ports | domain | neighbour |
/// |---|---|---|
/// | out `to_nic`, in `from_nic`; out `state` | `core` | NIC; page `shell` |
/// | in `rx_xgmii`, `rx_enable`, `aligned`, `high_errors`; out `receives`: the receiver is aligned, a register | `rx` | PCS |
/// | out `tx_xgmii`, in `tx_enable` | `tx` | PCS |
///
/// Receiver and transmitter may have one clock. Latencies are those of [`Mac64`], [`Widen`], [`Narrow`] and [`WireSide`].
#[block(domains(core, rx, tx), no_default)]
pub struct Wire64 {
    /// Frames for the NIC.
    pub to_nic: AxiStreamSource,
    /// Frames of the NIC.
    pub from_nic: AxiStreamSink,
    /// State of the MAC.
    pub state: Signal<Out, MacState>,
    /// From the PCS.
    pub rx_xgmii: XgmiiSink,
    /// There is a received word.
    pub rx_enable: Signal<In, Bit>,
    /// The PCS has block lock.
    pub aligned: Signal<In, Bit>,
    /// It finds many errors.
    pub high_errors: Signal<In, Bit>,
    /// The PCS has block lock, one cycle later.
    pub receives: Signal<Out, Bit>,
    /// To the PCS.
    pub tx_xgmii: XgmiiSource,
    /// The PCS takes a word.
    pub tx_enable: Signal<In, Bit>,
    mac: Mac64,
    #[domain(rx)]
    widen: Widen,
    #[domain(tx)]
    narrow: Narrow,
    wire_side: WireSide,
}

impl Default for Wire64 {
    /// Without pause frames.
    fn default() -> Self {
        Self::blank()
    }
}

impl Wire64 {
    /// With pause frames.
    pub fn with_pause() -> Self {
        Self { wire_side: WireSide::with_pause(PauseOptions::MAC64), ..Self::blank() }
    }
}

#[hdl]
impl Wire64 {
    fn update(&mut self) {
        self.join_clocks();
        self.rx_xgmii.join(&mut self.mac.rx_xgmii);
        self.mac.rx_enable.next = self.rx_enable.val();
        self.mac.rx.join(&mut self.widen.narrow);
        self.widen.wide.join(&mut self.wire_side.from_mac);
        self.wire_side.to_nic.join(&mut self.to_nic);

        self.from_nic.join(&mut self.wire_side.from_nic);
        self.wire_side.to_mac.join(&mut self.narrow.wide);
        self.narrow.narrow.join(&mut self.mac.tx);
        self.mac.tx_enable.next = self.tx_enable.val();
        self.mac.tx_xgmii.join(&mut self.tx_xgmii);

        let rx = self.mac.rx_events.val();
        self.wire_side.receiver.next = ReceiverState {
            aligned: self.aligned.val(),
            local_fault: self.mac.local_fault.val(),
            remote_fault: self.mac.remote_fault.val(),
            high_errors: self.high_errors.val(),
            bad: rx.fcs | rx.runt | rx.long | rx.code,
        };
        let tx = self.mac.tx_events.val();
        self.wire_side.failed.next = tx.aborted | tx.lost;
        self.receives.next = self.wire_side.receives.val();
        self.state.next = self.wire_side.state.val();
    }

    fn join_clocks(&mut self) {
        self.mac.rx_clock.next = self.rx_clock.val();
        self.mac.rx_reset.next = self.rx_reset.val();
        self.mac.tx_clock.next = self.tx_clock.val();
        self.mac.tx_reset.next = self.tx_reset.val();
        self.wire_side.core_clock.next = self.core_clock.val();
        self.wire_side.core_reset.next = self.core_reset.val();
        self.wire_side.rx_clock.next = self.rx_clock.val();
        self.wire_side.rx_reset.next = self.rx_reset.val();
        self.wire_side.tx_clock.next = self.tx_clock.val();
        self.wire_side.tx_reset.next = self.tx_reset.val();
    }
}
