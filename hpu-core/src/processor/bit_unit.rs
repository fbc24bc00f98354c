//! Counting bits, and minimum and maximum: too slow for the ALU's cycle.

use spindle_verilog::prelude::*;

/// What the bit unit does: registered with the operands.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct BitControl {
    /// CLZ, CTZ, CPOP; else MIN, MAX.
    pub count: Bit,
    /// CPOP.
    pub ones: Bit,
    /// CTZ, not CLZ; MAX, not MIN.
    pub second: Bit,
    /// MINU, MAXU.
    pub unsigned: Bit,
}

/// CLZ, CTZ, CPOP, MIN, MAX, MINU, MAXU.
///
/// | ports | meaning |
/// |---|---|
/// | in `a`, `b`, `control` | operands and what to do, in the execute stage |
/// | in `less`, `less_unsigned` | the ALU's comparison of the same operands; the decoder makes it compare |
/// | out `result` | the result, one cycle later, for one cycle |
///
/// The operands are taken anew in each cycle: while they stand still, so does the result. Zeros are counted as ones: what stands below
/// the lowest one of the operand, which CLZ turns around, becomes a row of ones, and the counter of CPOP counts them.
///
/// 138 LUT6 on UltraScale+, 11 levels on 7 series (yosys, the block alone).
#[derive(LogicBlock, Default)]
pub struct BitUnit {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Operand.
    pub a: Signal<In, Bits<32>>,
    /// Second operand of minimum and maximum.
    pub b: Signal<In, Bits<32>>,
    /// What to do.
    pub control: Signal<In, BitControl>,
    /// a < b, signed.
    pub less: Signal<In, Bit>,
    /// a < b, unsigned.
    pub less_unsigned: Signal<In, Bit>,
    /// The result.
    pub result: Signal<Out, Bits<32>>,
    /// What is counted, or a.
    first: DFF<Bits<32>>,
    second: DFF<Bits<32>>,
    counts: DFF<Bit>,
    takes_second: DFF<Bit>,
}

/// Ones among six bits: three functions of six inputs.
#[hdl_fn]
fn count_6(x: Bits<6>) -> Bits<3> {
    let odd = x.xor();
    let low = count_3(x.get_bits::<3>(0));
    let high = count_3(x.get_bits::<3>(3));
    let carry = low.get_bit(0) & high.get_bit(0);
    let twos = low.get_bit(1) ^ high.get_bit(1) ^ carry;
    let fours = (low.get_bit(1) & high.get_bit(1)) | (carry & (low.get_bit(1) | high.get_bit(1)));
    (fours, twos, odd).cat::<3>()
}

/// Ones among three bits.
#[hdl_fn]
fn count_3(x: Bits<3>) -> Bits<2> {
    let a = x.get_bit(0);
    let b = x.get_bit(1);
    let c = x.get_bit(2);
    ((a & b) | (a & c) | (b & c), a ^ b ^ c).cat::<2>()
}

/// Ones among 32 bits: five groups of six and two more, then the same weight by weight. Written in gates: adders would take carry chains.
#[hdl_fn]
fn count_32(x: Bits<32>) -> Bits<6> {
    let a = count_6(x.get_bits::<6>(0));
    let b = count_6(x.get_bits::<6>(6));
    let c = count_6(x.get_bits::<6>(12));
    let d = count_6(x.get_bits::<6>(18));
    let e = count_6(x.get_bits::<6>(24));
    // Weight 1: five bits and the first of the two that are left; weights 2 and 4: five bits.
    let ones =
        count_6((a.get_bit(0), b.get_bit(0), c.get_bit(0), d.get_bit(0), e.get_bit(0), x.get_bit(30)).cat::<6>());
    let twos = count_6((a.get_bit(1), b.get_bit(1), c.get_bit(1), d.get_bit(1), e.get_bit(1), false).cat::<6>());
    let fours = count_6((a.get_bit(2), b.get_bit(2), c.get_bit(2), d.get_bit(2), e.get_bit(2), false).cat::<6>());
    let last = x.get_bit(31);
    let bit_0 = ones.get_bit(0) ^ last;
    let carry_0 = ones.get_bit(0) & last;
    let at_1 = count_3((ones.get_bit(1), twos.get_bit(0), carry_0).cat::<3>());
    let at_2 = count_6((ones.get_bit(2), twos.get_bit(1), fours.get_bit(0), at_1.get_bit(1), false, false).cat::<6>());
    let at_3 = count_6((twos.get_bit(2), fours.get_bit(1), at_2.get_bit(1), false, false, false).cat::<6>());
    let at_4 = count_3((fours.get_bit(2), at_3.get_bit(1), at_2.get_bit(2)).cat::<3>());
    (at_4.get_bit(1) | at_3.get_bit(2), at_4.get_bit(0), at_3.get_bit(0), at_2.get_bit(0), at_1.get_bit(0), bit_0)
        .cat::<6>()
}

/// The bits in reverse order.
#[hdl_fn]
fn reverse(x: Bits<32>) -> Bits<32> {
    (
        reverse_8(x.get_bits::<8>(0)),
        reverse_8(x.get_bits::<8>(8)),
        reverse_8(x.get_bits::<8>(16)),
        reverse_8(x.get_bits::<8>(24)),
    )
        .cat::<32>()
}

#[hdl_fn]
fn reverse_8(x: Bits<8>) -> Bits<8> {
    (x.get_bit(0), x.get_bit(1), x.get_bit(2), x.get_bit(3), x.get_bit(4), x.get_bit(5), x.get_bit(6), x.get_bit(7))
        .cat::<8>()
}

/// What four bits pass on: 1 up to the lowest one, from the place behind it on 0.
#[hdl_fn]
fn clear_to(x: Bits<4>, before: Bit) -> Bits<4> {
    (before & !x.any(), before & !x.get_bits::<3>(0).any(), before & !x.get_bits::<2>(0).any(), before & !x.get_bit(0))
        .cat::<4>()
}

/// Ones below the lowest one, by groups of four: a subtraction would take a carry chain.
#[hdl_fn]
fn below_lowest(x: Bits<32>) -> Bits<32> {
    (
        clear_to(x.get_bits::<4>(28), !x.get_bits::<28>(0).any()),
        clear_to(x.get_bits::<4>(24), !x.get_bits::<24>(0).any()),
        clear_to(x.get_bits::<4>(20), !x.get_bits::<20>(0).any()),
        clear_to(x.get_bits::<4>(16), !x.get_bits::<16>(0).any()),
        clear_to(x.get_bits::<4>(12), !x.get_bits::<12>(0).any()),
        clear_to(x.get_bits::<4>(8), !x.get_bits::<8>(0).any()),
        clear_to(x.get_bits::<4>(4), !x.get_bits::<4>(0).any()),
        clear_to(x.get_bits::<4>(0), true),
    )
        .cat::<32>()
}

impl Logic for BitUnit {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, first, second, counts, takes_second);
        let control = self.control.val();
        let leading = control.count & !control.ones & !control.second;
        let x = if leading { reverse(self.a.val()) } else { self.a.val() };
        self.first.d.next = if control.count & !control.ones { below_lowest(x) } else { x };
        self.second.d.next = self.b.val();
        self.counts.d.next = control.count;
        let less = if control.unsigned { self.less_unsigned.val() } else { self.less.val() };
        self.takes_second.d.next = less == control.second;

        self.result.next = if self.counts.q.val() {
            bit_cast(count_32(self.first.q.val()))
        } else if self.takes_second.q.val() {
            self.second.q.val()
        } else {
            self.first.q.val()
        };
    }
}
