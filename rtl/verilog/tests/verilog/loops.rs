//! Arrays of submodules, which are loops: every way to connect a port of their elements.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

/// Adds what it is given; `spare` and `carry` are for no one, or for one of them.
#[block]
struct Adder {
    pub number: Signal<In, Bits<2>>,
    pub word: Signal<In, Bits<8>>,
    pub enable: Signal<In, Bit>,
    pub gain: Signal<In, Bits<8>>,
    pub offset: Signal<In, Bits<8>>,
    pub prior: Signal<In, Bits<8>>,
    pub total: Signal<Out, Bits<8>>,
    pub carry: Signal<Out, Bits<4>>,
    pub spare: Signal<Out, Bit>,
    sum: Reg<Bits<8>>,
}

#[hdl]
impl Adder {
    fn update(&mut self) {
        if self.enable.val() {
            self.sum.d.next =
                self.word.val() + self.gain.val() + self.prior.val() + bit_cast::<8, 2>(self.number.val());
        }
        self.total.next = self.sum.q.val() ^ self.offset.val();
        self.carry.next = self.sum.q.val().get_bits::<4>(3);
        self.spare.next = self.sum.q.val().get_bit(0);
    }
}

/// Gives each adder a word of its own.
#[block(combinational)]
struct Source {
    pub seed: Signal<In, Bits<8>>,
    pub word: [Signal<Out, Bits<8>>; 3],
}

#[hdl]
impl Source {
    fn update(&mut self) {
        for i in 0..3 {
            self.word[i].next = self.seed.val() + bits::<8>((i * 77) as u64);
        }
    }
}

/// Two rows of adders. The ports `total`, `gain` and `i` are called like what stands in or around the loops.
#[block]
struct Rows {
    pub words: Signal<In, Bits<32>>,
    pub i: Signal<In, Bits<4>>,
    pub gain: Signal<In, Bits<8>>,
    pub seed: Signal<In, Bits<8>>,
    pub total: Signal<Out, Bits<32>>,
    pub last: Signal<Out, Bits<24>>,
    pub carry: Signal<Out, Bits<5>>,
    first: [Adder; 4],
    second: [Adder; 3],
    source: Source,
}

#[hdl]
impl Rows {
    fn update(&mut self) {
        self.source.seed.next = self.seed.val();
        let shared = self.gain.val() ^ 0x5a;
        for n in 0..4 {
            self.first[n].number.next = bits::<2>(n as u64);
            self.first[n].word.next = self.words.val().get_bits::<8>(8 * n);
            self.first[n].enable.next = self.i.val().get_bit(n);
            self.first[n].gain.next = shared;
            self.first[n].offset.next = self.gain.val();
            self.first[n].prior.next = self.first[(n + 3) % 4].total.val();
        }
        for n in 0..3 {
            self.second[n].number.next = bits::<2>(3 - n as u64);
            self.second[n].word.next = self.source.word[n].val();
            self.second[n].enable.next = self.words.val().get_bit(5 + 2 * n);
            self.second[n].gain.next = self.words.val().get_bits::<8>(4 * n + 1);
            self.second[n].offset.next = if n == 1 { self.gain.val() } else { self.seed.val() };
            self.second[n].prior.next = self.first[n].total.val();
        }
        self.total.next = (
            self.first[3].total.val(),
            self.first[2].total.val(),
            self.first[1].total.val(),
            self.first[0].total.val(),
        )
            .cat::<32>();
        self.last.next =
            (self.second[2].total.val(), self.second[1].total.val(), self.second[0].total.val()).cat::<24>();
        self.carry.next = (self.first[1].carry.val(), self.second[0].carry.val().get_bit(2)).cat::<5>();
    }
}

differential!(rows, Rows::default(), reset, in [words i gain seed], out [total last carry]);

#[test]
fn elements_of_an_array_are_a_loop() {
    let design = spindle_verilog::emit(&mut Rows::default(), "rows").unwrap();
    let text = &design.modules.last().unwrap().text;
    for piece in [
        "for (genvar i_2 = 0; i_2 < 4; i_2++) begin : first\n",
        "for (genvar i_2 = 0; i_2 < 3; i_2++) begin : second\n",
        // Numbers, parts of a signal, what all share, what another row has, and what another submodule has for each.
        ".number(2'(i_2)),",
        ".word(words[8*i_2 +: 8]),",
        ".enable(i[i_2]),",
        ".enable(words[2*i_2 + 5]),",
        ".gain(words[4*i_2 + 1 +: 8]),",
        ".gain(shared),",
        ".offset(gain),",
        ".prior(first[i_2].total_2),",
        ".word_2(second[2].word)",
        // What differs from one to the next.
        "assign second[0].number = 2'd3;",
        "assign first[0].prior = first[3].total_2;",
        // Outputs that no one reads.
        ".spare()",
    ] {
        assert!(text.contains(piece), "{piece} is not in\n{text}");
    }
    assert_eq!(text.matches("adder unit (").count(), 2, "{text}");
}
