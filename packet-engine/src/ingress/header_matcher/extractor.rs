//! Header extractor: takes the words that rules test out of the first 128 bytes of a frame, and selects which of the two sets of
//! words, terms and rules judges the frame.
//!
//! | neighbour | ports |
//! |---|---|
//! | parser | in `beat`; no ready |
//! | registers | in `commit` (pulse; ignored while `committing`) / out `committing` |
//! | compilers | out `start` (pulse), `target`: the set to write / in `compiling`; in `source`, `source_word`, `source_write` |
//! | term tables | out `words`, `words_set`: of a frame in the cycle after its last beat |
//! | header matcher | out `compiled`: the sets that have been written since reset |
//!
//! Each word is two halves of 16 bits: one of the 32 even half-words of the 128 bytes and one of the 32 odd ones, so every
//! 32-bit word at an even place can be selected. The two beats bring 16 candidates each, so a selector has 16 inputs, not 32: a
//! half takes its candidate with the first beat or with the second one; missing bytes read 0. The word is put together after the
//! registers: even half first, odd half first, or the length of the frame instead.
//!
//! A frame is judged by the set that is active at its first beat, whatever happens until its last one. After a commit, when no
//! frame has been open with the other set for [`DRAIN`] cycles, so that no frame is judged by it any more, the compilers write that
//! set, and it becomes the active one. Never stalls.

use super::types::MatchSource;
use super::word::HeaderWord;
use crate::bundles::ParserBeatSink;
use spindle_contract::params::MATCH_WORDS;
use spindle_verilog::prelude::*;

/// Longer than a frame takes from its last beat through the tables.
const DRAIN: u64 = 8;

/// What becomes of a commit.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum Phase {
    /// There is none.
    Idle,
    /// The commit waits for frames of the other set.
    Drain,
    /// The compilers start.
    Start,
    /// They write the other set.
    Compile,
}

/// See the head of this file.
#[block]
pub struct HeaderExtractor {
    /// Beat of a frame.
    pub beat: ParserBeatSink,
    /// Let what is staged judge.
    pub commit: Signal<In, Bit>,
    /// The staged set does not judge yet.
    pub committing: Signal<Out, Bit>,
    /// The sets that have been written since reset.
    pub compiled: Signal<Out, Bits<2>>,
    /// Write a set.
    pub start: Signal<Out, Bit>,
    /// Set to write.
    pub target: Signal<Out, Bit>,
    /// A compiler is at work.
    pub compiling: Signal<In, Bit>,
    /// Source to write.
    pub source: Signal<In, MatchSource>,
    /// For this word.
    pub source_word: Signal<In, Bits<4>>,
    /// Write it into the target set.
    pub source_write: Signal<In, Bit>,
    /// The words, word 0 in the lowest bits.
    pub words: Signal<Out, Bits<512>>,
    /// The set by which the frame is judged.
    pub words_set: Signal<Out, Bit>,
    halves: [HeaderWord; MATCH_WORDS],
    set: DFF<Bit>,
    length: DFF<Bits<14>>,
    begun: Reg<Bit>,
    phase: Reg<Phase>,
    drained: DFF<Bits<4>>,
    active: Reg<Bit>,
    sets: Reg<Bits<2>>,
}

#[hdl]
impl HeaderExtractor {
    fn update(&mut self) {
        // Commits.
        let other = !self.active.q.val();
        match self.phase.q.val() {
            Phase::Idle => {
                self.drained.d.next = bits::<4>(0);
                self.phase.load(self.commit.val(), Phase::Drain);
            }
            Phase::Drain => {
                if self.begun.q.val() & (self.set.q.val() == other) {
                    self.drained.d.next = bits::<4>(0);
                } else {
                    self.drained.d.next = self.drained.q.val() + 1;
                }
                self.phase.load(self.drained.q.val() == DRAIN, Phase::Start);
            }
            Phase::Start => {
                self.phase.d.next = Phase::Compile;
            }
            Phase::Compile => {
                if !self.compiling.val() {
                    self.phase.d.next = Phase::Idle;
                    self.active.d.next = other;
                    self.sets.d.next = self.sets.q.val() | (if other { bits::<2>(2) } else { bits::<2>(1) });
                }
            }
        }
        self.committing.next = self.phase.q.val() != Phase::Idle;
        self.compiled.next = self.sets.q.val();
        self.start.next = self.phase.q.val() == Phase::Start;
        self.target.next = other;

        // The set of the frame.
        let valid = self.beat.valid.val();
        let first = valid & self.beat.first.val();
        let second = valid & self.beat.second.val();
        let set = if self.beat.first.val() { self.active.q.val() } else { self.set.q.val() };
        if valid {
            self.set.d.next = set;
            self.begun.d.next = !self.beat.last.val();
            self.length.d.next = self.beat.end.val() + 1;
        }

        // The half-words of the beat, by parity.
        let data = self.beat.data.val();
        let mut evens: Bits<256> = bits::<256>(0);
        let mut odds: Bits<256> = bits::<256>(0);
        for k in 0..16 {
            evens.set_bits::<16>(16 * k, data.get_bits::<16>(32 * k));
            odds.set_bits::<16>(16 * k, data.get_bits::<16>(32 * k + 16));
        }

        // The words.
        let mut words: Bits<512> = bits::<512>(0);
        for w in 0..MATCH_WORDS {
            let mine = self.source_write.val() & (self.source_word.val() == w as u64);
            self.halves[w].write.next = (mine & other, mine & !other).cat::<2>();
            self.halves[w].source.next = self.source.val();
            self.halves[w].evens.next = evens;
            self.halves[w].odds.next = odds;
            self.halves[w].first.next = first;
            self.halves[w].second.next = second;
            self.halves[w].vlan.next = self.beat.vlan.val();
            self.halves[w].set_now.next = set;
            self.halves[w].set_held.next = self.set.q.val();
            self.halves[w].length.next = self.length.q.val();
            words.set_bits::<32>(32 * w, self.halves[w].word.val());
        }
        self.words.next = words;
        self.words_set.next = self.set.q.val();
    }
}
