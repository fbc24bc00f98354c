//! Functions whose form the back end chooses: every one over a sweep of widths.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

/// A structure among which is chosen.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Pair {
    high: Bits<5>,
    low: Bits<9>,
    flag: Bit,
}

/// Choices by a number: complete and incomplete lists, one to three digits of the number, structures, constants, a computed
/// number.
#[derive(LogicBlock, Default)]
struct Choices {
    pub one: Signal<In, Bits<1>>,
    pub two: Signal<In, Bits<2>>,
    pub three: Signal<In, Bits<3>>,
    pub five: Signal<In, Bits<5>>,
    pub a: Signal<In, Bits<7>>,
    pub b: Signal<In, Bits<7>>,
    pub c: Signal<In, Bits<7>>,
    pub p: Signal<In, Pair>,
    pub q: Signal<In, Pair>,
    pub flag: Signal<In, Bit>,
    pub of_two: Signal<Out, Bits<7>>,
    pub of_three: Signal<Out, Bits<7>>,
    pub of_four: Signal<Out, Bits<7>>,
    pub of_five: Signal<Out, Bits<7>>,
    pub of_eight: Signal<Out, Bits<7>>,
    pub of_eighteen: Signal<Out, Bits<7>>,
    pub alone: Signal<Out, Bits<7>>,
    pub fixed: Signal<Out, Bits<7>>,
    pub computed: Signal<Out, Bits<7>>,
    pub bits: Signal<Out, Bit>,
    pub pair: Signal<Out, Pair>,
    pub field: Signal<Out, Bits<9>>,
}

impl Logic for Choices {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        let c = self.c.val();
        self.of_two.next = select(self.one.val(), [a, b]);
        self.of_three.next = select(self.two.val(), [a + b, b, c]);
        self.of_four.next = select(self.two.val(), [a, bits(3), c & b, bits::<7>(127)]);
        self.of_five.next = select(self.three.val(), [a, b, c, a ^ b, a ^ c]);
        self.of_eight.next = select(self.three.val(), [a, b, c, a + 1, b + 1, c + 1, !a, !b]);
        self.of_eighteen.next = select(
            self.five.val(),
            [a, b, c, a + 1, b + 1, c + 1, a + 2, b + 2, c + 2, a + 3, b + 3, c + 3, a + 4, b + 4, c + 4, !a, !b, !c],
        );
        self.alone.next = select(self.one.val(), [a]);
        self.fixed.next = select(bits::<2>(2), [a, b, c]) + select(bits::<2>(3), [a, b, c]);
        self.computed.next = select(self.two.val() + self.three.val().get_bits::<2>(0), [a, b, c, a & b]);
        self.bits.next = select(self.two.val(), [self.flag.val(), true, self.p.val().flag, a == b]);
        let pair = select(self.two.val(), [self.p.val(), self.q.val(), Pair { low: bits::<9>(5), ..self.q.val() }]);
        self.pair.next = pair;
        self.field.next = select(self.one.val(), [self.q.val(), self.p.val()]).low;
    }
}

differential!(choices_by_number, Choices::default(), in [one two three five a b c p q flag],
    out [of_two of_three of_four of_five of_eight of_eighteen alone fixed computed bits pair field]);

/// Choices among the signals of an array, whose length is a parameter.
#[block(combinational, no_default)]
struct ArrayChoices {
    pub plain: Vec<Signal<In, Bits<9>>>,
    pub words: [Sink<Pair>; 3],
    pub index: Signal<In, Bits<3>>,
    pub hot: Signal<In, Bits<6>>,
    pub chosen: Signal<Out, Bits<9>>,
    pub chosen_word: Signal<Out, Pair>,
    pub joined: Signal<Out, Bits<9>>,
    pub inner: Signal<Out, Bits<9>>,
    pub first: Signal<In, Bits<9>>,
    pub second: Signal<In, Bits<9>>,
    steps: [Signal<Local, Bits<9>>; 2],
}

impl Default for ArrayChoices {
    fn default() -> Self {
        Self { plain: (0..6).map(|_| Default::default()).collect(), ..Self::blank() }
    }
}

#[hdl]
impl ArrayChoices {
    fn update(&mut self) {
        self.steps[0].next = self.first.val() + 1;
        self.steps[1].next = self.second.val();
        self.inner.next = select(self.hot.val().get_bits::<1>(0), self.steps.vals());
        self.chosen.next = select(self.index.val(), self.plain.vals());
        self.chosen_word.next = select(self.index.val().get_bits::<2>(0), self.words.vals());
        self.joined.next = select_hot(self.hot.val(), self.plain.vals());
        for i in 0..3 {
            self.words[i].ready.next = self.index.val() == bits::<3>(i);
        }
    }
}

/// Hands ports to the arrays.
#[block(combinational)]
struct ChoicesInside {
    pub wide: Signal<In, Bits<54>>,
    pub p: Signal<In, Pair>,
    pub q: Signal<In, Pair>,
    pub index: Signal<In, Bits<3>>,
    pub hot: Signal<In, Bits<6>>,
    pub chosen: Signal<Out, Bits<9>>,
    pub chosen_word: Signal<Out, Pair>,
    pub joined: Signal<Out, Bits<9>>,
    pub inner: Signal<Out, Bits<9>>,
    pub taken: Signal<Out, Bits<3>>,
    choices: ArrayChoices,
}

#[hdl]
impl ChoicesInside {
    fn update(&mut self) {
        for i in 0..6 {
            self.choices.plain[i].next = self.wide.val().get_bits::<9>(9 * i);
        }
        self.choices.words[0].next = self.p.val();
        self.choices.words[1].next = self.q.val();
        self.choices.words[2].next = Pair { low: bits::<9>(77), ..self.p.val() };
        let mut taken: Bits<3> = bits::<3>(0);
        for i in 0..3 {
            self.choices.words[i].valid.next = true;
            taken = taken.replace_bit(i, self.choices.words[i].ready.val());
        }
        self.taken.next = taken;
        self.choices.index.next = self.index.val();
        self.choices.hot.next = self.hot.val();
        self.choices.first.next = self.p.val().low;
        self.choices.second.next = self.q.val().low;
        self.chosen.next = self.choices.chosen.val();
        self.chosen_word.next = self.choices.chosen_word.val();
        self.joined.next = self.choices.joined.val();
        self.inner.next = self.choices.inner.val();
    }
}

differential!(choices_in_arrays, ChoicesInside::default(), in [wide p q index hot],
    out [chosen chosen_word joined inner taken]);

/// Choices by one bit for each value.
#[derive(LogicBlock, Default)]
struct HotChoices {
    pub one: Signal<In, Bits<1>>,
    pub three: Signal<In, Bits<3>>,
    pub six: Signal<In, Bits<6>>,
    pub a: Signal<In, Bits<33>>,
    pub b: Signal<In, Bits<33>>,
    pub p: Signal<In, Pair>,
    pub q: Signal<In, Pair>,
    pub alone: Signal<Out, Bits<33>>,
    pub of_three: Signal<Out, Pair>,
    pub of_six: Signal<Out, Bits<33>>,
    pub truth: Signal<Out, Bit>,
}

impl Logic for HotChoices {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        self.alone.next = select_hot(self.one.val(), [a]);
        self.of_three.next = select_hot(self.three.val(), [self.p.val(), self.q.val(), Pair::default()]);
        self.of_six.next = select_hot(lowest_set(self.six.val()), [a, b, a & b, bits(6), a + b, a - b]);
        self.truth.next = select_hot(!self.three.val(), [a == b, true, a < b]);
    }
}

differential!(choices_by_bit, HotChoices::default(), in [one three six a b p q], out [alone of_three of_six truth]);

/// Comparisons, sums and searches at one width.
#[derive(LogicBlock, Default)]
struct Words<const N: usize, const M: usize> {
    pub a: Signal<In, Bits<N>>,
    pub b: Signal<In, Bits<N>>,
    /// `a` with at most one bit turned round.
    pub at: Signal<In, Bits<8>>,
    pub carry: Signal<In, Bit>,
    pub compared: Signal<Out, Bits<5>>,
    pub apart: Signal<Out, Bits<2>>,
    pub sum: Signal<Out, Bits<M>>,
    pub plain_sum: Signal<Out, Bits<M>>,
    pub carry_out: Signal<Out, Bit>,
    pub number: Signal<Out, Bits<8>>,
    pub number_of_sum: Signal<Out, Bits<9>>,
    pub alone: Signal<Out, Bits<N>>,
    pub alone_of_sum: Signal<Out, Bits<N>>,
    pub ones: Signal<Out, Bits<8>>,
    pub ones_of_both: Signal<Out, Bits<8>>,
}

impl<const N: usize, const M: usize> Logic for Words<N, M> {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        let b = self.b.val();
        self.compared.next =
            (ne(a, b), eq(a, b), ne(a + 1, b ^ a), eq(a, bits::<N>(1)), ne(bits::<N>(1), b)).cat::<5>();
        let turned = a ^ (bits::<N>(1) << self.at.val());
        self.apart.next = (ne(turned, a), eq(turned, a)).cat::<2>();
        let sum = add_with_carry::<M, N>(a, b, self.carry.val());
        self.sum.next = sum;
        self.plain_sum.next = add_with_carry(a, !b, false);
        self.carry_out.next = add_with_carry::<M, N>(a & b, a, true).get_bit(N);
        self.number.next = first_set(a);
        self.number_of_sum.next = first_set::<9, N>(a + b) + bit_cast::<9, 8>(self.at.val());
        self.alone.next = lowest_set(a);
        self.alone_of_sum.next = lowest_set(a - b) | lowest_set(b);
        self.ones.next = count_ones(a);
        self.ones_of_both.next = count_ones::<8, N>(a ^ b);
    }
}

/// The tests at some widths.
macro_rules! words {
    ($($test:ident $n:literal $m:literal),*) => {
        $(differential!($test, Words::<$n, $m>::default(), in [a b at carry], out [compared apart sum plain_sum carry_out
            number number_of_sum alone alone_of_sum ones ones_of_both]);)*
    };
}
words!(words_of_2_bits 2 3, words_of_3_bits 3 4, words_of_4_bits 4 5, words_of_5_bits 5 6, words_of_6_bits 6 7, words_of_7_bits 7 8,
    words_of_8_bits 8 9, words_of_12_bits 12 13, words_of_13_bits 13 14, words_of_16_bits 16 17, words_of_17_bits 17 18,
    words_of_32_bits 32 33, words_of_33_bits 33 34, words_of_48_bits 48 49, words_of_49_bits 49 50, words_of_89_bits 89 90,
    words_of_130_bits 130 131);

/// Bytes at several widths.
#[derive(LogicBlock, Default)]
struct Bytes {
    pub single: Signal<In, Bits<8>>,
    pub half: Signal<In, Bits<16>>,
    pub word: Signal<In, Bits<32>>,
    pub wide: Signal<In, Bits<72>>,
    pub lanes: Signal<In, Bits<9>>,
    pub lane: Signal<In, Bits<1>>,
    pub swapped: Signal<Out, Bits<128>>,
    pub constant: Signal<Out, Bits<16>>,
    pub mask: Signal<Out, Bits<72>>,
    pub masked: Signal<Out, Bits<8>>,
}

impl Logic for Bytes {
    #[hdl]
    fn update(&mut self) {
        let half: Bits<16> = byte_swap(self.half.val());
        self.swapped.next =
            (byte_swap(self.single.val()), half, byte_swap(self.word.val() + 1), byte_swap::<72>(self.wide.val()))
                .cat::<128>();
        self.constant.next = byte_swap(bits::<16>(0x0800)) ^ self.half.val();
        self.mask.next = byte_mask(self.lanes.val());
        self.masked.next = byte_mask::<8, 1>(self.lane.val()) & self.single.val();
    }
}

differential!(bytes, Bytes::default(), in [single half word wide lanes lane], out [swapped constant mask masked]);

/// In loops, stages and helper functions, where names repeat.
#[block(combinational)]
struct Repeated {
    pub a: Signal<In, Bits<64>>,
    pub b: Signal<In, Bits<64>>,
    pub index: Signal<In, Bits<2>>,
    pub differ: Signal<Out, Bits<4>>,
    pub chosen: Signal<Out, Bits<16>>,
    pub number: Signal<Out, Bits<4>>,
}

#[hdl_fn]
fn quarter(x: Bits<64>, index: Bits<2>) -> Bits<16> {
    select(index, [x.get_bits(0), x.get_bits::<16>(16), x.get_bits::<16>(32), x.get_bits(48)])
}

#[hdl]
impl Repeated {
    fn update(&mut self) {
        let mut differ: Bits<4> = bits::<4>(0);
        for i in 0..4 {
            differ =
                differ.replace_bit(i, ne(self.a.val().get_bits::<16>(16 * i), self.b.val().get_bits::<16>(16 * i)));
        }
        self.differ.next = differ;
        self.chosen.next = if self.index.val().any() {
            quarter(self.a.val(), self.index.val())
        } else {
            quarter(self.b.val(), self.index.val() + 1)
        };
        self.number.next = self.number_of(differ);
    }

    fn number_of(&mut self, differ: Bits<4>) -> Bits<4> {
        (first_set::<2, 4>(differ), select(first_set::<2, 4>(!differ), [bits::<2>(1), bits(2), bits(0), bits(3)]))
            .cat::<4>()
    }
}

differential!(repeated, Repeated::default(), in [a b index], out [differ chosen number]);
