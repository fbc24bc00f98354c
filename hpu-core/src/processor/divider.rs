//! DIV, DIVU, REM, REMU.

use super::bundles::Division;
use spindle_verilog::prelude::*;

/// Number of the last of 31 steps.
const LAST_STEP: u64 = 30;

/// Cycles from `start` to `done`, at most; 2 if the divisor is 1 or -1.
pub const DIVIDER_LATENCY: u64 = 32;

/// Restoring divider, one quotient bit per cycle.
///
/// | ports | meaning |
/// |---|---|
/// | in `start`, `a`, `b`, `funct3` | divide; ignored while `busy` |
/// | in `loads` | `start` may come: the operands are taken |
/// | in `cancel` | cancel the division, also one that starts in this cycle |
/// | out `busy` | from the cycle after `start` to the one with `taken` |
/// | out `done`, `result`, `takes_remainder`; in `taken` | the result is one of the two, or its negative |
/// | | from 2 to 32 cycles after `start` until `taken` |
///
/// The first step shifts in two bits of the dividend and subtracts once: the quotient's first bit can only be 1 if the
/// divisor is 0, where the step does not matter, or 1, where the dividend is the quotient and nothing is left to do. A
/// negative divisor is added, not subtracted, and the dividend is negated on its way into the quotient register, so no
/// cycle goes into signs.
#[block(no_default)]
pub struct Divider {
    /// Take the operands.
    pub start: Signal<In, Bit>,
    /// X holds a division: the operands may be those of a `start`.
    pub loads: Signal<In, Bit>,
    /// Cancel the division.
    pub cancel: Signal<In, Bit>,
    /// Dividend.
    pub a: Signal<In, Bits<32>>,
    /// Divisor.
    pub b: Signal<In, Bits<32>>,
    /// Which result.
    pub funct3: Signal<In, Bits<3>>,
    /// A division is in progress, or its result has not been taken.
    pub busy: Signal<Out, Bit>,
    /// The result is there.
    pub done: Signal<Out, Bit>,
    /// The result is taken.
    pub taken: Signal<In, Bit>,
    /// The result.
    pub result: Division,
    /// The result is the remainder.
    pub takes_remainder: Signal<Out, Bit>,
    working: Reg<Bit>,
    /// The first step.
    first: Reg<Bit>,
    /// No steps are left,
    rests: Reg<Bit>,
    /// or this is the number of the next one: 0 to [`LAST_STEP`].
    step: Reg<Bits<5>>,
    /// Dividend bits that are left, above quotient bits that are known.
    dividend: DFF<Bits<32>>,
    rest: DFF<Bits<32>>,
    /// With its sign.
    divisor: DFF<Bits<33>>,
    by_zero: DFF<Bit>,
    minus: DFF<Bit>,
    wants_remainder: DFF<Bit>,
}

impl Default for Divider {
    fn default() -> Self {
        Self { rests: Reg::new(true), ..Self::blank() }
    }
}

#[hdl]
impl Divider {
    fn update(&mut self) {
        // Idle, it takes the operands of any division, so that `start`, which comes late, only sets flags.
        let loads = !self.working.q.val();
        let takes = loads & self.loads.val();
        let starts = self.start.val() & loads & !self.cancel.val();
        let with_sign = !self.funct3.val().get_bit(0);
        let negative_a = with_sign & self.a.val().get_bit(31);
        let negative_b = with_sign & self.b.val().get_bit(31);

        // 1 or -1: nothing to subtract. All bits above the lowest are like the sign.
        let divisor = self.divisor.q.val();
        let subtracts = !divisor.get_bit(32);
        let is_small = !(divisor.get_bits::<31>(1) ^ repeat::<31>(!subtracts)).any();
        let first = self.first.q.val();
        self.first.d.next = starts;
        let stops = first & is_small & divisor.get_bit(0);
        self.by_zero.d.next = is_small & subtracts & !divisor.get_bit(0);

        // One step.
        let quotient = self.dividend.q.val();
        let remainder = self.rest.q.val();
        // There is no remainder before the first step.
        let lower =
            if first { quotient.get_bits::<2>(30) } else { (remainder.get_bit(0), quotient.get_bit(31)).cat::<2>() };
        let shifted = (remainder.get_bits::<31>(1), lower).cat::<33>();
        let total = add_with_carry::<34, 33>(shifted, divisor ^ repeat::<33>(subtracts), subtracts);
        let fits = !total.get_bit(32);

        // The dividend's negation and the shift share the adder; bit 0, which comes late, stays out of it.
        let upper = if loads {
            self.a.val().get_bits::<31>(1) ^ repeat::<31>(negative_a)
        } else if first {
            (quotient.get_bits::<30>(0), false).cat::<31>()
        } else {
            quotient.get_bits::<31>(0)
        };
        let one_more = loads & negative_a & !self.a.val().get_bit(0);
        let loaded = upper + (bits::<30>(0), one_more).cat::<31>();
        let steps = !self.rests.q.val();
        self.step.reset.next = self.rests.q.val();
        self.step.d.next = self.step.q.val() + 1;
        if takes | (steps & !stops) {
            self.dividend.d.next = (loaded, if loads { self.a.val().get_bit(0) } else { fits }).cat::<32>();
        }
        if takes {
            self.rest.d.next = bits::<32>(0);
            self.divisor.d.next = (negative_b, self.b.val()).cat::<33>();
            self.wants_remainder.d.next = self.funct3.val().get_bit(1);
            self.minus.d.next = negative_a ^ (negative_b & !self.funct3.val().get_bit(1));
        } else if steps & !stops {
            self.rest.d.next = if fits { total.get_bits::<32>(0) } else { shifted.get_bits::<32>(0) };
        }

        if self.cancel.val() {
            self.working.d.next = false;
            self.rests.d.next = true;
        } else if starts {
            self.working.d.next = true;
            self.rests.d.next = false;
        } else {
            self.rests.load(stops | (self.step.q.val() == bits::<5>(LAST_STEP)), true);
            self.working.load(self.taken.val(), false);
        }

        self.busy.next = self.working.q.val();
        self.done.next = self.working.q.val() & !steps;
        // A division by zero: all ones, whatever the signs, and the dividend as remainder.
        self.result.quotient.next =
            (quotient.get_bit(31) | self.by_zero.q.val(), quotient.get_bits::<31>(0)).cat::<32>();
        self.result.remainder.next = remainder;
        self.takes_remainder.next = self.wants_remainder.q.val();
        self.result.negate.next = self.minus.q.val() & (self.wants_remainder.q.val() | !self.by_zero.q.val());
    }
}
