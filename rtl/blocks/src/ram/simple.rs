//! One write port and one or two synchronous read ports.

use super::{check, output_register, storage, unread_bits, word, RamStyle};
use spindle_verilog::custom_with;
use spindle_verilog::prelude::*;

/// `SdpRam<A, W>`: simple dual port memory of `2^A` words of W bits; see [`SdpMemory`].
pub type SdpRam<const A: usize, const W: usize> = SdpMemory<Bits<W>, A>;

/// Simple dual port memory of `2^A` words of any hardware type: one write port, one synchronous read port.
///
/// | ports | meaning |
/// |---|---|
/// | in `write_enable`, `write_address`, `write_data` | written at the clock edge |
/// | in `read_enable`, `read_address` / out `read_data` | valid 1 (or 2) cycles later, held until the next read |
///
/// Never stalls. A read of the word being written gives the old word. With latency 2 the second register is the output
/// register of the block RAM, which is needed for full speed.
#[block(no_reset, no_default)]
pub struct SdpMemory<T: Synth, const A: usize> {
    /// Write in this cycle.
    pub write_enable: Signal<In, Bit>,
    /// Its address.
    pub write_address: Signal<In, Bits<A>>,
    /// The word.
    pub write_data: Signal<In, T>,
    /// Read in this cycle.
    pub read_enable: Signal<In, Bit>,
    /// Its address.
    pub read_address: Signal<In, Bits<A>>,
    /// The word read.
    pub read_data: Signal<Out, T>,
    _style: RamStyle,
    _latency: usize,
    _words: Vec<T>,
    _stage: T,
}

impl<T: Synth, const A: usize> Default for SdpMemory<T, A> {
    fn default() -> Self {
        Self::new(RamStyle::Block, 1)
    }
}

impl<T: Synth, const A: usize> SdpMemory<T, A> {
    /// `2^A` words; `latency` 1 or 2.
    pub fn new(style: RamStyle, latency: usize) -> Self {
        Self::with_depth(style, latency, 1 << A)
    }

    /// Only `depth` words.
    pub fn with_depth(style: RamStyle, latency: usize, depth: usize) -> Self {
        check("SdpRam", A, depth, latency);
        Self {
            _style: style,
            _latency: latency,
            _words: vec![T::default(); depth],
            _stage: T::default(),
            ..Self::blank()
        }
    }
}

write_port!([T: Synth, const A: usize] SdpMemory<T, A>, A, T);
read_port!([T: Synth, const A: usize] SdpMemory<T, A>, A);

impl<T: Synth, const A: usize> Logic for SdpMemory<T, A> {
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
            if self.write_enable.val() {
                if let Some(word) = self._words.get_mut(self.write_address.val().index()) {
                    *word = self.write_data.val();
                }
            }
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let body = format!(
            "{storage}  logic [WIDTH-1:0] fetched;\n  always @(posedge clock) begin\n    if (write_enable) {to} <= write_data;\n    \
             if (read_enable) fetched <= {from};\n  end\n{output}{unread}",
            storage = storage(self._style, "WIDTH"),
            to = word("write_address"),
            from = word("read_address"),
            output = output_register("WIDTH", "read_data"),
            unread = unread_bits(&["write_address", "read_address"]),
        );
        custom_with(
            &format!("sdp_ram_{}", self._style.attribute()),
            &[("ADDRESS", A), ("DEPTH", self._words.len()), ("WIDTH", T::BITS), ("LATENCY", self._latency)],
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

/// One write port and two independent read ports, built of two copies of [`SdpMemory`]; used by the packet buffer.
///
/// Ports as `SdpRam`, the read ports being `a_*` and `b_*`. Latency 1 or 2, no stalls, old word on a collision.
#[block(no_reset, no_default)]
pub struct Ram1w2r<const A: usize, const W: usize> {
    /// Write in this cycle.
    pub write_enable: Signal<In, Bit>,
    /// Its address.
    pub write_address: Signal<In, Bits<A>>,
    /// The word.
    pub write_data: Signal<In, Bits<W>>,
    /// Read port a in this cycle.
    pub a_enable: Signal<In, Bit>,
    /// Its address.
    pub a_address: Signal<In, Bits<A>>,
    /// The word read by port a.
    pub a_data: Signal<Out, Bits<W>>,
    /// Read port b in this cycle.
    pub b_enable: Signal<In, Bit>,
    /// Its address.
    pub b_address: Signal<In, Bits<A>>,
    /// The word read by port b.
    pub b_data: Signal<Out, Bits<W>>,
    copies: [SdpRam<A, W>; 2],
}

impl<const A: usize, const W: usize> Default for Ram1w2r<A, W> {
    fn default() -> Self {
        Self::new(RamStyle::Block, 1)
    }
}

impl<const A: usize, const W: usize> Ram1w2r<A, W> {
    /// `2^A` words; `latency` 1 or 2.
    pub fn new(style: RamStyle, latency: usize) -> Self {
        Self::with_depth(style, latency, 1 << A)
    }

    /// Only `depth` words.
    pub fn with_depth(style: RamStyle, latency: usize, depth: usize) -> Self {
        Self { copies: std::array::from_fn(|_| SdpMemory::with_depth(style, latency, depth)), ..Self::blank() }
    }
}

write_port!([const A: usize, const W: usize] Ram1w2r<A, W>, A, Bits<W>);

#[hdl]
impl<const A: usize, const W: usize> Ram1w2r<A, W> {
    fn update(&mut self) {
        for i in 0..2 {
            self.copies[i].write(self.write_enable.val(), self.write_address.val(), self.write_data.val());
        }
        self.copies[0].read(self.a_enable.val(), self.a_address.val());
        self.a_data.next = self.copies[0].read_data.val();
        self.copies[1].read(self.b_enable.val(), self.b_address.val());
        self.b_data.next = self.copies[1].read_data.val();
    }
}
