//! Crossings between two clocks: a level, a count, and the clearing of both sides.
//!
//! Every register that another clock feeds is `near` of a [`Level`] or of a [`GrayCount`]; it and `far` after it are
//! marked `ASYNC_REG`. A constraint for all of them needs these two names alone.

use spindle_verilog::custom;
use spindle_verilog::prelude::*;

/// A level from another clock.
///
/// In `level`, which comes from a register of the other clock; out `seen`, 2 to 3 edges later. No reset reaches it: it
/// begins as low when the device is configured.
#[block(no_reset)]
pub struct Level {
    /// The level, of another clock.
    pub level: Signal<In, Bit>,
    /// The level as this clock sees it.
    pub seen: Signal<Out, Bit>,
    _near: bool,
}

impl Logic for Level {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.seen.next = self._near;
            self._near = self.level.val();
        }
    }

    fn connect(&mut self) {
        self.seen.connect();
    }

    fn hdl(&self) -> Verilog {
        let body = "  (* ASYNC_REG = \"TRUE\" *) logic near;\n  (* ASYNC_REG = \"TRUE\" *) logic far;\n  \
                    initial near = 1'b0;\n  initial far = 1'b0;\n  always @(posedge clock) begin\n    \
                    near <= level;\n    far <= near;\n  end\n  assign seen = far;\n";
        custom("level", body)
    }
}

/// A count that another clock sees: Gray code, of which one bit changes at a time.
///
/// | ports | domain |
/// |---|---|
/// | in `step`, out `count`, `gray`: registers | `from` |
/// | out `seen`: Gray code, a register, 2 to 3 edges of `to_clock` after the step; `seen_count`: decoded | `to` |
///
/// The count may step in every cycle. `seen` may miss values; it never shows one that was not there. A reset of one
/// side alone would change many bits at once: both have to be in reset together for an edge of either clock, and each
/// may leave it alone.
#[block(domains(from, to), no_default)]
pub struct GrayCount<const N: usize> {
    /// Count one more.
    pub step: Signal<In, Bit>,
    /// The count.
    pub count: Signal<Out, Bits<N>>,
    /// The same in Gray code.
    pub gray: Signal<Out, Bits<N>>,
    /// `gray` as the other clock sees it.
    pub seen: Signal<Out, Bits<N>>,
    /// The count that `seen` stands for.
    pub seen_count: Signal<Out, Bits<N>>,
    #[domain(from)]
    binary: Reg<Bits<N>>,
    #[domain(from)]
    coded: Reg<Bits<N>>,
    #[domain(to)]
    near: Reg<Bits<N>>,
    #[domain(to)]
    far: Reg<Bits<N>>,
}

impl<const N: usize> Default for GrayCount<N> {
    fn default() -> Self {
        let synchroniser = || Reg::new(Bits::default()).attr("ASYNC_REG", "TRUE");
        Self { near: synchroniser(), far: synchroniser(), ..Self::blank() }
    }
}

#[hdl]
impl<const N: usize> GrayCount<N> {
    fn update(&mut self) {
        if self.step.val() {
            let next = self.binary.q.val() + 1;
            self.binary.d.next = next;
            self.coded.d.next = next ^ (next >> 1);
        }
        self.near.d.next = self.coded.q.val();
        self.far.d.next = self.near.q.val();
        self.count.next = self.binary.q.val();
        self.gray.next = self.coded.q.val();
        let seen = self.far.q.val();
        self.seen.next = seen;
        let mut number: Bits<N> = seen;
        for i in (0..N - 1).rev() {
            number = number.replace_bit(i, seen.get_bit(i) ^ number.get_bit(i + 1));
        }
        self.seen_count.next = number;
    }
}

/// Clears both sides of what lies between two clocks, whichever side wants so, and whichever clock stands still.
///
/// | ports, of side `left` (the same of `right`) | meaning |
/// |---|---|
/// | in `left_quiet` | nothing is open at this side: it may be cleared |
/// | out `left_stop` | begin nothing, bring what is open to an end; the other side is gone, or will be |
/// | out `left_clear` | the reset of this side's part of the crossing |
///
/// A reset of a side is its wish, of any length. The side stops at once and asks the other side, which stops too,
/// becomes quiet, clears itself and says so; then the asking side clears itself, takes its wish back when the reset
/// has ended, and both go on. So both are clear together, and neither moves a pointer before the other is clear. A
/// side whose clock stands still keeps the other stopped until the clock runs again. The configuration of the device
/// is a wish of both.
///
/// `stop` follows the own reset in the same cycle and that of the other side in 2 to 3 edges. It ends 4 to 6 edges of
/// the other clock and 4 to 6 of the own one after the reset, if the other side is quiet. A question is never taken
/// back before it is answered, which is why no reset reaches these registers.
#[block(domains(left, right), no_default)]
pub struct ClearPair {
    /// Nothing is open at the left.
    pub left_quiet: Signal<In, Bit>,
    /// Begin nothing at the left.
    pub left_stop: Signal<Out, Bit>,
    /// Reset of the left part.
    pub left_clear: Signal<Out, Bit>,
    /// Nothing is open at the right.
    pub right_quiet: Signal<In, Bit>,
    /// Begin nothing at the right.
    pub right_stop: Signal<Out, Bit>,
    /// Reset of the right part.
    pub right_clear: Signal<Out, Bit>,
    #[domain(left)]
    left: ClearSide,
    #[domain(right)]
    right: ClearSide,
}

impl Default for ClearPair {
    fn default() -> Self {
        Self::blank()
    }
}

#[hdl]
impl ClearPair {
    fn update(&mut self) {
        self.left.quiet.next = self.left_quiet.val();
        self.left.other_wish.next = self.right.wish.val();
        self.left.other_cleared.next = self.right.cleared.val();
        self.left_stop.next = self.left.stop.val();
        self.left_clear.next = self.left.clear.val();
        self.right.quiet.next = self.right_quiet.val();
        self.right.other_wish.next = self.left.wish.val();
        self.right.other_cleared.next = self.left.cleared.val();
        self.right_stop.next = self.right.stop.val();
        self.right_clear.next = self.right.clear.val();
    }
}

/// One side of a [`ClearPair`].
#[block]
pub struct ClearSide {
    /// Nothing is open.
    pub quiet: Signal<In, Bit>,
    /// Begin nothing.
    pub stop: Signal<Out, Bit>,
    /// Reset of this side's part.
    pub clear: Signal<Out, Bit>,
    /// This side asks the other one to clear itself: a register.
    pub wish: Signal<Out, Bit>,
    /// This side is clear because the other one asks: a register.
    pub cleared: Signal<Out, Bit>,
    /// `wish` of the other side.
    pub other_wish: Signal<In, Bit>,
    /// `cleared` of the other side.
    pub other_cleared: Signal<In, Bit>,
    asked: Level,
    answered: Level,
    /// No wish waits: low when the device is configured.
    served: DFF<Bit>,
    wishing: DFF<Bit>,
    clearing: DFF<Bit>,
    reported: DFF<Bit>,
}

#[hdl]
impl ClearSide {
    fn update(&mut self) {
        self.asked.level.next = self.other_wish.val();
        self.answered.level.next = self.other_cleared.val();
        let asked = self.asked.seen.val();
        let answered = self.answered.seen.val();
        let wants = self.reset.val() | !self.served.q.val();
        let wishing = self.wishing.q.val();
        let starts = wants & !wishing & !answered;
        // What comes while it wishes is the same wish, as long as that lasts.
        self.served.d.next = !wants | starts | wishing;
        self.wishing.d.next = starts | (wishing & (self.reset.val() | !answered));
        self.clearing.d.next = asked & (self.clearing.q.val() | self.quiet.val());
        self.wish.next = wishing;
        // Not before the registers have been in reset for an edge: the other clock may be much faster.
        self.reported.d.next = asked & self.clearing.q.val();
        self.cleared.next = self.reported.q.val();
        self.clear.next = self.clearing.q.val() | (wishing & answered);
        self.stop.next = wants | wishing | answered | asked | self.clearing.q.val();
    }
}
