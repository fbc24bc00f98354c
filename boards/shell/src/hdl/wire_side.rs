//! Everything between the NIC and a MAC with streams of 512 bits: crossings, pause frames, bring-up and state of the MAC.
//!
//! ```text
//!  from_mac ── pause ── rx_cross ── to_nic        mac_control (rx) ─┬─ link ── state
//!  to_mac ──── pause ── tx_cross ── from_nic        failures (tx) ──┘
//! ```
//!
//! Receiver and transmitter of the MAC may have a clock each, or one clock, which is then connected twice. Latencies are those
//! of the parts. Counts of events survive a reset of the MAC alone.

use super::link::{EventCount, MacLink, MacState};
use super::mac_control::MacControl;
use super::pause::{Pause, PauseOptions, ADDRESS};
use super::reset::ResetPair;
use super::rx_cross::RxCross;
use super::tx_cross::TxCross;
use spindle_blocks::{AxiStreamSink, AxiStreamSource, Level, RxSink};
use spindle_verilog::prelude::*;

/// Beats of a crossing, as a logarithm: three frames of 9,216 bytes.
pub const CROSS_BITS: usize = 9;
/// Beats in the receive crossing from which a pause is asked for, and those down to which it has to empty. 8 KiB are left for what
/// is on its way.
const MARKS: (u64, u64) = (3 << (CROSS_BITS - 2), 1 << (CROSS_BITS - 1));

/// What a MAC says of its receiver.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ReceiverState {
    /// It is aligned, or has block lock.
    pub aligned: Bit,
    /// It reports a fault.
    pub local_fault: Bit,
    /// The other end reports a fault.
    pub remote_fault: Bit,
    /// Many bit errors.
    pub high_errors: Bit,
    /// A frame came in this cycle that is bad.
    pub bad: Bit,
}

/// The wire side. See the module text.
///
/// | ports | domain | neighbour |
/// |---|---|---|
/// | out `to_nic`, in `from_nic`; out `state` | `core` | NIC; page `shell` |
/// | in `from_mac`, `receiver`; out `receives`, `tx_enable`, `tx_send_rfi`, as of [`MacControl`] | `rx` | MAC |
/// | out `to_mac`; in `failed`: a frame was not sent whole, a pulse | `tx` | MAC |
#[block(domains(core, rx, tx), no_default)]
pub struct WireSide {
    /// Frames for the NIC.
    pub to_nic: AxiStreamSource,
    /// Frames of the NIC.
    pub from_nic: AxiStreamSink,
    /// State of the MAC.
    pub state: Signal<Out, MacState>,
    /// Frames of the MAC.
    pub from_mac: RxSink,
    /// The receiver.
    pub receiver: Signal<In, ReceiverState>,
    /// Frames of the MAC count.
    pub receives: Signal<Out, Bit>,
    /// Enables the transmitter.
    pub tx_enable: Signal<Out, Bit>,
    /// Has the transmitter report a fault.
    pub tx_send_rfi: Signal<Out, Bit>,
    /// Frames for the MAC.
    pub to_mac: AxiStreamSource,
    /// The MAC did not send a frame whole.
    pub failed: Signal<In, Bit>,
    rx_cross: RxCross<CROSS_BITS>,
    tx_cross: TxCross<CROSS_BITS>,
    pause: Pause<CROSS_BITS>,
    #[domain(rx)]
    mac_control: MacControl,
    link: MacLink,
    link_reset: ResetPair,
    /// The MAC sends, in the transmitter's clock.
    #[domain(tx)]
    sending: Level,
    /// `failed`, one cycle later.
    #[domain(tx)]
    fails: DFF<Bit>,
    failures: EventCount,
    failures_reset: ResetPair,
}

impl Default for WireSide {
    /// Without pause frames.
    fn default() -> Self {
        Self::blank()
    }
}

impl WireSide {
    /// With pause frames, for a MAC in which a quantum is `cycles.0 / cycles.1` cycles ([`PauseOptions::cycles`]).
    pub fn with_pause(cycles: (u64, u64)) -> Self {
        let (high, low) = MARKS;
        Self { pause: Pause::new(PauseOptions { high, low, cycles }), ..Self::blank() }
    }
}

#[hdl]
impl WireSide {
    fn update(&mut self) {
        self.join_clocks();
        self.receive();
        self.transmit();
        self.state_of_mac();
    }

    fn join_clocks(&mut self) {
        self.rx_cross.core_clock.next = self.core_clock.val();
        self.rx_cross.core_reset.next = self.core_reset.val();
        self.rx_cross.mac_clock.next = self.rx_clock.val();
        self.rx_cross.mac_reset.next = self.rx_reset.val();
        self.tx_cross.core_clock.next = self.core_clock.val();
        self.tx_cross.core_reset.next = self.core_reset.val();
        self.tx_cross.mac_clock.next = self.tx_clock.val();
        self.tx_cross.mac_reset.next = self.tx_reset.val();
        self.pause.rx_clock.next = self.rx_clock.val();
        self.pause.rx_reset.next = self.rx_reset.val();
        self.pause.tx_clock.next = self.tx_clock.val();
        self.pause.tx_reset.next = self.tx_reset.val();
        self.link_reset.core_clock.next = self.core_clock.val();
        self.link_reset.mac_clock.next = self.rx_clock.val();
        self.link_reset.demand.next = self.core_reset.val();
        self.link.core_clock.next = self.core_clock.val();
        self.link.core_reset.next = self.link_reset.core_reset.val();
        self.link.mac_clock.next = self.rx_clock.val();
        self.link.mac_reset.next = self.link_reset.mac_reset.val();
        self.failures_reset.core_clock.next = self.core_clock.val();
        self.failures_reset.mac_clock.next = self.tx_clock.val();
        self.failures_reset.demand.next = self.core_reset.val();
        self.failures.core_clock.next = self.core_clock.val();
        self.failures.core_reset.next = self.failures_reset.core_reset.val();
        self.failures.mac_clock.next = self.tx_clock.val();
        self.failures.mac_reset.next = self.failures_reset.mac_reset.val();
    }

    fn receive(&mut self) {
        self.from_mac.join(&mut self.pause.from_mac);
        self.pause.to_cross.join(&mut self.rx_cross.mac);
        self.pause.level.next = self.rx_cross.level.val();
        self.rx_cross.aligned.next = self.mac_control.receives.val();
        self.rx_cross.core.join(&mut self.to_nic);
    }

    fn transmit(&mut self) {
        self.from_nic.join(&mut self.tx_cross.core);
        self.tx_cross.mac.join(&mut self.pause.from_cross);
        self.pause.to_mac.join(&mut self.to_mac);
        self.pause.address.next = bits::<48>(ADDRESS);
        self.sending.level.next = self.mac_control.sends.val();
        self.tx_cross.link.next = self.sending.seen.val();
        self.tx_cross.hold.next = self.pause.hold.val();
    }

    fn state_of_mac(&mut self) {
        let receiver = self.receiver.val();
        self.mac_control.aligned.next = receiver.aligned;
        self.mac_control.local_fault.next = receiver.local_fault;
        self.mac_control.remote_fault.next = receiver.remote_fault;
        self.mac_control.high_errors.next = receiver.high_errors;
        self.mac_control.bad.next = receiver.bad;
        self.mac_control.overflow.next = self.rx_cross.overflow.val();
        self.receives.next = self.mac_control.receives.val();
        self.tx_enable.next = self.mac_control.tx_enable.val();
        self.tx_send_rfi.next = self.mac_control.tx_send_rfi.val();
        self.fails.d.next = self.failed.val();
        self.failures.occurs.next = self.fails.q.val();
        self.link.levels.next = self.mac_control.levels.val();
        self.link.events.next = self.mac_control.events.val();
        self.link.failed.next = self.failures.count.val();
        self.link.stopped.next = self.rx_cross.mac_lost.val() | self.tx_cross.mac_lost.val();
        self.state.next = self.link.state.val();
    }
}
