//! `Reg<T>`: a register with synchronous reset.

use crate::describe::{hand_over_register, RegisterSource};
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff::DFF;

/// A register with synchronous, active-high reset to a given value.
///
/// Ports: `clock`, `reset`, `d` (next value), `q` (present value). One cycle of latency; `reset` wins over `d`. In a
/// `#[block]` clock and reset are connected, and the register holds its value unless `update()` assigns `d`.
#[derive(Clone, Debug, LogicBlock)]
pub struct Reg<T: Synth> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub d: Signal<In, T>,
    pub q: Signal<Out, T>,
    _init: T,
    _attributes: Vec<(String, String)>,
}

impl<T: Synth> Default for Reg<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Synth> Reg<T> {
    /// A register that resets to `init`.
    pub fn new(init: T) -> Self {
        Self {
            clock: Signal::default(),
            reset: Signal::default(),
            d: Signal::default(),
            q: Signal::new_with_default(init),
            _init: init,
            _attributes: vec![],
        }
    }

    /// Adds a synthesis attribute, for example `.attr("ASYNC_REG", "TRUE")`.
    pub fn attr(mut self, name: &str, value: &str) -> Self {
        self._attributes.push((name.to_string(), value.to_string()));
        self
    }
}

/// A register with an enable, written in one line.
pub trait Load<T> {
    /// Takes `value` at the next clock edge if `enable` is high, and holds otherwise: `if enable { self.d.next = value }`.
    fn load(&mut self, enable: Bit, value: T);
}

impl<T: Synth> Load<T> for Reg<T> {
    fn load(&mut self, enable: Bit, value: T) {
        if enable {
            self.d.next = value;
        }
    }
}

impl<T: Synth> Load<T> for DFF<T> {
    fn load(&mut self, enable: Bit, value: T) {
        if enable {
            self.d.next = value;
        }
    }
}

impl<T: Synth> Logic for Reg<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = if self.reset.val() { self._init } else { self.d.val() };
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        hand_over_register(RegisterSource { init: self._init.verilog(), attributes: self._attributes.clone() })
    }
}
