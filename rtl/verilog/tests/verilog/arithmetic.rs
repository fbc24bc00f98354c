//! Operators at odd and wide widths, and the expressions that rust-hdl's own emission gets wrong.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

/// Every row of the list of known mismatches of stock emission.
#[derive(LogicBlock, Default)]
struct Mismatches {
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<8>>,
    pub p: Signal<In, Bit>,
    pub q: Signal<In, Bit>,
    pub distance: Signal<Out, Bit>,
    pub wraps: Signal<Out, Bit>,
    pub inverted: Signal<Out, Bit>,
    pub widened: Signal<Out, Bits<16>>,
    pub carry: Signal<Out, Bits<8>>,
    pub precedence: Signal<Out, Bits<4>>,
    pub nested: Signal<Out, Bits<8>>,
    pub borrow: Signal<Out, Bits<12>>,
}

impl Logic for Mismatches {
    #[hdl]
    fn update(&mut self) {
        self.distance.next = (self.a.val() - self.b.val()) > 128;
        self.wraps.next = (self.a.val() + self.b.val()) == 0;
        self.inverted.next = !self.a.val() == 0;
        self.widened.next = bit_cast::<16, 8>(!self.a.val());
        self.carry.next = (self.a.val() + 255) >> 1;
        let equal = self.p.val() & (self.a.val() == self.b.val());
        let without = self.p.val() | self.q.val() & !self.p.val();
        let mixed = self.p.val() ^ self.q.val() | self.p.val();
        let chained = self.p.val() && self.a.val() < self.b.val() || self.q.val();
        self.precedence.next = (equal, without, mixed, chained).cat::<4>();
        self.nested.next = self.a.val() - (self.b.val() - (self.a.val() >> 2)) - 7;
        self.borrow.next = bit_cast::<12, 8>(self.a.val() - self.b.val()) - bit_cast::<12, 8>(self.b.val());
    }
}

differential!(known_mismatches, Mismatches::default(),
    in [a b p q], out [distance wraps inverted widened carry precedence nested borrow]);

/// All operators at one width.
#[derive(LogicBlock, Default)]
struct Operators<const N: usize> {
    pub a: Signal<In, Bits<N>>,
    pub b: Signal<In, Bits<N>>,
    pub sum: Signal<Out, Bits<N>>,
    pub difference: Signal<Out, Bits<N>>,
    pub both: Signal<Out, Bits<N>>,
    pub either: Signal<Out, Bits<N>>,
    pub differ: Signal<Out, Bits<N>>,
    pub inverse: Signal<Out, Bits<N>>,
    pub numbers: Signal<Out, Bits<N>>,
    pub tests: Signal<Out, Bits<12>>,
}

impl<const N: usize> Logic for Operators<N> {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        self.sum.next = a + b;
        self.difference.next = a - b;
        self.both.next = a & b;
        self.either.next = a | b;
        self.differ.next = a ^ b;
        self.inverse.next = !(a & !b);
        self.numbers.next = (a + 3) ^ (b - 1) | (a & 5);
        let order = (a == b, a != b, a < b, a <= b, a > b, a >= b).cat::<6>();
        let numbers = (a == 3, a >= 2, b < 7).cat::<3>();
        self.tests.next = (order, numbers, a.any(), a.all(), a.xor()).cat::<12>();
    }
}

differential!(operators_at_5_bits, Operators::<5>::default(), in [a b], out [sum difference both either differ inverse numbers tests]);
differential!(operators_at_32_bits, Operators::<32>::default(), in [a b], out [sum difference both either differ inverse numbers tests]);
differential!(operators_at_33_bits, Operators::<33>::default(), in [a b], out [sum difference both either differ inverse numbers tests]);
differential!(operators_at_130_bits, Operators::<130>::default(), in [a b], out [sum difference both either differ inverse numbers tests]);

/// Shifts by signals that count further than the value is wide.
#[derive(LogicBlock, Default)]
struct Shifts {
    pub a: Signal<In, Bits<13>>,
    pub wide: Signal<In, Bits<70>>,
    pub few: Signal<In, Bits<2>>,
    pub exact: Signal<In, Bits<4>>,
    pub long_way: Signal<In, Bits<9>>,
    pub left: Signal<Out, Bits<39>>,
    pub right: Signal<Out, Bits<39>>,
    pub arithmetic: Signal<Out, Bits<39>>,
    pub wide_left: Signal<Out, Bits<70>>,
    pub wide_right: Signal<Out, Bits<70>>,
    pub wide_arithmetic: Signal<Out, Bits<70>>,
    pub constant: Signal<Out, Bits<39>>,
    pub sum: Signal<Out, Bits<13>>,
}

impl Logic for Shifts {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        self.left.next = (a << self.few.val(), a << self.exact.val(), a << self.long_way.val()).cat::<39>();
        self.right.next = (a >> self.few.val(), a >> self.exact.val(), a >> self.long_way.val()).cat::<39>();
        self.arithmetic.next =
            (sra(a, self.few.val()), sra(a, self.exact.val()), sra(a, self.long_way.val())).cat::<39>();
        self.wide_left.next = self.wide.val() << self.long_way.val();
        self.wide_right.next = self.wide.val() >> self.long_way.val();
        self.wide_arithmetic.next = sra(self.wide.val(), self.long_way.val());
        self.constant.next = (a << 3, a >> 12, sra(a, bits::<3>(5))).cat::<39>();
        // The sum wraps before it is shifted.
        self.sum.next = (a + 8191) >> self.few.val();
    }
}

differential!(shifts, Shifts::default(), in [a wide few exact long_way],
    out [left right arithmetic wide_left wide_right wide_arithmetic constant sum]);

/// Signs, products, casts.
#[derive(LogicBlock, Default)]
struct Casts {
    pub a: Signal<In, Bits<9>>,
    pub b: Signal<In, Bits<9>>,
    pub wide: Signal<In, Bits<40>>,
    pub p: Signal<In, Bit>,
    pub signed_less: Signal<Out, Bits<3>>,
    pub sign_extended: Signal<Out, Bits<50>>,
    pub sign_of_sum: Signal<Out, Bits<20>>,
    pub cut: Signal<Out, Bits<4>>,
    pub zeros: Signal<Out, Bits<40>>,
    pub product: Signal<Out, Bits<18>>,
    pub low_product: Signal<Out, Bits<7>>,
    pub wide_product: Signal<Out, Bits<49>>,
    pub signed_product: Signal<Out, Bits<21>>,
    pub copies: Signal<Out, Bits<17>>,
    pub joined: Signal<Out, Bits<59>>,
}

impl Logic for Casts {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        self.signed_less.next = (signed_lt(a, b), signed_lt(a + b, b), signed_lt(a, bits::<9>(256))).cat::<3>();
        self.sign_extended.next = sext::<50, 9>(a);
        self.sign_of_sum.next = sext::<20, 9>(a + b);
        self.cut.next = trunc::<4, 9>(a - b);
        self.zeros.next = zext::<40, 9>(!a) + bit_cast(b);
        self.product.next = mul::<18, 9, 9>(a, b);
        self.low_product.next = mul::<7, 9, 9>(a + 1, b);
        self.wide_product.next = mul::<49, 40, 9>(self.wide.val(), a);
        self.signed_product.next = mul_signed::<21, 9, 9>(a + 1, b);
        self.copies.next = repeat::<17>(self.p.val() & (a == b));
        self.joined.next = (self.p.val(), a, self.wide.val(), b + 1).cat::<59>();
    }
}

differential!(casts, Casts::default(), in [a b wide p],
    out [signed_less sign_extended sign_of_sum cut zeros product low_product wide_product signed_product copies joined]);
