//! DIV, DIVU, REM, REMU: one bit per cycle.

use spindle_verilog::prelude::*;

/// Restoring divider. `start` takes the operands; `done` comes 34 cycles later, for one cycle, with `result`. A `start` while
/// busy begins anew. Division by zero and overflow give what RV32M prescribes without special cases in the loop.
#[derive(LogicBlock, Default)]
pub struct Divider {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Take the operands.
    pub start: Signal<In, Bit>,
    /// Dividend.
    pub a: Signal<In, Bits<32>>,
    /// Divisor.
    pub b: Signal<In, Bits<32>>,
    /// Signed operands.
    pub signed_operands: Signal<In, Bit>,
    /// The remainder is wanted, not the quotient.
    pub want_remainder: Signal<In, Bit>,
    /// Quotient or remainder.
    pub result: Signal<Out, Bits<32>>,
    /// It is there.
    pub done: Signal<Out, Bit>,
    left: Reg<Bits<6>>,
    quotient: DFF<Bits<32>>,
    remainder: DFF<Bits<32>>,
    divisor: DFF<Bits<32>>,
    negate: DFF<Bit>,
    remainder_wanted: DFF<Bit>,
    answer: DFF<Bits<32>>,
    ready: Reg<Bit>,
}

impl Logic for Divider {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, left, ready);
        dffs!(self, clock, quotient, remainder, divisor, negate, remainder_wanted, answer);
        let negative_a = self.signed_operands.val() & self.a.val().get_bit(31);
        let negative_b = self.signed_operands.val() & self.b.val().get_bit(31);
        let zero: Bits<32> = bits::<32>(0);
        let shifted = (self.remainder.q.val(), self.quotient.q.val().get_bit(31)).cat::<33>();
        let difference = shifted - bit_cast::<33, 32>(self.divisor.q.val());
        // What is left is below twice the divisor, so the top bit is the sign; a division by zero never gets that far.
        let fits = !difference.get_bit(32);
        let chosen = if self.remainder_wanted.q.val() { self.remainder.q.val() } else { self.quotient.q.val() };
        self.ready.d.next = false;
        if self.start.val() {
            self.quotient.d.next = if negative_a { zero - self.a.val() } else { self.a.val() };
            self.divisor.d.next = if negative_b { zero - self.b.val() } else { self.b.val() };
            self.remainder.d.next = zero;
            self.remainder_wanted.d.next = self.want_remainder.val();
            // The remainder has the sign of the dividend; the quotient of a division by zero stays all ones.
            self.negate.d.next =
                if self.want_remainder.val() { negative_a } else { (negative_a ^ negative_b) & self.b.val().any() };
            self.left.d.next = bits::<6>(33);
        } else if self.left.q.val() == 1 {
            self.answer.d.next = if self.negate.q.val() { zero - chosen } else { chosen };
            self.ready.d.next = true;
            self.left.d.next = bits::<6>(0);
        } else if self.left.q.val().any() {
            self.quotient.d.next = (self.quotient.q.val().get_bits::<31>(0), fits).cat::<32>();
            self.remainder.d.next = if fits { difference.get_bits::<32>(0) } else { shifted.get_bits::<32>(0) };
            self.left.d.next = self.left.q.val() - 1;
        }
        self.result.next = self.answer.q.val();
        self.done.next = self.ready.q.val();
    }
}
