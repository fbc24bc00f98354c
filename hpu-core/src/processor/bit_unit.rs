//! Counting bits, and minimum and maximum: too slow for the ALU's cycle.

use spindle_verilog::prelude::*;

/// Control of the bit unit, registered with the operands.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BitControl {
    /// CPOP.
    pub ones: Bit,
    /// CTZ, not CLZ; MAX, not MIN.
    pub second: Bit,
}

/// CLZ, CTZ, CPOP, MIN, MAX, MINU, MAXU.
///
/// | ports | meaning |
/// |---|---|
/// | in `a`, `b`, `control`, `funct3`, `enable` | operands and control, in the execute stage |
/// | in `less`, `less_unsigned` | the ALU's comparison of the same operands; the decoder makes it compare |
/// | out `result` | the result, one cycle later, for one cycle |
///
/// The operands are taken in each cycle with `enable`: while they stay, so does the result. CLZ, CTZ and CPOP are one
/// tree of sums: of four bits either the ones are counted or the zeros before the first one, and of two counts the
/// second one is added if ones are counted or if the first one is of zeros alone. The last sum is made from registers;
/// unused inputs there are 0.
#[block(no_reset)]
pub struct BitUnit {
    /// Take the operands.
    pub enable: Signal<In, Bit>,
    /// Operand.
    pub a: Signal<In, Bits<32>>,
    /// Second operand of minimum and maximum.
    pub b: Signal<In, Bits<32>>,
    /// Control.
    pub control: Signal<In, BitControl>,
    /// Bits 14:12 of the instruction: bit 2 is set in MIN and MAX, bit 0 in the unsigned ones.
    pub funct3: Signal<In, Bits<3>>,
    /// a < b, signed.
    pub less: Signal<In, Bit>,
    /// a < b, unsigned.
    pub less_unsigned: Signal<In, Bit>,
    /// The result.
    pub result: Signal<Out, Bits<32>>,
    /// Operands of minimum and maximum.
    first: DFF<Bits<32>>,
    second: DFF<Bits<32>>,
    takes_second: DFF<Bit>,
    /// Counts of the upper half, bit 1, and the lower one.
    halves: DFF<Counts>,
    /// Zeros are counted from below.
    trailing: DFF<Bit>,
    /// Ones are counted.
    ones: DFF<Bit>,
}

/// Counts, digit by digit: bit i of each vector belongs to count i. They stand in such an order that neighbours, which
/// are added, are half of the vectors apart; bits above the counts of a vector do not count.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Counts {
    ones: Bits<8>,
    twos: Bits<8>,
    fours: Bits<8>,
    eights: Bits<8>,
    sixteens: Bits<8>,
}

/// Every fourth bit, from the lowest on, in the order of [`Counts`].
#[hdl_fn]
fn fourths(x: Bits<32>) -> Bits<8> {
    (
        x.get_bit(28),
        x.get_bit(12),
        x.get_bit(20),
        x.get_bit(4),
        x.get_bit(24),
        x.get_bit(8),
        x.get_bit(16),
        x.get_bit(0),
    )
        .cat::<8>()
}

/// The counts from number `from` on.
#[hdl_fn]
fn upper(x: Counts, from: Bits<3>) -> Counts {
    Counts {
        ones: x.ones >> from,
        twos: x.twos >> from,
        fours: x.fours >> from,
        eights: x.eights >> from,
        sixteens: x.sixteens >> from,
    }
}

/// Of eight groups of four bits: the ones, or the zeros before the first one.
#[hdl_fn]
fn count_fours(x: Bits<32>, ones: Bit, trailing: Bit) -> Counts {
    let bit_0 = fourths(x);
    let bit_1 = fourths(x >> 1);
    let bit_2 = fourths(x >> 2);
    let bit_3 = fourths(x >> 3);
    let first = if trailing { bit_0 } else { bit_3 };
    let second = if trailing { bit_1 } else { bit_2 };
    let third = if trailing { bit_2 } else { bit_1 };
    let any = bit_0 | bit_1 | bit_2 | bit_3;
    let all = bit_0 & bit_1 & bit_2 & bit_3;
    let several = (bit_0 & bit_1) | (bit_2 & bit_3) | ((bit_0 | bit_1) & (bit_2 | bit_3));
    Counts {
        ones: if ones { bit_0 ^ bit_1 ^ bit_2 ^ bit_3 } else { any & !first & (second | !third) },
        twos: if ones { several & !all } else { any & !first & !second },
        fours: if ones { all } else { !any },
        ..Default::default()
    }
}

/// x + y, where `adds`: eight small sums side by side, bit by bit.
#[hdl_fn]
fn add_counts(x: Counts, y: Counts, adds: Bits<8>) -> Counts {
    let ones = y.ones & adds;
    let twos = y.twos & adds;
    let fours = y.fours & adds;
    let eights = y.eights & adds;
    let carry_2 = x.ones & ones;
    let carry_4 = (x.twos & twos) | ((x.twos | twos) & carry_2);
    let carry_8 = (x.fours & fours) | ((x.fours | fours) & carry_4);
    let carry_16 = (x.eights & eights) | ((x.eights | eights) & carry_8);
    Counts {
        ones: x.ones ^ ones,
        twos: x.twos ^ twos ^ carry_2,
        fours: x.fours ^ fours ^ carry_4,
        eights: x.eights ^ eights ^ carry_8,
        sixteens: x.sixteens ^ (y.sixteens & adds) ^ carry_16,
    }
}

#[hdl]
impl BitUnit {
    fn update(&mut self) {
        let control = self.control.val();
        if self.enable.val() {
            self.trailing.d.next = control.second;
            self.ones.d.next = control.ones;
            if !self.funct3.val().get_bit(2) {
                // The first count is of zeros alone if it is the highest possible.
                let adds = repeat::<8>(control.ones);
                let fours = count_fours(self.a.val(), control.ones, control.second);
                let others = upper(fours, bits::<3>(4));
                let first = if control.second { fours } else { others };
                let second = if control.second { others } else { fours };
                let bytes = add_counts(first, second, adds | first.fours);
                let others = upper(bytes, bits::<3>(2));
                let first = if control.second { bytes } else { others };
                let second = if control.second { others } else { bytes };
                self.halves.d.next = add_counts(first, second, adds | first.eights);
                self.first.d.next = bits::<32>(0);
                self.takes_second.d.next = false;
            } else {
                let less = if self.funct3.val().get_bit(0) { self.less_unsigned.val() } else { self.less.val() };
                self.halves.d.next = Counts { ..Default::default() };
                self.first.d.next = self.a.val();
                self.second.d.next = self.b.val();
                self.takes_second.d.next = less == control.second;
            }
        }

        let halves = self.halves.q.val();
        let others = upper(halves, bits::<3>(1));
        let first = if self.trailing.q.val() { halves } else { others };
        let second = if self.trailing.q.val() { others } else { halves };
        let adds = repeat::<8>(self.ones.q.val()) | first.sixteens;
        let sum = add_counts(first, second, adds);
        let count = (
            first.sixteens.get_bit(0) & second.sixteens.get_bit(0),
            sum.sixteens.get_bit(0),
            sum.eights.get_bit(0),
            sum.fours.get_bit(0),
            sum.twos.get_bit(0),
            sum.ones.get_bit(0),
        )
            .cat::<6>();
        let chosen = if self.takes_second.q.val() { self.second.q.val() } else { self.first.q.val() };
        self.result.next = chosen | bit_cast(count);
    }
}
