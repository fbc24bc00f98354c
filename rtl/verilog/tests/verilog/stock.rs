//! Blocks described with rust-hdl's own `#[hdl_gen]`, and widgets of rust-hdl-widgets.

use crate::verilog::common::differential;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Mode {
    Off,
    Slow,
    Fast,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
struct Word {
    body: Bits<7>,
    mark: Bit,
}

#[derive(LogicBlock)]
struct Classic {
    pub clock: Signal<In, Clock>,
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<8>>,
    pub index: Signal<In, Bits<3>>,
    pub distance: Signal<Out, Bit>,
    pub wraps: Signal<Out, Bit>,
    pub inverted: Signal<Out, Bit>,
    pub widened: Signal<Out, Bits<16>>,
    pub carry: Signal<Out, Bits<8>>,
    pub slice: Signal<Out, Bits<4>>,
    pub chosen: Signal<Out, Bit>,
    pub replaced: Signal<Out, Bits<8>>,
    pub signed_less: Signal<Out, Bit>,
    pub product: Signal<Out, Bits<32>>,
    pub count_out: Signal<Out, Bits<8>>,
    pub mark_out: Signal<Out, Bit>,
    pub body_out: Signal<Out, Bits<7>>,
    pub last_tap: Signal<Out, Bits<8>>,
    mode: DFF<Mode>,
    count: DFF<Bits<8>>,
    word: Signal<Local, Word>,
    taps: [DFF<Bits<8>>; 3],
    limit: Constant<Bits<8>>,
}

impl Default for Classic {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            a: Default::default(),
            b: Default::default(),
            index: Default::default(),
            distance: Default::default(),
            wraps: Default::default(),
            inverted: Default::default(),
            widened: Default::default(),
            carry: Default::default(),
            slice: Default::default(),
            chosen: Default::default(),
            replaced: Default::default(),
            signed_less: Default::default(),
            product: Default::default(),
            count_out: Default::default(),
            mark_out: Default::default(),
            body_out: Default::default(),
            last_tap: Default::default(),
            mode: Default::default(),
            count: Default::default(),
            word: Default::default(),
            taps: Default::default(),
            limit: Constant::new(200.into()),
        }
    }
}

impl Logic for Classic {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, mode, count);
        self.distance.next = (self.a.val() - self.b.val()) > 128;
        self.wraps.next = (self.a.val() + self.b.val()) == 0;
        self.inverted.next = !self.a.val() == 0;
        self.widened.next = bit_cast::<16, 8>(!self.a.val());
        self.carry.next = (self.a.val() + 255) >> 1;
        self.slice.next = self.a.val().get_bits::<4>(self.index.val().index());
        self.chosen.next = self.b.val().get_bit(self.index.val().index());
        self.replaced.next = self.a.val().replace_bit(self.index.val().index(), self.b.val().any());
        self.signed_less.next = signed_cast(self.a.val()) < signed_cast(self.b.val());
        self.product.next = bit_cast::<16, 8>(self.a.val()) * bit_cast::<16, 8>(self.b.val());
        match self.mode.q.val() {
            Mode::Off => {
                if self.a.val().get_bit(0) {
                    self.mode.d.next = Mode::Slow;
                }
            }
            Mode::Slow => {
                self.count.d.next = self.count.q.val() + 1;
                self.mode.d.next = Mode::Fast;
            }
            Mode::Fast => {
                self.count.d.next = self.count.q.val() + self.b.val();
                if self.count.q.val() > self.limit.val() {
                    self.mode.d.next = Mode::Off;
                }
            }
            _ => {
                self.mode.d.next = Mode::Off;
            }
        }
        self.word.next.body = self.a.val().get_bits::<7>(1);
        self.word.next.mark = self.index.val() == 5;
        self.mark_out.next = self.word.val().mark;
        self.body_out.next = self.word.val().body;
        for i in 0..3 {
            self.taps[i].clock.next = self.clock.val();
        }
        self.taps[0].d.next = self.a.val();
        for i in 1..3 {
            self.taps[i].d.next = self.taps[(i + 1) - 2].q.val();
        }
        self.last_tap.next = self.taps[2].q.val();
        self.count_out.next = self.count.q.val();
    }
}

differential!(hdl_gen_body, Classic::default(), clocked, in [a b index],
    out [distance wraps inverted widened carry slice chosen replaced signed_less product count_out mark_out body_out last_tap]);
differential!(strobe_widget, Strobe::<8>::new(1_000, 90.0), clocked, in [enable], out [strobe]);
differential!(edge_detector_widget, EdgeDetector::new(true), clocked, in [input_signal], out [edge_signal]);

/// A signal of the one type that the back end does not know.
#[derive(LogicBlock, Default)]
struct WithSign {
    pub a: Signal<In, Signed<8>>,
    pub y: Signal<Out, Signed<8>>,
}

impl Logic for WithSign {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.a.val();
    }
}

#[test]
fn signed_signals_are_refused() {
    let error = spindle_verilog::emit(&mut WithSign::default(), "with_sign").unwrap_err().to_string();
    assert!(error.contains("`a` is Signed") && error.contains("use Bits with signed_lt"), "{error}");
}

/// A part that does not exist.
#[derive(LogicBlock, Default)]
struct Outside {
    pub a: Signal<In, Bits<8>>,
    pub y: Signal<Out, Bits<8>>,
}

impl Logic for Outside {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.a.val().replace_bit(8, true);
    }
}

#[test]
fn bits_outside_are_refused() {
    let error = spindle_verilog::emit(&mut Outside::default(), "outside").unwrap_err().to_string();
    assert!(error.contains("bit 8 lies outside a value of 8 bits"), "{error}");
}
