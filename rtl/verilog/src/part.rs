//! Parts of a block, and what is wired without a line in `update()`.

use crate::register::Reg;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff::DFF;

/// What a block can hold: a signal, a bundle, a register, another block, or several of them.
pub trait Part {
    /// Gives a part its clock and reset, and lets a register hold its value.
    fn drive(&mut self, clock: Clock, reset: Bit);
    /// Claims the inputs that [`Part::drive`] sets.
    fn claim(&mut self);
}

/// A block with implicit clocks: derived by `#[block]`.
pub trait Parts {
    /// Calls [`Part::drive`] on every part.
    fn drive_parts(&mut self);
    /// Calls [`Part::claim`] on every part.
    fn claim_parts(&mut self);
    /// Field, clock port and reset port (empty if there is none) of every part that has a clock.
    fn parts() -> &'static [(&'static str, &'static str, &'static str)];
}

/// Two bundles that can be joined.
pub trait Join<Other> {
    /// Connects `self`, which offers, with `other`, which takes: a submodule's source with a submodule's sink, a block's own
    /// sink with a submodule's, or a submodule's source with the block's own.
    fn join(&mut self, other: &mut Other);
    /// Claims what [`Join::join`] drives.
    fn claim_join(&mut self, other: &mut Other);
}

impl<D: Direction, T: Synth> Part for Signal<D, T> {
    fn drive(&mut self, _clock: Clock, _reset: Bit) {}
    fn claim(&mut self) {}
}

impl<T: Synth> Part for Reg<T> {
    fn drive(&mut self, clock: Clock, reset: Bit) {
        self.clock.next = clock;
        self.reset.next = reset;
        self.d.next = self.q.val();
    }
    fn claim(&mut self) {
        self.clock.connect();
        self.reset.connect();
        self.d.connect();
    }
}

impl<T: Synth> Part for DFF<T> {
    fn drive(&mut self, clock: Clock, _reset: Bit) {
        self.clock.next = clock;
        self.d.next = self.q.val();
    }
    fn claim(&mut self) {
        self.clock.connect();
        self.d.connect();
    }
}

impl<P: Part> Part for Vec<P> {
    fn drive(&mut self, clock: Clock, reset: Bit) {
        self.iter_mut().for_each(|part| part.drive(clock, reset));
    }
    fn claim(&mut self) {
        self.iter_mut().for_each(Part::claim);
    }
}

impl<P: Part, const N: usize> Part for [P; N] {
    fn drive(&mut self, clock: Clock, reset: Bit) {
        self.iter_mut().for_each(|part| part.drive(clock, reset));
    }
    fn claim(&mut self) {
        self.iter_mut().for_each(Part::claim);
    }
}
