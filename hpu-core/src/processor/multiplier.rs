//! MUL, MULH, MULHSU, MULHU.

use spindle_verilog::prelude::*;

/// Multiplier: one product per cycle, three stages.
///
/// | ports | meaning |
/// |---|---|
/// | in `advance` | the pipeline moves: all three stages go on |
/// | in `a`, `b`, `funct3` | the operands, in the execute stage |
/// | in `passes`, `value` | what is in M1 is no product but this value |
/// | out `result` | the product's low or high word, two stages later (M2), or the value, one stage later; as long as the pipeline stands |
///
/// Execute: four products of half words, each one DSP block with its output register; the high halves have a sign bit each, so that signed
/// products need no correction. M1: the sum of all partial products but the highest, and the choice of the word. M2: a sum of 32 bits, nothing
/// behind it, because forwarding comes behind. Every other result goes the same way, as a sum with 0, so that M2 needs no choice between them.
///
/// 166 LUT6 on UltraScale+ and 4 DSP, 11 levels on 7 series (yosys, the block alone).
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
    /// M1 holds no multiplication,
    pub passes: Signal<In, Bit>,
    /// but an instruction with this result.
    pub value: Signal<In, Bits<32>>,
    /// The word that is wanted.
    pub result: Signal<Out, Bits<32>>,
    low: DFF<Bits<34>>,
    middle: [DFF<Bits<34>>; 2],
    high: DFF<Bits<34>>,
    wants_high: DFF<Bit>,
    /// The two words whose sum is the result.
    first: DFF<Bits<32>>,
    second: DFF<Bits<32>>,
}

impl Logic for Multiplier {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, low, high, wants_high, first, second);
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

            // The product above its lowest 16 bits but for the highest partial product: three summands, by carry-save.
            let x = self.middle[0].q.val();
            let y = self.middle[1].q.val();
            let z = bit_cast::<34, 16>(self.low.q.val().get_bits::<16>(16));
            let carries = (x & y) | (x & z) | (y & z);
            let sum = (x ^ y ^ z) + (carries.get_bits::<33>(0), false).cat::<34>();
            if self.passes.val() {
                self.first.d.next = self.value.val();
                self.second.d.next = bits::<32>(0);
            } else if self.wants_high.q.val() {
                self.first.d.next = self.high.q.val().get_bits::<32>(0);
                self.second.d.next = sext::<32, 18>(sum.get_bits::<18>(16));
            } else {
                self.first.d.next = bits::<32>(0);
                self.second.d.next = (sum.get_bits::<16>(0), self.low.q.val().get_bits::<16>(0)).cat::<32>();
            }
        }
        self.result.next = self.first.q.val() + self.second.q.val();
    }
}
