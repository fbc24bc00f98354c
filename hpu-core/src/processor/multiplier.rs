//! MUL, MULH, MULHSU, MULHU.

use spindle_verilog::prelude::*;

/// Multiplier: one product per cycle, three stages.
///
/// | ports | meaning |
/// |---|---|
/// | in `advance` | the pipeline moves: all three stages go on |
/// | in `a`, `b`, `funct3` | the operands, in the execute stage |
/// | out `result` | the product's low or high word, two stages later (M2), as long as the pipeline stands |
///
/// Execute: four products of half words, each one DSP block with its output register; the high halves have a sign bit each, so that signed
/// products need no correction. M1: the sum of the two middle products. M2: the final sum and the choice of the word.
#[derive(LogicBlock, Default)]
pub struct Multiplier {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// The pipeline moves.
    pub advance: Signal<In, Bit>,
    /// First factor.
    pub a: Signal<In, Bits<32>>,
    /// Second factor.
    pub b: Signal<In, Bits<32>>,
    /// Which product.
    pub funct3: Signal<In, Bits<3>>,
    /// The word that is wanted.
    pub result: Signal<Out, Bits<32>>,
    low: DFF<Bits<34>>,
    middle: [DFF<Bits<34>>; 2],
    high: DFF<Bits<34>>,
    wants_high: DFF<Bit>,
    sum: DFF<Bits<34>>,
    outer: DFF<Bits<64>>,
    takes_high: DFF<Bit>,
}

impl Logic for Multiplier {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, low, high, wants_high, sum, outer, takes_high);
        for i in 0..2 {
            dffs!(self, clock, middle[i]);
        }
        let f3 = self.funct3.val().get_bits::<2>(0);
        // MULH: both signed; MULHSU: the first. The low word of MUL is the same either way.
        let sign_a = (f3 != 3) & self.a.val().get_bit(31);
        let sign_b = (f3 == 1) & self.b.val().get_bit(31);
        let a_low = (bits::<1>(0), self.a.val().get_bits::<16>(0)).cat::<17>();
        let b_low = (bits::<1>(0), self.b.val().get_bits::<16>(0)).cat::<17>();
        let a_high = (sign_a, self.a.val().get_bits::<16>(16)).cat::<17>();
        let b_high = (sign_b, self.b.val().get_bits::<16>(16)).cat::<17>();
        if self.advance.val() {
            self.low.d.next = mul_signed::<34, 17, 17>(a_low, b_low);
            self.middle[0].d.next = mul_signed::<34, 17, 17>(a_low, b_high);
            self.middle[1].d.next = mul_signed::<34, 17, 17>(a_high, b_low);
            self.high.d.next = mul_signed::<34, 17, 17>(a_high, b_high);
            self.wants_high.d.next = f3.any();

            self.sum.d.next = self.middle[0].q.val() + self.middle[1].q.val();
            self.outer.d.next = (self.high.q.val().get_bits::<32>(0), self.low.q.val().get_bits::<32>(0)).cat::<64>();
            self.takes_high.d.next = self.wants_high.q.val();
        }
        // The low 16 bits of the product are those of the lowest partial product.
        let upper = self.outer.q.val().get_bits::<48>(16) + sext::<48, 34>(self.sum.q.val());
        self.result.next = if self.takes_high.q.val() {
            upper.get_bits::<32>(16)
        } else {
            (upper.get_bits::<16>(0), self.outer.q.val().get_bits::<16>(0)).cat::<32>()
        };
    }
}
