//! One word that rules test: two half-words of the first 128 bytes of a frame, selected by its source.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `write` (of set 0, of set 1), `source` | term compiler |
//! | in `evens`, `odds`, `first`, `second`, `vlan` | extractor: half-words of the beat |
//! | in `set_now` (set of the frame of the beat), `set_held`, `length` (of the frame before) | extractor |
//! | out `word` | extractor: in the cycle after a frame's last beat |
//!
//! A half takes its candidate with the first beat or with the second one; missing bytes read 0. Never stalls.

use super::types::MatchSource;
use spindle_contract::registers::packet::WordSource;
use spindle_verilog::prelude::*;

/// One half-word of sixteen, high byte first.
#[hdl_fn]
pub fn pick(halves: Bits<256>, number: Bits<4>) -> Bits<16> {
    let four = select(
        number.get_bits::<2>(2),
        [halves.get_bits::<64>(0), halves.get_bits::<64>(64), halves.get_bits::<64>(128), halves.get_bits::<64>(192)],
    );
    let half = select(
        number.get_bits::<2>(0),
        [four.get_bits::<16>(0), four.get_bits::<16>(16), four.get_bits::<16>(32), four.get_bits::<16>(48)],
    );
    byte_swap(half)
}

/// The selection that holds for a frame.
#[hdl_fn]
pub fn choose(old: MatchSource, new: MatchSource, set: Bit, vlan: Bit) -> Bits<10> {
    select((vlan, set).cat::<2>(), [old.plain, new.plain, old.with_tag, new.with_tag])
}

/// See the head of this file.
#[block(no_reset)]
pub struct HeaderWord {
    /// Write the source of set 0, of set 1.
    pub write: Signal<In, Bits<2>>,
    /// What to write.
    pub source: Signal<In, MatchSource>,
    /// Even half-words of the beat.
    pub evens: Signal<In, Bits<256>>,
    /// Odd half-words of the beat.
    pub odds: Signal<In, Bits<256>>,
    /// First beat of a frame.
    pub first: Signal<In, Bit>,
    /// Second beat of a frame.
    pub second: Signal<In, Bit>,
    /// The frame has a VLAN tag.
    pub vlan: Signal<In, Bit>,
    /// Set of the frame.
    pub set_now: Signal<In, Bit>,
    /// Set of the frame whose halves are held.
    pub set_held: Signal<In, Bit>,
    /// Its length.
    pub length: Signal<In, Bits<14>>,
    /// The word.
    pub word: Signal<Out, Bits<32>>,
    sources: [DFF<MatchSource>; 2],
    even: DFF<Bits<16>>,
    odd: DFF<Bits<16>>,
}

#[hdl]
impl HeaderWord {
    fn update(&mut self) {
        for i in 0..2 {
            self.sources[i].load(self.write.val().get_bit(i), self.source.val());
        }
        let set_0 = self.sources[0].q.val();
        let set_1 = self.sources[1].q.val();
        let chosen = choose(set_0, set_1, self.set_now.val(), self.vlan.val());
        let first = self.first.val();
        let second = self.second.val();
        let even = pick(self.evens.val(), chosen.get_bits::<4>(0));
        let odd = pick(self.odds.val(), chosen.get_bits::<4>(5));
        if first & chosen.get_bit(4) {
            self.even.d.next = bits::<16>(0);
        } else if first | (second & chosen.get_bit(4)) {
            self.even.d.next = even;
        }
        if first & chosen.get_bit(9) {
            self.odd.d.next = bits::<16>(0);
        } else if first | (second & chosen.get_bit(9)) {
            self.odd.d.next = odd;
        }
        let order = if self.set_held.val() { set_1.order } else { set_0.order };
        self.word.next = if order == bits(WordSource::ORDER_LENGTH) {
            zext::<32, 14>(self.length.val())
        } else if order == bits(WordSource::ORDER_ODD_FIRST) {
            (self.odd.q.val(), self.even.q.val()).cat::<32>()
        } else {
            (self.even.q.val(), self.odd.q.val()).cat::<32>()
        };
    }
}
