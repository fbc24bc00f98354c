//! Term tables: the five terms of an extracted word, as look-ups instead of comparators.
//!
//! | neighbour | ports |
//! |---|---|
//! | header extractor | in `word`, `bank` |
//! | term compiler | in `row`, `row_address` (set, nibble), `row_write` |
//! | header matcher | out `holds`: term k of the word, same cycle |
//!
//! The word is cut into eight nibbles. A table of 2 × 16 rows has the comparison of a masked nibble, for each term, with the
//! nibbles of the term's two bounds: above the lower, equal to it, below the upper, equal to it; for the lowest nibble, not below
//! the lower and not above the upper. The highest nibble that differs decides. One half of every table judges while the other one
//! is written.

use super::types::{TermRow, LOW_ROW, ROW};
use spindle_blocks::LutMemory;
use spindle_contract::params::WORD_TERMS;
use spindle_verilog::prelude::*;

/// Nibbles above the lowest.
pub const UPPER: usize = 7;

/// The tables. See the module text.
#[block(no_reset)]
pub struct TermTables {
    /// Extracted word.
    pub word: Signal<In, Bits<32>>,
    /// The set that judges it.
    pub bank: Signal<In, Bit>,
    /// What holds, by term.
    pub holds: Signal<Out, Bits<WORD_TERMS>>,
    /// A row of every table.
    pub row: Signal<In, TermRow>,
    /// Its set and nibble.
    pub row_address: Signal<In, Bits<5>>,
    /// Write it.
    pub row_write: Signal<In, Bit>,
    lowest: LutMemory<Bits<LOW_ROW>, 5>,
    upper: [LutMemory<Bits<ROW>, 5>; UPPER],
}

#[hdl]
impl TermTables {
    fn update(&mut self) {
        let word = self.word.val();
        self.lowest.write(self.row_write.val(), self.row_address.val(), self.row.val().lowest);
        self.lowest.read_address.next = (self.bank.val(), word.get_bits::<4>(0)).cat::<5>();
        for n in 0..UPPER {
            self.upper[n].write_enable.next = self.row_write.val();
            self.upper[n].write_address.next = self.row_address.val();
            self.upper[n].write_data.next = self.row.val().upper.get_bits::<ROW>(ROW * n);
            self.upper[n].read_address.next = (self.bank.val(), word.get_bits::<4>(4 * n + 4)).cat::<5>();
        }
        // A lane is a vector over the terms.
        let lowest = self.lowest.read_data.val();
        let mut not_below: Bits<WORD_TERMS> = lowest.get_bits::<WORD_TERMS>(0);
        let mut not_above: Bits<WORD_TERMS> = lowest.get_bits::<WORD_TERMS>(WORD_TERMS);
        for n in 0..UPPER {
            let row = self.upper[n].read_data.val();
            not_below = row.get_bits::<WORD_TERMS>(0) | (row.get_bits::<WORD_TERMS>(WORD_TERMS) & not_below);
            not_above =
                row.get_bits::<WORD_TERMS>(2 * WORD_TERMS) | (row.get_bits::<WORD_TERMS>(3 * WORD_TERMS) & not_above);
        }
        self.holds.next = not_below & not_above;
    }
}
