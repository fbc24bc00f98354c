//! Simple dual port memory with byte enables.

use super::{check, output_register, storage, unread_bits, word, RamStyle};
use spindle_verilog::custom_with;
use spindle_verilog::prelude::*;

/// `2^A` words of W = 8 × B bits; one write port with an enable per byte, one synchronous read port.
///
/// | ports | meaning |
/// |---|---|
/// | in `write_strobe`, `write_address`, `write_data` | bytes whose strobe is high are written at the clock edge |
/// | in `read_enable`, `read_address` / out `read_data` | valid 1 (or 2) cycles later, held until the next read |
///
/// Never stalls. A read of the word being written gives the old word.
#[block(no_reset, no_default)]
pub struct ByteRam<const A: usize, const B: usize, const W: usize> {
    /// Bytes to write in this cycle.
    pub write_strobe: Signal<In, Bits<B>>,
    /// Its address.
    pub write_address: Signal<In, Bits<A>>,
    /// The word.
    pub write_data: Signal<In, Bits<W>>,
    /// Read in this cycle.
    pub read_enable: Signal<In, Bit>,
    /// Its address.
    pub read_address: Signal<In, Bits<A>>,
    /// The word read.
    pub read_data: Signal<Out, Bits<W>>,
    _style: RamStyle,
    _latency: usize,
    _words: Vec<Bits<W>>,
    _stage: Bits<W>,
}

impl<const A: usize, const B: usize, const W: usize> Default for ByteRam<A, B, W> {
    fn default() -> Self {
        Self::new(RamStyle::Block, 1)
    }
}

impl<const A: usize, const B: usize, const W: usize> ByteRam<A, B, W> {
    /// `2^A` words; `latency` 1 or 2.
    pub fn new(style: RamStyle, latency: usize) -> Self {
        Self::with_depth(style, latency, 1 << A)
    }

    /// Only `depth` words.
    pub fn with_depth(style: RamStyle, latency: usize, depth: usize) -> Self {
        check("ByteRam", A, depth, latency);
        assert!(W == 8 * B, "ByteRam: {B} bytes are {} bits, not {W}; make W = 8 * B", 8 * B);
        Self {
            _style: style,
            _latency: latency,
            _words: vec![Bits::default(); depth],
            _stage: Bits::default(),
            ..Self::blank()
        }
    }
}

/// `old` with the strobed bytes of `new`.
pub(super) fn merge<const B: usize, const W: usize>(old: Bits<W>, new: Bits<W>, strobe: Bits<B>) -> Bits<W> {
    let byte = W / B;
    (0..W)
        .fold(old, |word, bit| if strobe.get_bit(bit / byte) { word.replace_bit(bit, new.get_bit(bit)) } else { word })
}

read_port!([const A: usize, const B: usize, const W: usize] ByteRam<A, B, W>, A);

impl<const A: usize, const B: usize, const W: usize> Logic for ByteRam<A, B, W> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            if self._latency == 2 {
                self.read_data.next = self._stage;
            }
            if self.read_enable.val() {
                let word = self._words.get(self.read_address.val().index()).copied().unwrap_or_default();
                if self._latency == 1 {
                    self.read_data.next = word;
                } else {
                    self._stage = word;
                }
            }
            if let Some(word) = self._words.get_mut(self.write_address.val().index()) {
                *word = merge(*word, self.write_data.val(), self.write_strobe.val());
            }
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let body = format!(
            "{storage}  logic [8*BYTES-1:0] fetched;\n  always @(posedge clock) begin\n    for (int i = 0; i < BYTES; i++)\n      \
             if (write_strobe[i]) {to}[8 * i +: 8] <= write_data[8 * i +: 8];\n    \
             if (read_enable) fetched <= {from};\n  end\n{output}{unread}",
            storage = storage(self._style, "8*BYTES"),
            to = word("write_address"),
            from = word("read_address"),
            output = output_register("8*BYTES", "read_data"),
            unread = unread_bits(&["write_address", "read_address"]),
        );
        custom_with(
            &format!("byte_ram_{}", self._style.attribute()),
            &[("ADDRESS", A), ("DEPTH", self._words.len()), ("BYTES", B), ("LATENCY", self._latency)],
            &[
                ("write_strobe", "BYTES"),
                ("write_address", "ADDRESS"),
                ("write_data", "8*BYTES"),
                ("read_address", "ADDRESS"),
                ("read_data", "8*BYTES"),
            ],
            &body,
        )
    }
}
