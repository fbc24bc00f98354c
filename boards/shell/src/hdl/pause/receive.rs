//! Received pause frames, and the marks of the receive FIFO.

use super::{BYTES, DESTINATION, OPERATION};
use spindle_blocks::{RxSink, RxSource};
use spindle_verilog::prelude::*;

/// Takes pause frames out of what is received.
///
/// | ports | neighbour |
/// |---|---|
/// | in `from_mac_*`, out `to_cross_*`, 1 cycle later; in `level` | as of [`Pause`](super::Pause) |
/// | out `turn`: changes with each pause frame, and `quanta` of the last one, 2 cycles after it | [`PauseSend`](super::PauseSend) |
/// | out `above`, `below`: the level has reached the mark | `PauseSend` |
///
/// What goes to `PauseSend` comes from registers.
#[block(no_default)]
pub struct PauseReceive<const A: usize> {
    /// Frames of the MAC.
    pub from_mac: RxSink,
    /// Those that are no pause frames.
    pub to_cross: RxSource,
    /// Beats in the receive FIFO.
    pub level: Signal<In, Bits<A>>,
    /// Changes with each pause frame.
    pub turn: Signal<Out, Bit>,
    /// What the last pause frame asked for.
    pub quanta: Signal<Out, Bits<16>>,
    /// The FIFO is so full that a pause is needed.
    pub above: Signal<Out, Bit>,
    /// It is so empty that none is.
    pub below: Signal<Out, Bit>,
    data: DFF<Bits<512>>,
    keep: DFF<Bits<64>>,
    last: DFF<Bit>,
    user: DFF<Bit>,
    valid: Reg<Bit>,
    /// The MAC's next beat is the first of a frame.
    first: Reg<Bit>,
    /// The beat in the registers is a pause frame.
    is_pause: Reg<Bit>,
    asked: Reg<Bits<16>>,
    frames: Reg<Bit>,
    full: Reg<Bit>,
    empty: Reg<Bit>,
    _high: u64,
    _low: u64,
}

impl<const A: usize> PauseReceive<A> {
    /// With marks of the FIFO, in beats.
    pub(super) fn new(high: u64, low: u64) -> Self {
        Self { first: Reg::new(true), _high: high, _low: low, ..Self::blank() }
    }
}

#[hdl]
impl<const A: usize> PauseReceive<A> {
    fn update(&mut self) {
        let valid = self.from_mac.valid.val();
        let data = self.from_mac.data.val();
        let last = self.from_mac.last.val();
        self.first.load(valid, last);
        let mut differs = false;
        for i in 0..6 {
            differs = differs | ne(data.get_bits::<8>(8 * i), bits::<8>(DESTINATION[i]));
        }
        for i in 0..4 {
            differs = differs | ne(data.get_bits::<8>(96 + 8 * i), bits::<8>(OPERATION[i]));
        }
        let whole = self.first.q.val() & last & !self.from_mac.user.val() & self.from_mac.keep.val().get_bit(BYTES - 1);
        self.is_pause.d.next = valid & whole & !differs;
        self.valid.d.next = valid;
        if valid {
            self.data.d.next = data;
            self.keep.d.next = self.from_mac.keep.val();
            self.last.d.next = last;
            self.user.d.next = self.from_mac.user.val();
        }
        let held = self.data.q.val();
        self.to_cross.data.next = held;
        self.to_cross.keep.next = self.keep.q.val();
        self.to_cross.last.next = self.last.q.val();
        self.to_cross.user.next = self.user.q.val();
        self.to_cross.valid.next = self.valid.q.val() & !self.is_pause.q.val();

        if self.is_pause.q.val() {
            self.asked.d.next = (held.get_bits::<8>(128), held.get_bits::<8>(136)).cat::<16>();
        }
        self.frames.d.next = self.frames.q.val() ^ self.is_pause.q.val();
        self.turn.next = self.frames.q.val();
        self.quanta.next = self.asked.q.val();
        self.full.d.next = self.level.val() >= bits::<A>(self._high);
        self.empty.d.next = self.level.val() <= bits::<A>(self._low);
        self.above.next = self.full.q.val();
        self.below.next = self.empty.q.val();
    }
}
