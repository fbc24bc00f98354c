//! Events of one clock, counted in another.

use spindle_blocks::GrayCount;
use spindle_verilog::prelude::*;

/// Counts events of `from_clock` in `to_clock`: 32 bits, wrapping.
///
/// | ports | domain |
/// |---|---|
/// | in `occurs`: one event in each cycle in which it is high | `from` |
/// | in `stop`: what lies between the clocks is being cleared; `to_clear`; out `total` | `to` |
///
/// `from_reset` and `to_clear` are the two sides of the clearing (`spindle_blocks::ClearPair`); `to_reset` makes the
/// total zero. An event is counted 5 to 6 edges of `to_clock` later. Events of the last few cycles before `stop`, and
/// until it ends, are not counted. Fewer than 16 events in a cycle of `to_clock`: `from_clock` is at most 12 times as
/// fast.
#[block(domains(from, to))]
pub struct CrossCount {
    /// An event.
    pub occurs: Signal<In, Bit>,
    /// The crossing is being cleared.
    pub stop: Signal<In, Bit>,
    /// Clears the crossing, at this side.
    pub to_clear: Signal<In, Bit>,
    /// Events so far.
    pub total: Signal<Out, Bits<32>>,
    events: GrayCount<4>,
    #[domain(to)]
    now: Reg<Bits<4>>,
    #[domain(to)]
    earlier: Reg<Bits<4>>,
    /// Events to be added.
    #[domain(to)]
    more: Reg<Bits<4>>,
    #[domain(to)]
    stopped: Reg<Bit>,
    #[domain(to)]
    sum: Reg<Bits<32>>,
}

#[hdl]
impl CrossCount {
    fn update(&mut self) {
        self.events.from_clock.next = self.from_clock.val();
        self.events.from_reset.next = self.from_reset.val();
        self.events.to_clock.next = self.to_clock.val();
        self.events.to_reset.next = self.to_clear.val();
        self.events.step.next = self.occurs.val();
        self.now.d.next = self.events.seen_count.val();
        self.earlier.d.next = self.now.q.val();
        self.stopped.d.next = self.stop.val();
        // While the other side is cleared its count falls.
        let counts = !(self.stop.val() | self.stopped.q.val());
        self.more.d.next = if counts { self.now.q.val() - self.earlier.q.val() } else { bits::<4>(0) };
        self.sum.d.next = self.sum.q.val() + bit_cast::<32, 4>(self.more.q.val());
        self.total.next = self.sum.q.val();
    }
}
