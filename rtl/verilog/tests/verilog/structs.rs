//! Structures: nested, padded to odd widths, 577 bits, in registers, as_bits and taken apart.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Colour {
    Red,
    Green,
    Blue,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
struct Inner {
    number: Bits<5>,
    flag: Bit,
    colour: Colour,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
struct Outer {
    head: Bits<3>,
    inner: Inner,
    payload: Bits<564>,
    last: Bit,
    spare: Bit,
}

#[block]
struct Fields {
    pub x: Signal<In, Outer>,
    pub y: Signal<In, Outer>,
    pub bits: Signal<In, Bits<8>>,
    pub select: Signal<In, Bit>,
    pub copied: Signal<Out, Outer>,
    pub changed: Signal<Out, Outer>,
    pub built: Signal<Out, Outer>,
    pub chosen: Signal<Out, Inner>,
    pub as_bits: Signal<Out, Bits<577>>,
    pub from_bits: Signal<Out, Inner>,
    pub read: Signal<Out, Bits<20>>,
    pub held: Signal<Out, Outer>,
    pub held_plain: Signal<Out, Inner>,
    pub partial: Signal<Out, Inner>,
    held_reg: Reg<Outer>,
    held_dff: DFF<Inner>,
    partial_reg: Reg<Inner>,
}

#[hdl]
impl Fields {
    fn update(&mut self) {
        self.copied.next = self.x.val();
        self.changed.next = self.x.val();
        self.changed.next.head = self.y.val().head + 1;
        self.changed.next.inner.flag = !self.y.val().inner.flag;
        if self.select.val() {
            self.changed.next.inner = self.y.val().inner;
            self.changed.next.inner.number = self.x.val().inner.number - self.y.val().inner.number;
            self.changed.next.payload = bit_cast::<564, 5>(self.y.val().inner.number);
        }
        let inner = Inner { number: self.x.val().inner.number ^ 9, colour: Colour::Blue, ..Default::default() };
        self.built.next = Outer { inner: inner, last: true, payload: self.x.val().payload, ..self.y.val() };
        self.chosen.next = if self.select.val() { self.x.val().inner } else { inner };
        self.as_bits.next = pack(self.x.val()) + pack(self.y.val());
        // Only codes of the enumeration: rust-hdl has no value for the fourth.
        let safe = self.bits.val().replace_bit(7, false);
        self.from_bits.next = unpack::<Inner, 8>(safe);
        let same = self.x.val().inner.number == self.y.val().inner.number;
        let alike = self.x.val().inner.colour == self.y.val().inner.colour;
        self.read.next = (
            pack::<Inner, 8>(self.x.val().inner),
            self.y.val().inner.number,
            self.y.val().last,
            same,
            alike,
            self.x.val().payload.get_bits::<4>(560),
        )
            .cat::<20>();
        if self.select.val() {
            self.held_reg.d.next = self.x.val();
            self.held_dff.d.next = self.x.val().inner;
            self.partial_reg.d.next.number = self.bits.val().get_bits::<5>(0);
        } else if self.x.val().last {
            self.held_reg.d.next.head = self.y.val().head;
            self.partial_reg.d.next.colour = Colour::Green;
            self.partial_reg.d.next.flag = self.bits.val().any();
        }
        self.held.next = self.held_reg.q.val();
        self.held_plain.next = self.held_dff.q.val();
        self.partial.next = self.partial_reg.q.val();
    }
}

differential!(structures, Fields::default(), reset, in [x y bits select],
    out [copied changed built chosen as_bits from_bits read held held_plain partial]);
