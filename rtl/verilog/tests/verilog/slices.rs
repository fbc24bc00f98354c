//! Parts of values: constant and computed offsets, single bits, replaced bits.

use crate::verilog::common::differential;
use spindle_verilog::prelude::*;

const FIELD: usize = 5;

#[derive(LogicBlock, Default)]
struct Slices {
    pub a: Signal<In, Bits<16>>,
    pub odd: Signal<In, Bits<21>>,
    pub wide: Signal<In, Bits<577>>,
    pub at: Signal<In, Bits<4>>,
    pub long_way: Signal<In, Bits<6>>,
    pub fresh: Signal<In, Bit>,
    pub constant: Signal<Out, Bits<12>>,
    pub of_sum: Signal<Out, Bits<8>>,
    pub dynamic: Signal<Out, Bits<4>>,
    pub beyond: Signal<Out, Bits<8>>,
    pub octet: Signal<Out, Bits<8>>,
    pub of_wide: Signal<Out, Bits<64>>,
    pub single: Signal<Out, Bits<4>>,
    pub of_low: Signal<Out, Bits<2>>,
    pub replaced: Signal<Out, Bits<16>>,
    pub replaced_at: Signal<Out, Bits<16>>,
    pub replaced_odd: Signal<Out, Bits<21>>,
    pub numbers: Signal<Out, Bits<3>>,
}

impl Slices {
    const HIGH: usize = 14;
    const LIMIT: u64 = 20;
}

impl Logic for Slices {
    #[hdl]
    fn update(&mut self) {
        let a = self.a.val();
        self.constant.next = (a.get_bits::<5>(0), a.get_bits::<FIELD>(9), a.get_bits::<2>(Self::HIGH)).cat::<12>();
        self.of_sum.next = (a + 1).get_bits::<8>(4) ^ (!a).get_bits::<8>(8);
        self.dynamic.next = a.get_bits::<4>(self.at.val().index());
        // Bits beyond the end read as zero; an offset beyond the end is a mistake that simulation reports.
        self.beyond.next = self.odd.val().get_bits::<8>(self.at.val().index() + 6);
        self.octet.next = self.wide.val().get_bits::<8>(self.at.val().index() * 8);
        self.of_wide.next = self.wide.val().get_bits::<64>(64 * self.long_way.val().get_bits::<3>(0).index() + 1);
        let low = a.get_bit(0);
        let high = a.get_bit(15);
        let chosen = a.get_bit(self.at.val().index());
        let inverse = (!a).get_bit(self.at.val().index());
        self.single.next = (low, high, chosen, inverse).cat::<4>();
        // The index is of the part's width, not of the signal's.
        let third = self.at.val().get_bits::<3>(0);
        self.of_low.next =
            (a.get_bits::<8>(0).get_bit(third.index()), self.odd.val().get_bits::<8>(0).get_bit(third.index()))
                .cat::<2>();
        self.replaced.next = a.replace_bit(3, self.fresh.val());
        self.replaced_at.next = a.replace_bit(self.at.val().index(), self.fresh.val());
        self.replaced_odd.next = self.odd.val().replace_bit(self.at.val().index(), !self.fresh.val());
        self.numbers.next = (
            self.at.val().to_u64() + 7 > Self::LIMIT,
            self.at.val().index() == 7,
            self.long_way.val().to_u64() + 1 < 9,
        )
            .cat::<3>();
    }
}

differential!(slices, Slices::default(), in [a odd wide at long_way fresh],
    out [constant of_sum dynamic beyond octet of_wide single of_low replaced replaced_at replaced_odd numbers]);
