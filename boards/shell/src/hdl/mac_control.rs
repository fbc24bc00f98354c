//! Brings a MAC up without its register port, and says what it does.
//!
//! The receiver is enabled for ever. The transmitter is enabled while the receiver is aligned and neither end reports a fault;
//! while the receiver is not aligned it shows the other end a remote fault. This is the order of PG203 for `cmac_usplus`. Our
//! own MAC does the same by itself, and uses the levels and the events alone.

use super::link::EVENTS;
use spindle_verilog::prelude::*;

/// The block. All in the clock of the MAC's receiver.
///
/// | neighbour | ports |
/// |---|---|
/// | MAC | in `aligned`, `local_fault`, `remote_fault`, `high_errors`; out `tx_enable`, `tx_send_rfi` |
/// | receive crossing | out `receives` |
/// | transmit crossing | out `sends` |
/// | [`MacLink`](super::link::MacLink) | out `levels`, `events`; in `overflow`, `bad`: pulses that become events |
///
/// Each output is a register, one cycle after its inputs.
#[block(no_reset)]
pub struct MacControl {
    /// The receiver is aligned, or has block lock.
    pub aligned: Signal<In, Bit>,
    /// The receiver reports a fault.
    pub local_fault: Signal<In, Bit>,
    /// The other end reports a fault.
    pub remote_fault: Signal<In, Bit>,
    /// The receiver reports many bit errors.
    pub high_errors: Signal<In, Bit>,
    /// A frame was dropped for want of room.
    pub overflow: Signal<In, Bit>,
    /// A frame came that is bad.
    pub bad: Signal<In, Bit>,
    /// Enables the transmitter.
    pub tx_enable: Signal<Out, Bit>,
    /// Has the transmitter report a fault.
    pub tx_send_rfi: Signal<Out, Bit>,
    /// Frames of the MAC count.
    pub receives: Signal<Out, Bit>,
    /// The MAC sends.
    pub sends: Signal<Out, Bit>,
    /// Up, aligned, local fault, remote fault, many errors.
    pub levels: Signal<Out, Bits<5>>,
    /// Overflow, bad.
    pub events: Signal<Out, Bits<EVENTS>>,
    seen: DFF<Bits<5>>,
    occurred: DFF<Bits<EVENTS>>,
}

#[hdl]
impl MacControl {
    fn update(&mut self) {
        let aligned = self.aligned.val();
        let up = aligned & !self.remote_fault.val() & !self.local_fault.val();
        let faults = (self.high_errors.val(), self.remote_fault.val(), self.local_fault.val()).cat::<3>();
        self.seen.d.next = (faults, aligned, up).cat::<5>();
        let seen = self.seen.q.val();
        self.tx_enable.next = seen.get_bit(0);
        self.tx_send_rfi.next = !seen.get_bit(1);
        self.receives.next = seen.get_bit(1);
        self.sends.next = seen.get_bit(0);
        self.levels.next = seen;
        self.occurred.d.next = (self.bad.val(), self.overflow.val()).cat::<EVENTS>();
        self.events.next = self.occurred.q.val();
    }
}
