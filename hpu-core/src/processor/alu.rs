//! The one-cycle arithmetic: RV32I, Zba, Zbb and Zbs without the operations of [`BitUnit`](super::bit_unit::BitUnit).

use super::byte_lanes::rotate_bytes;
use spindle_verilog::prelude::*;

/// `pick`: a + b, also a shifted by `shift_add`.
pub const PICK_SUM: u64 = 0;
/// `pick`: a - b; needs `invert`.
pub const PICK_DIFFERENCE: u64 = 1;
/// `pick`: the rotator where the mask is set, elsewhere the bitwise operation.
pub const PICK_MASKED: u64 = 2;
/// `pick`: the bitwise operation alone.
pub const PICK_BITWISE: u64 = 3;

/// `logic`: where the mask is set a, elsewhere the filling.
pub const LOGIC_FILL: u64 = 0;
/// `logic`: a with the masked bits set, or with `second` cleared.
pub const LOGIC_SET: u64 = 1;
/// `logic`: a ^ mask, or with `second` a ^ b ^ mask.
pub const LOGIC_FLIP: u64 = 2;
/// `logic`: a & (b ^ mask), or with `second` a | (b ^ mask).
pub const LOGIC_BOTH: u64 = 3;

/// Control of the ALU, registered with the operands. The default is a + b.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct AluControl {
    /// Places by which a is shifted left before the addition.
    pub shift_add: Bits<2>,
    /// The adder computes b - a - 1: for subtractions and all comparisons.
    pub invert: Bit,
    /// The adder computes b.
    pub alone: Bit,
    /// The result, one of `PICK_*`.
    pub pick: Bits<2>,
    /// Bit 0 of the result is set if a < b; needs `invert`.
    pub less: Bit,
    /// The bitwise operation, one of `LOGIC_*`.
    pub logic: Bits<2>,
    /// The second operation of the two; of `LOGIC_FILL` the filling.
    pub second: Bit,
    /// The mask: all bits;
    pub whole: Bit,
    /// the bits that a shift does not bring around;
    pub shift: Bit,
    /// the one bit that b names, turned to the left;
    pub one_hot: Bit,
    /// bit 0;
    pub single: Bit,
    /// the low half, or with `narrow` the low byte.
    pub extend: Bit,
    /// See `extend`.
    pub narrow: Bit,
    /// The filling is the sign of what is extended,
    pub signed: Bit,
    /// that of a,
    pub arithmetic: Bit,
    /// or in each byte whether a has a bit there.
    pub bytes: Bit,
}

/// The control that extends operand a from 1, 2 or 4 bytes; operand b is 0.
#[hdl_fn]
pub fn alu_extend(size_less_one: Bits<2>, unsigned: Bit) -> AluControl {
    let word = size_less_one.get_bit(1);
    AluControl {
        pick: if word { bits::<2>(PICK_SUM) } else { bits::<2>(PICK_BITWISE) },
        extend: true,
        narrow: !size_less_one.any(),
        signed: !unsigned,
        ..Default::default()
    }
}

/// Arithmetic and logic unit: combinational.
///
/// | ports | meaning |
/// |---|---|
/// | in `a`, `b`, `amount` | operands, from registers |
/// | in `control`, `funct3` | control, from registers: bit 2 of `funct3` rotates right, bit 0 compares without sign |
/// | out `result` | the result |
/// | out `sum` | the adder alone: a + b for the default control |
/// | out `equal` | a == b, for any control |
/// | out `less`, `less_unsigned` | a < b, if the control has `invert` and no `shift_add` |
///
/// One adder and one rotator serve nearly all operations. A subtraction is !(!a + b), so that the adder needs no carry
/// in, and its result is inverted. The rotator turns right; a shift is a rotation with the bits that came around masked
/// off. One mask serves all: shifts, single bits, extensions, and operations with the complement of b.
#[block(combinational)]
pub struct Alu {
    /// First operand.
    pub a: Signal<In, Bits<32>>,
    /// Second operand.
    pub b: Signal<In, Bits<32>>,
    /// Rotation, as of [`turn_of`].
    pub amount: Signal<In, Bits<7>>,
    /// Control.
    pub control: Signal<In, AluControl>,
    /// Bits 14:12 of the instruction.
    pub funct3: Signal<In, Bits<3>>,
    /// The result.
    pub result: Signal<Out, Bits<32>>,
    /// The adder.
    pub sum: Signal<Out, Bits<32>>,
    /// a == b.
    pub equal: Signal<Out, Bit>,
    /// a < b, signed.
    pub less: Signal<Out, Bit>,
    /// a < b, unsigned.
    pub less_unsigned: Signal<Out, Bit>,
}

/// `amount` for a distance `b[4:0]`, to the `left` or not. Bits 3:0 are pairs of places; bit 4 is bit 3 for the odd
/// bytes: bytes in reverse order (`reverse`, with a distance of 24) are a rotation by three bytes in the even places
/// and by one in the odd ones. Bit 5 is one place more, bit 6 two.
#[hdl_fn]
pub fn turn_of(distance: Bits<5>, left: Bit, reverse: Bit) -> Bits<7> {
    let by = distance.get_bits::<4>(1) ^ repeat::<4>(left);
    (left & !distance.get_bit(0), distance.get_bit(0), by.get_bit(3) & !reverse, by).cat::<7>()
}

/// Rotates right by 0, 2, 4 or 6 places.
#[hdl_fn]
fn rotate_pairs(x: Bits<32>, by: Bits<2>) -> Bits<32> {
    let by_two = (x.get_bits::<2>(0), x.get_bits::<30>(2)).cat::<32>();
    let by_four = (x.get_bits::<4>(0), x.get_bits::<28>(4)).cat::<32>();
    let by_six = (x.get_bits::<6>(0), x.get_bits::<26>(6)).cat::<32>();
    select(by, [x, by_two, by_four, by_six])
}

/// Each bit four times.
#[hdl_fn]
fn by_fours(x: Bits<8>) -> Bits<32> {
    (
        repeat::<4>(x.get_bit(7)),
        repeat::<4>(x.get_bit(6)),
        repeat::<4>(x.get_bit(5)),
        repeat::<4>(x.get_bit(4)),
        repeat::<4>(x.get_bit(3)),
        repeat::<4>(x.get_bit(2)),
        repeat::<4>(x.get_bit(1)),
        repeat::<4>(x.get_bit(0)),
    )
        .cat::<32>()
}

/// Four bits eight times.
#[hdl_fn]
fn eight_times(x: Bits<4>) -> Bits<32> {
    (x, x, x, x, x, x, x, x).cat::<32>()
}

#[hdl]
impl Alu {
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        let control = self.control.val();
        let left = !self.funct3.val().get_bit(2);
        let without_sign = self.funct3.val().get_bit(0);

        // The adder.
        let scaled = select(control.shift_add, [a, a << 1, a << 2, a << 3]);
        let sum = b + ((scaled ^ repeat::<32>(control.invert)) & repeat::<32>(!control.alone));
        self.sum.next = sum;

        // Comparisons, from the sign of a - b: the operands' signs decide where they differ.
        let differ = a.get_bit(31) ^ b.get_bit(31);
        let below = !sum.get_bit(31);
        self.equal.next = eq(a, b);
        self.less.next = if differ { a.get_bit(31) } else { below };
        self.less_unsigned.next = if differ { b.get_bit(31) } else { below };

        // The rotator. To the left by n is to the right by the complement of n, and once more.
        let by = self.amount.val();
        let even = rotate_bytes(a, by.get_bits::<2>(2));
        let odd = rotate_bytes(a, (by.get_bit(4), by.get_bit(2)).cat::<2>());
        let bytes =
            (odd.get_bits::<8>(24), even.get_bits::<8>(16), odd.get_bits::<8>(8), even.get_bits::<8>(0)).cat::<32>();
        let pairs = rotate_pairs(bytes, by.get_bits::<2>(0));
        let by_one = (pairs.get_bits::<1>(0), pairs.get_bits::<31>(1)).cat::<32>();
        let by_two = (pairs.get_bits::<2>(0), pairs.get_bits::<30>(2)).cat::<32>();
        let fine = by.get_bits::<2>(5);
        let turned = (pairs & repeat::<32>(!fine.any()))
            | (by_one & repeat::<32>(fine.get_bit(0)))
            | (by_two & repeat::<32>(fine.get_bit(1)));

        // The mask: the bits that a shift fills, and the one bit that b names. In groups of four: those after the last
        // one, the group in which the mask ends, and in that group the bits before its end. So a bit has three signals,
        // not the six of the distance.
        let groups = by.get_bits::<3>(1) ^ repeat::<3>(left);
        let ones: Bits<8> = bits::<8>(0xFF);
        // Beyond the group in which the mask ends.
        let beyond = if left { (ones << 1) << groups } else { (ones >> 1) >> groups };
        let ends_in = if left { bits::<8>(1) << groups } else { bits::<8>(0x80) >> groups };
        let kept =
            (bits::<4>(0), repeat::<2>(control.extend & !control.narrow), repeat::<2>(control.extend)).cat::<8>();
        let whole = by_fours((beyond & repeat::<8>(control.shift)) | kept | repeat::<8>(control.whole));
        let partly = by_fours(ends_in & repeat::<8>(control.shift | control.one_hot));
        let places = (by.get_bit(0) ^ left, b.get_bit(0)).cat::<2>();
        let inner = if left {
            (true, places != 3, !places.get_bit(1), !places.any()).cat::<4>()
        } else {
            (!places.any(), !places.get_bit(1), places != 3, true).cat::<4>()
        };
        let named = if control.one_hot { bits::<4>(1) << places } else { inner };
        let mask = whole | (partly & eight_times(named)) | (bits::<31>(0), control.single).cat::<32>();

        // The filling: of an extended operand only the bytes count that the mask leaves.
        let sign = control.signed & (if control.narrow { a.get_bit(7) } else { a.get_bit(15) });
        let fills = control.second | sign | (control.arithmetic & a.get_bit(31));
        let second = byte_mask(
            (
                fills | (control.bytes & a.get_bits::<8>(24).any()),
                fills | (control.bytes & a.get_bits::<8>(16).any()),
                fills | (control.bytes & a.get_bits::<8>(8).any()),
                fills | (control.bytes & a.get_bits::<8>(0).any()),
            )
                .cat::<4>(),
        );

        // Bitwise operations, of six signals.
        let bitwise = match control.logic.to_u64() {
            LOGIC_FILL => (a & mask) | (second & !mask),
            LOGIC_SET => (a & !mask) | (mask & !second),
            LOGIC_FLIP => a ^ mask ^ (b & second),
            _ => (a & (b ^ mask)) | (second & (a | (b ^ mask))),
        };

        // The rotator comes late, the adder last.
        let blend = (turned & mask) | (bitwise & !mask);
        let picked = select(control.pick, [sum, !sum, blend, bitwise]);
        // All inputs of a comparison but the sum are early.
        let by_sign = differ & (if without_sign { b.get_bit(31) } else { a.get_bit(31) });
        let is_less = control.less & (by_sign | (!differ & below));
        self.result.next = (picked.get_bits::<31>(1), picked.get_bit(0) | is_less).cat::<32>();
    }
}
