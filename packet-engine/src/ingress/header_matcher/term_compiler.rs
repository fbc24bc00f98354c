//! Term compiler: keeps the words and terms that the driver staged, and writes the tables of a set from them.
//!
//! | neighbour | ports |
//! |---|---|
//! | registers | in `word_index`, `word_source`, `word_write`; `term_index`, `term`, `term_write`: one-cycle pulses; not while `busy` |
//! | header extractor | in `start` (pulse), `target` (held until done) / out `busy` |
//! | header extractor | out `source`, `source_word`, `source_write` |
//! | term tables | out `row`, `row_address`, `row_write` (a bit for each word) |
//!
//! Takes [`TermCompiler::CYCLES`] cycles: for each word and each nibble, one cycle for each of the word's terms, whose bits
//! are shifted into the row's lanes; then the row is written, beside the next one's making. What is staged stays staged.

use super::term_tables::UPPER;
use super::types::{MatchSource, MatchTerm, TermRow, LOW_ROW, ROW};
use spindle_blocks::{LutMemory, RamStyle, SdpMemory};
use spindle_contract::params::{MATCH_WORDS, WORD_TERMS};
use spindle_verilog::prelude::*;

const LAST_TERM: u64 = WORD_TERMS as u64 - 1;
const LAST_NIBBLE: u64 = 15;
const LAST_WORD: u64 = MATCH_WORDS as u64 - 1;

/// How a masked nibble stands to the bounds: above the lower, equal to it, below the upper, equal to it.
#[hdl_fn]
pub fn relation(nibble: Bits<4>, low: Bits<4>, high: Bits<4>) -> Bits<4> {
    (nibble == high, nibble < high, nibble == low, nibble > low).cat::<4>()
}

/// The compiler. See the module text.
#[block]
pub struct TermCompiler {
    /// Extracted word to stage.
    pub word_index: Signal<In, Bits<4>>,
    /// Its source.
    pub word_source: Signal<In, MatchSource>,
    /// Stage it.
    pub word_write: Signal<In, Bit>,
    /// Slot of the term to stage.
    pub term_index: Signal<In, Bits<7>>,
    /// The term.
    pub term: Signal<In, MatchTerm>,
    /// Stage it.
    pub term_write: Signal<In, Bit>,
    /// Write a set.
    pub start: Signal<In, Bit>,
    /// Set to write.
    pub target: Signal<In, Bit>,
    /// Not done yet.
    pub busy: Signal<Out, Bit>,
    /// Source for the extractor.
    pub source: Signal<Out, MatchSource>,
    /// Its word.
    pub source_word: Signal<Out, Bits<4>>,
    /// Write it.
    pub source_write: Signal<Out, Bit>,
    /// Row for the tables.
    pub row: Signal<Out, TermRow>,
    /// Set and nibble.
    pub row_address: Signal<Out, Bits<5>>,
    /// The words whose tables take it.
    pub row_write: Signal<Out, Bits<MATCH_WORDS>>,
    sources: LutMemory<MatchSource, 4>,
    terms: SdpMemory<MatchTerm, 7>,
    running: Reg<Bit>,
    word: DFF<Bits<4>>,
    nibble: DFF<Bits<4>>,
    term_of_word: DFF<Bits<3>>,
    slot: DFF<Bits<7>>,
    /// Slot of the word's first term.
    first_slot: DFF<Bits<7>>,
    read: Reg<Bit>,
    read_word: DFF<Bits<4>>,
    read_nibble: DFF<Bits<4>>,
    read_last: DFF<Bit>,
    made: Reg<Bit>,
    made_word: DFF<Bits<4>>,
    made_nibble: DFF<Bits<4>>,
    lanes: DFF<TermRow>,
}

impl TermCompiler {
    /// Keeps the terms in a memory of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self { terms: SdpMemory::new(style, 1), ..Self::blank() }
    }

    /// Cycles from `start` until it is done.
    pub const CYCLES: usize = MATCH_WORDS * 16 * WORD_TERMS + 2;
}

#[hdl]
impl TermCompiler {
    fn update(&mut self) {
        // What is staged.
        self.sources.write(self.word_write.val(), self.word_index.val(), self.word_source.val());
        self.sources.read_address.next = self.word.q.val();
        self.terms.write(self.term_write.val(), self.term_index.val(), self.term.val());
        self.terms.read(self.running.q.val(), self.slot.q.val());

        // The walk: words, nibbles, terms.
        let last_term = self.term_of_word.q.val() == LAST_TERM;
        let last_nibble = self.nibble.q.val() == LAST_NIBBLE;
        let next_slot = self.slot.q.val() + 1;
        if self.start.val() {
            self.running.d.next = true;
            self.word.d.next = bits::<4>(0);
            self.nibble.d.next = bits::<4>(0);
            self.term_of_word.d.next = bits::<3>(0);
            self.slot.d.next = bits::<7>(0);
            self.first_slot.d.next = bits::<7>(0);
        } else if self.running.q.val() {
            if !last_term {
                self.term_of_word.d.next = self.term_of_word.q.val() + 1;
                self.slot.d.next = next_slot;
            } else {
                self.term_of_word.d.next = bits::<3>(0);
                self.nibble.d.next = self.nibble.q.val() + 1;
                if last_nibble {
                    self.word.d.next = self.word.q.val() + 1;
                    self.slot.d.next = next_slot;
                    self.first_slot.d.next = next_slot;
                    self.running.d.next = self.word.q.val() != LAST_WORD;
                } else {
                    self.slot.d.next = self.first_slot.q.val();
                }
            }
        }
        self.source.next = self.sources.read_data.val();
        self.source_word.next = self.word.q.val();
        self.source_write.next = self.running.q.val();

        // A term and a nibble make some bits of the row.
        self.read.d.next = self.running.q.val();
        self.read_word.d.next = self.word.q.val();
        self.read_nibble.d.next = self.nibble.q.val();
        self.read_last.d.next = last_term;
        let term = self.terms.read_data.val();
        let nibble = self.read_nibble.q.val();
        if self.read.q.val() {
            let masked = nibble & term.mask.get_bits::<4>(0);
            let low = term.low.get_bits::<4>(0);
            let high = term.high.get_bits::<4>(0);
            let lowest = self.lanes.q.val().lowest;
            self.lanes.d.next.lowest =
                (masked <= high, lowest.get_bits::<4>(6), masked >= low, lowest.get_bits::<4>(1)).cat::<LOW_ROW>();
            let lanes = self.lanes.q.val().upper;
            let mut upper: Bits<140> = bits::<140>(0);
            for n in 0..UPPER {
                let masked = nibble & term.mask.get_bits::<4>(4 * n + 4);
                let low = term.low.get_bits::<4>(4 * n + 4);
                let high = term.high.get_bits::<4>(4 * n + 4);
                let relation = relation(masked, low, high);
                for k in 0..4 {
                    let lane =
                        (relation.get_bit(k), lanes.get_bits::<4>(ROW * n + WORD_TERMS * k + 1)).cat::<WORD_TERMS>();
                    upper.set_bits::<WORD_TERMS>(ROW * n + WORD_TERMS * k, lane);
                }
            }
            self.lanes.d.next.upper = upper;
        }

        // A row is complete.
        self.made.d.next = self.read.q.val() & self.read_last.q.val();
        self.made_word.d.next = self.read_word.q.val();
        self.made_nibble.d.next = nibble;
        self.row.next = self.lanes.q.val();
        self.row_address.next = (self.target.val(), self.made_nibble.q.val()).cat::<5>();
        let mut write: Bits<MATCH_WORDS> = bits::<MATCH_WORDS>(0);
        for w in 0..MATCH_WORDS {
            write = write.replace_bit(w, self.made.q.val() & (self.made_word.q.val() == w as u64));
        }
        self.row_write.next = write;
        self.busy.next = self.running.q.val() | self.read.q.val() | self.made.q.val();
    }
}
