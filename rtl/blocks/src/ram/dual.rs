//! True dual port memory with byte enables and output registers.

use super::byte::merge;
use super::{check, storage, unread_bits, word, RamStyle};
use spindle_verilog::custom_with;
use spindle_verilog::prelude::*;

/// `2^A` words of W bits, B bytes of one width, with two ports `a` and `b`, each of which reads or writes in a cycle.
/// After each port comes the output register of the block RAM: read latency 2, and a clock enable per stage.
///
/// | ports (same for `b`) | meaning |
/// |---|---|
/// | in `a_enable` | the array of the port works in this cycle |
/// | in `a_strobe` | bytes to write; all zero = only read |
/// | in `a_address`, `a_write` | address, word |
/// | in `a_advance` / out `a_read` | the word that the array held goes to the output register; without it the register holds |
///
/// With `a_advance` high all the time, the word of a read is valid 2 cycles after `a_enable`. With `a_enable` and
/// `a_advance` low both stages hold. Never stalls. Read-first: a port that writes fetches the old word, and so does a
/// port that reads the word that the other one writes in the same cycle. Both ports must not write the same word in one
/// cycle. Block RAM only.
#[block(no_reset, no_default)]
pub struct TdpRam<const A: usize, const B: usize, const W: usize> {
    /// Port a works in this cycle.
    pub a_enable: Signal<In, Bit>,
    /// Bytes that port a writes.
    pub a_strobe: Signal<In, Bits<B>>,
    /// Word of port a.
    pub a_address: Signal<In, Bits<A>>,
    /// What port a writes.
    pub a_write: Signal<In, Bits<W>>,
    /// The output register of port a takes the word that was fetched.
    pub a_advance: Signal<In, Bit>,
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
    /// The output register of port b takes the word that was fetched.
    pub b_advance: Signal<In, Bit>,
    /// What port b read.
    pub b_read: Signal<Out, Bits<W>>,
    _words: Vec<Bits<W>>,
    _fetched: [Bits<W>; 2],
}

impl<const A: usize, const B: usize, const W: usize> Default for TdpRam<A, B, W> {
    fn default() -> Self {
        Self::with_depth(1 << A)
    }
}

impl<const A: usize, const B: usize, const W: usize> TdpRam<A, B, W> {
    /// Only `depth` words.
    pub fn with_depth(depth: usize) -> Self {
        check("TdpRam", A, depth, 2);
        assert!(B > 0 && W.is_multiple_of(B), "TdpRam: {W} bits cannot be cut into {B} bytes; make W a multiple of B");
        Self { _words: vec![Bits::default(); depth], _fetched: [Bits::default(); 2], ..Self::blank() }
    }
}

impl<const A: usize, const B: usize, const W: usize> Logic for TdpRam<A, B, W> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            if self.a_advance.val() {
                self.a_read.next = self._fetched[0];
            }
            if self.b_advance.val() {
                self.b_read.next = self._fetched[1];
            }
            let accesses = [
                (self.a_enable.val(), self.a_address.val(), self.a_write.val(), self.a_strobe.val()),
                (self.b_enable.val(), self.b_address.val(), self.b_write.val(), self.b_strobe.val()),
            ];
            for (fetched, (enable, address, _, _)) in self._fetched.iter_mut().zip(accesses) {
                if enable {
                    *fetched = self._words.get(address.index()).copied().unwrap_or_default();
                }
            }
            for (enable, address, data, strobe) in accesses {
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
        // One process per port: the form from which tools infer a true dual port memory with its output registers.
        let byte = "BITS";
        let width = "BITS*BYTES";
        let port = |p: &str| {
            format!(
                "  logic [{byte}*BYTES-1:0] {p}_fetched;\n  always @(posedge clock) begin\n    if ({p}_enable) begin\n      \
                 for (int i = 0; i < BYTES; i++)\n        \
                 if ({p}_strobe[i]) {word}[{byte} * i +: {byte}] <= {p}_write[{byte} * i +: {byte}];\n      \
                 {p}_fetched <= {word};\n    end\n    if ({p}_advance) {p}_read <= {p}_fetched;\n  end\n",
                word = word(&format!("{p}_address")),
            )
        };
        let body = format!(
            "{}{}{}{}",
            storage(RamStyle::Block, width),
            port("a"),
            port("b"),
            unread_bits(&["a_address", "b_address"])
        );
        let widths = [("address", "ADDRESS"), ("strobe", "BYTES"), ("write", width), ("read", width)];
        let ports = ["a", "b"].map(|p| widths.map(|(port, width)| (format!("{p}_{port}"), width)));
        let ports: Vec<(&str, &str)> = ports.iter().flatten().map(|(port, width)| (port.as_str(), *width)).collect();
        let parameters = [("ADDRESS", A), ("DEPTH", self._words.len()), ("BYTES", B), ("BITS", W / B)];
        custom_with("tdp_ram", &parameters, &ports, &body)
    }
}
