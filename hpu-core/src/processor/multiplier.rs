//! MUL, MULH, MULHSU, MULHU.

use spindle_verilog::prelude::*;

/// Multiplier: one product per cycle, three stages.
///
/// | ports | meaning |
/// |---|---|
/// | in `advance` | X moves to M1 |
/// | in `a`, `b`, `funct3` | the operands, in the execute stage |
/// | out `low`, `high` | the product's words, in the cycle after M1 (M2) |
/// | out `wants_high` | the result is the high word: known in M1 |
///
/// Execute: four products of half words, each one DSP block with its output register; the high halves have a sign bit
/// each, so that signed products need no correction. M1: the sum in the inner two half words of the product, whose
/// carry is 0 to 2, and without it that of the outermost, by carry-save. M2: the carry, in half a word, because
/// forwarding comes after it.
#[block(no_reset)]
pub struct Multiplier {
    /// X moves to M1.
    pub advance: Signal<In, Bit>,
    /// First factor.
    pub a: Signal<In, Bits<32>>,
    /// Second factor.
    pub b: Signal<In, Bits<32>>,
    /// Which product.
    pub funct3: Signal<In, Bits<3>>,
    /// Low word of the product in M2.
    pub low: Signal<Out, Bits<32>>,
    /// High word.
    pub high: Signal<Out, Bits<32>>,
    /// The result in M1 is the high word.
    pub wants_high: Signal<Out, Bit>,
    lower: DFF<Bits<34>>,
    middle: [DFF<Bits<34>>; 2],
    upper: DFF<Bits<34>>,
    wants: DFF<Bit>,
    /// The low word of the product.
    word: DFF<Bits<32>>,
    /// The third half word of the product.
    third: DFF<Bits<16>>,
    /// The fourth, without the carry,
    fourth: DFF<Bits<16>>,
    /// which is 0, 1 or 2.
    carry: DFF<Bits<2>>,
}

/// The sum of three words as one of two: without their carries, and the carries.
#[hdl_fn]
fn majority(x: Bits<32>, y: Bits<32>, z: Bits<32>) -> Bits<32> {
    (x & y) | (x & z) | (y & z)
}

#[hdl]
impl Multiplier {
    fn update(&mut self) {
        let f3 = self.funct3.val().get_bits::<2>(0);
        // MULH: both signed; MULHSU: the first. The low word of MUL is the same either way.
        let sign_a = (f3 != 3) & self.a.val().get_bit(31);
        let sign_b = (f3 == 1) & self.b.val().get_bit(31);
        let a_low = (bits::<1>(0), self.a.val().get_bits::<16>(0)).cat::<17>();
        let b_low = (bits::<1>(0), self.b.val().get_bits::<16>(0)).cat::<17>();
        let a_high = (sign_a, self.a.val().get_bits::<16>(16)).cat::<17>();
        let b_high = (sign_b, self.b.val().get_bits::<16>(16)).cat::<17>();
        if self.advance.val() {
            self.lower.d.next = mul_signed::<34, 17, 17>(a_low, b_low);
            self.middle[0].d.next = mul_signed::<34, 17, 17>(a_low, b_high);
            self.middle[1].d.next = mul_signed::<34, 17, 17>(a_high, b_low);
            self.upper.d.next = mul_signed::<34, 17, 17>(a_high, b_high);
            self.wants.d.next = f3.any();
        }

        // The inner half words: three summands by carry-save.
        let x = self.middle[0].q.val().get_bits::<32>(0);
        let y = self.middle[1].q.val().get_bits::<32>(0);
        let z = (self.upper.q.val().get_bits::<16>(0), self.lower.q.val().get_bits::<16>(16)).cat::<32>();
        let inner = bit_cast::<34, 32>(x ^ y ^ z) + bit_cast::<34, 33>((majority(x, y, z), false).cat::<33>());
        self.word.d.next = (inner.get_bits::<16>(0), self.lower.q.val().get_bits::<16>(0)).cat::<32>();
        self.third.d.next = inner.get_bits::<16>(16);
        self.carry.d.next = inner.get_bits::<2>(32);
        // The rest of the cross products is -4 to 2; their sum in gates, as it goes into another one.
        let u = self.middle[0].q.val().get_bits::<2>(32);
        let v = self.middle[1].q.val().get_bits::<2>(32);
        let carry = u.get_bit(0) & v.get_bit(0);
        let apart = u.get_bit(1) ^ v.get_bit(1);
        let minus = if apart { !carry } else { u.get_bit(1) };
        let rest = (minus, apart ^ carry, u.get_bit(0) ^ v.get_bit(0)).cat::<3>();
        self.fourth.d.next = self.upper.q.val().get_bits::<16>(16) + sext::<16, 3>(rest);
        self.wants_high.next = self.wants.q.val();

        // M2.
        let fourth = self.fourth.q.val() + bit_cast::<16, 2>(self.carry.q.val());
        self.low.next = self.word.q.val();
        self.high.next = (fourth, self.third.q.val()).cat::<32>();
    }
}
