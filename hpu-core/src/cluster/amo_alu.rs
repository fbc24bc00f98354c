//! What an atomic memory operation stores.

use spindle_verilog::prelude::*;

/// The first half: operand + old, or for minimum and maximum operand - old.
#[hdl_fn]
pub fn amo_sum(old: Bits<32>, operand: Bits<32>, funct5: Bits<5>) -> Bits<32> {
    let subtracts = funct5.get_bit(4);
    add_with_carry::<33, 32>(operand, old ^ repeat::<32>(subtracts), subtracts).get_bits::<32>(0)
}

/// The choice by which [`amo_result`] is the operand.
pub const STORES_OPERAND: u64 = 4;
/// The choice by which its result is 0.
pub const STORES_NOTHING: u64 = 7;

/// The function of old, operand and sum that is stored.
#[hdl_fn]
pub fn amo_choice(old: Bits<32>, operand: Bits<32>, funct5: Bits<5>, sum: Bits<32>) -> Bits<3> {
    let compares = funct5.get_bit(4);
    let differ = old.get_bit(31) ^ operand.get_bit(31);
    let old_is_less_by_sign = if funct5.get_bit(3) { operand.get_bit(31) } else { old.get_bit(31) };
    let old_is_less = if differ { old_is_less_by_sign } else { !sum.get_bit(31) };
    let keeps = old_is_less ^ funct5.get_bit(2);
    // XOR = 4, OR = 8, AND = 12, SWAP = 1, ADD = 0; SC = 3 stores the operand, too.
    if compares {
        (bits::<2>(2), keeps).cat::<3>()
    } else {
        (funct5.get_bit(0), funct5.get_bits::<2>(2)).cat::<3>()
    }
}

/// The second half: the word that is stored.
#[hdl_fn]
pub fn amo_result(old: Bits<32>, operand: Bits<32>, sum: Bits<32>, choice: Bits<3>) -> Bits<32> {
    match choice.to_u64() {
        1 => old ^ operand,
        2 => old | operand,
        3 => old & operand,
        STORES_OPERAND => operand,
        5 => old,
        STORES_NOTHING => bits::<32>(0),
        _ => sum,
    }
}

/// The arithmetic of the AMOs, and of an SC that stores, in one step, combinational. A user that has a cycle between
/// the halves takes [`amo_sum`], [`amo_choice`] and [`amo_result`] with registers in between.
///
/// | ports | meaning |
/// |---|---|
/// | in `old` | the word in memory |
/// | in `operand` | the register |
/// | in `funct5` | which operation |
/// | out `result` | the word that is stored |
#[block(combinational)]
pub struct AmoAlu {
    /// The word in memory.
    pub old: Signal<In, Bits<32>>,
    /// The register.
    pub operand: Signal<In, Bits<32>>,
    /// Bits 31:27 of the instruction.
    pub funct5: Signal<In, Bits<5>>,
    /// The word that is stored.
    pub result: Signal<Out, Bits<32>>,
}

#[hdl]
impl AmoAlu {
    fn update(&mut self) {
        let sum = amo_sum(self.old.val(), self.operand.val(), self.funct5.val());
        let choice = amo_choice(self.old.val(), self.operand.val(), self.funct5.val(), sum);
        self.result.next = amo_result(self.old.val(), self.operand.val(), sum, choice);
    }
}
