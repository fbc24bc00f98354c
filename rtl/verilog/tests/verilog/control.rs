//! `if`, `match`, `for`, `let mut`, parameters and helper functions.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    Idle,
    Load,
    Run,
    Drain,
    Stop,
}

mod codes {
    use spindle_verilog::prelude::Bits;
    pub const FIRST: u64 = 3;
    pub const TABLE: [u64; 4] = [7, 11, 13, 200];
    pub fn mask() -> Bits<8> {
        0xA5.into()
    }
}
const SECOND: usize = 0x11;

#[hdl_fn]
fn saturating_add(a: Bits<8>, b: Bits<8>) -> Bits<8> {
    let sum = bit_cast::<9, 8>(a) + bit_cast::<9, 8>(b);
    if sum.get_bit(8) {
        bits::<8>(255)
    } else {
        sum.get_bits::<8>(0)
    }
}

#[hdl_fn]
fn between(low: Bits<8>, x: Bits<8>, high: Bits<8>) -> Bit {
    let above = x >= low;
    above & (x <= saturating_add(high, bits::<8>(1)))
}

#[derive(LogicBlock, Default)]
struct Control {
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<8>>,
    pub step: Signal<In, Step>,
    pub p: Signal<In, Bit>,
    pub chain: Signal<Out, Bits<8>>,
    pub nested: Signal<Out, Bits<8>>,
    pub state_match: Signal<Out, Bits<8>>,
    pub next_step: Signal<Out, Step>,
    pub number_match: Signal<Out, Bits<8>>,
    pub bit_match: Signal<Out, Bits<8>>,
    pub value_match: Signal<Out, Bits<8>>,
    pub if_value: Signal<Out, Bits<8>>,
    pub folded: Signal<Out, Bits<8>>,
    pub leading: Signal<Out, Bits<4>>,
    pub swapped: Signal<Out, Bits<8>>,
    pub constants: Signal<Out, Bits<8>>,
    pub called: Signal<Out, Bits<9>>,
    pub fields: Signal<Out, Bits<8>>,
    pub spread: Signal<Local, Bits<8>>,
}

impl Logic for Control {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        // The last assignment on a path wins.
        self.chain.next = a;
        if a < b {
            self.chain.next = b - a;
        } else if self.p.val() {
            self.chain.next = 1.into();
        } else if a.get_bit(7) {
            self.chain.next = a ^ b;
        }
        if self.step.val() == Step::Stop {
            self.chain.next = 0.into();
        }
        self.nested.next = 0.into();
        if self.p.val() {
            match self.step.val() {
                Step::Idle => {}
                Step::Run => {
                    if a == b {
                        self.nested.next = 0x55.into();
                    } else {
                        self.nested.next = a + 1;
                    }
                }
                _ => self.nested.next = b,
            }
        }
        match self.step.val() {
            Step::Idle | Step::Stop => {
                self.state_match.next = a;
                self.next_step.next = Step::Load;
            }
            Step::Load => {
                self.state_match.next = b;
                self.next_step.next = if self.p.val() { Step::Run } else { Step::Idle };
            }
            Step::Run => {
                self.state_match.next = a & b;
                self.next_step.next = Step::Drain;
            }
            Step::Drain => {
                self.state_match.next = a | b;
                self.next_step.next = Step::Stop;
            }
        }
        match a.get_bits::<6>(0).index() {
            0 | 1 => self.number_match.next = b,
            0b10 => self.number_match.next = !b,
            SECOND => self.number_match.next = b + 1,
            0x20 | 0x21 | 0x3F => self.number_match.next = b << 1,
            _ => self.number_match.next = b >> 1,
        }
        match self.p.val() {
            true => self.bit_match.next = a + b,
            false => self.bit_match.next = a - b,
        }
        let operand = match b.get_bits::<2>(0).to_u64() {
            0 => a,
            codes::FIRST => {
                let twice = a << 1;
                twice + 1
            }
            _ => b,
        };
        self.value_match.next = operand
            ^ match self.step.val() {
                Step::Idle | Step::Load => bits::<8>(1),
                Step::Run => a,
                _ => bits::<8>(0x80),
            };
        let least = if a < 16 { a } else { bits::<8>(16) };
        self.if_value.next = least
            + if self.p.val() {
                b
            } else if a > b {
                a
            } else {
                3.into()
            };
        // A variable that is read between its assignments.
        let mut sum: Bits<8> = bits::<8>(0);
        for i in 0..4 {
            for j in 0..2 {
                if a.get_bit(i * 2 + j) {
                    sum = sum + bit_cast::<8, 3>(b.get_bits::<3>(i)) + bits::<8>(j as u64);
                }
            }
        }
        self.folded.next = sum;
        // A variable that is only read at the end.
        let mut leading: Bits<4> = bits::<4>(8);
        for i in (0..8).rev() {
            if a.get_bit(7 - i) {
                leading = bits::<4>(i as u64);
            }
        }
        self.leading.next = leading;
        let mut low: Bits<4> = a.get_bits::<4>(0);
        let mut high: Bits<4> = a.get_bits::<4>(4);
        if self.p.val() {
            let kept = low;
            low = high;
            high = kept;
        }
        self.swapped.next = (high, low).cat::<8>();
        let mut built: Bits<8> = bits::<8>(0);
        for i in 0..codes::TABLE.len() {
            if b.get_bits::<2>(3) == i as u64 {
                built = bits::<8>(codes::TABLE[i]);
            }
        }
        self.constants.next = (built ^ codes::mask()) + SECOND.to_bits::<8>();
        self.called.next = (between(b, a, saturating_add(b, a)), saturating_add(a, b ^ codes::mask())).cat::<9>();
        // A local is read after its last assignment.
        self.spread.next = a;
        if self.p.val() {
            self.spread.next = !a;
        }
        self.fields.next = self.spread.val() + b;
    }
}

differential!(control, Control::default(), in [a b step p],
    out [chain nested state_match next_step number_match bit_match value_match if_value folded leading swapped constants called fields]);

/// What a parameter leaves out is never emitted, and never looked at.
#[derive(LogicBlock)]
struct Optional {
    pub a: Signal<In, Bits<8>>,
    pub y: Signal<Out, Bits<8>>,
    pub taps: Vec<crate::verilog::hierarchy::Inverter<8>>,
    _has_tap: bool,
    _shift: usize,
}

impl Optional {
    fn new(has_tap: bool, shift: usize) -> Self {
        let taps = if has_tap { vec![Default::default()] } else { vec![] };
        Self { a: Default::default(), y: Default::default(), taps, _has_tap: has_tap, _shift: shift }
    }
}

impl Logic for Optional {
    #[hdl]
    fn update(&mut self) {
        if self._has_tap {
            self.taps[0].x.next = self.a.val();
            self.y.next = self.taps[0].y.val() << (self._shift as u64);
        } else {
            self.y.next = self.a.val() >> (self._shift as u64);
        }
    }
}

differential!(with_optional_hardware, Optional::new(true, 3), in [a], out [y]);
differential!(without_optional_hardware, Optional::new(false, 2), in [a], out [y]);

#[test]
fn a_parameter_that_is_off_leaves_no_text() {
    let with = spindle_verilog::emit(&mut Optional::new(true, 1), "present").unwrap();
    let without = spindle_verilog::emit(&mut Optional::new(false, 1), "absent").unwrap();
    assert_eq!((with.modules.len(), without.modules.len()), (2, 1));
    assert!(!without.to_string().contains("taps"), "{without}");
}
