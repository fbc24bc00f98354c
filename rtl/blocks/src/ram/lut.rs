//! LUT RAM: asynchronous reads.

use super::{check, storage, unread_bits, word, RamStyle};
use spindle_verilog::custom_with;
use spindle_verilog::prelude::*;

/// `2^A` words of any hardware type in LUT RAM: one write port, one asynchronous read port.
///
/// `read_data` follows `read_address` in the same cycle (one logic level up to 64 words); a word written in this cycle
/// is seen from the next one.
#[block(no_reset, no_default)]
pub struct LutMemory<T: Synth, const A: usize> {
    /// Write in this cycle.
    pub write_enable: Signal<In, Bit>,
    /// Its address.
    pub write_address: Signal<In, Bits<A>>,
    /// The word.
    pub write_data: Signal<In, T>,
    /// Address to read.
    pub read_address: Signal<In, Bits<A>>,
    /// The word at that address.
    pub read_data: Signal<Out, T>,
    _words: Vec<T>,
}

impl<T: Synth, const A: usize> Default for LutMemory<T, A> {
    fn default() -> Self {
        Self::with_depth(1 << A)
    }
}

impl<T: Synth, const A: usize> LutMemory<T, A> {
    /// Only `depth` words.
    pub fn with_depth(depth: usize) -> Self {
        check("LutRam", A, depth, 1);
        Self { _words: vec![T::default(); depth], ..Self::blank() }
    }
}

write_port!([T: Synth, const A: usize] LutMemory<T, A>, A, T);

impl<T: Synth, const A: usize> Logic for LutMemory<T, A> {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.write_enable.val() {
            if let Some(word) = self._words.get_mut(self.write_address.val().index()) {
                *word = self.write_data.val();
            }
        }
        self.read_data.next = self._words.get(self.read_address.val().index()).copied().unwrap_or_default();
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let body = format!(
            "{storage}  always @(posedge clock) if (write_enable) {to} <= write_data;\n  assign read_data = {from};\n{unread}",
            storage = storage(RamStyle::Distributed, "WIDTH"),
            to = word("write_address"),
            from = word("read_address"),
            unread = unread_bits(&["write_address", "read_address"]),
        );
        custom_with(
            "lut_ram",
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

/// `2^A` words of W bits in LUT RAM: one write port, R asynchronous read ports (one copy each).
///
/// Ports: in `write_enable`, `write_address`, `write_data`; in `read_address[r]` / out `read_data[r]`. Latency 0.
#[block(no_reset, no_default)]
pub struct LutRam<const A: usize, const W: usize, const R: usize> {
    /// Write in this cycle.
    pub write_enable: Signal<In, Bit>,
    /// Its address.
    pub write_address: Signal<In, Bits<A>>,
    /// The word.
    pub write_data: Signal<In, Bits<W>>,
    /// Address to read.
    pub read_address: [Signal<In, Bits<A>>; R],
    /// The words at these addresses.
    pub read_data: [Signal<Out, Bits<W>>; R],
    copies: [LutMemory<Bits<W>, A>; R],
}

impl<const A: usize, const W: usize, const R: usize> Default for LutRam<A, W, R> {
    fn default() -> Self {
        Self::with_depth(1 << A)
    }
}

impl<const A: usize, const W: usize, const R: usize> LutRam<A, W, R> {
    /// Only `depth` words.
    pub fn with_depth(depth: usize) -> Self {
        assert!(R >= 1, "LutRam: a memory without a read port is of no use; make R at least 1");
        Self { copies: std::array::from_fn(|_| LutMemory::with_depth(depth)), ..Self::blank() }
    }
}

write_port!([const A: usize, const W: usize, const R: usize] LutRam<A, W, R>, A, Bits<W>);

#[hdl]
impl<const A: usize, const W: usize, const R: usize> LutRam<A, W, R> {
    fn update(&mut self) {
        for r in 0..R {
            self.copies[r].write(self.write_enable.val(), self.write_address.val(), self.write_data.val());
            self.copies[r].read_address.next = self.read_address[r].val();
            self.read_data[r].next = self.copies[r].read_data.val();
        }
    }
}
