//! MUL, MULH, MULHSU, MULHU.

use spindle_verilog::prelude::*;

/// Multiplier: one product per cycle, three stages.
///
/// | ports | meaning |
/// |---|---|
/// | in `advance` | X moves to M1 |
/// | in `a`, `b`, `funct3` | the operands, in the execute stage |
/// | in `passes`, `value` | what is in M1 is no product but this value |
/// | out `result` | the product's low or high word, in the cycle after M1 (M2), or the value |
///
/// Execute: four products of half words, each one DSP block with its output register; the high halves have a sign bit each, so that signed
/// products need no correction. M1: the sum in the inner two half words of the product, whose carry is 0 to 2, and without it that of the outermost, by
/// carry-save. M2: the carry, in half a word, because forwarding comes behind. Every other result goes through the register of the low word.
///
/// 165 LUT6 on UltraScale+ and 4 DSP, 10 levels on 7 series (yosys, the block alone).
#[derive(LogicBlock, Default)]
pub struct Multiplier {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// X moves to M1.
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
    /// The low word, or the value.
    word: DFF<Bits<32>>,
    /// The third half word of the product.
    third: DFF<Bits<16>>,
    /// The fourth, without the carry,
    fourth: DFF<Bits<16>>,
    /// which is 0, 1 or 2.
    carry: DFF<Bits<2>>,
    takes_upper: DFF<Bit>,
}

/// The sum of three words as one of two: without their carries, and the carries.
#[hdl_fn]
fn majority(x: Bits<32>, y: Bits<32>, z: Bits<32>) -> Bits<32> {
    (x & y) | (x & z) | (y & z)
}

impl Logic for Multiplier {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, low, high, wants_high, word, third, fourth, carry, takes_upper);
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
        }

        // The inner half words: three summands by carry-save.
        let passes = self.passes.val();
        let low = self.low.q.val();
        let cross_0 = self.middle[0].q.val();
        let cross_1 = self.middle[1].q.val();
        let high = self.high.q.val();
        let x = cross_0.get_bits::<32>(0);
        let y = cross_1.get_bits::<32>(0);
        let z = (high.get_bits::<16>(0), low.get_bits::<16>(16)).cat::<32>();
        let inner = bit_cast::<34, 32>(x ^ y ^ z) + bit_cast::<34, 33>((majority(x, y, z), false).cat::<33>());
        let product = (inner.get_bits::<16>(0), low.get_bits::<16>(0)).cat::<32>();
        self.word.d.next = if passes { self.value.val() } else { product };
        self.takes_upper.d.next = !passes & self.wants_high.q.val();
        if !passes {
            self.third.d.next = inner.get_bits::<16>(16);
            self.carry.d.next = inner.get_bits::<2>(32);
            let u = sext::<32, 2>(cross_0.get_bits::<2>(32));
            let v = sext::<32, 2>(cross_1.get_bits::<2>(32));
            let w = bit_cast::<32, 16>(high.get_bits::<16>(16));
            let outer = (u ^ v ^ w).get_bits::<16>(0) + (majority(u, v, w).get_bits::<15>(0), false).cat::<16>();
            self.fourth.d.next = outer;
        }

        // M2.
        let fourth = self.fourth.q.val() + bit_cast::<16, 2>(self.carry.q.val());
        let upper = (fourth, self.third.q.val()).cat::<32>();
        self.result.next = if self.takes_upper.q.val() { upper } else { self.word.q.val() };
    }
}
