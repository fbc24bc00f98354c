//! The arithmetic of the base instruction set: combinational, one result per cycle.

use spindle_verilog::prelude::*;

/// Adds, compares, shifts and bitwise operations. Latency 0.
///
/// | ports | meaning |
/// |---|---|
/// | in `a`, `b` | operands |
/// | in `funct` | funct3 of OP and OP-IMM |
/// | in `alternate` | SUB instead of ADD, SRA instead of SRL |
/// | out `result` | by `funct`, but for additions and subtractions |
/// | out `sum` | a + b, a − b if `alternate` |
/// | out `equal`, `less`, `less_unsigned` | comparisons of a and b, for branches |
#[derive(LogicBlock, Default)]
pub struct Alu {
    /// First operand.
    pub a: Signal<In, Bits<32>>,
    /// Second operand.
    pub b: Signal<In, Bits<32>>,
    /// funct3.
    pub funct: Signal<In, Bits<3>>,
    /// SUB, SRA.
    pub alternate: Signal<In, Bit>,
    /// The result.
    pub result: Signal<Out, Bits<32>>,
    /// The sum.
    pub sum: Signal<Out, Bits<32>>,
    /// a == b.
    pub equal: Signal<Out, Bit>,
    /// a < b, signed.
    pub less: Signal<Out, Bit>,
    /// a < b, unsigned.
    pub less_unsigned: Signal<Out, Bit>,
}

impl Logic for Alu {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        let amount = b.get_bits::<5>(0);
        let below = a < b;
        let signs_differ = a.get_bit(31) ^ b.get_bit(31);
        self.equal.next = a == b;
        self.less_unsigned.next = below;
        self.less.next = if signs_differ { a.get_bit(31) } else { below };
        let left = a << amount;
        // One right shifter for SRL and SRA: 63 bits in, the fill on top.
        let fill = repeat::<31>(self.alternate.val() & a.get_bit(31));
        let right = ((fill, a).cat::<63>() >> amount).get_bits::<32>(0);
        self.sum.next = if self.alternate.val() { a - b } else { a + b };
        self.result.next = match self.funct.val().index() {
            1 => left,
            2 => (bits::<31>(0), self.less.val()).cat::<32>(),
            3 => (bits::<31>(0), below).cat::<32>(),
            4 => a ^ b,
            5 => right,
            6 => a | b,
            _ => a & b,
        };
    }
}
