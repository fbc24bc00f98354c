//! Stages X and M1 of all arithmetic.

use super::alu::Alu;
use super::bit_unit::BitUnit;
use super::bundles::{DividerStatus, Division};
use super::divider::Divider;
use super::multiplier::Multiplier;
use super::stages::{Executed, Issued};
use spindle_contract::memory_map::RETURN_ADDRESS;
use spindle_verilog::prelude::*;

/// misa: RV32IMA with B.
const MISA: u64 = 0x4000_1103;

/// ALU, branch condition, bit unit, multiplier, divider, counters.
///
/// | neighbour | ports |
/// |---|---|
/// | issue, operands | in `issued`, `valid`, `a`, `b`, `amount` of X |
/// | memory stage | in `sum`: a + offset |
/// | operands | in `counter_number`, out `counter` of D; out `alu_value` of X; out `first_value` of M1 |
/// | write back | out `multiplies`, `wants_high` of M1; out `product`, low and high word, of M2 |
/// | resolve | out `executed`, registers of M1; out `divides`: the divider works on the instruction in M1 |
/// | | in `claims`: it was not dropped |
/// | threads, issue | out `division`, `divider_status`; in `taken`, `cancel` |
/// | top | in `advance`: X moves to M1; in `number`, `cycle`, `thread`, `retires` |
///
/// The ALU's result can be used in X, that of the bit unit in M1, a product in M2. A counter is read in D, as an
/// operand. A division starts in X if the divider is free, also if M1 does not take it yet. Instructions are counted in
/// 48 bits.
#[block(no_default)]
pub struct Execute {
    /// Number of the HPU in its cluster.
    pub number: Signal<In, Bits<3>>,
    /// Cycles since reset.
    pub cycle: Signal<In, Bits<64>>,
    /// The current thread.
    pub thread: Signal<In, Bit>,
    /// Instruction in X.
    pub issued: Signal<In, Issued>,
    /// X holds an instruction.
    pub valid: Signal<In, Bit>,
    /// Its first operand.
    pub a: Signal<In, Bits<32>>,
    /// Its second operand.
    pub b: Signal<In, Bits<32>>,
    /// Rotation of the ALU's rotator.
    pub amount: Signal<In, Bits<7>>,
    /// a + offset.
    pub sum: Signal<In, Bits<32>>,
    /// X moves to M1.
    pub advance: Signal<In, Bit>,
    /// An instruction retires.
    pub retires: Signal<In, Bit>,
    /// Number of the counter that the instruction in D reads.
    pub counter_number: Signal<In, Bits<12>>,
    /// The counter.
    pub counter: Signal<Out, Bits<32>>,
    /// The ALU's result.
    pub alu_value: Signal<Out, Bits<32>>,
    /// Instruction in M1.
    pub executed: Signal<Out, Executed>,
    /// Its result.
    pub first_value: Signal<Out, Bits<32>>,
    /// It is a multiplication,
    pub multiplies: Signal<Out, Bit>,
    /// of which the high word is wanted.
    pub wants_high: Signal<Out, Bit>,
    /// Low and high word of the product in M2.
    pub product: [Signal<Out, Bits<32>>; 2],
    /// The divider works on the instruction in M1.
    pub divides: Signal<Out, Bit>,
    /// The division in M1 continues.
    pub claims: Signal<In, Bit>,
    /// The division is cancelled.
    pub cancel: Signal<In, Bit>,
    /// The divider's result was taken.
    pub taken: Signal<In, Bit>,
    /// State of the divider.
    pub divider_status: DividerStatus,
    /// Result of the divider.
    pub division: Division,
    alu: Alu,
    bit_unit: BitUnit,
    multiplier: Multiplier,
    divider: Divider,
    divider_owner: DFF<Bit>,
    /// The divider works on the instruction in X, which could not move.
    division_begun: Reg<Bit>,
    /// The divider works on the instruction in M1.
    fresh: Reg<Bit>,
    executed_reg: DFF<Executed>,
    result: DFF<Bits<32>>,
    /// The result of M1 is that of the bit unit.
    takes_bits: DFF<Bit>,
    takes_product: DFF<Bit>,
    /// Instructions: the low half, and its carry on the way to the high one.
    retired: Reg<Bits<32>>,
    retired_carry: Reg<Bit>,
    retired_high: Reg<Bits<16>>,
    _return_address: usize,
}

impl Default for Execute {
    fn default() -> Self {
        Self::new(RETURN_ADDRESS)
    }
}

impl Execute {
    /// A jump without offset to `return_address` ends the handler.
    pub fn new(return_address: u32) -> Self {
        assert!(return_address >> 28 != 1, "Execute: a return address in the code region would hide an instruction");
        assert!(return_address & 1 == 0, "Execute: no jump can reach the odd return address {return_address:#x}");
        Self { _return_address: (return_address >> 1) as usize, ..Self::blank() }
    }
}

#[hdl]
impl Execute {
    fn update(&mut self) {
        let issued = self.issued.val();
        let a = self.a.val();
        let b = self.b.val();
        let funct3 = issued.funct3;

        self.alu.a.next = a;
        self.alu.b.next = b;
        self.alu.amount.next = self.amount.val();
        self.alu.control.next = issued.alu;
        self.alu.funct3.next = funct3;
        self.alu_value.next = self.alu.result.val();
        let jumps = issued.traits.jumps;
        // The sign of the difference comes last; it decides where the operands' signs agree.
        let branches = issued.traits.branches;
        let differ = a.get_bit(31) ^ b.get_bit(31);
        let by_sign = if funct3.get_bit(1) { b.get_bit(31) } else { a.get_bit(31) };
        let compares = funct3.get_bit(2);
        let early = if compares { by_sign } else { self.alu.equal.val() };
        let decided = jumps | (branches & (early ^ funct3.get_bit(0)));
        let by_sum = branches & compares & !differ;
        let taken = if by_sum { !self.alu.sum.val().get_bit(31) ^ funct3.get_bit(0) } else { decided };
        let after = issued.pc + 2;
        // The prediction is compared before the sum is known: returns of functions have no offset.
        let to_register = issued.traits.to_register;
        let predicted = (bits::<2>(0), issued.predicted_target, bits::<1>(0)).cat::<17>();
        let target_missed = if to_register {
            (predicted != a.get_bits::<17>(1)) | !issued.no_offset
        } else {
            predicted != issued.target
        };
        let to_exit = a.get_bits::<31>(1) == bits::<31>(self._return_address);

        self.count();

        // An empty X leaves M1 as it is.
        let moves = self.advance.val() & self.valid.val();
        if moves {
            self.result.d.next = self.alu.result.val();
            self.takes_bits.d.next = issued.traits.bits_unit;
            self.takes_product.d.next = issued.traits.multiplies;
            self.executed_reg.d.next = Executed {
                rd: issued.rd,
                funct3,
                funct5: issued.funct5,
                pc: issued.pc,
                block: issued.block,
                after,
                outside: issued.outside,
                predicted: issued.predicted,
                sure: issued.sure,
                micro: issued.micro,
                taken,
                target: issued.target,
                target_missed,
                exits: to_register & issued.no_offset & to_exit & !issued.traits.illegal,
                sum: self.sum.val(),
                b,
                traits: issued.traits,
            };
        }
        self.executed.next = self.executed_reg.q.val();

        self.bit_unit.a.next = a;
        self.bit_unit.b.next = b;
        self.bit_unit.enable.next = self.valid.val();
        self.bit_unit.less.next = self.alu.less.val();
        self.bit_unit.less_unsigned.next = self.alu.less_unsigned.val();
        self.bit_unit.control.next = issued.unit;
        self.bit_unit.funct3.next = funct3;
        let first_value = if self.takes_bits.q.val() { self.bit_unit.result.val() } else { self.result.q.val() };
        self.first_value.next = first_value;

        self.multiplier.advance.next = moves;
        self.multiplier.a.next = a;
        self.multiplier.b.next = b;
        self.multiplier.funct3.next = funct3;
        self.multiplies.next = self.takes_product.q.val();
        self.wants_high.next = self.multiplier.wants_high.val();
        self.product[0].next = self.multiplier.low.val();
        self.product[1].next = self.multiplier.high.val();

        self.divide(funct3);
    }

    /// The divider. The division of an instruction that is dropped before it claims the division is cancelled.
    fn divide(&mut self, funct3: Bits<3>) {
        let starts = self.valid.val() & self.issued.val().traits.divides & !self.divider.busy.val();
        let division_begun = starts | (self.division_begun.q.val() & self.valid.val());
        self.division_begun.d.next = division_begun & !self.advance.val();
        self.fresh.d.next = division_begun & self.advance.val();
        self.divider_owner.load(starts, self.thread.val());
        self.divider.start.next = starts;
        self.divider.loads.next = self.issued.val().traits.divides;
        self.divider.cancel.next = self.cancel.val()
            | (self.fresh.q.val() & !self.claims.val())
            | (self.division_begun.q.val() & !self.valid.val());
        self.divider.a.next = self.a.val();
        self.divider.b.next = self.b.val();
        self.divider.funct3.next = funct3;
        self.divider.taken.next = self.taken.val();
        self.divides.next = self.fresh.q.val();
        self.divider_status.done.next = self.divider.done.val();
        self.divider_status.thread.next = self.divider_owner.q.val();
        self.divider_status.busy.next = self.divider.busy.val();
        self.divider.result.join(&mut self.division);
        self.divider_status.takes_remainder.next = self.divider.takes_remainder.val();
    }

    /// The counters: an instruction that reads one waits in D until all older ones have been counted.
    fn count(&mut self) {
        let number = self.counter_number.val();
        let retired = (bits::<16>(0), self.retired_high.q.val(), self.retired.q.val()).cat::<64>();
        let cycle = self.cycle.val();
        let counter = select(
            (number.get_bit(7), number.get_bit(1)).cat::<2>(),
            [cycle.get_bits::<32>(0), retired.get_bits::<32>(0), cycle.get_bits::<32>(32), retired.get_bits::<32>(32)],
        );
        let constant = if number.get_bit(11) {
            (bits::<28>(0), self.number.val(), self.thread.val()).cat::<32>()
        } else {
            bits::<32>(MISA)
        };
        self.counter.next = if number.get_bit(8) { constant } else { counter };
        let counted = bit_cast::<33, 32>(self.retired.q.val()) + 1;
        self.retired.load(self.retires.val(), counted.get_bits::<32>(0));
        self.retired_carry.d.next = self.retires.val() & counted.get_bit(32);
        self.retired_high.load(self.retired_carry.q.val(), self.retired_high.q.val() + 1);
    }
}
