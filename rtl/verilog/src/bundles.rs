//! The bundles that every design has: words with and without back-pressure.

use rust_hdl_core::prelude::*;
use spindle_hdl_macros::bundle;

/// Where words leave a block: `payload` counts while `valid` is high, and is taken when `ready` is high as well.
///
/// The payload has the bundle's name in the emitted Verilog (`x`, `x_valid`, `x_ready`), and the bundle stands for it:
/// `self.x.next = word`. Rules of the handshake: `docs/streams.md`.
#[bundle(mirror = Sink)]
#[derive(Clone, Debug)]
pub struct Source<T: Synth> {
    /// The word.
    pub payload: Signal<Out, T>,
    /// The word is offered.
    pub valid: Signal<Out, Bit>,
    /// The word is taken.
    pub ready: Signal<In, Bit>,
}

/// Where words leave a block without back-pressure: `payload` counts in every cycle in which `valid` is high.
#[bundle(mirror = PulseSink)]
#[derive(Clone, Debug)]
pub struct Pulse<T: Synth> {
    /// The word.
    pub payload: Signal<Out, T>,
    /// The word counts.
    pub valid: Signal<Out, Bit>,
}
