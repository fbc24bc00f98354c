//! What an atomic memory operation stores.

use spindle_verilog::prelude::*;

/// The arithmetic of the AMOs: combinational. LR and SC are not among them.
///
/// | ports | meaning |
/// |---|---|
/// | in `old` | the word in memory |
/// | in `operand` | the register |
/// | in `funct5` | which operation |
/// | out `result` | the word that is stored |
#[derive(LogicBlock, Default)]
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

impl Logic for AmoAlu {
    #[hdl]
    fn update(&mut self) {
        let old = self.old.val();
        let operand = self.operand.val();
        let funct = self.funct5.val();
        // Minimum and maximum: operand - old - 1 through the one adder, which then needs no carry in.
        let compares = funct.get_bit(4);
        let sum = operand + (old ^ repeat::<32>(compares));
        let differ = old.get_bit(31) ^ operand.get_bit(31);
        let old_is_less_by_sign = if funct.get_bit(3) { operand.get_bit(31) } else { old.get_bit(31) };
        let old_is_less = if differ { old_is_less_by_sign } else { !sum.get_bit(31) };
        let keeps = old_is_less ^ funct.get_bit(2);
        // One function of a bit of old, operand and sum. XOR = 4, OR = 8, AND = 12, SWAP = 1, ADD = 0.
        let choice = if compares {
            (bits::<2>(2), keeps).cat::<3>()
        } else {
            (funct.get_bit(0), funct.get_bits::<2>(2)).cat::<3>()
        };
        self.result.next = match choice.index() {
            1 => old ^ operand,
            2 => old | operand,
            3 => old & operand,
            4 => operand,
            5 => old,
            _ => sum,
        };
    }
}
