//! True dual port memory with byte enables.

use super::byte::merge;
use super::{check, storage, RamStyle};
use spindle_verilog::custom;
use spindle_verilog::prelude::*;

/// `2^A` words of W = 8 × B bits with two ports `a` and `b`, each of which reads or writes in a cycle.
///
/// | ports (same for `b`) | meaning |
/// |---|---|
/// | in `a_enable` | the port does something in this cycle |
/// | in `a_strobe` | bytes to write; all zero = only read |
/// | in `a_address`, `a_write` / out `a_read` | the word before the write is valid 1 cycle later and held while `a_enable` is low |
///
/// Never stalls. Read-first: a port that writes shows the old word, and so does a port that reads the word that the other
/// one writes in the same cycle. Both ports must not write the same word in one cycle. Block RAM only.
#[derive(LogicBlock)]
pub struct TdpRam<const A: usize, const B: usize, const W: usize> {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    /// Port a works in this cycle.
    pub a_enable: Signal<In, Bit>,
    /// Bytes that port a writes.
    pub a_strobe: Signal<In, Bits<B>>,
    /// Word of port a.
    pub a_address: Signal<In, Bits<A>>,
    /// What port a writes.
    pub a_write: Signal<In, Bits<W>>,
    /// What port a read.
    pub a_read: Signal<Out, Bits<W>>,
    /// Port b works in this cycle.
    pub b_enable: Signal<In, Bit>,
    /// Bytes that port b writes.
    pub b_strobe: Signal<In, Bits<B>>,
    /// Word of port b.
    pub b_address: Signal<In, Bits<A>>,
    /// What port b writes.
    pub b_write: Signal<In, Bits<W>>,
    /// What port b read.
    pub b_read: Signal<Out, Bits<W>>,
    _words: Vec<Bits<W>>,
}

impl<const A: usize, const B: usize, const W: usize> Default for TdpRam<A, B, W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const A: usize, const B: usize, const W: usize> TdpRam<A, B, W> {
    /// `2^A` words.
    pub fn new() -> Self {
        Self::with_depth(1 << A)
    }

    /// Only `depth` words.
    pub fn with_depth(depth: usize) -> Self {
        check("TdpRam", A, depth, 1);
        assert!(W == 8 * B, "TdpRam: {B} bytes are {} bits, not {W}; make W = 8 * B", 8 * B);
        Self {
            clock: Default::default(),
            a_enable: Default::default(),
            a_strobe: Default::default(),
            a_address: Default::default(),
            a_write: Default::default(),
            a_read: Default::default(),
            b_enable: Default::default(),
            b_strobe: Default::default(),
            b_address: Default::default(),
            b_write: Default::default(),
            b_read: Default::default(),
            _words: vec![Bits::default(); depth],
        }
    }
}

impl<const A: usize, const B: usize, const W: usize> Logic for TdpRam<A, B, W> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let read = |address: Bits<A>| self._words.get(address.index()).copied().unwrap_or_default();
            if self.a_enable.val() {
                self.a_read.next = read(self.a_address.val());
            }
            if self.b_enable.val() {
                self.b_read.next = read(self.b_address.val());
            }
            let writes = [
                (self.a_enable.val(), self.a_address.val(), self.a_write.val(), self.a_strobe.val()),
                (self.b_enable.val(), self.b_address.val(), self.b_write.val(), self.b_strobe.val()),
            ];
            for (enable, address, data, strobe) in writes {
                if let (true, Some(word)) = (enable, self._words.get_mut(address.index())) {
                    *word = merge(*word, data, strobe);
                }
            }
        }
    }

    fn connect(&mut self) {
        self.a_read.connect();
        self.b_read.connect();
    }

    fn hdl(&self) -> Verilog {
        let depth = self._words.len();
        // One process per port: the form from which tools infer a true dual port memory.
        let port = |p: &str| {
            format!(
                "  always @(posedge clock) begin\n    if ({p}_enable) begin\n      for (int i = 0; i < {B}; i++)\n        \
                 if ({p}_strobe[i]) words[{p}_address][8 * i +: 8] <= {p}_write[8 * i +: 8];\n      \
                 {p}_read <= words[{p}_address];\n    end\n  end\n"
            )
        };
        let body = format!("{}{}{}", storage(RamStyle::Block, W, depth), port("a"), port("b"));
        custom(&format!("tdp_ram_{depth}x{W}"), &body)
    }
}
