//! Operands without a width of their own, numbers that are known when the design is built, and calls that change nothing.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

/// The left operand takes its width from the right one, whatever form it has.
#[derive(LogicBlock, Default)]
struct LeftWidths {
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<4>>,
    pub p: Signal<In, Bit>,
    pub at: Signal<In, Bits<2>>,
    pub numbers: Signal<Out, Bits<7>>,
    pub calls: Signal<Out, Bits<9>>,
    pub parts: Signal<Out, Bits<3>>,
}

impl Logic for LeftWidths {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        let p = self.p.val();
        let choice = (if p { bits(3) } else { bits(200) }) <= a;
        let arm = (match self.at.val().index() {
            0 => bits(1),
            1 => bits(70),
            _ => bits(190),
        }) < a;
        let block = { trunc(a) } > b;
        let inverse = !bits(5) == b;
        let sum = (trunc(a) + bits(2)) <= b;
        let closed = (trunc(a)) < b;
        let mixed = (bits(1) + a) < a;
        self.numbers.next = (choice, arm, block, inverse, sum, closed, mixed).cat::<7>();
        let wider = bit_cast(b) < a;
        let zeros = zext(b) < a;
        let low = trunc(a) < b;
        let sign = sext(b) < a;
        let copies = repeat(p) < b;
        let product = mul(b, b) < a;
        let signed_product = mul_signed(b, b) < a;
        let first = first_set(a) < b;
        let ones = count_ones(a) < b;
        self.calls.next = (wider, zeros, low, sign, copies, product, signed_product, first, ones).cat::<9>();
        let middle = a.get_bits(2) < b;
        let joined = (self.at.val(), self.at.val()).cat() < b;
        let index = self.at.val().index().to_bits() < a;
        self.parts.next = (middle, joined, index).cat::<3>();
    }
}

differential!(left_widths, LeftWidths::default(), in [a b p at], out [numbers calls parts]);

/// Values that keep a wire, so that the text shows the order in which operands are looked at.
#[hdl_fn]
fn scaled(x: Bits<8>) -> Bits<8> {
    let sum = x + (x >> 3);
    sum ^ (sum << 1)
}

/// Numbers are computed when the design is built.
#[derive(LogicBlock, Default)]
struct Numbers {
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<8>>,
    pub p: Signal<In, Bit>,
    pub computed: Signal<Out, Bits<8>>,
    pub compared: Signal<Out, Bits<8>>,
    pub matched: Signal<Out, Bits<8>>,
    pub beyond: Signal<Out, Bits<8>>,
    pub ordered: Signal<Out, Bits<8>>,
    pub same: Signal<Out, Bits<8>>,
    pub carried: Signal<Out, Bits<8>>,
}

impl Logic for Numbers {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        // A constant has no wire.
        let five = bits::<8>(5);
        let mut computed: Bits<8> = five;
        let mut compared: Bits<8> = bits::<8>(0);
        let mut matched: Bits<8> = b;
        for i in 0..6 {
            computed = computed + ((a >> (i % 4)) ^ bits::<8>(((i * 37 + 5) / 3 - i) & 127 | (1 << i) ^ (96 >> i)));
            if i < 2 {
                compared = compared + 1;
            }
            if i <= 2 {
                compared = compared + (a & 3);
            }
            if i > 3 {
                compared = compared + (a & 5);
            }
            if i >= 3 {
                compared = compared + (b & 9);
            }
            if i == 4 {
                compared = compared ^ b;
            }
            if i != 5 {
                compared = compared + (a & 17);
            }
            match i {
                0 => matched = matched + a,
                1 | 2 => matched = matched ^ (a << 1),
                _ => matched = matched + 3,
            }
        }
        self.computed.next = computed;
        self.compared.next = compared;
        self.matched.next = matched;
        // The number of no value.
        self.beyond.next = a ^ select(bits::<2>(3), [a, b, five]) ^ select(bits::<2>(2), [a, b, five]);
        // The left operand is looked at first: its wires come before those of the right one.
        self.ordered.next = scaled(a) + (scaled(b) & a);
        // These keep the width.
        self.same.next = zext::<8, 8>(a) ^ trunc::<8, 8>(b) ^ sext::<8, 8>(a + b);
        self.carried.next = (a & b) + self.p.val();
    }
}

differential!(numbers, Numbers::default(), in [a b p], out [computed compared matched beyond ordered same carried]);

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
struct Halves {
    low: Bits<4>,
    high: Bits<4>,
}

/// A field is set after another one has been read.
#[derive(LogicBlock, Default)]
struct Fields {
    pub a: Signal<In, Bits<4>>,
    pub y: Signal<Out, Halves>,
    held: Signal<Local, Halves>,
}

impl Logic for Fields {
    #[hdl]
    fn update(&mut self) {
        self.held.next.low = self.a.val();
        self.held.next.high = self.held.val().low + 3;
        self.y.next = self.held.val();
    }
}

#[test]
fn fields_in_their_order() {
    // Verilator takes the signal as a whole and warns of a circle, so that no model is made.
    crate::source(&mut Fields::default(), "corpus_fields_in_their_order");
}
