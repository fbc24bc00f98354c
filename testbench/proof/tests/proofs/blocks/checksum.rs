//! The verdict of checksums: it is seen on the pair of numbers that an adder tree makes, without adding them.

use crate::emitted;
use spindle_blocks::checksum::{balanced, sum_of_ten, Compressor};
use spindle_harness::Source;
use spindle_proof::{yosys, Proof};
use spindle_verilog::prelude::*;

/// Words that the sum over a frame adds at once: a beat, and the sum so far.
const BEAT: usize = 34;
/// Words of an IPv4 header.
const HEADER: usize = 10;

/// The sum over a frame.
#[block(combinational)]
pub struct BeatSum {
    /// The words, the first lowest.
    pub words: Signal<In, Bits<544>>,
    /// First half of the sum.
    pub sum: Signal<Out, Bits<16>>,
    /// Second half of the sum.
    pub carry: Signal<Out, Bits<16>>,
    /// The verdict.
    pub intact: Signal<Out, Bit>,
    tree: Compressor<BEAT>,
}

#[hdl]
impl BeatSum {
    fn update(&mut self) {
        for i in 0..BEAT {
            self.tree.words[i].next = self.words.val().get_bits::<16>(16 * i);
        }
        self.sum.next = self.tree.sum.val();
        self.carry.next = self.tree.carry.val();
        self.intact.next = balanced(self.tree.sum.val(), self.tree.carry.val());
    }
}

/// The sum over an IPv4 header.
#[block(combinational)]
pub struct HeaderSum {
    /// The words, the first lowest.
    pub words: Signal<In, Bits<160>>,
    /// First half of the sum.
    pub sum: Signal<Out, Bits<16>>,
    /// Second half of the sum.
    pub carry: Signal<Out, Bits<16>>,
    /// The verdict.
    pub intact: Signal<Out, Bit>,
}

#[hdl]
impl HeaderSum {
    fn update(&mut self) {
        let sums = sum_of_ten(self.words.val());
        self.sum.next = sums.get_bits::<16>(0);
        self.carry.next = sums.get_bits::<16>(16);
        self.intact.next = balanced(sums.get_bits::<16>(0), sums.get_bits::<16>(16));
    }
}

fn proof(source: Source, words: usize) -> Proof {
    Proof::new(source, format!("`define WORDS {words}\n{}", include_str!("checksum.sv")))
}

#[test]
fn verdict_of_a_frame() {
    let Some(yosys) = yosys() else { return };
    proof(emitted(&mut BeatSum::default(), "beat_sum"), BEAT).prove(
        &yosys,
        &[
            ("&(tree_sum ^ tree_carry)", "&(tree_sum & tree_carry)"),
            // The last six words have more than six ones in a bit.
            ("(six_fours_low_9 & six_fours_high_9)", "16'hffff"),
        ],
    );
}

#[test]
fn verdict_of_a_header() {
    let Some(yosys) = yosys() else { return };
    proof(emitted(&mut HeaderSum::default(), "header_sum"), HEADER).prove(
        &yosys,
        &[
            ("&(sums[15:0] ^ sums[31:16])", "&(sums[15:0] & sums[31:16])"),
            ("(six_fours_low_2 & six_fours_high_2)", "16'hffff"),
        ],
    );
}
