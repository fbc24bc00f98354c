//! Both directions of the MAC.

use super::{LinkFault, MacRx, MacTx, RxEvents, TxEvents, XgmiiSink, XgmiiSource};
use crate::hdl::width::{PartSink, RxPartSource};
use spindle_verilog::prelude::*;

/// [`MacTx`], [`MacRx`] and [`LinkFault`].
///
/// | ports | clock |
/// |---|---|
/// | in `tx`, out `tx_xgmii`, in `tx_enable`, out `tx_events` | `tx_clock` |
/// | in `rx_xgmii`, `rx_enable`, out `rx`, `rx_events`, `local_fault`, `remote_fault` | `rx_clock` |
///
/// The clocks may be unrelated. Only the two levels of the link's fault cross, each through two registers with `ASYNC_REG`
/// (`local_near`, `local_seen`, `remote_near`, `remote_seen`). They need not cross together: while they differ, the
/// transmitter sends idle or remote fault instead of the other for a cycle or two. While the receiver is in reset, also if
/// its clock stands then, the transmitter reports a local fault. Rates and latencies are those of the parts.
#[block(domains(tx, rx), no_default)]
pub struct Mac64 {
    /// Frames to send.
    pub tx: PartSink,
    /// To the PCS.
    pub tx_xgmii: XgmiiSource,
    /// The PCS takes a word.
    pub tx_enable: Signal<In, Bit>,
    /// What happened to sent frames.
    pub tx_events: Signal<Out, TxEvents>,
    /// From the PCS.
    pub rx_xgmii: XgmiiSink,
    /// There is a received word.
    pub rx_enable: Signal<In, Bit>,
    /// Received frames.
    pub rx: RxPartSource,
    /// How received frames ended.
    pub rx_events: Signal<Out, RxEvents>,
    /// This receiver hears nothing.
    pub local_fault: Signal<Out, Bit>,
    /// The other receiver hears nothing.
    pub remote_fault: Signal<Out, Bit>,
    #[domain(tx)]
    transmit: MacTx,
    #[domain(rx)]
    receive: MacRx,
    #[domain(rx)]
    link: LinkFault,
    #[domain(rx)]
    local_here: Reg<Bit>,
    #[domain(rx)]
    remote_here: Reg<Bit>,
    #[domain(tx)]
    local_near: Reg<Bit>,
    #[domain(tx)]
    local_seen: Reg<Bit>,
    #[domain(tx)]
    remote_near: Reg<Bit>,
    #[domain(tx)]
    remote_seen: Reg<Bit>,
}

impl Mac64 {
    /// A MAC that takes frames of at most `longest` bytes with the FCS: a multiple of 8.
    pub fn new(longest: usize) -> Self {
        let synchroniser = || Reg::new(false).attr("ASYNC_REG", "TRUE");
        Self {
            receive: MacRx::new(longest),
            // A receiver in reset hears nothing, and the other end has to know.
            local_here: Reg::new(true),
            local_near: synchroniser(),
            local_seen: synchroniser(),
            remote_near: synchroniser(),
            remote_seen: synchroniser(),
            ..Self::blank()
        }
    }
}

impl Default for Mac64 {
    /// Frames of up to 9,600 bytes.
    fn default() -> Self {
        Self::new(9_600)
    }
}

#[hdl]
impl Mac64 {
    fn update(&mut self) {
        self.tx.join(&mut self.transmit.frames);
        self.transmit.xgmii.join(&mut self.tx_xgmii);
        self.transmit.enable.next = self.tx_enable.val();
        self.tx_events.next = self.transmit.events.val();

        self.rx_xgmii.join(&mut self.receive.xgmii);
        self.rx_xgmii.join(&mut self.link.xgmii);
        self.receive.enable.next = self.rx_enable.val();
        self.link.enable.next = self.rx_enable.val();
        self.receive.frames.join(&mut self.rx);
        self.rx_events.next = self.receive.events.val();

        // From registers, so that nothing else than a change of the level crosses.
        self.local_here.d.next = self.link.local_fault.val();
        self.remote_here.d.next = self.link.remote_fault.val();
        self.local_fault.next = self.local_here.q.val();
        self.remote_fault.next = self.remote_here.q.val();
        self.local_near.d.next = self.local_here.q.val();
        self.local_seen.d.next = self.local_near.q.val();
        self.remote_near.d.next = self.remote_here.q.val();
        self.remote_seen.d.next = self.remote_near.q.val();
        self.transmit.local_fault.next = self.local_seen.q.val();
        self.transmit.remote_fault.next = self.remote_seen.q.val();
    }
}
