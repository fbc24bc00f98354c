//! One write port and one read port with clocks of their own.

use super::{check, storage, unread_bits, word, RamStyle};
use spindle_verilog::custom_with;
use spindle_verilog::prelude::*;

/// Simple dual port memory of `2^A` words of any hardware type in block RAM, whose ports have clocks of their own.
///
/// | ports | meaning |
/// |---|---|
/// | in `write_clock`, `write_enable`, `write_address`, `write_data` | written at the edge of `write_clock` |
/// | in `read_clock`, `read_enable`, `read_address` / out `read_data` | valid 1 cycle of `read_clock` later, held until the next read |
///
/// Never stalls. A word must not be read while it is written, nor in the cycles around it: who joins the clocks sees to
/// that.
#[block(combinational, no_default)]
pub struct CrossMemory<T: Synth, const A: usize> {
    /// Clock of the write port.
    pub write_clock: Signal<In, Clock>,
    /// Write in this cycle.
    pub write_enable: Signal<In, Bit>,
    /// Its address.
    pub write_address: Signal<In, Bits<A>>,
    /// The word.
    pub write_data: Signal<In, T>,
    /// Clock of the read port.
    pub read_clock: Signal<In, Clock>,
    /// Read in this cycle.
    pub read_enable: Signal<In, Bit>,
    /// Its address.
    pub read_address: Signal<In, Bits<A>>,
    /// The word read.
    pub read_data: Signal<Out, T>,
    _words: Vec<T>,
}

impl<T: Synth, const A: usize> Default for CrossMemory<T, A> {
    fn default() -> Self {
        check("CrossMemory", A, 1 << A, 1);
        Self { _words: vec![T::default(); 1 << A], ..Self::blank() }
    }
}

write_port!([T: Synth, const A: usize] CrossMemory<T, A>, A, T);
read_port!([T: Synth, const A: usize] CrossMemory<T, A>, A);

impl<T: Synth, const A: usize> Logic for CrossMemory<T, A> {
    fn update(&mut self) {
        if self.read_clock.pos_edge() && self.read_enable.val() {
            self.read_data.next = self._words[self.read_address.val().index()];
        }
        if self.write_clock.pos_edge() && self.write_enable.val() {
            self._words[self.write_address.val().index()] = self.write_data.val();
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let body = format!(
            "{storage}  logic [WIDTH-1:0] fetched;\n  \
             always @(posedge write_clock) if (write_enable) {to} <= write_data;\n  \
             always @(posedge read_clock) if (read_enable) fetched <= {from};\n  assign read_data = fetched;\n{unread}",
            storage = storage(RamStyle::Block, "WIDTH"),
            to = word("write_address"),
            from = word("read_address"),
            unread = unread_bits(&["write_address", "read_address"]),
        );
        custom_with(
            "cross_ram",
            &[("ADDRESS", A), ("DEPTH", self._words.len()), ("WIDTH", T::BITS)],
            &[
                ("write_address", "ADDRESS"),
                ("read_address", "ADDRESS"),
                ("write_data", "WIDTH"),
                ("read_data", "WIDTH"),
            ],
            &body,
        )
    }
}
