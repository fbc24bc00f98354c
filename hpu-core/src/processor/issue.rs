//! From D to X: decoding, hazards, injections.

use super::alu::{alu_extend, AluControl};
use super::bundles::{DivisionSink, FetchedSink, InjectedOperands, InjectionSink};
use super::decode::{Decoded, Decoder};
use super::predecode::CodeWord;
use super::stages::{Issued, Traits};
use spindle_verilog::prelude::*;

/// Decodes the word in D and moves it to X.
///
/// | neighbour | ports |
/// |---|---|
/// | instruction memory, fetch | in `code`, `fetched` of D; out `hold` |
/// | operands | out `decoded`; in `hazard`; out `injected` |
/// | threads | in `ready`; in `injection` |
/// | launches | in `started`, `first_argument`: a handler's a0 is injected in the cycle after its start, when D is still empty |
/// | execute | in `division`; out `issued`, `valid`, `writes`, `quick` of X |
/// | resolve | in `holds`: X stays; in `flush`: D and X are dropped |
/// | | in `first_valid`: M1 holds an instruction, or the last one of M1 is being counted |
///
/// An injection takes the place of an instruction in X for one cycle: an ALU operation that extends an answer, or
/// negates a quotient.
#[block]
pub struct Issue {
    /// Word in D.
    pub code: Signal<In, CodeWord>,
    /// The instruction in D.
    pub fetched: FetchedSink,
    /// The word stays in D.
    pub hold: Signal<Out, Bit>,
    /// Its meaning.
    pub decoded: Signal<Out, Decoded>,
    /// An operand is not available.
    pub hazard: Signal<In, Bit>,
    /// The thread may issue.
    pub ready: Signal<In, Bit>,
    /// A result that is injected.
    pub injection: InjectionSink,
    /// A handler was started in the last cycle.
    pub started: Signal<In, Bit>,
    /// Its a0.
    pub first_argument: Signal<In, Bits<32>>,
    /// Result of the divider.
    pub division: DivisionSink,
    /// Operands of the injection.
    pub injected: InjectedOperands,
    /// X stays.
    pub holds: Signal<In, Bit>,
    /// D and X are dropped.
    pub flush: Signal<In, Bit>,
    /// M1 holds an instruction, or the last one of M1 is being counted.
    pub first_valid: Signal<In, Bit>,
    /// Instruction in X.
    pub issued: Signal<Out, Issued>,
    /// X holds an instruction.
    pub valid: Signal<Out, Bit>,
    /// It writes a register.
    pub writes: Signal<Out, Bit>,
    /// Its result is available in X.
    pub quick: Signal<Out, Bit>,
    decoder: Decoder,
    slot: DFF<Issued>,
    occupied: Reg<Bit>,
    slot_writes: Reg<Bit>,
}

#[hdl]
impl Issue {
    fn update(&mut self) {
        self.decoder.code.next = self.code.val();
        let decoded = self.decoder.decoded.val();
        self.decoded.next = decoded;

        let injects = self.started.val() | self.injection.valid.val();
        let empty = !self.occupied.q.val() & !self.first_valid.val();
        let waits = self.hazard.val() | !self.ready.val() | (decoded.counts & !empty);
        let goes = self.fetched.valid.val() & !waits & !injects;
        self.hold.next = self.holds.val() | (self.fetched.valid.val() & !goes);
        self.injection.taken.next = self.injection.valid.val() & !self.holds.val() & !self.flush.val();

        let choice = self.injection.choice.val();
        let of_divider = choice.get_bit(1);
        self.injected.valid.next = injects;
        // A negative result is made of its magnitude x as !(x + 0xFFFF_FFFF), by the ALU.
        let negative = of_divider & self.division.negate.val();
        self.injected.a.next = select(
            choice,
            [
                self.injection.answer.val(),
                self.first_argument.val(),
                self.division.quotient.val(),
                self.division.remainder.val(),
            ],
        );
        self.injected.b.next = negative;
        let size =
            (self.injection.funct3.val().get_bit(1) | self.started.val(), self.injection.funct3.val().get_bit(0))
                .cat::<2>();
        let extension = alu_extend(size, self.injection.funct3.val().get_bit(2));
        let rd = if injects { self.injection.rd.val() } else { decoded.rd };

        let control = if of_divider {
            AluControl { pick: (bits::<1>(0), negative).cat::<2>(), ..Default::default() }
        } else {
            extension
        };
        if self.flush.val() {
            self.occupied.d.next = false;
            self.slot_writes.d.next = false;
        } else if !self.holds.val() {
            self.occupied.d.next = goes | injects;
            self.slot_writes.d.next = self.started.val() | ((goes | injects) & rd.any());
        }
        let own = decoded.traits;
        let outside = self.fetched.outside.val();
        let traits = if injects {
            Traits { ..Default::default() }
        } else {
            Traits { illegal: own.illegal | outside, plain: own.plain & !outside, ..own }
        };
        // X keeps what it has while D is empty and nothing can be injected; all that is asked is in registers.
        let loads = (self.fetched.valid.val() | self.started.val() | self.injection.expected.val()) & !self.holds.val();
        if loads {
            self.slot.d.next = Issued {
                rd: if self.started.val() { bits::<5>(10) } else { rd },
                funct3: decoded.funct3,
                funct5: decoded.funct5,
                pc: self.fetched.pc.val(),
                block: self.fetched.block.val(),
                outside: if injects { false } else { outside },
                predicted: if injects { false } else { self.fetched.predicted.val() },
                predicted_target: self.fetched.predicted_target.val(),
                sure: self.fetched.sure.val(),
                micro: injects,
                offset: decoded.offset,
                next_offset: decoded.next_offset,
                no_offset: decoded.no_offset,
                target: self.fetched.pc.val() + decoded.distance,
                alu: if injects { control } else { decoded.alu },
                unit: decoded.unit,
                traits,
            };
        }
        self.issued.next = self.slot.q.val();
        self.valid.next = self.occupied.q.val();
        self.writes.next = self.slot_writes.q.val();
        self.quick.next = !self.slot.q.val().traits.late;
    }
}
