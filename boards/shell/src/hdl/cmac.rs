//! The streams of `cmac_usplus` as bundles.

use spindle_verilog::prelude::*;

/// Frames as the MAC's stream names them: `rx_axis`, which cannot wait. The source is the MAC.
#[bundle(mirror = CmacRxSink)]
pub struct CmacRxSource {
    /// There is a beat.
    pub tvalid: Signal<Out, Bit>,
    /// Bytes, the first in bits 7:0.
    pub tdata: Signal<Out, Bits<512>>,
    /// Bytes that count.
    pub tkeep: Signal<Out, Bits<64>>,
    /// Last beat of the frame.
    pub tlast: Signal<Out, Bit>,
    /// With `tlast`: the frame is bad.
    pub tuser: Signal<Out, Bit>,
}

/// Frames for the MAC: `tx_axis`. The sink is the MAC.
#[bundle(mirror = CmacTxSink)]
pub struct CmacTxSource {
    /// A beat is offered.
    pub tvalid: Signal<Out, Bit>,
    /// The beat is taken.
    pub tready: Signal<In, Bit>,
    /// Bytes, the first in bits 7:0.
    pub tdata: Signal<Out, Bits<512>>,
    /// Bytes that count.
    pub tkeep: Signal<Out, Bits<64>>,
    /// Last beat of the frame.
    pub tlast: Signal<Out, Bit>,
    /// With `tlast`: the frame is bad.
    pub tuser: Signal<Out, Bit>,
}
