//! Registers: reset to a value, without reset, in arrays, as state machines, read back through their next value.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Phase {
    Wait,
    Count,
    Pause,
    Report,
    Clear,
}

#[block(no_default)]
struct Machine {
    pub go: Signal<In, Bit>,
    pub x: Signal<In, Bits<8>>,
    pub which: Signal<In, Bits<2>>,
    pub phase_out: Signal<Out, Phase>,
    pub count_out: Signal<Out, Bits<7>>,
    pub bank_out: Signal<Out, Bits<32>>,
    pub delayed: Signal<Out, Bits<8>>,
    pub coming: Signal<Out, Bits<7>>,
    pub synced: Signal<Out, Bit>,
    pub wide_out: Signal<Out, Bits<100>>,
    phase: Reg<Phase>,
    count: Reg<Bits<7>>,
    bank: [Reg<Bits<8>>; 4],
    line: Vec<DFF<Bits<8>>>,
    meta: [Reg<Bit>; 2],
    wide: Reg<Bits<100>>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            phase: Reg::new(Phase::Pause),
            count: Reg::new(100.into()),
            bank: std::array::from_fn(|i| Reg::new((i as u64 * 17).into())),
            line: (0..3).map(|_| DFF::default()).collect(),
            meta: std::array::from_fn(|_| Reg::default().attr("ASYNC_REG", "TRUE")),
            wide: Reg::new(Bits::<100>::mask() >> 1u64),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Machine {
    fn update(&mut self) {
        match self.phase.q.val() {
            Phase::Wait => {
                if self.go.val() {
                    self.phase.d.next = Phase::Count;
                    self.count.d.next = self.x.val().get_bits::<7>(1);
                }
            }
            Phase::Count => {
                self.count.d.next = self.count.q.val() - 5;
                if self.count.q.val() < 9 {
                    self.phase.d.next = Phase::Report;
                }
            }
            Phase::Report | Phase::Pause => self.phase.d.next = Phase::Clear,
            _ => {
                self.count.d.next = 0.into();
                self.phase.d.next = Phase::Wait;
            }
        }
        for i in 0..4 {
            if self.which.val() == i as u64 {
                self.bank[i].d.next = self.x.val() + self.bank[i].q.val();
            }
        }
        self.line[0].d.next = self.x.val();
        for i in 1..3 {
            self.line[i].d.next = self.line[i - 1].q.val();
        }
        self.meta[0].d.next = self.go.val();
        self.meta[1].d.next = self.meta[0].q.val();
        if self.go.val() {
            self.wide.d.next = (self.wide.q.val() << 8) | bit_cast::<100, 8>(self.x.val());
        }
        // The next value, as it will be unless reset comes.
        self.coming.next = self.count.d.val();
        self.phase_out.next = self.phase.q.val();
        self.count_out.next = self.count.q.val();
        self.bank_out.next =
            (self.bank[3].q.val(), self.bank[2].q.val(), self.bank[1].q.val(), self.bank[0].q.val()).cat::<32>();
        self.delayed.next = self.line[2].q.val();
        self.synced.next = self.meta[1].q.val();
        self.wide_out.next = self.wide.q.val();
    }
}

differential!(machines, Machine::default(), reset, in [go x which],
    out [phase_out count_out bank_out delayed coming synced wide_out]);

#[test]
fn attributes_reach_the_text() {
    let text = spindle_verilog::emit(&mut Machine::default(), "machine").unwrap().to_string();
    assert_eq!(text.matches("(* ASYNC_REG = \"TRUE\" *)").count(), 2, "{text}");
}
