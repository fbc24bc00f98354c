//! What an atomic leaves in memory.

use spindle_verilog::prelude::*;

/// The new word of an AMO, from the old word and the operand. LR and SC do not come here.
///
/// | `operation` (funct5) | `result` |
/// |---|---|
/// | 00001 | `operand` (swap) |
/// | 00000 | `old` + `operand` |
/// | 00100, 01100, 01000 | xor, and, or |
/// | 10000, 10100 | the lesser, the greater, signed |
/// | 11000, 11100 | the lesser, the greater, unsigned |
///
/// Combinational. `operation` is expected early: adder and comparator stand side by side, two levels behind them.
#[derive(LogicBlock, Default)]
pub struct AmoAlu {
    /// The word in memory.
    pub old: Signal<In, Bits<32>>,
    /// The operand of the instruction.
    pub operand: Signal<In, Bits<32>>,
    /// funct5.
    pub operation: Signal<In, Bits<5>>,
    /// The new word in memory.
    pub result: Signal<Out, Bits<32>>,
}

impl Logic for AmoAlu {
    #[hdl]
    fn update(&mut self) {
        let old = self.old.val();
        let operand = self.operand.val();
        let operation = self.operation.val();
        let sum = old + operand;
        // Signed numbers are in order once their sign bits are inverted.
        let is_signed = !operation.get_bit(3);
        let a = old ^ (bit_cast::<32, 1>(is_signed.into()) << 31);
        let b = operand ^ (bit_cast::<32, 1>(is_signed.into()) << 31);
        let takes_operand = (b < a) ^ operation.get_bit(2);
        let extreme = if takes_operand { operand } else { old };
        let plain = match operation.get_bits::<3>(0).to_u64() {
            0 => old | operand,
            1 => operand,
            _ => {
                if operation.get_bit(3) {
                    old & operand
                } else {
                    old ^ operand
                }
            }
        };
        self.result.next = if operation.get_bit(4) {
            extreme
        } else if operation == bits::<5>(0) {
            sum
        } else {
            plain
        };
    }
}
